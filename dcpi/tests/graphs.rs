//! Graphs of the programs that come with the project against what they do.

use std::collections::HashSet;
use std::sync::Arc;

use hps_isa::inst::OpClass;
use hps_isa::isa::Isa;
use hps_isa::probe::{Probe, Retired};
use hps_sim_core::machine::Machine;
use hps_system::cfg::{Cfg, Code, EdgeKind};
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};
use hps_workloads::{Size, Workload};

/// Every pair of neighbours in the stream of instructions.
#[derive(Default)]
struct Neighbours {
    last: u64,
    pairs: HashSet<(u64, u64)>,
}

impl Probe for Neighbours {
    const WANTS_RETIRED: bool = true;

    fn retired(&mut self, event: &Retired<'_>) {
        self.pairs.insert((self.last, event.pc));
        self.last = event.pc;
    }
}

fn neighbours(workload: &Workload, image: &Arc<ProgramImage>) -> HashSet<(u64, u64)> {
    let args = [&[workload.name], &workload.args(Size::Small)[..]].concat();
    let config = ProcessConfig {
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    let process = Process::new(image.clone(), &config).expect("the program fits into memory");
    let mut probe = Neighbours::default();
    Machine::new(process).run(&mut probe, 2_000_000);
    probe.pairs
}

#[test]
fn control_follows_the_edges_of_the_graphs() {
    for isa in Isa::ALL {
        let (mut functions, mut missing, mut tables) = (0, 0, 0);
        for workload in hps_workloads::all() {
            let bytes = workload.image(isa.name()).expect("every program has one");
            let image = ProgramImage::parse(bytes, workload.name).expect("a program");
            let image = Arc::new(image);
            let code = Code::new(&image);
            let pairs = neighbours(workload, &image);
            for function in code.functions() {
                let cfg = Cfg::of(&code, function);
                functions += 1;
                missing += u32::from(cfg.missing_edges);
                let by_table = cfg.edges.iter().filter(|e| e.kind == EdgeKind::Indirect);
                tables += by_table.count();
                if cfg.missing_edges {
                    continue;
                }
                let inside = |pc: &u64| cfg.range.contains(pc);
                let both = pairs.iter().filter(|(from, to)| inside(from) && inside(to));
                for &(from, to) in both {
                    let what = format!(
                        "{} on {isa}, {}: {from:#x} to {to:#x}",
                        workload.name, function.name
                    );
                    let (Some(a), Some(b)) = (cfg.block_at(from), cfg.block_at(to)) else {
                        panic!("{what}: no block");
                    };
                    let last = cfg.block_insts(a).last().expect("no block is empty");
                    if last.pc != from {
                        assert!(a == b && cfg.block_start(b) < to, "{what}: inside a block");
                        continue;
                    }
                    // A call of the procedure itself, and its return, are no edges.
                    let class = last.inst.class;
                    if class.is_call() || class == OpClass::Return {
                        continue;
                    }
                    assert_eq!(cfg.block_start(b), to, "{what}: into the middle of a block");
                    let known = cfg.out_of(a).iter().any(|e| cfg.edges[*e].to == b);
                    assert!(known, "{what}: no edge");
                }
            }
        }
        assert!(tables > 100, "{isa}: {tables} edges through tables");
        assert!(missing * 20 < functions, "{isa}: {missing} of {functions}");
    }
}
