//! HPS's profile by the tables that its handlers have written: of hardware contexts, or of threads.

use std::io::Write;

use hps_productions::{Tables, TablesOf};
use hps_profile::{Profile, ProfileKey};
use serde_json::{Value, json};

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

/// The tables as JSON: weight and heaviest members of each.
pub(super) fn json<K: ProfileKey>(
    tables: &[(String, Profile<K>)],
    name: &dyn Fn(&K) -> String,
) -> Value {
    let table = |(owner, profile): &(String, Profile<K>)| {
        let listing = profile.listing();
        let member =
            |(member, weight): &(&K, u64)| json!({ "member": name(member), "weight": weight });
        let members: Vec<Value> = listing.iter().map(member).collect();
        json!({ "table_of": owner, "weight": profile.total(), "members": members })
    };
    tables.iter().map(table).collect()
}
