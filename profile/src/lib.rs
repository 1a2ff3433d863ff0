//! Profiles and what is computed from them: accuracy, hot data streams, files.
//!
//! The crate knows no simulator and no native counter. A profile collected by handlers in a
//! simulated pipeline, by a functional pass or by hardware is the same [`Profile`] here, so that
//! all of them are compared by the same code.
//!
//! | module | holds |
//! | --- | --- |
//! | [`fraction`] | [`Fraction`], an exact share in parts per million |
//! | [`key`] | the members: [`Instruction`], [`Line`], [`Function`], [`Method`], … |
//! | [`profile`] | [`Profile`]: member to weight, listing, cut |
//! | [`unit`] | what weights count: [`Events`], [`Cycles`] |
//! | [`mod@accuracy`] | overlap (renormalized and capped, or without cut), weight matching, rates |
//! | [`statistics`] | means with intervals, and whether paired differences are a draw |
//! | [`sequitur`] | [`Sequitur`], the grammar inference under hot data streams |
//! | [`streams`] | [`HotStreamAnalyzer`], hot data streams of a trace of any length |
//! | [`document`] | the JSON profile file |
//! | [`objects`] | files whose code a run had: members of runs that loaded them at different addresses |
//! | [`symbolized`] | [`SymbolizedProfile`]: stacks of locations with names, lines and values |
//! | [`formats`] | pprof, Firefox, speedscope, callgrind, folded, `perf script`, SVG, LLVM |
//! | [`text`] | flat and folded text for people and flame graph tools |
#![warn(missing_docs)]

// Tests share a sample with an example, which names this crate from outside.
#[cfg(test)]
extern crate self as hps_profile;

pub mod accuracy;
pub mod document;
pub mod formats;
pub mod fraction;
pub mod key;
pub mod objects;
pub mod profile;
pub mod sequitur;
pub mod statistics;
pub mod streams;
pub mod symbolized;
pub mod text;
pub mod unit;

pub use accuracy::{
    Accuracy, HotSet, Rate, accuracy, error_without_cut, overlap_without_cut, rate_error,
    share_within, weight_matching,
};
pub use document::{
    AnyProfileDocument, DocumentError, FORMAT, FORMAT_VERSION, ProfileDocument, ProfileFile,
    ProfileHeader,
};
pub use formats::Format;
pub use fraction::{Fraction, FractionError};
pub use key::{
    Block, CallPair, Context, DataStream, Edge, EventStack, Function, Instruction,
    InstructionError, KeyKind, KeyRegistry, Line, Method, Path, ProfileKey, ProfileKind, TimeSlice,
    Value,
};
pub use objects::{CodeRange, ProfileObject};
pub use profile::Profile;
pub use sequitur::{Grammar, GrammarSymbol, Sequitur};
pub use statistics::{
    PairedComparison, Summary, Verdict, compare_pairs, error_of_biased_draws, error_of_draws,
    half_width, summarize,
};
pub use streams::{
    BackgroundAnalyzer, EqualRules, HotStreamAnalyzer, StreamConfig, StreamConfigError,
    StreamProfile, StreamSummary,
};
pub use symbolized::SymbolizedProfile;
pub use unit::{Cycles, Events, Unit};
