//! Programs that change their code, take signals, fault, or have threads run in lockstep with a machine without a
//! translator. They are those of the project's own tests, and need a cross compiler.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hps_sim_core::machine::Machine;
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};
use hps_workloads::work_folder::WorkFolder;

use crate::programs::run_in_lockstep;

const COMPILER: &str = "riscv64-linux-gnu-gcc";

const GUESTS: [&str; 12] = [
    "stale_code.c",
    "smc_random.c",
    "jit_lengths.c",
    "signal_return.c",
    "signals_all.c",
    "timer_alarm.c",
    "timer_storms.c",
    "thread_pthread.c",
    "thread_many.c",
    "thread_ends.c",
    "lock_free.c",
    "large_heap.c",
];

#[test]
fn guests_of_the_tests_run_in_lockstep() {
    if Command::new(COMPILER).arg("--version").output().is_err() {
        return;
    }
    let folder = WorkFolder::new("translator").expect("a folder for programs");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/guest");
    for name in GUESTS {
        let program = folder.path().join("program");
        let built = Command::new(COMPILER)
            .args(["-O1", "-static", "-pthread", "-w", "-o"])
            .arg(&program)
            .arg(sources.join(name))
            .output()
            .expect("the compiler runs");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{name}: {said}");
        let file = std::fs::read(&program).expect("a program");
        let image = Arc::new(ProgramImage::parse(&file, name).expect("an image"));
        let machine = || {
            let config = ProcessConfig {
                args: vec![name.to_owned()],
                stdout: Output::Capture,
                ..ProcessConfig::default()
            };
            let process = Process::new(Arc::clone(&image), &config);
            Machine::new(process.expect("the program fits into memory"))
        };
        run_in_lockstep(name, machine(), machine());
    }
}
