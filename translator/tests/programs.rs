//! Programs run in lockstep with a machine without a translator.

use std::sync::Arc;

use hps_isa::probe::NoProbe;
use hps_isa::random::Random;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};
use hps_translator::{Settings, translator};
use hps_workloads::{Size, Workload};

fn machine(workload: &Workload, isa: &str) -> Option<Machine> {
    let image =
        ProgramImage::parse(workload.image(isa)?, workload.name).expect("an image of the project");
    let args = [workload.name]
        .into_iter()
        .chain(workload.args(Size::Small));
    let config = ProcessConfig {
        args: args.map(str::to_owned).collect(),
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    let process = Process::new(Arc::new(image), &config).expect("the program fits into memory");
    Some(Machine::new(process))
}

/// Pages that were written, with what they hold.
fn written(machine: &Machine) -> Vec<(u64, Vec<u8>)> {
    let mem = &machine.process.mem;
    let mut pages: Vec<u64> = mem.dirty_pages().collect();
    pages.sort_unstable();
    let content = |page| {
        let mut bytes = vec![0; 4096];
        mem.read_bytes_forced(page, &mut bytes).ok()?;
        Some((page, bytes))
    };
    pages.into_iter().filter_map(content).collect()
}

/// Runs both machines with the same random limits, and compares them at each, until the program ends.
pub fn run_in_lockstep(name: &str, mut plain: Machine, mut compiled: Machine) -> Option<Stop> {
    let mut random = Random::new(3);
    compiled.translate_with(translator(Settings {
        threshold: 1,
        begins_after: 0,
        ..Settings::default()
    })?);
    let stop = loop {
        let limit = match random.number() % 3 {
            0 => random.number() % 3_000,
            1 => random.number() % 40_000,
            _ => random.number() % 1_000_000,
        };
        let stops = (
            plain.run(&mut NoProbe, limit),
            compiled.run(&mut NoProbe, limit),
        );
        assert_eq!(stops.0, stops.1, "{name}");
        assert_eq!(plain.retired, compiled.retired, "{name}");
        let harts = (&plain.process.thread.hart, &compiled.process.thread.hart);
        assert!(harts.0 == harts.1, "{name}: {harts:?}");
        if stops.0 != Stop::Limit {
            break stops.0;
        }
    };
    assert!(written(&plain) == written(&compiled), "{name}");
    let output = |machine: &Machine| machine.process.os.captured_stdout().to_vec();
    assert_eq!(output(&plain), output(&compiled), "{name}");
    Some(stop)
}

fn run_all_in_lockstep(isa: &str) {
    for workload in hps_workloads::all() {
        let of_isa = || machine(workload, isa);
        if let (Some(plain), Some(compiled)) = (of_isa(), of_isa()) {
            let stop = run_in_lockstep(workload.name, plain, compiled);
            assert!(stop.is_none_or(|stop| stop == Stop::Exit(0)));
        }
    }
}

#[test]
fn riscv_programs_run_in_lockstep() {
    run_all_in_lockstep("riscv64");
}

#[test]
fn alpha_programs_run_in_lockstep() {
    run_all_in_lockstep("alpha");
}
