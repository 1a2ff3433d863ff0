//! Follows control through the graphs and counts the paths that it completes.

use super::transfers::{Arrival, Kind, Resumed, Transfers};
use super::{LongPath, MOST_SEGMENTS, Path, Paths};
use crate::graphs::{Cut, Graphs, NOWHERE, Stretch};
use hps_isa::inst::Inst;

/// Frames that are kept. The oldest ones are forgotten: their paths are not counted when control comes back.
const MOST_FRAMES: usize = 4096;

/// Collects paths, edges and calls.
///
/// Told of every transfer of control of a stretch of a run ([`transfer`](Self::transfer)), it counts every path that
/// begins and ends in the stretch. A second stretch that begins where the first one ended continues its paths; before
/// any other one, [`interrupt`](Self::interrupt) forgets what has begun.
pub struct PathProfiler<'a> {
    transfers: Transfers,
    course: Course<'a>,
    sample: u32,
    translated: u64,
}

/// The paths that control is on, and those that it has completed.
struct Course<'a> {
    graphs: &'a Graphs<'a>,
    frames: Vec<Frame>,
    long: Option<Long>,
    /// The instruction that transfers control next, as far as the code tells.
    expected: Option<u64>,
    paths: Paths<Path>,
    long_paths: Paths<LongPath>,
}

/// An activation of a function.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    is_numbered: bool,
    /// The call that made it, and where that returns to.
    call: u64,
    behind: u64,
    /// The number so far of its path; `None` if the path has begun out of sight.
    number: Option<u64>,
    instructions: u64,
}

/// The path across functions that is being followed.
#[derive(Clone, Copy, Debug)]
struct Long {
    at: LongPath,
    instructions: u64,
    segments: u32,
}

impl Long {
    fn from(head: u64) -> Long {
        Long {
            at: LongPath {
                before: 0,
                from: head,
                number: 0,
            },
            instructions: 0,
            segments: 0,
        }
    }
}

impl<'a> PathProfiler<'a> {
    /// A profiler that has seen nothing.
    #[must_use]
    pub fn new(graphs: &'a Graphs<'a>) -> PathProfiler<'a> {
        PathProfiler {
            transfers: Transfers::default(),
            sample: 0,
            translated: 0,
            course: Course {
                graphs,
                frames: Vec::new(),
                long: None,
                expected: None,
                paths: Paths::default(),
                long_paths: Paths::default(),
            },
        }
    }

    /// Paths within functions.
    #[must_use]
    pub fn paths(&self) -> &Paths<Path> {
        &self.course.paths
    }

    /// Paths across functions.
    #[must_use]
    pub fn long_paths(&self) -> &Paths<LongPath> {
        &self.course.long_paths
    }

    /// Forgets the paths that have begun: what comes next does not continue what came before.
    pub fn interrupt(&mut self) {
        self.course.interrupt();
    }

    /// Begins a sample with an empty code cache, or one that holds what earlier samples have translated.
    pub fn begin_sample(&mut self, keeps_translations: bool) {
        if !keeps_translations || self.sample == 0 {
            self.sample += 1;
        }
        self.translated = 0;
    }

    /// Instructions that the sample has come to for the first time. Code that is entered at several places counts for
    /// each of them, as in translators that make traces.
    #[must_use]
    pub fn translated(&self) -> u64 {
        self.translated
    }

    /// Transfers with their counts: from, to, how often.
    pub fn edges(&self) -> impl Iterator<Item = ((u64, u64), u64)> {
        self.transfers
            .iter()
            .map(|(key, transfer)| (key, transfer.count))
    }

    /// Calls with their counts: the call, the callee, how often.
    pub fn calls(&self) -> impl Iterator<Item = ((u64, u64), u64)> {
        let calls = self.transfers.iter();
        calls
            .filter(|(_, transfer)| matches!(transfer.kind, Kind::Call(_)))
            .map(|(key, transfer)| (key, transfer.count))
    }

    /// Control goes from the instruction at `pc` to `target`, taken or not.
    pub fn transfer(&mut self, pc: u64, inst: &Inst, target: u64) {
        let PathProfiler {
            transfers,
            course,
            sample,
            translated,
        } = self;
        if course.expected != Some(pc) {
            course.lose(pc);
        }
        let place = transfers.place(course.graphs, pc, inst, target);
        let transfer = transfers.at(place);
        transfer.count += 1;
        if transfer.sample != *sample {
            transfer.sample = *sample;
            *translated += u64::from(transfer.stretch().instructions);
        }
        match &transfer.kind {
            Kind::Move(stretch) => course.follow(stretch),
            Kind::Mix { is_back, stretch } => course.mix(pc, target, *is_back, stretch),
            Kind::Call(arrival) => {
                course.part(pc, target);
                course.arrive(arrival, pc, inst.link(pc));
            }
            Kind::Tail { end, arrival } => {
                course.complete(*end);
                course.part(pc, target);
                let left = course.frames.pop();
                let (call, behind) = left.map_or((0, 0), |f| (f.call, f.behind));
                course.arrive(arrival, call, behind);
            }
            Kind::Return { end, arrival } => {
                course.complete(*end);
                course.part(pc, target);
                let returning = course.frames.iter().rposition(|f| f.behind == target);
                if let Some(at) = returning.filter(|at| *at > 0) {
                    let call = course.frames[at].call;
                    course.frames.truncate(at);
                    let resumed = transfers.resumed(course.graphs, call, target);
                    course.resume(&resumed, call, target);
                } else {
                    course.frames.clear();
                    course.arrive(arrival, 0, 0);
                }
            }
        }
    }
}

impl Course<'_> {
    fn interrupt(&mut self) {
        self.frames.clear();
        self.long = None;
        self.expected = None;
    }

    /// Control is somewhere else than the code tells: a signal, another thread, the beginning of a sample.
    fn lose(&mut self, pc: u64) {
        self.interrupt();
        let function = self.graphs.function_at(pc);
        let is_numbered = self.graphs.numbered_function(function).is_some();
        self.frames.push(Frame::unknown(function, is_numbered));
    }

    /// Goes along a stretch of the function on top.
    fn follow(&mut self, stretch: &Stretch) {
        self.expected = Some(stretch.ends_at);
        self.add(stretch.add, stretch.instructions);
        for cut in &stretch.cuts {
            self.cut(cut);
        }
    }

    fn add(&mut self, value: u64, instructions: u32) {
        if let Some(frame) = self.frames.last_mut() {
            frame.number = frame.number.map(|n| n.wrapping_add(value));
            frame.instructions += u64::from(instructions);
        }
        self.add_to_long(value);
        if let Some(long) = &mut self.long {
            long.instructions += u64::from(instructions);
        }
    }

    fn add_to_long(&mut self, value: u64) {
        if let Some(long) = &mut self.long {
            long.at.number = long.at.number.wrapping_add(value);
        }
    }

    /// Ends both paths at a back edge and begins new ones at its head.
    fn cut(&mut self, cut: &Cut) {
        self.complete(cut.end);
        self.add_to_long(cut.end);
        self.complete_long();
        self.long = Some(Long::from(cut.head));
        if let Some(frame) = self.frames.last_mut() {
            frame.number = Some(cut.start);
            frame.instructions = 0;
        }
        self.add(cut.add, cut.instructions);
    }

    /// A transfer in code without numbers.
    fn mix(&mut self, pc: u64, target: u64, is_back: bool, stretch: &Stretch) {
        self.expected = Some(stretch.ends_at);
        let change = |number: u64| mixed(number, pc, target);
        if let Some(frame) = self.frames.last_mut() {
            frame.number = frame.number.map(change);
        }
        if let Some(long) = &mut self.long {
            long.at.number = change(long.at.number);
        }
        if is_back {
            self.cut(&Cut {
                end: 0,
                start: target,
                head: target,
                add: 0,
                instructions: 0,
            });
        }
        self.add(0, stretch.instructions);
    }

    /// Counts the path of the function on top, which ends.
    fn complete(&mut self, end: u64) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        if let Some(number) = frame.number {
            let path = Path {
                function: frame.function,
                number: number.wrapping_add(end),
            };
            self.paths.add(path, frame.instructions);
        }
    }

    fn complete_long(&mut self) {
        if let Some(long) = self.long.take() {
            self.long_paths.add(long.at, long.instructions);
        }
    }

    /// Hashes what there is of the path across functions, at a call or return at `pc` to `target`.
    fn part(&mut self, pc: u64, target: u64) {
        let Some(long) = &mut self.long else { return };
        if long.segments == MOST_SEGMENTS {
            self.complete_long();
            self.long = Some(Long::from(target));
            return;
        }
        let LongPath {
            before,
            from,
            number,
        } = long.at;
        long.at = LongPath {
            before: mixed(mixed(before, from, number), pc, target),
            from: target,
            number: 0,
        };
        long.segments += 1;
    }

    /// Control arrives in a function in a new frame.
    fn arrive(&mut self, arrival: &Arrival, call: u64, behind: u64) {
        if self.frames.len() == MOST_FRAMES {
            self.frames.drain(..MOST_FRAMES / 2);
        }
        self.frames.push(Frame {
            function: arrival.function,
            is_numbered: arrival.is_numbered,
            call,
            behind,
            number: arrival.start,
            instructions: 0,
        });
        self.follow(&arrival.stretch);
    }

    /// A caller goes on.
    fn resume(&mut self, resumed: &Resumed, call: u64, behind: u64) {
        match resumed {
            Resumed::Move(stretch) => self.follow(stretch),
            Resumed::Mix(stretch) => {
                if self.frames.last().is_some_and(|f| f.is_numbered) {
                    // The graph does not have this edge.
                    self.forget_top();
                }
                self.mix(call, behind, false, stretch);
            }
        }
    }

    fn forget_top(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.number = None;
        }
    }
}

impl Frame {
    /// A frame in which control has been before.
    fn unknown(function: u32, is_numbered: bool) -> Frame {
        Frame {
            function,
            is_numbered: is_numbered && function != NOWHERE,
            call: 0,
            behind: 0,
            number: None,
            instructions: 0,
        }
    }
}

/// A hash of what was hashed before and of two numbers.
fn mixed(number: u64, pc: u64, target: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let number = (number ^ pc).wrapping_mul(FACTOR).rotate_left(29);
    (number ^ target).wrapping_mul(FACTOR).rotate_left(31)
}
