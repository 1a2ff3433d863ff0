//! `hps leaderboard --list`: the profilers that are registered.

use hps_experiments::leaderboard::{self, Cost, ProfilerInfo};

use super::args::LeaderboardArgs;
use crate::document::{Described, Format};
use crate::text::{Align, Table};

/// Prints the profilers, or writes them as JSON.
pub fn list(args: &LeaderboardArgs) -> anyhow::Result<u8> {
    let all = leaderboard::all();
    args.json.write(&all)?;
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("cost", Align::Left),
        ("a period counts", Align::Left),
        ("its records", Align::Left),
        ("what it takes", Align::Left),
        ("what it does", Align::Left),
    ]);
    for profiler in all {
        let cost = match profiler.cost {
            Cost::Free => "none charged",
            Cost::Either => "none, or executed",
            Cost::Charged => "charged",
            Cost::Executed => "executed",
        };
        let cells = [
            profiler.name,
            cost,
            profiler.counts,
            &profiler.records,
            profiler.takes,
            profiler.about,
        ];
        table.row(cells.map(str::to_string));
    }
    let native = "on the machine itself: `hps shim run`, `hps shadow run`";
    args.json
        .print_text(&format!("{}\n{native}\n", table.render()))?;
    Ok(0)
}

/// Format of the list of profilers.
const FORMAT: Format = Format::new("hps-profilers", 1);

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<Vec<ProfilerInfo>>(&["leaderboard --list"])
}
