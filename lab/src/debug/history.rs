//! A run that goes back: to the checkpoint before the place that is asked for, and from there on again.
//!
//! A place is a number of instructions of the program: the *position*. The simulator is deterministic, so that a second run
//! from a checkpoint passes the same states. Changes that a debugger makes belong to their position and are made again
//! there. Output that has reached the host does not reach it again.

use std::any::Any;

use hps_isa::chunks::Chunks;
use hps_sim_core::machine::Stop;
use hps_system::checkpoint::Digests;
use hps_system::os::ProcessRule;
use hps_system::process::{Process, ProcessConfig};

use super::machine::Debugged;
use super::pages::{Lent, Pages};
use super::{DebugError, Edit};
use crate::checkpoint::Parts;

/// Checkpoints at a time.
const MOST_KEPT: usize = 64;
/// Distance of a checkpoint that is left on the way to a position, in front of it: the next step back is short.
const NEAR: u64 = 2_000;

/// A checkpoint in memory.
struct Kept {
    position: u64,
    /// Edits that have been made before it.
    edits: usize,
    /// Bytes that the program had written to standard output and standard error.
    written: [u64; 2],
    processes: Vec<u8>,
    parts: Parts,
    used: Vec<u64>,
}

/// Output and warnings, which reach the host once.
pub enum Told<'t> {
    /// Bytes that the program wrote to standard output.
    Stdout(&'t [u8]),
    /// Bytes that the program wrote to standard error.
    Stderr(&'t [u8]),
    /// A warning of the operating system layer, or of the history.
    Warning(&'t str),
}

/// Takes what reaches the host.
pub(super) type Sink<'a> = Box<dyn FnMut(Told<'_>) + 'a>;

/// How the run ends, and the last position before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The last position that the run comes to.
    pub position: u64,
    /// The end.
    pub stop: Stop,
    /// The signal that ends the first process, as its instruction set numbers it.
    pub signal: Option<u8>,
}

/// A run, its checkpoints, and the position at which it is.
pub(super) struct History<'a> {
    machine: Box<dyn Debugged + 'a>,
    config: ProcessConfig,
    rule: ProcessRule,
    pages: Pages,
    digests: Digests,
    /// In the order of their positions.
    kept: Vec<Kept>,
    edits: Vec<(u64, Edit)>,
    /// Edits that the state has behind it.
    applied: usize,
    written: [u64; 2],
    /// Bytes of each stream that the host has.
    shown: [u64; 2],
    sink: Sink<'a>,
    /// The farthest position so far.
    farthest: u64,
    /// Instructions between checkpoints on the way forward.
    interval: u64,
    end: Option<End>,
    /// The position at which the operating system ends the run.
    ends_at: Option<u64>,
    /// Warnings that the host has.
    warnings: usize,
    /// Checkpoints that could not be kept were told of.
    has_warned: bool,
}

impl<'a> History<'a> {
    /// A run at its beginning.
    ///
    /// # Errors
    /// The run has what no checkpoint keeps.
    pub(super) fn new(
        machine: Box<dyn Debugged + 'a>,
        (config, rule): (ProcessConfig, ProcessRule),
        sink: Sink<'a>,
    ) -> Result<Self, DebugError> {
        // About a tenth of a second of work.
        let interval = match machine.timing() {
            None => 4_000_000,
            Some(_) => 100_000,
        };
        let mut history = History {
            machine,
            config,
            rule,
            pages: Pages::default(),
            digests: Digests::default(),
            kept: Vec::new(),
            edits: Vec::new(),
            applied: 0,
            written: [0; 2],
            shown: [0; 2],
            sink,
            farthest: 0,
            interval,
            end: None,
            ends_at: None,
            warnings: 0,
            has_warned: false,
        };
        history.machine.first().os.set_process_rule(rule);
        history.farthest = history.position();
        history.keep()?;
        Ok(history)
    }

    /// Instructions of the program so far.
    pub(super) fn position(&self) -> u64 {
        self.machine.instructions()
    }

    /// The position of the beginning of the run.
    pub(super) fn first_position(&self) -> u64 {
        self.kept[0].position
    }

    /// The farthest position that the run has come to.
    pub(super) fn farthest(&self) -> u64 {
        self.farthest
    }

    /// Instructions between checkpoints on the way forward.
    pub(super) fn interval(&self) -> u64 {
        self.interval
    }

    /// The machine.
    pub(super) fn machine(&self) -> &(dyn Debugged + 'a) {
        &*self.machine
    }

    /// The machine, for questions that change nothing.
    pub(super) fn machine_mut(&mut self) -> &mut (dyn Debugged + 'a) {
        &mut *self.machine
    }

    /// Positions of the checkpoints, and the bytes of their pages.
    pub(super) fn checkpoints(&self) -> (Vec<u64>, u64) {
        let positions = self.kept.iter().map(|kept| kept.position);
        (positions.collect(), self.pages.bytes())
    }

    /// Goes on by up to `instructions`, keeps checkpoints, and stops at the end of the run.
    ///
    /// # Errors
    /// A checkpoint cannot be restored.
    pub(super) fn advance(&mut self, instructions: u64) -> Result<Option<End>, DebugError> {
        let target = self.position().saturating_add(instructions);
        while self.position() < target {
            let due = self.kept[self.before()].position + self.interval;
            let until = match due > self.position() {
                true => due.min(target),
                false => target,
            };
            if let Some(stop) = self.run_to(until) {
                return self.come_to_end(stop).map(Some);
            }
            self.keep_what_is_due();
        }
        Ok(None)
    }

    /// Executes one instruction of the program. Gives how the run ends, if it does there. Behind some steps comes
    /// [`finish_steps`](Self::finish_steps), before anything else.
    #[inline]
    pub(super) fn step(&mut self) -> Option<Stop> {
        match self.machine.go_on(1) {
            Stop::Limit => self.arrive(),
            stop => Some(stop),
        }
    }

    /// Passes the output of steps on and leaves a checkpoint if one is due, or goes to the last position before the end, if
    /// that is how they ended.
    ///
    /// # Errors
    /// A checkpoint cannot be restored.
    pub(super) fn finish_steps(&mut self, end: Option<Stop>) -> Result<Option<End>, DebugError> {
        if let Some(stop) = end {
            return self.come_to_end(stop).map(Some);
        }
        self.pass_output_on();
        self.keep_what_is_due();
        Ok(None)
    }

    /// Behind steps that went over a part of the run again, to nowhere in particular.
    pub(super) fn finish_replay(&mut self) {
        self.pass_output_on();
    }

    /// Goes to a position, back or on.
    ///
    /// # Errors
    /// A checkpoint cannot be restored. The run ends before: [`DebugError::Ended`].
    pub(super) fn go_to(&mut self, position: u64) -> Result<(), DebugError> {
        let best = self.before_position(position);
        let from = self.kept[best].position;
        let position = position.max(from);
        if !(from..=position).contains(&self.position()) {
            self.restore(best)?;
        }
        if position - self.position() > 2 * NEAR {
            self.run_or_end(position - NEAR)?;
            self.keep_if_possible();
        }
        self.run_or_end(position)
    }

    /// Goes to the last checkpoint before a position. `false` if there is none.
    ///
    /// # Errors
    /// The checkpoint cannot be restored.
    pub(super) fn go_before(&mut self, position: u64) -> Result<bool, DebugError> {
        let mut kept = self.kept.iter();
        match kept.rposition(|kept| kept.position < position) {
            Some(best) => self.restore(best).map(|()| true),
            None => Ok(false),
        }
    }

    /// Lets the machine go on for a question, and brings it back.
    ///
    /// # Errors
    /// The run has what no checkpoint keeps.
    pub(super) fn peek<T>(
        &mut self,
        question: impl FnOnce(&mut (dyn Debugged + 'a)) -> T,
    ) -> Result<T, DebugError> {
        self.keep()?;
        let here = self.before();
        let answer = question(&mut *self.machine);
        self.restore(here)?;
        Ok(answer)
    }

    /// Makes a change at this position. What the run has done behind it is forgotten. `false` if it cannot be made.
    pub(super) fn edit(&mut self, edit: Edit) -> bool {
        if !self.machine.apply(&edit) {
            return false;
        }
        let position = self.position();
        let later = self.kept.partition_point(|kept| kept.position <= position);
        for kept in self.kept.drain(later..) {
            self.pages.release(&kept.used);
        }
        self.edits.truncate(self.applied);
        self.edits.push((position, edit));
        self.applied += 1;
        (self.farthest, self.end, self.ends_at) = (position, None, None);
        self.shown = self.written;
        true
    }

    /// Runs to a position that the run comes to.
    fn run_or_end(&mut self, position: u64) -> Result<(), DebugError> {
        match self.run_to(position) {
            None => Ok(()),
            Some(stop) => {
                let end = self.come_to_end(stop)?;
                Err(DebugError::Ended {
                    position: end.position,
                })
            }
        }
    }

    /// Runs to a position, with the edits on the way. Gives how the run ends, if it does before.
    fn run_to(&mut self, position: u64) -> Option<Stop> {
        loop {
            let now = self.position();
            if now >= position {
                self.pass_output_on();
                return None;
            }
            let edit = self.edits.get(self.applied);
            let until = edit.map_or(position, |(at, _)| position.min(*at).max(now + 1));
            let end = match self.machine.go_on(until - now) {
                Stop::Limit => self.arrive(),
                stop => Some(stop),
            };
            if end.is_some() {
                return end;
            }
        }
    }

    /// The machine has come to a position: makes the edits there, and lets the operating system do what is due. Gives how
    /// that ends the run, if it does.
    #[inline]
    fn arrive(&mut self) -> Option<Stop> {
        let now = self.position();
        while let Some((at, edit)) = self.edits.get(self.applied)
            && *at <= now
        {
            self.machine.apply(edit);
            self.applied += 1;
        }
        self.farthest = self.farthest.max(now);
        if self.ends_at == Some(now) {
            return None;
        }
        let end = self.machine.settle();
        if end.is_some() {
            self.ends_at = Some(now);
        }
        end
    }

    /// The run has ended: notes how, and goes back to the last position before.
    #[cold]
    fn come_to_end(&mut self, stop: Stop) -> Result<End, DebugError> {
        if let Some(end) = self.end {
            self.go_back_to(end.position)?;
            return Ok(end);
        }
        self.pass_output_on();
        let signal = self.machine.process().os.killed_by();
        // The last instruction counts, although the run ends in it.
        let mut position = self.position();
        while !self.go_back_to(position)? {
            if position <= self.first_position() {
                return Err(DebugError::Ended { position });
            }
            position -= 1;
        }
        let end = End {
            position,
            stop,
            signal,
        };
        self.end = Some(end);
        Ok(end)
    }

    /// Restores the checkpoint before a position, and runs to it. `false` if the run ends before.
    fn go_back_to(&mut self, position: u64) -> Result<bool, DebugError> {
        self.restore(self.before_position(position))?;
        Ok(self.run_to(position).is_none())
    }

    /// The number of the last checkpoint that is not behind this position.
    fn before(&self) -> usize {
        self.before_position(self.position())
    }

    fn before_position(&self, position: u64) -> usize {
        let kept = self.kept.iter().rposition(|kept| kept.position <= position);
        kept.unwrap_or(0)
    }

    fn keep_what_is_due(&mut self) {
        let last = self.kept[self.before()].position;
        if self.position() >= last + self.interval {
            self.keep_if_possible();
        }
    }

    /// Leaves a checkpoint. Without it, the way back is longer.
    fn keep_if_possible(&mut self) {
        if let Err(problem) = self.keep()
            && !std::mem::replace(&mut self.has_warned, true)
        {
            let text = format!("a checkpoint is not kept, and the way back is longer: {problem}");
            (self.sink)(Told::Warning(&text));
        }
    }

    /// Leaves a checkpoint at this position.
    fn keep(&mut self) -> Result<(), DebugError> {
        self.pass_output_on();
        let position = self.position();
        let at = self.kept.partition_point(|kept| kept.position < position);
        if let Some(same) = self.kept.get(at)
            && (same.position, same.edits) == (position, self.applied)
        {
            return Ok(());
        }
        let parts = self.machine.parts();
        let digests = std::mem::take(&mut self.digests);
        let lent = Box::new(self.pages.lend());
        let (saved, (lent, digests)) = Process::save(&self.machine.processes(), lent, digests);
        self.digests = digests;
        let used = used(lent);
        let processes = match saved {
            Ok(processes) => processes,
            Err(problem) => {
                self.pages.release(&used);
                return Err(problem.into());
            }
        };
        let kept = Kept {
            position,
            edits: self.applied,
            written: self.written,
            processes,
            parts,
            used,
        };
        // Of two at a position the one behind more edits counts.
        match self.kept.get_mut(at) {
            Some(same) if same.position == position && at > 0 => {
                let before = std::mem::replace(same, kept);
                self.pages.release(&before.used);
            }
            Some(same) if same.position == position => self.kept.insert(at + 1, kept),
            _ => self.kept.insert(at, kept),
        }
        self.thin_out();
        Ok(())
    }

    /// Gives checkpoints up where they are closest, measured by their distance from here.
    fn thin_out(&mut self) {
        while self.kept.len() > MOST_KEPT {
            let here = self.position();
            let cost = |at: &usize| {
                let gap = self.kept[at + 1].position - self.kept[at - 1].position;
                let distance = self.kept[*at].position.abs_diff(here);
                // Parts of 2^20 of the distance.
                (u128::from(gap) << 20) / u128::from(distance + NEAR)
            };
            let candidates = 1..self.kept.len() - 1;
            let Some(least) = candidates.min_by_key(cost) else {
                return;
            };
            let given_up = self.kept.remove(least);
            self.pages.release(&given_up.used);
        }
    }

    fn restore(&mut self, number: usize) -> Result<(), DebugError> {
        let kept = &self.kept[number];
        let lent = Box::new(self.pages.lend());
        let processes = Process::load(&kept.processes, &self.config, lent)?;
        let restored = self.machine.restore(&kept.parts, processes);
        restored.map_err(|problem| DebugError::State(problem.to_string()))?;
        (self.applied, self.written) = (kept.edits, kept.written);
        self.machine.first().os.set_process_rule(self.rule);
        Ok(())
    }

    /// Passes on what the program has written and the host does not have yet.
    fn pass_output_on(&mut self) {
        let os = &mut self.machine.first().os;
        let taken = os.take_captured();
        for (stream, bytes) in taken.iter().enumerate() {
            let (written, shown) = (&mut self.written[stream], &mut self.shown[stream]);
            let known = (*shown).saturating_sub(*written).min(bytes.len() as u64);
            *written += bytes.len() as u64;
            *shown = (*shown).max(*written);
            match (&bytes[known as usize..], stream) {
                ([], _) => {}
                (new, 0) => (self.sink)(Told::Stdout(new)),
                (new, _) => (self.sink)(Told::Stderr(new)),
            }
        }
        let warnings = self.machine.process().os.warnings();
        for warning in warnings.iter().skip(self.warnings) {
            (self.sink)(Told::Warning(warning));
        }
        self.warnings = self.warnings.max(warnings.len());
    }
}

/// Numbers of the chunks that a checkpoint has put.
fn used(lent: Box<dyn Chunks>) -> Vec<u64> {
    let lent: Box<dyn Any> = lent;
    lent.downcast::<Lent>()
        .map_or_else(|_| Vec::new(), |lent| lent.used)
}
