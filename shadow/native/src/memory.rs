//! Looks at a program's memory for its budget: forks copy what is resident and its own, and split huge pages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::layout::{HUGE_RANGES, Header};
use crate::outcome::PAGE_BYTES;

/// Time between two looks at the program's size.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// Looks at the size for each look at huge pages.
const LOOKS_AT_HUGE: u64 = 50;
/// Pages from which on huge ones are looked for.
const LARGE: u64 = 4096;
/// Bytes of a huge page.
const HUGE: u64 = 2 << 20;

/// Writes the program's private pages into the shared memory until `over` is set.
pub fn watch(header: &Header, over: &AtomicBool) {
    let mut statm: Option<(i32, File)> = None;
    let mut looks = 0;
    while !over.load(Ordering::Acquire) {
        let pid = header.pid.load(Ordering::Relaxed);
        if pid > 0 && statm.as_ref().is_none_or(|(of, _)| *of != pid) {
            let file = File::open(format!("/proc/{pid}/statm")).ok();
            statm = file.map(|file| (pid, file));
        }
        if let Some(pages) = statm.as_ref().and_then(|(_, file)| private_pages(file)) {
            if pages >= LARGE && looks % LOOKS_AT_HUGE == 0 {
                tell_huge_pages(pid, header);
            }
            looks += u64::from(pages >= LARGE);
            header.private_pages.store(pages, Ordering::Release);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Pages that are resident and shared with no file.
fn private_pages(statm: &File) -> Option<u64> {
    let mut text = [0; 256];
    let read = statm.read_at(&mut text, 0).ok()?;
    let words = std::str::from_utf8(text.get(..read)?).ok()?;
    let mut words = words.split_whitespace().skip(1);
    let mut next = || words.next()?.parse::<u64>().ok();
    let (resident, shared) = (next()?, next()?);
    Some(resident.saturating_sub(shared))
}

fn tell_huge_pages(pid: i32, header: &Header) {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default();
    let pagemap = File::open(format!("/proc/{pid}/pagemap")).ok();
    let is_full = |start| pagemap.as_ref().is_some_and(|map| is_present(map, start));
    let (bytes, ranges) = huge_pages(&text, is_full);
    let count = ranges.len().min(HUGE_RANGES);
    header.huge_ranges.store(0, Ordering::Release);
    for (place, range) in header.huge.iter().zip(&ranges) {
        place[0].store(range.0, Ordering::Relaxed);
        place[1].store(range.1, Ordering::Relaxed);
    }
    header.huge_bytes.store(bytes, Ordering::Relaxed);
    header.huge_ranges.store(count as u32, Ordering::Release);
}

/// Whether each page of the huge page at `start` is present, so that putting them together makes no new memory.
fn is_present(pagemap: &File, start: u64) -> bool {
    const PRESENT: u8 = 0x80;
    let mut entries = [0; (HUGE / PAGE_BYTES * 8) as usize];
    let read = pagemap.read_exact_at(&mut entries, start / PAGE_BYTES * 8);
    read.is_ok() && entries.chunks(8).all(|entry| entry[7] & PRESENT != 0)
}

/// Bytes in huge pages, and ranges of full ones in mappings that consist of them for the most part, by the text of
/// `/proc/PID/smaps`.
fn huge_pages(smaps: &str, is_full: impl Fn(u64) -> bool) -> (u64, Vec<(u64, u64)>) {
    let mut all = 0;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let (mut mapping, mut anonymous) = ((0, 0), 0);
    let kilobytes = |rest: &str| -> u64 {
        let number = rest.split_whitespace().next();
        number.and_then(|n| n.parse().ok()).unwrap_or(0) * 1024
    };
    for line in smaps.lines() {
        if let Some(rest) = line.strip_prefix("Anonymous:") {
            anonymous = kilobytes(rest);
        } else if let Some(rest) = line.strip_prefix("AnonHugePages:") {
            let bytes = kilobytes(rest);
            all += bytes;
            if bytes == 0 || bytes < anonymous / 4 * 3 {
                continue;
            }
            let mut start: u64 = u64::next_multiple_of(mapping.0, HUGE);
            while start + HUGE <= mapping.1 {
                if is_full(start) {
                    match ranges.last_mut() {
                        Some(last) if last.1 == start => last.1 += HUGE,
                        _ => ranges.push((start, start + HUGE)),
                    }
                }
                start += HUGE;
            }
        } else if let Some((start, end)) = addresses(line) {
            mapping = (start, end);
        }
    }
    (all, ranges)
}

/// The addresses with which the first line of a mapping begins.
fn addresses(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_huge_pages_of_mappings_of_huge_pages_are_ranges() {
        // 8 MiB of which all is huge but for the ends, the third one not full; and 4 MiB that are small for the most part.
        let text = "\
7f0000100000-7f0000900000 rw-p 00000000 00:00 0\nAnonymous:          6400 kB\nAnonHugePages:      6144 kB\n\
7f0001000000-7f0001400000 rw-p 00000000 00:00 0 [heap]\nAnonymous:          4096 kB\nAnonHugePages:      2048 kB\n";
        let (bytes, ranges) = huge_pages(text, |start| start != 0x7f00_0060_0000);
        assert_eq!(bytes, 8 << 20);
        assert_eq!(ranges, [(0x7f00_0020_0000, 0x7f00_0060_0000)]);
        assert_eq!(huge_pages(text, |_| false).1, []);
    }

    #[test]
    fn memory_of_its_own_is_more_than_nothing() {
        let statm = File::open("/proc/self/statm").expect("a process");
        let before = private_pages(&statm).expect("a number");
        let room = vec![1_u8; 64 << 20];
        let with = private_pages(&statm).expect("a number");
        // Half of it: other tests may give memory back meanwhile.
        assert!(with >= before + 8000, "{before} {with} {}", room.len());
    }
}
