//! The settings of the hot data stream analysis.

use serde::{Deserialize, Serialize};

use crate::fraction::Fraction;
use crate::sequitur::Sequitur;

/// Conditions for a hot stream, and the memory that the analysis may take.
///
/// The thresholds of heat are relative to the trace that is analysed: a sampled trace is judged by
/// its own length, so that it finds the same streams with a hundredth of the references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StreamConfig {
    /// Shortest stream, in references. Default 2.
    pub min_length: u32,
    /// Longest stream, in references. Default 100, the published limit.
    pub max_length: u32,
    /// Least distinct addresses in a stream. Default 2: one address referenced again and again is
    /// a hot word and no sequence, with nothing to lay out or to prefetch. Published studies use
    /// between 1 and 10.
    pub min_unique: u32,
    /// Least heat, as a fraction of the trace's length. Default 0.01.
    pub hot_fraction: Fraction,
    /// Report a stream that is another one repeated, such as `abcabc`, under the sequence that it
    /// repeats, `abc`, with its whole heat. Default false, as published. Sequitur doubles the
    /// rules of a loop as long as the loop lasts, so that a short burst sees `abc` where the whole
    /// trace has `abcabcabcabc`; with this the two are the same member.
    pub fold_repetitions: bool,
    /// Treatment of rules of one grammar that produce the same sequence, which Sequitur can have. Default
    /// [`EqualRules::MergedByNumber`]. The publications do not say.
    #[serde(skip_serializing_if = "EqualRules::is_default")]
    pub equal_rules: EqualRules,
    /// Size of the grammar, in live symbols, at which a segment of the trace ends. This bounds the
    /// memory of the analysis whatever the length of the trace: a segment costs 32 to 120 bytes for
    /// each symbol, most where nothing repeats (see [`Sequitur`]), and its analysis about 40 more
    /// while it lasts. Default 4,000,000: at most 640 MB. A repetitive trace has a small grammar and
    /// can go on in one segment for long.
    ///
    /// With 65,536, at most 10 MB, the analysis stays in a processor's cache and takes half the
    /// time, but what is found in segments is not what is found in the whole.
    pub max_grammar_symbols: u32,
    /// By how much the threshold of heat is lowered within a segment. Default 10.
    pub segment_divisor: u32,
    /// Most candidate streams that are kept between segments. Default 65,536, each at most 8 bytes
    /// for each reference of `max_length` plus about 500.
    pub max_candidates: u32,
    /// Most distinct addresses that are counted exactly; beyond it their number is estimated.
    /// Default 2,097,152, about 20 to 40 MB.
    pub max_exact_unique: u32,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            min_length: 2,
            max_length: 100,
            min_unique: 2,
            hot_fraction: Fraction::from_percent(1),
            fold_repetitions: false,
            equal_rules: EqualRules::default(),
            max_grammar_symbols: 4_000_000,
            segment_divisor: 10,
            max_candidates: 1 << 16,
            max_exact_unique: 1 << 21,
        }
    }
}

/// Treatment of rules with the same expansion. Whichever rule stands for merged ones decides which shorter streams are
/// known inside it, and so which of them stay cold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EqualRules {
    /// Equal rules are one stream, and the rule with the lowest number stands for all: rules are numbered breadth
    /// first, from the start rule on, each body from left to right.
    #[default]
    MergedByNumber,
    /// Equal rules are one stream, and the rule whose expansion begins first in the trace stands for all.
    MergedByPlace,
    /// Each is judged by its own uses.
    Apart,
}

impl EqualRules {
    fn is_default(&self) -> bool {
        *self == EqualRules::default()
    }
}

/// A setting of [`StreamConfig`] that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("data stream setting `{setting}` is {value}: it must be from {least} to {most}")]
pub struct StreamConfigError {
    /// The name of the field.
    pub setting: &'static str,
    /// The given value.
    pub value: u32,
    /// The least value allowed.
    pub least: u32,
    /// The greatest value allowed.
    pub most: u32,
}

impl StreamConfig {
    /// The greatest `max_length`.
    pub const LONGEST: u32 = 10_000;

    /// Whether the settings can work.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn validate(&self) -> Result<(), StreamConfigError> {
        // Half of what a grammar can hold, since one push adds a few symbols beyond the limit.
        let most_symbols = Sequitur::MAX_SYMBOLS as u32 / 2;
        let ranges = [
            ("max_length", self.max_length, 2, Self::LONGEST),
            ("min_length", self.min_length, 2, self.max_length),
            ("min_unique", self.min_unique, 1, self.max_length),
            (
                "max_grammar_symbols",
                self.max_grammar_symbols,
                64,
                most_symbols,
            ),
            ("segment_divisor", self.segment_divisor, 1, u32::MAX),
            ("max_candidates", self.max_candidates, 16, 1 << 24),
        ];
        for (setting, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(StreamConfigError {
                    setting,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}
