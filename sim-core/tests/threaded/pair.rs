//! Two machines that run the same program: one in threaded code, one instruction by instruction.

use std::collections::HashMap;
use std::sync::Arc;

use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_isa::riscv::asm::OperandHook;
use hps_isa::{alpha, riscv};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::ProgramImage;
use hps_system::process::{Process, ProcessConfig};

use crate::loader_support::{Elf, Load, R, W, X};

/// Where assembled programs begin.
pub const CODE: u64 = 0x2_0000;
/// Data of assembled programs: two pages that can be read and written, with nothing mapped behind.
pub const DATA: u64 = 0x8_0000;
const DATA_BYTES: u64 = 0x2000;

/// A run with a limit of one instruction never enters threaded code.
const ONE: u64 = 1;

pub struct Pair {
    pub threaded: Machine,
    pub single: Machine,
}

impl Pair {
    pub fn new(image: &Arc<ProgramImage>, args: &[&str]) -> Pair {
        Pair {
            threaded: machine(image, args),
            single: machine(image, args),
        }
    }

    /// Runs both for `instructions` and asserts that they stop in the same state for the same reason.
    pub fn run(&mut self, instructions: u64) -> Stop {
        let stop = self.threaded.run(&mut NoProbe, instructions);
        let mut expected = Stop::Limit;
        for _ in 0..instructions {
            expected = self.single.run(&mut NoProbe, ONE);
            if expected != Stop::Limit {
                break;
            }
        }
        let at = self.single.retired.program;
        assert_eq!(stop, expected, "after {at} instructions");
        self.compare();
        stop
    }

    /// Runs both in pieces, as long as there are more, to the end of the program.
    pub fn run_in_pieces(&mut self, pieces: impl Iterator<Item = u64>) -> Stop {
        for piece in pieces {
            let stop = self.run(piece);
            if stop != Stop::Limit {
                return stop;
            }
        }
        Stop::Limit
    }

    /// Asserts that registers, counts and memory written since the last time are equal.
    fn compare(&mut self) {
        let at = self.single.retired.program;
        assert_eq!(self.threaded.retired, self.single.retired);
        assert_eq!(
            self.threaded.process.thread.hart, self.single.process.thread.hart,
            "registers after {at} instructions"
        );
        let [threaded, single] = [&mut self.threaded, &mut self.single].map(|machine| {
            let mem = &mut machine.process.mem;
            let mut pages: Vec<u64> = mem.dirty_pages().collect();
            pages.sort_unstable();
            mem.clear_dirty();
            pages
        });
        assert_eq!(threaded, single, "pages written before instruction {at}");
        for page in single {
            let read = |machine: &Machine| {
                let mut bytes = vec![0; 4096];
                let mapped = machine.process.mem.read_bytes_forced(page, &mut bytes);
                (mapped.is_ok(), bytes)
            };
            assert!(
                read(&self.threaded) == read(&self.single),
                "page {page:#x} differs after {at} instructions"
            );
        }
    }
}

pub fn machine(image: &Arc<ProgramImage>, args: &[&str]) -> Machine {
    let config = ProcessConfig {
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        ..ProcessConfig::default()
    };
    Machine::new(Process::new(image.clone(), &config).expect("a process"))
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

/// A program at [`CODE`], one instruction or `label:` a line, in memory that can also be written.
pub fn program(isa: Isa, text: &str) -> Arc<ProgramImage> {
    let (assemble, machine): (fn(&str, u64, &Labels) -> _, _) = match isa {
        Isa::Riscv64 => (
            |text, pc, labels| riscv::asm::assemble(text, pc, labels),
            243,
        ),
        Isa::Alpha => (
            |text, pc, labels| alpha::asm::assemble(text, pc, labels),
            0x9026,
        ),
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut labels = Labels(HashMap::new());
    let mut pc = CODE;
    for line in lines() {
        match line.strip_suffix(':') {
            Some(label) => drop(labels.0.insert(label.to_owned(), pc)),
            None => pc += 4,
        }
    }
    let mut bytes = Vec::new();
    for line in lines().filter(|line| !line.ends_with(':')) {
        let pc = CODE + bytes.len() as u64;
        let word = match line.strip_prefix(".word ") {
            Some(word) => u32::from_str_radix(word, 16).expect("a hexadecimal word"),
            None => {
                let inst = assemble(line, pc, &labels).unwrap_or_else(|e| panic!("{line}: {e}"));
                isa.encode(&inst)
                    .unwrap_or_else(|| panic!("{line} has no encoding"))
            }
        };
        bytes.extend(word.to_le_bytes());
    }
    let elf = Elf {
        machine,
        entry: CODE,
        loads: vec![
            Load {
                addr: 0x1_0000,
                bytes: vec![0; 0x200],
                mem_bytes: 0x200,
                flags: R,
            },
            Load {
                addr: CODE,
                mem_bytes: bytes.len() as u64,
                bytes,
                flags: R | W | X,
            },
            Load {
                addr: DATA,
                bytes: Vec::new(),
                mem_bytes: DATA_BYTES,
                flags: R | W,
            },
        ],
        symbols: Vec::new(),
        ..Elf::default()
    };
    Arc::new(ProgramImage::parse(&elf.build(), "assembled").expect("a valid file"))
}
