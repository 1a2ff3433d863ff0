//! A run with an observer.

use std::time::Instant;

use hps_isa::bus::Bus;
use hps_isa::isa::Isa;
use hps_isa::memory::Memory;
use hps_isa::probe::NoProbe;
use hps_pipeline::core::{Chip, CoreStats, Counted, CyclesProbe, Finished, OperatingPoint};
use hps_pipeline::memsys::MemoryStats;
use hps_sim_core::machine::Stop;
use hps_system::os::ProcessRule;
use hps_system::process::Process;

use super::area::{self, COUNT, RING, RING_SAMPLES, sample_bytes};
use super::calls::{CallLog, SeenCall, orphans};
use super::code::Code;
use super::disturbed::Holds;
use super::operated::{Operated, Operating, Switch};
use super::paths::Paths;
use super::shown::{Finder, Shown};
use super::stack::Functions;
use super::tally::Tally;
use super::watch::Watch;
use super::{
    Disturbance, Observer, Placement, Reads, Reckoning, Sample, Signals, StackRead, Throttle,
};
use crate::end::EndError;
use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::ChipLoop;
use crate::mode::Timed;
use crate::provenance::Provenance;

/// Instructions of all contexts between two looks at the ring. An observer takes fewer samples in them than the ring
/// has places.
const STRETCH: u64 = 1500;

/// Results of a run with an observer.
#[derive(Debug)]
pub struct Observed {
    /// Why the run ended.
    pub stop: Stop,
    /// The process as it ended.
    pub process: Process,
    /// Cycles of the run.
    pub cycles: u64,
    /// Instructions of the program that committed, on all of its contexts.
    pub instructions: u64,
    /// Instructions of other programs: of child processes, and of a program that the first process executed in place of
    /// the observed one.
    pub other_instructions: u64,
    /// Cycles up to the end of the observed program; those of the run, unless others went on behind it.
    pub observed_cycles: u64,
    /// Samples that the observer took.
    pub samples: u64,
    /// Work of the program by call, where calls are observed.
    pub tally: Tally,
    /// Calls in the ring whose caller is not in it ([`Signals::CallSequence`]).
    pub orphans: u64,
    /// Signals that the program has shown by itself ([`Signals::Shown`]); `None` if it has shown none.
    pub shown: Option<Shown>,
    /// The cycles in which the observer was held up ([`Disturbance`]).
    pub held_at: Vec<u64>,
    /// Other operating points of the chip, in order ([`Lab::observe_and_operate`]).
    pub switches: Vec<Switch>,
    /// Counters of each context, by processor.
    pub contexts: Vec<Counted>,
    /// The observer's processor.
    pub processor: usize,
    /// Host time, in seconds.
    pub host_seconds: f64,
    /// Provenance of the run.
    pub provenance: Provenance,
}

impl Observed {
    /// The run, if the program ended by itself, or the run at its limit of instructions.
    ///
    /// # Errors
    /// [`LabError::End`]: the program faulted, or was stopped at a limit of time for instance.
    pub fn unless_cut(self) -> Result<Observed, LabError> {
        match EndError::of(self.stop, &self.process) {
            end @ (EndError::Fault(_) | EndError::Stopped(_)) => Err(end.into()),
            _ => Ok(self),
        }
    }

    /// Counters of the observer's context.
    #[must_use]
    pub fn observer(&self) -> &CoreStats {
        &self.contexts[self.processor].stats
    }

    /// Counters of the caches of the observer's core.
    #[must_use]
    pub fn observer_memory(&self) -> &MemoryStats {
        let core = self.contexts[self.processor].context.core;
        let first = self.contexts.iter().find(|one| one.context.core == core);
        // The list has a core's first context before its other ones.
        &first.unwrap_or(&self.contexts[self.processor]).memory
    }

    /// Cycles from one sample to the next, in the mean.
    #[must_use]
    pub fn period(&self) -> f64 {
        self.observed_cycles as f64 / self.samples.max(1) as f64
    }
}

impl<I> Lab<'_, Timed<'_>, I, NoProbe>
where
    I: Install<Editor: ChipLoop<CyclesProbe>>,
{
    /// Runs to the end of the program or to the limit, with an observer beside it. `see` is given each sample, when its
    /// parts were read, and what the program had done by then.
    ///
    /// # Errors
    /// [`LabError::NoPlace`] if the machine has no context for the observer; whatever a run without one may fail with.
    pub fn observe(
        self,
        observer: &Observer,
        mut see: impl FnMut(&Sample, &Reads, &Reckoning),
    ) -> Result<Observed, LabError> {
        let mut see = |taken: &Taken<'_>| {
            see(&taken.sample, taken.reads, taken.reckoning);
            None
        };
        self.run_beside(observer, Aside::Nothing, &mut see, &mut |_| {})
    }

    /// Runs as [`observe`](Self::observe) does, with an observer of tag stacks ([`Signals::Shown`] with a depth), whose
    /// words `see` is given, too.
    ///
    /// # Errors
    /// The errors of [`observe`](Self::observe).
    pub fn observe_stacks(
        self,
        observer: &Observer,
        mut see: impl FnMut(&Sample, &StackRead<'_>, &Reads, &Reckoning),
    ) -> Result<Observed, LabError> {
        let mut see = |taken: &Taken<'_>| {
            if let Some(stack) = &taken.stack {
                see(&taken.sample, stack, taken.reads, taken.reckoning);
            }
            None
        };
        self.run_beside(observer, Aside::Nothing, &mut see, &mut |_| {})
    }

    /// Runs as [`observe`](Self::observe) does, and switches the chip to what `decide` answers to a sample.
    ///
    /// # Errors
    /// The errors of [`observe`](Self::observe).
    pub fn observe_and_operate(
        self,
        observer: &Observer,
        operating: Operating,
        mut decide: impl FnMut(&Sample, &Reads, &Reckoning) -> Option<OperatingPoint>,
    ) -> Result<Observed, LabError> {
        let mut decide = |taken: &Taken<'_>| decide(&taken.sample, taken.reads, taken.reckoning);
        let aside = Aside::Operating(operating);
        self.run_beside(observer, aside, &mut decide, &mut |_| {})
    }

    /// Runs as [`observe`](Self::observe) does, with an observer that is held up now and then.
    ///
    /// # Errors
    /// The errors of [`observe`](Self::observe).
    pub fn observe_disturbed(
        self,
        observer: &Observer,
        disturbance: Disturbance,
        mut see: impl FnMut(&Sample, &Reads, &Reckoning),
    ) -> Result<Observed, LabError> {
        let mut see = |taken: &Taken<'_>| {
            see(&taken.sample, taken.reads, taken.reckoning);
            None
        };
        let aside = Aside::Disturbance(disturbance);
        self.run_beside(observer, aside, &mut see, &mut |_| {})
    }

    /// Runs as [`observe`](Self::observe) does, with an observer of calls. `see` is given each call or context.
    ///
    /// # Errors
    /// The errors of [`observe`](Self::observe).
    pub fn observe_calls(
        self,
        observer: &Observer,
        mut see: impl FnMut(SeenCall<'_>),
    ) -> Result<Observed, LabError> {
        self.run_beside(observer, Aside::Nothing, &mut |_| None, &mut see)
    }

    /// Runs as [`observe`](Self::observe) does, with an observer that sleeps for ever, to be compared with: the program
    /// has one processor less than the machine, as it has beside any observer.
    ///
    /// # Errors
    /// The errors of [`observe`](Self::observe).
    pub fn unobserved(self, placement: Placement) -> Result<Observed, LabError> {
        let nobody = Observer {
            placement,
            signals: Signals::Tag,
            throttle: Throttle::Sleep(u64::MAX),
        };
        self.run_beside(&nobody, Aside::Nothing, &mut |_| None, &mut |_| {})
    }

    fn run_beside(
        self,
        observer: &Observer,
        aside: Aside,
        see: &mut See<'_>,
        see_call: &mut dyn FnMut(SeenCall<'_>),
    ) -> Result<Observed, LabError> {
        let (provenance, limit) = (self.provenance(), self.limit);
        let (mut process, editor, _, Timed { machine, .. }) = self.prepare()?;
        let processor = observer.placement.processor(&machine);
        let processor = processor.ok_or_else(|| LabError::NoPlace {
            machine: machine.name.clone(),
            placement: observer.placement,
        })?;
        let code = Code::assemble(process.image.isa, observer.signals, observer.throttle);
        let code = code.map_err(LabError::Observer)?;
        process
            .os
            .set_process_rule(ProcessRule::Allowed(ProcessRule::MOST));
        let entry = process.image.entry;
        area::map(&mut process.mem, &code.bytes, observer.signals, entry)
            .map_err(|reason| LabError::Observer(reason.to_string()))?;
        let calls = observer.signals.is_of_calls();
        let calls = calls.then(|| (Functions::new(process.image.clone()), entry));
        let mut watch = Watch::new(processor, &code, calls);
        let mut finder = match observer.signals {
            Signals::Shown { .. } => Some(Finder::default()),
            _ => None,
        };
        watch.has_own_tags = finder.is_some();
        if let Signals::Shown { depth: 1.., .. } = observer.signals {
            watch.reckoning.paths = Some(Paths::new());
        }
        let chip = Chip::of_processors(&machine, process, editor, CyclesProbe::new(watch));
        let mut chip = chip.map_err(|reason| LabError::NotTogether {
            machine: machine.name.clone(),
            reason,
        })?;
        chip.place_observer(processor, code.hart);
        chip.process_mut().show_thread_at(area::THREAD);
        let start = Instant::now();
        let stamps_are_short = chip.process().image.isa == Isa::Alpha;
        let mut ring = Ring {
            taken: 0,
            stamps_are_short,
            wanted: None,
        };
        let mut operated = Operated::new(aside.operating(), &machine);
        let mut log = CallLog::new(observer.signals, stamps_are_short);
        let mut holds = Holds::new(aside.disturbance(), processor);
        let stop = loop {
            let left = limit - chip.probe().probe::<Watch>().all_instructions();
            // The stretch counts the observer's instructions, too.
            let stop = ChipLoop::run_chip(&mut chip, holds.before_next(STRETCH).min(left));
            holds.come_to(&mut chip);
            let has_ended =
                stop != Stop::Limit || chip.probe().probe::<Watch>().all_instructions() >= limit;
            let seen = match observer.signals {
                Signals::Tag => ring.count_only(&mut chip),
                Signals::Samples { .. } | Signals::Shown { .. } => {
                    ring.empty(&mut chip, observer.signals, see)
                }
                _ => log.empty(&mut chip, has_ended, see_call),
            };
            seen.map_err(LabError::Observer)?;
            if let Some(point) = ring.wanted.take() {
                operated.switch(&mut chip, &machine, point);
            }
            if has_ended {
                break stop;
            }
            if let Some(finder) = &mut finder {
                finder.look(&mut chip).map_err(LabError::Observer)?;
            }
        };
        let host_seconds = start.elapsed().as_secs_f64();
        let process = chip.process_mut();
        let is_there = process.observed_guest().is_some();
        let mem = memory(process).map_err(LabError::Observer)?;
        let mut shown = finder.and_then(|finder| finder.finish(mem));
        let orphans = orphans(mem, observer.signals);
        let orphans = orphans.map_err(LabError::Observer)?;
        let Finished {
            process,
            probe,
            stats,
            cpi,
            memory,
            others,
            ..
        } = chip.finish();
        let mut probe: Watch = probe.into_probe();
        // A run ends with its last process. `finish` then returns the first one.
        let was_last = match stop {
            Stop::Limit => is_there,
            _ => probe.is_last,
        };
        let first = Counted {
            context: hps_pipeline::core::ContextId::FIRST,
            stats,
            cpi,
            memory,
        };
        let paths = probe.reckoning.paths.take();
        if let (Some(shown), Some(paths)) = (&mut shown, paths) {
            shown.paths = paths.finish(first.stats.cycles, probe.instructions);
        }
        if let Some(stack) = &probe.stack {
            let at = (first.stats.cycles, probe.instructions);
            probe.tally.finish(stack, at);
        }
        Ok(Observed {
            stop,
            process,
            tally: probe.tally,
            orphans,
            shown,
            held_at: holds.at,
            switches: operated.switches,
            cycles: first.stats.cycles,
            instructions: probe.instructions,
            other_instructions: probe.others,
            observed_cycles: match was_last {
                true => first.stats.cycles,
                false => probe.last_cycle,
            },
            samples: ring.taken + log.taken,
            contexts: std::iter::once(first).chain(others).collect(),
            processor,
            host_seconds,
            provenance,
        })
    }
}

/// Events beside the observation: holds of the observer, or switches of the chip.
enum Aside {
    Nothing,
    Disturbance(Disturbance),
    Operating(Operating),
}

impl Aside {
    fn disturbance(&self) -> Option<Disturbance> {
        match self {
            Aside::Disturbance(disturbance) => Some(*disturbance),
            _ => None,
        }
    }

    fn operating(&self) -> Operating {
        match self {
            Aside::Operating(operating) => *operating,
            _ => Operating::default(),
        }
    }
}

/// A sample that the observer took, with its stack and the truth about it.
struct Taken<'a> {
    sample: Sample,
    stack: Option<StackRead<'a>>,
    reads: &'a Reads,
    reckoning: &'a Reckoning,
}

/// Consumer of samples. Its answer is the operating point that the chip is switched to, if any.
type See<'a> = dyn FnMut(&Taken<'_>) -> Option<OperatingPoint> + 'a;

/// Reader of the ring of samples: the samples taken so far, and what they ask for.
struct Ring {
    taken: u64,
    /// True if stamps have 32 bits, as `rpcc` gives them.
    stamps_are_short: bool,
    /// Operating point that the last sample asks for.
    wanted: Option<OperatingPoint>,
}

impl Ring {
    /// Gives all new samples to `see`.
    fn empty<E: hps_isa::editor::DecodeEditor>(
        &mut self,
        chip: &mut Chip<E, CyclesProbe>,
        signals: Signals,
        see: &mut See<'_>,
    ) -> Result<(), String> {
        let place = sample_bytes(signals);
        let count = word(memory(chip.process_mut())?, COUNT)?;
        if count - self.taken > RING_SAMPLES {
            return Err(format!(
                "{} samples in one stretch of the run",
                count - self.taken
            ));
        }
        let mut all = vec![0; place as usize / 8];
        while self.taken < count {
            let at = RING + self.taken % RING_SAMPLES * place;
            let mem = memory(chip.process_mut())?;
            for (number, word_of) in all.iter_mut().enumerate() {
                *word_of = word(mem, at + 8 * number as u64)?;
            }
            let [start, c0, c1, c2, end, thread, tag, depth, ref rest @ ..] = all[..] else {
                return Err("a sample that is too short".to_string());
            };
            let stack = match rest {
                [tag_after, word_after, entries @ ..] => Some(StackRead {
                    word: depth,
                    tag,
                    entries,
                    tag_after: *tag_after,
                    word_after: *word_after,
                }),
                _ => None,
            };
            let sample = Sample {
                start,
                counters: [c0, c1, c2],
                end,
                thread,
                tag,
            };
            self.taken += 1;
            let watch: &mut Watch = chip.probe_mut().probe_mut();
            let reads = watch
                .reads
                .pop_front()
                .ok_or("a sample that nothing has read")?;
            let sample = match self.stamps_are_short {
                true => sample.with_long_stamps(&reads),
                false => sample,
            };
            let wanted = see(&Taken {
                sample,
                stack,
                reads: &reads,
                reckoning: &watch.reckoning,
            });
            self.wanted = wanted.or(self.wanted);
            // The interval of the next sample begins at this sample's start.
            watch.forget(reads.start);
        }
        Ok(())
    }

    /// Counts the samples of an observer that only tallies.
    fn count_only<E: hps_isa::editor::DecodeEditor>(
        &mut self,
        chip: &mut Chip<E, CyclesProbe>,
    ) -> Result<(), String> {
        let watch: &mut Watch = chip.probe_mut().probe_mut();
        self.taken += watch.reads.len() as u64;
        if let Some(last) = watch.reads.back().copied() {
            watch.forget(last.tag);
        }
        watch.reads.clear();
        Ok(())
    }
}

/// The observer's memory. Another process may be on the processor, and the observed program may have ended.
pub(super) fn memory(process: &mut Process) -> Result<&mut Memory, String> {
    let memory = process.observed_memory();
    memory.ok_or_else(|| "the memory of the observer is no more".to_string())
}

/// A word of the observer's memory.
pub(super) fn word(mem: &mut Memory, addr: u64) -> Result<u64, String> {
    let loaded = Bus::load::<8>(mem, addr);
    loaded.map_err(|_| format!("no memory at {addr:#x}"))
}
