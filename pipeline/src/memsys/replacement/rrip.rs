//! Re-reference interval prediction, static and dynamic (Jaleel, Theobald, Steely and Emer, "High performance cache
//! replacement using re-reference interval prediction (RRIP)", ISCA 2010; the duel of sets is that of Qureshi et al.,
//! "Adaptive insertion policies for high performance caching", ISCA 2007).
//!
//! Each line has a prediction of when it is used again, from 0 (soon) to `2^bits - 1` (in the distant future). A hit
//! makes it 0. A line in the distant future makes room, the first of the set; while there is none, all lines of the set
//! become older. SRRIP brings a line in one before the distant future, so that a line that is used once goes before those
//! that were used again. BRRIP brings most lines in as of the distant future, so that a part of a loop larger than the
//! cache stays. DRRIP has a few sets of each kind, whose misses decide what all other sets do.

use super::{ReplacementPolicy, Requester};
use crate::config::{DrripConfig, SrripConfig};

/// How lines come into a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Insertion {
    /// One before the distant future.
    Long,
    /// In the distant future, but for one of many.
    Bimodal,
}

/// Role of a set in the duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The set shows the worth of an insertion.
    Leads(Insertion),
    Follows,
}

/// The duel between both insertions.
#[derive(Clone, Debug)]
struct Duel {
    /// Sets of which one leads for either insertion.
    constituency: usize,
    /// The selector rises with misses of sets that insert as SRRIP, and falls with those of BRRIP.
    selector: u32,
    most: u32,
    /// Of so many lines that BRRIP brings in, one is not in the distant future.
    one_in: u32,
    brought: u32,
}

hps_isa::save_state! {
    Duel {
        constituency: skip, selector, most: skip, one_in: skip, brought,
    }
}

impl Duel {
    fn role(&self, set: usize) -> Role {
        let (number, offset) = (set / self.constituency, set % self.constituency);
        let leader = number % self.constituency;
        if offset == leader {
            Role::Leads(Insertion::Long)
        } else if offset == self.constituency - 1 - leader {
            Role::Leads(Insertion::Bimodal)
        } else {
            Role::Follows
        }
    }

    /// How a line that missed comes into a set.
    fn insertion(&mut self, set: usize) -> Insertion {
        match self.role(set) {
            Role::Leads(Insertion::Long) => {
                self.selector = (self.selector + 1).min(self.most);
                Insertion::Long
            }
            Role::Leads(Insertion::Bimodal) => {
                self.selector = self.selector.saturating_sub(1);
                Insertion::Bimodal
            }
            Role::Follows if self.selector > self.most / 2 => Insertion::Bimodal,
            Role::Follows => Insertion::Long,
        }
    }
}

/// SRRIP, and with a duel DRRIP.
#[derive(Clone, Debug)]
pub(super) struct Rrip {
    /// Of each way of each set.
    predictions: Box<[u8]>,
    ways: usize,
    distant: u8,
    duel: Option<Duel>,
}

hps_isa::save_state! { Rrip { predictions, ways: skip, distant: skip, duel } }

impl Rrip {
    /// SRRIP.
    pub fn fixed(config: &SrripConfig, sets: usize, ways: usize) -> Self {
        let distant = (1_u8 << config.bits) - 1;
        Rrip {
            predictions: vec![distant; sets * ways].into_boxed_slice(),
            ways,
            distant,
            duel: None,
        }
    }

    /// DRRIP. A cache with a single set has nothing to duel, and is SRRIP.
    pub fn dynamic(config: &DrripConfig, sets: usize, ways: usize) -> Self {
        let srrip = SrripConfig { bits: config.bits };
        let leaders = (config.leader_sets as usize).min(sets / 8).max(1);
        let most = (1_u32 << config.selector_bits) - 1;
        let duel = (sets > 1).then(|| Duel {
            constituency: sets / leaders,
            selector: most / 2,
            most,
            one_in: config.long_one_in,
            brought: 0,
        });
        Rrip {
            duel,
            ..Rrip::fixed(&srrip, sets, ways)
        }
    }

    /// A line comes in that is not expected to be used again.
    pub fn make_distant(&mut self, set: usize, way: usize) {
        self.predictions[set * self.ways + way] = self.distant;
    }
}

impl ReplacementPolicy for Rrip {
    fn hit(&mut self, set: usize, way: usize, _line: u64, _by: Requester) {
        self.predictions[set * self.ways + way] = 0;
    }

    fn fill(&mut self, set: usize, way: usize, _line: u64, _by: Requester) {
        let mut prediction = self.distant - 1;
        if let Some(duel) = &mut self.duel
            && duel.insertion(set) == Insertion::Bimodal
        {
            duel.brought = (duel.brought + 1) % duel.one_in;
            prediction += u8::from(duel.brought != 0);
        }
        self.predictions[set * self.ways + way] = prediction;
    }

    fn victim(&mut self, set: usize, may_go: &dyn Fn(usize) -> bool) -> Option<usize> {
        let predictions = &mut self.predictions[set * self.ways..][..self.ways];
        let candidates = (0..self.ways).filter(|way| may_go(*way));
        let oldest = candidates.map(|way| predictions[way]).max()?;
        for prediction in predictions.iter_mut() {
            *prediction = (*prediction + (self.distant - oldest)).min(self.distant);
        }
        (0..self.ways).find(|way| predictions[*way] == self.distant && may_go(*way))
    }

    fn clear(&mut self) {
        self.predictions.fill(self.distant);
    }

    fn duplicate(&self) -> Box<dyn ReplacementPolicy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    const BY: Requester = Requester {
        instruction: 0,
        kind: super::super::RequestKind::Load,
    };

    /// A cache with a policy, by the paper's words: sets of lines, each with its prediction.
    struct Cache {
        policy: Rrip,
        sets: Vec<Vec<u64>>,
        ways: usize,
    }

    impl Cache {
        fn new(policy: Rrip, sets: usize, ways: usize) -> Self {
            Cache {
                policy,
                sets: vec![Vec::new(); sets],
                ways,
            }
        }

        /// Whether a line hits.
        fn access(&mut self, line: u64) -> bool {
            let number = line as usize % self.sets.len();
            let set = &mut self.sets[number];
            if let Some(way) = set.iter().position(|known| *known == line) {
                self.policy.hit(number, way, line, BY);
                return true;
            }
            let way = if set.len() < self.ways {
                set.push(line);
                set.len() - 1
            } else {
                let way = self.policy.victim(number, &|_| true).unwrap();
                self.policy.leave(number, way);
                set[way] = line;
                way
            };
            self.policy.fill(number, way, line, BY);
            false
        }
    }

    /// Figure 3 of the paper: after a1, a2, a2, a1 come b1 to b4, and then a1 and a2 again hit.
    #[test]
    fn the_example_of_the_papers_figure() {
        let srrip = Rrip::fixed(&SrripConfig { bits: 2 }, 1, 4);
        let mut cache = Cache::new(srrip, 1, 4);
        let hits: Vec<bool> = [1, 2, 2, 1, 11, 12, 13, 14, 1, 2]
            .map(|line| cache.access(line))
            .to_vec();
        assert_eq!(
            hits,
            [
                false, false, true, true, false, false, false, false, true, true
            ]
        );
        // b1 and b2 were used once and made room for b3 and b4.
        assert_eq!(cache.sets[0], [1, 2, 13, 14]);
    }

    #[test]
    fn every_line_becomes_older_while_none_is_in_the_distant_future() {
        let mut rrip = Rrip::fixed(&SrripConfig { bits: 3 }, 2, 4);
        for way in 0..4 {
            rrip.fill(1, way, 0, BY);
        }
        rrip.hit(1, 2, 0, BY);
        // 6, 6, 0, 6: by one, and the first goes.
        assert_eq!(rrip.victim(1, &|_| true), Some(0));
        assert_eq!(rrip.predictions[4..], [7, 7, 1, 7]);
        // Only way 2 may go: all become older until it is in the distant future, and none goes beyond.
        assert_eq!(rrip.victim(1, &|way| way == 2), Some(2));
        assert_eq!(rrip.predictions[4..], [7; 4]);
        assert_eq!(rrip.victim(1, &|_| false), None);
    }

    /// Against the paper's loop: take the first line in the distant future, or make all lines older and look again.
    #[test]
    fn victims_are_those_of_the_papers_loop() {
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let (bits, ways) = (1 + random.below(4) as u32, 1 + random.below(8) as usize);
            let mut rrip = Rrip::fixed(&SrripConfig { bits }, 1, ways);
            for prediction in &mut rrip.predictions {
                *prediction = random.below(1 << bits) as u8;
            }
            let stays: Vec<bool> = (0..ways).map(|_| random.below(4) == 0).collect();
            let mut expected = rrip.predictions.clone();
            let victim = if stays.iter().all(|stays| *stays) {
                None
            } else {
                loop {
                    let distant = |way: &usize| expected[*way] == rrip.distant && !stays[*way];
                    if let Some(way) = (0..ways).find(distant) {
                        break Some(way);
                    }
                    for prediction in &mut expected {
                        *prediction = (*prediction + 1).min(rrip.distant);
                    }
                }
            };
            assert_eq!(rrip.victim(0, &|way| !stays[way]), victim);
            assert_eq!(rrip.predictions, expected);
        }
    }

    #[test]
    fn each_constituency_has_one_leader_of_either_kind() {
        for (sets, wanted, leaders) in [(64, 4, 4), (2048, 32, 32), (2, 32, 1), (16, 32, 2)] {
            let config = DrripConfig {
                leader_sets: wanted,
                ..DrripConfig::default()
            };
            let policy = Rrip::dynamic(&config, sets, 2);
            let duel = policy.duel.expect("a duel");
            for insertion in [Insertion::Long, Insertion::Bimodal] {
                let leads = (0..sets).filter(|set| duel.role(*set) == Role::Leads(insertion));
                assert_eq!(leads.count(), leaders, "{sets} sets, {insertion:?}");
            }
        }
        assert!(Rrip::dynamic(&DrripConfig::default(), 1, 4).duel.is_none());
    }

    /// A loop over twice what the cache holds: nothing of it stays with SRRIP, a part of it does with DRRIP.
    #[test]
    fn a_loop_larger_than_the_cache_keeps_a_part_with_drrip() {
        let (sets, ways) = (64, 4);
        let hits = |policy: Rrip| {
            let mut cache = Cache::new(policy, sets, ways);
            let lines = (sets * ways * 2) as u64;
            let mut hits = 0;
            for round in 0..100 {
                for line in 0..lines {
                    hits += u64::from(cache.access(line) && round >= 50);
                }
            }
            hits as f64 / (50 * lines) as f64
        };
        let srrip = hits(Rrip::fixed(&SrripConfig::default(), sets, ways));
        let drrip = hits(Rrip::dynamic(&DrripConfig::default(), sets, ways));
        // Half of the lines fit; an eighth of the sets inserts as SRRIP whatever happens.
        assert!(srrip < 0.02, "{srrip}");
        assert!((0.3..0.5).contains(&drrip), "{drrip}");
    }
}
