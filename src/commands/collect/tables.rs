//! HPS's profile by the tables that its handlers have written: of hardware contexts, or of threads.

use std::io::Write;

use hps_productions::{CollectedProfile, Collector, CollectorError, Tables, TablesOf};
use hps_profile::{Profile, ProfileKey};
use hps_sim_core::process::Process;
use serde_json::{Value, json};

use crate::cli::{CollectArgs, TablesKind};

/// Members of a table that are printed in its line.
const TOP: usize = 3;

/// What one table holds, and whose it is.
pub(super) struct Table {
    pub owner: String,
    pub collected: CollectedProfile,
}

/// Whose tables the handlers write on a machine with so many hardware contexts.
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

/// The tables that were written to; none where all is in one.
pub(super) fn read(collector: &Collector, process: &Process) -> Result<Vec<Table>, CollectorError> {
    let tables = collector.tables();
    let owner: Box<dyn Fn(usize) -> String> = match tables.of {
        TablesOf::All => return Ok(Vec::new()),
        TablesOf::Context => Box::new(|number| format!("context {number}")),
        TablesOf::Thread => {
            let owners = process.os.thread_table_owners();
            let last = tables.threads - 1;
            Box::new(move |number| match owners.get(number) {
                Some(tid) if number == last => format!("threads from {tid} on"),
                Some(tid) => format!("thread {tid}"),
                None => format!("table {number}"),
            })
        }
    };
    let all = collector.read_tables(&process.mem)?.into_iter();
    let table = |(number, collected)| Table {
        owner: owner(number),
        collected,
    };
    let is_used = |table: &Table| match &table.collected {
        CollectedProfile::Method { addresses, .. } => addresses.total() > 0,
        CollectedProfile::CallPair { call_pairs, .. } => call_pairs.total() > 0,
        CollectedProfile::DataStream(_) | CollectedProfile::Nothing => false,
    };
    Ok(all.enumerate().map(table).filter(is_used).collect())
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

/// The same as JSON.
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
