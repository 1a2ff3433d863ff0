//! The evaluation of call graphs with SHIM inside the machine as a report: claims, the thesis's tables beside what is
//! measured here, accuracy against overhead, contexts and instructions a cycle.

use std::path::Path;

use hps_experiments::callgraphs::{
    Collector, FULL_DEPTH, OTHERS, Other, QUIET, QUIETLY, RINGS, WAITS, paper_rows,
};
use hps_experiments::claims::{Claim, Section};
use hps_experiments::{Candidate, Cells, Table, UnitRecord};

use crate::PlotError;
use crate::answer::cheapest;
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;
use crate::figures::Series;
use crate::html::ReportInfo;
use crate::measured::{Row, by_program, means, number, percent};
use crate::report::ReportFiles;
use crate::reproduction::parts::{cell, diagram, linear_diagram, over};
use crate::reproduction::{Answered, Words, tables_by_section, write_measured};

const WORDS: Words = Words {
    introduction: "An observer on another hardware context finds out who calls whom, and how fast code runs in each calling \
        context. A bachelor's thesis (ANU 2015) did so for JavaScript and Java: with one tag, a stack of tags, and rings of \
        calls. Here programs are C programs, tags are written by productions, and every call is known: accuracy is held \
        against the complete graph of the same run, and each call that an observer reads against those that were under \
        way when it was read.",
    measure: "Accuracy is the overlap of shares with those of the complete graph: the sum, over all members, of the smaller of \
        the two shares, 100% for equal graphs.",
    files: "claims.csv has every claim, measurements.csv every number, units.jsonl the same with the machine's \
        fingerprint and the program's hash.",
    guide: include_str!("guide.html"),
};

/// Draws what was measured and writes `report.html`, `claims.csv`, `measurements.csv` and the pictures into `dir`. The
/// page comes last. `boards` has the measurements of each instruction set.
///
/// # Errors
/// [`PlotError::NoRows`] if nothing was measured, [`PlotError::Write`] naming the file or folder that could not be
/// written, and the errors of drawing.
pub fn write_callgraphs2015(
    dir: &Path,
    boards: &[(&str, Table<'_>)],
    claims: &[Claim],
    records: &[UnitRecord],
    info: &ReportInfo,
) -> Result<ReportFiles, PlotError> {
    write_measured(dir, records, Some(claims), (info, &WORDS), || {
        let mut chapters = vec![claims_chapter(claims)];
        for (isa, found) in boards {
            chapters.extend([
                published(isa, found),
                graphs(isa, found)?,
                contexts(isa, found)?,
            ]);
        }
        let answers = boards.iter().filter_map(|(isa, found)| answer(isa, found));
        Ok(Answered::new(chapters, answers.collect()))
    })
}

/// Which collector to take, and at which setting.
fn answer(isa: &str, found: &Table<'_>) -> Option<(String, String)> {
    let candidate = |title: String, scheme: &str, setting: &str| {
        let mean = |measure| found.mean_of(Cells::of(measure).scheme(scheme).setting(setting));
        Some(Candidate {
            what: format!("{title}, {}", setting.replace(['=', '_'], " ")),
            accuracy: mean("accuracy_ratio")?,
            overhead: Some(mean("overhead_ratio")?),
            rate: 0.0,
        })
    };
    let mut all = Vec::new();
    for collector in Collector::all() {
        let of_wait =
            |cycles: &u64| candidate(collector.title(), &collector.name(), &wait(*cycles));
        all.extend(collector.waits().iter().filter_map(of_wait));
    }
    all.extend((OTHERS.iter()).filter_map(|o| candidate(o.title(), &o.name(), &o.setting())));
    let of = format!("who calls whom ({isa} on {})", found.machine);
    Some((of, cheapest(&all)?))
}

fn claims_chapter(claims: &[Claim]) -> Chapter {
    let sections = [
        (Section::Cost, "Cost"),
        (Section::Accuracy, "Accuracy"),
        (Section::Explained, "What the thesis could not see"),
    ];
    Chapter {
        id: "claims".to_string(),
        title: "What the thesis says, and what is seen here".to_string(),
        text: vec![
            "Each verdict is computed from the numbers of this report by the rule beside it. Periods are shorter here, since \
             runs are: 10,000 cycles stand for the least period of interrupts there (200,000), 100,000 for a millisecond \
             (3,400,000)."
                .to_string(),
        ],
        figures: Vec::new(),
        tables: tables_by_section(claims, &sections),
    }
}

/// The thesis's tables with what was measured here.
fn published(isa: &str, found: &Table<'_>) -> Chapter {
    let mut table = ChapterTable::new(
        "Tables 3.1 and 4.1 to 4.4, and means over programs here",
        3,
        &[
            "Table",
            "What",
            "Period there",
            "Accuracy there, %",
            "Overhead there, %",
            "Accuracy here, %",
            "By site, %",
            "Overhead here, %",
            "Calls found here, %",
        ],
    );
    for row in paper_rows() {
        let (scheme, setting) = row.here;
        let of = |measure: &str| found.mean(scheme, setting, measure).map(|v| 100.0 * v);
        table.rows.push(vec![
            row.table.to_string(),
            row.what.to_string(),
            row.period.to_string(),
            cell(row.accuracy, 1),
            cell(Some(row.overhead), 1),
            cell(of("accuracy_ratio"), 1),
            cell(of("site_accuracy_ratio").filter(|_| row.by_site), 1),
            cell(of("overhead_ratio"), 1),
            cell(of("found_ratio"), 1),
        ]);
    }
    let alone = [
        (Collector::Tag, "one tag at calls and returns"),
        (Collector::Stack(None), "tag stack"),
        (Collector::Pairs(1 << 20), "ring of calls of 1 MB"),
        (
            Collector::Sequence(1 << 20),
            "ring of calls and returns of 1 MB",
        ),
        (
            Collector::Pairs(1 << 10),
            "ring of calls of 1 KB, soon full for ever",
        ),
    ];
    let alone = alone.map(|(collector, what)| Row::new([what]).of(collector.name()));
    let idle = Row::new(["yield points"]).of(Other::YieldIdle.name());
    let costs = means(
        found,
        "What productions cost that nobody reads, means over programs",
        &["Productions"],
        alone.into_iter().chain([idle]),
        &[percent("Overhead, %", "overhead_ratio", 2).at("alone")],
    );
    Chapter {
        id: format!("published-{isa}"),
        title: format!("The thesis's tables: {isa} on {}", found.machine),
        text: vec![
            "Programs there are JavaScript (Tables 3.1, 4.1, 4.4) and Java (4.2, 4.3), which call less often than C does: \
             the same period holds more calls here. Complete graphs there repeat themselves to 98%, here exactly."
                .to_string(),
        ],
        figures: Vec::new(),
        tables: vec![table, costs, quiet(found)],
    }
}

/// Collectors at full speed with the reads that SHIM's authors propose.
fn quiet(found: &Table<'_>) -> ChapterTable {
    let all = wait(0);
    let columns = [
        percent("Overhead when nobody reads, %", "overhead_ratio", 1).at("alone"),
        percent("of all reads, %", "overhead_ratio", 1).at(&*all),
        percent("of quiet reads, %", "overhead_ratio", 1).at(QUIETLY),
        percent("Accuracy of all reads, %", "accuracy_ratio", 1).at(&*all),
        percent("of quiet reads, %", "accuracy_ratio", 1).at(QUIETLY),
        percent("Torn, of all reads, %", "torn_ratio", 1).at(&*all),
        percent("of quiet reads, %", "torn_ratio", 1).at(QUIETLY),
    ];
    means(
        found,
        "At full speed with reads that allocate nothing and take no part in the coherence of caches \
         (chip.quiet_read_cycles), means over programs",
        &["Collector"],
        QUIET.map(|collector| Row::new([collector.title()]).of(collector.name())),
        &columns,
    )
}

fn wait(cycles: u64) -> String {
    format!("wait={cycles}")
}

/// A point of a scheme at each of its settings: overhead in percent, at least what the axis shows, and accuracy.
fn trade(found: &Table<'_>, scheme: &str, settings: &[String]) -> Vec<(f64, f64)> {
    let point = |setting: &String| {
        let overhead = 100.0 * found.mean(scheme, setting, "overhead_ratio")?;
        let accuracy = 100.0 * found.mean(scheme, setting, "accuracy_ratio")?;
        Some((overhead.max(0.01), accuracy))
    };
    settings.iter().filter_map(point).collect()
}

fn settings(waits: &[u64]) -> Vec<String> {
    waits.iter().rev().map(|cycles| wait(*cycles)).collect()
}

fn graphs(isa: &str, found: &Table<'_>) -> Result<Chapter, PlotError> {
    let programs = found.programs("stack-full").len();
    let subtitle = format!("{isa} on {}; {}", found.machine, over(programs));
    let mut chapter = Chapter {
        id: format!("graphs-{isa}"),
        title: format!("Call graphs: {isa} on {}", found.machine),
        text: vec![
            "Up and to the left is better. The points of a line differ in the period: an observer's wait, a timer's period, \
             HPS's frequency."
                .to_string(),
        ],
        ..Chapter::default()
    };
    let mut add = |name: &str, figure: Option<Figure>| {
        if let Some(figure) = figure {
            chapter.figures.push((format!("{isa}-{name}"), figure));
        }
    };
    add("trade", accuracy_by_overhead(found, &subtitle)?);
    add("stack", stacks(found, &subtitle)?);
    add("rings", rings(found, &subtitle, "accuracy_ratio")?);
    add("orphans", rings(found, &subtitle, "orphan_ratio")?);
    add("seen", seen(isa, found)?);
    chapter.tables = vec![all_numbers(found), accuracy_by_program(found)];
    Ok(chapter)
}

fn accuracy_by_overhead(found: &Table<'_>, subtitle: &str) -> Result<Option<Figure>, PlotError> {
    let observed = [
        Collector::Stack(None),
        Collector::Pairs(8 << 10),
        Collector::Pairs(128 << 10),
        Collector::Sequence(8 << 10),
        Collector::Sequence(128 << 10),
    ];
    let mut series: Vec<Series> = observed
        .iter()
        .map(|collector| Series {
            label: collector.title(),
            points: trade(found, &collector.name(), &settings(collector.waits())),
        })
        .collect();
    for other in [
        Other::Yield {
            burst: 1,
            period: 0,
        },
        Other::Yield {
            burst: 8,
            period: 0,
        },
        Other::Hps {
            burst: 1,
            one_in: 0,
        },
        Other::Hps {
            burst: 8,
            one_in: 0,
        },
        Other::Lbr(0),
    ] {
        let alike = OTHERS.iter().filter(|o| o.name() == other.name());
        let settings: Vec<String> = alike.map(|o| o.setting()).collect();
        let mut points = trade(found, &other.name(), &settings);
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        series.push(Series {
            label: other.title(),
            points,
        });
    }
    let title = "Accuracy of call graphs against what they cost";
    diagram((title, subtitle), "Overhead, %", "Accuracy, %", series)
}

fn stacks(found: &Table<'_>, subtitle: &str) -> Result<Option<Figure>, PlotError> {
    let series = [Some(2), Some(10), None].map(|depth| {
        let name = Collector::Stack(depth).name();
        let point = |cycles: &u64| {
            let period = found.mean(&name, &wait(*cycles), "period_cycles")?;
            let accuracy = found.mean(&name, &wait(*cycles), "accuracy_ratio")?;
            Some((period, 100.0 * accuracy))
        };
        Series {
            label: Collector::Stack(depth).title(),
            points: WAITS.iter().filter_map(point).collect(),
        }
    });
    let title = "Tag stack: accuracy by period (figures 4.1 to 4.3)";
    diagram(
        (title, subtitle),
        "Cycles from one call that is found to the next",
        "Accuracy, %",
        series.to_vec(),
    )
}

/// A number of rings by their size.
fn rings(found: &Table<'_>, subtitle: &str, measure: &str) -> Result<Option<Figure>, PlotError> {
    let (title, axis) = match measure {
        "orphan_ratio" => (
            "Calls whose caller the ring does not tell, by its size (figure 4.20)",
            "Share of calls, %",
        ),
        _ => (
            "Rings: accuracy by size (figures 4.12 to 4.14 and 4.16 to 4.18)",
            "Accuracy, %",
        ),
    };
    let of = |has_returns: bool, bytes: u64| match has_returns {
        false => Collector::Pairs(bytes),
        true => Collector::Sequence(bytes),
    };
    let mut series = Vec::new();
    for (what, has_returns) in [("calls", false), ("calls and returns", true)] {
        if measure == "orphan_ratio" && !has_returns {
            continue;
        }
        for cycles in [0, 10_000, 100_000] {
            let point = |bytes: u64| {
                let value = found.mean(&of(has_returns, bytes).name(), &wait(cycles), measure)?;
                Some((bytes as f64 / 1024.0, 100.0 * value))
            };
            series.push(Series {
                label: format!("{what}, wait {cycles}"),
                points: RINGS.into_iter().filter_map(point).collect(),
            });
        }
    }
    diagram((title, subtitle), "Size of the ring, KB", axis, series)
}

/// Accuracy by the share of all calls that was seen, a line for each program.
fn seen(isa: &str, found: &Table<'_>) -> Result<Option<Figure>, PlotError> {
    let scheme = Collector::Stack(None).name();
    let series = found.programs(&scheme).into_iter().map(|program| {
        let point = |cycles: &u64| {
            let of = |measure| {
                let all = found.by_program(&scheme, &wait(*cycles), measure);
                all.get(program).map(|v| 100.0 * v)
            };
            Some((of("found_ratio")?, of("accuracy_ratio")?))
        };
        Series {
            label: program.to_string(),
            points: WAITS.iter().rev().filter_map(point).collect(),
        }
    });
    let title = "Tag stack: accuracy by the share of calls that are seen (figure 4.11)";
    let subtitle = format!("{isa} on {}; each line a program", found.machine);
    linear_diagram(
        (title, &subtitle),
        "Calls seen, %",
        "Accuracy, %",
        series.collect(),
    )
}

fn all_numbers(found: &Table<'_>) -> ChapterTable {
    let columns = [
        percent("Overhead, %", "overhead_ratio", 2),
        number("Cycles a call found", "period_cycles", 0),
        percent("Accuracy, %", "accuracy_ratio", 2),
        percent("By site, %", "site_accuracy_ratio", 2),
        percent("Calls found, %", "found_ratio", 2),
        percent("Invalid, %", "invalid_ratio", 3),
        percent("Invalid and torn, %", "invalid_torn_ratio", 3),
        percent("Torn, %", "torn_ratio", 3),
        percent("Orphans, %", "orphan_ratio", 2),
    ];
    let row = |title: String, scheme: String, setting: String| {
        let words = [title, setting.replace(['=', '_'], " ")];
        Row::new(words).of(scheme).at(setting)
    };
    let observed = Collector::all().into_iter().flat_map(|collector| {
        let of_wait = move |cycles: &u64| row(collector.title(), collector.name(), wait(*cycles));
        collector.waits().iter().map(of_wait)
    });
    let others = OTHERS
        .iter()
        .map(|other| row(other.title(), other.name(), other.setting()));
    let rows = observed
        .chain(others)
        .filter(|row| row.has(found, "accuracy_ratio"));
    means(
        found,
        "Means over programs",
        &["What", "Setting"],
        rows,
        &columns,
    )
}

fn accuracy_by_program(found: &Table<'_>) -> ChapterTable {
    let count = |head, measure| number(head, measure, 0).of("program").at("");
    let accuracy = |head, scheme: String, setting: String| {
        percent(head, "accuracy_ratio", 2).of(scheme).at(setting)
    };
    let stack = Collector::Stack(None).name();
    let columns = [
        count("Calls", "calls"),
        count("Edges", "edges"),
        accuracy("tag stack", stack.clone(), wait(0)),
        accuracy("tag stack, 10,000", stack, wait(10_000)),
        accuracy("calls, 128 KB", Collector::Pairs(128 << 10).name(), wait(0)),
        accuracy(
            "calls and returns, 128 KB",
            Collector::Sequence(128 << 10).name(),
            wait(0),
        ),
        accuracy("yield, 8 in 10,000", "yield-8".to_string(), wait(10_000)),
        accuracy("HPS, 8 of 80", "hps-8".to_string(), "one_in=80".to_string()),
    ];
    let title = "Accuracy by program, %";
    by_program(found, title, &found.programs("program"), &columns).folded()
}

fn contexts(isa: &str, found: &Table<'_>) -> Result<Chapter, PlotError> {
    let kinds = [
        Collector::Tag,
        Collector::Context(2),
        Collector::Context(10),
        Collector::Context(FULL_DEPTH),
    ];
    let subtitle = format!(
        "{isa} on {}; {}",
        found.machine,
        over(found.programs("context-full").len())
    );
    let mut chapter = Chapter {
        id: format!("contexts-{isa}"),
        title: format!("Counters with calling contexts: {isa} on {}", found.machine),
        text: vec![
            "The observer runs on the program's own core. A context is right if those calls, all of them, were under way at \
             some time while it was read. Time-weighted accuracy: samples by caller and callee against cycles."
                .to_string(),
        ],
        ..Chapter::default()
    };
    let costs = kinds.map(|collector| Series {
        label: collector.title(),
        points: collector
            .waits()
            .iter()
            .filter_map(|cycles| {
                let of = |m| found.mean(&collector.name(), &wait(*cycles), m);
                Some((of("period_cycles")?, 100.0 * of("overhead_ratio")?))
            })
            .collect(),
    });
    let title = "Overhead by period (figures 3.2 and 3.5 to 3.7)";
    let x = "Cycles from sample to sample";
    if let Some(figure) = diagram((title, &subtitle), x, "Overhead, %", costs.to_vec())? {
        chapter.figures.push((format!("{isa}-contexts"), figure));
    }
    for (name, title, axis, factor, measures) in [
        (
            "ipc",
            "Instructions a cycle by depth of the stack (figure 3.3)",
            "Instructions a cycle",
            1.0,
            [("samples", "ipc"), ("truth", "true_ipc")],
        ),
        (
            "depth",
            "Time by depth of the stack",
            "Share, %",
            100.0,
            [("samples", "share"), ("cycles", "true_share")],
        ),
    ] {
        let series = measures.map(|(label, measure)| Series {
            label: label.to_string(),
            points: (0..24)
                .filter_map(|depth| {
                    let value = found.mean("context-full", &format!("depth={depth}"), measure)?;
                    Some((f64::from(depth), factor * value))
                })
                .collect(),
        });
        let x = "Calls under way";
        if let Some(figure) = linear_diagram((title, &subtitle), x, axis, series.to_vec())? {
            chapter.figures.push((format!("{isa}-{name}"), figure));
        }
    }
    let columns = [
        number("Period, cycles", "period_cycles", 0),
        percent("Overhead, %", "overhead_ratio", 2),
        percent("Contexts right, %", "one_ratio", 2),
        percent("Cut, %", "cut_ratio", 2),
        percent("Time-weighted accuracy, %", "time_accuracy_ratio", 1),
        number("IPC off, by depth", "ipc_off_by_depth", 3),
    ];
    let rows = kinds.into_iter().flat_map(|collector| {
        let of_wait = move |cycles: &u64| {
            let row = Row::new([collector.title(), cycles.to_string()]);
            row.of(collector.name()).at(wait(*cycles))
        };
        collector.waits().iter().map(of_wait)
    });
    let rows = rows.filter(|row| row.has(found, "overhead_ratio"));
    let words = ["What", "Wait"];
    chapter
        .tables
        .push(means(found, "Means over programs", &words, rows, &columns));
    Ok(chapter)
}
