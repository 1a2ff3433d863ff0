//! A timed run under a sampling profiler that costs what it costs: interrupts or assists at its samples, handlers
//! that store records, buffers and their reader.

use hps_isa::editor::Interruptible;
use hps_isa::layout;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::{InterruptConfig, MachineConfig};
use hps_pipeline::core::{CyclesProbe, Origin};
use hps_pipeline::interrupts::{InterruptStats, Interrupts};
use hps_pipeline::pmu::{CounterConfig, Event, Pmu};
use hps_productions::{
    CollectorError, SampleHandler, SampleHandlers, SampleOptions, SampleRecord, SampleRecords,
    TableHandler, TableOptions,
};
use hps_profilers::registry::{self, Records};
use hps_profilers::{ExactProfile, Key, Period, Row, Spread, Unit};
use hps_system::process::Process;

use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::TimedLoop;
use crate::mode::Timed;
use crate::truth::{Truth, Watch, probe};

/// Settings of a collection of samples.
#[derive(Clone, Copy, Debug)]
pub struct Collecting {
    /// Way in which records come into memory.
    pub records: Records,
    /// Time between samples: in cycles, or in instructions of the program.
    pub period: Period,
    /// Records in the buffer.
    pub buffer_records: u32,
}

impl Collecting {
    /// Buffers of 64 records.
    #[must_use]
    pub fn new(records: Records, period: Period) -> Self {
        Collecting {
            records,
            period,
            buffer_records: 64,
        }
    }
}

/// A run under a profiler that costs.
pub struct Collected<E> {
    /// The run with its own truth. The rows of handlers hold what interrupts took, from their entry on.
    pub truth: Truth<E>,
    /// Interrupts and assists.
    pub interrupts: InterruptStats,
    /// Overflows that were lost because an earlier one still waited.
    pub overflows_lost: u64,
    /// Records that handlers have stored. Records of the hardware hold places only; samples in a hash table are a
    /// record each, without count and cycle.
    pub stored: SampleRecords,
    /// Memory that handlers and buffer take, in bytes.
    pub memory_bytes: u64,
}

impl<E> Collected<E> {
    /// Units by instruction of the program that a profiler has found, by its place in [`Watch::samplers`]: those of
    /// software are what its handler has stored.
    #[must_use]
    pub fn weights(&self, sampler: usize) -> Vec<(Key, u64)> {
        let Some(sampled) = self.truth.sampled.get(sampler) else {
            return Vec::new();
        };
        let is_stored = registry::find(sampled.policy).is_some_and(|profiler| profiler.is_stored);
        let mut weights: Vec<(Key, u64)> = if is_stored {
            let units = sampled.credits.units_per_sample;
            let records = self.stored.records.iter();
            let credit = |record: &SampleRecord| (Key::of_program(record.pc), units);
            records.map(credit).collect()
        } else {
            let executed = self.truth.exact.executed();
            sampled.by_instruction(&executed).into_iter().collect()
        };
        weights.retain(|(key, _)| !layout::is_for_handlers(key.pc));
        weights
    }

    /// The exact profile of the program's own cycles, without those of handlers.
    #[must_use]
    pub fn exact_of_program(&self) -> ExactProfile {
        let mut exact = self.truth.exact.clone();
        exact.rows.retain(|row| row.origin != Origin::Handler);
        exact
    }

    /// Cycles of handlers, from their entry on.
    #[must_use]
    pub fn handler_cycles(&self) -> f64 {
        let exact = &self.truth.exact;
        let of_handlers = exact.rows.iter().filter(|r| r.origin == Origin::Handler);
        let units: u64 = of_handlers.map(Row::units).sum();
        units as f64 / exact.units_per_cycle.max(1) as f64
    }
}

/// The hardware of a profiler: a counter, the costs of what the counter raises, a handler and its buffer.
struct Hardware {
    counter: CounterConfig,
    costs: InterruptConfig,
    handler: Handler,
}

/// Handler that an interrupt runs.
enum Handler {
    /// The handler stores records, or empties their buffer.
    Records(SampleHandler, SampleOptions),
    /// The handler counts samples in a hash table.
    Table,
}

/// A handler in guest memory.
enum Installed {
    Records(SampleHandlers),
    Table(TableHandler),
}

impl Installed {
    fn read(&self, process: &Process) -> Result<SampleRecords, CollectorError> {
        match self {
            Installed::Records(handlers) => handlers.read(process),
            Installed::Table(handler) => {
                let samples = handler.read(&process.mem)?;
                let all = samples.entries().flat_map(|entry| {
                    let record = SampleRecord {
                        pc: entry.pc,
                        source: u64::from(entry.source),
                        count: 0,
                        cycle: 0,
                    };
                    (0..entry.count).map(move |_| record)
                });
                Ok(SampleRecords {
                    records: all.collect(),
                    lost: samples.dropped,
                })
            }
        }
    }

    fn memory_bytes(&self) -> u64 {
        match self {
            Installed::Records(handlers) => handlers.memory_bytes(),
            Installed::Table(handler) => handler.memory_bytes(),
        }
    }
}

impl Handler {
    /// Installs the handler in a process. Gives the installed handler and its address.
    fn install(&self, process: &mut Process) -> Result<(Installed, u64), CollectorError> {
        Ok(match *self {
            Handler::Records(handler, options) => {
                let installed = SampleHandlers::new(options)?;
                let address = installed.install(process, handler)?;
                (Installed::Records(installed), address)
            }
            Handler::Table => {
                let installed = TableHandler::new(TableOptions::default())?;
                let address = installed.install(process)?;
                (Installed::Table(installed), address)
            }
        })
    }
}

impl Hardware {
    fn new(how: &Collecting, machine: &MachineConfig) -> Result<Option<Hardware>, LabError> {
        let costs = &machine.interrupts;
        let counter = counter(how.period)?;
        // The reader enters and leaves the kernel as an interrupt does.
        let there_and_back = costs.entry_cycles + costs.return_cycles;
        let buffers = |words, wake_cycles| SampleOptions {
            buffer_records: how.buffer_records,
            wake_cycles,
            ..SampleOptions::of_words(words)
        };
        Ok(match how.records {
            Records::Outside | Records::OtherMachine => None,
            Records::Interrupt {
                words,
                delay_cycles,
            } => Some(Hardware {
                counter: CounterConfig {
                    skid_cycles: u64::from(delay_cycles),
                    ..counter
                },
                costs: costs.clone(),
                handler: Handler::Records(SampleHandler::Record, buffers(words, there_and_back)),
            }),
            Records::Table => Some(Hardware {
                counter,
                costs: costs.clone(),
                handler: Handler::Table,
            }),
            Records::Assist { words } => Some(Hardware {
                counter,
                costs: InterruptConfig {
                    // The record is of the next instruction to commit, behind which the assist comes.
                    recognition_cycles: 1,
                    entry_cycles: costs.assist_cycles,
                    return_cycles: 0,
                    ..costs.clone()
                },
                // The interrupt, and then the reader.
                handler: Handler::Records(
                    SampleHandler::Record,
                    buffers(words, 2 * there_and_back),
                ),
            }),
            Records::Beside { words } => {
                let buffer = u64::from(how.buffer_records);
                Some(Hardware {
                    counter: CounterConfig {
                        period: counter.period.saturating_mul(buffer),
                        spread: counter.spread.saturating_mul(buffer),
                        ..counter
                    },
                    costs: costs.clone(),
                    handler: Handler::Records(SampleHandler::Drain, buffers(words, there_and_back)),
                })
            }
        })
    }
}

/// The counter that overflows when samples of a period are due.
fn counter(period: Period) -> Result<CounterConfig, LabError> {
    let event = match period.unit {
        Unit::Cycles => Event::CYCLES,
        Unit::Instructions => Event::INSTRUCTIONS,
        Unit::Events(_) => return Err(LabError::CollectedEvents),
    };
    let (least, spread, seed) = match period.spread {
        Spread::Fixed => (period.mean.max(1), 0, 0),
        Spread::Random { seed, .. } => {
            let half = period.half_width();
            (period.mean.max(1) - half, 2 * half, seed)
        }
    };
    Ok(CounterConfig {
        spread,
        seed,
        phase: period.phase % least,
        ..CounterConfig::every(event, least)
    })
}

impl<I: Install> Lab<'_, Timed<'_>, I, NoProbe>
where
    Interruptible<I::Editor>: TimedLoop<CyclesProbe>,
{
    /// Runs to the end of the program or to the limit under the oracle and the profilers of `watch`, while samples are
    /// collected at their cost. To the profilers it is one run: each sees what hardware of its kind has latched.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run); [`LabError::CollectedEvents`] for a period of events; buffers that do not fit
    /// into memory.
    pub fn collected(
        mut self,
        how: &Collecting,
        watch: Watch,
    ) -> Result<Collected<I::Editor>, LabError> {
        let hardware = Hardware::new(how, self.machine())?;
        let log = self.record_code();
        let watching = probe(self.machine(), (&self.program.image, &log), watch);
        let run = self.watched_by(watching).interrupted(|process| {
            let Some(hardware) = hardware else {
                return Ok((None, None));
            };
            let (installed, address) = hardware.handler.install(process)?;
            let pmu = Pmu::new(&[hardware.counter])?;
            let interrupts = Interrupts::new(&hardware.costs, pmu, address)?;
            Ok((Some(installed), Some(interrupts)))
        })?;
        let stored = match &run.handlers {
            Some(handlers) => handlers.read(&run.ran.process)?,
            None => SampleRecords::default(),
        };
        Ok(Collected {
            truth: Truth::of(run.ran),
            interrupts: run.interrupts,
            overflows_lost: run.overflows_lost,
            stored,
            memory_bytes: run.handlers.map_or(0, |h| h.memory_bytes()),
        })
    }
}
