//! Names of code: the functions of all objects of an address space, their source lines, and where functions are entered.
//!
//! [`Symbols`] answers for one program: of its own file before it runs ([`ProgramImage::symbols`](crate::image::ProgramImage)), of
//! the loader, its libraries and what compilers have made while it ran behind the run
//! ([`Guest::symbols`](crate::process::Guest::symbols)). A [`CodeLog`] records which files were mapped where; files are read
//! when somebody asks.
//!
//! Where two objects have lain at one address one after the other (`dlclose`, `dlopen`), the later one has the names, and
//! [`Symbols::notes`] says so.

mod code_log;
mod entries;
mod made;
mod object;
mod stubs;
mod table;

use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::Arc;

pub(crate) use self::code_log::Recorder;
pub use self::code_log::{CodeLog, CodeWatch};
pub use self::entries::Entries;
pub use self::object::Object;
pub(crate) use self::table::NamedAddress;
pub use self::table::{Function, SymbolTable};
use hps_isa::memory::Memory;

use crate::image::SourceFrame;

/// Names that are listed in one sentence.
const MOST_NAMES: usize = 8;

/// The symbols of a program: those of its file, and of all other objects in its address space. Looks up functions as its
/// [`SymbolTable`] does.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    table: Arc<SymbolTable>,
    objects: Vec<Arc<Object>>,
    /// Where each object has code: a range, and its place in `objects`; in ascending order, without overlap.
    spans: Vec<(Range<u64>, usize)>,
    notes: Vec<String>,
}

impl Deref for Symbols {
    type Target = SymbolTable;

    fn deref(&self) -> &SymbolTable {
        &self.table
    }
}

impl From<Object> for Symbols {
    /// The symbols of a program without other objects.
    fn from(program: Object) -> Symbols {
        let placed = program.code().iter().map(|range| (range.clone(), 0));
        let placed = placed.collect();
        Symbols::of(vec![Arc::new(program)], placed)
    }
}

impl Symbols {
    /// The symbols of objects, the program first. `placed` has where they had code, in the order in which it came there:
    /// a later one hides earlier ones.
    pub(crate) fn of(objects: Vec<Arc<Object>>, placed: Vec<(Range<u64>, usize)>) -> Symbols {
        let mut spans = BTreeMap::new();
        let mut notes = Vec::new();
        for (range, object) in placed.into_iter().filter(|(range, _)| !range.is_empty()) {
            let hidden = hide(&mut spans, &range);
            for earlier in hidden.into_iter().filter(|earlier| *earlier != object) {
                notes.push(format!(
                    "{} lay where {} lay before: code at {:#x}..{:#x} has the names of the later one",
                    objects[object].name(),
                    objects[earlier].name(),
                    range.start,
                    range.end
                ));
            }
            spans.insert(range.start, (range.end, object));
        }
        notes.dedup();
        let spans: Vec<(Range<u64>, usize)> = spans
            .into_iter()
            .map(|(start, (end, object))| (start..end, object))
            .collect();
        let mut of_object: Vec<Vec<Range<u64>>> = vec![Vec::new(); objects.len()];
        for (range, at) in &spans {
            of_object[*at].push(range.clone());
        }
        let table = match &objects[..] {
            [alone] => Arc::clone(&alone.table),
            all => {
                let parts = all.iter().map(|object| &*object.table).zip(of_object);
                Arc::new(SymbolTable::merged(parts))
            }
        };
        Symbols {
            table,
            objects,
            spans,
            notes,
        }
    }

    /// The objects: the program first.
    #[must_use]
    pub fn objects(&self) -> &[Arc<Object>] {
        &self.objects
    }

    /// Where objects have code: ranges in ascending order, each with its object's place in [`Symbols::objects`].
    #[must_use]
    pub fn spans(&self) -> &[(Range<u64>, usize)] {
        &self.spans
    }

    /// The place in [`Symbols::objects`] of the object whose code lies at an address.
    #[must_use]
    pub fn object_index(&self, addr: u64) -> Option<usize> {
        self.span(addr).map(|(_, object)| *object)
    }

    /// The object whose code lies at an address.
    #[must_use]
    pub fn object_at(&self, addr: u64) -> Option<&Arc<Object>> {
        self.object_index(addr).map(|at| &self.objects[at])
    }

    /// The object whose code lies at an address, if it is not the program.
    #[must_use]
    pub fn other_object_at(&self, addr: u64) -> Option<&Arc<Object>> {
        let index = self.object_index(addr).filter(|&at| at > 0)?;
        Some(&self.objects[index])
    }

    /// A name of code at an address with its object in front, `libc.so.6!malloc`; code of the program has the name alone.
    #[must_use]
    pub fn with_object(&self, addr: u64, name: &str) -> String {
        match self.other_object_at(addr) {
            Some(object) => format!("{}!{name}", object.file_name()),
            None => name.to_owned(),
        }
    }

    /// Source position of an instruction as `file:line`, if the debug information of its object says so. The information
    /// is read at the first question.
    #[must_use]
    pub fn source_line(&self, pc: u64) -> Option<String> {
        self.object_at(pc)?.source_line(pc)
    }

    /// The functions that are active at an instruction, innermost first: those that were inlined there, and last the one
    /// around them. Empty if debug information says nothing of it.
    #[must_use]
    pub fn source_frames(&self, pc: u64) -> Vec<SourceFrame> {
        self.object_at(pc)
            .map_or_else(Vec::new, |object| object.source_frames(pc))
    }

    /// Fills `bytes` with the code at an address, as the file of its object has it. Says whether that has any.
    pub fn read_code(&self, pc: u64, bytes: &mut [u8]) -> bool {
        self.object_at(pc)
            .is_some_and(|object| object.read_code(pc, bytes))
    }

    /// Files with debug information that have been looked for and not found so far, or that lack what is needed, a
    /// sentence each; libraries share one.
    #[must_use]
    pub fn missing_debug_files(&self) -> Vec<String> {
        let Some((program, others)) = self.objects.split_first() else {
            return Vec::new();
        };
        let mut missing = program.missing_debug_files();
        let others = others.iter();
        let lacking: Vec<&str> = others
            .filter(|object| !object.missing_debug_files().is_empty())
            .map(|object| object.file_name())
            .collect();
        if !lacking.is_empty() {
            let shown = &lacking[..lacking.len().min(MOST_NAMES)];
            missing.push(format!(
                "the debug information of {} librar{} was not found under the root (/usr/lib/debug): {}{}",
                lacking.len(),
                if lacking.len() == 1 { "y" } else { "ies" },
                shown.join(", "),
                if lacking.len() > MOST_NAMES { ", …" } else { "" },
            ));
        }
        missing
    }

    /// Sentences on names that may be wrong: objects that lay at one address at different times, and code that is not
    /// known because there was too much of it.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds a sentence to the notes.
    fn with_note(mut self, note: String) -> Symbols {
        self.notes.push(note);
        self
    }

    /// Gives names to functions that no symbol names and that the loader has chosen for a name: where a word of an
    /// object's table of addresses leads (IFUNC). Such a function reaches to the next symbol.
    pub(crate) fn with_chosen(mut self, memory: &Memory) -> Symbols {
        let mut names: Vec<(u64, u64, String)> = Vec::new();
        for object in &self.objects {
            for slot in object.slots() {
                let Ok(addr) = memory.read::<8>(slot.addr) else {
                    continue;
                };
                let Some((range, _)) = self.span(addr).filter(|_| self.function_at(addr).is_none())
                else {
                    continue;
                };
                let functions = self.functions();
                let next = functions.partition_point(|f| f.addr <= addr);
                let end = functions.get(next).map_or(range.end, |f| f.addr);
                names.push((addr, end.min(range.end) - addr, slot.name));
            }
        }
        names.sort();
        names.dedup_by_key(|name| name.0);
        for at in 1..names.len() {
            let next = names[at].0;
            let (addr, size, _) = &mut names[at - 1];
            *size = (*size).min(next - *addr);
        }
        if !names.is_empty() {
            self.table = Arc::new(self.table.with_names(names));
        }
        self
    }

    fn span(&self, addr: u64) -> Option<&(Range<u64>, usize)> {
        let behind = self.spans.partition_point(|(range, _)| range.start <= addr);
        let span = self.spans.get(behind.checked_sub(1)?)?;
        span.0.contains(&addr).then_some(span)
    }
}

/// Takes a range out of spans, which have ends and objects by their starts. Returns the objects that lay there.
fn hide(spans: &mut BTreeMap<u64, (u64, usize)>, range: &Range<u64>) -> Vec<usize> {
    let before = spans.range(..range.end).rev();
    let overlaps = before.take_while(|(_, (end, _))| *end > range.start);
    let overlaps: Vec<(u64, (u64, usize))> =
        overlaps.map(|(&start, &span)| (start, span)).collect();
    let mut hidden = Vec::new();
    for (start, (end, object)) in overlaps {
        spans.remove(&start);
        for rest in [start..range.start, range.end..end] {
            if rest.start < rest.end {
                spans.insert(rest.start, (rest.end, object));
            }
        }
        hidden.push(object);
    }
    hidden.dedup();
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_object_has_the_names_where_an_earlier_one_was() {
        let object = |name: &str, functions: &[(&str, u64, u64)]| {
            let of = |(name, addr, size): &(&str, u64, u64)| (String::from(*name), *addr, *size);
            let functions: Vec<_> = functions.iter().map(of).collect();
            Arc::new(Object::made(name, &functions, Default::default()))
        };
        let first = object("/first", &[("a", 0x1000, 0x100), ("b", 0x1100, 0x100)]);
        let later = object("/lib/later", &[("c", 0x1080, 0x80), ("d", 0x1100, 0x40)]);
        let placed = vec![(0x1000..0x1200, 0), (0x1080..0x1140, 1)];
        let symbols = Symbols::of(vec![first, later], placed);
        let named = |addr| symbols.function_at(addr).map(|f| f.name.as_str());
        assert_eq!(
            [0x1000, 0x1080, 0x1110].map(named),
            [Some("a"), Some("c"), Some("d")]
        );
        let objects = [
            0x0fff, 0x1000, 0x107f, 0x1080, 0x113f, 0x1140, 0x11ff, 0x1200,
        ];
        let expected = [
            None,
            Some(0),
            Some(0),
            Some(1),
            Some(1),
            Some(0),
            Some(0),
            None,
        ];
        assert_eq!(objects.map(|addr| symbols.object_index(addr)), expected);
        assert_eq!(symbols.with_object(0x1100, "d"), "later!d");
        assert_eq!(symbols.with_object(0x1000, "a"), "a");
        assert_eq!(symbols.notes().len(), 1);
        assert!(symbols.notes()[0].starts_with("/lib/later lay where /first lay before"));
    }
}
