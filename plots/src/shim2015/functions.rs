//! Functions by samples at three periods: figure 1.

use hps_experiments::Table;
use hps_experiments::shim::functions::{
    EVERY, HOTTEST, QUANTILES, SCHEME, setting, setting_of_quantile, setting_of_rank,
};

use crate::PlotError;
use crate::chapter::{Chapter, ChapterTable};
use crate::figures::Series;
use crate::measured::{Column, Row, means, number, percent};
use crate::reproduction::parts::{diagram, linear_diagram, over};

/// The hottest functions whose share the table tells.
const SHARES: [usize; 4] = [1, 3, 10, 100];

/// The chapter of one instruction set, if functions were measured there.
pub(super) fn chapter(isa: &str, found: &Table<'_>) -> Result<Option<Chapter>, PlotError> {
    let programs = found.programs(SCHEME);
    if programs.is_empty() {
        return Ok(None);
    }
    let mut chapter = Chapter {
        id: format!("functions-{isa}"),
        title: format!("Functions at three periods: {isa} on {}", found.machine),
        text: vec![
            "Kept samples of an observer on the program's core. Coarser samples are every tenth and every hundredth of them, each \
             with the tag at the end of its interval. Functions are in the order of their samples as they are."
                .to_string(),
        ],
        tables: vec![table(found)],
        ..Chapter::default()
    };
    if isa == "alpha" {
        chapter.text.push(
            "Programs cannot read counters of instructions here. The true count of each interval stands for them, so that what \
             is off is what tags are charged with."
                .to_string(),
        );
    }
    let subtitle = format!("{isa} on {}; {}", found.machine, over(programs.len()));
    let shares = EVERY.map(|every| Series {
        label: name(every),
        points: points(HOTTEST, |first| {
            let share = found.mean(
                SCHEME,
                &setting(every),
                &format!("hottest_{first}_share_ratio"),
            )?;
            Some((first as f64, 100.0 * share))
        }),
    });
    let title = "Samples of the hottest functions, together (figure 1(a))";
    let axes = ("The hottest functions, log scale", "Samples, %");
    let drawn = diagram((title, &subtitle), axes.0, axes.1, shares.into())?;
    chapter
        .figures
        .extend(drawn.map(|drawn| (format!("{isa}-functions-share"), drawn)));
    let spread = EVERY.map(|every| Series {
        label: name(every),
        points: points(QUANTILES, |percent| {
            let ipc = found.mean(SCHEME, &setting_of_quantile(every, percent), "interval_ipc")?;
            Some((ipc, f64::from(percent)))
        }),
    });
    let title = "Intervals by their instructions a cycle (figure 1(b))";
    let axes = ("Instructions a cycle", "Intervals with less, %");
    let drawn = linear_diagram((title, &subtitle), axes.0, axes.1, spread.into())?;
    chapter
        .figures
        .extend(drawn.map(|drawn| (format!("{isa}-functions-intervals"), drawn)));
    let of_one = one(found, &programs);
    let title = "Instructions a cycle of each function (figure 1(c))";
    let subtitle = format!(
        "{isa} on {}; {}, the program with the most functions",
        found.machine, of_one.0
    );
    let axes = ("Functions, the hottest one first", "Instructions a cycle");
    let drawn = linear_diagram((title, &subtitle), axes.0, axes.1, of_one.1)?;
    chapter
        .figures
        .extend(drawn.map(|drawn| (format!("{isa}-functions-ipc"), drawn)));
    Ok(Some(chapter))
}

fn points<T>(
    of: impl IntoIterator<Item = T>,
    point: impl Fn(T) -> Option<(f64, f64)>,
) -> Vec<(f64, f64)> {
    of.into_iter().filter_map(point).collect()
}

fn name(every: usize) -> String {
    match every {
        1 => "samples as they are".to_string(),
        10 => "every tenth".to_string(),
        100 => "every hundredth".to_string(),
        every => format!("every {every}"),
    }
}

/// The program with the most functions of which samples tell something, and what they tell.
fn one<'a>(found: &Table<'a>, programs: &[&'a str]) -> (&'a str, Vec<Series>) {
    let most = HOTTEST[HOTTEST.len() - 1];
    let ranked = |every: usize, measure: &str| -> Vec<(usize, _)> {
        let of = |rank| {
            (
                rank,
                found.by_program(SCHEME, &setting_of_rank(every, rank), measure),
            )
        };
        (1..=most).map(of).collect()
    };
    let finest = ranked(EVERY[0], "true_function_ipc");
    let functions = |program: &str| {
        let of = finest.iter().filter(|(_, by)| by.contains_key(program));
        of.count()
    };
    // Of equal ones the first by name.
    let program = programs
        .iter()
        .rev()
        .max_by_key(|program| functions(program));
    let program = program.copied().unwrap_or_default();
    let series = |label: String, all: &[(usize, std::collections::BTreeMap<&str, f64>)]| Series {
        label,
        points: points(all, |(rank, by)| Some((*rank as f64, *by.get(program)?))),
    };
    let mut all: Vec<Series> = EVERY
        .iter()
        .map(|every| series(name(*every), &ranked(*every, "function_ipc")))
        .collect();
    all.push(series("truth".to_string(), &finest));
    (program, all)
}

/// Functions at several periods: figures 1(a) and 1(c).
fn table(found: &Table<'_>) -> ChapterTable {
    let shares = SHARES.map(|first| {
        let measure = format!("hottest_{first}_share_ratio");
        percent(format!("Share of the {first} hottest, %"), measure, 1)
    });
    let of_functions = [
        number("Functions", "functions", 0),
        number("IPC, least", "function_ipc_min", 3),
        number("most", "function_ipc_max", 3),
        number("deviation", "function_ipc_deviation", 3),
        number("true deviation", "true_function_ipc_deviation", 3),
        number("error", "function_ipc_error", 3),
    ];
    let columns: Vec<Column> = shares.into_iter().chain(of_functions).collect();
    let rows = EVERY.map(|every| Row::new([name(every)]).of(SCHEME).at(setting(every)));
    let title = "Functions by kept samples on the same core, the IPC of those with at least two, means over programs";
    means(found, title, &["Samples"], rows, &columns)
}
