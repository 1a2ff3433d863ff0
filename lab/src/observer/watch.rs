//! When each part of a sample was read, and what the program had done by then.
//!
//! A [`Watch`] is told of all commits of the chip in order of time. Of the observer it keeps the cycles in which the
//! instructions of a sample were dispatched, since that is when they read. Of the program it keeps how many instructions
//! had committed by the end of each cycle, and where its calls and returns went.

use std::collections::VecDeque;

use hps_pipeline::core::{Commit, Origin, PipelineProbe};
use hps_sim_core::inst::OpClass;
use hps_sim_core::probe::Probe;

use super::code::Code;
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

/// The instructions that do so.
#[derive(Clone, Copy, Debug)]
struct Marks {
    start: u64,
    counters: u64,
    end: u64,
    tag: u64,
    walk: u64,
    counted: u64,
}

/// What the program has done by cycle.
#[derive(Clone, Debug, Default)]
pub struct Reckoning {
    /// Cycles with commits, and the instructions that had committed by their ends.
    committed: VecDeque<(u64, u64)>,
    /// What had committed before the first of them.
    before: u64,
    /// Cycles of calls and returns, and where they went.
    went: VecDeque<(u64, u64)>,
    /// Where the last one before them went.
    was_at: u64,
}

impl Reckoning {
    /// Instructions of the program that had committed before a cycle.
    #[must_use]
    pub fn before(&self, cycle: u64) -> u64 {
        let at = self.committed.partition_point(|(of, _)| *of < cycle);
        match at.checked_sub(1) {
            Some(last) => self.committed[last].1,
            None => self.before,
        }
    }

    /// Where the last call or return had gone that had committed before a cycle; 0 before the first one.
    #[must_use]
    pub fn place_before(&self, cycle: u64) -> u64 {
        let at = self.went.partition_point(|(of, _)| *of < cycle);
        match at.checked_sub(1) {
            Some(last) => self.went[last].1,
            None => self.was_at,
        }
    }

    /// Where the program was from `from` to before `to`, one place after the other, with the cycles that it was there.
    pub fn each_place(&self, from: u64, to: u64, mut see: impl FnMut(u64, u64)) {
        let (mut here, mut since) = (self.place_before(from), from);
        let first = self.went.partition_point(|(of, _)| *of < from);
        for &(cycle, next) in self.went.range(first..) {
            if cycle >= to {
                break;
            }
            see(here, cycle - since);
            (here, since) = (next, cycle);
        }
        see(here, to.saturating_sub(since));
    }

    /// Cycles from `from` to `to` in which the last call or return had gone to `place`.
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
        while let Some(&(of, count)) = self.committed.front()
            && of < cycle
        {
            self.before = count;
            self.committed.pop_front();
        }
        while let Some(&(of, place)) = self.went.front()
            && of < cycle
        {
            self.was_at = place;
            self.went.pop_front();
        }
    }

    fn commit(&mut self, commit: &Commit, total: u64) {
        match self.committed.back_mut() {
            Some((cycle, count)) if *cycle == commit.cycle => *count = total,
            _ => self.committed.push_back((commit.cycle, total)),
        }
        if commit.taken && is_call_or_return(commit.class) {
            self.went.push_back((commit.cycle, commit.target));
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
    /// What the program did by call, if calls are observed.
    pub tally: Tally,
    /// Instructions of the program, on all of its contexts.
    pub instructions: u64,
    observer_instructions: u64,
}

impl Watch {
    /// Knows the calls under way if it is given the functions of the program, and where that begins.
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
            instructions: 0,
            observer_instructions: 0,
        }
    }

    /// Nothing before a cycle will be asked for any more.
    pub fn forget(&mut self, cycle: u64) {
        self.reckoning.forget(cycle);
    }

    fn observe(&mut self, commit: &Commit) {
        self.observer_instructions += 1;
        let (marks, reading, read) = (self.marks, &mut self.reading, commit.dispatch_cycle);
        // One instruction may do several of these, where a part is left out.
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

    fn stand_in(&self) -> Option<Self> {
        Some(Watch {
            reads: VecDeque::new(),
            reckoning: Reckoning::default(),
            stack: None,
            tally: Tally::default(),
            ..*self
        })
    }

    #[inline]
    fn committed(&mut self, commit: &Commit) {
        if commit.context.processor == self.observer {
            self.observe(commit);
            return;
        }
        if commit.origin == Origin::Program {
            self.instructions += 1;
        }
        self.reckoning.commit(commit, self.instructions);
        if let Some(stack) = &mut self.stack
            && commit.taken
            && commit.origin == Origin::Program
            && (is_call_or_return(commit.class) || is_jump(commit.class))
        {
            self.tally.commit(commit, stack, self.instructions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_before_a_cycle_is_found_and_forgotten() {
        let mut reckoning = Reckoning {
            committed: [(10, 3), (12, 5), (20, 9)].into(),
            went: [(12, 100), (20, 200)].into(),
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
