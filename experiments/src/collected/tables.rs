//! The tables that handlers of HPS have written: of hardware contexts, or of threads.

use hps_productions::{CollectedProfile, Collector, CollectorError, TablesOf};
use hps_system::process::Process;

/// Contents of one table, and its owner.
pub(super) struct Table {
    pub owner: String,
    pub collected: CollectedProfile,
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
