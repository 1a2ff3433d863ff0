//! The one form of a store: its lines sorted, each piece once.
//!
//! Lines stand in the order of program, instruction set, input, machine, what was done, its two numbers, and id. Of a
//! piece that was done, failures are left out. So the bytes do not depend on who did what when.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::ClusterError;
use super::belongs::Belongs;
use crate::store::{Lines, Record, StoreError};

/// Puts a store into its form. Of several records of a piece the last one counts. Whether the file was written anew.
///
/// # Errors
/// [`StoreError`]; the store is then as it was.
pub(crate) fn file<R: Record>(path: &Path) -> Result<bool, StoreError> {
    let mut index = Index::default();
    let mut lines = Lines::open(path)?;
    let source = index.source(path);
    while let Some(line) = lines.next()? {
        let sum = crc32fast::hash(line);
        let length = line.len() as u32;
        let record: R = lines.decode()?;
        let entry = index.entry(&record, source, lines.end(), length, sum);
        index.put(&record, entry, |old, new| new.failed && !old.failed);
    }
    let sorted = index.sorted();
    let mut end = 0;
    let is_tidy = sorted.iter().all(|entry| {
        let follows = entry.offset == end;
        end += u64::from(entry.length);
        follows
    });
    if is_tidy && end == lines.end() {
        return Ok(false);
    }
    write(&index.sources, &sorted, path)?;
    Ok(true)
}

/// Stores joined into one in its form, which has not been written yet.
pub(super) struct Joined {
    sources: Vec<PathBuf>,
    sorted: Vec<Entry>,
    /// Pieces that failed and that no store has done.
    pub(super) failed: usize,
}

impl Joined {
    /// Pieces that are done.
    pub(super) fn done(&self) -> usize {
        self.sorted.len() - self.failed
    }

    /// Writes the store to `into`, which may be one of those that are joined.
    pub(super) fn write(&self, into: &Path) -> Result<(), StoreError> {
        write(&self.sources, &self.sorted, into)
    }
}

/// Joins stores.
///
/// # Errors
/// A store cannot be read, its records do not belong to the others, or two stores say different things of one piece.
pub(super) fn join<R: Record>(
    stores: &[PathBuf],
    belongs: &mut Belongs,
) -> Result<Joined, ClusterError> {
    let mut index = Index::default();
    for path in stores {
        let mut lines = Lines::open(path)?;
        let source = index.source(path);
        while let Some(line) = lines.next()? {
            let sum = crc32fast::hash(line);
            let length = line.len() as u32;
            let record: R = lines.decode()?;
            belongs.check(record.origin(), path, lines.number())?;
            let entry = index.entry(&record, source, lines.end(), length, sum);
            let old = index.entries.get(record.id()).copied();
            if let Some(old) = old.filter(|old| !old.failed && !entry.failed)
                && (old.sum, old.length) != (sum, length)
            {
                return Err(ClusterError::Disagree {
                    one: index.sources[old.source as usize].clone(),
                    other: path.clone(),
                    line: lines.number(),
                    id: record.id().to_string(),
                });
            }
            // No failure is better than another one; the choice must not depend on the order.
            index.put(&record, entry, |old, new| old.rank() <= new.rank());
        }
    }
    let sorted = index.sorted();
    let failed = sorted.iter().filter(|entry| entry.failed).count();
    Ok(Joined {
        sources: index.sources,
        sorted,
        failed,
    })
}

/// A line of a store that is joined.
#[derive(Clone, Copy)]
struct Entry {
    source: u32,
    /// Index into [`Index::groups`].
    group: u32,
    numbers: (u64, u64),
    offset: u64,
    length: u32,
    sum: u32,
    failed: bool,
}

impl Entry {
    fn rank(&self) -> (bool, u32, u32) {
        (self.failed, self.sum, self.length)
    }
}

#[derive(Default)]
struct Index {
    sources: Vec<PathBuf>,
    entries: HashMap<Box<str>, Entry>,
    groups: HashMap<Box<str>, u32>,
}

impl Index {
    fn source(&mut self, path: &Path) -> u32 {
        self.sources.push(path.to_path_buf());
        self.sources.len() as u32 - 1
    }

    fn entry<R: Record>(
        &mut self,
        record: &R,
        source: u32,
        end: u64,
        length: u32,
        sum: u32,
    ) -> Entry {
        let (what, first, second) = record.place();
        let o = record.origin();
        let group = [o.program, o.isa, o.input, o.machine, what].join("\0");
        let next = self.groups.len() as u32;
        let group = *self.groups.entry(group.into()).or_insert(next);
        Entry {
            source,
            group,
            numbers: (first, second),
            offset: end - u64::from(length),
            length,
            sum,
            failed: record.failed(),
        }
    }

    fn put<R: Record>(&mut self, record: &R, new: Entry, keep: impl Fn(&Entry, &Entry) -> bool) {
        match self.entries.entry(record.id().into()) {
            Slot::Vacant(slot) => {
                slot.insert(new);
            }
            Slot::Occupied(mut slot) => {
                if !keep(slot.get(), &new) {
                    slot.insert(new);
                }
            }
        }
    }

    /// All entries in the order of a tidy store.
    fn sorted(&self) -> Vec<Entry> {
        let mut groups: Vec<(&str, u32)> = self.groups.iter().map(|(g, at)| (&**g, *at)).collect();
        groups.sort_unstable();
        let mut ranks = vec![0; groups.len()];
        for (rank, (_, at)) in groups.iter().enumerate() {
            ranks[*at as usize] = rank;
        }
        let mut sorted: Vec<(&Box<str>, &Entry)> = self.entries.iter().collect();
        sorted.sort_unstable_by_key(|(id, e)| (ranks[e.group as usize], e.numbers, *id));
        sorted.into_iter().map(|(_, entry)| *entry).collect()
    }
}

/// Writes lines of stores to a file beside `into`, which then takes its place.
fn write(sources: &[PathBuf], entries: &[Entry], into: &Path) -> Result<(), StoreError> {
    let beside = into.with_extension("new");
    let io = |path: &Path| {
        let path = path.to_path_buf();
        move |source| StoreError::Io { path, source }
    };
    let mut files = Files {
        sources,
        open: sources.iter().map(|_| None).collect(),
        count: 0,
    };
    let file = File::create(&beside).map_err(io(&beside))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut line = Vec::new();
    for entry in entries {
        let path = &sources[entry.source as usize];
        line.resize(entry.length as usize, 0);
        let file = files.get(entry.source as usize).map_err(io(path))?;
        let read = file.read_exact_at(&mut line, entry.offset);
        read.map_err(io(path))?;
        out.write_all(&line).map_err(io(&beside))?;
    }
    let file = out.into_inner().map_err(|e| io(&beside)(e.into_error()))?;
    file.sync_data().map_err(io(&beside))?;
    std::fs::rename(&beside, into).map_err(io(into))
}

/// Open files, not too many at a time.
struct Files<'a> {
    sources: &'a [PathBuf],
    open: Vec<Option<File>>,
    count: usize,
}

impl Files<'_> {
    /// Files that are open at most; a process may usually have 1,024.
    const MOST: usize = 256;

    fn get(&mut self, at: usize) -> std::io::Result<&File> {
        if self.open[at].is_none() {
            if self.count == Self::MOST {
                self.open.fill_with(|| None);
                self.count = 0;
            }
            self.open[at] = Some(File::open(&self.sources[at])?);
            self.count += 1;
        }
        self.open[at]
            .as_ref()
            .ok_or_else(|| std::io::Error::other("no file"))
    }
}
