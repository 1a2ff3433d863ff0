//! Where units are timed: a chip with a shadow of the program.

use hps_isa::editor::DecodeEditor;
use hps_isa::hart::GuestCounters;
use hps_isa::memory::MemoryError;
use hps_isa::probe::NoProbe;
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use super::SamplingPlan;
use crate::by_cycle::{Chip, Learned, Warm};
use crate::config::MachineConfig;
use crate::model::{CoreStats, CpiStack};

/// Result of a unit.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Measurement, if the whole unit was timed.
    pub measured: Option<Measured>,
    /// Instructions that ran on the chip, warm-up included.
    pub instructions: u64,
    /// State that only a chip can learn.
    pub learned: Learned,
}

/// Measurement of a unit.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub cycles: u64,
    /// Instructions that the editor put in.
    pub inserted: u64,
    pub cpi: CpiStack,
}

/// A chip, and a process that follows the program: equal to it where a unit begins. What happens here
/// happens nowhere else.
pub(super) struct Lane<E: DecodeEditor> {
    /// Lanes are counted from 0.
    pub number: usize,
    /// The unit that it times.
    pub unit: u64,
    chip: Option<Box<Chip<E>>>,
    /// The shadow's epochs when it was equal to the program.
    layout_epoch: u64,
    code_epoch: u64,
}

/// Where a unit begins.
pub(super) struct Start<'a, E> {
    /// Number of the unit.
    pub unit: u64,
    /// The program, and its clocks.
    pub source: &'a mut Process,
    pub clock: GuestCounters,
    /// The editor as the program left it.
    pub editor: &'a E,
    /// Caches and predictors.
    pub warm: &'a Warm,
}

impl<E: DecodeEditor + Clone> Lane<E> {
    /// A lane that follows a program as it is.
    pub fn new(
        number: usize,
        config: &MachineConfig,
        source: &mut Process,
        editor: &E,
    ) -> Result<Lane<E>, MemoryError> {
        let shadow = source.shadow()?;
        Ok(Lane {
            number,
            unit: 0,
            layout_epoch: shadow.mem.layout_epoch(),
            code_epoch: shadow.mem.code_epoch(),
            chip: Some(Box::new(Chip::with(
                config,
                shadow,
                editor.clone(),
                NoProbe,
            ))),
        })
    }

    /// Makes the lane ready for a unit. `stale` are the addresses of the pages that have changed in the
    /// program since the last one.
    pub fn begin(
        &mut self,
        config: &MachineConfig,
        start: Start<'_, E>,
        mut stale: Vec<u64>,
    ) -> Result<(), MemoryError> {
        self.unit = start.unit;
        let Some(mut chip) = self.chip.take() else {
            return Ok(());
        };
        let mem = &chip.process().mem;
        // A shadow follows what the program maps, not what it has mapped itself.
        let same_layout = mem.layout_epoch() == self.layout_epoch;
        let same_code = mem.code_epoch() == self.code_epoch;
        stale.extend(mem.dirty_pages());
        stale.sort_unstable();
        stale.dedup();
        chip.process_mut()
            .follow(start.source, same_layout.then_some(&stale[..]))?;
        chip.process_mut().counters_before = start.clock;
        self.layout_epoch = start.source.mem.layout_epoch();
        self.code_epoch = start.source.mem.code_epoch();
        let editor = start.editor.clone();
        self.chip = Some(Box::new(
            chip.begin_again(config, editor, start.warm, same_code),
        ));
        Ok(())
    }

    /// Times the unit. It is measured whole or not at all.
    pub fn time(&mut self, plan: &SamplingPlan) -> Unit {
        let Some(chip) = &mut self.chip else {
            unreachable!("a lane has its chip outside of `begin`")
        };
        let places = plan.places(plan.period_of(self.unit));
        let warm_up = places.measured - places.begin;
        let mut stop = match warm_up {
            0 => Stop::Limit,
            _ => chip.run(warm_up),
        };
        let mut measured = None;
        if stop == Stop::Limit {
            let (before, cpi) = (*chip.stats(), *chip.cpi());
            stop = chip.run(places.end - places.measured);
            if stop == Stop::Limit {
                let inserted = |stats: &CoreStats| {
                    stats.commit_inserted_instructions + stats.commit_handler_instructions
                };
                measured = Some(Measured {
                    cycles: chip.stats().cycles - before.cycles,
                    inserted: inserted(chip.stats()) - inserted(&before),
                    cpi: chip.cpi().since(&cpi),
                });
            }
        }
        Unit {
            measured,
            instructions: chip.stats().commit_program_instructions,
            learned: chip.learned(),
        }
    }
}
