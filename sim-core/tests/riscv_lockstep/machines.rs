//! The machines: QEMU, a loop over the decoder and `execute`, and the functional machine.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hps_sim_core::bus::{Bus, MemFault};
use hps_sim_core::exec::Outcome;
use hps_sim_core::hart::Hart;
use hps_sim_core::image::ProgramImage;
use hps_sim_core::inst::Inst;
use hps_sim_core::machine::{Machine, Stop};
use hps_sim_core::os::Output;
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::{Process, ProcessConfig};
use hps_sim_core::riscv::{decode, execute};

use crate::image::{BASE, Image, elf};

const QEMU: &str = "qemu-riscv64";

/// Runs the image under QEMU user mode and returns what it wrote.
pub fn run_qemu(image: &Image) -> Vec<u8> {
    let folder = std::env::temp_dir();
    let path = folder.join(format!(
        "riscv-lockstep-{}-{:x}.elf",
        std::process::id(),
        image.memory.as_ptr() as usize
    ));
    {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o755);
        let mut file = options.open(&path).expect("a writable temporary folder");
        file.write_all(&elf(image))
            .expect("space in the temporary folder");
    }
    let output = Command::new(QEMU).arg(&path).stdin(Stdio::null()).output();
    let _ = std::fs::remove_file(&path);
    let output = output.unwrap_or_else(|error| {
        panic!("cannot run {QEMU}: {error}. Install Debian's package `qemu-user`.")
    });
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{QEMU} ended with {}: {complaint}",
        output.status
    );
    output.stdout
}

struct Ram(Vec<u8>);

impl Ram {
    fn at<const N: usize>(&self, addr: u64) -> Result<usize, MemFault> {
        let at = addr.wrapping_sub(BASE) as usize;
        if at < self.0.len() && at + N <= self.0.len() {
            Ok(at)
        } else {
            Err(MemFault {
                addr,
                unmapped: true,
            })
        }
    }
}

impl Bus for Ram {
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        let at = self.at::<N>(addr)?;
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&self.0[at..at + N]);
        Ok(u64::from_le_bytes(bytes))
    }
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        let at = self.at::<N>(addr)?;
        self.0[at..at + N].copy_from_slice(&value.to_le_bytes()[..N]);
        Ok(())
    }
}

/// What our machine did.
pub struct Run {
    pub output: Vec<u8>,
    /// Instructions executed inside the blocks' bodies.
    pub body_instructions: u64,
}

/// Runs the image with this crate's decoder and `execute`.
pub fn run_ours(image: &Image) -> Run {
    let mut ram = Ram(image.memory.clone());
    let code: Vec<Inst> = (0..image.text / 2)
        .map(|slot| {
            let mut bytes = [0; 4];
            let rest = &image.memory[slot * 2..];
            let n = rest.len().min(4);
            bytes[..n].copy_from_slice(&rest[..n]);
            decode(u32::from_le_bytes(bytes))
        })
        .collect();
    let mut in_body = vec![false; code.len()];
    for body in &image.bodies {
        in_body[(body.start - BASE) as usize / 2..(body.end - BASE) as usize / 2].fill(true);
    }
    let mut hart = Hart::default();
    let mut run = Run {
        output: Vec::new(),
        body_instructions: 0,
    };
    let mut pc = BASE;
    loop {
        let slot = (pc - BASE) as usize / 2;
        let inst = &code[slot];
        run.body_instructions += u64::from(in_body[slot]);
        let next = pc + u64::from(inst.len);
        pc = match execute(&mut hart, &mut ram, inst, pc) {
            Outcome::Next | Outcome::FenceI => next,
            Outcome::Taken(target) => target,
            Outcome::Syscall => match hart.r[17] {
                64 => {
                    let from = (hart.r[11] - BASE) as usize;
                    run.output.extend(&ram.0[from..from + hart.r[12] as usize]);
                    hart.r[10] = hart.r[12];
                    next
                }
                93 => return run,
                number => panic!("unexpected system call {number} at {pc:#x}"),
            },
            outcome => panic!("unexpected {outcome:?} at {pc:#x}: {inst:?}"),
        };
    }
}

/// Runs the image in the functional machine, in pieces of these lengths, and returns what it wrote.
pub fn run_machine(image: &Image, pieces: impl Iterator<Item = u64>) -> Vec<u8> {
    let program = ProgramImage::parse(&elf(image), "random").expect("a valid file");
    let config = ProcessConfig {
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    let process = Process::new(Arc::new(program), &config).expect("a process");
    let mut machine = Machine::new(process);
    for piece in pieces {
        match machine.run(&mut NoProbe, piece) {
            Stop::Limit => {}
            Stop::Exit(0) => break,
            stop => panic!("unexpected {stop:?}"),
        }
    }
    machine.process.os.captured_stdout().to_vec()
}
