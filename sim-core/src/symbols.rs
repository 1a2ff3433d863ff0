//! Functions and named addresses of a program.

use hps_demangle::demangle;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use crate::image::Segment;
use crate::isa::Isa;
use crate::memory::Perm;

/// A function of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, demangled (C++, Rust, D).
    pub name: String,
    /// Its name as the file has it.
    pub linkage_name: String,
    /// Address of its first instruction.
    pub addr: u64,
    /// Its size in bytes. Where the file says 0 (assembly), it reaches to the next function or to
    /// the end of its segment.
    pub size: u64,
}

/// The symbols of a program. Empty for a stripped one.
#[derive(Clone, Debug, Default)]
pub struct SymbolTable {
    functions: Vec<Function>,
    addresses: FxHashMap<String, u64>,
    /// The place of the function that each part belongs to, by the place of the part.
    wholes: FxHashMap<usize, usize>,
}

/// A name for an address.
pub(crate) struct NamedAddress {
    pub name: String,
    pub addr: u64,
    pub is_global: bool,
    pub is_function: bool,
}

/// A function symbol before names for the same address are merged.
struct Candidate<'a> {
    addr: u64,
    size: u64,
    name: &'a str,
    /// Better candidates compare lower.
    rank: (bool, bool, u8),
    /// The source file of a local symbol, as a number; 0 of others.
    file: usize,
}

/// The name of the function of which a symbol names a part that runs rarely. GCC moves such code to a symbol
/// `NAME.cold`, older versions of it and LLVM's hot-cold splitting to `NAME.cold.N`, LLVM's machine function splitter to
/// `NAME.cold` and `NAME.__part.N`. GCC's `NAME.part.N` is a function of its own, which is called.
fn whole_name(name: &str) -> Option<&str> {
    let numbered = name.rsplit_once('.');
    let stem = match numbered {
        Some((stem, number)) if number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    };
    let whole = stem.strip_suffix(".cold");
    let whole = whole.or_else(|| stem.strip_suffix(".__part").filter(|_| stem != name));
    whole.filter(|whole| !whole.is_empty())
}

impl SymbolTable {
    /// Bytes of the host's memory that the symbols take, about.
    pub(crate) fn held_bytes(&self) -> u64 {
        use std::mem::size_of;
        let of_function =
            |f: &Function| size_of::<Function>() + f.name.len() + f.linkage_name.len();
        let functions: usize = self.functions.iter().map(of_function).sum();
        let of_name = |name: &String| size_of::<(String, u64)>() + name.len();
        let addresses: usize = self.addresses.keys().map(of_name).sum();
        (functions + addresses) as u64
    }

    /// Reads the symbols of an ELF file. Damaged tables count as absent.
    pub(crate) fn from_elf(bytes: &[u8], bias: u64, segments: &[Segment]) -> SymbolTable {
        let Ok(file) = ElfFile64::<LittleEndian>::parse(bytes) else {
            return SymbolTable::default();
        };
        let mut addresses = FxHashMap::default();
        let mut candidates = Vec::new();
        let mut source = 0;
        for symbol in file.symbols() {
            source += usize::from(symbol.kind() == SymbolKind::File);
            let Ok(name) = symbol.name() else { continue };
            let has_place = matches!(
                symbol.kind(),
                SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown
            );
            let addr = symbol.address().wrapping_add(bias);
            let segment = segments.iter().find(|s| s.addr <= addr && addr < s.end());
            let Some(segment) = segment.filter(|_| has_place && !symbol.is_undefined()) else {
                continue;
            };
            // Local labels and mapping symbols name no function.
            if name.is_empty() || name.starts_with(['$', '.']) {
                continue;
            }
            if symbol.is_global() || !addresses.contains_key(name) {
                addresses.insert(name.to_owned(), addr);
            }
            let is_function = symbol.kind() == SymbolKind::Text;
            let is_label = symbol.kind() == SymbolKind::Unknown && symbol.is_global();
            if segment.perm.contains(Perm::X) && (is_function || is_label) {
                let binding = match (symbol.is_local(), symbol.is_weak()) {
                    (false, false) => 0,
                    (_, true) => 1,
                    (true, _) => 2,
                };
                let rank = (!is_function, symbol.size() == 0, binding);
                candidates.push(Candidate {
                    addr,
                    size: symbol.size().min(segment.end() - addr),
                    name,
                    rank,
                    file: if symbol.is_local() { source } else { 0 },
                });
            }
        }
        SymbolTable::new(candidates, segments, addresses)
    }

    /// The table of names that were read from a file of another format. Global names in executable
    /// segments that nothing says of are functions, too.
    pub(crate) fn from_names(names: &[NamedAddress], segments: &[Segment]) -> SymbolTable {
        let mut addresses = FxHashMap::default();
        let mut candidates = Vec::new();
        for NamedAddress {
            name,
            addr,
            is_global,
            is_function,
        } in names
        {
            let segment = segments.iter().find(|s| s.addr <= *addr && *addr < s.end());
            let Some(segment) = segment.filter(|_| !name.is_empty()) else {
                continue;
            };
            if *is_global || !addresses.contains_key(name) {
                addresses.insert(name.clone(), *addr);
            }
            if segment.perm.contains(Perm::X) && (*is_function || *is_global) {
                candidates.push(Candidate {
                    addr: *addr,
                    size: 0,
                    name,
                    rank: (!is_function, true, if *is_global { 0 } else { 2 }),
                    file: 0,
                });
            }
        }
        SymbolTable::new(candidates, segments, addresses)
    }

    fn new(
        candidates: Vec<Candidate<'_>>,
        segments: &[Segment],
        addresses: FxHashMap<String, u64>,
    ) -> SymbolTable {
        let mut named: FxHashMap<(usize, &str), u64> = FxHashMap::default();
        let mut parts: Vec<(u64, usize, &str)> = Vec::new();
        for of in &candidates {
            named.insert((of.file, of.name), of.addr);
            parts.extend(whole_name(of.name).map(|whole| (of.addr, of.file, whole)));
        }
        let mut table = SymbolTable {
            functions: Vec::new(),
            addresses,
            wholes: FxHashMap::default(),
        };
        // A part is local to its file; its function may be, too.
        let of = |&(part, file, whole): &(u64, usize, &str)| {
            let whole = named.get(&(file, whole)).or_else(|| named.get(&(0, whole)));
            Some((part, *whole?))
        };
        let parts: Vec<(u64, u64)> = parts.iter().filter_map(of).collect();
        table.functions = functions(candidates, segments);
        for (part, whole) in parts {
            let places = (table.begins_at(part), table.begins_at(whole));
            if let (Some(part), Some(whole)) = places
                && part != whole
            {
                table.wholes.insert(part, whole);
            }
        }
        table
    }

    /// The place of the function that begins at an address.
    fn begins_at(&self, addr: u64) -> Option<usize> {
        self.functions.binary_search_by_key(&addr, |f| f.addr).ok()
    }

    /// The place in [`SymbolTable::functions`] of the function of which the one at this place is a part: compilers put
    /// code that runs rarely elsewhere, under a symbol of its own (`NAME.cold`). Any other function is its own whole.
    #[must_use]
    pub fn whole(&self, index: usize) -> usize {
        self.wholes.get(&index).copied().unwrap_or(index)
    }

    /// The functions in ascending order of address; one for each address.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function that holds an instruction.
    #[must_use]
    pub fn function_at(&self, pc: u64) -> Option<&Function> {
        self.function_index(pc).map(|index| &self.functions[index])
    }

    /// The position in [`SymbolTable::functions`] of the function that holds an instruction.
    #[must_use]
    pub fn function_index(&self, pc: u64) -> Option<usize> {
        let after = self.functions.partition_point(|f| f.addr <= pc);
        let index = after.checked_sub(1)?;
        (pc - self.functions[index].addr < self.functions[index].size).then_some(index)
    }

    /// The address of a symbol, by its name as the file has it.
    #[must_use]
    pub fn address_of(&self, linkage_name: &str) -> Option<u64> {
        self.addresses.get(linkage_name).copied()
    }

    /// The function of this name, demangled or not.
    #[must_use]
    pub fn function_named(&self, name: &str) -> Option<&Function> {
        self.functions
            .iter()
            .find(|f| f.linkage_name == name || f.name == name)
    }
}

/// Where functions are entered: tells a jump into another function, a *tail call*, from a jump within one.
///
/// A function is entered at its first address. On Alpha it is also entered 8 bytes behind it by callers that share its
/// global pointer: they leave out the two instructions (`ldgp`) that load it. A program without symbols has no entries.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// First address of each function, and the address behind the function.
    ends: FxHashMap<u64, u64>,
    /// Bytes that a caller may leave out; 0 if none may be.
    optional: u64,
}

impl Entries {
    /// The entries of a program for this instruction set.
    #[must_use]
    pub fn of(symbols: &SymbolTable, isa: Isa) -> Self {
        let functions = symbols.functions().iter().enumerate();
        // A jump to a part of a function stays in the function.
        let wholes = functions.filter(|&(at, _)| symbols.whole(at) == at);
        Entries::new(wholes.map(|(_, f)| (f.addr, f.addr + f.size)), isa)
    }

    /// The entries of functions, given by their first address and the address behind them.
    #[must_use]
    pub fn new(functions: impl IntoIterator<Item = (u64, u64)>, isa: Isa) -> Self {
        Entries {
            ends: functions.into_iter().collect(),
            optional: if isa == Isa::Alpha { 8 } else { 0 },
        }
    }

    /// Whether a function begins at this address.
    #[must_use]
    pub fn begins_function(&self, addr: u64) -> bool {
        self.ends.contains_key(&addr)
    }

    /// The first address of the function that a jump at `pc` to `target` enters, from outside or again from within.
    #[must_use]
    pub fn entered(&self, pc: u64, target: u64) -> Option<u64> {
        if self.begins_function(target) {
            return Some(target);
        }
        // Loops often begin there: from within it is no entry.
        let begin = target.wrapping_sub(self.optional);
        (self.begins_function(begin) && !self.is_within(begin, pc)).then_some(begin)
    }

    /// The first address of the function that a jump at `pc` to `target` enters from outside.
    #[must_use]
    pub fn tail_called(&self, pc: u64, target: u64) -> Option<u64> {
        let entered = self.entered(pc, target);
        entered.filter(|&begin| !self.is_within(begin, pc))
    }

    /// Whether a jump at `pc` to `target` enters a function that does not hold the jump.
    #[must_use]
    pub fn is_tail_call(&self, pc: u64, target: u64) -> bool {
        self.tail_called(pc, target).is_some()
    }

    fn is_within(&self, begin: u64, pc: u64) -> bool {
        let end = self.ends.get(&begin);
        end.is_some_and(|&end| (begin..end).contains(&pc))
    }
}

/// One function for each address, sizes completed and cut at the next function.
fn functions(mut candidates: Vec<Candidate<'_>>, segments: &[Segment]) -> Vec<Function> {
    candidates.sort_by(|a, b| (a.addr, a.rank, a.name).cmp(&(b.addr, b.rank, b.name)));
    candidates.dedup_by_key(|c| c.addr);
    // A label inside a sized function is a place in it, not a function.
    let mut end = 0;
    candidates.retain(|c| {
        let inside = c.addr < end && (c.rank.0 || c.rank.1);
        end = if inside { end } else { c.addr + c.size };
        !inside
    });
    let mut result: Vec<Function> = Vec::with_capacity(candidates.len());
    for (index, c) in candidates.iter().enumerate() {
        let next = candidates.get(index + 1).map_or(u64::MAX, |n| n.addr);
        let segment = segments
            .iter()
            .find(|s| s.addr <= c.addr && c.addr < s.end());
        let limit = next.min(segment.map_or(c.addr, Segment::end));
        let size = if c.size == 0 {
            limit - c.addr
        } else {
            c.size.min(limit - c.addr)
        };
        result.push(Function {
            name: demangle(c.name),
            linkage_name: c.name.to_owned(),
            addr: c.addr,
            size,
        });
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(addr: u64, size: u64, name: &str, rank: (bool, bool, u8)) -> Candidate<'_> {
        Candidate {
            addr,
            size,
            name,
            rank,
            file: 0,
        }
    }

    #[test]
    fn functions_are_merged_completed_and_found() {
        let segments = [Segment {
            addr: 0x1000,
            mem_bytes: 0x100,
            file_range: 0..0,
            perm: Perm::RX,
        }];
        let table = SymbolTable::new(
            vec![
                candidate(0x1010, 0x10, "alias", (false, false, 1)),
                candidate(0x1010, 0x10, "real", (false, false, 0)),
                candidate(0x1018, 0, "label_inside", (true, true, 0)),
                candidate(0x1040, 0, "assembly", (false, true, 0)),
                candidate(0x1000, 0x20, "too_long", (false, false, 0)),
            ],
            &segments,
            FxHashMap::default(),
        );
        let found: Vec<_> = table
            .functions()
            .iter()
            .map(|f| (f.name.as_str(), f.addr, f.size))
            .collect();
        assert_eq!(
            found,
            [
                ("too_long", 0x1000, 0x10),
                ("real", 0x1010, 0x10),
                ("assembly", 0x1040, 0xc0)
            ]
        );
        assert_eq!(table.function_at(0x0fff), None);
        assert_eq!(
            table.function_at(0x1018).map(|f| f.name.as_str()),
            Some("real")
        );
        assert_eq!(table.function_at(0x1020), None);
        assert_eq!(table.function_index(0x10ff), Some(2));
        assert_eq!(table.function_at(0x1100), None);
    }

    #[test]
    fn rare_parts_belong_to_the_function_of_their_file() {
        let wholes = [
            ("work.cold", Some("work")),
            ("work.cold.3", Some("work")),
            ("work.part.0.cold", Some("work.part.0")),
            ("work.__part.1", Some("work")),
            ("work.part.0", None),
            ("work.isra.0", None),
            ("work", None),
            (".cold", None),
        ];
        for (name, whole) in wholes {
            assert_eq!(whole_name(name), whole, "{name}");
        }
        let segments = [Segment {
            addr: 0x1000,
            mem_bytes: 0x100,
            file_range: 0..0,
            perm: Perm::RX,
        }];
        let local = |addr, name, file| Candidate {
            file,
            ..candidate(addr, 0x10, name, (false, false, 2))
        };
        let table = SymbolTable::new(
            vec![
                local(0x1000, "work.cold", 1),
                local(0x1010, "work.cold", 2),
                local(0x1020, "seen.cold", 2),
                local(0x1030, "gone.cold", 2),
                local(0x1040, "work", 1),
                local(0x1050, "work", 2),
                candidate(0x1060, 0x10, "seen", (false, false, 0)),
            ],
            &segments,
            FxHashMap::default(),
        );
        let wholes: Vec<usize> = (0..7).map(|at| table.whole(at)).collect();
        assert_eq!(wholes, [4, 5, 6, 3, 4, 5, 6]);
        let entries = Entries::of(&table, Isa::Riscv64);
        assert!(!entries.is_tail_call(0x1044, 0x1000));
        assert!(entries.is_tail_call(0x1044, 0x1030));
        assert!(entries.is_tail_call(0x1000, 0x1050));
    }

    #[test]
    fn a_tail_call_enters_a_function_from_outside_of_it() {
        let functions = [(0x1000, 0x1040), (0x1040, 0x1080)];
        let riscv = Entries::new(functions, Isa::Riscv64);
        let alpha = Entries::new(functions, Isa::Alpha);
        for entries in [&riscv, &alpha] {
            assert!(entries.is_tail_call(0x1010, 0x1040));
            assert!(!entries.is_tail_call(0x1050, 0x1040));
            assert_eq!(entries.entered(0x1050, 0x1040), Some(0x1040));
            assert_eq!(entries.entered(0x1010, 0x1044), None);
        }
        assert_eq!(alpha.entered(0x1010, 0x1048), Some(0x1040));
        assert_eq!(alpha.entered(0x1050, 0x1048), None);
        assert_eq!(riscv.entered(0x1010, 0x1048), None);
    }
}
