//! Probes that are combined, borrowed or wrapped are told the same as one that stands alone: every hook.

use hps_isa::editor::NoEditor;
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, OpClass};
use hps_isa::memory::{Memory, ReadOnly};
use hps_isa::probe::{NoProbe, Probe, Retired};
use hps_pipeline::core::{
    AtCommit, Cause, Chip, Commit, DrivenCore, PipelineProbe, Squash, StageRecord, Stored, Stretch,
    TrapTaken,
};
use hps_sim_core::machine::Machine;

use crate::common::{Program, preset, random};

/// Counts the calls of each hook of [`Probe`] and [`PipelineProbe`], in the order in which they are declared.
/// Whoever adds a hook there adds it here: [`every_hook_is_counted`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count<const STAGES: bool> {
    retired: u64,
    memory: u64,
    values: u64,
    stops: u64,
    control: u64,
    branches: u64,
    wrong_paths: u64,
    finished: u64,
    fetch_misses: u64,
    slots: u64,
    stretches: u64,
    commits: u64,
    squashes: u64,
    traps: u64,
    stores: u64,
    asks: bool,
}

impl<const STAGES: bool> Probe for Count<STAGES> {
    // Without it the functional machine takes its fast way, where other hooks are called.
    const WANTS_RETIRED: bool = STAGES;
    const WANTS_MEMORY: bool = true;
    const WANTS_CONTROL: bool = true;
    const WANTS_WRONG_PATHS: bool = true;
    const WANTS_VALUES: bool = STAGES;
    const CAN_STOP: bool = STAGES;
    fn stops_before(&mut self, _: u64, _: &Inst) -> bool {
        self.stops += 1;
        false
    }
    fn has_stopped(&self) -> bool {
        false
    }
    fn value(&mut self, _: u64, _: &Inst, _: u64) {
        self.values += 1;
    }
    fn retired(&mut self, _: &Retired<'_>) {
        self.retired += 1;
    }
    fn memory_quickly(&mut self, _: OpClass, addr: u64) -> bool {
        let quickly = addr & 8 == 0;
        self.memory += u64::from(quickly);
        quickly
    }
    fn memory(&mut self, _: u64, _: &Inst, _: u64) {
        self.memory += 1;
    }
    fn control(&mut self, _: u64, inst: &Inst, _: u64, _: bool) {
        self.control += 1;
        self.asks = inst.class == OpClass::Branch && self.control.is_multiple_of(16);
    }
    fn branch(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) -> bool {
        self.branches += 1;
        self.control(pc, inst, target, taken);
        self.asks
    }
    fn wants_wrong_path(&self) -> bool {
        self.asks
    }
    fn wrong_path(&mut self, _: &Hart, _: &mut ReadOnly<'_>) {
        self.wrong_paths += 1;
    }
}

impl<const STAGES: bool> PipelineProbe for Count<STAGES> {
    const WANTS_STAGES: bool = STAGES;
    const WANTS_SLOTS: bool = true;
    const WANTS_CYCLES: bool = true;
    const WANTS_STORES: bool = true;
    fn finished(&mut self, _: &StageRecord) {
        self.finished += 1;
    }
    fn fetch_missed(&mut self, _: u64, _: Cause, _: u64) {
        self.fetch_misses += 1;
    }
    fn slots(&mut self, _: u64, _: Cause, count: u64) {
        self.slots += count;
    }
    fn stretch(&mut self, stretch: &Stretch) {
        self.stretches += stretch.cycles;
    }
    fn committed(&mut self, _: &Commit) {
        self.commits += 1;
    }
    fn stored(&mut self, _: &Stored, _: &Memory) {
        self.stores += 1;
    }
    fn squashed(&mut self, _: &Squash) {
        self.squashes += 1;
    }
    fn trapped(&mut self, _: &TrapTaken) {
        self.traps += 1;
    }
}

/// The hooks that a trait declares in this source: what it does with `self` borrowed.
fn hooks<'a>(source: &'a str, trait_begins: &str) -> Vec<&'a str> {
    let (_, behind) = source.split_once(trait_begins).expect("the trait");
    let (body, _) = behind.split_once("\n}\n").expect("its end");
    let declared = body.lines().filter_map(|line| {
        let named = line.strip_prefix("    fn ")?;
        let (name, arguments) = named.split_once('(')?;
        // A stand-in for a probe is no event, and what a probe wants is none.
        let is_event = !["stand_in", "wants_stages", "wants_stores"].contains(&name);
        (is_event && (arguments.is_empty() || arguments.contains("self"))).then_some(name)
    });
    declared.collect()
}

#[test]
fn every_hook_is_counted() {
    let traits = [
        (include_str!("../../isa/src/probe.rs"), "pub trait Probe {"),
        (
            include_str!("../src/model/probe.rs"),
            "pub trait PipelineProbe: Probe {",
        ),
    ];
    for (source, begins) in traits {
        let hooks = hooks(source, begins);
        assert!(hooks.len() >= 7, "{begins} {hooks:?}");
        for hook in hooks {
            let counted = format!("    fn {hook}(");
            assert!(
                include_str!("probes.rs").contains(&counted),
                "{begins} {hook} is not counted here"
            );
        }
    }
}

fn program() -> Program {
    random::program(7300, random::Mix::default())
}

/// Counts of a probe on the functional machine.
fn functional<P: Probe>(mut probe: P) -> P {
    Machine::new(program().process()).run(&mut probe, u64::MAX);
    probe
}

/// Counts of a probe on the cycle-driven core.
fn by_cycle<P: PipelineProbe>(probe: P) -> P {
    let mut core = Chip::with(&preset("hps-4wide"), program().process(), NoEditor, probe);
    core.run_to_end();
    core.finish().probe
}

/// Counts of a probe on the instruction-driven core.
fn by_instruction<P: PipelineProbe>(probe: P) -> P {
    let core = DrivenCore::with(&preset("hps-4wide"), program().process(), NoEditor, probe);
    let mut core = core.expect("the machine has both cores");
    core.run_to_end();
    core.finish().probe
}

fn the_functional_machine_tells_the_same<const STAGES: bool>() -> Count<STAGES> {
    let alone = functional(Count::<STAGES>::default());
    let counts = [alone.memory, alone.control, alone.wrong_paths];
    assert!(counts.iter().all(|&count| count > 0), "{alone:?}");
    let (first, second) = functional((Count::<STAGES>::default(), Count::<STAGES>::default()));
    assert_eq!(first, alone);
    assert_eq!(second, alone);
    let mut borrowed = Count::<STAGES>::default();
    functional(&mut borrowed);
    assert_eq!(borrowed, alone);
    assert_eq!(functional(AtCommit(Count::<STAGES>::default())).0, alone);
    // One that wants nothing beside it takes nothing away.
    let (beside, NoProbe) = functional((Count::<STAGES>::default(), NoProbe));
    assert_eq!(beside, alone);
    alone
}

#[test]
fn the_functional_machine_tells_every_probe_the_same() {
    let each = the_functional_machine_tells_the_same::<true>();
    let counts = [each.retired, each.values, each.stops];
    assert!(counts.iter().all(|&count| count > 0), "{each:?}");
    let fast = the_functional_machine_tells_the_same::<false>();
    assert!(fast.branches > 0);
    assert_eq!((each.memory, each.control), (fast.memory, fast.control));
}

/// Probes that are pairs, borrowed or wrapped are told what one is told alone. Each type of probe compiles the loops, so
/// that one type has them all.
#[test]
fn the_cores_tell_every_probe_the_same() {
    let alone = by_cycle(Count::<true>::default());
    let counts = [
        alone.finished,
        alone.fetch_misses,
        alone.slots,
        alone.stretches,
        alone.commits,
        alone.squashes,
        alone.traps,
        alone.stores,
        alone.retired,
        alone.memory,
        alone.control,
    ];
    assert!(counts.iter().all(|&count| count > 0), "{alone:?}");
    let mut borrowed = Count::<true>::default();
    let (first, _) = by_cycle((Count::<true>::default(), &mut borrowed));
    assert_eq!((&first, &borrowed), (&alone, &alone));

    let alone = by_instruction(Count::<false>::default());
    let mut borrowed = Count::<false>::default();
    let pair = (&mut borrowed, AtCommit(Count::<false>::default()));
    let (first, (_, wrapped)) = by_instruction((Count::<false>::default(), pair));
    assert_eq!((&first, &borrowed), (&alone, &alone));
    // A functional probe hears only of what has retired.
    assert_eq!((wrapped.0.memory, wrapped.0.slots), (alone.memory, 0));
}
