//! The profiles of shadows over the keys of `hps_profile`: what can be kept in files, and compared with any other profile
//! over the same key.

use hps_profile::{CallPair, Edge, Instruction, Path, Profile, Value};

use crate::graphs::Graphs;
use crate::profiles::Profiles;
use crate::values::ValueProfiler;

impl Profiles<'_> {
    /// Instructions that were executed on each path within a function.
    #[must_use]
    pub fn by_path(&self, graphs: &Graphs<'_>) -> Profile<Path> {
        let entries = graphs.image().symbols.functions();
        let paths = self.paths.paths().all.iter();
        let of = |function: u32| entries.get(function as usize).map_or(0, |f| f.addr);
        paths
            .map(|(path, executions)| {
                let key = Path {
                    from: of(path.function),
                    before: 0,
                    number: path.number,
                };
                (key, executions.weight())
            })
            .collect()
    }

    /// Instructions that were executed on each path across functions.
    #[must_use]
    pub fn by_long_path(&self) -> Profile<Path> {
        let paths = self.paths.long_paths().all.iter();
        paths
            .map(|(path, executions)| {
                let key = Path {
                    from: path.from,
                    before: path.before,
                    number: path.number,
                };
                (key, executions.weight())
            })
            .collect()
    }

    /// Transfers of control.
    #[must_use]
    pub fn by_edge(&self) -> Profile<Edge> {
        let edges = self.paths.edges();
        edges
            .map(|((from, to), count)| (Edge { from, to }, count))
            .collect()
    }

    /// Calls by site and target.
    #[must_use]
    pub fn by_call_pair(&self) -> Profile<CallPair> {
        let calls = self.paths.calls();
        calls
            .map(|((site, target), count)| (CallPair { site, target }, count))
            .collect()
    }

    /// Executions by the value that they computed, as far as the tables hold it.
    #[must_use]
    pub fn by_value(&self) -> Profile<Value> {
        self.values.by_value()
    }
}

impl ValueProfiler {
    /// Executions by the value that they computed, as far as the tables hold it.
    #[must_use]
    pub fn by_value(&self) -> Profile<Value> {
        let tables = self.tables().iter();
        tables
            .flat_map(|(pc, table)| {
                let instruction = Instruction::at(*pc);
                let values = table.values.iter();
                values.map(move |&(value, count)| (Value { instruction, value }, count))
            })
            .collect()
    }
}
