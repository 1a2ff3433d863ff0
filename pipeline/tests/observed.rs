//! Probes' view of cycles, against a second computation from the records of all instructions, and both cores against
//! each other.

use std::collections::{HashMap, HashSet};

use hps_isa::editor::NoEditor;
use hps_isa::memory::Memory;
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::config::{MachineConfig, Stages};
use hps_pipeline::core::{
    Cause, Chip, Commit, CoreKind, CyclesProbe, DynProbe, EitherCore, EventSet, FlushReason,
    PipelineProbe, Squash, StageRecord, StagesProbe, State, Stored, Stretch, TrapTaken,
};
use hps_system::process::Process;

use crate::common::random::{self, Mix};
use crate::common::{preset, riscv_workload};
use crate::driven::{PRESETS, STRAIGHT};

/// Everything that a probe is told of cycles, and the records of all instructions where a core keeps them.
#[derive(Default)]
struct Seen {
    commits: Vec<Commit>,
    stretches: Vec<Stretch>,
    squashes: Vec<Squash>,
    traps: Vec<TrapTaken>,
}

impl Probe for Seen {}

impl PipelineProbe for Seen {
    const WANTS_CYCLES: bool = true;
    fn stretch(&mut self, stretch: &Stretch) {
        assert!(stretch.cycles > 0);
        if let Some(last) = self.stretches.last_mut() {
            assert!(
                last.end_cycle() <= stretch.first_cycle,
                "{last:?} {stretch:?}"
            );
            // The cores cut stretches in different places.
            if last.end_cycle() == stretch.first_cycle
                && last.state == stretch.state
                && self
                    .commits
                    .last()
                    .is_none_or(|c| c.cycle < last.first_cycle)
            {
                last.cycles += stretch.cycles;
                last.next_pc = stretch.next_pc;
                return;
            }
        }
        self.stretches.push(*stretch);
    }
    fn committed(&mut self, commit: &Commit) {
        self.commits.push(*commit);
    }
    fn squashed(&mut self, squash: &Squash) {
        self.squashes.push(*squash);
    }
    fn trapped(&mut self, trap: &TrapTaken) {
        self.traps.push(*trap);
    }
}

/// The records of all instructions, beside what is told of cycles.
#[derive(Default)]
struct Recorded(Vec<StageRecord>);

impl Probe for Recorded {}

impl PipelineProbe for Recorded {
    const WANTS_STAGES: bool = true;
    fn finished(&mut self, record: &StageRecord) {
        self.0.push(*record);
    }
}

/// State by definition of a cycle without a commit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Idle {
    Stalled,
    Empty,
}

/// For each cycle whether something commits in it, and what it is else, from the records of all instructions. Where an
/// instruction takes one cycle, commit comes behind dispatch (`commits_last`).
fn by_definition(records: &[StageRecord], cycles: u64, commits_last: bool) -> Vec<Option<Idle>> {
    let later = usize::from(!commits_last);
    let mut commits = vec![false; cycles as usize + 2];
    // Instructions in the window at the time of commit: dispatched before it, and not gone in an earlier cycle.
    let mut change = vec![0i64; cycles as usize + 3];
    for r in records {
        if r.dispatch_cycle > r.end_cycle {
            continue;
        }
        // In the cycle of a squash the window is looked at behind it, in that of a commit in front of it.
        let last = if r.squashed {
            r.end_cycle
        } else {
            r.end_cycle + 1
        };
        if r.dispatch_cycle < last {
            change[r.dispatch_cycle as usize + later] += 1;
            change[last as usize] -= 1;
        }
        if !r.squashed {
            commits[r.end_cycle as usize] = true;
        }
    }
    let mut window = 0;
    (0..=cycles as usize)
        .map(|cycle| {
            window += change[cycle];
            match (commits[cycle], window) {
                (true, _) => None,
                (false, 0) => Some(Idle::Empty),
                (false, _) => Some(Idle::Stalled),
            }
        })
        .collect()
}

/// Runs up to a limit under a probe: the cycles, and the probe.
fn under<const CYCLES: bool>(
    config: &MachineConfig,
    process: Process,
    limit: u64,
    probe: DynProbe<CYCLES>,
) -> (u64, DynProbe<CYCLES>) {
    let mut core = Chip::with(config, process, NoEditor, probe);
    core.run(limit);
    core.settle();
    let cycles = core.stats().cycles;
    core.drain_to_boundary();
    (cycles, core.finish().probe)
}

fn check_against_records(
    config: &MachineConfig,
    process: impl Fn() -> Process,
    limit: u64,
    what: &str,
) -> Seen {
    let probe = CyclesProbe::new(Seen::default());
    let (cycles, seen) = under(config, process(), limit, probe);
    let seen: Seen = seen.into_probe();
    let probe = StagesProbe::new(Recorded::default());
    let (again, records) = under(config, process(), limit, probe);
    assert_eq!(cycles, again, "{what}: cycles under both probes");
    let Recorded(records) = records.into_probe();
    let commits_last = config.issue.stages() == &Stages::OneCycle;
    let expected = by_definition(&records, cycles, commits_last);
    let mut told: Vec<Option<Idle>> = vec![None; cycles as usize + 1];
    told[0] = Some(Idle::Empty);
    let mut total = 0;
    for s in &seen.stretches {
        total += s.cycles;
        let idle = match s.state {
            State::Stalled(_) => Idle::Stalled,
            State::Flushed(_) | State::Drained(_) => Idle::Empty,
        };
        for cycle in s.first_cycle..s.end_cycle() {
            told[cycle as usize] = Some(idle);
        }
    }
    for cycle in 0..=cycles as usize {
        assert_eq!(
            told[cycle], expected[cycle],
            "{what}: cycle {cycle} on {}",
            config.name
        );
    }
    let mut computing: Vec<u64> = seen.commits.iter().map(|c| c.cycle).collect();
    computing.dedup();
    assert_eq!(
        total + computing.len() as u64,
        cycles,
        "{what}: every cycle is one of both"
    );
    let committed = records.iter().filter(|r| !r.squashed);
    for (commit, record) in seen.commits.iter().zip(committed) {
        assert_eq!(
            (
                commit.cycle,
                commit.pc,
                commit.disepc,
                commit.dispatch_cycle
            ),
            (
                record.end_cycle,
                record.pc,
                record.disepc,
                record.dispatch_cycle
            ),
            "{what}"
        );
        let missed = commit.events.has(EventSet::MISPREDICTED);
        assert_eq!(missed, record.mispredicted, "{what}: {commit:?}");
        let positions = commit.position;
        assert_eq!(positions, record.seq, "{what}");
    }
    for squash in &seen.squashes {
        assert!(squash.kept_dispatch_cycle < squash.last_dispatch_cycle);
        assert!(squash.last_dispatch_cycle <= squash.cycle);
    }
    seen
}

#[test]
fn every_cycle_is_what_the_records_of_all_instructions_say() {
    let mut reasons = HashSet::new();
    for config in crate::common::single_core_presets().into_iter().map(preset) {
        for seed in 7100..7108 {
            let program = random::program(
                seed,
                Mix {
                    iterations: 5,
                    ..Mix::default()
                },
            );
            let what = format!("random {seed}");
            let seen = check_against_records(&config, || program.process(), u64::MAX, &what);
            reasons.extend(seen.stretches.iter().map(|s| s.state));
            assert_eq!(seen.traps.len(), 1, "{what}: the breakpoint at its end");
        }
        for name in ["bwt", "interp"] {
            let seen = check_against_records(&config, || riscv_workload(name), 40_000, name);
            reasons.extend(seen.stretches.iter().map(|s| s.state));
        }
    }
    // Not an empty comparison.
    for state in [
        State::Stalled(Cause::LoadMemory),
        State::Stalled(Cause::LongLatency),
        State::Flushed(FlushReason::Misprediction),
        State::Flushed(FlushReason::Replay),
        State::Flushed(FlushReason::Serialization),
        State::Drained(Cause::ICache),
        State::Drained(Cause::Serialize),
    ] {
        assert!(reasons.contains(&state), "{state:?} does not occur");
    }
}

/// For each cycle whether the next instruction that is dispatched in it or later is taken back.
fn taken_back(seen: &Seen, cycles: u64) -> Vec<bool> {
    let mut lost = vec![false; cycles as usize + 1];
    for squash in &seen.squashes {
        let last = squash.last_dispatch_cycle.min(cycles);
        for cycle in squash.kept_dispatch_cycle + 1..=last {
            lost[cycle as usize] = true;
        }
    }
    lost
}

#[test]
fn both_cores_tell_the_same_where_all_accesses_hit() {
    for preset_name in PRESETS {
        let config = preset(preset_name);
        for seed in 7200..7212 {
            let program = random::program(seed, STRAIGHT);
            let [cycle, instruction] = [CoreKind::Cycle, CoreKind::Instruction].map(|kind| {
                let probe = CyclesProbe::new(Seen::default());
                let core = EitherCore::with(kind, &config, program.process(), NoEditor, probe);
                let mut core = core.expect("the machine has both cores");
                core.run_to_end();
                core.finish()
            });
            let what = format!("random {seed} on {preset_name}");
            let cycles = cycle.stats.cycles;
            assert_eq!(cycles, instruction.stats.cycles, "{what}");
            let (a, b): (&Seen, &Seen) = (cycle.probe.probe(), instruction.probe.probe());
            let differ = a.commits.iter().zip(&b.commits).find(|(a, b)| a != b);
            assert_eq!(differ, None, "{what}");
            assert_eq!(a.commits.len(), b.commits.len(), "{what}");
            assert_eq!(a.traps, b.traps, "{what}");
            let states = |seen: &Seen| -> Vec<(u64, u64, State)> {
                let all = seen.stretches.iter();
                all.map(|s| (s.first_cycle, s.cycles, s.state)).collect()
            };
            let (a_states, b_states) = (states(a), states(b));
            let differ = a_states.iter().zip(&b_states).find(|(a, b)| a != b);
            assert_eq!(differ, None, "{what}");
            assert_eq!(taken_back(a, cycles), taken_back(b, cycles), "{what}");
        }
    }
}

#[test]
fn a_probe_that_listens_changes_no_statistic() {
    for name in ["chess", "objstore"] {
        for kind in [CoreKind::Cycle, CoreKind::Instruction] {
            let config = preset("hps-4wide");
            let mut alone =
                EitherCore::with(kind, &config, riscv_workload(name), NoEditor, NoProbe)
                    .expect("a core");
            let mut observed = EitherCore::with(
                kind,
                &config,
                riscv_workload(name),
                NoEditor,
                CyclesProbe::new(Seen::default()),
            )
            .expect("a core");
            assert_eq!(alone.run(100_000), observed.run(100_000));
            let (alone, observed) = (alone.finish(), observed.finish());
            assert_eq!(alone.stats, observed.stats, "{name}");
            assert_eq!(alone.cpi, observed.cpi, "{name}");
            assert_eq!(alone.memory, observed.memory, "{name}");
        }
    }
}

/// Memory as stores have made it.
#[derive(Default)]
struct Stores(HashMap<u64, u8>);

impl Probe for Stores {}

impl PipelineProbe for Stores {
    const WANTS_CYCLES: bool = true;
    const WANTS_STORES: bool = true;
    fn stored(&mut self, stored: &Stored, memory: &Memory) {
        let bytes = &stored.value.to_le_bytes()[..usize::from(stored.size)];
        let mut there = vec![0; bytes.len()];
        let read = memory.read_bytes(stored.addr, &mut there);
        read.expect("it was stored there");
        assert_eq!(there, bytes, "{stored:x?}");
        for (addr, byte) in (stored.addr..).zip(bytes) {
            self.0.insert(addr, *byte);
        }
    }
}

#[test]
fn the_stores_that_a_probe_is_told_of_make_memory_what_it_is() {
    for name in ["lz", "objstore"] {
        for kind in [CoreKind::Cycle, CoreKind::Instruction] {
            let config = preset("hps-4wide");
            let probe = CyclesProbe::new(Stores::default());
            let process = riscv_workload(name);
            let core = EitherCore::with(kind, &config, process, NoEditor, probe);
            let mut core = core.expect("a core");
            core.run(200_000);
            let core = core.finish();
            let Stores(stores) = core.probe.probe();
            assert!(stores.len() > 1_000, "{name}: {}", stores.len());
            for (addr, byte) in stores {
                let mut there = [0];
                let read = core.process.mem.read_bytes(*addr, &mut there);
                read.expect("it was stored there");
                assert_eq!(there[0], *byte, "{name}: {addr:#x}");
            }
        }
    }
}
