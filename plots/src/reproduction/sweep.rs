//! The paper's Figures 8 to 10, from the points of the sweep.

use hps_experiments::{Row, findings};

use crate::PlotError;
use crate::axis::frequency;
use crate::chapter::{Chapter, ChapterTable};
use crate::dataset::{DataSet, KindData, Metric, Spread};
use crate::figures::{overview, paper_figure};
use crate::table::percent;

/// The chapters of what was measured, none without rows. Where nothing was timed, Figures 8 and 9
/// have no overheads and are left out.
pub(super) fn chapters(sets: &[DataSet<'_>], rows: &[Row]) -> Result<Vec<Chapter>, PlotError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut chapters = Vec::new();
    if rows.iter().any(|row| row.timing.is_some()) {
        chapters.push(figure_8(sets)?);
        chapters.push(figure_9(sets)?);
    }
    chapters.push(figure_10(sets, rows)?);
    Ok(chapters)
}

fn new(number: u8, title: &str) -> Chapter {
    Chapter {
        id: format!("figure{number}"),
        title: format!("Figure {number}: {title}"),
        ..Chapter::default()
    }
}

/// Adds the pictures of a figure and, for each set and kind, the table that `table` makes.
fn fill(
    chapter: &mut Chapter,
    number: u8,
    sets: &[DataSet<'_>],
    table: impl Fn(&DataSet<'_>, &[KindData<'_>]) -> ChapterTable,
) -> Result<(), PlotError> {
    for (at, set) in sets.iter().enumerate() {
        let kinds = set.kinds();
        // Sets of one instruction set differ in input or version.
        let twice = sets.iter().filter(|s| s.isa == set.isa).count() > 1;
        let number_of_set = if twice {
            format!("-set{}", at + 1)
        } else {
            String::new()
        };
        for data in &kinds {
            if let Some(figure) = paper_figure(number, set, data)? {
                let kind = data.kind.name().replace('_', "-");
                let name = format!("figure{number}-{}{number_of_set}-{kind}", set.isa);
                chapter.figures.push((name, figure));
            }
        }
        chapter.tables.push(table(set, &kinds));
    }
    Ok(())
}

fn figure_8(sets: &[DataSet<'_>]) -> Result<Chapter, PlotError> {
    let mut chapter = new(8, "accuracy against overhead");
    chapter.text = vec![
        "The paper shows means over its programs, with bursts of 100 for hot data streams and of 1 for the others: \
         call pairs and methods reach 90% at about 0.2% of overhead and cost about 1% at 1/100; data streams cost more \
         and stay far less accurate."
            .to_string(),
        "Here each frequency stands at the mean over programs, with lines over the middle half of them from five programs on, \
         and a dot for each program. Renormalized: \
         shares are taken anew among the members that make up 90% of a profile, so that equal profiles reach 100%. \
         Capped: shares are of the whole profile, so that equal profiles reach about 90%. The paper does not say which \
         it used."
            .to_string(),
    ];
    for set in sets {
        for data in set.kinds() {
            chapter.text.extend(sentence(set, &data));
        }
    }
    let all = overview(sets)?;
    chapter
        .figures
        .extend(all.map(|figure| ("figure8-all".to_string(), figure)));
    fill(&mut chapter, 8, sets, spreads)?;
    Ok(chapter)
}

/// The most and the least frequent point of Figure 8 in words.
fn sentence(set: &DataSet<'_>, data: &KindData<'_>) -> Option<String> {
    let burst = data.shown_burst();
    let point = |&f: &u64| {
        let of = |metric| data.mean(metric, burst, f).map(|m| m.value);
        Some(format!(
            "{:.1}% ({:.1}% capped) at an overhead of {:.3}% when 1 event in {f} is sampled",
            of(Metric::Renormalized)?,
            of(Metric::Capped)?,
            of(Metric::Overhead)?
        ))
    };
    let known: Vec<String> = data.frequencies.iter().filter_map(point).collect();
    let (first, last) = (known.first()?, known.last()?);
    Some(format!(
        "{}s on {}: {first}; {last}.",
        capital(data.kind.title()),
        set.isa
    ))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Label of the spread beside a mean.
const MIDDLE: &str = "middle half (below five programs: each)";

/// Means and middle halves at the points of Figure 8.
fn spreads(set: &DataSet<'_>, kinds: &[KindData<'_>]) -> ChapterTable {
    let head = [
        "Profile",
        "Burst",
        "Frequency",
        "Programs",
        "Accuracy %",
        MIDDLE,
        "Capped %",
        MIDDLE,
        "Overhead %",
        MIDDLE,
        "range",
    ];
    let mut table = ChapterTable::new(&format!("Means over programs, {}", set.origin()), 1, &head);
    for data in kinds {
        let burst = data.shown_burst();
        for &f in &data.frequencies {
            let mut row = vec![
                data.kind.title().to_string(),
                burst.to_string(),
                frequency(f),
                data.mean(Metric::Renormalized, burst, f)
                    .map_or("0".to_string(), |m| m.programs.to_string()),
            ];
            for (metric, decimals) in [
                (Metric::Renormalized, 1),
                (Metric::Capped, 1),
                (Metric::Overhead, 3),
            ] {
                let spread = data.spread(metric, burst, f);
                row.push(percent(spread.as_ref().map(|s| s.mean), decimals));
                let or_nothing = |text: Option<String>| text.unwrap_or("–".to_string());
                let middle = spread.as_ref().map(|s| s.middle_or_values(decimals));
                row.push(or_nothing(middle));
                if metric == Metric::Overhead {
                    let range =
                        |s: &Spread| format!("{:.decimals$} to {:.decimals$}", s.low, s.high);
                    row.push(or_nothing(spread.as_ref().map(range)));
                }
            }
            table.rows.push(row);
        }
    }
    table
}

fn figure_9(sets: &[DataSet<'_>]) -> Result<Chapter, PlotError> {
    let mut chapter = new(9, "each program");
    chapter.text = vec![
        "The paper finds that most programs have overheads of the same shape, shifted by how densely a program meets \
         profiled events. It could analyse the data streams of 6 of its 14 programs, for want of memory; here are all."
            .to_string(),
    ];
    fill(&mut chapter, 9, sets, each)?;
    Ok(chapter)
}

/// Accuracy in both readings, and overhead, of each program.
fn each(set: &DataSet<'_>, kinds: &[KindData<'_>]) -> ChapterTable {
    let title = format!(
        "Each program, {}: accuracy % (capped %) at overhead %",
        set.origin()
    );
    let mut table = ChapterTable::new(&title, 2, &["Profile", "Program"]);
    let frequencies = kinds.first().map_or(&[][..], |data| &data.frequencies);
    table.head.extend(frequencies.iter().map(|&f| frequency(f)));
    table.folded = true;
    for data in kinds {
        let burst = data.shown_burst();
        for (program, name) in data.names.iter().enumerate() {
            let mut row = vec![data.kind.title().to_string(), name.clone()];
            row.extend(frequencies.iter().map(|&f| {
                let value =
                    |metric, decimals| percent(data.value(metric, program, burst, f), decimals);
                format!(
                    "{} ({}) at {}",
                    value(Metric::Renormalized, 1),
                    value(Metric::Capped, 1),
                    value(Metric::Overhead, 3)
                )
            }));
            table.rows.push(row);
        }
    }
    table
}

fn figure_10(sets: &[DataSet<'_>], rows: &[Row]) -> Result<Chapter, PlotError> {
    let mut chapter = new(10, "the length of bursts");
    chapter.text = vec![
        "The paper: long bursts are significantly better for hot data streams, bursts of 1 for hot call pairs and hot \
         methods, at the same frequency. Means over programs above, with lines over the middle half of them from five programs on; below the \
         programs with the highest, the middle and the lowest accuracy."
            .to_string(),
    ];
    chapter
        .text
        .extend(findings(rows).iter().map(|note| note.trim().to_string()));
    fill(&mut chapter, 10, sets, by_burst)?;
    Ok(chapter)
}

/// Mean accuracies by burst and frequency in both readings.
fn by_burst(set: &DataSet<'_>, kinds: &[KindData<'_>]) -> ChapterTable {
    let title = format!("Mean accuracy % (capped %) by burst, {}", set.origin());
    let mut table = ChapterTable::new(&title, 1, &["Profile", "Burst"]);
    let frequencies = kinds.first().map_or(&[][..], |data| &data.frequencies);
    table.head.extend(frequencies.iter().map(|&f| frequency(f)));
    for data in kinds {
        for &burst in &data.bursts {
            let mut row = vec![data.kind.title().to_string(), burst.to_string()];
            row.extend(frequencies.iter().map(|&f| {
                let mean = |metric| percent(data.mean(metric, burst, f).map(|m| m.value), 1);
                format!("{} ({})", mean(Metric::Renormalized), mean(Metric::Capped))
            }));
            table.rows.push(row);
        }
    }
    table
}
