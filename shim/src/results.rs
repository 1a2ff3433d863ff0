//! Results of an observation: a structure for files, and text for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::{Account, Analysis};
use crate::clock;
use crate::machine::Machine;
use crate::microbench::MicroPoint;
use crate::observer::Observed;
use crate::overhead::OverheadResult;
use crate::pace::Pace;
use crate::placement::Placement;
use crate::plan::{CounterInfo, Plan};
use crate::region::FIRST_ADDRESS;
use crate::session::Session;
use crate::stack_results::{Frame, StackResult};
use crate::threads::ThreadTags;

/// The `format` of a result.
pub const FORMAT: &str = "hps-shim";
/// The `format` of a measurement of the observer itself.
pub const MEASUREMENT_FORMAT: &str = "hps-shim-measurement";
/// The only `format_version` so far.
pub const FORMAT_VERSION: u32 = 1;

/// One tag's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TagRow {
    /// The tag; hexadecimal text, which no reader rounds.
    #[serde(with = "hexadecimal")]
    #[schemars(with = "String")]
    pub tag: u64,
    /// Function, given name, or the number.
    pub name: String,
    /// Executable or library of a function.
    pub module: Option<String>,
    /// Source file and line of a function.
    pub line: Option<String>,
    /// Samples.
    pub samples: u64,
    /// Share of all samples, 0 to 1.
    pub share: f64,
}

/// Samples of one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRow {
    /// The kernel's id; `None`: all threads beyond the first 64.
    pub thread: Option<u64>,
    /// Name of the thread; `None` if it ended before it could be asked.
    pub name: Option<String>,
    /// Samples.
    pub samples: u64,
    /// Share of the samples of all threads, 0 to 1.
    pub share: f64,
    /// Samples of the thread by tag, the most first.
    pub tags: Vec<ThreadTagRow>,
}

/// A tag's share of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTagRow {
    /// The tag; hexadecimal text.
    #[serde(with = "hexadecimal")]
    #[schemars(with = "String")]
    pub tag: u64,
    /// Samples.
    pub samples: u64,
    /// Share of the thread's samples, 0 to 1.
    pub share: f64,
}

impl ThreadRow {
    /// The thread's name and id, or what is known of them.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.thread, &self.name) {
            (Some(thread), Some(name)) => format!("{name} ({thread})"),
            (Some(thread), None) => format!("thread {thread}"),
            (None, _) => "all other threads".to_owned(),
        }
    }
}

pub(crate) mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(tag: &u64, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&format!("{tag:#x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
        let text = String::deserialize(d)?;
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        u64::from_str_radix(digits, 16).map_err(serde::de::Error::custom)
    }
}

/// The result of one observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShimResult {
    /// [`FORMAT`].
    pub format: String,
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of the software.
    pub version: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How it ended.
    pub status: String,
    /// Seconds that it ran, or was observed.
    pub seconds: f64,
    /// Where it was measured.
    pub machine: Machine,
    /// Ticks of the time stamp counter in a second; what "cycles" are.
    pub ticks_per_second: f64,
    /// Who ran where.
    pub placement: Placement,
    /// The wait between samples.
    pub pace: String,
    /// Parts per million that cycles per cycle may differ from 1.
    pub dte_tolerance_ppm: u32,
    /// Counts and times of the observer's run.
    pub observed: Observed,
    /// Mean cycles from sample to sample.
    pub mean_period_cycles: f64,
    /// Mean cycles from sample to sample, without the time in which the observer was not running.
    pub mean_period_running_cycles: f64,
    /// Where its samples went.
    pub account: Account,
    /// Counters that were read.
    pub counters: Vec<CounterInfo>,
    /// Samples by tag, the most first.
    pub tags: Vec<TagRow>,
    /// Samples by thread, the most first; empty in tally mode, which does not ask whose tag it is.
    #[serde(default)]
    pub threads: Vec<ThreadRow>,
    /// Stacks, if they were asked for.
    #[serde(default)]
    pub stacks: Option<StackResult>,
    /// Everything else; `null` in tally mode.
    pub analysis: Option<Analysis>,
    /// Notes that a reader should know.
    pub notes: Vec<String>,
}

impl ShimResult {
    /// Puts a session's results together; asks for names of all tags.
    #[must_use]
    pub fn new(
        session: &mut Session,
        machine: &Machine,
        plan: &Plan,
        command: Vec<String>,
    ) -> Self {
        let tags = rows(session);
        let threads = threads(session);
        let notes = notes(session, machine, plan);
        let stacks = session.watched.stacks.take();
        let stacks = stacks.map(|found| StackResult::new(&found, |tag| frame(session, tag)));
        let watched = &session.watched;
        Self {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            status: session.status.clone(),
            seconds: session.wall.as_secs_f64(),
            machine: machine.clone(),
            ticks_per_second: clock::ticks_per_second(),
            placement: session.placement.clone(),
            pace: plan.pace.to_string(),
            dte_tolerance_ppm: plan.dte.tolerance_ppm,
            observed: watched.observed,
            mean_period_cycles: watched.observed.mean_period(),
            mean_period_running_cycles: running_period(&watched.observed, plan.pace),
            account: watched.account,
            counters: watched.counters.clone(),
            tags,
            threads,
            stacks,
            analysis: watched.analysis.clone(),
            notes,
        }
    }

    /// The name of a tag; its number if no sample had it.
    #[must_use]
    pub fn name(&self, tag: u64) -> String {
        let row = self.tags.iter().find(|row| row.tag == tag);
        row.map_or_else(|| format!("{tag:#x}"), |row| row.name.clone())
    }
}

fn rows(session: &mut Session) -> Vec<TagRow> {
    let total: u64 = session.watched.tags.iter().map(|(_, count)| count).sum();
    let tags = session.watched.tags.clone();
    let row = |(tag, samples): (u64, u64)| {
        let (name, module, line) = describe(session, tag);
        TagRow {
            tag,
            name,
            module,
            line,
            samples,
            share: samples as f64 / total.max(1) as f64,
        }
    };
    tags.into_iter().map(row).collect()
}

fn frame(session: &mut Session, tag: u64) -> Frame {
    let (name, module, line) = describe(session, tag);
    Frame {
        tag,
        name,
        module,
        line,
    }
}

fn threads(session: &Session) -> Vec<ThreadRow> {
    let Some(analysis) = &session.watched.analysis else {
        return Vec::new();
    };
    let all: u64 = analysis.threads.iter().map(|row| row.samples).sum();
    let row = |row: &ThreadTags| ThreadRow {
        thread: row.thread,
        name: row
            .thread
            .and_then(|thread| session.threads.get(thread).map(str::to_owned)),
        samples: row.samples,
        share: row.samples as f64 / all.max(1) as f64,
        tags: row
            .tags
            .iter()
            .map(|&(tag, samples)| ThreadTagRow {
                tag,
                samples,
                share: samples as f64 / row.samples.max(1) as f64,
            })
            .collect(),
    };
    analysis.threads.iter().map(row).collect()
}

fn describe(session: &mut Session, tag: u64) -> (String, Option<String>, Option<String>) {
    if tag < FIRST_ADDRESS {
        let unnamed = || match tag {
            0 => "(nothing)".to_owned(),
            _ => format!("tag {tag}"),
        };
        return (session.region.name(tag).unwrap_or_else(unnamed), None, None);
    }
    let location = session.symbols.resolve(tag);
    let line = location
        .line
        .as_ref()
        .map(|(file, line)| format!("{file}:{line}"));
    (location.to_string(), location.module, line)
}

/// Mean period while the observer ran; one that sleeps is not running most of the time.
pub(crate) fn running_period(observed: &Observed, pace: Pace) -> f64 {
    match pace {
        Pace::Sleep(_) => observed.mean_period(),
        _ => observed.mean_period_running(),
    }
}

fn notes(session: &Session, machine: &Machine, plan: &Plan) -> Vec<String> {
    let watched = &session.watched;
    let observed = &watched.observed;
    let mut notes = Vec::new();
    if machine.hardware_refused.is_some() && watched.counters.is_empty() {
        notes.push("no hardware events are to be had here: `hps doctor` says why".to_owned());
    }
    let share = observed.running_share();
    if share < 0.95 && !matches!(plan.pace, Pace::Sleep(_)) {
        notes.push(format!(
            "the observer had its CPU for {:.0}% of the time: others run there",
            share * 100.0
        ));
    }
    let header = &session.region.layout().header;
    let refused = header.refused.load(std::sync::atomic::Ordering::Relaxed);
    if refused > 0 {
        notes.push(format!("{refused} threads found no slot and were not seen"));
    }
    if watched.analysis.as_ref().is_some_and(|a| a.tags_lost > 0) {
        notes.push("the table of tags was full: some tags are missing from it".to_owned());
    }
    if watched.analysis.is_none() && session.region.used_slots().count() > 1 {
        notes.push("tallied tags are those of all threads together".to_owned());
    }
    if watched.stacks.as_ref().is_some_and(|s| s.lost > 0) {
        notes.push(
            "the tree of calling contexts was full: the latest contexts are missing from it"
                .to_owned(),
        );
    }
    notes
}

/// Which measurement of the observer itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "result", rename_all = "snake_case")]
pub enum MeasurementKind {
    /// Overhead against period, tags alone.
    Overhead(OverheadResult),
    /// Overhead against period, with time stamps and correction.
    Dte(OverheadResult),
    /// Producer and consumer.
    Microbench(Vec<MicroPoint>),
}

/// The result of a measurement of the observer itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// `hps-shim-measurement`.
    pub format: String,
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of the software.
    pub version: String,
    /// Where it was measured.
    pub machine: Machine,
    /// Who ran where.
    pub placement: Placement,
    /// Ticks of the time stamp counter in a second.
    pub ticks_per_second: f64,
    /// Kind of the measurement, with its results.
    #[serde(flatten)]
    pub kind: MeasurementKind,
}

impl Measurement {
    /// Puts it together.
    #[must_use]
    pub fn new(
        machine: &Machine,
        placement: &Placement,
        ticks_per_second: f64,
        kind: MeasurementKind,
    ) -> Self {
        Self {
            format: MEASUREMENT_FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: machine.clone(),
            placement: placement.clone(),
            ticks_per_second,
            kind,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A result of two tags, 300 and 100 samples, over 2 s.
    pub(crate) fn example() -> ShimResult {
        let row = |tag, name: &str, samples: u64| TagRow {
            tag,
            name: name.to_owned(),
            module: Some("prog".to_owned()),
            line: (tag == 0x40_0000).then(|| "prog.c:7".to_owned()),
            samples,
            share: samples as f64 / 400.0,
        };
        ShimResult {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            version: "0".to_owned(),
            command: vec!["prog".to_owned()],
            status: "exit code 0".to_owned(),
            seconds: 2.0,
            machine: Machine::find().unwrap(),
            ticks_per_second: 1e9,
            placement: Placement {
                seat: crate::placement::Seat::Cmp,
                observer: 1,
                program: vec![0],
            },
            pace: "1200".to_owned(),
            dte_tolerance_ppm: 10_000,
            observed: Observed {
                sent: 400,
                cycles: 2_000_000_000,
                ..Observed::default()
            },
            mean_period_cycles: 5e6,
            mean_period_running_cycles: 5e6,
            account: Account {
                sent: 400,
                kept: 399,
                discarded: 1,
                dropped: 0,
            },
            counters: Vec::new(),
            tags: vec![row(0x40_0000, "main", 300), row(3, "phase", 100)],
            threads: Vec::new(),
            stacks: None,
            analysis: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn results_are_read_back_and_tags_are_not_rounded() {
        let mut result = example();
        result.tags[0].tag = u64::MAX - 1;
        let text = serde_json::to_string(&result).unwrap();
        assert!(text.contains("0xfffffffffffffffe"));
        assert_eq!(serde_json::from_str::<ShimResult>(&text).unwrap(), result);
        let summary = crate::summary::summary(&result, 1);
        assert!(
            summary.contains("75.00%") && summary.contains("1 more"),
            "{summary}"
        );
    }
}
