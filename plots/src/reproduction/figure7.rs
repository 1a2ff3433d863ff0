//! The paper's Figure 7: what each scheme costs, and for what.

use hps_experiments::claims::Claim;
use hps_experiments::figure7::{Bar, Cycles, EXHAUSTIVE, STUDY, bars};
use hps_experiments::schemes::{Part, Scheme};
use hps_experiments::{ProfileKind, UnitRecord};

use super::isas;
use crate::PlotError;
use crate::chapter::{Chapter, ChapterTable};
use crate::dataset::Spread;
use crate::figures::breakdown;

/// None if nothing was measured for it.
pub(super) fn chapter(
    records: &[UnitRecord],
    claims: &[Claim],
) -> Result<Option<Chapter>, PlotError> {
    let bars = bars(records);
    if bars.is_empty() {
        return Ok(None);
    }
    let records: Vec<&UnitRecord> = records.iter().filter(|r| r.study == STUDY).collect();
    let mut chapter = Chapter {
        id: STUDY.to_string(),
        title: "Figure 7: what each way to collect a profile costs, and for what".to_string(),
        text: text(claims),
        ..Chapter::default()
    };
    for isa in isas(bars.iter().map(|b| b.isa.as_str())) {
        let origin = records
            .iter()
            .find(|r| r.isa == isa)
            .map(|r| format!("{} · {isa} · hps {}", r.machine, r.version));
        for kind in ProfileKind::ALL {
            let of: Vec<&Bar> = bars
                .iter()
                .filter(|b| b.isa == isa && b.kind == kind)
                .collect();
            if !of.is_empty() {
                let origin = origin.as_deref().unwrap_or(isa);
                let name = format!("figure7-{isa}-{}", kind.name().replace('_', "-"));
                chapter.figures.push((name, breakdown(kind, &of, origin)?));
            }
        }
        let of_isa: Vec<&Bar> = bars.iter().filter(|b| b.isa == isa).collect();
        chapter.tables.push(means(isa, &of_isa));
        chapter.tables.push(each(isa, &of_isa));
        chapter.tables.push(exhaustive(isa, &records));
        chapter.tables.push(identity(isa, &records));
    }
    Ok(Some(chapter))
}

fn text(claims: &[Claim]) -> Vec<String> {
    let mut text = vec![
        "The paper's Figure 7 breaks the cost of plain DISE, which must expand every call, back-edge and instruction \
         of interest, into what deciding when to sample costs (basic overhead), what asking at every instruction of \
         interest costs (instrumentation checks), and what collecting samples costs. It prints no numbers beside the \
         means of what HPS removes: 106 points for hot data streams and 16 for hot call pairs and hot methods. All \
         at 1/100, with bursts of 100 for data streams and of 1 for the others."
            .to_string(),
        "Here every bar is made of whole runs: without DISE; with events counted only; with everything and bursts that \
         never begin; with everything. A part is the difference of two neighbours, so that parts sum to the whole to \
         the cycle. A part below zero: the run that does more took fewer cycles; the whole is then what is above \
         zero less what is below. Plain DISE counts without an end in the second of these runs, and in a fifth run \
         counts while bursts begin and end. The difference of the two is what beginning and ending bursts costs: \
         deciding when to sample, so basic overhead by the paper's definition, although only the run with everything \
         pays it among the other four. The tables also show it by itself; whoever books it as sampling takes it from \
         the one part and adds it to the other."
            .to_string(),
    ];
    let mut isas: Vec<&str> = claims.iter().map(|c| c.isa.as_str()).collect();
    isas.dedup();
    for isa in isas {
        let of = claims.iter().filter(|c| c.isa == isa && !c.here.is_empty());
        let costs = of.filter(|c| c.section == hps_experiments::claims::Section::Cost);
        let said: Vec<String> = costs
            .map(|c| format!("{} ({}): {}", c.claim, c.verdict, c.here))
            .collect();
        if !said.is_empty() {
            text.push(format!("Seen on {isa}: {}.", said.join("; ")));
        }
    }
    text
}

fn percent(share: f64) -> String {
    format!("{:.3}", 100.0 * share)
}

/// Means over programs for each kind of profile and scheme.
fn means(isa: &str, bars: &[&Bar]) -> ChapterTable {
    let head = [
        "Profile",
        "Scheme",
        "Programs",
        "Overhead %",
        "Middle half (below five programs: each)",
        "Lowest",
        "Highest",
    ];
    let title = format!("Means over programs on {isa}, in percent of cycles without DISE");
    let mut table = ChapterTable::new(&title, 2, &head);
    let parts = Part::ALL.map(|part| format!("of it {}", part.title()));
    table.head.extend(parts);
    table
        .head
        .push("in the basic overhead: beginning and ending bursts".to_string());
    for kind in ProfileKind::ALL {
        for scheme in Scheme::ALL {
            let wanted = |bar: &&&Bar| bar.kind == kind && bar.scheme == scheme;
            let of: Vec<&&Bar> = bars.iter().filter(wanted).collect();
            let Some(s) = Spread::of(of.iter().map(|bar| 100.0 * bar.overhead())) else {
                continue;
            };
            let mut row = vec![
                kind.title().to_string(),
                scheme.title().to_string(),
                s.programs.to_string(),
            ];
            row.extend([
                format!("{:.3}", s.mean),
                s.middle_or_values(3),
                format!("{:.3}", s.low),
                format!("{:.3}", s.high),
            ]);
            row.extend(Part::ALL.map(|part| {
                let of_part = of.iter().filter(|bar| bar.cycles(part).is_some());
                let mean = Spread::of(of_part.map(|bar| bar.share(part)));
                mean.map_or("–".to_string(), |s| percent(s.mean))
            }));
            let ends = Spread::of(of.iter().filter_map(|bar| bar.burst_ends_share()));
            row.push(ends.map_or("–".to_string(), |s| percent(s.mean)));
            table.rows.push(row);
        }
    }
    table
}

/// Every bar.
fn each(isa: &str, bars: &[&Bar]) -> ChapterTable {
    let head = [
        "Profile",
        "Program",
        "Scheme",
        "Cycles without",
        "Cycles with",
        "Overhead %",
    ];
    let title = format!("Every bar on {isa} ({}); parts in cycles", bars.len());
    let mut table = ChapterTable::new(&title, 3, &head);
    table
        .head
        .extend(Part::ALL.map(|part| part.title().to_string()));
    table.head.push("beginning and ending bursts".to_string());
    table.folded = true;
    let row = |bar: &&Bar| {
        let mut row = vec![
            bar.kind.title().to_string(),
            bar.program.clone(),
            bar.scheme.title().to_string(),
            bar.baseline_cycles.to_string(),
            bar.whole_cycles.to_string(),
            percent(bar.overhead()),
        ];
        row.extend(Part::ALL.map(|part| {
            bar.cycles(part)
                .map_or("–".to_string(), |cycles| cycles.to_string())
        }));
        let ends = bar.burst_ends.map(|cycles| cycles.to_string());
        row.push(ends.unwrap_or("–".to_string()));
        row
    };
    table.rows = bars.iter().map(row).collect();
    table
}

/// Table of the cost of complete profiles.
fn exhaustive(isa: &str, records: &[&UnitRecord]) -> ChapterTable {
    let title =
        format!("What a complete profile costs on {isa}, in percent of cycles without DISE");
    let mut table = ChapterTable::new(&title, 1, &["Program"]);
    table
        .head
        .extend(ProfileKind::ALL.map(|kind| kind.title().to_string()));
    let of_isa = records.iter().filter(|r| r.isa == isa);
    let records: Vec<UnitRecord> = of_isa.map(|r| (*r).clone()).collect();
    let cycles = Cycles::of(&records);
    let mut programs: Vec<(&str, &str)> = records
        .iter()
        .map(|r| (&*r.program, &*r.program_hash))
        .collect();
    programs.dedup();
    let mut by_kind = ProfileKind::ALL.map(|_| Vec::new());
    for (program, hash) in programs {
        let mut row = vec![program.to_string()];
        for (at, kind) in ProfileKind::ALL.into_iter().enumerate() {
            let with = cycles.exhaustive(program, hash, kind);
            let overhead = with
                .zip(cycles.baseline(program, hash))
                .map(|(with, without)| with as f64 / without as f64 - 1.0);
            by_kind[at].extend(overhead);
            row.push(overhead.map_or("–".to_string(), |o| format!("{:.1}", 100.0 * o)));
        }
        table.rows.push(row);
    }
    if table.rows.len() > 1 {
        let mean = |values: Vec<f64>| {
            let percents = values.into_iter().map(|v| 100.0 * v);
            Spread::of(percents).map_or("–".to_string(), |s| match s.middle {
                Some(_) => format!("{:.1} ({})", s.mean, s.middle_or_values(1)),
                None => format!("{:.1}", s.mean),
            })
        };
        let means = by_kind.map(mean);
        let name = "mean (middle half from five programs on)".to_string();
        table.rows.push([vec![name], means.to_vec()].concat());
    }
    table
}

/// Whether the profiles are those of a functional run.
fn identity(isa: &str, records: &[&UnitRecord]) -> ChapterTable {
    let head = [
        "Program",
        "Scheme",
        "Profile",
        "Samples",
        "of a functional run",
        "Members that differ",
        "Samples lost",
    ];
    let title =
        format!("Profiles collected on {isa}, held against a functional run count for count");
    let mut table = ChapterTable::new(&title, 3, &head);
    table.folded = true;
    for record in records.iter().filter(|r| r.isa == isa) {
        let value = |measure| record.measurements.iter().find(|m| m.measure == measure);
        let Some(samples) = value("samples") else {
            continue;
        };
        let mut row = vec![
            record.program.clone(),
            if samples.scheme == EXHAUSTIVE {
                "complete".to_string()
            } else {
                samples.scheme.clone()
            },
            samples.profile.map_or("", |kind| kind.title()).to_string(),
        ];
        for measure in [
            "samples",
            "samples_of_functional_run",
            "members_that_differ",
            "samples_lost",
        ] {
            row.push(value(measure).map_or("–".to_string(), |m| m.value.to_string()));
        }
        table.rows.push(row);
    }
    table
}
