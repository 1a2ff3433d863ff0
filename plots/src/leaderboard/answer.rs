//! Answers of a leaderboard: the profiler with the least error of each group, and which it is not told apart from.

use hps_experiments::leaderboard::{self, Board, Form};
use hps_experiments::{Mean, ProfileKind};

use crate::answer::{Erring, least};

/// For each form and kind of profile: of what, and the answer.
pub(super) fn of(board: &Board) -> Vec<(String, String)> {
    let mut groups = vec![
        (
            "where cycles go, profilers that watch only",
            Form::Watching,
            None,
        ),
        ("where cycles go, at its cost", Form::Collected, None),
    ];
    groups.extend(ProfileKind::ALL.map(|kind| (kind.title(), Form::Bursts, Some(kind))));
    let answer = |(of, form, kind): (&str, Form, Option<ProfileKind>)| {
        let level = kind.map_or("instruction", ProfileKind::name);
        let by = if kind.is_none() {
            " by instruction"
        } else {
            ""
        };
        let of_group = (board.entries.iter()).filter(|e| (e.form, e.kind) == (form, kind));
        let known = of_group.filter_map(|entry| {
            Some(Erring {
                name: &entry.name,
                error: mean(entry.mean.errors.get(level)?),
                overhead: entry.mean.overhead.as_ref().map(mean),
            })
        });
        let of = format!("{of} ({} on {})", board.isa, board.machine);
        Some((of, least(&known.collect::<Vec<_>>(), "profilers", by)?))
    };
    groups.into_iter().filter_map(answer).collect()
}

fn mean(of: &leaderboard::Mean) -> Mean {
    Mean {
        value: of.mean,
        half_width: of.half_width,
        count: of.programs,
    }
}
