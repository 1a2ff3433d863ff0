//! Events that a processor counts natively, beside those of the simulated machine.

use std::fmt::Write as _;

use hps_lab::{Lab, Timing};
use hps_pipeline::config::MachineConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Simulated, ValidationError};

/// An event by the name that perf has for it, and its count in the simulation.
pub struct CounterEvent {
    /// Name of perf's event.
    pub name: &'static str,
    simulated: fn(&Timing) -> u64,
}

const fn event(name: &'static str, simulated: fn(&Timing) -> u64) -> CounterEvent {
    CounterEvent { name, simulated }
}

/// The events that are compared. The last level of caches is the third one, of a machine without it the second.
pub const EVENTS: [CounterEvent; 9] = [
    event("instructions", |t| t.core.commit_program_instructions),
    event("cycles", |t| t.core.cycles),
    event("branches", |t| t.core.branch_committed_events),
    event("branch-misses", |t| t.core.branch_mispredicted_events),
    event("L1-icache-load-misses", |t| t.memory.l1i.read_miss_events),
    event("L1-dcache-load-misses", |t| t.memory.l1d.read_miss_events),
    event("LLC-load-misses", |t| {
        match t.memory.l3.read_access_events {
            0 => t.memory.l2.read_miss_events,
            _ => t.memory.l3.read_miss_events,
        }
    }),
    event("iTLB-load-misses", |t| t.memory.itlb.miss_events),
    event("dTLB-load-misses", |t| t.memory.dtlb.miss_events),
];

/// Counts of an event in several native runs, user mode alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NativeCount {
    /// The smallest count.
    pub least: u64,
    /// The median.
    pub median: u64,
    /// The largest count.
    pub most: u64,
}

impl NativeCount {
    /// Of the counts of runs; `None` without any.
    #[must_use]
    pub fn of(mut counts: Vec<u64>) -> Option<NativeCount> {
        counts.sort_unstable();
        Some(NativeCount {
            least: *counts.first()?,
            median: counts[counts.len() / 2],
            most: *counts.last()?,
        })
    }
}

/// An event on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedEvent {
    /// Name of the event, as perf has it.
    pub event: String,
    /// Native counts of the event; null if the processor or its kernel does not count it.
    pub native: Option<NativeCount>,
    /// Why it is not counted natively; null if it is.
    pub missing: Option<String>,
    /// Count of the event in the simulation.
    pub simulated: u64,
}

/// A program whose events were counted on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedProgram {
    /// Name of the program.
    pub program: String,
    /// SHA-256 of the native executable.
    pub native_hash: String,
    /// SHA-256 of the simulated executable.
    pub simulated_hash: String,
    /// Instruction set of the simulated form.
    pub isa: String,
    /// Whether both sides execute the same file, so that instructions must agree.
    pub same_file: bool,
    /// Whether both printed the same.
    pub same_output: bool,
    /// Native runs for each event.
    pub runs: usize,
    /// The events, in the order of perf's list.
    pub events: Vec<CountedEvent>,
}

/// Native counts of a program, each event or why not, in the order of [`EVENTS`], and its output.
pub struct NativelyCounted {
    /// SHA-256 of the executable.
    pub hash: String,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Runs for each event.
    pub runs: usize,
    /// Counts of each event.
    pub counts: Vec<Result<NativeCount, String>>,
}

/// Runs the simulated form of a program on a machine by the cycle-driven core, and sets its events beside the native ones.
///
/// # Errors
/// The simulated form cannot be run, or does not end well.
pub fn count(
    program: &str,
    native: NativelyCounted,
    simulated: &Simulated,
    simulated_hash: String,
    machine: &MachineConfig,
) -> Result<CountedProgram, ValidationError> {
    let image = &simulated.image;
    let lab = Lab::image(image.clone()).configured(simulated.process.clone());
    let ran = lab.on_machine(machine).run()?;
    ValidationError::unless_ended_well(ran.stop, &ran.process)?;
    let events = EVENTS.iter().zip(native.counts).map(|(event, counted)| {
        let (native, missing) = match counted {
            Ok(count) => (Some(count), None),
            Err(why) => (None, Some(why)),
        };
        CountedEvent {
            event: event.name.to_string(),
            native,
            missing,
            simulated: (event.simulated)(&ran.timing),
        }
    });
    Ok(CountedProgram {
        program: program.to_string(),
        isa: image.isa.name().to_string(),
        same_file: native.hash == simulated_hash,
        native_hash: native.hash,
        simulated_hash,
        same_output: native.stdout == ran.stdout(),
        runs: native.runs,
        events: events.collect(),
    })
}

impl CountedProgram {
    /// The counts of an event.
    #[must_use]
    pub fn event(&self, name: &str) -> Option<&CountedEvent> {
        self.events.iter().find(|e| e.event == name)
    }

    /// Verdict in one line: what agrees.
    #[must_use]
    pub fn verdict(&self) -> String {
        let mut text = match self.same_output {
            true => "same output".to_string(),
            false => "DIFFERENT output".to_string(),
        };
        let counted = self.events.iter().filter(|e| e.native.is_some()).count();
        let instructions = self.event("instructions");
        let native = instructions.and_then(|e| Some((e.native.as_ref()?.median, e.simulated)));
        match native {
            Some((native, simulated)) => {
                let difference = 100.0 * (native as f64 / simulated as f64 - 1.0);
                let _ = write!(
                    text,
                    "; {native} instructions natively, {simulated} simulated"
                );
                if self.same_file {
                    let _ = write!(text, " of the same file ({difference:+.4}%)");
                }
            }
            None => text += "; no instructions are counted natively",
        }
        let _ = write!(text, "; {counted} of {} events counted", self.events.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(native: Option<u64>, same_file: bool) -> CountedProgram {
        let counted = |event: &str, native: Option<u64>, simulated| CountedEvent {
            event: event.to_string(),
            native: native.and_then(|n| NativeCount::of(vec![n])),
            missing: native.is_none().then(|| "no such event".to_string()),
            simulated,
        };
        CountedProgram {
            program: "p".to_string(),
            native_hash: String::new(),
            simulated_hash: String::new(),
            isa: "riscv64".to_string(),
            same_file,
            same_output: true,
            runs: 1,
            events: vec![
                counted("instructions", native, 1_000_000),
                counted("cycles", None, 500_000),
            ],
        }
    }

    #[test]
    fn medians_stand_between_the_least_and_the_most() {
        let count = NativeCount::of(vec![9, 1, 5]).unwrap();
        assert_eq!((count.least, count.median, count.most), (1, 5, 9));
        assert_eq!(NativeCount::of(Vec::new()), None);
    }

    #[test]
    fn instructions_are_held_against_each_other_where_the_file_is_one() {
        assert_eq!(
            program(Some(1_000_100), true).verdict(),
            "same output; 1000100 instructions natively, 1000000 simulated of the same file (+0.0100%); 1 of 2 events counted"
        );
        assert_eq!(
            program(Some(900_000), false).verdict(),
            "same output; 900000 instructions natively, 1000000 simulated; 1 of 2 events counted"
        );
        assert_eq!(
            program(None, false).verdict(),
            "same output; no instructions are counted natively; 0 of 2 events counted"
        );
    }

    #[test]
    fn each_event_has_a_name_of_its_own() {
        for (at, event) in EVENTS.iter().enumerate() {
            let others = EVENTS.iter().filter(|other| other.name == event.name);
            assert_eq!(others.count(), 1, "{at}: {}", event.name);
        }
    }
}
