//! Shadows on other contexts of the chip that runs their parent.
//!
//! A shadow is a copy of the process ([`Chip::place_copy`]) on a context of its own: its fetches, loads and stores go
//! through the caches and buses that it shares with its parent, and both pay for the pages that one of them writes
//! while the other has them. The parent's slowdown by this sharing is measured against a run of the same chip without
//! shadows, and not charged. Instructions of the operating system are not simulated: for a signal, for a fork, and for
//! a fault besides the copying of the page, the parent's context is taken for as long as
//! [`Costs`](hps_shadow::control::Costs) say.
//!
//! Profiles need what each instruction computes, which the timed core does not tell. So each shadow has a *twin*: the
//! same copy on the functional machine, with the probes. The shadow on the chip is held against it transfer by transfer
//! ([`OnChip::apart`]).

use std::sync::Arc;

use hps_isa::editor::NoEditor;
use hps_isa::inst::Inst;
use hps_isa::memory::PAGE_SIZE;
use hps_isa::probe::Probe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{
    Cause, Chip, CopyTerms, CpiStack, CyclesProbe, PageFaults, PipelineProbe,
};
use hps_pipeline::memsys::MemoryStats;
use hps_shadow::Graphs;
use hps_shadow::control::LoadController;
use hps_shadow::divergence::{Comparison, Comparisons};
use hps_shadow::policy::{ShadowGate, Wire};
use hps_sim_core::machine::{Machine, Stop};

use super::outcome::{End, ShadowOutcome};
use super::seen::{Seen, end_of};
use super::triggers::Trigger;
use super::{ShadowOptions, Timeline};
use crate::error::LabError;
use crate::loops::ChipLoop;
use crate::program::Program;

/// A probe that compares a process with its shadows, or a shadow with its twin.
#[derive(Debug, Default)]
pub struct Following(Comparisons);

impl Probe for Following {
    const WANTS_CONTROL: bool = true;

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        self.0.control(pc, inst, target, taken);
    }
}

impl PipelineProbe for Following {
    fn stand_in(&self) -> Option<Self> {
        Some(Following::default())
    }
}

type ShadowedChip = Chip<NoEditor, CyclesProbe>;

/// Cycles and counters of a program on a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChipRun {
    /// Cycles.
    pub cycles: u64,
    /// Commit slots of the program's context by cause.
    pub cpi: CpiStack,
    /// Counters of the program's core and of the shared levels.
    pub memory: MemoryStats,
}

/// A run of a program on a chip that keeps its other contexts for shadows, but without shadows.
pub struct Alone {
    /// Cycles and counters of the run.
    pub run: ChipRun,
    /// Simulated time of the run by instructions.
    pub timeline: Timeline,
}

impl Alone {
    /// Runs a program to its end.
    ///
    /// # Errors
    /// The machine has one context only, or the program cannot be loaded or does not end as it must.
    pub fn measure(program: &Program, machine: &MachineConfig) -> Result<Alone, LabError> {
        let mut chip = chip_of(program, machine, 0)?;
        let mut last = Stop::Limit;
        let timeline = Timeline::stepped(machine.clock_mhz, |instructions| {
            last = ChipLoop::run_chip(&mut chip, instructions);
            let stats = chip.stats();
            let instructions = stats.commit_program_instructions;
            (last, stats.cycles, instructions)
        });
        let ended = chip.finish();
        program.check_end(last, &ended.process)?;
        Ok(Alone {
            run: ChipRun {
                cycles: ended.stats.cycles,
                cpi: ended.cpi,
                memory: ended.memory,
            },
            timeline,
        })
    }
}

/// Results of a chip in a run with shadows.
#[derive(Clone, Debug)]
pub struct OnChip {
    /// The parent with shadows.
    pub run: ChipRun,
    /// Cycles in which the operating system had the parent's context for signals.
    pub signal_cycles: u64,
    /// Cycles for forks.
    pub fork_cycles: u64,
    /// Cycles in which the parent waited for a context for its next shadow ([`When::EndToEnd`](super::When::EndToEnd)).
    pub waiting_cycles: u64,
    /// Page faults of the parent.
    pub faults: PageFaults,
    /// Page faults of shadows that have ended.
    pub shadow_faults: PageFaults,
    /// Cycles of the lives of shadows that have ended.
    pub shadow_cycles: u64,
    /// Shadows that have ended on the chip.
    pub ended: u64,
    /// Shadows that did something else than their twins on the functional machine. The profiles are those of the twins.
    pub apart: u64,
}

impl ChipRun {
    /// Cycles in which the program's context was idle: the operating system had it, or the program waited.
    fn idle_cycles(&self) -> i64 {
        let width = (self.cpi.total() / self.cycles.max(1)).max(1);
        (self.cpi.get(Cause::Idle) / width) as i64
    }
}

impl OnChip {
    /// Cycles that the parent lost to shadows while it ran: caches, buses and core were shared with them, and
    /// interruptions displaced lines of its caches and predictors.
    #[must_use]
    pub fn lost_cycles(&self, alone: &ChipRun) -> i64 {
        let slower = self.run.cycles as i64 - alone.cycles as i64;
        slower - (self.run.idle_cycles() - alone.idle_cycles())
    }

    /// Cycles in which the parent's context was idle beyond the cycles of signals, forks, waits and page faults,
    /// counted one behind the other. The pipeline is filled again in them. Below 0 if the program ended before its
    /// context was free.
    #[must_use]
    pub fn idle_beside_cycles(&self, alone: &ChipRun) -> i64 {
        let taken =
            self.signal_cycles + self.fork_cycles + self.waiting_cycles + self.faults.cycles;
        self.run.idle_cycles() - alone.idle_cycles() - taken as i64
    }
}

/// Profiles a program by shadows on other contexts of a chip, which is held against a run without shadows. The program
/// may end in any way.
///
/// # Errors
/// The machine has one context only, the program cannot be loaded, or the host refuses memory.
pub fn profiled_on_chip<'a>(
    program: &Program,
    graphs: &'a Graphs<'a>,
    machine: &MachineConfig,
    (alone, options): (&Alone, &ShadowOptions),
) -> Result<(ShadowOutcome<'a>, OnChip), LabError> {
    let cycles_of = |ns: f64| (ns * f64::from(machine.clock_mhz) / 1000.0) as u64;
    let run = Run {
        chip: chip_of(program, machine, cycles_of(options.costs.fault_ns))?,
        machine,
        options,
        seen: Seen::new(graphs, options),
        expected: vec![None; machine.chip.processors() as usize],
        out: OnChip {
            run: ChipRun::default(),
            signal_cycles: 0,
            fork_cycles: 0,
            waiting_cycles: 0,
            faults: PageFaults::default(),
            shadow_faults: PageFaults::default(),
            shadow_cycles: 0,
            ended: 0,
            apart: 0,
        },
        signals: 0,
    };
    run.run(alone)
}

/// A chip in front of a program, all of whose contexts but the first are kept for shadows.
fn chip_of(
    program: &Program,
    machine: &MachineConfig,
    fault_cycles: u64,
) -> Result<ShadowedChip, LabError> {
    if machine.chip.processors() < 2 {
        return Err(LabError::NoShadowContext {
            machine: machine.name.clone(),
        });
    }
    let chip = Chip::of_processors(
        machine,
        program.start()?,
        NoEditor,
        CyclesProbe::new(Following::default()),
    );
    let mut chip = chip.map_err(|reason| LabError::NotTogether {
        machine: machine.name.clone(),
        reason,
    })?;
    chip.keep_for_copies(fault_cycles);
    Ok(chip)
}

/// A run with shadows.
struct Run<'a, 'b> {
    chip: ShadowedChip,
    machine: &'b MachineConfig,
    options: &'b ShadowOptions,
    seen: Seen<'a>,
    /// The end of each context's twin: its instructions and why it ended.
    expected: Vec<Option<(u64, End)>>,
    out: OnChip,
    signals: u64,
}

impl<'a> Run<'a, '_> {
    fn run(mut self, alone: &Alone) -> Result<(ShadowOutcome<'a>, OnChip), LabError> {
        let (stop, average_live) = match Trigger::of(self.options.when) {
            Some((load, period_ns, trigger)) => self.at_signals(load, period_ns, trigger)?,
            None => (self.end_to_end()?, 1.0),
        };
        self.collect();
        let followed = std::mem::take(&mut self.followed().0);
        followed.0.iter().for_each(|one| self.seen.leave(one));
        self.out.faults = self.chip.page_faults();
        let (seen, mut out) = (self.seen, self.out);
        let ended = self.chip.finish();
        out.run = ChipRun {
            cycles: ended.stats.cycles,
            cpi: ended.cpi,
            memory: ended.memory,
        };
        let cycle_ns = 1000.0 / f64::from(self.machine.clock_mhz);
        let slower = out.run.cycles as f64 - alone.run.cycles as f64;
        let outcome = ShadowOutcome {
            profiles: seen.profiles,
            stop,
            instructions: ended.stats.commit_program_instructions,
            native_ns: alone.timeline.end_ns(),
            charged_ns: slower * cycle_ns,
            signals: self.signals,
            shadows: seen.shadows,
            average_live,
            covered: seen.covered,
            copied_pages: out.faults.copied_pages,
            reused_pages: out.faults.reused_pages,
            shadow_pages: out.shadow_faults.copied_pages
                + out.shadow_faults.reused_pages
                + out.shadow_faults.made_pages,
            resident_pages: ended.process.mem.peak_resident_bytes() / PAGE_SIZE,
            ends: seen.ends,
            calls: seen.calls,
            divergences: seen.divergences,
            transfers: seen.transfers,
            diverged_transfers: seen.diverged_transfers,
            process: ended.process,
        };
        Ok((outcome, out))
    }

    /// Shadows at signals. Gives why the parent ended, and the average number of live shadows.
    fn at_signals(
        &mut self,
        load: f64,
        period_ns: f64,
        mut trigger: Trigger,
    ) -> Result<(Stop, f64), LabError> {
        let mut controller = LoadController::new(load);
        let period = self.cycles_of(period_ns).max(1);
        let mut next_signal = period;
        let mut last_at = 0;
        loop {
            let stop = ChipLoop::run_chip_to(&mut self.chip, next_signal);
            let stop = stop.or_else(|| self.chip.run_to_boundary());
            self.collect();
            if let Some(stop) = stop {
                return Ok((stop, controller.average()));
            }
            let at = self.chip.stats().commit_program_instructions;
            if at == last_at {
                // The program goes on before the next signal, also if a signal takes longer than a period.
                next_signal += period;
                continue;
            }
            last_at = at;
            self.signals += 1;
            let signal = self.cycles_of(self.options.costs.signal_ns);
            self.out.signal_cycles += signal;
            let mut taken = signal;
            let live = self.chip.copies() as u64;
            let stats = self.chip.stats();
            let now = stats.cycles;
            let taken_before =
                self.out.signal_cycles + self.out.fork_cycles + self.chip.page_faults().cycles;
            let own_ns = self.ns_of(now.saturating_sub(taken_before));
            let place = self.chip.place_for_copy();
            let is_wanted = trigger.wants(at, own_ns);
            match place {
                Some(place) if is_wanted && controller.signal(live) => {
                    taken += self.fork(place, signal)?.0;
                    trigger.saw(&self.seen.profiles);
                }
                Some(_) if is_wanted => {}
                _ => controller.pass(live),
            }
            let goes_on = self.chip.occupy(taken);
            let late = goes_on.saturating_sub(next_signal);
            next_signal += period * (late / period + 1);
        }
    }

    /// Shadows one behind the other: the parent waits while there is no context for the next one.
    fn end_to_end(&mut self) -> Result<Stop, LabError> {
        loop {
            if let Some(stop) = self.chip.run_to_boundary() {
                return Ok(stop);
            }
            let place = loop {
                self.collect();
                if let Some(place) = self.chip.place_for_copy() {
                    break place;
                }
                self.out.waiting_cycles += self.chip.wait_for_copy();
            };
            let (taken, instructions) = self.fork(place, 0)?;
            self.chip.occupy(taken);
            let stop = ChipLoop::run_chip(&mut self.chip, instructions.max(1));
            if stop != Stop::Limit {
                self.collect();
                return Ok(stop);
            }
        }
    }

    /// Forks a shadow onto a context `after` cycles of the operating system on the parent's context. Gives the cycles
    /// of the fork there, and the instructions that the shadow executes.
    fn fork(&mut self, place: usize, after: u64) -> Result<(u64, u64), LabError> {
        let costs = &self.options.costs;
        let process = self.chip.process();
        let pages = process.mem.resident_bytes() / PAGE_SIZE;
        let threads = process.os.thread_count().saturating_sub(1);
        let taken = self.cycles_of(
            costs.fork_ns + costs.fork_page_ns * pages as f64 + costs.thread_ns * threads as f64,
        );
        self.out.fork_cycles += taken;
        let from = self.chip.stats().commit_program_instructions;
        let mut twin = Machine::new(self.chip.copy_process()?);
        let forked_ns = twin.guest_counters().time_ns;
        let sample = self.seen.shadow(&mut twin, from, self.options);
        let mut copy = self.chip.copy_process()?;
        // The gate does not scale time: on the chip the copy itself is slowed down.
        let policy = Arc::clone(&self.options.policy);
        let gate = ShadowGate::new(policy, Wire::default(), forked_ns, 1.0);
        copy.os.set_gate(Some(Box::new(gate)));
        let translation = self.cycles_of(sample.translated as f64 * costs.translate_ns);
        let terms = CopyTerms {
            from_cycle: self.chip.occupied_until() + after + taken + translation,
            instructions: self.options.sample,
            slowdown: costs.slowdown,
        };
        self.expected[place] = Some((sample.instructions, sample.end));
        let against_twin = Following(Comparisons(vec![Comparison::new(sample.course.clone())]));
        self.chip
            .place_copy(place, copy, CyclesProbe::new(against_twin), terms);
        let followed = &mut self.followed().0;
        followed.0.push(Comparison::new(sample.course));
        Ok((taken, sample.instructions))
    }

    /// The probe that follows the parent.
    fn followed(&mut self) -> &mut Following {
        self.chip.probe_mut().probe_mut()
    }

    /// Counts shadows that have ended, and compares stretches of shadows that the parent has left.
    fn collect(&mut self) {
        for copy in self.chip.take_ended_copies() {
            let found = (copy.instructions, end_of(copy.stop, &copy.process));
            let followed = copy.probe.probe::<Following>().0.0.first();
            let is_equal = followed.is_some_and(|one| one.divergence.is_none())
                && self.expected[copy.processor] == Some(found);
            self.out.ended += 1;
            self.out.apart += u64::from(!is_equal);
            self.out.shadow_cycles += copy.cycles.1.saturating_sub(copy.cycles.0);
            let (sum, one) = (&mut self.out.shadow_faults, copy.faults);
            sum.copied_pages += one.copied_pages;
            sum.reused_pages += one.reused_pages;
            sum.made_pages += one.made_pages;
            sum.cycles += one.cycles;
        }
        let followed: &mut Following = self.chip.probe_mut().probe_mut();
        let followed = &mut followed.0.0;
        let seen = &mut self.seen;
        followed.retain(|comparison| {
            if comparison.is_done() {
                seen.leave(comparison);
            }
            !comparison.is_done()
        });
    }

    fn cycles_of(&self, ns: f64) -> u64 {
        (ns * f64::from(self.machine.clock_mhz) / 1000.0) as u64
    }

    fn ns_of(&self, cycles: u64) -> f64 {
        cycles as f64 * 1000.0 / f64::from(self.machine.clock_mhz)
    }
}
