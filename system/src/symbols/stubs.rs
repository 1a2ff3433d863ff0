//! Stubs by which calls reach functions of other objects: the procedure linkage table (`.plt`).
//!
//! A stub jumps to what a word of the global offset table holds. A relocation (`JMP_SLOT`, `IRELATIVE`) says which
//! function the loader puts there. On RISC-V the code of the stub says which word it loads (psABI, "Procedure Linkage
//! Table"); on Alpha that word holds the address of the stub until the function has been found. `IRELATIVE` names the code
//! that chooses a function (IFUNC), which has the name of the function.

use std::ops::Range;

use object::elf;
use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags,
    RelocationTarget,
};
use rustc_hash::FxHashMap;

use super::table::Candidate;

/// Name of the code in front of the stubs, which finds a function when it is called for the first time.
const FIRST_CALL: &str = "first-call@plt";
/// Bytes of a stub on RISC-V.
const RISCV_STUB: u64 = 16;
/// Bytes of a stub on Alpha.
const ALPHA_STUB: u64 = 4;

/// A word of the global offset table into which the loader puts the address of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Address of the word.
    pub addr: u64,
    /// The name of the function.
    pub name: String,
}

/// The stubs of a file.
#[derive(Debug, Default)]
pub(crate) struct Stubs {
    /// Address ranges of the stub sections, ascending.
    pub sections: Vec<Range<u64>>,
    /// Address, size and name of each.
    named: Vec<(u64, u64, String)>,
}

impl Stubs {
    /// The stubs of a file at its addresses and `bias` bytes behind.
    pub fn of(file: &ElfFile64<'_, LittleEndian>, bias: u64) -> Stubs {
        let is_alpha = file.elf_header().e_machine.get(LittleEndian) == elf::EM_ALPHA;
        let mut stubs = Stubs::default();
        let sections = file.sections();
        let tables: Vec<_> = sections
            .filter(|section| {
                section
                    .name_bytes()
                    .is_ok_and(|name| name.starts_with(b".plt"))
            })
            .collect();
        if tables.is_empty() {
            return stubs;
        }
        let slots: FxHashMap<u64, String> = slots(file, 0)
            .into_iter()
            .map(|slot| (slot.addr, slot.name))
            .collect();
        for table in &tables {
            let start = table.address().wrapping_add(bias);
            stubs
                .sections
                .push(start..start.saturating_add(table.size()));
        }
        match is_alpha {
            true => stubs.add_alpha(file, &slots, bias),
            false => {
                for table in &tables {
                    let code = table.data().unwrap_or_default();
                    stubs.add_riscv(code, table.address(), &slots, bias);
                }
            }
        }
        stubs.sections.sort_by_key(|section| section.start);
        stubs.named.sort();
        let heads = stubs.sections.iter().filter_map(|section| {
            let first = stubs.named.iter().find(|stub| section.contains(&stub.0));
            let head = first.map_or(section.start, |stub| stub.0) - section.start;
            (head > 0).then(|| (section.start, head, FIRST_CALL.to_owned()))
        });
        let heads: Vec<_> = heads.collect();
        stubs.named.extend(heads);
        stubs.named.sort();
        stubs
    }

    /// `auipc rd, high; ld rd, low(rd); jalr rt, rd; nop`.
    fn add_riscv(&mut self, code: &[u8], start: u64, slots: &FxHashMap<u64, String>, bias: u64) {
        for (at, stub) in (0..)
            .step_by(RISCV_STUB as usize)
            .zip(code.chunks_exact(RISCV_STUB as usize))
        {
            let word = |at: usize| {
                stub[at..]
                    .first_chunk()
                    .map_or(0, |w| u32::from_le_bytes(*w))
            };
            let (auipc, load) = (word(0), word(4));
            let loads = load & 0x707f == 0x3003 && (load >> 15) & 31 == (auipc >> 7) & 31;
            if auipc & 0x7f != 0x17 || !loads {
                continue;
            }
            let addr = start + at;
            let high = i64::from((auipc & 0xffff_f000) as i32);
            let low = i64::from((load as i32) >> 20);
            if let Some(name) = slots.get(&addr.wrapping_add_signed(high + low)) {
                let named = (addr.wrapping_add(bias), RISCV_STUB, format!("{name}@plt"));
                self.named.push(named);
            }
        }
    }

    /// The table of addresses has the address of each stub.
    fn add_alpha(
        &mut self,
        file: &ElfFile64<'_, LittleEndian>,
        slots: &FxHashMap<u64, String>,
        bias: u64,
    ) {
        for (slot, name) in slots {
            let mut sections = file.sections();
            let held = sections.find_map(|section| section.data_range(*slot, 8).ok().flatten());
            let addr = held.and_then(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?)));
            let Some(addr) = addr.map(|addr| addr.wrapping_add(bias)) else {
                continue;
            };
            if self.sections.iter().any(|section| section.contains(&addr)) {
                self.named.push((addr, ALPHA_STUB, format!("{name}@plt")));
            }
        }
    }

    /// The stubs as functions.
    pub fn candidates(&self) -> Vec<Candidate<'_>> {
        let named = self.named.iter();
        let candidates = named.map(|(addr, size, name)| Candidate {
            addr: *addr,
            size: *size,
            name,
            rank: (false, false, 0),
            file: 0,
        });
        candidates.collect()
    }
}

/// The words of a file's tables that get addresses of functions.
pub(crate) fn slots(file: &ElfFile64<'_, LittleEndian>, bias: u64) -> Vec<Slot> {
    let symbols = file.dynamic_symbol_table();
    let name_at = |addr: u64| {
        let all = file.symbols().chain(file.dynamic_symbols());
        let at = |s: &object::read::elf::ElfSymbol64<'_, '_, LittleEndian>| {
            s.address() == addr && s.is_definition()
        };
        let mut named = all.filter(at).filter_map(|s| s.name().ok());
        named.next().map(str::to_owned)
    };
    let mut slots = Vec::new();
    for (offset, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            continue;
        };
        let name = match (r_type, relocation.target()) {
            (elf::R_RISCV_IRELATIVE, _) => name_at(relocation.addend() as u64),
            // `R_RISCV_64` and `R_RISCV_JUMP_SLOT`; `GLOB_DAT` and `JMP_SLOT` of Alpha.
            (
                elf::R_RISCV_64
                | elf::R_RISCV_JUMP_SLOT
                | elf::R_ALPHA_GLOB_DAT
                | elf::R_ALPHA_JMP_SLOT,
                RelocationTarget::Symbol(index),
            ) => {
                let symbol = symbols
                    .as_ref()
                    .and_then(|all| all.symbol_by_index(index).ok());
                symbol.and_then(|s| s.name().ok().map(str::to_owned))
            }
            _ => None,
        };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            slots.push(Slot {
                addr: offset.wrapping_add(bias),
                name,
            });
        }
    }
    slots
}
