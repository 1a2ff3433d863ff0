//! Clocks and prefetchers by phase: figures 14 to 19, and a processor that is switched by what is sampled.

use hps_experiments::Table;
use hps_experiments::shim::phases::{Goal, PHASES, REQUESTS, Setting};

use crate::PlotError;
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;
use crate::figures::Series;
use crate::measured::{Row, means, number};
use crate::reproduction::parts::{cell, linear_diagram};

/// The chapter of one instruction set, if the study was made there.
pub(super) fn chapter(isa: &str, found: &Table<'_>) -> Result<Option<Chapter>, PlotError> {
    if found.programs(&Setting::ALL[0].name()).is_empty() {
        return Ok(None);
    }
    let mut chapter = Chapter {
        id: format!("phases-{isa}"),
        title: format!("Clocks and prefetchers by phase: {isa} on {}", found.machine),
        text: vec![
            "One program has two phases that do the same to other objects: stacks follows pointers across a heap of 16 MB, \
             globals through 1 MB in the order of addresses. Last cache and memory take as many nanoseconds at any clock, \
             prefetchers bring the next two lines. An observer on the other core samples instructions and reads of memory; \
             its tags say which phase it is."
                .to_string(),
            "By phase: the processor is switched to what samples have shown to be best for the function that runs, so that energy \
             times time, or times its square, of the whole run is small. \
             Energy is thought, not measured: a cycle costs the square of the clock, leakage 0.3 of a full cycle in the time \
             of one, a line from memory 7; a change of clocks stops the cores for half a microsecond. The observer's own \
             core is not counted."
                .to_string(),
        ],
        ..Chapter::default()
    };
    let subtitle = format!("{isa} on {}", found.machine);
    let (full, full_off) = (Setting::ALL[0], Setting::ALL[1]);
    let slow = Setting::ALL[4];
    let shown = [
        ("stacks", [full, slow], "clock", "figure 14"),
        ("globals", [full, slow], "clock", "figure 15"),
        ("stacks", [full, full_off], "prefetcher", "figure 16"),
        ("globals", [full, full_off], "prefetcher", "figure 17"),
    ];
    for (phase, settings, what, figure) in shown {
        for (measure, factor, axis, words, file) in [
            ("share_ratio", 100.0, "Samples, %", "samples", "samples"),
            (
                REQUESTS,
                1.0,
                "Reads of memory in 100 cycles",
                "reads of memory",
                "reads",
            ),
        ] {
            let title = format!("{phase}: {words} by instructions a cycle ({figure})");
            let drawn = classes(
                found,
                phase,
                &settings,
                (measure, factor),
                (&title, &subtitle, axis),
            )?;
            let file = format!("{isa}-{phase}-{what}-{file}");
            chapter.figures.extend(drawn.map(|drawn| (file, drawn)));
        }
    }
    for (measure, file, title, axis) in [
        (
            "ipc",
            "ipc",
            "Instructions a cycle by time (figure 19)",
            "Instructions a cycle",
        ),
        (
            REQUESTS,
            "reads",
            "Reads of memory by time (figure 19)",
            "Reads of memory in 100 cycles",
        ),
    ] {
        let points = found
            .all()
            .filter(|m| m.scheme == full.name() && m.setting == "timeline" && m.measure == measure);
        let series = Series {
            label: full.title(),
            points: points.filter_map(|m| Some((m.x?, m.value))).collect(),
        };
        if let Some(drawn) = linear_diagram((title, &subtitle), "Microseconds", axis, vec![series])?
        {
            chapter.figures.push((format!("{isa}-time-{file}"), drawn));
        }
    }
    chapter.tables.extend([by_setting(found), runs(found)]);
    Ok(Some(chapter))
}

/// A number by class of IPC, a line for each setting.
fn classes(
    found: &Table<'_>,
    phase: &str,
    settings: &[Setting],
    (measure, factor): (&str, f64),
    (title, subtitle, axis): (&str, &str, &str),
) -> Result<Option<Figure>, PlotError> {
    let setting_name = format!("{phase},class");
    let series = settings.iter().map(|setting| {
        let scheme = setting.name();
        let of = found
            .all()
            .filter(|m| m.scheme == scheme && m.setting == setting_name && m.measure == measure);
        Series {
            label: setting.title(),
            points: of.filter_map(|m| Some((m.x?, factor * m.value))).collect(),
        }
    });
    linear_diagram(
        (title, subtitle),
        "Instructions a cycle",
        axis,
        series.collect(),
    )
}

/// Table of each phase at each setting.
fn by_setting(found: &Table<'_>) -> ChapterTable {
    let columns = [
        number("Samples", "samples", 0),
        number("Instructions a cycle", "ipc", 2),
        number("Reads of memory in 100 cycles", REQUESTS, 2),
        number("ns an instruction", "ns_per_instruction", 3),
        number("Energy an instruction", "energy_per_instruction", 2),
    ];
    let rows = PHASES.into_iter().flat_map(|phase| {
        Setting::ALL.map(|setting| {
            let row = Row::new([phase.to_string(), setting.title()]);
            row.of(setting.name()).at(phase)
        })
    });
    let title = "Phases at each setting, as the observer sees them";
    means(found, title, &["Phase", "Setting"], rows, &columns)
}

/// Whole runs at each setting, and switched by phase.
fn runs(found: &Table<'_>) -> ChapterTable {
    let mut table = ChapterTable::new(
        "The whole run, over that at the full clock with its prefetcher",
        1,
        &[
            "Setting",
            "Time",
            "Energy",
            "Energy × time",
            "Energy × time²",
            "Time there when switched for the first, %",
            "For the second, %",
        ],
    );
    let full = Setting::ALL[0].name();
    let over = |scheme: &str, measure| {
        let (of, base) = (
            found.mean(scheme, "all", measure)?,
            found.mean(&full, "all", measure)?,
        );
        Some(of / base)
    };
    let fixed = Setting::ALL.map(|setting| (setting.name(), setting.title()));
    let switched = Goal::ALL.map(|goal| (goal.scheme(), format!("by phase, for {}", goal.title())));
    for (scheme, title) in fixed.into_iter().chain(switched) {
        let there = Goal::ALL.map(|goal| found.mean(&goal.scheme(), &scheme, "time_ratio"));
        let mut row = vec![title];
        for measure in ["time_ns", "energy_cycles", "energy_time", "energy_time2"] {
            row.push(cell(over(&scheme, measure), 3));
        }
        row.extend(there.map(|share| cell(share.map(|share| 100.0 * share), 1)));
        table.rows.push(row);
    }
    table
}
