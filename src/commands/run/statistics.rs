//! The statistics of a run, as JSON.

use std::collections::BTreeMap;

use hps_dise::{DiseConfig, DiseStats};
use hps_experiments::{Interval, SampledCpi, cycles_per_instruction};
use hps_isa::hart::GuestCounters;
use hps_lab::{CoreKind, Productions, place};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Cause, CoreStats, Counted, CpiStack};
use hps_pipeline::sampled::{Samples, SamplingPlan};
use hps_pipeline::stacks::FunctionStack;
use hps_sim_core::machine::{RetiredCounts, Stop};
use hps_system::process::Process;
use schemars::JsonSchema;
use serde::Serialize;

use super::execute::{Ran, Timed};
use super::fault;
use super::rates::{Doubt, rates};
use crate::commands::contention::{LineDocument, contended};
use crate::slices::SlicesDocument;
use crate::text::ratio;

/// Everything that is known of a finished run. `_events`, `_cycles`, `_bytes` and `_seconds` are
/// units; rates are events per event, or per thousand instructions where the name says `mpki`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Statistics {
    /// Version of the lab.
    pub version: &'static str,
    /// The program as it was named.
    pub program: String,
    /// The arguments of the program.
    pub arguments: Vec<String>,
    /// SHA-256 of its file.
    pub program_hash: String,
    /// SHA-256 of the root's lock file, or of the list of all files in the root of a suite program; null for other roots
    /// and without one.
    pub root_hash: Option<String>,
    /// Instruction set.
    pub isa: &'static str,
    /// `functional`, `timed` or `sampled` (timed in units: see `sampling`).
    pub mode: &'static str,
    /// Core model: `cycle` or `instruction`; null in a functional run.
    pub core_driven_by: Option<&'static str>,
    /// Estimated error of the cycles, where the machine was simulated by instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Seed of the randomness that the program saw.
    pub seed: u64,
    /// Seed by which the program's addresses were drawn, if they were not fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_seed: Option<u64>,
    /// Instructions of the program that were completed.
    pub instructions: u64,
    /// Simulated cycles; null in a functional run, and where they were not counted but sampled.
    pub cycles: Option<u64>,
    /// Instructions a cycle; null in a functional run. Of the units, if timing was sampled.
    pub ipc: Option<f64>,
    /// Results of sampled timing.
    pub sampling: Option<SamplingDocument>,
    /// Slices that were timed side by side, and the error of joining them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<SlicesDocument>,
    /// Processes that the program was, if it made others. All counts are of all of them together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Use of the contexts by each program of these processes, if there were others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramDocument>,
    /// Pages that processes have copied because they wrote to them while they shared them with others, if there were
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_pages: Option<u64>,
    /// Host time of the simulation alone.
    pub host_seconds: f64,
    /// Instructions of the program a host second, in millions.
    pub host_mips: f64,
    /// The command's exit code.
    pub exit_code: i32,
    /// Why the run ended.
    pub end: End,
    /// All completed instructions by origin.
    pub retired: Retired,
    /// Warnings of the operating system layer.
    pub warnings: Vec<String>,
    /// The machine; null in a functional run.
    pub machine: Option<MachineDocument>,
    /// Counters of the core.
    pub core: Option<CoreStats>,
    /// Counters of caches, TLBs and buses.
    pub memory: Option<BTreeMap<&'static str, u64>>,
    /// Rates made of the counters.
    pub rates: Option<BTreeMap<&'static str, f64>>,
    /// Cycles by cause.
    pub cpi_stack: Option<Stack>,
    /// Each core of a chip with several; counters above are then those of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CoreDocument>,
    /// The lines that cores took from each other, the longest waits first, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contended_lines: Vec<LineDocument>,
    /// Cycles by function and cause, if asked for.
    pub by_function: Option<Vec<FunctionDocument>>,
    /// The DISE engine, if there were productions.
    pub dise: Option<DiseDocument>,
}

/// Use of the contexts by one program, in a run with several processes. A `fork` begins a program, and so does an
/// `execve`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgramDocument {
    /// The number of the program, as in `hps profile --process`.
    pub number: usize,
    /// The number of its process.
    pub pid: u32,
    /// The name of its file.
    pub name: String,
    /// Instructions that it has completed.
    pub instructions: u64,
    /// Cycles of contexts on which it was; null in a functional run.
    pub cycles: Option<u64>,
    /// Branches, jumps, calls and returns of the program, and those of them that were mispredicted; 0 where the machine
    /// does not count them for each thread.
    pub branch_events: u64,
    /// See `branch_events`.
    pub branch_mispredicted_events: u64,
    /// Loads of the level 1 data cache, and those that missed; 0 where the machine does not count them for each thread.
    pub l1d_read_events: u64,
    /// See `l1d_read_events`.
    pub l1d_read_miss_events: u64,
}

impl ProgramDocument {
    /// All programs of a run, which has completed `instructions` instructions.
    fn all(ran: &Ran, instructions: u64) -> Vec<ProgramDocument> {
        let (process, timed) = (&ran.process, ran.timed.as_ref());
        let first = ran.provenance.program.as_str();
        // Counts of a context since its last system call are known only if there is one context.
        let end = match timed {
            Some(timed) if !timed.contexts.is_empty() => process.thread.hart.counters,
            _ => GuestCounters {
                cycle: timed.map_or(instructions, |timed| timed.core.cycles),
                instret: instructions,
                ..process.thread.hart.counters
            },
        };
        let usage = process.usage(end);
        let later = process.os.later_programs().iter();
        let names = std::iter::once(first).chain(later.map(|image| image.name.as_str()));
        let used = names.zip(usage).enumerate();
        used.map(|(index, (name, usage))| ProgramDocument {
            number: index + 1,
            pid: usage.pid,
            name: name.to_string(),
            instructions: usage.counters.instret,
            cycles: timed.map(|_| usage.counters.cycle),
            branch_events: usage.events.branches,
            branch_mispredicted_events: usage.events.branch_misses,
            l1d_read_events: usage.events.l1d_reads,
            l1d_read_miss_events: usage.events.l1d_read_misses,
        })
        .collect()
    }
}

/// Sampled timing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SamplingDocument {
    /// Instructions from one unit to the next.
    pub period_instructions: u64,
    /// Instructions timed before each unit.
    pub warm_up_instructions: u64,
    /// Instructions of a unit.
    pub unit_instructions: u64,
    /// Units measured.
    pub units: u64,
    /// Instructions that ran on the core, warm-up included.
    pub timed_instructions: u64,
    /// Cycles an instruction, from the units and from what functional warming met in the whole run, and
    /// half of the 95% confidence interval.
    pub cpi: Interval,
    /// Half of the interval without what it allows for functional warming.
    pub sampling_half_width: f64,
    /// Ends of the 95% confidence interval of the instructions a cycle.
    pub ipc_from: f64,
    /// See `ipc_from`.
    pub ipc_to: f64,
    /// `cpi.mean * instructions`.
    pub estimated_cycles: f64,
}

impl SamplingDocument {
    /// `None` if no unit was measured.
    fn new(
        machine: &MachineConfig,
        plan: &SamplingPlan,
        samples: &Samples,
        instructions: u64,
    ) -> Option<Self> {
        let SampledCpi {
            cpi,
            sampling_half_width,
        } = cycles_per_instruction(machine, plan, samples, instructions);
        (!samples.unit_cycles.is_empty()).then_some(SamplingDocument {
            period_instructions: samples.period,
            warm_up_instructions: plan.warm_up,
            unit_instructions: plan.unit,
            units: samples.unit_cycles.len() as u64,
            timed_instructions: samples.timed_instructions,
            cpi,
            sampling_half_width,
            ipc_from: 1.0 / (cpi.mean + cpi.half_width),
            ipc_to: 1.0 / (cpi.mean - cpi.half_width).max(0.0),
            estimated_cycles: cpi.mean * instructions as f64,
        })
    }
}

/// Why a run ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum End {
    /// The program ended.
    Exit,
    /// The run reached the limit of instructions.
    Limit,
    /// The program faulted.
    Fault {
        /// The fault, in words.
        cause: String,
        /// Address of the instruction.
        pc: String,
        /// Encoding of the instruction.
        encoding: String,
        /// The instruction.
        disassembly: String,
        /// Function and source line.
        place: String,
    },
}

/// Completed instructions by origin.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Retired {
    /// Instructions of the program.
    pub program: u64,
    /// Inserted by productions.
    pub inserted: u64,
    /// Instructions of handlers.
    pub handler: u64,
    /// All of them.
    pub total: u64,
}

/// A machine as it was resolved.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MachineDocument {
    /// Name of the machine.
    pub name: String,
    /// Equal for machines that cannot differ in a cycle: see [`hps_lab::fingerprint`].
    pub fingerprint: String,
    /// Every key.
    pub configuration: MachineConfig,
}

/// A CPI stack. The slots sum to `commit_width * cycles`, for each of the contexts that they are of.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stack {
    /// Contexts of a chip whose slots and cycles are summed here, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contexts: Option<usize>,
    /// Slots of a cycle; null for all cores of a chip together that commit different numbers of instructions in one.
    pub commit_width: Option<u64>,
    /// All slots.
    pub total_slots: u64,
    /// `total_slots / commit_width`, or the sum of that of all cores.
    pub total_cycles: f64,
    /// By owner, in the order in which a stack is drawn.
    pub parts: Vec<Part>,
}

/// A part of a CPI stack.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Part {
    /// The owner.
    pub cause: &'static str,
    /// Commit slots of the owner.
    pub slots: u64,
    /// `slots / commit_width`, or the sum of that of all cores.
    pub cycles: f64,
    /// Cycles of the owner per instruction of the program. With several contexts it is the mean over contexts, so that
    /// all parts sum to the cycles of the run per instruction.
    pub cpi: f64,
}

/// Counters of one context of several.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CoreDocument {
    /// The core that it is of, from 0.
    pub number: u16,
    /// Number of the context on its core, from 0.
    pub context: u16,
    /// Counters of the context.
    pub core: CoreStats,
    /// Counters of the core's caches, TLBs and buses, in the core's first context; those of shared caches and buses
    /// count for all cores.
    pub memory: BTreeMap<&'static str, u64>,
    /// Cycles of the context by cause.
    pub cpi_stack: Stack,
}

impl CoreDocument {
    fn new(core: &Counted, width: u64) -> Self {
        let instructions = core.stats.commit_program_instructions;
        CoreDocument {
            number: core.context.core.0,
            context: core.context.context,
            core: core.stats,
            memory: core.memory.entries().into_iter().collect(),
            cpi_stack: Stack::new(&core.cpi, width, instructions),
        }
    }
}

/// The stack of one function.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FunctionDocument {
    /// The function.
    pub function: String,
    /// Address of the function.
    pub entry: String,
    /// Slots of the function as a share of all slots.
    pub share: f64,
    /// Cycles of the function by cause.
    pub stack: Stack,
}

/// The DISE engine of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiseDocument {
    /// The production files.
    pub files: Vec<String>,
    /// Parameters and constants as resolved.
    pub constants: BTreeMap<String, i64>,
    /// Sizes and costs.
    pub configuration: DiseConfig,
    /// Counters of the engine, wrong paths included.
    pub stats: DiseStats,
}

/// The productions of a run, as a document says them.
pub struct WithProductions {
    /// The files.
    pub files: Vec<String>,
    /// The loaded productions.
    pub productions: Productions,
}

impl Statistics {
    /// The document of a run of a program.
    pub fn new(ran: &Ran, with: Option<WithProductions>) -> Self {
        let RetiredCounts {
            program,
            inserted,
            handler,
        } = ran.retired;
        let timed = ran.timed.as_ref();
        let from = &ran.provenance;
        let machine = from.machine.as_ref();
        let width_of = |core: u16| {
            machine.map_or(1, |m| {
                u64::from(m.config.of_core(u32::from(core)).window.commit_width)
            })
        };
        let width = width_of(0);
        let contexts = timed.map_or(&[][..], |t| &t.contexts);
        let cores: Vec<CoreDocument> = contexts
            .iter()
            .map(|c| CoreDocument::new(c, width_of(c.context.core.0)))
            .collect();
        let cycles = timed.map(|t| t.core.cycles);
        let samples = ran.samples.as_ref();
        let sampling = samples
            .zip(machine)
            .and_then(|((plan, s), m)| SamplingDocument::new(&m.config, plan, s, program));
        let has_children = ran.process.os.processes_made() > 1;
        let sampled_ipc = sampling.as_ref().map(|s| 1.0 / s.cpi.mean);
        Statistics {
            version: from.version,
            program: from.program.clone(),
            arguments: from.args.get(1..).unwrap_or_default().to_vec(),
            program_hash: from.program_hash.clone(),
            root_hash: from.root_hash.clone(),
            isa: from.isa.name(),
            mode: match (timed, samples) {
                (Some(_), _) => "timed",
                (None, Some(_)) => "sampled",
                (None, None) => "functional",
            },
            core_driven_by: machine.map(|m| m.core.name()),
            doubt: timed
                .filter(|_| machine.is_some_and(|m| m.core == CoreKind::Instruction))
                .map(Doubt::of),
            seed: from.seed,
            address_seed: from.address_seed,
            instructions: program,
            cycles,
            ipc: cycles.map(|cycles| ratio(program, cycles)).or(sampled_ipc),
            sampling,
            slices: ran.slices.clone(),
            processes: has_children.then(|| ran.process.os.processes_made()),
            programs: match has_children {
                true => ProgramDocument::all(ran, program),
                false => Vec::new(),
            },
            copied_pages: has_children.then(|| ran.process.os.copied_pages(&ran.process.mem)),
            host_seconds: ran.host_seconds,
            host_mips: if ran.host_seconds > 0.0 {
                program as f64 / ran.host_seconds / 1e6
            } else {
                0.0
            },
            exit_code: ran.stop.exit_code(from.isa),
            end: End::new(&ran.stop, &ran.process),
            retired: Retired {
                program,
                inserted,
                handler,
                total: ran.retired.total(),
            },
            warnings: ran.process.os.warnings().to_vec(),
            machine: machine.map(|m| MachineDocument {
                name: m.config.name.clone(),
                fingerprint: m.fingerprint.clone(),
                configuration: m.config.clone(),
            }),
            core: timed.map(|t| t.core),
            memory: timed.map(|t| t.memory.entries().into_iter().collect()),
            rates: timed.map(rates),
            cpi_stack: match (timed, samples) {
                (Some(t), _) => Some(Stack::of_chip(&t.cpi, width, &cores, program)),
                (None, Some((plan, s))) => {
                    let measured = plan.unit * s.unit_cycles.len() as u64;
                    Some(Stack::new(&s.cpi, width, measured))
                }
                (None, None) => None,
            },
            cores,
            contended_lines: timed.map_or_else(Vec::new, |t| contended(&t.contended, &ran.process)),
            by_function: timed.and_then(|t| by_function(t, width, program)),
            dise: with
                .zip(ran.dise.clone())
                .map(|(with, stats)| DiseDocument {
                    files: with.files,
                    constants: with.productions.set.constants().clone(),
                    configuration: with.productions.engine,
                    stats,
                }),
        }
    }
}

impl End {
    fn new(stop: &Stop, process: &Process) -> Self {
        match stop {
            Stop::Exit(_) => End::Exit,
            Stop::Limit => End::Limit,
            Stop::Fault(trap) => End::Fault {
                cause: fault::cause(trap, process),
                pc: format!("{:#x}", trap.pc),
                encoding: fault::encoding(trap.encoding, process.image.isa),
                disassembly: fault::disassembly(trap, process.image.isa),
                place: place(&process.symbols(), trap.pc),
            },
        }
    }
}

impl Stack {
    fn new(stack: &CpiStack, commit_width: u64, instructions: u64) -> Self {
        let cycles = |slots: u64| slots as f64 / commit_width as f64;
        let part = |cause: Cause| {
            let slots = stack.get(cause);
            Part {
                cause: cause.name(),
                slots,
                cycles: cycles(slots),
                cpi: cpi(cycles(slots), instructions),
            }
        };
        Stack {
            contexts: None,
            commit_width: Some(commit_width),
            total_slots: stack.total(),
            total_cycles: cycles(stack.total()),
            parts: Cause::ALL
                .into_iter()
                .filter(|cause| !cause.needs_company() || stack.get(*cause) > 0)
                .map(part)
                .collect(),
        }
    }

    /// The stack of all contexts of a chip, of which the first one commits so many instructions in a cycle. `cores` are
    /// the contexts, if there are several.
    fn of_chip(stack: &CpiStack, width: u64, cores: &[CoreDocument], instructions: u64) -> Self {
        let mut whole = Stack::new(stack, width, instructions);
        let stacks = || cores.iter().map(|one| &one.cpi_stack);
        if !stacks().all(|one| one.commit_width == Some(width)) {
            whole.commit_width = None;
            whole.total_cycles = stacks().map(|one| one.total_cycles).sum();
            for part in &mut whole.parts {
                let parts = stacks().flat_map(|one| &one.parts);
                let same = parts.filter(|one| one.cause == part.cause);
                part.cycles = same.map(|one| one.cycles).sum();
            }
        }
        whole.of_contexts(cores.len(), instructions)
    }

    /// This stack as the sum of `contexts` contexts.
    fn of_contexts(mut self, contexts: usize, instructions: u64) -> Self {
        if contexts > 1 {
            self.contexts = Some(contexts);
            for part in &mut self.parts {
                part.cpi = cpi(part.cycles / contexts as f64, instructions);
            }
        }
        self
    }

    /// Cycles of the run per instruction: of several contexts, those of each in the mean.
    pub fn cpi(&self, instructions: u64) -> f64 {
        cpi(
            self.total_cycles / self.contexts.unwrap_or(1) as f64,
            instructions,
        )
    }
}

/// Cycles an instruction; 0 without instructions.
fn cpi(cycles: f64, instructions: u64) -> f64 {
    match instructions {
        0 => 0.0,
        _ => cycles / instructions as f64,
    }
}

fn by_function(timed: &Timed, width: u64, instructions: u64) -> Option<Vec<FunctionDocument>> {
    let document = |f: &FunctionStack| FunctionDocument {
        function: f.name.clone(),
        entry: format!("{:#x}", f.entry),
        share: ratio(f.stack.total(), timed.cpi.total()),
        stack: Stack::new(&f.stack, width, instructions)
            .of_contexts(timed.contexts.len(), instructions),
    };
    Some(timed.by_function.as_ref()?.iter().map(document).collect())
}

#[cfg(test)]
mod tests;
