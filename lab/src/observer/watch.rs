//! Times at which the parts of a sample were read, and the program's state at those times.
//!
//! A [`Watch`] is told of all commits of the chip in order of time. Of the observer it keeps the cycles in which the
//! instructions of a sample were dispatched, since that is when they read. Of the program it keeps how many instructions
//! had committed by the end of each cycle, and where its calls and returns went.

use std::collections::VecDeque;

use hps_isa::inst::OpClass;
use hps_isa::memory::Memory;
use hps_isa::probe::Probe;
use hps_pipeline::core::{Cause, Commit, Origin, PipelineProbe, State, Stored, Stretch};

use super::code::Code;
use super::paths::Paths;
use super::shown::{COUNTERS, Slots, Words};
use super::stack::{CallStack, Functions};
use super::tally::Tally;

/// The cycles in which the parts of a sample were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// The start stamp.
    pub start: u64,
    /// Counters, in their order; 0 for those that are not read.
    pub counters: [u64; 3],
    /// The end stamp.
    pub end: u64,
    /// The tag; of a caller, where calls are read.
    pub tag: u64,
    /// The first and the last element of the tag stack.
    pub walk: (u64, u64),
    /// Instructions that the observer had committed when the sample was complete.
    pub observer_instructions: u64,
}

/// Addresses of the observer's instructions that read the parts of a sample, and of the store that completes it.
#[derive(Clone, Copy, Debug)]
struct Marks {
    start: u64,
    counters: u64,
    end: u64,
    tag: u64,
    walk: u64,
    counted: u64,
}

/// A number by cycle, which changes now and then.
#[derive(Clone, Debug, Default)]
struct History {
    /// Cycles of changes, and the numbers that they led to.
    changes: VecDeque<(u64, u64)>,
    /// The number before the first of them.
    before: u64,
}

impl History {
    /// The number before a cycle.
    fn before(&self, cycle: u64) -> u64 {
        let at = self.changes.partition_point(|(of, _)| *of < cycle);
        match at.checked_sub(1) {
            Some(last) => self.changes[last].1,
            None => self.before,
        }
    }

    /// Sets the number in a cycle that is not before that of the last change.
    fn push(&mut self, cycle: u64, number: u64) {
        match self.changes.back_mut() {
            Some((of, last)) if cycle <= *of => *last = number,
            last => {
                if last.map_or(self.before, |last| last.1) != number {
                    self.changes.push_back((cycle, number));
                }
            }
        }
    }

    /// The numbers from a cycle to before another one, with the cycles of each.
    fn each(&self, from: u64, to: u64, mut see: impl FnMut(u64, u64)) {
        let (mut here, mut since) = (self.before(from), from);
        let first = self.changes.partition_point(|(of, _)| *of < from);
        for &(cycle, next) in self.changes.range(first..) {
            if cycle >= to {
                break;
            }
            see(here, cycle - since);
            (here, since) = (next, cycle);
        }
        see(here, to.saturating_sub(since));
    }

    fn forget(&mut self, cycle: u64) {
        while let Some(&(of, number)) = self.changes.front()
            && of < cycle
        {
            self.before = number;
            self.changes.pop_front();
        }
    }
}

/// The number of no program.
const NO_PROGRAM: u64 = 0;
/// The number of no thread.
const NO_THREAD: u32 = 0;

/// The number of the observed program. Before its first instruction the number is 0.
const OBSERVED: u64 = 1;

/// State of the program by cycle.
#[derive(Clone, Debug, Default)]
pub struct Reckoning {
    /// Instructions that had committed.
    committed: History,
    /// Target of the last call or return, or the program's own tag.
    went: History,
    /// The number of the program whose instructions commit on the processor of the program's first thread; none while that
    /// is idle.
    program: History,
    /// The program's own counters, if it shows them.
    own: [History; COUNTERS],
    /// Tag stack of the program, if it is observed.
    pub(super) paths: Option<Paths>,
}

impl Reckoning {
    /// Instructions of the program that had committed before a cycle.
    #[must_use]
    pub fn before(&self, cycle: u64) -> u64 {
        self.committed.before(cycle)
    }

    /// Place of the program before a cycle: the target of the last call or return that had committed, 0 before the
    /// first one. With [`Signals::Shown`](super::Signals), the tag that the thread on the program's first context
    /// showed.
    #[must_use]
    pub fn place_before(&self, cycle: u64) -> u64 {
        self.went.before(cycle)
    }

    /// Value of one of the program's own counters before a cycle, of the thread on its first context.
    #[must_use]
    pub fn own_before(&self, counter: usize, cycle: u64) -> u64 {
        let history = self.own.get(counter);
        history.map_or(0, |history| history.before(cycle))
    }

    /// Tag stacks of the thread on the program's first context; `None` if they are not observed.
    #[must_use]
    pub fn paths(&self) -> Option<&Paths> {
        self.paths.as_ref()
    }

    /// Calls `see` for each place of the program from `from` to before `to`, in order, with the cycles that it was
    /// there.
    pub fn each_place(&self, from: u64, to: u64, see: impl FnMut(u64, u64)) {
        self.went.each(from, to, see);
    }

    /// Whether the last instruction before a cycle, on the processor of the program's first thread, was one of the
    /// observed program, or that processor was idle. Child processes, and programs that replace the observed one, run
    /// there, too.
    #[must_use]
    pub fn is_of_program(&self, cycle: u64) -> bool {
        self.program.before(cycle) <= OBSERVED
    }

    /// Cycles from `from` to `to` in which another program had that processor.
    #[must_use]
    pub fn cycles_of_others(&self, from: u64, to: u64) -> u64 {
        let mut cycles = 0;
        self.program.each(from, to, |program, stayed| {
            cycles += if program <= OBSERVED { 0 } else { stayed };
        });
        cycles
    }

    /// Cycles from `from` to `to` in which the program was at `place`.
    #[must_use]
    pub fn cycles_at(&self, place: u64, from: u64, to: u64) -> u64 {
        let mut cycles = 0;
        self.each_place(from, to, |here, stayed| {
            cycles += if here == place { stayed } else { 0 };
        });
        cycles
    }

    /// Forgets all that has happened.
    pub(super) fn forget_all(&mut self) {
        self.forget(u64::MAX);
    }

    /// Forgets what lies before a cycle.
    pub(super) fn forget(&mut self, cycle: u64) {
        self.committed.forget(cycle);
        self.went.forget(cycle);
        self.program.forget(cycle);
        self.own.iter_mut().for_each(|own| own.forget(cycle));
        if let Some(paths) = &mut self.paths {
            paths.forget(cycle);
        }
    }
}

fn is_call_or_return(class: OpClass) -> bool {
    matches!(
        class,
        OpClass::Call | OpClass::CallIndirect | OpClass::Return
    )
}

fn is_jump(class: OpClass) -> bool {
    matches!(class, OpClass::Jump | OpClass::JumpIndirect)
}

/// The probe.
#[derive(Clone, Debug)]
pub struct Watch {
    observer: u16,
    marks: Marks,
    reading: Reads,
    /// Samples that are complete, oldest first.
    pub reads: VecDeque<Reads>,
    pub reckoning: Reckoning,
    /// Calls that are under way, if calls are observed.
    pub stack: Option<CallStack>,
    /// Work of the program by call, if calls are observed.
    pub tally: Tally,
    /// Words that the program shows by itself.
    pub shown: Slots,
    /// True if the program's own tags say its place.
    pub has_own_tags: bool,
    /// Instructions of the program, on all of its contexts.
    pub instructions: u64,
    /// Instructions of other programs: children, and programs that take the place of the observed one.
    pub others: u64,
    /// The cycle in which the last instruction of the program committed.
    pub last_cycle: u64,
    /// True if no instruction of another program has committed since `last_cycle`.
    pub is_last: bool,
    observer_instructions: u64,
}

impl Watch {
    /// Watches the observer on a processor. `calls` has the program's functions and its entry, if calls are followed.
    pub fn new(observer: usize, code: &Code, calls: Option<(Functions, u64)>) -> Watch {
        let Code {
            start,
            counters,
            end,
            tag,
            walk,
            counted,
            ..
        } = *code;
        Watch {
            observer: observer as u16,
            marks: Marks {
                start,
                counters,
                end,
                tag,
                walk,
                counted,
            },
            reading: Reads::default(),
            reads: VecDeque::new(),
            reckoning: Reckoning::default(),
            stack: calls.map(|(functions, entry)| CallStack::new(functions, entry)),
            tally: Tally::default(),
            shown: Slots::none(),
            has_own_tags: false,
            instructions: 0,
            others: 0,
            last_cycle: 0,
            is_last: true,
            observer_instructions: 0,
        }
    }

    /// Instructions of all programs of the run.
    pub fn all_instructions(&self) -> u64 {
        self.instructions + self.others
    }

    /// Forgets the program's state before a cycle. Questions may only be about later ones.
    pub fn forget(&mut self, cycle: u64) {
        self.reckoning.forget(cycle);
    }

    /// Notes that the thread on the program's first context shows other words from a cycle on.
    #[cold]
    pub(super) fn show(&mut self, cycle: u64, is_tag: bool) {
        let (words, image): &(Words, _) = self.shown.now();
        let Reckoning {
            went, own, paths, ..
        } = &mut self.reckoning;
        went.push(cycle, words[0]);
        for (history, value) in own.iter_mut().zip(&words[1..]) {
            history.push(cycle, *value);
        }
        if let Some(paths) = paths.as_mut().filter(|_| is_tag) {
            paths.change(cycle, self.instructions, words[0], image);
        }
    }

    /// Notes a committed instruction of another program. Its thread shows none of the observed program's words.
    #[cold]
    fn pass_over(&mut self, commit: &Commit, is_first: bool) {
        self.others += u64::from(commit.origin == Origin::Program);
        self.is_last = false;
        if is_first && self.has_own_tags && self.shown.turn_to(NO_THREAD) {
            self.show(commit.cycle, true);
        }
    }

    fn observe(&mut self, commit: &Commit) {
        self.observer_instructions += 1;
        let (marks, reading, read) = (self.marks, &mut self.reading, commit.dispatch_cycle);
        // An instruction may do several of these reads, where a part of a sample is left out.
        if commit.pc == marks.start {
            reading.start = read;
        }
        if (marks.counters..marks.end).contains(&commit.pc) {
            reading.counters[((commit.pc - marks.counters) / 4) as usize] = read;
        }
        if commit.pc == marks.end {
            reading.end = read;
        }
        if commit.pc == marks.tag {
            reading.tag = read;
        }
        if commit.pc == marks.walk {
            reading.walk.1 = read;
            if reading.walk.0 == 0 {
                reading.walk.0 = read;
            }
        }
        if commit.pc == marks.counted {
            reading.observer_instructions = self.observer_instructions;
            self.reads.push_back(*reading);
            reading.walk.0 = 0;
        }
    }
}

impl Probe for Watch {}

impl PipelineProbe for Watch {
    const WANTS_CYCLES: bool = true;
    const WANTS_STORES: bool = true;

    fn stand_in(&self) -> Option<Self> {
        Some(Watch {
            reads: VecDeque::new(),
            reckoning: Reckoning::default(),
            stack: None,
            tally: Tally::default(),
            shown: Slots::none(),
            ..*self
        })
    }

    #[inline]
    fn stretch(&mut self, stretch: &Stretch) {
        if stretch.context.processor == 0 && stretch.state == State::Drained(Cause::Idle) {
            let program = &mut self.reckoning.program;
            program.push(stretch.first_cycle, NO_PROGRAM);
        }
    }

    #[inline]
    fn committed(&mut self, commit: &Commit) {
        if commit.context.processor == self.observer {
            self.observe(commit);
            return;
        }
        let is_first = commit.context.processor == 0;
        if is_first {
            self.reckoning
                .program
                .push(commit.cycle, u64::from(commit.program));
        }
        if u64::from(commit.program) != OBSERVED {
            self.pass_over(commit, is_first);
            return;
        }
        if commit.origin == Origin::Program {
            self.instructions += 1;
        }
        (self.last_cycle, self.is_last) = (commit.cycle, true);
        self.reckoning
            .committed
            .push(commit.cycle, self.instructions);
        if self.has_own_tags {
            if is_first && self.shown.turn_to(commit.thread) {
                self.show(commit.cycle, true);
            }
        } else if commit.taken && is_call_or_return(commit.class) {
            self.reckoning.went.push(commit.cycle, commit.target);
        }
        if let Some(stack) = &mut self.stack
            && commit.taken
            && commit.origin == Origin::Program
            && (is_call_or_return(commit.class) || is_jump(commit.class))
        {
            self.tally.commit(commit, stack, self.instructions);
        }
    }

    #[inline]
    fn stored(&mut self, stored: &Stored, _: &Memory) {
        if u64::from(stored.program) == OBSERVED
            && let Some(number) = self.shown.stored(stored.addr, stored.value)
        {
            self.show(stored.cycle, number == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(changes: &[(u64, u64)]) -> History {
        let mut history = History::default();
        for (cycle, number) in changes {
            history.push(*cycle, *number);
        }
        history
    }

    #[test]
    fn what_happened_before_a_cycle_is_found_and_forgotten() {
        let mut reckoning = Reckoning {
            committed: history(&[(10, 3), (12, 5), (20, 9)]),
            went: history(&[(12, 100), (20, 200)]),
            ..Reckoning::default()
        };
        let of = |reckoning: &Reckoning| [10, 11, 12, 13, 21].map(|cycle| reckoning.before(cycle));
        assert_eq!(of(&reckoning), [0, 3, 3, 5, 9]);
        assert_eq!(reckoning.place_before(12), 0);
        assert_eq!(reckoning.place_before(13), 100);
        assert_eq!(reckoning.cycles_at(100, 0, 30), 8);
        assert_eq!(reckoning.cycles_at(0, 5, 30), 7);
        assert_eq!(reckoning.cycles_at(200, 5, 30), 10);
        assert_eq!(reckoning.cycles_at(100, 15, 18), 3);
        reckoning.forget(13);
        assert_eq!(reckoning.before(13), 5);
        assert_eq!(reckoning.cycles_at(100, 15, 18), 3);
    }
}
