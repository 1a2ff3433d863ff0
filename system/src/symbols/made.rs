//! Code that compilers have made while a program ran, as they tell `perf` of it: maps (`/tmp/perf-PID.map`, Linux
//! `tools/perf/Documentation/jit-interface.txt`) and dumps (`jit-PID.dump`, `jitdump-specification.txt` beside it).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{CodeLog, Object, Symbols};

/// `JiTD` in the order of bytes of a program for these instruction sets.
const MAGIC: u32 = 0x4a69_5444;
/// Kinds of records.
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;
const CLOSE: u32 = 3;

/// The functions that a compiler has told of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MadeCode {
    /// Name, address and size, in the order in which they were told.
    pub functions: Vec<(String, u64, u64)>,
    /// Source positions from each address on.
    pub lines: BTreeMap<u64, (String, u32)>,
}

impl MadeCode {
    /// Reads a map: `START SIZE NAME` in each line, numbers in hexadecimal. Other lines are left out.
    pub fn of_map(text: &str) -> MadeCode {
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number = || {
                let word = words.next()?;
                u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
            };
            let (addr, size) = (number()?, number()?);
            let name = words.next()?.trim();
            let fits = addr.checked_add(size).is_some() && size > 0 && !name.is_empty();
            fits.then(|| (name.to_owned(), addr, size))
        };
        MadeCode {
            functions: text.lines().filter_map(line).collect(),
            lines: BTreeMap::new(),
        }
    }

    /// Reads a dump, up to a record that is damaged. `None` if it is no dump.
    pub fn of_dump(bytes: &[u8]) -> Option<MadeCode> {
        let header = Record(bytes);
        if header.word(0)? != MAGIC {
            return None;
        }
        let mut made = MadeCode::default();
        // Source positions come in front of their code.
        let mut positions: Vec<(u64, String, u32)> = Vec::new();
        let mut rest = bytes.get(header.word(8)? as usize..)?;
        while let Some((kind, size)) = Record(rest).word(0).zip(Record(rest).word(4)) {
            let Some(record) = rest.get(16..size as usize).map(Record) else {
                break;
            };
            match kind {
                LOAD => {
                    if let Some((name, addr, bytes)) = record.load() {
                        made.functions.push((name, addr, bytes));
                        let own = positions.drain(..).filter(|(at, ..)| {
                            at.checked_sub(addr).is_some_and(|inside| inside < bytes)
                        });
                        made.lines
                            .extend(own.map(|(at, file, line)| (at, (file, line))));
                    }
                }
                MOVE => made.relocate(record),
                DEBUG_INFO => positions = record.positions().unwrap_or_default(),
                CLOSE => break,
                _ => {}
            }
            rest = &rest[size as usize..];
        }
        Some(made)
    }

    /// Code lies elsewhere from now on.
    fn relocate(&mut self, record: Record<'_>) {
        let place = record.long(16).zip(record.long(24)).zip(record.long(32));
        let Some(((old, new), size)) = place else {
            return;
        };
        let function = self.functions.iter().rev().find(|f| f.1 == old);
        let name = function.map(|(name, ..)| name.clone());
        if let Some(name) = name.filter(|_| new.checked_add(size).is_some()) {
            self.functions.push((name, new, size));
        }
        let moved = self.lines.range(old..old.saturating_add(size));
        let moved: Vec<_> = moved
            .map(|(&at, line)| (new.wrapping_add(at - old), line.clone()))
            .collect();
        self.lines.extend(moved);
    }
}

/// A record, behind its head.
#[derive(Clone, Copy)]
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn word(self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn long(self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    /// A text up to its end, and where that is.
    fn text(self, at: usize) -> Option<(String, usize)> {
        let bytes = self.0.get(at..)?;
        let len = bytes.iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
        Some((text, at + len + 1))
    }

    /// Name, address and size of a function. Process, thread and another address of it come first.
    fn load(self) -> Option<(String, u64, u64)> {
        let (addr, size) = (self.long(16)?, self.long(24)?);
        let (name, _) = self.text(40)?;
        let fits = size > 0 && addr.checked_add(size).is_some();
        fits.then_some((name, addr, size))
    }

    /// Address, file and line of each source position.
    fn positions(self) -> Option<Vec<(u64, String, u32)>> {
        let count = self.long(8)?;
        let mut all: Vec<(u64, String, u32)> = Vec::new();
        let mut at = 16;
        for _ in 0..count {
            let (addr, line) = (self.long(at)?, self.word(at + 8)?);
            let (file, next) = self.text(at + 16)?;
            // The name of the position before.
            let file = match (&file[..], all.last()) {
                ("\u{fffd}", Some((_, before, _))) => before.clone(),
                _ => file,
            };
            all.push((addr, file, line));
            at = next;
        }
        Some(all)
    }
}

impl CodeLog {
    /// The symbols of a program together with those of code that it has made, as far as it has told `perf`.
    pub(crate) fn symbols_with_made(&self, program: u32) -> Option<Arc<Symbols>> {
        let symbols = self.symbols(program)?;
        let (pid, dumps) = self.files(program, |path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.starts_with("jit-") && name.ends_with(".dump")
        });
        let dumps = dumps
            .into_iter()
            .filter_map(|(name, bytes)| Some((name, MadeCode::of_dump(&bytes)?)));
        let map = pid.map(|pid| format!("/tmp/perf-{pid}.map"));
        let map = map.and_then(|path| {
            let text = self.read(&path)?;
            let made = MadeCode::of_map(&String::from_utf8_lossy(&text));
            Some((path, made))
        });
        let made: Vec<Object> = (map.into_iter().chain(dumps))
            .filter(|(_, made)| !made.functions.is_empty())
            .map(|(name, made)| Object::made(&name, &made.functions, made.lines))
            .collect();
        match made.is_empty() {
            true => Some(symbols),
            false => Some(Arc::new(symbols.with_made(made))),
        }
    }
}

impl Symbols {
    /// A copy of these symbols with those of code that was made, which has no other name.
    fn with_made(&self, made: Vec<Object>) -> Symbols {
        let mut objects = self.objects.clone();
        // Files count where they were mapped.
        let mut placed: Vec<(Range<u64>, usize)> = Vec::new();
        for object in made {
            let at = objects.len();
            placed.extend(object.code().iter().map(|range| (range.clone(), at)));
            objects.push(Arc::new(object));
        }
        placed.extend(self.spans.iter().cloned());
        let mut all = Symbols::of(objects, placed);
        all.notes.clone_from(&self.notes);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_map_are_functions() {
        let text = "3f00 10 a name of words\n0x4000 0x20 other\nnonsense\n5000 0 empty\n6000 8 \n";
        let expected = [
            ("a name of words".to_owned(), 0x3f00, 0x10),
            ("other".to_owned(), 0x4000, 0x20),
        ];
        assert_eq!(MadeCode::of_map(text).functions, expected);
    }

    /// A record: kind, size, time, and what it holds.
    fn record(kind: u32, parts: &[&[u8]]) -> Vec<u8> {
        let rest = parts.concat();
        let size = 16 + rest.len() as u32;
        let head = [kind.to_le_bytes(), size.to_le_bytes(), [0; 4], [0; 4]];
        [head.concat(), rest].concat()
    }

    #[test]
    fn a_dump_has_functions_that_move_and_their_lines() {
        let long = |value: u64| value.to_le_bytes();
        let header = [
            MAGIC.to_le_bytes(),
            1u32.to_le_bytes(),
            40u32.to_le_bytes(),
            [0; 4],
        ];
        let position = |addr: u64, line: u32, file: &str| {
            let numbers = [&long(addr)[..], &line.to_le_bytes(), &[0; 4]];
            [&numbers.concat()[..], file.as_bytes(), &[0]].concat()
        };
        let lines = [position(0x1000, 7, "a.js"), position(0x1008, 9, "b.js")].concat();
        let load = [
            &[0; 8][..],
            &long(0x1000),
            &long(0x1000),
            &long(0x10),
            &long(1),
            b"made\0",
            &[0; 16],
        ];
        let moved = [
            &[0; 8][..],
            &long(0x1000),
            &long(0x1000),
            &long(0x2000),
            &long(0x10),
            &long(1),
        ];
        let dump = [
            header.concat(),
            vec![0; 24],
            record(DEBUG_INFO, &[&long(0x1000), &long(2), &lines]),
            record(LOAD, &load),
            record(MOVE, &moved),
            record(CLOSE, &[]),
            record(LOAD, &load),
        ]
        .concat();
        let made = MadeCode::of_dump(&dump).expect("a dump");
        let expected = [0x1000, 0x2000].map(|addr| ("made".to_owned(), addr, 0x10));
        assert_eq!(made.functions, expected);
        let lines: Vec<(u64, u32)> = made.lines.iter().map(|(at, line)| (*at, line.1)).collect();
        assert_eq!(lines, [(0x1000, 7), (0x1008, 9), (0x2000, 7), (0x2008, 9)]);
        // A file that ends somewhere has what is whole.
        for end in 0..dump.len() {
            let part = MadeCode::of_dump(&dump[..end]);
            let count = part.map_or(0, |part| part.functions.len());
            assert!(count <= 2, "{end}");
        }
        assert_eq!(MadeCode::of_dump(b"no dump"), None);
    }
}
