//! Guest programs for the tests that cross crates: those of the project, assembly written in a
//! test, and the same under QEMU.
#![allow(dead_code)] // each test file uses its part

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hps_isa::editor::DecodeEditor;
use hps_isa::riscv::asm::{OperandHook, assemble};
use hps_isa::riscv::encode;
use hps_lab::{Lab, Ran};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{EitherCore, PipelineProbe};
use hps_sim_core::machine::Stop;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};
use hps_workloads::{Size, Workload};
use rayon::prelude::*;

pub use crate::support::elf;

/// Where [`elf`] puts the first instruction.
pub const ENTRY: u64 = 0x10078;

/// Outcome of a program, as its caller sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "exit code {}, {}",
            self.code,
            String::from_utf8_lossy(&self.stdout)
        )
    }
}

/// The machine of the HPS paper.
pub fn machine() -> MachineConfig {
    MachineConfig::preset("hps-4wide").unwrap_or_else(|e| panic!("{e}"))
}

/// A program of the project on an instruction set.
pub type Subject = (&'static Workload, Isa);

/// Every program of the project on every instruction set.
pub fn everywhere() -> Vec<Subject> {
    hps_workloads::all()
        .iter()
        .flat_map(|w| Isa::ALL.map(|isa| (w, isa)))
        .collect()
}

/// Every program of the project on RISC-V, and on the other instruction sets three that differ:
/// integers, floating point, and jumps to computed targets.
pub fn mostly_riscv() -> Vec<Subject> {
    let mut subjects = everywhere();
    subjects
        .retain(|(w, isa)| *isa == Isa::Riscv64 || ["chess", "ray", "interp"].contains(&w.name));
    subjects
}

/// Name of a subject in messages.
pub fn title((workload, isa): Subject) -> String {
    format!("{} on {isa}", workload.name)
}

/// The image of a program of the project.
pub fn image(name: &str, isa: Isa) -> &'static [u8] {
    find(name)
        .image(isa.name())
        .unwrap_or_else(|| panic!("{name}: no image for {isa}"))
}

/// A run of a program of the project; its output is captured.
pub fn lab(name: &str, isa: Isa, size: Size) -> Lab<'static> {
    Lab::workload(find(name), isa, size).unwrap_or_else(|e| panic!("{e}"))
}

/// A small run of a program of the project; its output is captured.
pub fn small((workload, isa): Subject) -> Lab<'static> {
    lab(workload.name, isa, Size::Small)
}

/// A program of the project.
pub fn find(name: &str) -> &'static Workload {
    hps_workloads::find(name).unwrap_or_else(|| panic!("there is no program {name}"))
}

/// A process with these arguments whose output is captured.
pub fn captured(args: &[&str]) -> ProcessConfig {
    ProcessConfig {
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        stdout: Output::Capture,
        ..ProcessConfig::default()
    }
}

/// Outcome of a finished run. Fails if it was not finished by the program.
#[track_caller]
pub fn outcome(stop: Stop, process: &Process) -> Outcome {
    match stop {
        Stop::Exit(code) => Outcome {
            code,
            stdout: process.os.captured_stdout().to_vec(),
        },
        other => panic!("the program did not end by itself: {other:?}"),
    }
}

/// Outcome of a core's run to the end.
#[track_caller]
pub fn outcome_of_core<E: DecodeEditor, P: PipelineProbe>(core: &mut EitherCore<E, P>) -> Outcome {
    let stop = core.run_to_end();
    outcome(stop, core.process())
}

/// Outcome of a run to the end.
#[track_caller]
pub fn outcome_of<E, P, T>(ran: &Ran<E, P, T>) -> Outcome {
    outcome(ran.stop, &ran.process)
}

/// Runs an executable file under QEMU in a folder.
#[track_caller]
pub fn qemu(isa: Isa, program: &Path, args: &[&str], folder: &Path, stdin: &[u8]) -> Outcome {
    let emulator = format!("qemu-{isa}");
    let mut child = Command::new(&emulator)
        .arg(program)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| {
            panic!("{emulator} does not start ({e}): install Debian's package qemu-user, as test.sh does")
        });
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(stdin).expect("QEMU takes its input");
    drop(pipe);
    let output = child.wait_with_output().expect("QEMU ends");
    let code = output.status.code().unwrap_or_else(|| {
        panic!(
            "QEMU was killed: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    Outcome {
        code,
        stdout: output.stdout,
    }
}

/// Writes an image where QEMU can run it.
pub fn write_executable(path: &Path, image: &[u8]) {
    std::fs::write(path, image).expect("an executable");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

struct Labels(HashMap<String, u64>);

impl OperandHook for Labels {
    fn register(&self, _: &str) -> Option<u8> {
        None
    }
    fn immediate(&self, token: &str) -> Option<i64> {
        self.0.get(token).map(|&address| address as i64)
    }
}

/// A thousand rounds of two calls and an inner loop, some 30,000 instructions and 13,000 calls and back-edges. The
/// second function computes an address on the stack in `t1` and then does `work`; `s2` counts the rounds that are left.
pub fn rounds(work: &str) -> Vec<u32> {
    assembly(&format!(
        "
        addi s0, sp, -256
        addi s2, zero, 1000
        round:
        jal ra, one
        addi t0, zero, 10
        inner:
        addi t0, t0, -1
        bgtz t0, inner
        jal ra, two
        addi s2, s2, -1
        bgtz s2, round
        addi a0, zero, 0
        addi a7, zero, 93
        ecall
        one:
        sd s2, 0(s0)
        ld t1, 0(s0)
        ret
        two:
        slli t1, s2, 3
        andi t1, t1, 120
        add t1, t1, s0
        {work}
        ret
        "
    ))
}

/// Assembles a program for [`elf`]: one instruction or label in a line.
pub fn assembly(text: &str) -> Vec<u32> {
    let mut labels = Labels(HashMap::new());
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_suffix(':') {
            Some(label) => {
                labels
                    .0
                    .insert(label.to_owned(), ENTRY + 4 * lines.len() as u64);
            }
            None => lines.push(line),
        }
    }
    let encoded = |(index, line): (usize, &&str)| {
        let inst = assemble(line, ENTRY + 4 * index as u64, &labels)
            .unwrap_or_else(|e| panic!("{line}: {e}"));
        encode(&inst).unwrap_or_else(|| panic!("{line} has no encoding"))
    };
    lines.iter().enumerate().map(encoded).collect()
}

/// A run of this assembly.
pub fn assembled(text: &str, config: &ProcessConfig) -> Lab<'static> {
    let image =
        ProgramImage::parse(&elf(&assembly(text)), "assembly").unwrap_or_else(|e| panic!("{e}"));
    Lab::image(Arc::new(image)).configured(config.clone())
}

/// Runs `test` for each item, several at a time. The threads are the test's own: what a failure says
/// is shown with this test and no other.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], test: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = rayon::ThreadPoolBuilder::new().build().expect("threads");
    threads.install(|| items.par_iter().map(&test).collect())
}

/// Numbers that look random and are the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
