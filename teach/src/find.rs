//! The next cycle in which something happens.

use hps_isa::said;
use hps_pipeline::core::EventSet;

use crate::protocol::{Problem, Wanted, address_of};
use crate::recorder::{Committed, Recorded};

/// The nearest cycle before or behind another one with a commit that is `wanted`.
pub(crate) fn find(
    recorded: &Recorded,
    cycle: u64,
    backwards: bool,
    wanted: &Wanted,
) -> Result<Option<u64>, Problem> {
    let event = match wanted {
        Wanted::Event { name } => EventSet::named(name)
            .ok_or_else(|| Problem::new(said!("there is no event `{name}`", name = name)))?,
        _ => EventSet::NONE,
    };
    let addresses = match wanted {
        Wanted::Address { any_of } => any_of
            .iter()
            .map(|text| address_of(text))
            .collect::<Result<Vec<u64>, _>>()?,
        _ => Vec::new(),
    };
    let fits = |commit: &&Committed| match wanted {
        Wanted::Commit => true,
        Wanted::Instruction => commit.is_program,
        Wanted::Address { .. } => addresses.contains(&commit.pc),
        Wanted::Event { .. } => commit.events.has(event),
        Wanted::Inserted => commit.is_inserted,
    };
    let commits = &recorded.commits;
    let found = if backwards {
        let before = commits.partition_point(|commit| commit.cycle < cycle);
        commits[..before].iter().rev().find(fits)
    } else {
        commits[recorded.commits_until(cycle)..].iter().find(fits)
    };
    Ok(found.map(|commit| commit.cycle))
}
