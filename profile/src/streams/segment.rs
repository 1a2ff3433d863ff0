//! The candidates for hot data streams in one grammar.

use rustc_hash::FxHashMap;

use super::config::{EqualRules, StreamConfig};
use crate::sequitur::{Grammar, GrammarSymbol, Sequitur};

/// A stream that a segment's grammar produces often enough to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentStream {
    pub addresses: Vec<u64>,
    /// Uses in the derivation of the segment that lie in no other candidate.
    pub top_uses: u64,
    /// The candidates directly inside this one, by index in the segment's list, and how often
    /// each of them occurs in it. All of them are shorter.
    pub children: Vec<(u32, u32)>,
}

/// Data kept of a segment.
#[derive(Debug)]
pub struct FinishedSegment {
    /// In references.
    pub length: u64,
    /// The distinct addresses.
    pub distinct: Vec<u64>,
    /// The candidates.
    pub streams: Vec<SegmentStream>,
}

/// Takes what is kept out of a grammar and clears that for the next segment. `length` is in
/// references.
pub fn finish(sequitur: &mut Sequitur, config: &StreamConfig, length: u64) -> FinishedSegment {
    let hot = config.hot_fraction.ceil_of(length);
    let threshold = (hot / u64::from(config.segment_divisor)).max(1);
    sequitur.settle();
    let streams = candidates(&sequitur.grammar(), config, threshold);
    let distinct = sequitur.distinct_terminals().to_vec();
    sequitur.clear();
    FinishedSegment {
        length,
        distinct,
        streams,
    }
}

/// The streams of `grammar` that are within the limits of `config` and whose heat, if all of
/// their uses were cold, would reach `threshold`. The start rule is none of them.
///
/// Rules with the same expansion, not longer than `max_length`, are one stream unless
/// [`StreamConfig::equal_rules`] says otherwise: they are all treated as the one that stands for them.
pub fn candidates(grammar: &Grammar, config: &StreamConfig, threshold: u64) -> Vec<SegmentStream> {
    let order = grammar.reverse_postorder();
    let lengths = grammar.lengths(&order);
    let longest = u64::from(config.max_length);
    let canonical = match config.equal_rules {
        EqualRules::MergedByNumber => {
            let ranked = 0..grammar.rules();
            canonical_rules(grammar, &order, &lengths, longest, ranked)
        }
        EqualRules::MergedByPlace => {
            let ranked = by_place(grammar).into_iter();
            canonical_rules(grammar, &order, &lengths, longest, ranked)
        }
        EqualRules::Apart => (0..grammar.rules()).collect(),
    };
    let order = topological_order(&order, &lengths, &canonical, longest);
    let uses = flow(grammar, &canonical, &order, |_| true);
    let mut kept: Vec<(u64, u32, Vec<u64>)> = order
        .iter()
        .filter(|&&rule| rule != Grammar::START)
        .filter_map(|&rule| {
            let length = lengths[rule as usize];
            let potential = length.saturating_mul(uses[rule as usize]);
            let fits = (u64::from(config.min_length)..=longest).contains(&length);
            if !fits || potential < threshold {
                return None;
            }
            let addresses = grammar.expand(rule);
            let enough = distinct(&addresses) >= config.min_unique as usize;
            enough.then_some((potential, rule, addresses))
        })
        .collect();
    // Only a threshold of almost nothing leaves more than can be kept.
    kept.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    kept.truncate(config.max_candidates as usize);

    let mut place = vec![NONE; grammar.rules() as usize];
    for (index, (_, rule, _)) in kept.iter().enumerate() {
        place[*rule as usize] = index as u32;
    }
    let top_uses = flow(grammar, &canonical, &order, |rule| {
        place[rule as usize] == NONE
    });
    kept.into_iter()
        .map(|(_, rule, addresses)| SegmentStream {
            addresses,
            top_uses: top_uses[rule as usize],
            children: children(grammar, &canonical, &place, rule),
        })
        .collect()
}

const NONE: u32 = u32::MAX;

fn distinct(addresses: &[u64]) -> usize {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// The rules in the order in which their first expansions begin in the trace; of those that begin together the outer one
/// is first.
fn by_place(grammar: &Grammar) -> Vec<u32> {
    let mut seen = vec![false; grammar.rules() as usize];
    let mut order = Vec::with_capacity(seen.len());
    let mut open = vec![Grammar::START];
    while let Some(rule) = open.pop() {
        if std::mem::replace(&mut seen[rule as usize], true) {
            continue;
        }
        order.push(rule);
        let inside = grammar.used_rules(rule);
        let from = open.len();
        open.extend(inside.filter(|&used| !seen[used as usize]));
        open[from..].reverse();
    }
    order
}

/// For each rule the first one of `ranked` with the same expansion; rules longer than `longest`,
/// and the start rule, stand for themselves.
///
/// Expansions are compared by two polynomial hashes modulo 2^61 - 1, together 122 bits.
fn canonical_rules(
    grammar: &Grammar,
    order: &[u32],
    lengths: &[u64],
    longest: u64,
    ranked: impl Iterator<Item = u32>,
) -> Vec<u32> {
    const BASES: [u64; 2] = [0x0f3c_91d7_5a2b_e86d, 0x1b87_3593_4e1f_60a9];
    const PRIME: u64 = (1 << 61) - 1;
    // The residue of a sum of two residues.
    let modulo = |n: u64| if n >= PRIME { n - PRIME } else { n };
    // 2^61 is 1.
    let times = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        modulo((product as u64 & PRIME) + (product >> 61) as u64)
    };
    let powers = BASES.map(|base| {
        let mut powers = vec![1u64];
        for _ in 0..longest {
            powers.push(times(powers[powers.len() - 1], base));
        }
        powers
    });
    let mut hashes = vec![[0u64; 2]; grammar.rules() as usize];
    for &rule in order
        .iter()
        .rev()
        .filter(|&&rule| lengths[rule as usize] <= longest)
    {
        let mut hash = [0u64; 2];
        for symbol in grammar.body(rule) {
            let (inner, length) = match symbol {
                GrammarSymbol::Terminal(number) => ([u64::from(*number) + 1; 2], 1),
                GrammarSymbol::Rule(used) => (hashes[*used as usize], lengths[*used as usize]),
                GrammarSymbol::Terminator => continue,
            };
            for which in 0..2 {
                let shifted = times(hash[which], powers[which][length as usize]);
                hash[which] = modulo(shifted + inner[which]);
            }
        }
        hashes[rule as usize] = hash;
    }
    let mut first = FxHashMap::default();
    let mut canonical: Vec<u32> = (0..grammar.rules()).collect();
    for rule in ranked {
        let length = lengths[rule as usize];
        if rule != Grammar::START && length <= longest {
            let stands = first.entry((length, hashes[rule as usize])).or_insert(rule);
            canonical[rule as usize] = *stands;
        }
    }
    canonical
}

/// The canonical rules, each before those that it uses: the start rule and the long rules in
/// reverse postorder, then the short ones by falling length. Replacing a rule by another one with
/// the same expansion can break the reverse postorder, but never the order of lengths.
fn topological_order(order: &[u32], lengths: &[u64], canonical: &[u32], longest: u64) -> Vec<u32> {
    let is_long = |rule: u32| rule == Grammar::START || lengths[rule as usize] > longest;
    let (mut result, mut short): (Vec<u32>, Vec<u32>) = order
        .iter()
        .filter(|&&rule| canonical[rule as usize] == rule)
        .partition(|&&r| is_long(r));
    short.sort_unstable_by_key(|&rule| (std::cmp::Reverse(lengths[rule as usize]), rule));
    result.append(&mut short);
    result
}

/// How often each rule occurs in the derivation of the segment, counting only what is reached
/// from the start rule through rules that `pass`.
fn flow(
    grammar: &Grammar,
    canonical: &[u32],
    order: &[u32],
    pass: impl Fn(u32) -> bool,
) -> Vec<u64> {
    let mut uses = vec![0u64; grammar.rules() as usize];
    uses[Grammar::START as usize] = 1;
    for &rule in order {
        if uses[rule as usize] > 0 && pass(rule) {
            let passed = uses[rule as usize];
            for used in grammar.used_rules(rule) {
                uses[canonical[used as usize] as usize] += passed;
            }
        }
    }
    uses
}

/// The nearest candidates under a candidate. At most as many steps as the stream is long.
fn children(grammar: &Grammar, canonical: &[u32], place: &[u32], rule: u32) -> Vec<(u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    let mut open = vec![rule];
    while let Some(rule) = open.pop() {
        for used in grammar.used_rules(rule) {
            let used = canonical[used as usize];
            match place[used as usize] {
                NONE => open.push(used),
                index => match found.iter_mut().find(|child| child.0 == index) {
                    Some(child) => child.1 += 1,
                    None => found.push((index, 1)),
                },
            }
        }
    }
    found.sort_unstable();
    found
}
