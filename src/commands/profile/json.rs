//! The exact profile as JSON.

use std::collections::BTreeMap;

use hps_lab::Provenance;
use hps_pipeline::core::EventSet;
use hps_profilers::views::{FunctionTime, InstructionTime, ObjectTime, Stack, objects};
use schemars::JsonSchema;
use serde::Serialize;

use super::exact::{Opinion, Shown};
use super::interpreted::{self, InterpretedDocument};
use crate::commands::contention::LineDocument;
use crate::document::{Described, Format};
use crate::slices::SlicesDocument;

/// Format of an exact profile.
pub const FORMAT: Format = Format::new("hps-exact-profile", 1);

/// An exact profile: everything that `hps profile` shows, and all instructions. Times are in equal parts of a cycle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExactDocument<'a> {
    #[serde(flatten)]
    run: RunDocument<'a>,
    /// Committed instructions of the program.
    instructions: u64,
    /// Cycles with an owner.
    cycles: u64,
    /// Cycles of contexts without a thread.
    idle_cycles: u64,
    /// Number of the program in the run, as in `hps profile --process`.
    process: u32,
    /// Cycles of other processes.
    other_cycles: u64,
    /// Parts of a cycle: units by them are cycles.
    units_per_cycle: u64,
    /// Files with code that ran, by own time.
    objects: Vec<ObjectDocument<'a>>,
    /// Functions that ran, by own time.
    functions: Vec<FunctionDocument<'a>>,
    /// Instructions that ran.
    static_instructions: Vec<InstructionDocument<'a>>,
    /// What profilers of `--with` say.
    profilers: Vec<ProfilerDocument<'a>>,
    /// Slices that were timed side by side, and the error of joining them; only of a run in slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<&'a SlicesDocument>,
    /// Functions that interpreters executed; only where the program has run one.
    #[serde(skip_serializing_if = "Option::is_none")]
    interpreted: Option<InterpretedDocument<'a>>,
    /// The lines that cores took from each other; only where they did.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    contended_lines: &'a [LineDocument],
}

/// Program, input and machine of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunDocument<'a> {
    /// Version of the lab.
    version: &'a str,
    /// The program.
    program: &'a str,
    /// All words of the program.
    arguments: &'a [String],
    /// SHA-256 of its file.
    program_hash: &'a str,
    /// SHA-256 of the root's lock file, or of the list of all files in the root of a suite program; null for other roots
    /// and without one.
    root_hash: Option<&'a str>,
    /// Instruction set.
    isa: &'a str,
    /// Seed of the randomness that the program saw.
    seed: u64,
    /// Seed by which the program's addresses were drawn; no key if they were fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    address_seed: Option<u64>,
    /// Name of the machine.
    machine: Option<&'a str>,
    /// Text that is equal for machines that cannot differ in a cycle.
    machine_fingerprint: Option<&'a str>,
    /// Core model: `cycle` or `instruction`.
    core_driven_by: Option<&'a str>,
}

impl<'a> RunDocument<'a> {
    pub(super) fn new(from: &'a Provenance) -> Self {
        let machine = from.machine.as_ref();
        RunDocument {
            version: from.version,
            program: &from.program,
            arguments: &from.args,
            program_hash: &from.program_hash,
            root_hash: from.root_hash.as_deref(),
            isa: from.isa.name(),
            seed: from.seed,
            address_seed: from.address_seed,
            machine: machine.map(|m| &*m.config.name),
            machine_fingerprint: machine.map(|m| &*m.fingerprint),
            core_driven_by: machine.map(|m| m.core.name()),
        }
    }
}

/// Time, in parts of a cycle.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StackDocument {
    /// All units.
    units: u64,
    /// Units by state, or by state and cause: `stalled:load_l1`.
    spent: BTreeMap<String, u64>,
    /// Units by the set of events that the execution met, joined by `+`; the empty name is no event.
    events: BTreeMap<String, u64>,
}

impl StackDocument {
    pub(super) fn new(stack: &Stack) -> Self {
        let spent = stack.spent.iter();
        let events = stack.events.iter();
        let names = |set: &EventSet| set.names().collect::<Vec<_>>().join("+");
        StackDocument {
            units: stack.units(),
            spent: spent
                .map(|(spent, &units)| (spent.label(), units))
                .collect(),
            events: events.map(|(set, &units)| (names(set), units)).collect(),
        }
    }
}

/// A function that ran.
#[derive(Debug, Serialize, JsonSchema)]
struct FunctionDocument<'a> {
    /// Name of the function.
    name: &'a str,
    /// Source file.
    file: Option<String>,
    /// Path of the file that holds it, as the program sees it.
    object: Option<&'a str>,
    /// Address of its entry.
    entry: String,
    /// How often it was called; null in a run in slices.
    calls: Option<u64>,
    /// Instructions that committed in it.
    instructions: u64,
    /// Units while it was on the call stack, each once; null in a run in slices.
    inclusive_units: Option<u64>,
    /// Its own time.
    own: StackDocument,
}

/// A file with code that ran.
#[derive(Debug, Serialize, JsonSchema)]
struct ObjectDocument<'a> {
    /// Path as the program sees it; null: code outside of all files.
    name: Option<&'a str>,
    /// The linker's name for its bytes, in hexadecimal.
    build_id: Option<&'a str>,
    /// The address of an instruction less the address that the file says.
    load_bias: Option<String>,
    /// Instructions that committed in it.
    instructions: u64,
    /// Instructions among them that no symbol names.
    nameless_instructions: u64,
    /// Its own time.
    own: StackDocument,
}

/// An instruction that ran.
#[derive(Debug, Serialize, JsonSchema)]
struct InstructionDocument<'a> {
    /// Address of the instruction; of an inserted one its trigger's.
    pc: String,
    /// 0 for an instruction of the program; otherwise production and place in the sequence.
    disepc: u16,
    /// Whether it begins a basic block.
    begins_block: bool,
    /// Name of the function that holds it.
    function: Option<&'a str>,
    /// Path of the file that holds it, as the program sees it.
    object: Option<&'a str>,
    /// Source line.
    line: Option<String>,
    /// How often it committed.
    commits: u64,
    /// Its own time.
    own: StackDocument,
}

/// What a profiler says.
#[derive(Debug, Serialize, JsonSchema)]
struct ProfilerDocument<'a> {
    /// Name of the profiler.
    profiler: &'a str,
    /// Mean period, in what `counts` says.
    period: u64,
    /// `cycles`, `instructions` or `events`.
    counts: &'a str,
    /// Samples that were credited.
    samples: u64,
    /// Samples whose instruction was squashed, or that the run's end came before.
    lost: u64,
    /// Samples that were not taken, since the one before was still under way.
    collided: u64,
    /// The share of time that it gives to the wrong member, by level.
    errors: BTreeMap<&'a str, f64>,
}

/// Everything that is shown, and all instructions.
pub(super) fn document<'a>(
    shown: &'a Shown<'a>,
    functions: &[FunctionTime],
    (opinions, contended_lines): (&'a [Opinion<'a>], &'a [LineDocument]),
) -> ExactDocument<'a> {
    let (ran, exact) = (&shown.truth.ran, &shown.truth.exact);
    let by_object = objects(shown.instructions, shown.symbols, shown.map);
    ExactDocument {
        run: RunDocument::new(&ran.provenance),
        instructions: ran.instructions(),
        cycles: exact.cycles,
        idle_cycles: exact.idle_cycles,
        process: shown.number,
        other_cycles: exact.other_cycles,
        units_per_cycle: exact.units_per_cycle,
        objects: by_object.iter().map(|time| object(shown, time)).collect(),
        functions: functions.iter().map(|time| function(shown, time)).collect(),
        static_instructions: (shown.instructions.iter())
            .map(|one| instruction(shown, one))
            .collect(),
        profilers: opinions.iter().map(profiler).collect(),
        slices: shown.slices.as_ref(),
        interpreted: interpreted::document(shown),
        contended_lines,
    }
}

fn function<'a>(shown: &'a Shown<'a>, time: &FunctionTime) -> FunctionDocument<'a> {
    let f = &shown.map.functions()[time.function];
    // Slices keep no calling contexts.
    let of_contexts = |count: u64| shown.slices.is_none().then_some(count);
    FunctionDocument {
        name: &f.name,
        file: shown.map.file(shown.symbols, time.function),
        object: shown.symbols.object_at(f.entry).map(|object| object.name()),
        entry: format!("{:#x}", f.entry),
        calls: of_contexts(time.calls),
        instructions: time.commits,
        inclusive_units: of_contexts(time.inclusive_units),
        own: StackDocument::new(&time.own),
    }
}

fn object<'a>(shown: &'a Shown<'a>, time: &ObjectTime) -> ObjectDocument<'a> {
    let object = time.object.map(|at| &shown.symbols.objects()[at]);
    ObjectDocument {
        name: object.map(|object| object.name()),
        build_id: object.and_then(|object| object.build_id()),
        load_bias: object.map(|object| format!("{:#x}", object.load_bias())),
        instructions: time.commits,
        nameless_instructions: time.nameless_commits,
        own: StackDocument::new(&time.stack),
    }
}

fn instruction<'a>(shown: &'a Shown<'a>, one: &InstructionTime) -> InstructionDocument<'a> {
    let (pc, functions) = (one.key.pc, shown.map.functions());
    InstructionDocument {
        pc: format!("{pc:#x}"),
        disepc: one.key.disepc.to_bits(),
        begins_block: one.begins_block,
        function: shown.map.find(pc).map(|at| &*functions[at].name),
        object: shown.symbols.object_at(pc).map(|object| object.name()),
        line: shown.symbols.source_line(pc),
        commits: one.commits,
        own: StackDocument::new(&one.stack),
    }
}

fn profiler<'a>(opinion: &'a Opinion<'a>) -> ProfilerDocument<'a> {
    let errors = opinion.errors.iter();
    ProfilerDocument {
        profiler: opinion.sampled.policy,
        period: opinion.sampled.period.mean,
        counts: opinion.unit(),
        samples: opinion.sampled.credits.credited,
        lost: opinion.sampled.credits.lost,
        collided: opinion.sampled.credits.collided,
        errors: errors
            .map(|&(level, error)| (level.name(), error))
            .collect(),
    }
}

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<ExactDocument<'_>>(&["profile"])
}
