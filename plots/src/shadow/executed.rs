//! The chapter of instrumentation that is executed as guest code.

use hps_experiments::shadow::executed::{BY_KEY, INSTRUCTIONS, Kind, Means};
use hps_experiments::shadow::{Data, ShadowStudy};

use super::{short, variants};
use crate::chapter::{Chapter, ChapterTable};
use crate::measured::{Column, by_program, number};

/// Chapter of the cost of executed instrumentation, and of shadows that are slowed down as much; `None` if it was not
/// executed.
pub(super) fn chapter(isa: &str, data: &Data<'_>) -> Option<Chapter> {
    let is_measured = |kind: &Kind| data.slowdown(*kind, Means::Dise).is_some();
    if !Kind::ALL.iter().any(is_measured) {
        return None;
    }
    let text = vec![
        format!(
            "Slowdown: cycles of an instruction of the program with instrumentation, which is executed as guest code in every \
             place and all the time, by cycles without, over the first {} instructions on {}. DISE expands instructions in \
             decode; in a new layout, instrumentation is fetched with the code. Handlers and tables are the same.",
            short(INSTRUCTIONS),
            data.machine()
        ),
        "Not executed: what a dynamic translator does beside that, which is translation and the search for translated code; \
         paths within functions, which would need a stack of paths; the search for streams in the buffer of references, which \
         runs elsewhere. A new layout inserts in front of instructions only, so that outcomes and results are not known there."
            .to_string(),
        format!(
            "Shadows of the second table have the slowdown that was measured for their program by DISE, run at load 1.0 with \
             samples of {} instructions, and translate nothing.",
            short(ShadowStudy::main_sample(&data.samples))
        ),
    ];
    let mut rows: Vec<(String, String)> = Kind::ALL
        .into_iter()
        .map(|kind| (format!("as slow as {}", kind.title()), kind.variant()))
        .collect();
    rows.push(("as slow as the key says".to_string(), BY_KEY.to_string()));
    let rows: Vec<(&str, &str)> = rows.iter().map(|(n, s)| (n.as_str(), s.as_str())).collect();
    Some(Chapter {
        id: format!("executed-{isa}"),
        title: format!(
            "Instrumentation that is executed: {isa} on {}",
            data.machine()
        ),
        text,
        tables: vec![
            slowdowns(data),
            variants(
                data,
                "Shadows with measured slowdowns, means over programs",
                &rows,
            ),
            of_each_program(data),
        ],
        ..Chapter::default()
    })
}

fn slowdowns(data: &Data<'_>) -> ChapterTable {
    let head = [
        "Kind",
        "By",
        "Slowdown, mean",
        "Least",
        "Largest",
        "Instructions added to one of the program",
    ];
    let mut table = ChapterTable::new("Slowdown by kind, over programs", 2, &head);
    for (kind, means) in all() {
        let added = data.of_scheme(means.name(), kind.name(), "added_per_instruction");
        let mean_added = added.values().sum::<f64>() / added.len().max(1) as f64;
        let numbers = match data.slowdown(kind, means) {
            Some((mean, least, largest)) => {
                [mean, least, largest, mean_added].map(|number| format!("{number:.2}"))
            }
            None => ["–"; 4].map(str::to_string),
        };
        let words = [kind.title().to_string(), means.title().to_string()];
        table.rows.push(words.into_iter().chain(numbers).collect());
    }
    table
}

/// Each kind with each means that executes it.
fn all() -> impl Iterator<Item = (Kind, Means)> {
    let all = Kind::ALL.into_iter();
    all.flat_map(|kind| Means::ALL.map(|means| (kind, means)))
        .filter(|(kind, means)| means.executes(*kind))
}

fn of_each_program(data: &Data<'_>) -> ChapterTable {
    let columns = all().map(|(kind, means)| {
        let head = format!("{}, {}", kind.name(), means.title());
        let column = number(head, "slowdown_ratio", 1);
        column.of(means.name()).at(kind.name())
    });
    let columns: Vec<Column> = columns.collect();
    let title = "Slowdown of each program";
    by_program(data.table(), title, &data.programs(), &columns).folded()
}
