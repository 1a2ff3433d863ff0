//! HPS's profile by the tables that its handlers have written: of hardware contexts, or of threads.

use std::io::Write;

use hps_productions::{Tables, TablesOf};
use hps_profile::{Profile, ProfileKey};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{CollectArgs, TablesKind};

/// Members of a table that are printed in its line.
const TOP: usize = 3;

/// The tables that the handlers write on a machine with `contexts` hardware contexts.
pub(super) fn asked(args: &CollectArgs, contexts: usize) -> Tables {
    let several = contexts > 1;
    let of = match args.tables {
        Some(TablesKind::Context) => TablesOf::Context,
        None if several => TablesOf::Context,
        Some(TablesKind::Thread) => TablesOf::Thread,
        Some(TablesKind::Shared) | None => TablesOf::All,
    };
    Tables {
        of,
        contexts,
        ..Tables::default()
    }
}

/// A line for each table: its weight, and its heaviest members.
pub(super) fn print<K: ProfileKey>(
    out: &mut dyn Write,
    tables: &[(String, Profile<K>)],
    name: &dyn Fn(&K) -> String,
) -> std::io::Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{:>9}  {:<22} heaviest", "sampled", "table of")?;
    for (owner, profile) in tables {
        let share = |weight: u64| 100.0 * weight as f64 / profile.total().max(1) as f64;
        let listing = profile.listing();
        let members = listing.iter().take(TOP);
        let members =
            members.map(|(member, weight)| format!("{:.1}% {}", share(*weight), name(member)));
        let members: Vec<String> = members.collect();
        writeln!(
            out,
            "{:>9}  {owner:<22} {}",
            profile.total(),
            members.join(", ")
        )?;
    }
    Ok(())
}

/// A table that handlers have written.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TableDocument {
    /// The context or thread that the table is of.
    table_of: String,
    /// Sum of all weights.
    weight: u64,
    /// Members, the heaviest first.
    members: Vec<MemberDocument>,
}

/// A member of a table.
#[derive(Debug, Serialize, JsonSchema)]
struct MemberDocument {
    /// Name of the member.
    member: String,
    /// Weight of the member.
    weight: u64,
}

/// The tables as JSON.
pub(super) fn documents<K: ProfileKey>(
    tables: &[(String, Profile<K>)],
    name: &dyn Fn(&K) -> String,
) -> Vec<TableDocument> {
    let member = |(member, weight): (&K, u64)| MemberDocument {
        member: name(member),
        weight,
    };
    let table = |(owner, profile): &(String, Profile<K>)| TableDocument {
        table_of: owner.clone(),
        weight: profile.total(),
        members: profile.listing().into_iter().map(member).collect(),
    };
    tables.iter().map(table).collect()
}
