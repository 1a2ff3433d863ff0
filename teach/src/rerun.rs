//! The machine itself in any cycle: the run once more, stopped there.
//!
//! Contents of caches and predictors are not recorded. The machine is deterministic, so that a second run has the same
//! state in each cycle. Copies of it that were made on the way shorten the way back.

use std::ops::RangeInclusive;

use hps_dise::DiseEngine;
use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::hart::Hart;
use hps_isa::probe::NoProbe;
use hps_isa::said;
use hps_lab::{Editable, Install, LabError, PlacedEdit, TimedLoop};
use hps_pipeline::contents::{Contents, Window};
use hps_pipeline::core::{Chip, EitherCore};
use hps_pipeline::memsys::Transaction;
use hps_system::process::Process;

use crate::protocol::Problem;
use crate::recorder::Recorded;
use crate::setup::Ready;

/// Copies along the run.
const COPIES: u64 = 6;
/// Cycles between copies at least.
const APART: u64 = 20_000;
/// Cycles by which a copy is earlier than the cycle that is asked for: the next step back is short.
const NEAR: u64 = 512;

/// Bytes of a program's memory that are copied at most.
const LARGEST_COPIED: u64 = 64 << 20;

/// The second run, with an engine or without.
pub(crate) enum Rerun {
    Plain(Runner<NoEditor>),
    Dise(Runner<DiseEngine>),
}

impl Rerun {
    /// A second run that stands in front of the first of `cycles` cycles.
    pub(crate) fn open(ready: &Ready, recorded: &Recorded, cycles: u64) -> Result<Rerun, Problem> {
        let placed = ready.edits.iter().filter(|edit| edit.position > 0);
        let edits = placed
            .filter_map(|edit| Some((recorded.cycle_of_edit(edit.position)?, edit.clone())))
            .collect();
        Ok(match &ready.productions {
            None => Rerun::Plain(Runner::new(opened(ready, NoEditor)?, edits, cycles)),
            Some(productions) => {
                Rerun::Dise(Runner::new(opened(ready, productions)?, edits, cycles))
            }
        })
    }

    /// Goes to the end of a cycle.
    fn go(&mut self, ready: &Ready, cycle: u64) -> Result<(), Problem> {
        match self {
            Rerun::Plain(runner) => runner.go(cycle, || opened(ready, NoEditor)),
            Rerun::Dise(runner) => {
                let productions = ready.productions.as_ref();
                runner.go(cycle, || match productions {
                    Some(productions) => opened(ready, productions),
                    None => Err(Problem::new(said!("the run has no productions"))),
                })
            }
        }
    }

    /// Looks at the process of a context's thread at the end of a cycle, the thread's registers, and the counters of its
    /// decode stage. `None` if no thread is there.
    pub(crate) fn look<R>(
        &mut self,
        ready: &Ready,
        cycle: u64,
        context: u64,
        look: impl FnOnce(&Process, &Hart, &[u32]) -> R,
    ) -> Result<Option<R>, Problem> {
        self.go(ready, cycle)?;
        match self {
            Rerun::Plain(runner) => runner.look(context, |_| Vec::new(), look),
            Rerun::Dise(runner) => runner.look(context, |engine| engine.counters().to_vec(), look),
        }
    }

    /// Contents of a context's tables at the end of a cycle, and its instructions in flight.
    pub(crate) fn inside(
        &mut self,
        ready: &Ready,
        cycle: u64,
        context: u64,
    ) -> Result<(Vec<Contents>, Window), Problem> {
        self.go(ready, cycle)?;
        match self {
            Rerun::Plain(runner) => runner.inside(context),
            Rerun::Dise(runner) => runner.inside(context),
        }
    }
}

/// The machine in front of the first cycle, behind the edits there.
fn opened<I>(ready: &Ready, installs: I) -> Result<Box<Chip<I::Editor>>, Problem>
where
    I: Install<Editor: TimedLoop<NoProbe>>,
{
    let mut chip = match ready.timed().edited_by(installs).open()?.into_inner() {
        EitherCore::Cycle(chip) => chip,
        EitherCore::Instruction(_) => {
            return Err(Problem::new(said!("this core has no cycles to stop in")));
        }
    };
    for placed in ready.edits.iter().filter(|edit| edit.position == 0) {
        chip.edit(placed.context, &placed.edit)
            .map_err(|why| LabError::NotEdited { position: 0, why })?;
    }
    Ok(chip)
}

/// Transactions of coherent lines in the run, and the number of those that were too many to be kept.
pub(crate) fn transactions(ready: &Ready, cycles: u64) -> Result<(Vec<Transaction>, u64), Problem> {
    fn of<E: TimedLoop<NoProbe>>(mut chip: Box<Chip<E>>, cycles: u64) -> (Vec<Transaction>, u64) {
        chip.record_transactions();
        E::run_chip_to(&mut chip, cycles);
        chip.transactions()
    }
    Ok(match &ready.productions {
        None => of(opened(ready, NoEditor)?, cycles),
        Some(productions) => of(opened(ready, productions)?, cycles),
    })
}

/// A machine that is stopped at the end of a cycle.
pub(crate) struct Runner<E: DecodeEditor> {
    chip: Box<Chip<E>>,
    cycle: u64,
    /// Edits behind instructions of the program, and the cycles in which they are made.
    edits: Vec<(u64, PlacedEdit)>,
    /// Cycles between copies.
    apart: u64,
    /// Copies and their cycles, in order.
    copies: Vec<(u64, Box<Chip<E>>)>,
    /// A copy shortly before the cycle that was asked for last.
    near: Option<(u64, Box<Chip<E>>)>,
}

impl<E: TimedLoop<NoProbe> + Clone> Runner<E> {
    fn new(chip: Box<Chip<E>>, edits: Vec<(u64, PlacedEdit)>, cycles: u64) -> Runner<E> {
        Runner {
            chip,
            cycle: 0,
            edits,
            apart: (cycles / COPIES).max(APART),
            copies: Vec::new(),
            near: None,
        }
    }

    /// Goes to the end of a cycle, back or on.
    fn go(
        &mut self,
        cycle: u64,
        open: impl FnOnce() -> Result<Box<Chip<E>>, Problem>,
    ) -> Result<(), Problem> {
        let is_behind = self.cycle > cycle;
        let from = if is_behind { 0 } else { self.cycle + 2 * NEAR };
        match self.copy_within(from..=cycle) {
            Some((at, chip)) => (self.cycle, self.chip) = (at, Box::new(chip)),
            None if is_behind => (self.cycle, self.chip) = (0, open()?),
            None => {}
        }
        if cycle - self.cycle > 2 * NEAR {
            self.go_on(cycle - NEAR);
            self.near = self.copy();
        }
        self.go_on(cycle);
        Ok(())
    }

    /// The latest copy within a range of cycles, to go on from. `None` for a program that cannot be duplicated.
    fn copy_within(&mut self, cycles: RangeInclusive<u64>) -> Option<(u64, Chip<E>)> {
        let copies = self.copies.iter_mut().chain(&mut self.near);
        let within = copies.filter(|(at, _)| cycles.contains(at));
        let (at, chip) = within.max_by_key(|(at, _)| *at)?;
        Some((*at, chip.duplicate().ok()?))
    }

    /// Goes on to the end of a cycle, and leaves copies on the way.
    fn go_on(&mut self, cycle: u64) {
        while self.cycle < cycle {
            let next = (self.cycle / self.apart + 1) * self.apart;
            self.run_to(next.min(cycle));
            let last = self.copies.last().map_or(0, |(at, _)| *at);
            if self.cycle == next && next > last {
                let copy = self.copy();
                self.copies.extend(copy);
            }
        }
    }

    /// Runs to the end of a cycle, with the edits on the way: each between two commits of its cycle.
    fn run_to(&mut self, cycle: u64) {
        let chip = &mut *self.chip;
        for (at, placed) in &self.edits {
            if (self.cycle + 1..=cycle).contains(at) {
                E::run_chip_to(chip, at - 1);
                E::run_chip(chip, placed.position.saturating_sub(chip.instructions()));
                // The recorded run has made it, so that it can be made.
                let _ = chip.edit(placed.context, &placed.edit);
            }
        }
        E::run_chip_to(chip, cycle);
        self.cycle = cycle;
    }

    /// A copy, unless the program has so much memory that copies of it are too many.
    fn copy(&mut self) -> Option<(u64, Box<Chip<E>>)> {
        if self.chip.process().mem.resident_bytes() > LARGEST_COPIED {
            return None;
        }
        let chip = self.chip.duplicate().ok()?;
        Some((self.cycle, Box::new(chip)))
    }

    /// The number of a context that the chip has.
    fn context(&self, context: u64) -> Result<usize, Problem> {
        let number = context as usize;
        (number < self.chip.processors())
            .then_some(number)
            .ok_or_else(|| Problem::new(said!("there is no context {n}", n = context)))
    }

    fn look<R>(
        &mut self,
        context: u64,
        counters: impl FnOnce(&E) -> Vec<u32>,
        look: impl FnOnce(&Process, &Hart, &[u32]) -> R,
    ) -> Result<Option<R>, Problem> {
        let context = self.context(context)?;
        let Some(hart) = self.chip.committed_hart(context) else {
            return Ok(None);
        };
        let counters = counters(self.chip.contexts_mut()[context].1);
        let looked = self
            .chip
            .with_process(context, |process| look(process, &hart, &counters));
        Ok(looked)
    }

    fn inside(&mut self, context: u64) -> Result<(Vec<Contents>, Window), Problem> {
        let context = self.context(context)?;
        let contents = self.chip.contents(context, self.cycle);
        Ok((contents, self.chip.window(context)))
    }
}
