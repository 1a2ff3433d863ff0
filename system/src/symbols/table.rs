//! Functions and named addresses of a program.

use std::collections::BTreeMap;
use std::ops::Range;

use hps_demangle::demangle;
use hps_isa::memory::Perm;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use super::stubs::Stubs;
use crate::image::Segment;

/// A function of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name of the function, demangled (C++, Rust, D).
    pub name: String,
    /// Name as the file has it.
    pub linkage_name: String,
    /// Address of its first instruction.
    pub addr: u64,
    /// Size in bytes. Where the file says 0 (assembly), the function reaches to the next one or to the end of its
    /// segment.
    pub size: u64,
}

/// The symbols of a program. Empty for a stripped one.
#[derive(Clone, Debug, Default)]
pub struct SymbolTable {
    functions: Vec<Function>,
    addresses: FxHashMap<String, u64>,
    /// The place of the function that each part belongs to, by the place of the part.
    wholes: FxHashMap<usize, usize>,
    /// Address ranges of stubs (`.plt`), ascending.
    stubs: Vec<Range<u64>>,
}

/// Whether one of ranges that ascend and do not overlap holds an address.
pub(super) fn holds(ranges: &[Range<u64>], addr: u64) -> bool {
    let behind = ranges.partition_point(|range| range.start <= addr);
    behind > 0 && addr < ranges[behind - 1].end
}

/// A name for an address.
pub(crate) struct NamedAddress {
    pub name: String,
    pub addr: u64,
    pub is_global: bool,
    pub is_function: bool,
}

/// A function symbol before names for the same address are merged.
pub(super) struct Candidate<'a> {
    pub(super) addr: u64,
    pub(super) size: u64,
    pub(super) name: &'a str,
    /// Better candidates compare lower.
    pub(super) rank: (bool, bool, u8),
    /// The source file of a local symbol, as a number; 0 of others.
    pub(super) file: usize,
}

/// Symbols of an ELF file while its tables are read.
struct Found<'a> {
    bias: u64,
    segments: &'a [Segment],
    addresses: FxHashMap<String, u64>,
    candidates: Vec<Candidate<'a>>,
    /// Local labels without a type, which name code that no function holds.
    labels: Vec<(u64, &'a str)>,
}

impl<'a> Found<'a> {
    /// Adds the symbols of a table.
    fn add(&mut self, symbols: impl Iterator<Item = impl ObjectSymbol<'a>>) {
        let mut source = 0;
        for symbol in symbols {
            source += usize::from(symbol.kind() == SymbolKind::File);
            let Ok(name) = symbol.name() else { continue };
            let has_place = matches!(
                symbol.kind(),
                SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown
            );
            let addr = symbol.address().wrapping_add(self.bias);
            let segment = self
                .segments
                .iter()
                .find(|s| s.addr <= addr && addr < s.end());
            let Some(segment) = segment.filter(|_| has_place && !symbol.is_undefined()) else {
                continue;
            };
            // Local labels and mapping symbols name no function.
            if name.is_empty() || name.starts_with(['$', '.']) {
                continue;
            }
            if symbol.is_global() || !self.addresses.contains_key(name) {
                self.addresses.insert(name.to_owned(), addr);
            }
            let is_function = symbol.kind() == SymbolKind::Text;
            let is_untyped = symbol.kind() == SymbolKind::Unknown;
            if segment.perm.contains(Perm::X) && is_untyped && !symbol.is_global() {
                self.labels.push((addr, name));
            }
            let is_label = is_untyped && symbol.is_global();
            if segment.perm.contains(Perm::X) && (is_function || is_label) {
                let binding = match (symbol.is_local(), symbol.is_weak()) {
                    (false, false) => 0,
                    (_, true) => 1,
                    (true, _) => 2,
                };
                let rank = (!is_function, symbol.size() == 0, binding);
                self.candidates.push(Candidate {
                    addr,
                    size: symbol.size().min(segment.end() - addr),
                    name,
                    rank,
                    file: if symbol.is_local() { source } else { 0 },
                });
            }
        }
    }
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
    /// Reads the symbols of an ELF file: of its symbol table; of the separate debug information that `debug` finds, if the
    /// file is stripped; or else those that a loader needs. Stubs of calls through a table of addresses have the name of
    /// the function with `@plt`. Damaged tables count as absent.
    pub(crate) fn from_elf(
        bytes: &[u8],
        debug: impl FnOnce(&ElfFile64<'_, LittleEndian>) -> Option<Vec<u8>>,
        bias: u64,
        segments: &[Segment],
    ) -> SymbolTable {
        let Ok(file) = ElfFile64::<LittleEndian>::parse(bytes) else {
            return SymbolTable::default();
        };
        let stubs = Stubs::of(&file, bias);
        let is_stripped = file.symbols().next().is_none();
        let separate = is_stripped.then(|| debug(&file)).flatten();
        let separate = separate.as_deref();
        let separate = separate.and_then(|bytes| ElfFile64::<LittleEndian>::parse(bytes).ok());
        let mut found = Found {
            bias,
            segments,
            addresses: FxHashMap::default(),
            candidates: stubs.candidates(),
            labels: Vec::new(),
        };
        match &separate.filter(|file| file.symbols().next().is_some()) {
            Some(separate) => found.add(separate.symbols()),
            None if is_stripped => found.add(file.dynamic_symbols()),
            None => found.add(file.symbols()),
        }
        SymbolTable::with_stubs(found, &stubs)
    }

    fn with_stubs(found: Found<'_>, stubs: &Stubs) -> SymbolTable {
        let mut table = SymbolTable::new(found.candidates, found.segments, found.addresses);
        table.stubs.clone_from(&stubs.sections);
        table.with_names(table.gaps(found.labels, found.segments))
    }

    /// The table of functions that a compiler has made while the program ran: name, address, size. Of functions that
    /// overlap, later ones count.
    pub(crate) fn from_functions(made: &[(String, u64, u64)]) -> SymbolTable {
        let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
        for (name, addr, size) in made {
            let end = addr.saturating_add(*size);
            let gone = functions.range(..end).rev();
            let gone = gone.take_while(|(_, f)| f.addr + f.size > *addr);
            for before in gone.map(|(&at, _)| at).collect::<Vec<_>>() {
                functions.remove(&before);
            }
            let function = Function {
                name: demangle(name),
                linkage_name: name.clone(),
                addr: *addr,
                size: end - addr,
            };
            functions.insert(*addr, function);
        }
        SymbolTable {
            functions: functions.into_values().collect(),
            ..SymbolTable::default()
        }
    }

    /// Merges several tables, each with the ascending ranges of addresses in which it counts. If several tables have a
    /// name, the first one counts.
    pub(crate) fn merged<'a>(
        parts: impl IntoIterator<Item = (&'a SymbolTable, Vec<Range<u64>>)>,
    ) -> SymbolTable {
        let mut all = SymbolTable::default();
        // By the address of the part.
        let mut wholes: Vec<(u64, u64)> = Vec::new();
        for (part, ranges) in parts {
            let counts = |addr: u64| holds(&ranges, addr);
            for (at, function) in part.functions.iter().enumerate() {
                if counts(function.addr) {
                    all.functions.push(function.clone());
                    if let Some(&whole) = part.wholes.get(&at) {
                        wholes.push((function.addr, part.functions[whole].addr));
                    }
                }
            }
            for (name, addr) in &part.addresses {
                all.addresses.entry(name.clone()).or_insert(*addr);
            }
            let stubs = part.stubs.iter();
            all.stubs
                .extend(stubs.filter(|stub| counts(stub.start)).cloned());
        }
        all.functions.sort_by_key(|f| f.addr);
        all.stubs.sort_by_key(|stub| stub.start);
        all.set_wholes(wholes);
        all
    }

    /// Code that labels name and no function holds, each up to the next name: address, size, and name.
    fn gaps(&self, mut labels: Vec<(u64, &str)>, segments: &[Segment]) -> Vec<(u64, u64, String)> {
        labels.retain(|(addr, _)| self.function_index(*addr).is_none());
        labels.sort_unstable();
        labels.dedup_by_key(|(addr, _)| *addr);
        let end = |at: usize| {
            let addr = labels[at].0;
            let next = labels.get(at + 1).map(|next| next.0);
            let function = self.functions.partition_point(|f| f.addr <= addr);
            let function = self.functions.get(function).map(|f| f.addr);
            let segment = segments.iter().find(|s| s.addr <= addr && addr < s.end());
            let ends = next.into_iter().chain(function);
            ends.chain(segment.map(Segment::end)).min().unwrap_or(addr)
        };
        let named = labels.iter().enumerate();
        named
            .map(|(at, (addr, name))| (*addr, end(at) - addr, (*name).to_owned()))
            .collect()
    }

    /// Gives names to functions of which no symbol knows: address, size, and name.
    pub(crate) fn with_names(&self, names: Vec<(u64, u64, String)>) -> SymbolTable {
        let mut all = self.clone();
        if names.is_empty() {
            return all;
        }
        // Places of parts change.
        let of = |(&part, &whole): (&usize, &usize)| {
            (self.functions[part].addr, self.functions[whole].addr)
        };
        let wholes: Vec<(u64, u64)> = self.wholes.iter().map(of).collect();
        all.functions
            .extend(names.into_iter().map(|(addr, size, name)| Function {
                name: demangle(&name),
                linkage_name: name,
                addr,
                size,
            }));
        all.functions.sort_by_key(|f| f.addr);
        all.set_wholes(wholes);
        all
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
            ..SymbolTable::default()
        };
        // A part is local to its file; its function may be, too.
        let of = |&(part, file, whole): &(u64, usize, &str)| {
            let whole = named.get(&(file, whole)).or_else(|| named.get(&(0, whole)));
            Some((part, *whole?))
        };
        let parts: Vec<(u64, u64)> = parts.iter().filter_map(of).collect();
        table.functions = functions(candidates, segments);
        table.set_wholes(parts);
        table
    }

    /// Sets the function of each part, both by their first addresses.
    fn set_wholes(&mut self, pairs: Vec<(u64, u64)>) {
        let places = |(part, whole)| Some((self.begins_at(part)?, self.begins_at(whole)?));
        let wholes = pairs.into_iter().filter_map(places);
        self.wholes = wholes.filter(|(part, whole)| part != whole).collect();
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

    /// Where stubs lie by which calls reach functions of other objects, in ascending order.
    pub(super) fn stubs(&self) -> &[Range<u64>] {
        &self.stubs
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
        let entries = super::super::Entries::of(&table, hps_isa::isa::Isa::Riscv64);
        assert!(!entries.is_tail_call(0x1044, 0x1000));
        assert!(entries.is_tail_call(0x1044, 0x1030));
        assert!(entries.is_tail_call(0x1000, 0x1050));
    }
}
