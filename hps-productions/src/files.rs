//! The production files, as they lie in `productions/`.

use hps_dise::{DiseError, LoadOptions, ProductionSet};
use hps_profile::ProfileKind;

/// A production file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductionFile {
    /// Its name, also on the command line: the file's without the extension.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! production_file {
    ($name:literal, $path:literal, $description:literal) => {
        ProductionFile {
            name: $name,
            description: $description,
            text: include_str!(concat!("../productions/", $path, ".dise")),
        }
    };
}

/// The sampling framework.
pub const FRAMEWORK: ProductionFile = production_file!(
    "framework",
    "framework",
    "the sampling framework (Figure 4, corrected)"
);
/// The hot method profile.
pub const HOT_METHOD: ProductionFile = production_file!(
    "hot_method",
    "hot_method",
    "hot methods: calls and back-edges by method"
);
/// The hot call pair profile.
pub const HOT_CALL_PAIR: ProductionFile = production_file!(
    "hot_call_pair",
    "hot_call_pair",
    "hot call pairs: calls by call site and target"
);
/// The hot data stream profile.
pub const HOT_DATA_STREAM: ProductionFile = production_file!(
    "hot_data_stream",
    "hot_data_stream",
    "hot data streams: data addresses in bursts"
);
/// Replaces instructions by themselves.
pub const IDENTITY: ProductionFile = production_file!(
    "identity",
    "identity",
    "memory operations and calls replaced by themselves"
);
/// What the printed Figure 4 needs around it.
pub const FIGURE4_PREAMBLE: ProductionFile = production_file!(
    "figure4_preamble",
    "figures/preamble",
    "registers and counters for the printed Figure 4"
);
/// Figure 4 of the report as printed, which does not work.
pub const FIGURE4_PRINTED: ProductionFile = production_file!(
    "figure4_printed",
    "figures/figure4_printed",
    "Figure 4 as printed, for comparison"
);
/// Figure 5 of the report as printed, with handlers that do nothing.
pub const FIGURE5_PRINTED: ProductionFile = production_file!(
    "figure5_printed",
    "figures/figure5_printed",
    "Figure 5 as printed, for comparison"
);

/// Every file: those to be used first, then the figures as printed.
pub const ALL: [ProductionFile; 8] = [
    FRAMEWORK,
    HOT_METHOD,
    HOT_CALL_PAIR,
    HOT_DATA_STREAM,
    IDENTITY,
    FIGURE4_PREAMBLE,
    FIGURE4_PRINTED,
    FIGURE5_PRINTED,
];

impl ProductionFile {
    /// The file of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<ProductionFile> {
        ALL.into_iter().find(|file| file.name == name)
    }

    /// The productions of a profile type. They need [`FRAMEWORK`] beside them.
    #[must_use]
    pub const fn of_kind(kind: ProfileKind) -> ProductionFile {
        match kind {
            ProfileKind::Method => HOT_METHOD,
            ProfileKind::CallPair => HOT_CALL_PAIR,
            ProfileKind::DataStream => HOT_DATA_STREAM,
        }
    }
}

/// Loads files together, with the names under which messages report them.
///
/// # Errors
/// If the options name a parameter that no file declares, or give one a value that does not work.
pub fn load(files: &[ProductionFile], options: &LoadOptions) -> Result<ProductionSet, DiseError> {
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
    use hps_sim_core::isa::Isa;

    #[test]
    fn every_file_loads_and_is_found() {
        for file in ALL {
            assert_eq!(ProductionFile::find(file.name), Some(file));
            let files: &[ProductionFile] = match file.name {
                "figure4_printed" => &[FIGURE4_PREAMBLE, file],
                name if name.starts_with("hot_") => &[FRAMEWORK, file],
                _ => &[file],
            };
            for isa in Isa::ALL {
                let options = LoadOptions::default().for_isa(isa);
                let set = load(files, &options).unwrap_or_else(|e| panic!("{isa}: {e}"));
                if !file.name.starts_with("figure") {
                    let warnings: Vec<String> =
                        set.warnings().iter().map(ToString::to_string).collect();
                    assert!(warnings.is_empty(), "{isa}: {warnings:?}");
                }
            }
        }
        assert_eq!(ProductionFile::find("nothing"), None);
    }

    #[test]
    fn all_profile_types_fit_the_tables_together() {
        let all = [FRAMEWORK, HOT_METHOD, HOT_CALL_PAIR, HOT_DATA_STREAM];
        for isa in Isa::ALL {
            let set = load(&all, &LoadOptions::default().for_isa(isa));
            let set = set.unwrap_or_else(|e| panic!("{isa}: {e}"));
            assert!(hps_dise::DiseEngine::new(&set, &hps_dise::DiseConfig::default()).is_ok());
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
}
