//! Litmus tests on the simulator: one guest program runs many of them, each in many rounds.
//!
//! A round has locations of its own, which are 0 before. The threads meet, wait for a few random turns of a loop, run
//! the test, and keep their registers in memory. The host reads what is left when the program has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use hps_isa::asm::program::assemble;
use hps_isa::random::Random;
use hps_lab::Lab;
use hps_pipeline::config::MachineConfig;
use hps_sim_core::machine::Stop;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::ThreadRules;
use hps_system::process::{Process, ProcessConfig};

use super::program::{Outcome, Test, registers};

/// Rounds of each test.
pub const ROUNDS: usize = 64;

/// From one location to the next, in bytes: in lines of their own, or all in one line.
const SPREADS: [usize; 2] = [128, 8];

/// Bytes of the locations of a round.
const BLOCK: usize = 512;

/// Of the locations of a round, where a line is that nothing else touches.
const COLD: usize = 448;

/// Machine that runs a program.
pub enum Runner<'a> {
    Machine(&'a MachineConfig),
    /// The functional machine: its threads take turns of about so many instructions, drawn with the seed.
    Functional {
        slice: u64,
        seed: u64,
    },
}

/// A guest program with some tests, all of the same number of threads.
pub struct Guest<'a> {
    tests: &'a [Test],
    image: Arc<ProgramImage>,
    spreads: Vec<usize>,
    names: BTreeMap<String, i64>,
}

impl<'a> Guest<'a> {
    pub fn of(tests: &'a [Test], random: &mut Random) -> Guest<'a> {
        let spreads: Vec<usize> = tests
            .iter()
            .map(|_| SPREADS[random.below(3) as usize % 2])
            .collect();
        let threads = tests[0].threads.len();
        let mut text = String::from("_start:\n");
        for thread in 1..threads {
            // clone, with memory, files and signals shared.
            let _ = write!(
                text,
                "li a0, 0x50f00\nla a1, stack_{thread}\nli a2, 0\nli a3, 0\nli a4, 0\nli a7, 220\necall\n\
                 bnez a0, parent_{thread}\nj thread_{thread}\nparent_{thread}:\n"
            );
        }
        for thread in 0..threads {
            thread_text(thread, tests, &spreads, random, &mut text);
        }
        text += ".data\n.balign 64\nmet: .dword 0\n.zero 248\n";
        for thread in 1..threads {
            let _ = write!(text, ".zero 248\nstack_{thread}: .dword 0\n");
        }
        for at in 0..tests.len() {
            let _ = write!(
                text,
                ".balign 128\nplace_{at}: .zero {}\nleft_{at}: .zero {}\n",
                BLOCK * ROUNDS,
                8 * threads * ROUNDS
            );
        }
        let assembled = assemble(Isa::Riscv64, &text).unwrap_or_else(|e| panic!("{e}"));
        let image =
            ProgramImage::parse(&assembled.file, "litmus").unwrap_or_else(|e| panic!("{e}"));
        Guest {
            tests,
            image: Arc::new(image),
            spreads,
            names: assembled.names,
        }
    }

    /// The outcomes of each test that were seen.
    pub fn run(&self, runner: &Runner<'_>) -> Vec<BTreeSet<Outcome>> {
        let lab = Lab::image(Arc::clone(&self.image));
        let (stop, process) = match *runner {
            Runner::Machine(machine) => {
                let ran = lab.on_machine(machine).run().expect("a run");
                (ran.stop, ran.process)
            }
            Runner::Functional { slice, seed } => {
                let threads = ThreadRules {
                    slice_ns: slice,
                    seed: Some(seed),
                    ..ThreadRules::default()
                };
                let config = ProcessConfig {
                    threads,
                    ..ProcessConfig::default()
                };
                let ran = lab.configured(config).run().expect("a run");
                (ran.stop, ran.process)
            }
        };
        assert_eq!(stop, Stop::Exit(0));
        let outcomes = |test| {
            let process = &process;
            (0..ROUNDS).map(move |round| self.outcome(process, test, round))
        };
        (0..self.tests.len())
            .map(|test| outcomes(test).collect())
            .collect()
    }

    fn outcome(&self, process: &Process, at: usize, round: usize) -> Outcome {
        let test = &self.tests[at];
        let read = |name: &str, offset: usize| {
            let address = self.names[&format!("{name}_{at}")] as u64 + offset as u64;
            process
                .guest
                .mem
                .read::<8>(address)
                .expect("data of the program")
        };
        let mut outcome = Vec::new();
        for (thread, steps) in test.threads.iter().enumerate() {
            let word = read("left", 8 * (thread * ROUNDS + round));
            outcome.extend(&word.to_le_bytes()[..registers(steps)]);
        }
        for location in 0..test.locations {
            outcome.push(read("place", round * BLOCK + location * self.spreads[at]) as u8);
        }
        outcome
    }
}

/// The whole of a thread: `s2` and the next ones are the addresses of locations, `s6` where registers are kept, `s7`
/// random, `s8` the number of threads that have come to meet, `s9` how many must have, `s10` rounds that are left.
fn thread_text(
    thread: usize,
    tests: &[Test],
    spreads: &[usize],
    random: &mut Random,
    text: &mut String,
) {
    let threads = tests[0].threads.len();
    let _ = write!(
        text,
        "thread_{thread}:\nla s8, met\nli s9, 0\nli s7, {}\nli s11, 1103515245\n",
        random.below(1 << 31)
    );
    let meet = |name: &str| {
        format!(
            "addi s9, s9, {threads}\nli t0, 1\nfence rw, rw\namoadd.d t1, t0, (s8)\n\
             {name}: ld t0, 0(s8)\nblt t0, s9, {name}\n"
        )
    };
    for (at, test) in tests.iter().enumerate() {
        let _ = write!(
            text,
            "la s2, place_{at}\nla s6, left_{at}\nli t0, {}\nadd s6, s6, t0\nli s10, {ROUNDS}\n",
            8 * thread * ROUNDS
        );
        for location in 1..test.locations {
            let _ = writeln!(
                text,
                "addi s{}, s2, {}",
                location + 2,
                location * spreads[at]
            );
        }
        let round = format!("t{thread}_{at}");
        let _ = write!(
            text,
            "{round}: mul s7, s7, s11\naddi s7, s7, 1\nsrli t2, s7, 24\n"
        );
        // Lines that the thread has, or has not, when the test begins.
        for location in 0..test.locations {
            let _ = write!(
                text,
                "srli t1, t2, {}\nandi t1, t1, 1\nbeqz t1, {round}_{location}\nld t1, 0(s{})\n{round}_{location}:\n",
                10 + location,
                location + 2
            );
        }
        *text += &meet(&format!("{round}_meet"));
        // A load that misses keeps stores from committing, and loads behind them not from reading.
        let _ = write!(
            text,
            "srli t1, t2, 20\nandi t1, t1, 3\nbeqz t1, {round}_warm\nld t1, {COLD}(s2)\n{round}_warm:\n"
        );
        let _ = write!(
            text,
            "andi t2, t2, {}\n{round}_wait: addi t2, t2, -1\nbgez t2, {round}_wait\n",
            [3, 31, 127][random.below(3) as usize]
        );
        for line in test.assembly(thread).lines() {
            match line.strip_suffix(".+4") {
                Some(branch) => {
                    let label = format!("{round}_{}", text.len());
                    let _ = write!(text, "{branch}{label}\n{label}:\n");
                }
                None => {
                    let _ = writeln!(text, "{line}");
                }
            }
        }
        *text += "mv t0, zero\n";
        for register in (0..registers(&test.threads[thread])).rev() {
            let _ = write!(text, "slli t0, t0, 8\nadd t0, t0, a{register}\n");
        }
        *text += "sd t0, 0(s6)\naddi s6, s6, 8\n";
        for location in 0..test.locations {
            let _ = writeln!(text, "addi s{0}, s{0}, {BLOCK}", location + 2);
        }
        let _ = write!(text, "addi s10, s10, -1\nbnez s10, {round}\n");
    }
    *text += &meet(&format!("end_{thread}"));
    let call = if thread == 0 { 94 } else { 93 };
    let _ = write!(text, "li a0, 0\nli a7, {call}\necall\n");
}
