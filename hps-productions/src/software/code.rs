//! Finds the program's code: where instructions begin, where functions do, what flows where.
//!
//! Functions are swept from their symbols to their ends; executable memory without symbols is swept
//! whole; whatever direct transfers lead to, and the process's first instruction, is swept until
//! control leaves. Code that only a computed jump reaches and that no symbol covers is not found: it
//! runs where it lies, unchecked, until it transfers directly into code that was found.

use std::ops::Range;

use hps_isa::inst::{Inst, OpClass};
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Memory, PAGE_SIZE, Perm};
use hps_system::process::Process;

/// An instruction of the program.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Address of the instruction.
    pub addr: u64,
    /// Decoded instruction.
    pub inst: Inst,
}

impl Instruction {
    /// The address behind it.
    pub fn next(&self) -> u64 {
        self.addr + u64::from(self.inst.len)
    }

    /// Where it goes if it is a direct transfer.
    pub fn target(&self) -> Option<u64> {
        self.inst
            .class
            .is_direct()
            .then(|| self.inst.direct_target(self.addr))
    }

    /// Execution may continue with the next instruction directly.
    pub fn falls_through(&self) -> bool {
        !matches!(
            self.inst.class,
            OpClass::Jump
                | OpClass::JumpIndirect
                | OpClass::Return
                | OpClass::Call
                | OpClass::CallIndirect
        )
    }

    /// The next instruction is executed at some time: this one falls through, or calls a function that returns.
    fn goes_on(&self) -> bool {
        self.falls_through() || self.inst.class.is_call()
    }
}

/// A range of executable memory with an entry for each halfword: index of the instruction that begins
/// there plus one, or 0.
#[derive(Clone, Debug)]
struct Text {
    range: Range<u64>,
    index: Vec<u32>,
}

/// Answers which instruction begins at an address.
#[derive(Clone, Debug, Default)]
pub struct Index {
    texts: Vec<Text>,
}

impl Index {
    /// The number of the instruction that begins at `addr`.
    pub fn find(&self, addr: u64) -> Option<usize> {
        let text = self.texts.iter().find(|t| t.range.contains(&addr))?;
        if addr & 1 != 0 {
            return None;
        }
        let at = text.index[((addr - text.range.start) / 2) as usize];
        (at as usize).checked_sub(1)
    }

    fn end_of(&self, addr: u64) -> Option<u64> {
        let text = self.texts.iter().find(|t| t.range.contains(&addr))?;
        Some(text.range.end)
    }

    fn set(&mut self, addr: u64, value: u32) {
        if let Some(text) = self.texts.iter_mut().find(|t| t.range.contains(&addr)) {
            text.index[((addr - text.range.start) / 2) as usize] = value;
        }
    }
}

/// The code of a program.
#[derive(Clone, Debug)]
pub struct Code {
    /// Instruction set.
    pub isa: Isa,
    /// All instructions, by address.
    pub list: Vec<Instruction>,
    /// Which instruction begins where.
    pub index: Index,
    /// Functions begin here: symbols and targets of direct calls, as numbers of instructions,
    /// ascending.
    pub starts: Vec<usize>,
}

impl Code {
    /// Finds the code of a process that has not run yet.
    pub fn find(process: &Process) -> Code {
        let isa = process.image.isa;
        let mut sweep = Sweep {
            isa,
            mem: &process.mem,
            index: Index {
                texts: executable(&process.mem)
                    .map(|range| Text {
                        index: vec![0; ((range.end - range.start) / 2) as usize],
                        range,
                    })
                    .collect(),
            },
            list: Vec::new(),
            targets: Vec::new(),
        };
        let functions = process.image.symbols.functions();
        for f in functions {
            sweep.run(f.addr, f.addr + f.size, false);
        }
        let without_symbols: Vec<Range<u64>> = sweep
            .index
            .texts
            .iter()
            .map(|text| text.range.clone())
            .filter(|range| !functions.iter().any(|f| range.contains(&f.addr)))
            .collect();
        for range in without_symbols {
            sweep.run(range.start, range.end, false);
        }
        sweep
            .targets
            .extend([process.thread.hart.pc, process.image.entry]);
        while let Some(target) = sweep.targets.pop() {
            if let Some(end) = sweep.index.end_of(target) {
                sweep.run(target, end, true);
            }
        }
        let symbols = functions.iter().map(|f| f.addr);
        sweep.finish(symbols)
    }

    /// The number of the instruction behind another.
    pub fn behind(&self, at: usize) -> Option<usize> {
        self.index.find(self.list[at].next())
    }

    /// The number of the instruction that a direct transfer leads to.
    pub fn target(&self, at: usize) -> Option<usize> {
        self.index.find(self.list[at].target()?)
    }

    /// The function that an instruction belongs to, as a number in [`Code::starts`].
    pub fn function_of(&self, at: usize) -> Option<usize> {
        self.starts.partition_point(|&s| s <= at).checked_sub(1)
    }
}

/// Executable ranges of the program's memory, the return from signal handlers among them.
fn executable(mem: &Memory) -> impl Iterator<Item = Range<u64>> + '_ {
    let is_code = |page: u64| {
        !(layout::HANDLER_BASE..layout::HANDLER_END).contains(&page)
            && mem
                .permissions(page)
                .is_some_and(|perm| perm.contains(Perm::X))
    };
    mem.mapped_ranges().flat_map(move |range| {
        let mut found: Vec<Range<u64>> = Vec::new();
        let mut page = range.start;
        while page < range.end {
            let end = page + PAGE_SIZE;
            if is_code(page) {
                match found.last_mut() {
                    Some(last) if last.end == page => last.end = end,
                    _ => found.push(page..end),
                }
            }
            page = end;
        }
        found
    })
}

struct Sweep<'a> {
    isa: Isa,
    mem: &'a Memory,
    index: Index,
    list: Vec<Instruction>,
    targets: Vec<u64>,
}

impl Sweep<'_> {
    fn decode(&self, pc: u64) -> Option<Inst> {
        if !pc.is_multiple_of(self.isa.instruction_align()) {
            return None;
        }
        let word = match self.isa {
            Isa::Riscv64 => self.mem.fetch_word(pc),
            Isa::Alpha => self.mem.fetch_four_bytes(pc),
        };
        Some(self.isa.decode(word.ok()?))
    }

    /// Decodes from `pc` to `end`; `until_left`: only until control leaves, or comes to known code.
    fn run(&mut self, mut pc: u64, end: u64, until_left: bool) {
        while pc < end {
            if let Some(known) = self.index.find(pc) {
                if until_left {
                    return;
                }
                pc = self.list[known].next();
                continue;
            }
            let Some(inst) = self.decode(pc) else { return };
            let is_code = inst.class != OpClass::Illegal;
            if is_code && self.index.end_of(pc).is_some() {
                let instruction = Instruction { addr: pc, inst };
                self.list.push(instruction);
                self.index.set(pc, self.list.len() as u32);
                self.targets.extend(instruction.target());
                if until_left && !instruction.goes_on() {
                    return;
                }
            } else if until_left {
                return;
            }
            pc += u64::from(inst.len.max(2));
        }
    }

    fn finish(mut self, symbols: impl Iterator<Item = u64>) -> Code {
        self.list.sort_by_key(|i| i.addr);
        for (at, instruction) in self.list.iter().enumerate() {
            self.index.set(instruction.addr, at as u32 + 1);
        }
        let calls = self.list.iter().filter(|i| i.inst.class == OpClass::Call);
        let called = calls.filter_map(Instruction::target);
        let mut starts: Vec<usize> = symbols
            .chain(called)
            .filter_map(|addr| self.index.find(addr))
            .collect();
        starts.sort_unstable();
        starts.dedup();
        Code {
            isa: self.isa,
            list: self.list,
            index: self.index,
            starts,
        }
    }
}
