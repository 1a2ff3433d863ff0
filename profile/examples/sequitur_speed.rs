//! Measures the grammar inference and the whole stream analysis on synthetic traces.
//!
//! `cargo run --release -p hps-profile --example sequitur_speed [REFERENCES]`
#![allow(clippy::print_stdout)] // The measurement is what this program is for.

use std::process::ExitCode;
use std::time::Instant;

use hps_profile::{HotStreamAnalyzer, Sequitur, StreamConfig, StreamConfigError};

/// A linear congruential generator with the constants of Knuth's MMIX.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Loops over whole arrays: highly repetitive.
fn loops(references: usize) -> Vec<u64> {
    let mut random = Random(1);
    let mut trace = Vec::with_capacity(references);
    while trace.len() < references {
        let (array, words) = (random.below(16), 64 + random.below(8) * 32);
        for _ in 0..1 + random.below(6) {
            trace.extend((0..words).map(|word| ((array + 1) << 20) | (word * 8)));
        }
    }
    trace.truncate(references);
    trace
}

/// Loops over arrays with, after each element, at even odds, a reference to a random word of
/// 512 KiB: what pointer-rich programs do.
fn mixed(references: usize) -> Vec<u64> {
    let mut random = Random(2);
    let mut trace = Vec::with_capacity(references);
    for address in loops(references) {
        trace.push(address);
        if random.below(2) == 0 {
            trace.push((1 << 40) | (random.below(1 << 16) * 8));
        }
    }
    trace.truncate(references);
    trace
}

/// Random words of 8 MiB: nothing to find, the worst case for memory.
fn noise(references: usize) -> Vec<u64> {
    let mut random = Random(3);
    (0..references).map(|_| random.below(1 << 20) * 8).collect()
}

/// The best of this many passes is reported, which is the one least disturbed by other work.
const PASSES: usize = 3;

fn best_seconds<T>(mut pass: impl FnMut() -> T) -> (f64, T) {
    let mut timed = || {
        let start = Instant::now();
        let result = pass();
        (start.elapsed().as_secs_f64(), result)
    };
    let mut best = timed();
    for _ in 1..PASSES {
        let next = timed();
        if next.0 < best.0 {
            best = next;
        }
    }
    best
}

fn measure(name: &str, trace: &[u64]) -> Result<(), StreamConfigError> {
    let (seconds, sequitur) = best_seconds(|| {
        let mut sequitur = Sequitur::new();
        trace.iter().for_each(|&address| sequitur.push(address));
        sequitur
    });
    let (all_seconds, result) = best_seconds(|| {
        let mut analyzer = HotStreamAnalyzer::new(StreamConfig::default())?;
        trace.iter().for_each(|&address| analyzer.push(address));
        Ok(analyzer.finish())
    });
    let result = result?;

    println!(
        "{name:8} {:6.2} M symbols/s, {} live symbols in {} rules, {:.1} bytes per live symbol; \
         whole analysis {:6.2} M references/s, {} segments, {} hot streams, coverage {:.3}",
        trace.len() as f64 / seconds / 1e6,
        sequitur.symbols(),
        sequitur.rules(),
        sequitur.memory_bytes() as f64 / sequitur.symbols() as f64,
        trace.len() as f64 / all_seconds / 1e6,
        result.summary.segments,
        result.profile.len(),
        result.summary.coverage,
    );
    Ok(())
}

fn main() -> ExitCode {
    let references = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 10_000_000,
        Some(Ok(references)) => references,
        Some(Err(error)) => {
            eprintln!("the number of references: {error}; give a whole number such as 10000000");
            return ExitCode::FAILURE;
        }
    };
    for (name, trace) in [
        ("loops", loops as fn(usize) -> Vec<u64>),
        ("mixed", mixed),
        ("noise", noise),
    ] {
        if let Err(error) = measure(name, &trace(references)) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
