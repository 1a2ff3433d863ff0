//! Answers of a leaderboard: the profiler with the least error of each group, and which it is not told apart from.

use hps_experiments::leaderboard::{self, Board, Fit, Form};
use hps_experiments::{Mean, ProfileKind};

use crate::answer::{Erring, least};

/// For each form and kind of profile: of what, and the answer.
pub(super) fn of(board: &Board) -> Vec<(String, String)> {
    let watching = "where cycles go, profilers that watch only";
    let mut groups = vec![(watching, Form::Watching, None, None)];
    for budget in board.budgets() {
        groups.push((
            "where cycles go, at its cost",
            Form::Collected,
            None,
            budget,
        ));
        let kinds = ProfileKind::ALL.into_iter();
        groups.extend(kinds.map(|kind| (kind.title(), Form::Bursts, Some(kind), budget)));
    }
    let answer = |(of, form, kind, budget): (&str, Form, Option<ProfileKind>, Option<f64>)| {
        let level = kind.map_or("instruction", ProfileKind::name);
        let by = if kind.is_none() {
            " by instruction"
        } else {
            ""
        };
        let of_group = (board.entries.iter())
            .filter(|e| e.kind.is_some() || e.form == form)
            .filter(|e| (e.kind, e.budget) == (kind, budget) && e.fit != Fit::Above);
        let known = of_group.filter_map(|entry| {
            Some(Erring {
                name: &entry.name,
                error: mean(entry.mean.errors.get(level)?),
                overhead: entry.mean.overhead.as_ref().map(mean),
            })
        });
        let within = budget.map(|budget| format!(" within {:.1}%", 100.0 * budget));
        let within = within.unwrap_or_default();
        let of = format!("{of}{within} ({} on {})", board.isa, board.machine);
        Some((of, least(&known.collect::<Vec<_>>(), "profilers", by)?))
    };
    groups.into_iter().filter_map(answer).collect()
}

fn mean(of: &leaderboard::Mean) -> Mean {
    Mean {
        value: of.mean,
        half_width: of.half_width(),
        count: of.programs,
    }
}
