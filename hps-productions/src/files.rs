//! The production files, as they lie in `productions/`.

use hps_dise::{DiseError, LoadOptions, ProductionSet};
use hps_profile::ProfileKind;

/// A production file.
#[derive(Clone, Copy, Debug)]
pub struct ProductionFile {
    /// Name, also on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub description: &'static str,
    /// Text of the file.
    pub text: &'static str,
    /// The files that it needs in front of it.
    pub needs: &'static [ProductionFile],
}

impl PartialEq for ProductionFile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ProductionFile {}

macro_rules! production_file {
    ($name:literal, $path:literal, [$($needs:expr),*], $description:literal) => {
        ProductionFile {
            name: $name,
            description: $description,
            text: include_str!(concat!("../productions/", $path, ".dise")),
            needs: &[$($needs),*],
        }
    };
}

/// The sampling framework.
pub const FRAMEWORK: ProductionFile = production_file!(
    "framework",
    "framework",
    [],
    "the sampling framework (Figure 4, corrected)"
);
/// Table and handler of hot methods.
pub const HOT_METHOD_HANDLER: ProductionFile = production_file!(
    "hot_method_handler",
    "handlers/hot_method",
    [],
    "the handler of hot methods, for every scheme of sampling"
);
/// Table and handler of hot call pairs.
pub const HOT_CALL_PAIR_HANDLER: ProductionFile = production_file!(
    "hot_call_pair_handler",
    "handlers/hot_call_pair",
    [],
    "the handler of hot call pairs, for every scheme of sampling"
);
/// Buffer and handler of hot data streams.
pub const HOT_DATA_STREAM_HANDLER: ProductionFile = production_file!(
    "hot_data_stream_handler",
    "handlers/hot_data_stream",
    [],
    "the handler of hot data streams, for every scheme of sampling"
);
/// Handlers of sampling interrupts.
pub const SAMPLE_HANDLER: ProductionFile = production_file!(
    "sample_handler",
    "handlers/sample",
    [],
    "handlers of sampling interrupts: records, their buffer and its reader's file"
);
/// Tables and handler of values.
pub const VALUES_HANDLER: ProductionFile = production_file!(
    "values_handler",
    "handlers/values",
    [],
    "the handler of values: the most frequent ones of each instruction"
);
/// DCPI's handler of sampling interrupts.
pub const DCPI_HANDLER: ProductionFile = production_file!(
    "dcpi_handler",
    "handlers/dcpi",
    [],
    "DCPI's handler of sampling interrupts: a hash table of samples, overflow buffers, the daemon's file"
);
/// The hot method profile.
pub const HOT_METHOD: ProductionFile = production_file!(
    "hot_method",
    "hot_method",
    [FRAMEWORK, HOT_METHOD_HANDLER],
    "hot methods: calls and back-edges by method"
);
/// The hot call pair profile.
pub const HOT_CALL_PAIR: ProductionFile = production_file!(
    "hot_call_pair",
    "hot_call_pair",
    [FRAMEWORK, HOT_CALL_PAIR_HANDLER],
    "hot call pairs: calls by call site and target"
);
/// The hot data stream profile.
pub const HOT_DATA_STREAM: ProductionFile = production_file!(
    "hot_data_stream",
    "hot_data_stream",
    [FRAMEWORK, HOT_DATA_STREAM_HANDLER],
    "hot data streams: data addresses in bursts"
);
/// Hot methods and hot call pairs, merged.
pub const HOT_METHOD_CALL_PAIR: ProductionFile = production_file!(
    "hot_method_call_pair",
    "hot_method_call_pair",
    [FRAMEWORK, HOT_METHOD_HANDLER, HOT_CALL_PAIR_HANDLER],
    "hot methods and hot call pairs in one run, merged"
);
/// Bursts at random distances.
pub const RANDOM_PERIOD: ProductionFile = production_file!(
    "random_period",
    "random_period",
    [FRAMEWORK],
    "beside the framework: bursts at random distances"
);
/// The sampling framework without conditional control.
pub const PLAIN_FRAMEWORK: ProductionFile = production_file!(
    "plain_framework",
    "plain/framework",
    [],
    "the sampling framework with plain DISE (section 4.1)"
);
/// The hot method profile without conditional control.
pub const PLAIN_HOT_METHOD: ProductionFile = production_file!(
    "plain_hot_method",
    "plain/hot_method",
    [PLAIN_FRAMEWORK, HOT_METHOD_HANDLER],
    "hot methods with plain DISE"
);
/// The hot call pair profile without conditional control.
pub const PLAIN_HOT_CALL_PAIR: ProductionFile = production_file!(
    "plain_hot_call_pair",
    "plain/hot_call_pair",
    [PLAIN_FRAMEWORK, HOT_CALL_PAIR_HANDLER],
    "hot call pairs with plain DISE"
);
/// The hot data stream profile without conditional control.
pub const PLAIN_HOT_DATA_STREAM: ProductionFile = production_file!(
    "plain_hot_data_stream",
    "plain/hot_data_stream",
    [PLAIN_FRAMEWORK, HOT_DATA_STREAM_HANDLER],
    "hot data streams with plain DISE"
);
/// Hot methods and hot call pairs without conditional control, merged.
pub const PLAIN_HOT_METHOD_CALL_PAIR: ProductionFile = production_file!(
    "plain_hot_method_call_pair",
    "plain/hot_method_call_pair",
    [PLAIN_FRAMEWORK, HOT_METHOD_HANDLER, HOT_CALL_PAIR_HANDLER],
    "hot methods and hot call pairs with plain DISE, merged"
);
/// Tags for SHIM.
pub const SHIM_TAG: ProductionFile = production_file!(
    "shim_tag",
    "shim_tag",
    [],
    "calls and returns store where they go, for an observer"
);
/// Tags for SHIM, at loop heads too.
pub const SHIM_LOOP_TAG: ProductionFile = production_file!(
    "shim_loop_tag",
    "shim_loop_tag",
    [],
    "calls, returns and branches backwards store where they go, for an observer"
);
/// A tag stack for SHIM.
pub const CALL_STACK: ProductionFile = production_file!(
    "call_stack",
    "call_stack",
    [],
    "calls push where they go and returns pop it, for an observer"
);
/// Tail calls in hot methods.
pub const TAIL_CALLS: ProductionFile = production_file!(
    "tail_calls",
    "tail_calls",
    [FRAMEWORK, HOT_METHOD_HANDLER, HOT_METHOD],
    "tail calls enter methods, too"
);
/// Tail calls in hot call pairs.
pub const TAIL_CALL_PAIRS: ProductionFile = production_file!(
    "tail_call_pairs",
    "tail_call_pairs",
    [FRAMEWORK, HOT_CALL_PAIR_HANDLER, HOT_CALL_PAIR],
    "tail calls make pairs, too"
);
/// A ring of calls for SHIM.
pub const CALL_PAIRS: ProductionFile = production_file!(
    "call_pairs",
    "call_pairs",
    [],
    "calls store site and target in a ring, for an observer"
);
/// A ring of calls and returns for SHIM.
pub const CALL_SEQUENCE: ProductionFile = production_file!(
    "call_sequence",
    "call_sequence",
    [],
    "calls and returns are stored in a ring, for an observer"
);
/// Yield points.
pub const YIELD_POINTS: ProductionFile = production_file!(
    "yield_points",
    "yield_points",
    [HOT_CALL_PAIR_HANDLER],
    "calls look whether a timer's handler wants them counted"
);
/// The handler of the timer of yield points.
pub const YIELD_HANDLER: ProductionFile = production_file!(
    "yield_handler",
    "handlers/yield",
    [],
    "the timer's handler that wants calls counted at yield points"
);
/// Outcomes of conditional branches.
pub const BRANCHES: ProductionFile = production_file!(
    "branches",
    "branches",
    [HOT_CALL_PAIR_HANDLER],
    "the outcome of every conditional branch is counted"
);
/// Paths across functions.
pub const PATHS: ProductionFile = production_file!(
    "paths",
    "paths",
    [HOT_CALL_PAIR_HANDLER],
    "every acyclic path across functions is counted"
);
/// Values.
pub const VALUES: ProductionFile = production_file!(
    "values",
    "values",
    [VALUES_HANDLER],
    "every value that an instruction computes is counted"
);
/// Replaces instructions by themselves.
pub const IDENTITY: ProductionFile = production_file!(
    "identity",
    "identity",
    [],
    "memory operations and calls replaced by themselves"
);
/// Registers and counters that the printed Figure 4 needs around it.
pub const FIGURE4_PREAMBLE: ProductionFile = production_file!(
    "figure4_preamble",
    "figures/preamble",
    [],
    "registers and counters for the printed Figure 4"
);
/// Figure 4 of the report as printed, which does not work.
pub const FIGURE4_PRINTED: ProductionFile = production_file!(
    "figure4_printed",
    "figures/figure4_printed",
    [FIGURE4_PREAMBLE],
    "Figure 4 as printed, for comparison"
);
/// Figure 5 of the report as printed, with handlers that do nothing.
pub const FIGURE5_PRINTED: ProductionFile = production_file!(
    "figure5_printed",
    "figures/figure5_printed",
    [],
    "Figure 5 as printed, for comparison"
);

/// Every file: those to be used first, then the handlers, then the figures as printed.
pub const ALL: [ProductionFile; 33] = [
    FRAMEWORK,
    HOT_METHOD,
    HOT_CALL_PAIR,
    HOT_DATA_STREAM,
    HOT_METHOD_CALL_PAIR,
    TAIL_CALLS,
    TAIL_CALL_PAIRS,
    RANDOM_PERIOD,
    PLAIN_FRAMEWORK,
    PLAIN_HOT_METHOD,
    PLAIN_HOT_CALL_PAIR,
    PLAIN_HOT_DATA_STREAM,
    PLAIN_HOT_METHOD_CALL_PAIR,
    IDENTITY,
    SHIM_TAG,
    SHIM_LOOP_TAG,
    CALL_STACK,
    CALL_PAIRS,
    CALL_SEQUENCE,
    YIELD_POINTS,
    BRANCHES,
    PATHS,
    VALUES,
    HOT_METHOD_HANDLER,
    HOT_CALL_PAIR_HANDLER,
    HOT_DATA_STREAM_HANDLER,
    VALUES_HANDLER,
    SAMPLE_HANDLER,
    DCPI_HANDLER,
    YIELD_HANDLER,
    FIGURE4_PREAMBLE,
    FIGURE4_PRINTED,
    FIGURE5_PRINTED,
];

/// Profiles that want the same instructions, and what stands for both: of two productions for one
/// instruction only one could win.
const MERGED: [([ProductionFile; 2], ProductionFile); 2] = [
    ([HOT_METHOD, HOT_CALL_PAIR], HOT_METHOD_CALL_PAIR),
    (
        [PLAIN_HOT_METHOD, PLAIN_HOT_CALL_PAIR],
        PLAIN_HOT_METHOD_CALL_PAIR,
    ),
];

impl ProductionFile {
    /// The file of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<ProductionFile> {
        ALL.into_iter().find(|file| file.name == name)
    }

    /// The productions of a profile type under [`FRAMEWORK`].
    #[must_use]
    pub const fn of_kind(kind: ProfileKind) -> ProductionFile {
        match kind {
            ProfileKind::Method => HOT_METHOD,
            ProfileKind::CallPair => HOT_CALL_PAIR,
            ProfileKind::DataStream => HOT_DATA_STREAM,
        }
    }

    /// Files to be loaded for this file beside others: those that it needs and the others do not bring, then the file
    /// itself, or the merged one that stands for it and one of the others.
    #[must_use]
    pub fn beside(self, others: &[ProductionFile]) -> Vec<ProductionFile> {
        let merged = MERGED.iter().find(|(pair, _)| {
            pair.contains(&self) && pair.iter().all(|p| *p == self || others.contains(p))
        });
        let file = merged.map_or(self, |(_, merged)| *merged);
        let needed = file.needs.iter().filter(|needed| !others.contains(needed));
        needed.copied().chain([file]).collect()
    }
}

/// The files with what they need, each once, in the order in which they are to be loaded.
#[must_use]
pub fn complete(files: &[ProductionFile]) -> Vec<ProductionFile> {
    let mut all = Vec::new();
    for file in files.iter().flat_map(|file| file.beside(files)) {
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all
}

/// Loads files together with what they need, with the names under which messages report them.
///
/// # Errors
/// If the options name a parameter that no file declares, or give one a value that does not work.
pub fn load(files: &[ProductionFile], options: &LoadOptions) -> Result<ProductionSet, DiseError> {
    let files = complete(files);
    let names: Vec<String> = files
        .iter()
        .map(|file| format!("{}.dise", file.name))
        .collect();
    let texts: Vec<(&str, &str)> = files
        .iter()
        .zip(&names)
        .map(|(file, name)| (file.text, name.as_str()))
        .collect();
    ProductionSet::parse_files(&texts, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;
    use hps_isa::isa::Isa;

    #[test]
    fn every_file_loads_and_is_found() {
        for file in ALL {
            assert_eq!(ProductionFile::find(file.name), Some(file));
            for isa in Isa::ALL {
                let options = LoadOptions::default().for_isa(isa);
                let set = load(&[file], &options).unwrap_or_else(|e| panic!("{isa}: {e}"));
                if !file.name.starts_with("figure") {
                    let report = hps_dise::check(&set);
                    let strange = !report.conflicts.is_empty() || !report.warnings.is_empty();
                    assert!(!strange, "{} for {isa}: {report}", file.name);
                }
            }
        }
        assert_eq!(ProductionFile::find("nothing"), None);
    }

    #[test]
    fn all_profile_types_fit_the_tables_together() {
        for (scheme, isa) in Scheme::ALL
            .into_iter()
            .flat_map(|s| Isa::ALL.map(|i| (s, i)))
        {
            let files = scheme.files(&ProfileKind::ALL);
            let set = load(&files, &LoadOptions::default().for_isa(isa));
            let set = set.unwrap_or_else(|e| panic!("{scheme} on {isa}: {e}"));
            let report = hps_dise::check(&set);
            assert!(report.is_clean(), "{scheme} on {isa}: {report}");
            let config = hps_dise::DiseConfig::default();
            assert!(hps_dise::DiseEngine::new(&set, &config).is_ok());
            assert!(report.pt_entries <= config.pt_entries, "{report}");
            assert!(report.rt_entries <= config.rt_entries, "{report}");
            // The smallest table of the machines that come with the project.
            assert!(report.ct_entries <= 8, "{report}");
            assert_eq!(set.handlers().len(), 3);
            for handler in set.handlers() {
                assert!(
                    (60..=300).contains(&handler.size),
                    "{isa}: {} has {} bytes",
                    handler.name,
                    handler.size
                );
            }
        }
    }

    #[test]
    fn files_bring_what_they_need_once() {
        let names = |files: &[ProductionFile]| -> Vec<&str> {
            complete(files).iter().map(|file| file.name).collect()
        };
        assert_eq!(
            names(&[HOT_METHOD]),
            ["framework", "hot_method_handler", "hot_method"]
        );
        assert_eq!(
            names(&[HOT_METHOD, HOT_DATA_STREAM, HOT_CALL_PAIR]),
            [
                "framework",
                "hot_method_handler",
                "hot_call_pair_handler",
                "hot_method_call_pair",
                "hot_data_stream_handler",
                "hot_data_stream",
            ]
        );
        assert_eq!(
            names(&[HOT_CALL_PAIR, FRAMEWORK]),
            ["hot_call_pair_handler", "hot_call_pair", "framework"]
        );
    }
}
