//! TAGE: a bimodal table and tagged tables with geometric history lengths (Seznec and Michaud,
//! "A case for (partially) tagged geometric history length branch prediction", 2006).

use super::bimodal::Bimodal;
use super::contents::{by_branch, column};
use super::counters::pc_index;
use super::direction::{DirectionPredictor, Histories, Memo};
use super::history::{Folds, History, MAX_TABLES};
use crate::config::TageConfig;
use crate::contents::{Contents, Held};

/// Names of the tagged tables, the shortest history first.
const TAGGED: [&str; MAX_TABLES] = [
    "tage_1", "tage_2", "tage_3", "tage_4", "tage_5", "tage_6", "tage_7", "tage_8",
];

/// No tagged table provided the prediction.
const BASE: u8 = u8::MAX;
const CTR_MAX: i8 = 3;
const CTR_MIN: i8 = -4;
const USEFUL_MAX: u8 = 3;
/// Bounds of the counter that says whether new entries are worse than the alternative.
const USE_ALT_RANGE: (i8, i8) = (-8, 7);

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    tag: u16,
    /// Taken if not negative.
    ctr: i8,
    useful: u8,
}

hps_isa::save_state! { Entry { tag, ctr, useful } }

impl Entry {
    fn taken(self) -> bool {
        self.ctr >= 0
    }

    /// Not yet better than a coin.
    fn is_new(self) -> bool {
        self.useful == 0 && (self.ctr == 0 || self.ctr == -1)
    }

    fn step(&mut self, taken: bool) {
        let step = if taken { 1 } else { -1 };
        self.ctr = (self.ctr + step).clamp(CTR_MIN, CTR_MAX);
    }
}

/// Parts of a prediction; training needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TagePrediction {
    taken: bool,
    provider: u8,
    alternative: u8,
    provider_taken: bool,
    alternative_taken: bool,
    new_entry: bool,
}

impl TagePrediction {
    fn memo(self) -> Memo {
        let flags = [
            self.taken,
            self.provider_taken,
            self.alternative_taken,
            self.new_entry,
        ];
        let [taken, provider_taken, alternative_taken, new_entry] = flags.map(u8::from);
        [
            self.provider,
            self.alternative,
            taken,
            provider_taken,
            alternative_taken,
            new_entry,
            0,
            0,
        ]
    }

    fn of(memo: &Memo) -> TagePrediction {
        let [provider, alternative, flags @ .., _, _] = *memo;
        let [taken, provider_taken, alternative_taken, new_entry] = flags.map(|flag| flag != 0);
        TagePrediction {
            taken,
            provider,
            alternative,
            provider_taken,
            alternative_taken,
            new_entry,
        }
    }
}

/// The predictor's tables. Its long history is in [`History`].
#[derive(Clone, Debug)]
pub(super) struct Tage {
    base: Bimodal,
    entries: Box<[Entry]>,
    tables: usize,
    index_bits: u32,
    tag_mask: u16,
    use_alternative: i8,
    trained: u64,
    reset_interval: u64,
    /// State of the generator that spreads allocations.
    random: u32,
}

hps_isa::save_state! {
    Tage {
        base, entries, tables: skip, index_bits: skip, tag_mask: skip, use_alternative, trained,
        reset_interval: skip, random,
    }
}

/// History lengths of the tagged tables: geometric from the least to the most.
pub(super) fn history_lengths(config: &TageConfig) -> Vec<u32> {
    let (first, last) = (config.min_history_bits, config.max_history_bits);
    let tables = config.tables;
    let mut lengths = Vec::new();
    for table in 0..tables {
        let share = f64::from(table) / f64::from((tables - 1).max(1));
        let exact = f64::from(first) * (f64::from(last) / f64::from(first)).powf(share);
        let least = lengths.last().map_or(first, |previous| previous + 1);
        lengths.push((exact.round() as u32).max(least).min(last.max(least)));
    }
    lengths
}

impl Tage {
    pub fn new(config: &TageConfig) -> Self {
        let tables = (config.tables as usize).min(MAX_TABLES);
        Tage {
            base: Bimodal::new(config.base_entries),
            entries: vec![Entry::default(); tables * config.table_entries as usize]
                .into_boxed_slice(),
            tables,
            index_bits: config.table_entries.trailing_zeros(),
            tag_mask: (1 << config.tag_bits) - 1,
            use_alternative: 0,
            trained: 0,
            reset_interval: config.useful_reset_interval_branches,
            random: 0x9e37_79b9,
        }
    }

    /// The history that a predictor of this configuration needs.
    pub fn history(config: &TageConfig) -> History {
        History::folded(
            &history_lengths(config),
            config.table_entries.trailing_zeros(),
            config.tag_bits,
        )
    }

    /// Slot and tag of `pc` in a table.
    #[inline]
    fn place(&self, table: usize, pc: u64, folds: &Folds) -> (usize, u16) {
        let [index_fold, tag_fold, second_fold] = folds[table];
        let mask = (1 << self.index_bits) - 1;
        let mixed = pc_index(pc, self.index_bits)
            ^ (pc >> (self.index_bits + 2 + table as u32)) as usize
            ^ usize::from(index_fold);
        let slot = (table << self.index_bits) + (mixed & mask);
        let tag = ((pc >> 1) as u16 ^ tag_fold ^ (second_fold << 1)) & self.tag_mask;
        // Tag 0 is that of an empty entry; one address in 2^tag_bits shares a tag for it.
        (slot, tag.max(1))
    }

    fn ask(&self, pc: u64, folds: &Folds) -> TagePrediction {
        let base_taken = self.base.taken(pc);
        let mut prediction = TagePrediction {
            taken: base_taken,
            provider: BASE,
            alternative: BASE,
            provider_taken: base_taken,
            alternative_taken: base_taken,
            new_entry: false,
        };
        for table in (0..self.tables).rev() {
            let (slot, tag) = self.place(table, pc, folds);
            let entry = self.entries[slot];
            if entry.tag != tag {
                continue;
            }
            if prediction.provider == BASE {
                prediction.provider = table as u8;
                prediction.provider_taken = entry.taken();
                prediction.new_entry = entry.is_new();
            } else {
                prediction.alternative = table as u8;
                prediction.alternative_taken = entry.taken();
                break;
            }
        }
        let trust_alternative = prediction.new_entry && self.use_alternative >= 0;
        prediction.taken = if trust_alternative {
            prediction.alternative_taken
        } else {
            prediction.provider_taken
        };
        prediction
    }

    fn learn(&mut self, pc: u64, folds: &Folds, prediction: &TagePrediction, taken: bool) {
        if prediction.new_entry && prediction.provider_taken != prediction.alternative_taken {
            let step = if prediction.alternative_taken == taken {
                1
            } else {
                -1
            };
            let (low, high) = USE_ALT_RANGE;
            self.use_alternative = (self.use_alternative + step).clamp(low, high);
        }
        let new_but_right = prediction.new_entry && prediction.provider_taken == taken;
        if prediction.taken != taken && !new_but_right {
            self.allocate(pc, folds, prediction.provider, taken);
        }
        self.train_provider(pc, folds, prediction, taken);
        self.trained += 1;
        if self.trained == self.reset_interval {
            self.trained = 0;
            for entry in &mut self.entries {
                entry.useful >>= 1;
            }
        }
    }

    fn train_provider(&mut self, pc: u64, folds: &Folds, prediction: &TagePrediction, taken: bool) {
        self.step(prediction.provider, pc, folds, taken);
        if prediction.provider == BASE {
            return;
        }
        if prediction.new_entry {
            self.step(prediction.alternative, pc, folds, taken);
        }
        let (slot, tag) = self.place(usize::from(prediction.provider), pc, folds);
        let entry = &mut self.entries[slot];
        if entry.tag == tag && prediction.provider_taken != prediction.alternative_taken {
            entry.useful = if prediction.provider_taken == taken {
                (entry.useful + 1).min(USEFUL_MAX)
            } else {
                entry.useful.saturating_sub(1)
            };
        }
    }

    /// Moves the counter of a table (or of the base) if it still holds the branch.
    fn step(&mut self, table: u8, pc: u64, folds: &Folds, taken: bool) {
        if table == BASE {
            self.base.learn(pc, taken);
            return;
        }
        let (slot, tag) = self.place(usize::from(table), pc, folds);
        if self.entries[slot].tag == tag {
            self.entries[slot].step(taken);
        }
    }

    /// Takes an entry of a longer history that is not useful; if there is none, all of them become
    /// less useful. Each free table but the last is passed over with probability 1/2, so that two
    /// branches in turn do not evict each other for ever.
    fn allocate(&mut self, pc: u64, folds: &Folds, provider: u8, taken: bool) {
        let first = if provider == BASE {
            0
        } else {
            usize::from(provider) + 1
        };
        let mut chosen = None;
        for table in first..self.tables {
            let (slot, tag) = self.place(table, pc, folds);
            if self.entries[slot].useful == 0 {
                chosen = Some((slot, tag));
                if self.next_random() & 1 == 0 {
                    break;
                }
            }
        }
        if let Some((slot, tag)) = chosen {
            let ctr = if taken { 0 } else { -1 };
            self.entries[slot] = Entry {
                tag,
                ctr,
                useful: 0,
            };
            return;
        }
        for table in first..self.tables {
            let (slot, _) = self.place(table, pc, folds);
            self.entries[slot].useful = self.entries[slot].useful.saturating_sub(1);
        }
    }

    /// Xorshift (Marsaglia, 2003), period 2^32 - 1.
    fn next_random(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random
    }
}

impl DirectionPredictor for Tage {
    fn predict(&self, pc: u64, histories: Histories<'_>, memo: &mut Memo) -> bool {
        let prediction = self.ask(pc, histories.folds);
        *memo = prediction.memo();
        prediction.taken
    }

    fn train(&mut self, pc: u64, histories: Histories<'_>, memo: &Memo, taken: bool) {
        self.learn(pc, histories.folds, &TagePrediction::of(memo), taken);
    }

    fn contents(&self) -> Vec<Contents> {
        let base = by_branch(self.base.counters(), "tage_base");
        let tables = self.entries.chunks(1 << self.index_bits).zip(TAGGED);
        let tagged = tables.map(|(entries, name)| {
            let held = entries.iter().map(|entry| match entry.tag {
                0 => Held::Nothing,
                tag => Held::Tagged {
                    tag,
                    counter: entry.ctr,
                    useful: entry.useful,
                },
            });
            column(name, held.collect())
        });
        std::iter::once(base).chain(tagged).collect()
    }

    fn duplicate(&self) -> Box<dyn DirectionPredictor> {
        Box::new(self.clone())
    }
}
