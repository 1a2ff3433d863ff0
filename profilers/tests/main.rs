//! Tests of the oracle against a second computation, of the policies against programs whose attribution follows on
//! paper, and of conservation.

#[path = "../../pipeline/tests/common/mod.rs"]
mod common;

mod brute_force;
mod contexts;
mod hand_made;
mod policies;
mod state;

use hps_isa::editor::NoEditor;
use hps_isa::isa::Isa;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, EitherCore, Finished};
use hps_profilers::views::FunctionMap;
use hps_profilers::{Beats, Charge, Detail, ExactProfile, Follow, Oracle, Sampled, Samplers};
use hps_system::process::Process;
use hps_system::symbols::Entries;

use common::Program;

/// Result of a watched run.
struct Watched {
    exact: ExactProfile,
    sampled: Vec<Sampled>,
    finished: Finished<NoEditor, ()>,
}

/// Runs a process under the oracle and some samplers, up to a limit of instructions.
fn watch_process(
    kind: CoreKind,
    config: &MachineConfig,
    process: Process,
    limit: u64,
    follow: Option<Follow>,
    add: impl FnOnce(&mut Samplers),
) -> Watched {
    let width = u64::from(config.window.commit_width);
    let mut samplers = Samplers::new(width);
    add(&mut samplers);
    let oracle = Oracle::new(width, Charge::Own, follow);
    let probe = Beats::new((oracle, samplers));
    let mut core = EitherCore::with(kind, config, process, NoEditor, probe).expect("a core");
    core.run(limit);
    let finished = core.finish();
    let (oracle, samplers) = finished.probe.finish();
    Watched {
        exact: oracle.finish(),
        sampled: samplers.finish(),
        finished: Finished {
            others: Vec::new(),
            contended: Vec::new(),
            process: finished.process,
            editor: finished.editor,
            probe: (),
            stats: finished.stats,
            cpi: finished.cpi,
            memory: finished.memory,
        },
    }
}

/// Rows of all calling contexts, in a program with these entries of functions.
fn rows_of_contexts(entries: impl IntoIterator<Item = u64>) -> Follow {
    Follow {
        entries: Entries::new(entries.into_iter().map(|at| (at, at)), Isa::Riscv64),
        functions: FunctionMap::default(),
        watch: None,
        detail: Detail::Rows,
    }
}

/// Runs a program to its end under the oracle alone.
fn watch(kind: CoreKind, config: &MachineConfig, program: &Program) -> Watched {
    watch_process(kind, config, program.process(), u64::MAX, None, |_| {})
}

/// Both cores, if the machine has both.
fn cores(config: &MachineConfig) -> impl Iterator<Item = CoreKind> {
    let all = [CoreKind::Cycle, CoreKind::Instruction];
    all.into_iter().filter(|kind| kind.check(config).is_ok())
}

/// Out-of-order machines.
fn common_presets() -> [&'static str; 5] {
    [
        "hps-4wide",
        "wide-8",
        "simplescalar-4wide",
        "tiny-2wide",
        "ev6",
    ]
}

/// Nothing that goes to memory or holds its unit.
const STRAIGHT: common::random::Mix = common::random::Mix {
    iterations: 24,
    statements: 60,
    csr: false,
    sync: false,
    memory: false,
    atomics: false,
    divide: false,
};
