//! Functions: their own cycles and those of what they call.

use rustc_hash::FxHashMap;

use hps_isa::layout;
use hps_isa::memory::PAGE_SIZE;
use hps_system::symbols::{CodeWatch, Symbols};

use super::{InstructionTime, Stack};
use crate::contexts::{Entered, NodeId};
use crate::oracle::ExactProfile;

/// A function of a program, or what stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name of the function.
    pub name: String,
    /// First address.
    pub entry: u64,
    /// The first address behind it.
    pub end: u64,
}

/// Which function an instruction belongs to. Where the program names none, what was called stands for one: from
/// its entry to the next entry.
#[derive(Clone, Debug, Default)]
pub struct FunctionMap {
    functions: Vec<Function>,
    /// Where code of a function lies that was moved away from it: first address, the address behind it, and the entry of
    /// the function. In ascending order.
    parts: Vec<(u64, u64, u64)>,
    /// Entries of functions that no symbol names, in ascending order.
    nameless: Vec<u64>,
}

/// Functions in ascending order of address, none of which overlap.
impl FromIterator<Function> for FunctionMap {
    fn from_iter<I: IntoIterator<Item = Function>>(functions: I) -> Self {
        FunctionMap {
            functions: functions.into_iter().collect(),
            parts: Vec::new(),
            nameless: Vec::new(),
        }
    }
}

impl FunctionMap {
    /// The functions that symbols name, and the return from signal handlers.
    #[must_use]
    pub fn named(symbols: &Symbols) -> Self {
        let all = symbols.functions();
        let (wholes, parts): (Vec<usize>, Vec<usize>) =
            (0..all.len()).partition(|&at| symbols.whole(at) == at);
        let end = |at: usize| all[at].addr.saturating_add(all[at].size);
        let named = wholes.into_iter().map(|at| Function {
            name: all[at].name.clone(),
            entry: all[at].addr,
            end: end(at),
        });
        let parts = parts.into_iter();
        let mut map = FunctionMap {
            parts: parts
                .map(|at| (all[at].addr, end(at), all[symbols.whole(at)].addr))
                .collect(),
            ..named.collect()
        };
        let place = (map.functions).partition_point(|f| f.entry < layout::TRAMPOLINE);
        map.functions.insert(
            place,
            Function {
                name: layout::SIGNAL_RETURN.to_string(),
                entry: layout::TRAMPOLINE,
                end: layout::TRAMPOLINE + PAGE_SIZE,
            },
        );
        map
    }

    /// Takes the functions of code that has come since this was asked last.
    pub(crate) fn renew(&mut self, watch: Option<&mut CodeWatch>) {
        if let Some(watch) = watch
            && let Some(symbols) = watch.news()
        {
            *self = FunctionMap::named(&symbols);
        }
    }

    /// The functions of all instructions of a run.
    #[must_use]
    pub fn new(symbols: &Symbols, exact: &ExactProfile) -> Self {
        let mut map = FunctionMap::named(symbols);
        let mut unnamed: Vec<u64> = exact.rows.iter().map(|row| row.of.key.pc).collect();
        // The next row is mostly of the same function.
        let mut last = 0..0;
        unnamed.retain(|&pc| {
            if last.contains(&pc) {
                return false;
            }
            let found = map.find(pc);
            if let Some(at) = found {
                last = map.functions[at].entry..map.functions[at].end;
            }
            found.is_none()
        });
        if unnamed.is_empty() {
            return map;
        }
        unnamed.sort_unstable();
        unnamed.dedup();
        let mut entries: Vec<u64> = exact
            .contexts
            .nodes()
            .iter()
            .map(|node| node.entry)
            .collect();
        entries.sort_unstable();
        entries.dedup();
        let mut found: Vec<Function> = Vec::new();
        for pc in unnamed {
            if found.last().is_some_and(|f| pc < f.end) {
                continue;
            }
            found.push(map.unnamed_at(pc, &entries));
        }
        let nameless = found.iter().map(|f| f.entry);
        map.nameless = nameless
            .filter(|&entry| entry != layout::HANDLER_BASE)
            .collect();
        map.functions.extend(found);
        map.functions.sort_unstable_by_key(|f| f.entry);
        map
    }

    /// Stand-in for the function of an address that no function holds.
    fn unnamed_at(&self, pc: u64, entries: &[u64]) -> Function {
        let handlers = layout::HANDLER_BASE..layout::HANDLER_END;
        if handlers.contains(&pc) {
            return Function {
                name: "(handlers)".to_string(),
                entry: handlers.start,
                end: handlers.end,
            };
        }
        let after = entries.partition_point(|&entry| entry <= pc);
        let before = self.functions.partition_point(|f| f.entry <= pc);
        let lowest = before.checked_sub(1).map_or(0, |at| self.functions[at].end);
        // Handlers lie between images and what a program maps.
        let (lowest, highest) = match pc < handlers.start {
            true => (lowest, handlers.start),
            false => (lowest.max(handlers.end), u64::MAX),
        };
        let entry = after
            .checked_sub(1)
            .map_or(lowest, |at| entries[at])
            .max(lowest);
        let next = entries.get(after).copied().unwrap_or(u64::MAX);
        let end = self
            .functions
            .get(before)
            .map_or(u64::MAX, |f| f.entry)
            .min(next);
        Function {
            name: format!("sub_{entry:x}"),
            entry,
            end: end.min(highest),
        }
    }

    /// All of them, in ascending order of address.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The place of the function that holds an address, itself or in a part that lies elsewhere.
    #[must_use]
    pub fn find(&self, pc: u64) -> Option<usize> {
        let after = self.functions.partition_point(|f| f.entry <= pc);
        let at = after.checked_sub(1);
        if let Some(at) = at.filter(|&at| pc < self.functions[at].end) {
            return Some(at);
        }
        let &(.., entry) = self.part(pc)?;
        let found = self.functions.binary_search_by_key(&entry, |f| f.entry);
        found.ok()
    }

    fn part(&self, pc: u64) -> Option<&(u64, u64, u64)> {
        let after = self.parts.partition_point(|&(first, ..)| first <= pc);
        let part = &self.parts[after.checked_sub(1)?];
        (pc < part.1).then_some(part)
    }

    /// The source file of the function at a place, if debug information tells it.
    #[must_use]
    pub fn file(&self, symbols: &Symbols, place: usize) -> Option<String> {
        let frames = symbols.source_frames(self.functions[place].entry);
        frames.last()?.file.clone()
    }

    /// The name of the function at a place, with its file where other functions have the same name.
    #[must_use]
    pub fn label(&self, symbols: &Symbols, place: usize) -> String {
        let name = &self.functions[place].name;
        let is_alone = self.functions.iter().filter(|f| f.name == *name).count() < 2;
        match self.file(symbols, place).filter(|_| !is_alone) {
            Some(file) => format!("{name} ({})", file.rsplit('/').next().unwrap_or(&file)),
            None => name.clone(),
        }
    }

    /// Whether code ran that the program names no function for.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        !self.nameless.is_empty()
    }

    /// Whether no symbol names the function of an address.
    #[must_use]
    pub fn is_nameless(&self, pc: u64) -> bool {
        let entry = self.find(pc).map(|at| self.functions[at].entry);
        entry.is_some_and(|entry| self.nameless.binary_search(&entry).is_ok())
    }
}

/// The cycles of a function.
#[derive(Clone, Debug)]
pub struct FunctionTime {
    /// Index of the function in the map.
    pub function: usize,
    /// How often it was called, as far as contexts tell.
    pub calls: u64,
    /// Instructions that committed in it.
    pub commits: u64,
    /// Units of the function's own instructions.
    pub own: Stack,
    /// Units while it was on the call stack, its own included; each once, however often it recurs there.
    pub inclusive_units: u64,
}

/// The functions that took any cycles, most of their own first. `instructions`: those of the profile, which each belong to
/// one function whatever called it.
#[must_use]
pub fn functions(
    exact: &ExactProfile,
    instructions: &[InstructionTime],
    map: &FunctionMap,
) -> Vec<FunctionTime> {
    let new = |function| FunctionTime {
        function,
        calls: 0,
        commits: 0,
        own: Stack::default(),
        inclusive_units: 0,
    };
    let mut times: Vec<FunctionTime> = (0..map.functions().len()).map(new).collect();
    for one in instructions {
        if let Some(function) = map.find(one.key.pc) {
            times[function].commits += one.commits;
            times[function].own.merge(&one.stack);
        }
    }
    // A call of a part that lies elsewhere is none of the function.
    Walk::new(exact, map, &mut times).all(|entry| map.part(entry).is_none());
    times.retain(|time| time.inclusive_units > 0 || time.own.units() > 0);
    times.sort_unstable_by_key(|time| {
        (
            std::cmp::Reverse(time.own.units()),
            std::cmp::Reverse(time.inclusive_units),
            time.function,
        )
    });
    times
}

/// A walk over all contexts, depth first, which adds up calls and inclusive units.
struct Walk<'a> {
    exact: &'a ExactProfile,
    times: &'a mut [FunctionTime],
    /// The function of each context.
    of_node: Vec<Option<u32>>,
    /// The function of each code that took units.
    of_code: Vec<Option<usize>>,
    /// How often each function is on the path to the context where the walk is.
    on_path: Vec<u32>,
    /// Units of each context, with those of all contexts inside that the walk has left.
    inclusive: Vec<u64>,
}

impl<'a> Walk<'a> {
    fn new(exact: &'a ExactProfile, map: &FunctionMap, times: &'a mut [FunctionTime]) -> Self {
        let nodes = exact.contexts.nodes();
        let mut known: FxHashMap<u64, Option<u32>> = FxHashMap::default();
        let mut find = |entry| {
            let function = known.entry(entry);
            *function.or_insert_with(|| map.find(entry).map(|at| at as u32))
        };
        let of_node = nodes.iter().map(|node| match node.entered {
            // The native function that executes it is around it.
            Entered::Interpreted(_) => None,
            _ => find(node.entry),
        });
        let of_node = of_node.collect();
        let codes = exact.context_units.addresses().iter();
        Walk {
            exact,
            on_path: vec![0; times.len()],
            times,
            of_node,
            of_code: codes.map(|&pc| map.find(pc)).collect(),
            inclusive: vec![0; nodes.len()],
        }
    }

    /// Walks over all contexts. `is_entry`: whether a context with this entry is a call of its function.
    fn all(mut self, is_entry: impl Fn(u64) -> bool) {
        let exact = self.exact;
        exact.contexts.visit(|id, enters| match enters {
            true => self.enter(id, &is_entry),
            false => self.leave(id),
        });
    }

    fn enter(&mut self, id: NodeId, is_entry: impl Fn(u64) -> bool) {
        let node = &self.exact.contexts.nodes()[id.index()];
        if let Some(function) = self.of_node[id.index()] {
            self.on_path[function as usize] += 1;
            if !matches!(node.entered, Entered::Begin | Entered::Thread(_)) && is_entry(node.entry)
            {
                self.times[function as usize].calls += node.calls;
            }
        }
        for (code, units) in self.exact.context_units.of(id) {
            self.inclusive[id.index()] += units;
            if let Some(function) = self.of_code[code]
                && self.on_path[function] == 0
            {
                // Execution came there without a call.
                self.times[function].inclusive_units += units;
            }
        }
    }

    fn leave(&mut self, id: NodeId) {
        let units = self.inclusive[id.index()];
        if let Some(function) = self.of_node[id.index()] {
            let count = &mut self.on_path[function as usize];
            *count -= 1;
            if *count == 0 {
                self.times[function as usize].inclusive_units += units;
            }
        }
        if id != NodeId::ROOT {
            let parent = self.exact.contexts.nodes()[id.index()].parent;
            self.inclusive[parent.index()] += units;
        }
    }
}
