//! Sums that must hold, and changes that must not alter a cycle: on real programs and on random ones.

use std::sync::Arc;

use crate::common::compare::Stream;
use crate::common::preset;
use crate::common::random::{self, Mix};
use hps_isa::editor::NoEditor;
use hps_isa::isa::Isa;
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{
    AtCommit, Cause, Chip, CoreKind, CoreStats, CpiStack, EitherCore, PipelineProbe, StageRecord,
    StagesProbe,
};
use hps_pipeline::kanata::KanataLog;
use hps_pipeline::memsys::MemoryStats;
use hps_pipeline::stacks::FunctionStacks;
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;
use hps_system::process::{Process, ProcessConfig};

/// Something to run: a process that is always the same, and how far.
struct Subject {
    name: String,
    image: Arc<ProgramImage>,
    args: Vec<String>,
    limit: u64,
}

impl Subject {
    fn process(&self) -> Process {
        let config = ProcessConfig {
            args: self.args.clone(),
            ..ProcessConfig::default()
        };
        Process::new(self.image.clone(), &config).expect("the program fits into memory")
    }

    fn core<P: PipelineProbe>(&self, config: &MachineConfig, probe: P) -> Chip<NoEditor, P> {
        Chip::with(config, self.process(), NoEditor, probe)
    }

    fn run<P: PipelineProbe>(&self, config: &MachineConfig, probe: P) -> Chip<NoEditor, P> {
        let mut core = self.core(config, probe);
        core.run(self.limit);
        core
    }
}

fn workload(name: &str) -> Subject {
    let w = hps_workloads::find(name).expect("the program exists");
    let image = ProgramImage::parse(w.image("riscv64").expect("every program has one"), name)
        .expect("the image is a program");
    let size = w.args(hps_workloads::Size::Small)[0].to_string();
    Subject {
        name: name.to_string(),
        image: Arc::new(image),
        args: vec![name.to_string(), size],
        limit: 60_000,
    }
}

fn subjects() -> Vec<(Subject, MachineConfig)> {
    let presets = crate::common::single_core_presets();
    let mut all: Vec<Subject> = ["bwt", "lz", "chess"].into_iter().map(workload).collect();
    all.extend((2000..2012).map(|seed| {
        Subject {
            name: format!("random {seed}"),
            image: random::program(
                seed,
                Mix {
                    iterations: 6,
                    ..Mix::default()
                },
            )
            .image(),
            args: Vec::new(),
            limit: u64::MAX,
        }
    }));
    let mut all: Vec<(Subject, MachineConfig)> = all
        .into_iter()
        .enumerate()
        .map(|(i, s)| (s, preset(presets[i % presets.len()])))
        .collect();
    for (program, machine) in [
        ("bwt", "ev5"),
        ("ray", "ev5"),
        ("chess", "ev6"),
        ("ray", "ev6"),
    ] {
        all.push((workload(program), preset(machine)));
    }
    all
}

/// Counts what the hooks of a pipeline probe say.
#[derive(Default)]
struct Count {
    slots: CpiStack,
    committed: u64,
    squashed_dispatched: u64,
    squashed: u64,
    last: Option<(u64, u64)>,
}

impl Probe for Count {}

impl PipelineProbe for Count {
    const WANTS_STAGES: bool = true;
    const WANTS_SLOTS: bool = true;
    fn finished(&mut self, r: &StageRecord) {
        if r.squashed {
            self.squashed += 1;
            self.squashed_dispatched += u64::from(r.dispatch_cycle <= r.end_cycle);
            return;
        }
        self.committed += 1;
        let stages = [
            r.fetch_cycle,
            r.decode_cycle,
            r.dispatch_cycle,
            r.issue_cycle,
            r.complete_cycle,
            r.end_cycle,
        ];
        assert!(stages.is_sorted(), "stages in order: {stages:?}");
        if let Some((seq, end)) = self.last.replace((r.seq, r.end_cycle)) {
            assert!(r.seq > seq && r.end_cycle >= end, "commit in program order");
        }
    }
    fn slots(&mut self, _: u64, cause: Cause, count: u64) {
        self.slots.add(cause, count);
    }
}

/// Sums the slots that a core gives away.
#[derive(Default)]
struct AllSlots(CpiStack);

impl Probe for AllSlots {}

impl PipelineProbe for AllSlots {
    const WANTS_SLOTS: bool = true;
    fn slots(&mut self, _: u64, cause: Cause, count: u64) {
        self.0.add(cause, count);
    }
}

#[test]
fn slots_and_instructions_are_conserved() {
    for (subject, config) in subjects() {
        let name = &subject.name;
        let mut core = subject.core(&config, StagesProbe::new(Count::default()));
        core.run(subject.limit);
        core.settle();
        let slots = u64::from(config.window.commit_width) * core.stats().cycles;
        assert_eq!(core.cpi().total(), slots, "{name}");
        core.drain_to_boundary();
        let s = core.stats();
        assert_eq!(
            core.cpi().get(Cause::Base),
            s.commit_program_instructions,
            "{name}"
        );
        let seen: &Count = core.probe().probe();
        assert_eq!(*core.cpi(), seen.slots, "{name}: what the probe saw");
        // Instructions fetched, decoded or dispatched have committed or were squashed.
        assert_eq!(seen.committed, s.commit_program_instructions, "{name}");
        assert_eq!(seen.squashed, s.squash_instructions, "{name}");
        assert_eq!(
            s.dispatch_instructions,
            seen.committed + seen.squashed_dispatched,
            "{name}: what was dispatched"
        );
        // Where nothing can be fetched, an instruction that is none stands for the fault.
        let fetched = seen.committed + seen.squashed;
        assert!(
            s.fetch_instructions <= fetched && fetched <= s.fetch_instructions + fetched / 50 + 50,
            "{name}"
        );
        assert!(s.fetch_instructions >= s.decode_instructions, "{name}");
        assert!(s.decode_instructions >= s.dispatch_instructions, "{name}");
        assert!(
            s.branch_mispredicted_events <= s.branch_committed_events,
            "{name}"
        );
        assert_eq!(
            s.branch_mispredicted_events,
            s.branch_conditional_mispredicted_events
                + s.branch_indirect_mispredicted_events
                + s.branch_return_mispredicted_events,
            "{name}"
        );
    }
}

/// A run of either core that stops at a limit owns all slots of its cycles. Returns their number.
#[track_caller]
fn assert_settles(subject: &Subject, kind: CoreKind, config: &MachineConfig, limit: u64) -> u64 {
    let what = || format!("{} on {} ({kind:?}), {limit}", subject.name, config.name);
    let mut core = EitherCore::with(
        kind,
        config,
        subject.process(),
        NoEditor,
        StagesProbe::new(AllSlots::default()),
    )
    .unwrap_or_else(|e| panic!("{}: {e}", what()));
    core.run(limit);
    let open = core.cpi().total();
    let done = core.finish();
    let slots = u64::from(config.window.commit_width) * done.stats.cycles;
    assert_eq!(done.cpi.total(), slots, "{}", what());
    let AllSlots(seen) = done.probe.into_probe();
    assert_eq!(done.cpi, seen, "{}: what the probe saw", what());
    let committed = done.stats.commit_program_instructions;
    assert_eq!(done.cpi.get(Cause::Base), committed, "{}", what());
    slots - open
}

#[test]
fn slots_are_conserved_at_every_limit() {
    for machine in ["hps-4wide", "wide-8", "tiny-2wide", "ev5", "ev6"] {
        let config = preset(machine);
        let width = u64::from(config.window.commit_width);
        for kind in [CoreKind::Cycle, CoreKind::Instruction] {
            if kind.check(&config).is_err() {
                continue;
            }
            let subject = workload("lz");
            let open = |limit| assert_settles(&subject, kind, &config, limit);
            let most = (0..=64).chain(3000..3064).map(open).max();
            // Otherwise no limit fell behind the first commit of a cycle, and nothing was tested.
            assert!(
                most > Some(0) && most < Some(width),
                "{machine} ({kind:?}): {most:?}"
            );
        }
    }
}

#[test]
fn slots_are_conserved_where_a_settled_run_goes_on() {
    for (subject, config) in subjects() {
        for kind in [CoreKind::Cycle, CoreKind::Instruction] {
            if kind.check(&config).is_err() {
                continue;
            }
            let mut core =
                match EitherCore::with(kind, &config, subject.process(), NoEditor, NoProbe) {
                    Ok(core) => core,
                    Err(e) => panic!("{}: {e}", config.name),
                };
            for limit in [1, 2, 3, 5, 7, 11, 13, 997, 1, 1] {
                core.run(limit);
                match &mut core {
                    EitherCore::Cycle(core) => core.settle(),
                    EitherCore::Instruction(core) => core.settle(),
                }
                let slots = u64::from(config.window.commit_width) * core.stats().cycles;
                let what = format!("{} on {} ({kind:?})", subject.name, config.name);
                assert_eq!(core.cpi().total(), slots, "{what}");
            }
        }
    }
}

#[test]
fn stacks_of_functions_sum_to_the_whole() {
    for name in ["chess", "lz"] {
        let subject = workload(name);
        let core = subject.run(
            &preset("hps-4wide"),
            StagesProbe::new(FunctionStacks::new(subject.image.symbols.clone(), None)),
        );
        let ranking = core.probe().probe::<FunctionStacks>().ranking();
        assert!(ranking.len() > 3, "{name}");
        let mut sum = CpiStack::default();
        ranking.iter().for_each(|f| sum.merge(&f.stack));
        assert_eq!(sum, *core.cpi(), "{name}");
    }
}

type Numbers = (CoreStats, CpiStack, MemoryStats);

fn numbers<P: PipelineProbe>(core: &Chip<NoEditor, P>) -> Numbers {
    (*core.stats(), *core.cpi(), core.memory_stats())
}

fn assert_same(a: &Numbers, b: &Numbers, what: &str) {
    assert_eq!(a.0, b.0, "{what}: counters");
    assert_eq!(a.1, b.1, "{what}: commit slots");
    assert_eq!(format!("{:?}", a.2), format!("{:?}", b.2), "{what}: memory");
}

#[test]
fn a_run_is_the_same_however_it_is_cut() {
    for (subject, config) in subjects() {
        let whole = subject.run(&config, NoProbe);
        for piece in [1, 3, 997, 25_000] {
            if piece < 10 && subject.limit != u64::MAX {
                continue;
            }
            let mut core = subject.core(&config, NoProbe);
            while core.stats().commit_program_instructions < subject.limit {
                let left = subject.limit - core.stats().commit_program_instructions;
                if core.run(piece.min(left)) != Stop::Limit {
                    break;
                }
            }
            let what = format!("{} in pieces of {piece} on {}", subject.name, config.name);
            assert_same(&numbers(&core), &numbers(&whole), &what);
        }
    }
}

#[test]
fn runs_repeat_and_probes_change_no_cycle() {
    for (subject, config) in subjects() {
        let plain = numbers(&subject.run(&config, NoProbe));
        let name = &subject.name;
        assert_same(
            &numbers(&subject.run(&config, NoProbe)),
            &plain,
            &format!("{name} again"),
        );
        let log = KanataLog::new(Isa::Riscv64, 0..u64::MAX, 100_000);
        let log = subject.run(&config, StagesProbe::new(log));
        assert!(!log.probe().probe::<KanataLog>().is_empty());
        assert_same(&numbers(&log), &plain, &format!("{name} with a log"));
        let stacks = FunctionStacks::new(subject.image.symbols.clone(), None);
        let stacks = subject.run(&config, StagesProbe::new(stacks));
        assert_same(&numbers(&stacks), &plain, &format!("{name} with stacks"));
        let stream = subject.run(&config, (AtCommit(Stream::default()), Count::default()));
        assert_eq!(
            stream.probe().0.0.steps.len() as u64,
            plain.0.commit_program_instructions,
            "{name}: the probe saw every instruction"
        );
        assert_same(
            &numbers(&stream),
            &plain,
            &format!("{name} with a functional probe"),
        );
    }
}
