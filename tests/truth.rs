//! The exact profiles of the programs that come with the project: both cores agree on them, and what watches a run
//! changes nothing.

use hps_isa::editor::NoEditor;
use hps_lab::{CoreKind, Isa, Lab, Truth, Watch};
use hps_profilers::Detail;
use hps_profilers::registry::PROFILERS;
use hps_profilers::views::{FunctionMap, Level, Levels};
use hps_workloads::Size;
use rayon::prelude::*;

/// Instructions of each run: enough for the first phases of each program.
const LIMIT: u64 = 400_000;

fn watched(program: &str, isa: Isa, core: CoreKind, watch: Watch) -> Truth<NoEditor> {
    let workload = hps_workloads::find(program).expect("the program comes with the project");
    Lab::workload(workload, isa, Size::Small)
        .expect("the program has an image")
        .on("hps-4wide")
        .expect("the machine is a preset")
        .core(core)
        .limit(LIMIT)
        .watched(watch)
        .expect("the program runs")
}

/// Programs whose profiles overlap by less than 0.99 in their first instructions, with the least that is known. The
/// instruction-driven core asks caches in program order, and gives a unit that is busy for several cycles (division,
/// square root) to the older of two instructions. `docs/measurements/truth.md` has the overlaps of whole runs.
const KNOWN: [(&str, f64); 1] = [("ray", 0.985)];

#[test]
fn both_cores_give_nearly_the_same_profile() {
    let all: Vec<(&str, Isa)> = hps_workloads::all()
        .iter()
        .flat_map(|w| Isa::ALL.map(|isa| (w.name, isa)))
        .collect();
    let overlaps: Vec<(&str, Isa, f64, f64)> = all
        .par_iter()
        .map(|&(program, isa)| {
            let [a, b] = [CoreKind::Cycle, CoreKind::Instruction]
                .map(|core| watched(program, isa, core, Watch::default()));
            let image = &a.ran.process.image;
            let map = FunctionMap::new(&image.symbols, &a.exact);
            let errors = Levels::new(&a.exact, &image.symbols, &map).errors(b.exact.weights());
            let at = |wanted| errors.iter().find(|(level, _)| *level == wanted);
            let overlap = |level| 1.0 - at(level).expect("each level has an error").1;
            (
                program,
                isa,
                overlap(Level::Instruction),
                overlap(Level::Function),
            )
        })
        .collect();
    for (program, isa, by_instruction, by_function) in overlaps {
        let known = KNOWN.iter().find(|(name, _)| *name == program);
        let least = known.map_or(0.99, |(_, least)| *least);
        assert!(
            by_instruction >= least,
            "{program} ({isa}): instructions overlap by {by_instruction:.4}"
        );
        assert!(
            by_function >= 0.99,
            "{program} ({isa}): functions overlap by {by_function:.4}"
        );
    }
}

#[test]
fn all_profilers_together_change_no_statistic() {
    for core in [CoreKind::Cycle, CoreKind::Instruction] {
        let alone = watched("parse", Isa::Riscv64, core, Watch::default());
        let samplers = PROFILERS
            .iter()
            .map(|p| ((p.policy)(), p.period_of(997, 1)));
        let all = watched(
            "parse",
            Isa::Riscv64,
            core,
            Watch {
                contexts: Some(Detail::Rows),
                timeline: true,
                samplers: samplers.collect(),
                ..Watch::default()
            },
        );
        assert_eq!(alone.ran.timing.core, all.ran.timing.core);
        assert_eq!(alone.ran.timing.cpi, all.ran.timing.cpi);
        assert_eq!(alone.ran.timing.memory, all.ran.timing.memory);
        assert_eq!(alone.exact.cycles, all.exact.cycles);
        assert_eq!(all.exact.cycles, all.ran.cycles());
        let timeline = all.timeline.expect("a time series was asked for");
        let cycles: u64 = timeline.intervals().iter().map(|i| i.cycles()).sum();
        assert_eq!(cycles, all.exact.cycles);
    }
}
