//! Hot data streams against a direct count in the derivation tree, the published example, and the
//! promises about segments and sampled traces.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::accuracy::accuracy;
use crate::fraction::Fraction;
use crate::sequitur::{Grammar, GrammarSymbol};

fn analyze(config: &StreamConfig, trace: &[Option<u64>]) -> StreamProfile {
    let mut analyzer = HotStreamAnalyzer::new(config.clone()).unwrap();
    for symbol in trace {
        match symbol {
            Some(address) => analyzer.push(*address),
            None => analyzer.push_terminator(),
        }
    }
    analyzer.finish()
}

fn letters(text: &str) -> Vec<Option<u64>> {
    text.bytes()
        .map(|byte| (byte != b'|').then_some(u64::from(byte)))
        .collect()
}

fn listing(profile: &StreamProfile) -> Vec<(String, u64)> {
    let word = |stream: &DataStream| stream.0.iter().map(|&a| char::from(a as u8)).collect();
    profile
        .profile
        .listing()
        .into_iter()
        .map(|(stream, heat)| (word(stream), heat))
        .collect()
}

/// Heat by the definition: the derivation tree is walked whole for each distinct expansion,
/// longest first, and nodes without a hot ancestor are counted.
mod by_definition {
    use super::*;

    struct Tree<'g> {
        grammar: &'g Grammar,
        /// The rule that stands for each expansion which is short enough to be a stream; a longer
        /// rule stands for itself.
        first: BTreeMap<Vec<u64>, u32>,
    }

    impl Tree<'_> {
        fn cold_uses(&self, rule: u32, wanted: &[u64], hot: &BTreeSet<Vec<u64>>) -> u64 {
            let mut count = 0;
            for symbol in self.grammar.body(rule) {
                let GrammarSymbol::Rule(used) = symbol else {
                    continue;
                };
                let expansion = self.grammar.expand(*used);
                if expansion == wanted {
                    count += 1;
                } else if !hot.contains(&expansion) {
                    let rule = self.first.get(&expansion).unwrap_or(used);
                    count += self.cold_uses(*rule, wanted, hot);
                }
            }
            count
        }
    }

    pub fn hot_streams(config: &StreamConfig, trace: &[Option<u64>]) -> BTreeMap<Vec<u64>, u64> {
        let mut sequitur = Sequitur::new();
        for symbol in trace {
            match symbol {
                Some(address) => sequitur.push(*address),
                None => sequitur.push_terminator(),
            }
        }
        let grammar = sequitur.grammar();
        let mut first = BTreeMap::new();
        for rule in 1..grammar.rules() {
            let expansion = grammar.expand(rule);
            if expansion.len() <= config.max_length as usize {
                first.entry(expansion).or_insert(rule);
            }
        }
        let length = trace.iter().flatten().count() as u64;
        let threshold = config.hot_fraction.ceil_of(length).max(1);
        let tree = Tree {
            grammar: &grammar,
            first,
        };
        let mut expansions: Vec<_> = tree.first.keys().collect();
        expansions.sort_by_key(|expansion| std::cmp::Reverse(expansion.len()));
        let (mut hot, mut result) = (BTreeSet::new(), BTreeMap::new());
        for expansion in expansions {
            let heat = expansion.len() as u64 * tree.cold_uses(Grammar::START, expansion, &hot);
            let unique = expansion.iter().collect::<BTreeSet<_>>().len();
            let lengths = config.min_length as usize..=config.max_length as usize;
            let fits = lengths.contains(&expansion.len()) && unique >= config.min_unique as usize;
            if fits && heat >= threshold {
                hot.insert(expansion.clone());
                result.insert(expansion.clone(), heat);
            }
        }
        result
    }
}

#[test]
fn published_example() {
    // PLDI 2002, figures 5 to 7: heat at least 8, lengths 2 to 7.
    let config = StreamConfig {
        max_length: 7,
        hot_fraction: Fraction::from_f64(8.0 / 15.0).unwrap(),
        ..StreamConfig::default()
    };
    let result = analyze(&config, &letters("abaabcabcabcabc"));
    assert_eq!(result.summary.hot_threshold, 8);
    assert_eq!(listing(&result), [("abcabc".into(), 12)]);
    assert_eq!(result.summary.coverage, 0.8);
    assert_eq!(
        (result.summary.unique_addresses, result.summary.segments),
        (3, 1)
    );
}

#[test]
fn folding_reports_the_repeated_part_with_the_whole_heat() {
    let config = StreamConfig {
        max_length: 7,
        hot_fraction: Fraction::from_percent(50),
        fold_repetitions: true,
        ..StreamConfig::default()
    };
    assert_eq!(
        listing(&analyze(&config, &letters("abaabcabcabcabc"))),
        [("abc".into(), 12)]
    );
    let part = |word: &'static [u64]| repeated_part(word).to_vec();
    assert_eq!(part(&[1, 2, 1, 2, 1]), [1, 2, 1, 2, 1]);
    assert_eq!(part(&[1, 1, 1]), [1]);
    assert_eq!(part(&[1, 2, 1, 1, 2, 1]), [1, 2, 1]);
    assert!(part(&[]).is_empty());
}

#[test]
fn limits_on_length_and_unique_addresses() {
    let trace = letters(&"xy".repeat(2).repeat(3))
        .into_iter()
        .chain(letters(&"a".repeat(40)));
    let trace: Vec<_> = trace.collect();
    let config = StreamConfig {
        max_length: 4,
        ..StreamConfig::default()
    };
    let two = analyze(&config, &trace);
    assert!(
        listing(&two).iter().all(|(word, _)| !word.contains('a')),
        "{two:?}"
    );
    let one = analyze(
        &StreamConfig {
            min_unique: 1,
            ..config
        },
        &trace,
    );
    assert!(listing(&one).contains(&("aaaa".into(), 40)), "{one:?}");
}

#[test]
fn an_empty_trace_has_no_streams() {
    let result = analyze(&StreamConfig::default(), &[None, None]);
    assert!(result.profile.is_empty());
    assert_eq!(
        (result.summary.trace_length, result.summary.segments),
        (0, 0)
    );
    assert_eq!(result.summary.coverage, 0.0);
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let config = StreamConfig {
        min_length: 200,
        ..StreamConfig::default()
    };
    let message = HotStreamAnalyzer::new(config).unwrap_err().to_string();
    assert_eq!(
        message,
        "data stream setting `min_length` is 200: it must be from 2 to 100"
    );
    let config = StreamConfig {
        max_grammar_symbols: u32::MAX,
        ..StreamConfig::default()
    };
    assert_eq!(
        config.validate().unwrap_err().setting,
        "max_grammar_symbols"
    );
    assert!(serde_json::from_str::<StreamConfig>("{\"max_lenght\": 3}").is_err());
    assert_eq!(
        serde_json::from_str::<StreamConfig>("{}").unwrap(),
        StreamConfig::default()
    );
}

/// References of a program that walks one of several fixed structures, with noise in between.
fn program_trace(length: usize, structures: u64, noise_in: u64) -> Vec<Option<u64>> {
    let mut state = 5u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    let mut trace = Vec::with_capacity(length);
    while trace.len() < length {
        if random() % noise_in == 0 {
            trace.push(Some((1 << 40) | (random() % 100_000 * 8)));
        } else {
            let which = random() % structures;
            let size = 5 + which % 9;
            trace.extend((0..size).map(|at| Some((which << 20) | ((at * 24) ^ (which * 8)))));
        }
    }
    trace.truncate(length);
    trace
}

#[test]
fn segments_find_what_the_whole_finds() {
    let trace = program_trace(200_000, 12, 3);
    let whole = analyze(&StreamConfig::default(), &trace);
    let config = StreamConfig {
        max_grammar_symbols: 4_000,
        ..StreamConfig::default()
    };
    let cut = analyze(&config, &trace);
    assert_eq!(whole.summary.segments, 1);
    assert!(cut.summary.segments > 5, "{:?}", cut.summary);
    assert_eq!(whole.summary.unique_addresses, cut.summary.unique_addresses);
    assert!(whole.summary.coverage > 0.5, "{:?}", whole.summary);
    assert!(
        (whole.summary.coverage - cut.summary.coverage).abs() < 0.1,
        "{:?}",
        cut.summary
    );
    let overlap = accuracy(&cut.profile, &whole.profile, Fraction::NINETY_PERCENT);
    assert!(overlap.renormalized > 0.7, "{overlap:?}");
}

#[test]
fn a_small_candidate_table_keeps_the_hottest() {
    let trace = program_trace(100_000, 12, 3);
    let config = StreamConfig {
        max_grammar_symbols: 4_000,
        ..StreamConfig::default()
    };
    let roomy = analyze(&config, &trace);
    let tight = analyze(
        &StreamConfig {
            max_candidates: 80,
            ..config
        },
        &trace,
    );
    assert!(tight.summary.dropped_candidates > 0);
    let overlap = accuracy(&tight.profile, &roomy.profile, Fraction::NINETY_PERCENT);
    assert!(overlap.renormalized > 0.7, "{overlap:?}");
    assert!(tight.summary.coverage <= 1.0);
}

fn short_trace() -> impl Strategy<Value = Vec<Option<u64>>> {
    // Words drawn from a few, so that there are streams to find, and single letters between them.
    let word = prop::sample::select(vec![
        "abc", "abcd", "bca", "xyxyz", "zz", "ab", "|", "c", "q",
    ]);
    prop::collection::vec(word, 1..60).prop_map(|words| letters(&words.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn agrees_with_the_definition(
        trace in short_trace(),
        min_length in 2u32..5,
        more in 0u32..20,
        min_unique in 1u32..4,
        percent in 0u32..40,
    ) {
        let config = StreamConfig {
            min_length,
            max_length: (min_length + more).max(min_unique),
            min_unique,
            hot_fraction: Fraction::from_percent(percent),
            ..StreamConfig::default()
        };
        let result = analyze(&config, &trace);
        let found: BTreeMap<Vec<u64>, u64> =
            result.profile.iter().map(|(stream, heat)| (stream.0.to_vec(), heat)).collect();
        prop_assert_eq!(found, by_definition::hot_streams(&config, &trace));
        prop_assert!(result.profile.total() <= result.summary.trace_length);
    }

    #[test]
    fn segments_and_small_tables_keep_the_invariants(trace in short_trace(), tight in any::<bool>()) {
        let config = StreamConfig {
            max_grammar_symbols: 64,
            max_candidates: if tight { 16 } else { 1000 },
            hot_fraction: Fraction::from_percent(1),
            ..StreamConfig::default()
        };
        let result = analyze(&config, &trace);
        prop_assert!(result.profile.total() <= result.summary.trace_length);
        let unique: BTreeSet<_> = trace.iter().flatten().collect();
        prop_assert_eq!(result.summary.unique_addresses, unique.len() as u64);
        for (stream, heat) in result.profile.iter() {
            prop_assert!(heat >= result.summary.hot_threshold);
            prop_assert_eq!(heat % stream.0.len() as u64, 0);
            // Every stream is really somewhere in the trace.
            let wanted: Vec<_> = stream.0.iter().copied().map(Some).collect();
            prop_assert!(trace.windows(wanted.len()).any(|window| window == wanted));
        }
    }
}

#[test]
fn what_equal_rules_become_is_a_choice_that_decides() {
    let of = |equal_rules| StreamConfig {
        equal_rules,
        hot_fraction: Fraction::from_f64(0.001).unwrap(),
        ..StreamConfig::default()
    };
    let mut different = [0; 2];
    for seed in 1..40 {
        // Two letters in bursts: Sequitur finds the same words by several ways.
        let mut state: u64 = seed;
        let mut below = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let trace: Vec<Option<u64>> = (0..20_000)
            .map(|_| (below(100) > 0).then(|| below(2)))
            .collect();
        let used = analyze(&of(EqualRules::MergedByNumber), &trace);
        let others = [EqualRules::MergedByPlace, EqualRules::Apart];
        for (at, other) in others.into_iter().enumerate() {
            let found = analyze(&of(other), &trace);
            assert!(
                found.profile.total() <= 20_000,
                "no reference is counted twice"
            );
            different[at] += u32::from(found.profile != used.profile);
        }
    }
    assert!(different.iter().all(|count| *count > 0), "{different:?}");
}
