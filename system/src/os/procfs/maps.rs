//! `/proc/self/maps`: what is mapped, with permissions, and what lies there (Linux `fs/proc/task_mmu.c`).

use std::fmt::Write;
use std::ops::Range;

use hps_isa::layout;
use hps_isa::memory::{Memory, PAGE_SIZE, Perm};

use crate::os::Linux;
use crate::os::paths::GuestPath;
use crate::process::VDSO_NAME;

/// Mapping at a range of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Area {
    /// The file, or a name in brackets; empty for anonymous memory.
    name: Vec<u8>,
    offset: u64,
    is_shared: bool,
}

impl Linux {
    pub(super) fn maps(&self, mem: &Memory) -> String {
        // Ends of areas, behind which another one may begin.
        let mut text = String::new();
        for (range, perm) in mem.mapped_parts() {
            // Handlers of profilers are not the guest's.
            if layout::is_for_handlers(range.start) {
                continue;
            }
            let mut start = range.start;
            while start < range.end {
                let (end, area) = self.area(start, range.end);
                write_line(&mut text, start..end, perm, &area);
                start = end;
            }
        }
        text
    }

    /// Mapping at `start`, and where it ends, at `limit` at the latest.
    fn area(&self, start: u64, limit: u64) -> (u64, Area) {
        let named = |name: &[u8]| Area {
            name: name.to_vec(),
            ..Area::default()
        };
        let page = self.abi.page_bytes();
        let top = self.space.place.stack_top;
        let stack = top - layout::STACK_BYTES;
        let stack = stack - stack % page..top.next_multiple_of(page);
        let heap = self.space.heap.range();
        let heap = heap.start.next_multiple_of(page)..heap.end.next_multiple_of(page);
        let trampoline = layout::TRAMPOLINE..layout::TRAMPOLINE + PAGE_SIZE;
        let data = self.vdso_data();
        // Without a vDSO, the return from signal handlers stands for it.
        let trampoline_name = match data {
            Some(_) => b"[sigpage]",
            None => VDSO_NAME.as_bytes(),
        };
        let fixed = [
            (heap, &b"[heap]"[..]),
            (stack, b"[stack]"),
            (trampoline, trampoline_name),
        ];
        let data = data.map(|at| (at..at + PAGE_SIZE, &b"[vvar]"[..]));
        let mut end = limit;
        for (range, name) in fixed.into_iter().chain(data) {
            if range.contains(&start) {
                return (range.end.min(limit), named(name));
            }
            if range.start > start {
                end = end.min(range.start);
            }
        }
        for (range, offset, file) in self.segments(page) {
            if range.contains(&start) {
                let area = Area {
                    offset: offset + (start - range.start),
                    ..named(file)
                };
                return (range.end.min(limit), area);
            }
            if range.start > start {
                end = end.min(range.start);
            }
        }
        if let Some((part, ())) = self
            .space
            .mappings
            .anonymous
            .within(start..end)
            .into_iter()
            .next()
        {
            if part.start > start {
                end = part.start;
            } else {
                let area = Area {
                    is_shared: true,
                    ..named(b"/dev/zero (deleted)")
                };
                return (part.end, area);
            }
        }
        match self
            .space
            .mappings
            .ranges
            .within(start..end)
            .into_iter()
            .next()
        {
            Some((part, file)) if part.start == start => {
                let area = Area {
                    name: file.name(),
                    offset: file.offset(),
                    is_shared: file.is_shared,
                };
                (part.end, area)
            }
            Some((part, _)) => (part.start, Area::default()),
            None => (end, Area::default()),
        }
    }

    /// Address ranges of the files of the program, of its loader and of the vDSO, in whole pages, with the place in the
    /// file and its path.
    fn segments(&self, page: u64) -> impl Iterator<Item = (Range<u64>, u64, &[u8])> {
        let started = self.program.started.iter();
        let files = started.flat_map(|started| {
            let loaded = started.loaded.iter();
            let loaded = loaded.map(|loaded| (&loaded.image, &loaded.path[..]));
            [(&started.image, &self.program.exe[..])]
                .into_iter()
                .chain(loaded)
        });
        let segments =
            files.flat_map(|(image, path)| image.segments.iter().map(move |s| (s, path)));
        let segments = segments.filter(|(s, _)| !s.file_range.is_empty());
        segments.map(move |(s, path)| {
            let before = s.addr % page;
            let end = s.addr + s.file_range.len() as u64;
            let offset = (s.file_range.start as u64).saturating_sub(before);
            (s.addr - before..end.next_multiple_of(page), offset, path)
        })
    }
}

fn write_line(text: &mut String, range: Range<u64>, perm: Perm, area: &Area) {
    const NAME_COLUMN: usize = 73;
    let letter = |has, letter| if perm.contains(has) { letter } else { '-' };
    let is_file = area.name.first() == Some(&b'/');
    let inode = match is_file {
        true => GuestPath::new(&area.name).inode(),
        false => 0,
    };
    let mut line = format!(
        "{:08x}-{:08x} {}{}{}{} {:08x} 00:{:02x} {inode} ",
        range.start,
        range.end,
        letter(Perm::R, 'r'),
        letter(Perm::W, 'w'),
        letter(Perm::X, 'x'),
        if area.is_shared { 's' } else { 'p' },
        area.offset,
        u8::from(is_file),
    );
    if !area.name.is_empty() {
        let name = String::from_utf8_lossy(&area.name);
        line = format!("{line:<NAME_COLUMN$}{name}");
    }
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{line}");
}
