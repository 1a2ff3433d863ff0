//! Choices that the publications leave open.

use hps_experiments::studies::choices::{AS_USED, NAME, ONE_IN};
use hps_experiments::{ProfileKind, UnitRecord};

use super::data::{ACCURACY, Numbers, heading};
use crate::PlotError;
use crate::axis::frequency;
use crate::chapter::{Chapter, ChapterTable};

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let text = vec![
        "The publications leave some choices open that decide results. The table shows how far the mean accuracy over programs \
         moves if another choice is made, in points, at the burst of Figure 8 and over the phases of its schedule; and which \
         program moves most. What concerns streams are the keys min_unique, equal_rules, fold_repetitions and \
         hot_fraction of `streams` in the definition of a sweep; the cut is the share of a profile whose hottest members are compared."
            .to_string(),
        "Two more choices have no key. A back-edge counts for the method that its target lies in, the loop's head. Rules of a \
         grammar are numbered breadth first from the start rule on, and of equal ones the lowest number stands for all; the \
         alternative by place takes the one whose expansion begins first in the trace."
            .to_string(),
    ];
    Ok(Some(Chapter {
        id: NAME.to_string(),
        title: "Choices and their weight".to_string(),
        text,
        figures: Vec::new(),
        tables: vec![table(&numbers)],
    }))
}

fn table(numbers: &Numbers<'_>) -> ChapterTable {
    let head = [
        "Profile",
        "Frequency",
        "Instead",
        "Mean accuracy %",
        "moves by (points)",
        "moves most (points)",
    ];
    let mut table = ChapterTable::new("Means over programs", 3, &head);
    let accuracies = numbers.measure(ACCURACY);
    for kind in ProfileKind::ALL {
        for one_in in ONE_IN {
            let at = accuracies.kind(kind).one_in(one_in);
            let used = at.setting(AS_USED);
            let Some(mean_as_used) = used.mean() else {
                continue;
            };
            for setting in at.settings() {
                let other = at.setting(setting);
                let Some(mean) = other.mean() else { continue };
                let moved = |program: &String| {
                    let of = |numbers: &Numbers<'_>| numbers.program(program).value();
                    Some((of(&other)? - of(&used)?, program.clone()))
                };
                let programs = other.programs();
                let most = programs.iter().filter_map(moved);
                let most = most.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
                if setting != AS_USED
                    && mean == mean_as_used
                    && most.as_ref().is_none_or(|m| m.0 == 0.0)
                {
                    continue;
                }
                table.rows.push(vec![
                    heading(kind),
                    frequency(one_in),
                    setting.to_string(),
                    format!("{:.1}", 100.0 * mean),
                    format!("{:+.1}", 100.0 * (mean - mean_as_used)),
                    most.map_or("–".to_string(), |(by, program)| {
                        format!("{program}: {:+.1}", 100.0 * by)
                    }),
                ]);
            }
        }
    }
    table
}
