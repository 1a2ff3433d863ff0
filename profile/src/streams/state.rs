//! An analyzer as a value that `serde` writes and makes.
//!
//! The segment that is being read is written as its grammar, which is shorter than its references, and read again from
//! there: an analyzer is what its references have made of it.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::candidates::Candidates;
use super::config::StreamConfig;
use super::unique::UniqueCounter;
use super::{HotStreamAnalyzer, Segments};
use crate::sequitur::{Grammar, Sequitur};

/// References that are handed to the grammar at once.
const AT_ONCE: usize = 4096;

/// An analyzer whose grammar is finished.
#[derive(Serialize, Deserialize)]
struct Written {
    /// Settings as JSON, in which some may be left out; formats without names of fields cannot do that.
    config: String,
    grammar: Grammar,
    segment_length: u64,
    recent: Vec<u64>,
    terminators: Vec<u32>,
    candidates: Candidates,
    unique: UniqueCounter,
    trace_length: u64,
    count: u64,
}

impl Serialize for HotStreamAnalyzer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Written::from(self.clone()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for HotStreamAnalyzer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        HotStreamAnalyzer::try_from(Written::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl From<HotStreamAnalyzer> for Written {
    fn from(analyzer: HotStreamAnalyzer) -> Written {
        let HotStreamAnalyzer {
            config,
            sequitur,
            segment_length,
            recent,
            terminators,
            finished:
                Segments {
                    candidates,
                    unique,
                    trace_length,
                    count,
                },
        } = analyzer;
        Written {
            config: serde_json::to_string(&config).expect("settings are numbers"),
            grammar: sequitur.grammar(),
            segment_length,
            recent,
            terminators,
            candidates,
            unique,
            trace_length,
            count,
        }
    }
}

impl TryFrom<Written> for HotStreamAnalyzer {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<HotStreamAnalyzer, Self::Error> {
        let Written {
            config,
            grammar,
            segment_length,
            recent,
            terminators,
            candidates,
            unique,
            trace_length,
            count,
        } = written;
        let config: StreamConfig =
            serde_json::from_str(&config).map_err(|_| "the settings are none")?;
        config.validate().map_err(|_| "a setting is out of range")?;
        let ends = terminators.iter().map(|end| *end as usize);
        if !ends.clone().is_sorted() || ends.max().is_some_and(|last| last > recent.len()) {
            return Err("a burst ends before it begins");
        }
        Ok(HotStreamAnalyzer {
            sequitur: read_again(&grammar, segment_length)?,
            config,
            segment_length,
            recent,
            terminators,
            finished: Segments {
                candidates,
                unique,
                trace_length,
                count,
            },
        })
    }
}

/// Reads the sequence of a grammar that has so many references.
fn read_again(grammar: &Grammar, references: u64) -> Result<Sequitur, &'static str> {
    const MOST: usize = Sequitur::MAX_SYMBOLS / 2;
    if grammar.length() != Some(references) {
        return Err("the grammar of a segment has another length");
    }
    let mut sequitur = Sequitur::new();
    let mut chunk = Vec::with_capacity(AT_ONCE);
    let mut fits = true;
    let mut take = |chunk: &mut Vec<u64>, is_end: bool| {
        fits = fits && sequitur.push_all(chunk, MOST) == chunk.len();
        if is_end && fits {
            sequitur.push_terminator();
        }
        chunk.clear();
    };
    grammar.for_each_symbol(Grammar::START, |symbol| {
        chunk.extend(symbol);
        if symbol.is_none() || chunk.len() == AT_ONCE {
            take(&mut chunk, symbol.is_none());
        }
    });
    take(&mut chunk, false);
    match fits {
        true => Ok(sequitur),
        false => Err("the grammar of a segment is too large"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// References that repeat, in bursts, with a limit that ends segments.
    fn analyzer(references: u64) -> HotStreamAnalyzer {
        let config = StreamConfig {
            max_grammar_symbols: 3000,
            max_exact_unique: 900,
            ..StreamConfig::default()
        };
        let mut analyzer = HotStreamAnalyzer::new(config).expect("the settings are in range");
        push(&mut analyzer, 0, references);
        analyzer
    }

    fn push(analyzer: &mut HotStreamAnalyzer, from: u64, to: u64) {
        for at in from..to {
            let noise = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
            let address = if at / 97 % 3 == 0 { noise } else { at % 23 };
            analyzer.push(0x1000 + 8 * address);
            if at % 1013 == 7 {
                analyzer.push_terminator();
            }
        }
    }

    #[test]
    fn an_analyzer_goes_on_from_what_was_written() {
        for length in [0, 1, 900, 1500, 20_011, 70_000] {
            let mut straight = analyzer(length);
            let json = serde_json::to_string(&straight).expect("it is written");
            let mut read: HotStreamAnalyzer = serde_json::from_str(&json).expect("it is read");
            assert_eq!(serde_json::to_string(&read).expect("again"), json);
            push(&mut straight, length, 90_000);
            push(&mut read, length, 90_000);
            let [written, straight] = [read.finish(), straight.finish()];
            assert_eq!(written, straight, "{length}");
            assert!(straight.summary.segments > 2 && !straight.profile.is_empty());
        }
    }

    #[test]
    fn what_is_no_grammar_is_an_error() {
        let json = serde_json::to_string(&analyzer(900)).expect("it is written");
        let read = |json: &str| serde_json::from_str::<HotStreamAnalyzer>(json).err();
        assert!(read(&json).is_none());
        for (number, from) in ["\"Rule\":1}", "\"Terminal\":0}", "\"segment_length\":0"]
            .into_iter()
            .enumerate()
        {
            let to = ["\"Rule\":0}", "\"Terminal\":99999}", "\"segment_length\":5"][number];
            let mut of = analyzer(3000);
            of.take_recent();
            let json = match number {
                2 => json.clone(),
                _ => serde_json::to_string(&of).expect("it is written"),
            };
            assert!(json.contains(from), "{from}");
            assert!(read(&json.replacen(from, to, 1)).is_some(), "{to}");
        }
    }
}
