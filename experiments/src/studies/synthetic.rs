//! A program whose outer loop has a known number of events, to show what a fixed period does.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use hps_isa::asm::OperandHook;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::{Output, Stdin};
use hps_system::process::ProcessConfig;

use hps_lab::Program;

/// Events in one iteration of the outer loop of each program: one number that many periods share
/// factors with, and a prime.
pub const LENGTHS: [u64; 2] = [100, 127];

/// Iterations of the outer loop. `lui` and `addi` build it without a carry.
pub const ITERATIONS: u64 = 4000;

/// Back-edges in each method's loop, with an iteration of 100 events; a longer one has more in the
/// first.
const TURNS: [u64; 8] = [30, 20, 15, 10, 7, 5, 3, 1];

/// Events by method in one iteration, in the order of their events: each method's call and
/// back-edges, then the outer loop's back-edge.
#[must_use]
pub fn events(length: u64) -> Vec<u64> {
    let mut events: Vec<u64> = TURNS.iter().map(|turns| 1 + turns).collect();
    events[0] += length.saturating_sub(1 + events.iter().sum::<u64>());
    events.push(1);
    events
}

/// The program of each length.
///
/// # Errors
/// A defect of its text.
pub fn programs() -> Result<&'static [Program], String> {
    static PROGRAMS: OnceLock<Result<Vec<Program>, String>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| LENGTHS.into_iter().map(program).collect());
    programs.as_deref().map_err(Clone::clone)
}

fn program(length: u64) -> Result<Program, String> {
    let name = format!("loop{length}");
    let bytes = executable(&assemble(&text(length))?);
    let image = ProgramImage::parse(&bytes, &name).map_err(|e| e.to_string())?;
    Ok(Program {
        image: Arc::new(image),
        input: format!("{ITERATIONS} iterations"),
        process: ProcessConfig {
            args: vec![name.clone()],
            stdin: Stdin::Empty,
            stdout: Output::Capture,
            ..ProcessConfig::default()
        },
        name,
        expected: None,
        region: None,
        root_contents: None,
        is_interpreted: false,
    })
}

/// The outer loop calls every method once; each method is a loop without a body.
fn text(length: u64) -> String {
    let turns: Vec<u64> = events(length)[..TURNS.len()]
        .iter()
        .map(|n| n - 1)
        .collect();
    let mut text = format!(
        "lui s2, 1\naddi s2, s2, {}\nouter:\n",
        ITERATIONS as i64 - 4096
    );
    for method in 0..turns.len() {
        text += &format!("jal ra, method{method}\n");
    }
    text += "addi s2, s2, -1\nbgtz s2, outer\naddi a0, zero, 0\naddi a7, zero, 93\necall\n";
    for (method, turns) in turns.iter().enumerate() {
        text += &format!(
            "method{method}:\naddi t0, zero, {turns}\nloop{method}:\naddi t0, t0, -1\nbgtz t0, loop{method}\nret\n"
        );
    }
    text
}

struct Labels(HashMap<String, u64>);

impl OperandHook for Labels {
    fn register(&self, _: &str) -> Option<u8> {
        None
    }
    fn immediate(&self, token: &str) -> Option<i64> {
        self.0.get(token).map(|&address| address as i64)
    }
}

const BASE: u64 = 0x10000;
/// Bytes of the headers of the file and of one segment.
const HEADERS: u64 = 64 + 56;
/// The first instruction.
const ENTRY: u64 = BASE + HEADERS;

fn assemble(text: &str) -> Result<Vec<u32>, String> {
    let mut labels = Labels(HashMap::new());
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.strip_suffix(':') {
            Some(label) => {
                let address = ENTRY + 4 * lines.len() as u64;
                labels.0.insert(label.to_string(), address);
            }
            None => lines.push(line),
        }
    }
    let isa = Isa::Riscv64;
    let encoded = |(at, line): (usize, &&str)| {
        let inst = isa
            .assemble(line, ENTRY + 4 * at as u64, &labels)
            .map_err(|e| format!("{line}: {e}"))?;
        isa.encode(&inst)
            .ok_or_else(|| format!("{line} has no encoding"))
    };
    lines.iter().enumerate().map(encoded).collect()
}

/// A static executable of one segment, without symbols.
fn executable(code: &[u32]) -> Vec<u8> {
    let size = HEADERS + 4 * code.len() as u64;
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1];
    bytes.resize(16, 0);
    for value in [2_u16, 243] {
        bytes.extend(value.to_le_bytes()); // an executable for RISC-V
    }
    bytes.extend(1_u32.to_le_bytes());
    for value in [ENTRY, 64, 0] {
        bytes.extend(u64::to_le_bytes(value)); // entry, program headers, no sections
    }
    bytes.extend(4_u32.to_le_bytes()); // double floats
    for value in [64_u16, 56, 1, 64, 0, 0] {
        bytes.extend(value.to_le_bytes());
    }
    for value in [1_u32, 5] {
        bytes.extend(value.to_le_bytes()); // loaded, readable and executable
    }
    for value in [0, BASE, BASE, size, size, 0x1000] {
        bytes.extend(u64::to_le_bytes(value));
    }
    for instruction in code {
        bytes.extend(instruction.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::common::functional;
    use super::super::stream::{EventStream, exhaustive};
    use super::*;

    #[test]
    fn iterations_have_the_events_that_they_should() {
        for (length, program) in LENGTHS.into_iter().zip(programs().expect("assembled")) {
            assert_eq!(events(length).iter().sum::<u64>(), length);
            let mut stream = EventStream::<false>::new(Vec::new());
            stream.add(exhaustive(), None).expect("added");
            let passed = functional(program, u64::MAX, stream)
                .expect("runs")
                .0
                .finish();
            assert_eq!(passed.end.events, ITERATIONS * length);
            let methods = passed.method_map(&program.image.symbols);
            let profile = passed
                .addresses(&passed.end.sampled[0])
                .methods(|a| methods.entry(a));
            let mut counts: Vec<u64> = profile
                .iter()
                .map(|(_, count)| count / ITERATIONS)
                .collect();
            let mut expected = events(length);
            counts.sort_unstable();
            expected.sort_unstable();
            assert_eq!(counts, expected);
        }
    }
}
