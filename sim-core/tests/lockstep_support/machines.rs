//! The machines: QEMU, a loop over the decoder and `execute`, and the functional machine.

use std::io::Write;
use std::process::{Command, Output as Finished, Stdio};
use std::sync::Arc;

use hps_isa::bus::{Bus, MemFault};
use hps_isa::exec::{Outcome, execute};
use hps_isa::inst::Inst;
use hps_isa::probe::NoProbe;
use hps_isa::trap::TrapCause;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};

use super::Target;
use super::image::{BASE, Image, elf};

/// Runs the image under QEMU user mode and returns what it wrote.
pub fn run_qemu<T: Target>(image: &Image) -> Vec<u8> {
    let finished = qemu::<T>(image);
    let complaint = String::from_utf8_lossy(&finished.stderr);
    assert!(
        finished.status.success(),
        "{} ended with {}: {complaint}",
        T::QEMU,
        finished.status
    );
    finished.stdout
}

/// Runs the image under QEMU user mode.
pub fn qemu<T: Target>(image: &Image) -> Finished {
    let folder = std::env::temp_dir();
    let path = folder.join(format!(
        "lockstep-{}-{}-{:x}.elf",
        T::ISA,
        std::process::id(),
        image.memory.as_ptr() as usize
    ));
    {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o755);
        let mut file = options.open(&path).expect("a writable temporary folder");
        file.write_all(&elf::<T>(image))
            .expect("space in the temporary folder");
    }
    let output = Command::new(T::QEMU)
        .args(T::QEMU_OPTIONS)
        .arg(&path)
        .stdin(Stdio::null())
        .output();
    let _ = std::fs::remove_file(&path);
    output.unwrap_or_else(|error| {
        panic!(
            "cannot run {}: {error}. Install Debian's package `qemu-user`.",
            T::QEMU
        )
    })
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

/// Results of our machine.
pub struct Run {
    pub output: Vec<u8>,
    /// Instructions executed inside the blocks' bodies.
    pub body_instructions: u64,
    /// The fault that ended the program, if one did.
    pub fault: Option<TrapCause>,
}

/// Runs an image that must end by itself with this crate's decoder and `execute`.
pub fn run_ours<T: Target>(image: &Image) -> Run {
    let run = run_to_fault::<T>(image);
    assert_eq!(run.fault, None);
    run
}

/// Runs the image with this crate's decoder and `execute` to its end or its first fault.
pub fn run_to_fault<T: Target>(image: &Image) -> Run {
    let align = T::ISA.instruction_align() as usize;
    let mut ram = Ram(image.memory.clone());
    let code: Vec<Inst> = (0..image.text / align)
        .map(|slot| {
            let mut bytes = [0; 4];
            let rest = &image.memory[slot * align..];
            let n = rest.len().min(4);
            bytes[..n].copy_from_slice(&rest[..n]);
            T::ISA.decode(u32::from_le_bytes(bytes))
        })
        .collect();
    let slot_of = |pc: u64| (pc - BASE) as usize / align;
    let mut in_body = vec![false; code.len()];
    for body in &image.bodies {
        in_body[slot_of(body.start)..slot_of(body.end)].fill(true);
    }
    let calls = T::CALLS;
    let argument = |i: u8| usize::from(calls.first_argument + i);
    let mut hart = T::start();
    let mut run = Run {
        output: Vec::new(),
        body_instructions: 0,
        fault: None,
    };
    let mut pc = BASE;
    loop {
        let slot = slot_of(pc);
        let inst = &code[slot];
        run.body_instructions += u64::from(in_body[slot]);
        let next = pc + u64::from(inst.len);
        pc = match execute(&mut hart, &mut ram, inst, pc) {
            Outcome::Next | Outcome::FenceI => next,
            Outcome::Taken(target) => target,
            Outcome::Syscall => match hart.r[calls.number as usize] {
                number if number == calls.write => {
                    let from = (hart.r[argument(1)] - BASE) as usize;
                    let length = hart.r[argument(2)];
                    run.output.extend(&ram.0[from..from + length as usize]);
                    hart.r[calls.result as usize] = length;
                    next
                }
                number if number == calls.exit => return run,
                number => panic!("unexpected system call {number} at {pc:#x}"),
            },
            Outcome::Trap(cause) => {
                run.fault = Some(cause);
                return run;
            }
            outcome => panic!("unexpected {outcome:?} at {pc:#x}: {inst:?}"),
        };
    }
}

/// Runs the image in the functional machine, in pieces of these lengths, and returns what it wrote.
pub fn run_machine<T: Target>(image: &Image, pieces: impl Iterator<Item = u64>) -> Vec<u8> {
    let program = ProgramImage::parse(&elf::<T>(image), "random").expect("a valid file");
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
