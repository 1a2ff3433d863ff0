//! Measures what a duplicate of a memory costs the host: time of the processor for each, and memory for ten that live.
//!
//! `cargo run --release -p hps-sim-core --example duplicates`. Between two duplicates the original writes to some of its
//! pages, and each duplicate to as many of its own. The same is done with copies that have pages of their own at once, and
//! with one copy that follows the original, as that of a shadow does ([`Memory::copy_pages`]).

// It prints what it measures.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::read_to_string;

use hps_isa::bus::Bus;
use hps_isa::memory::{Memory, PAGE_SIZE, Perm};

const AT: u64 = 0x10_0000;
const LIVE: usize = 10;

/// How a copy is made.
type Copying = fn(&mut Memory) -> Result<Memory, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let ways: [(&str, Copying); 2] = [
        ("duplicate", |source| Ok(source.duplicate()?)),
        ("copy", copy),
    ];
    println!("pages  written  way        first us  later us  10 live KiB");
    for pages in [16, 64, 256, 1000, 4000, 16_000] {
        for share in [100, 10, 2, 1] {
            let written = (pages / share).max(1);
            for (name, way) in ways {
                let rounds = (200_000 / pages).clamp(10, 400);
                let first = first_times(rounds.min(40), pages, written, way)?;
                let mut often = source(pages)?;
                times(2, &mut often, written, way)?;
                let later = times(rounds, &mut often, written, way)?;
                let memory = memory_of_live(pages, written, way)?;
                println!("{pages:5}  {written:7}  {name:9}  {first:8.0}  {later:8.0}  {memory:11}");
            }
            let rounds = (200_000 / pages).clamp(10, 400);
            let later = follow_times(rounds, pages, written)?;
            println!("{pages:5}  {written:7}  follow               {later:8.0}");
        }
    }
    Ok(())
}

/// A memory with this many pages, all written.
fn source(pages: u64) -> Result<Memory, Box<dyn Error>> {
    let mut memory = Memory::new(1 << 30)?;
    memory.map(AT, pages * PAGE_SIZE, Perm::RW)?;
    write(&mut memory, pages, pages, 1);
    Ok(memory)
}

/// Writes to pages that lie apart.
fn write(memory: &mut Memory, pages: u64, written: u64, value: u64) {
    for number in 0..written {
        let page = number * pages / written;
        let stored = memory.store::<8>(AT + page * PAGE_SIZE, value);
        assert!(stored.is_ok(), "the page is mapped");
    }
}

/// A copy with pages of its own.
fn copy(source: &mut Memory) -> Result<Memory, Box<dyn Error>> {
    let mut copy = Memory::new(source.limit_bytes())?;
    for (range, perm) in source.mapped_parts() {
        let len = range.end - range.start;
        copy.map(range.start, len, perm)?;
        for page in range.step_by(PAGE_SIZE as usize) {
            if source.is_written(page) {
                let content = source.readable(page, PAGE_SIZE);
                let copied = content.and_then(|content| copy.write_bytes(page, content));
                assert!(copied.is_ok(), "the page is mapped");
            }
        }
    }
    Ok(copy)
}

/// Microseconds of the processor for the first copy of a memory, in the mean of several memories.
fn first_times(
    memories: u64,
    pages: u64,
    written: u64,
    way: Copying,
) -> Result<f64, Box<dyn Error>> {
    let mut sources = Vec::new();
    for _ in 0..memories {
        sources.push(source(pages)?);
    }
    let before = processor_ns()?;
    for source in &mut sources {
        let mut copy = way(source)?;
        write(source, pages, written, 2);
        write(&mut copy, pages, written, 2);
    }
    Ok((processor_ns()? - before) as f64 / 1000.0 / memories as f64)
}

/// Microseconds of the processor for a copy, for what both write then, and for the end of the copy.
fn times(
    rounds: u64,
    source: &mut Memory,
    written: u64,
    way: Copying,
) -> Result<f64, Box<dyn Error>> {
    let pages = source.resident_bytes() / PAGE_SIZE;
    let before = processor_ns()?;
    for round in 0..rounds {
        let mut copy = way(source)?;
        write(source, pages, written, round);
        write(&mut copy, pages, written, round);
    }
    Ok((processor_ns()? - before) as f64 / 1000.0 / rounds as f64)
}

/// Microseconds of the processor for what both write, and for making the copy equal to the original again.
fn follow_times(rounds: u64, pages: u64, written: u64) -> Result<f64, Box<dyn Error>> {
    let mut source = source(pages)?;
    let mut copy = copy(&mut source)?;
    source.clear_dirty();
    copy.clear_dirty();
    let before = processor_ns()?;
    for round in 0..rounds {
        write(&mut source, pages, written, round);
        write(&mut copy, pages, written, round);
        let mut changed: Vec<u64> = source.dirty_pages().chain(copy.dirty_pages()).collect();
        changed.sort_unstable();
        changed.dedup();
        source.clear_dirty();
        copy.copy_pages(&source, &changed)?;
    }
    Ok((processor_ns()? - before) as f64 / 1000.0 / rounds as f64)
}

/// Host memory of an original and ten copies that live at the same time, in KiB.
fn memory_of_live(pages: u64, written: u64, way: Copying) -> Result<u64, Box<dyn Error>> {
    let before = resident_kib()?;
    let mut source = source(pages)?;
    let mut live = Vec::new();
    for round in 0..LIVE as u64 {
        let mut copy = way(&mut source)?;
        write(&mut source, pages, written, round);
        write(&mut copy, pages, written, round);
        live.push(copy);
    }
    Ok(resident_kib()?.saturating_sub(before))
}

/// Time of this thread on a processor (proc(5)).
fn processor_ns() -> Result<u64, Box<dyn Error>> {
    let text = read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or("0").parse()?)
}

/// Memory of this process, what it maps several times counted once (proc(5)).
fn resident_kib() -> Result<u64, Box<dyn Error>> {
    let text = read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find(|line| line.starts_with("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(number.unwrap_or("0").parse()?)
}
