//! `hps validate --counters`: what a processor counts of a program, beside what the simulated machine counts; records of
//! several machines side by side.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use hps_experiments::validation::{
    self, CountedEvent, CountedProgram, EVENTS, NativeCount, NativelyCounted,
};
use hps_pipeline::config::MachineConfig;
use hps_shim::ShimError;
use hps_shim::counters::{Event, PerfEvent, Target};
use hps_shim::machine::Machine;
use hps_shim::spawn::{Start, Waiting};
use hps_workloads::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::native::NativeProgram;
use super::{Subject, ValidateArgs};
use crate::cli::groups::Part;
use crate::document::{Described, Format};
use crate::text::{self, Align, Table, grouped, wrapped};

/// Columns of a line of text.
const WIDTH: usize = 100;

/// Format of counts and of records.
pub const FORMAT: Format = Format::new("hps-counters", 1);

/// Events of programs, counted by a processor and by a simulated machine. Records of machines are such documents.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CountersDocument {
    /// Version of the lab.
    version: String,
    /// The host.
    host: Host,
    /// Name of the simulated machine.
    machine_name: String,
    /// The simulated machine in Rusty Object Notation, without its name.
    machine: String,
    /// The programs.
    programs: Vec<CountedProgram>,
}

/// The host that counted natively.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Host {
    /// Name of the processor.
    processor: String,
    /// Architecture of the processor, as Rust names it.
    architecture: String,
    /// Release of the kernel.
    kernel: String,
    /// Whether a hypervisor runs below, as the processor says.
    virtualized: bool,
}

impl Host {
    fn find() -> Result<Host, ShimError> {
        let machine = Machine::find()?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Host {
            processor: machine.processor,
            architecture: std::env::consts::ARCH.to_owned(),
            kernel: kernel.trim().to_owned(),
            virtualized: machine.virtualized,
        })
    }

    /// Small letters, digits and hyphens: the name of its record.
    fn file_name(&self) -> String {
        let name = format!("{}-{}", self.processor, self.architecture);
        let words = name.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        format!("{}.json", words.join("-"))
    }
}

/// Counts the events of programs on both sides.
pub fn run(args: &ValidateArgs) -> anyhow::Result<u8> {
    let machine = MachineConfig::load(&args.machine)?;
    let mut programs = Vec::new();
    super::for_each_subject(args, false, |subject| {
        programs.push(counted(subject, args, &machine)?);
        Ok(())
    })?;
    let document = CountersDocument {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: Host::find()?,
        machine_name: machine.name.clone(),
        machine: machine.fingerprint(),
        programs,
    };
    args.json.print_text(&told(&document))?;
    if let Some(folder) = &args.record {
        let said = || format!("{}: the record cannot be written there", folder.display());
        fs::create_dir_all(folder).with_context(said)?;
        let file = folder.join(document.host.file_name());
        let json = serde_json::to_string_pretty(&FORMAT.of(&document))?;
        let part = Part::new(&file).with_context(said)?;
        part.finish(&(json + "\n")).with_context(said)?;
        say!("record  {}", file.display());
    }
    args.json.write(&FORMAT.of(&document))?;
    Ok(u8::from(document.programs.iter().any(|p| !p.same_output)))
}

fn counted(
    subject: &Subject,
    args: &ValidateArgs,
    machine: &MachineConfig,
) -> anyhow::Result<CountedProgram> {
    ensure!(
        args.runs > 0,
        "--runs 0 counts nothing: give a number of runs"
    );
    let native = subject.native.counted(args.runs)?;
    Ok(validation::count(
        &subject.name,
        native,
        &subject.simulated,
        sha256_hex(&subject.simulated_file),
        machine,
    )?)
}

impl NativeProgram {
    /// Counts each event in runs of its own, so that no two share a counter.
    fn counted(&self, runs: usize) -> anyhow::Result<NativelyCounted> {
        let executable = fs::read(&self.executable)
            .with_context(|| format!("{}: cannot be read", self.executable.display()))?;
        let output = (self.command(None)?)
            .stdout(Stdio::piped())
            .output()
            .with_context(|| self.not_started())?;
        self.ended_well(output.status)?;
        let counts = EVENTS.iter().map(|event| self.count(event.name, runs));
        Ok(NativelyCounted {
            hash: sha256_hex(&executable),
            stdout: output.stdout,
            runs,
            counts: counts.collect::<anyhow::Result<_>>()?,
        })
    }

    /// Counts of an event from the program's first instruction to its last one; or why they are not to be had.
    fn count(&self, name: &str, runs: usize) -> anyhow::Result<Result<NativeCount, String>> {
        let event: Event = format!("{name}:u").parse()?;
        let mut counts = Vec::new();
        for _ in 0..runs {
            let waiting = Waiting::new(&self.quiet()?)?;
            let mut counter = match PerfEvent::open(&event, Target::Program(waiting.pid())) {
                Ok(counter) => counter,
                Err(error) => {
                    waiting.cancel();
                    return Ok(Err(error.to_string()));
                }
            };
            let status = waiting.go()?.wait()?;
            self.ended_well(status)?;
            match counter.read_by_call() {
                Ok(count) => counts.push(count),
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        Ok(NativeCount::of(counts).ok_or_else(|| "there were no runs".to_owned()))
    }

    /// The program, whose output goes nowhere.
    fn quiet(&self) -> anyhow::Result<Start> {
        let executable = std::path::absolute(&self.executable)?;
        let nothing = || Path::new("/dev/null").to_path_buf();
        let words = std::iter::once(executable.into_os_string());
        let environment = self.env.iter().map(|(k, v)| (k.into(), v.into()));
        Ok(Start {
            command: words.chain(self.args.iter().map(Into::into)).collect(),
            environment: environment.collect(),
            folder: self.folder.clone(),
            input: Some(self.stdin.clone().unwrap_or_else(nothing)),
            silent: true,
            ..Start::default()
        })
    }
}

/// Shows the records of a folder.
pub fn records(folder: &Path) -> anyhow::Result<u8> {
    let said = || format!("{}: no folder of records", folder.display());
    let entries = fs::read_dir(folder).with_context(said)?;
    let files: Result<Vec<_>, _> = entries.map(|entry| entry.map(|e| e.path())).collect();
    let mut files = files.with_context(said)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "json"));
    files.sort();
    ensure!(
        !files.is_empty(),
        "{}: there are no records (*.json); `hps validate --counters --record {0}` writes one",
        folder.display()
    );
    let all: anyhow::Result<Vec<_>> = files.iter().map(|file| read(file)).collect();
    text::print(&table(&all?))?;
    Ok(0)
}

fn read(file: &Path) -> anyhow::Result<CountersDocument> {
    let name = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("{name}: cannot be read"))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{name}: this is no JSON"))?;
    if value["format"] != FORMAT.name || value["format_version"] != FORMAT.version {
        bail!(
            "{name}: no record of this version: its format must be {} {}; `hps validate --counters --record FOLDER` writes \
             one",
            FORMAT.name,
            FORMAT.version
        );
    }
    serde_json::from_value(value).with_context(|| format!("{name}: this is no record"))
}

/// A table of all programs, and a line for each that says what agrees.
fn told(document: &CountersDocument) -> String {
    let mut text = table(std::slice::from_ref(document));
    text +=
        "\nUser mode alone, medians of runs; misses and branches for each thousand instructions.\n";
    for program in &document.programs {
        let line = format!("{}: {}", program.program, program.verdict());
        text += &format!("{}\n", wrapped(&line, WIDTH, 4));
    }
    // One reason stands for all events that have it.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let events = document.programs.first().map(|p| &p.events[..]);
    for event in events.unwrap_or_default() {
        let Some(why) = &event.missing else { continue };
        // Messages name their event first.
        let why = why.strip_prefix(&format!("event {}:u ", event.event));
        let why = why.unwrap_or(event.missing.as_deref().unwrap_or_default());
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(&event.event),
            None => reasons.push((why, vec![&event.event])),
        }
    }
    for (why, names) in reasons {
        let line = format!("not counted natively: {}: {why}", names.join(", "));
        text += &format!("{}\n", wrapped(&line, WIDTH, 4));
    }
    text
}

/// The events that the table tells for each thousand instructions, with their headings.
const RATES: [(&str, &str); 7] = [
    ("branches", "branches"),
    ("branch-misses", "mispredicted"),
    ("L1-icache-load-misses", "L1I"),
    ("L1-dcache-load-misses", "L1D"),
    ("LLC-load-misses", "last level"),
    ("iTLB-load-misses", "iTLB"),
    ("dTLB-load-misses", "dTLB"),
];

fn table(documents: &[CountersDocument]) -> String {
    let mut columns = vec![
        ("program", Align::Left),
        ("counted by", Align::Left),
        ("instructions", Align::Right),
        ("IPC", Align::Right),
    ];
    columns.extend(RATES.map(|(_, head)| (head, Align::Right)));
    let mut table = Table::new(&columns);
    for document in documents {
        for program in &document.programs {
            let native = |event: &CountedEvent| Some(event.native.as_ref()?.median);
            let simulated = |event: &CountedEvent| Some(event.simulated);
            let host = format!(
                "{} ({})",
                document.host.processor, document.host.architecture
            );
            let machine = format!("{} ({})", document.machine_name, program.isa);
            table.row(row(program, &host, &native));
            table.row(row(program, &machine, &simulated));
        }
    }
    table.render()
}

fn row(
    program: &CountedProgram,
    who: &str,
    count: &dyn Fn(&CountedEvent) -> Option<u64>,
) -> Vec<String> {
    let of = |name: &str| program.event(name).and_then(count);
    let instructions = of("instructions");
    let ratio = |counted: Option<u64>, by: Option<u64>, factor: f64| {
        let value = counted.zip(by.filter(|by| *by > 0));
        value.map_or("-".to_owned(), |(counted, by)| {
            format!("{:.2}", factor * counted as f64 / by as f64)
        })
    };
    let mut cells = vec![
        program.program.clone(),
        who.to_owned(),
        instructions.map_or("-".to_owned(), grouped),
        ratio(instructions, of("cycles"), 1.0),
    ];
    cells.extend(RATES.map(|(name, _)| ratio(of(name), instructions, 1000.0)));
    cells
}

/// What the command writes as JSON with `--counters`.
pub fn described() -> Described {
    FORMAT.described::<CountersDocument>(&["validate --counters"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_after_its_processor() {
        let host = Host {
            processor: "Intel(R) Xeon(R) CPU @ 2.20GHz".to_owned(),
            architecture: "x86_64".to_owned(),
            kernel: String::new(),
            virtualized: true,
        };
        assert_eq!(host.file_name(), "intel-r-xeon-r-cpu-2-20ghz-x86-64.json");
    }
}
