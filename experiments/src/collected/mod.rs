//! A profile that HPS collects, beside the exhaustive one of the same program.

mod exhaustive;
mod tables;

use std::sync::Arc;

use hps_isa::probe::NoProbe;
use hps_lab::{Faulted, Lab, LabError, Program, TimedMachine, dise_config};
use hps_productions::{
    CollectedProfile, Collector, CollectorError, CollectorOptions, GridError, SamplePoint, Scheme,
    Tables,
};
use hps_profile::{
    CallPair, DataStream, Method, Profile, ProfileKey, ProfileKind, StreamConfig, StreamSummary,
};
use hps_sim_core::machine::Stop;
use hps_system::os::Output;
use hps_system::symbols::{Entries, Symbols};

use exhaustive::{Truth, exhaustive, pairs};
use tables::Table;

/// A profile that HPS is to collect.
#[derive(Clone, Debug)]
pub struct Collection<'a> {
    /// Kind of the profile.
    pub kind: ProfileKind,
    /// Burst length and sparsity.
    pub point: SamplePoint,
    /// The seed of random periods; `None` for fixed ones.
    pub random_period: Option<u64>,
    /// Changes of the sampling while the program runs, in the order in which they come. On machines with one context.
    pub changes: Vec<Change>,
    /// Whether tail calls enter methods, or make pairs.
    pub tail_calls: bool,
    /// Whose tables the handlers write.
    pub tables: Tables,
    /// The machine that times the run, and one without a profile; `None` for a functional run.
    pub machine: Option<&'a TimedMachine>,
}

/// A change of the sampling while the program runs.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Instructions of the program behind which it comes.
    pub at_instructions: u64,
    /// How events are sampled from there on.
    pub point: SamplePoint,
}

/// A collected profile beside the exhaustive one.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Both, by kind.
    pub profiles: Profiles,
    /// Events that found no room in the handler's table.
    pub lost: u64,
    /// Cycles with and without the profile, if the run was timed.
    pub cycles: Option<(u64, u64)>,
    /// Instructions of the program.
    pub instructions: u64,
    /// The program's exit code.
    pub exit_code: i32,
    /// A warning where the fixed period is in step with the program's loops.
    pub in_step: Option<String>,
    /// Names of all that the program has run.
    pub symbols: Arc<Symbols>,
}

/// Profiles of one of the three kinds.
#[derive(Clone, Debug)]
pub enum Profiles {
    /// Hot methods.
    Method(Beside<Method>),
    /// Hot call pairs.
    CallPair(Beside<CallPair>),
    /// Hot data streams, with what was sampled and what there was in numbers.
    DataStream(Beside<DataStream>, [StreamSummary; 2]),
}

/// A sampled profile beside the exhaustive one.
#[derive(Clone, Debug)]
pub struct Beside<K: ProfileKey> {
    /// The profile of the samples.
    pub sampled: Profile<K>,
    /// The profile of all events.
    pub exhaustive: Profile<K>,
    /// The tables that the sampled one is made of, each with its owner, if there are several.
    pub tables: Vec<(String, Profile<K>)>,
}

/// Why no profile is collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// A run cannot be put together or go on.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The collector cannot be made or read.
    #[error(transparent)]
    Collector(#[from] CollectorError),
    /// The samplers of the exhaustive run cannot be made.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The program faulted.
    #[error(transparent)]
    Faulted(#[from] Faulted),
    /// The analysis of data streams has no result.
    #[error("the data streams were not analyzed")]
    Streams,
    /// The collector has no profile.
    #[error("nothing was collected")]
    Nothing,
}

/// Results of a collecting run.
struct Run {
    collected: CollectedProfile,
    /// The tables that it is made of, if there are several.
    tables: Vec<Table>,
    cycles: Option<(u64, u64)>,
    instructions: u64,
}

impl Collection<'_> {
    /// Counts all events of a program in a functional run, and collects them by HPS in another one. The program's output is
    /// discarded in the second one.
    ///
    /// # Errors
    /// The program cannot be run to its end, or HPS cannot collect what is asked for.
    pub fn collect(&self, program: &Program) -> Result<Collected, CollectionError> {
        let tail_calls = (self.tail_calls).then(|| entries(program)).transpose()?;
        let streams = StreamConfig::default();
        let truth = exhaustive(program, self.kind, self.point, &streams, &tail_calls)?;
        let mut program = program.clone();
        // The first run has shown the program's standard error.
        program.process.stderr = Output::Discard;
        let options = CollectorOptions {
            dise: self.machine.map(|m| dise_config(m)).unwrap_or_default(),
            streams: (self.kind == ProfileKind::DataStream).then_some(streams),
            seed: self.random_period.unwrap_or(1),
            tail_calls,
            tables: self.tables,
            ..CollectorOptions::default()
        };
        let scheme = match self.random_period {
            Some(_) => Scheme::Randomized,
            None => Scheme::Hps,
        };
        let collector = Collector::of(scheme, &[self.kind], self.point, &options)?;
        let run = match self.machine {
            None => run_functional(&program, &collector, &self.changes)?,
            Some(machine) => run_timed(&program, &collector, &self.changes, machine)?,
        };
        let is_fixed = self.random_period.is_none() && self.changes.is_empty();
        let in_step = truth.in_step(self.point).filter(|_| is_fixed);
        let (exit_code, symbols) = (truth.exit_code, Arc::clone(&truth.symbols));
        let (profiles, lost) = beside(run.collected, run.tables, truth)?;
        Ok(Collected {
            profiles,
            lost,
            cycles: run.cycles,
            instructions: run.instructions,
            exit_code,
            in_step,
            symbols,
        })
    }
}

/// Where functions are entered, in all objects of the program.
fn entries(program: &Program) -> Result<Arc<Entries>, CollectionError> {
    let image = program.clone().with_objects(u64::MAX)?.image;
    Ok(Arc::new(Entries::of(&image.symbols, image.isa)))
}

/// The collected profile beside the exhaustive one, and how many events were lost.
fn beside(
    collected: CollectedProfile,
    tables: Vec<Table>,
    truth: Truth,
) -> Result<(Profiles, u64), CollectionError> {
    let exact = &truth.grid.exhaustive;
    match collected {
        CollectedProfile::Method { addresses, lost } => {
            let entry = |address| truth.methods.entry(address);
            let of_table = |table: Table| match table.collected {
                CollectedProfile::Method { addresses, .. } => {
                    Some((table.owner, addresses.methods(entry)))
                }
                _ => None,
            };
            let profiles = Beside {
                sampled: addresses.methods(entry),
                exhaustive: exact.addresses.methods(entry),
                tables: tables.into_iter().filter_map(of_table).collect(),
            };
            Ok((Profiles::Method(profiles), lost))
        }
        CollectedProfile::CallPair { call_pairs, lost } => {
            let of_table = |table: Table| match table.collected {
                CollectedProfile::CallPair { call_pairs, .. } => Some((table.owner, call_pairs)),
                _ => None,
            };
            let profiles = Beside {
                sampled: call_pairs,
                exhaustive: pairs(exact),
                tables: tables.into_iter().filter_map(of_table).collect(),
            };
            Ok((Profiles::CallPair(profiles), lost))
        }
        CollectedProfile::DataStream(recorder) => {
            let sampled = recorder.finish().ok_or(CollectionError::Streams)?;
            let exact = truth.streams.ok_or(CollectionError::Streams)?;
            let profiles = Beside {
                sampled: sampled.profile,
                exhaustive: exact.profile,
                tables: Vec::new(),
            };
            let summaries = [sampled.summary, exact.summary];
            Ok((Profiles::DataStream(profiles, summaries), 0))
        }
        CollectedProfile::Nothing => Err(CollectionError::Nothing),
    }
}

fn run_functional(
    program: &Program,
    collector: &Collector,
    changes: &[Change],
) -> Result<Run, CollectionError> {
    let mut machine = Lab::of(program).edited_by(collector).open()?;
    for change in changes {
        let ahead = change
            .at_instructions
            .saturating_sub(machine.retired.program);
        if machine.run(&mut NoProbe, ahead) != Stop::Limit {
            break;
        }
        for (register, value) in collector.scheme().registers(change.point) {
            machine.process.thread.hart.r[register as usize] = value;
        }
    }
    Faulted::or_exit_code(machine.run_to_end(), &machine.process)?;
    Ok(Run {
        collected: collector.read(&machine.process)?,
        tables: tables::read(collector, &machine.process)?,
        cycles: None,
        instructions: machine.retired.program,
    })
}

fn run_timed(
    program: &Program,
    collector: &Collector,
    changes: &[Change],
    machine: &TimedMachine,
) -> Result<Run, CollectionError> {
    let baseline = Lab::of(program).timed_by(machine).run()?;
    Faulted::or_exit_code(baseline.stop, &baseline.process)?;
    let mut core = Lab::of(program)
        .timed_by(machine)
        .edited_by(collector)
        .open()?;
    for change in changes {
        let ahead = change
            .at_instructions
            .saturating_sub(core.stats().commit_program_instructions);
        if core.run(ahead) != Stop::Limit {
            break;
        }
        for (register, value) in collector.scheme().registers(change.point) {
            core.set_dise_register(register, value);
        }
    }
    let stop = core.run_to_end();
    // On several contexts, the account of one that rests ends where it began to.
    let finished = core.finish();
    Faulted::or_exit_code(stop, &finished.process)?;
    let others: u64 = (finished.others.iter())
        .map(|other| other.stats.commit_program_instructions)
        .sum();
    Ok(Run {
        collected: collector.read(&finished.process)?,
        tables: tables::read(collector, &finished.process)?,
        cycles: Some((finished.stats.cycles, baseline.cycles())),
        instructions: finished.stats.commit_program_instructions + others,
    })
}
