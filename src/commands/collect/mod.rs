//! `hps collect`: a profile that HPS collects, beside the exhaustive one of the same program.

mod tables;

use std::io::Write;

use anyhow::{bail, ensure};
use hps_experiments::collected::{Beside, Change, Collected, Collection, Profiles};
use hps_experiments::paper_burst;
use hps_pipeline::core::CoreKind;
use hps_productions::SamplePoint;
use hps_profile::{
    Accuracy, Events, Fraction, Profile, ProfileDocument, ProfileFile, ProfileHeader, ProfileKey,
    ProfileKind, Unit, accuracy,
};
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use self::tables::TableDocument;
use crate::cli::{self, CollectArgs, Kind};
use crate::commands::timed_machine;
use crate::document::{Described, Format};
use crate::program;
use crate::saved;
use crate::text;

/// One event in this many is sampled by default.
const ONE_IN: u64 = 100;

/// Collects a profile and prints it beside the truth.
pub fn collect(args: &CollectArgs) -> anyhow::Result<u8> {
    let kind = match args.kind {
        Kind::Method => ProfileKind::Method,
        Kind::CallPair => ProfileKind::CallPair,
        Kind::DataStream => ProfileKind::DataStream,
    };
    let burst = args.burst.unwrap_or_else(|| paper_burst(kind));
    let point = SamplePoint::from_frequency(burst, args.one_in.unwrap_or(ONE_IN))?;
    let changes = args
        .change
        .iter()
        .map(|text| parse_change(text))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let timing = args
        .machine
        .as_deref()
        .map(|name| timed_machine(name, args.core))
        .transpose()?
        .map(|mut machine| {
            machine.config.dise.repair_counters &= !args.unrepaired;
            machine
        });
    let mut guest = program::guest_options(&args.subject.guest)?;
    // The program runs several times. Its output is discarded.
    guest.stdout = Output::Discard;
    guest.stdin = program::repeated_stdin(&args.subject)?;
    let subject = &args.subject;
    let mut program = program::find(subject.program(), subject.isa, subject.arguments(), &guest)?;
    program.region = program::region(&args.start.part())?;
    ensure!(
        args.start.warm.is_none() || timing.is_some(),
        "--warm goes with --machine: without one nothing is cached or predicted"
    );
    ensure!(
        kind != ProfileKind::DataStream || args.tail_calls.is_none(),
        "--tail-calls goes with --kind method and --kind call-pair: data streams have no calls"
    );
    let contexts = (timing.as_ref()).map_or(1, |machine| machine.config.chip.processors() as usize);
    ensure!(
        changes.is_empty() || contexts == 1,
        "--change goes with machines of one core with one context: a change reaches one context's counters"
    );

    let collection = Collection {
        kind,
        point,
        random_period: args.random_period.then_some(args.period_seed),
        changes,
        tail_calls: counts_tail_calls(args, kind),
        tables: tables::asked(args, contexts),
        machine: timing.as_ref(),
    };
    let collected = collection.collect(&program)?;
    let report = Report {
        args,
        collection: &collection,
        image: &program.image,
        collected: &collected,
    };
    match &collected.profiles {
        Profiles::Method(profiles) => report.print(profiles, &Value::Null),
        Profiles::CallPair(profiles) => report.print(profiles, &Value::Null),
        Profiles::DataStream(profiles, [sampled, exact]) => {
            let summary = json!({ "sampled": sampled, "exhaustive": exact });
            report.print(profiles, &summary)
        }
    }?;
    if let Some(warning) = &collected.in_step {
        say!("hps: warning: {warning}; --random-period is in step with none");
    }
    let exit_code = collected.exit_code;
    if exit_code != 0 {
        say!(
            "hps: the program ended with exit code {exit_code}: the profile is of a run that failed; `hps run` shows what \
             it prints"
        );
        return Ok(1);
    }
    Ok(0)
}

/// Whether tail calls enter methods, or make pairs.
fn counts_tail_calls(args: &CollectArgs, kind: ProfileKind) -> bool {
    args.tail_calls.unwrap_or(kind == ProfileKind::Method)
}

fn parse_change(text: &str) -> anyhow::Result<Change> {
    let parts: Vec<u64> = text.split(':').filter_map(|p| p.parse().ok()).collect();
    let [at_instructions, burst, one_in] = parts[..] else {
        bail!(
            "--change {text}: write AT:BURST:ONE_IN, three whole numbers, for example 1000000:1:1000"
        );
    };
    Ok(Change {
        at_instructions,
        point: SamplePoint::from_frequency(burst, one_in)?,
    })
}

/// Everything that a printed profile says beside its members.
struct Report<'a> {
    args: &'a CollectArgs,
    collection: &'a Collection<'a>,
    image: &'a ProgramImage,
    collected: &'a Collected,
}

impl Report<'_> {
    fn print<K: ProfileKey>(&self, profiles: &Beside<K>, summary: &Value) -> anyhow::Result<()> {
        let (sampled, exact, tables) = (&profiles.sampled, &profiles.exhaustive, &profiles.tables);
        ensure!(
            exact.total() > 0,
            "the exhaustive profile is empty: the program has no such events"
        );
        let overlap = accuracy(sampled, exact, Fraction::NINETY_PERCENT);
        let listed = tables::documents(tables, &|member| self.describe(member));
        let document = self.document((sampled, exact), &overlap, (summary, listed))?;
        self.args.json.write(&FORMAT.of(&document))?;
        let mut out = self.args.json.text();
        writeln!(
            out,
            "{}, {}{}, of {} ({})",
            self.collection.kind.title(),
            self.collection.point,
            if self.args.random_period {
                ", random period"
            } else {
                ""
            },
            self.args.subject.program(),
            &self.image.hash[..12]
        )?;
        match (self.collection.machine, self.collected.cycles) {
            (Some(machine), Some((with, without))) => writeln!(
                out,
                "on {}{}: {with} cycles, {without} without profiling: overhead {:.3}%",
                machine.config.name,
                match self.args.core {
                    cli::CoreKind::Cycle => "",
                    cli::CoreKind::Instruction => ", an instruction at a time",
                },
                100.0 * (with as f64 / without as f64 - 1.0)
            )?,
            _ => writeln!(
                out,
                "functional run, not timed (--machine hps-4wide times it)"
            )?,
        }
        writeln!(
            out,
            "{} instructions; weight {} sampled of {}; accuracy {:.1}% (overlap of the top 90%, renormalized), {:.1}% capped",
            self.collected.instructions,
            sampled.total(),
            exact.total(),
            100.0 * overlap.renormalized,
            100.0 * overlap.capped
        )?;
        if self.collected.lost > 0 {
            let lost = self.collected.lost;
            writeln!(
                out,
                "warning: {lost} events found no room in the handler's table"
            )?;
        }
        writeln!(
            out,
            "\n{:>9} {:>9}  {}",
            "truth",
            "sampled",
            self.collection.kind.title()
        )?;
        for (member, weight) in exact.listing().into_iter().take(self.args.top) {
            let share = |w: u64, total: u64| {
                if total == 0 {
                    0.0
                } else {
                    100.0 * w as f64 / total as f64
                }
            };
            writeln!(
                out,
                "{:>8.2}% {:>8.2}%  {}",
                share(weight, exact.total()),
                share(sampled.weight(member), sampled.total()),
                text::one_line(&self.describe(member))
            )?;
        }
        tables::print(&mut out, tables, &|member| {
            text::one_line(&self.describe(member)).into_owned()
        })?;
        if sampled.is_empty() {
            let why = match self.collection.kind {
                ProfileKind::DataStream => {
                    "no sequence of references repeats often enough in what was sampled to be a hot stream: bursts are too \
                     short to hold one, or too few; use a longer --burst or a smaller --one-in"
                }
                _ => "the program has too few events for this frequency; use a smaller --one-in",
            };
            writeln!(out, "\nno member was sampled: {why}")?;
        } else if overlap.renormalized == 0.0 {
            writeln!(
                out,
                "\nthe accuracy is 0 because no sampled member is one of the truth: {}",
                match self.collection.kind {
                    ProfileKind::DataStream =>
                        "bursts cut the true streams into others; use a longer --burst",
                    _ => "use a smaller --one-in",
                }
            )?;
        }
        Ok(())
    }

    fn describe<K: ProfileKey>(&self, member: &K) -> String {
        let name = |address: u64| {
            let symbols = &self.collected.symbols;
            if let Some(function) = symbols.function_at(address) {
                return Some(symbols.with_object(address, &function.name));
            }
            // Code of a library without a name has its offset.
            let object = symbols.other_object_at(address)?;
            let offset = address.wrapping_sub(object.load_bias());
            Some(format!("{}+{offset:#x}", object.file_name()))
        };
        let label = member.label(&name);
        match self.collection.kind {
            ProfileKind::DataStream => {
                let addresses = member.frames(&|_| None);
                let shown = addresses
                    .iter()
                    .take(6)
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(" ");
                let more = addresses.len().saturating_sub(6);
                let rest = if more > 0 {
                    format!(" … {more} more")
                } else {
                    String::new()
                };
                format!("{} references: {shown}{rest}", addresses.len())
            }
            _ => {
                let frame = member
                    .frames(&|_| None)
                    .first()
                    .cloned()
                    .unwrap_or_default();
                let pc = u64::from_str_radix(frame.trim_start_matches("0x"), 16).unwrap_or(0);
                match self.collected.symbols.source_line(pc) {
                    Some(line) => format!("{label}  ({line})"),
                    None => label,
                }
            }
        }
    }

    fn document<K: ProfileKey>(
        &self,
        (sampled, exact): (&Profile<K>, &Profile<K>),
        overlap: &Accuracy,
        (summary, tables): (&Value, Vec<TableDocument>),
    ) -> anyhow::Result<CollectedDocument> {
        let header = |what: &str| ProfileHeader {
            program: self.args.subject.program().to_string(),
            program_hash: self.image.hash.clone(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            configuration: json!({
                "collected": what,
                "burst": self.collection.point.burst,
                "sparsity": self.collection.point.sparsity,
                "random_period_seed": self.collection.random_period,
                "tail_calls": self.collection.tail_calls,
                "args": self.args.subject.arguments(),
                "machine": self.collection.machine.map(|m| m.config.to_ron()),
                "core_driven_by": self.collection.machine.map(|_| CoreKind::from(self.args.core).name()),
            }),
            kind: self.collection.kind.into(),
            unit: Events::NAME.to_string(),
            parts: 1,
            total: 0,
            summary: summary.clone(),
            objects: saved::objects(&self.collected.symbols),
        };
        let document = |what: &str, profile: &Profile<K>| -> anyhow::Result<Value> {
            let mut bytes = Vec::new();
            ProfileDocument::new(header(what), profile.clone()).write(&mut bytes)?;
            Ok(serde_json::from_slice(&bytes)?)
        };
        Ok(CollectedDocument {
            accuracy: AccuracyDocument {
                renormalized: overlap.renormalized,
                capped: overlap.capped,
                members_exact: overlap.members_exact,
                members_sampled: overlap.members_sampled,
            },
            cycles: self.collected.cycles.map(|c| c.0),
            baseline_cycles: self.collected.cycles.map(|c| c.1),
            sampled: document("sampled", sampled)?,
            exhaustive: document("exhaustive", exact)?,
            tables,
        })
    }
}

/// Format of what `hps collect` writes.
pub const FORMAT: Format = Format::new("hps-collected", 1);

/// A profile that HPS collected, beside the exhaustive one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CollectedDocument {
    /// How well both agree.
    accuracy: AccuracyDocument,
    /// Cycles with the profile collected; null in a functional run.
    cycles: Option<u64>,
    /// Cycles of the program without DISE; null in a functional run.
    baseline_cycles: Option<u64>,
    /// The sampled profile, as a profile file.
    #[schemars(with = "ProfileFile")]
    sampled: Value,
    /// The exhaustive profile, as a profile file.
    #[schemars(with = "ProfileFile")]
    exhaustive: Value,
    /// Tables of contexts or threads, where there are several.
    tables: Vec<TableDocument>,
}

/// Agreement of two profiles.
#[derive(Debug, Serialize, JsonSchema)]
struct AccuracyDocument {
    /// Overlap of the members that make up 90% of each profile, shares within the cut set.
    renormalized: f64,
    /// Overlap of the cut members by their shares of the whole profile.
    capped: f64,
    /// Members of the exhaustive profile after the cut.
    members_exact: usize,
    /// Members of the sampled profile after the cut.
    members_sampled: usize,
}

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<CollectedDocument>(&["collect"])
}
