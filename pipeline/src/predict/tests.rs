//! Tests of the whole unit: against naive models, on patterns, and across wrong paths.

use super::*;
use crate::config::{
    BimodalConfig, BranchConfig, BtbConfig, GshareConfig, IndirectConfig, PerceptronConfig,
    Predictor, RasRepair, TageConfig, TournamentConfig,
};
use std::collections::HashMap;

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn config(predictor: Predictor) -> BranchConfig {
    BranchConfig {
        predictor,
        ..BranchConfig::default()
    }
}

fn all_predictors() -> Vec<Predictor> {
    vec![
        Predictor::AlwaysTaken,
        Predictor::AlwaysNotTaken,
        Predictor::Perfect,
        Predictor::Bimodal(BimodalConfig::default()),
        Predictor::Gshare(GshareConfig::default()),
        Predictor::Tournament(TournamentConfig::default()),
        Predictor::Perceptron(PerceptronConfig::default()),
        Predictor::Tage(TageConfig::default()),
    ]
}

/// Predicts, repairs and teaches one conditional branch; says whether the prediction was right.
fn conditional(unit: &mut BranchUnit, pc: u64, taken: bool) -> bool {
    let mut cp = Checkpoint::default();
    let (kind, next, direct) = (BranchKind::Conditional, pc + 4, pc + 400);
    let predicted = unit.predict(pc, kind, next, direct, &mut cp);
    let target = if taken { direct } else { next };
    if predicted.taken != taken {
        unit.restore(&cp, kind, taken, target, next);
    }
    unit.train(&cp, pc, kind, taken, target);
    predicted.taken == taken
}

/// Two-bit counters in a map, for the models.
#[derive(Default)]
struct Saturating(HashMap<(u64, u64), i32>);

impl Saturating {
    fn taken(&self, key: (u64, u64), bits: u32) -> bool {
        let start = (1 << (bits - 1)) - 1;
        self.0.get(&key).copied().unwrap_or(start) >= 1 << (bits - 1)
    }

    fn train(&mut self, key: (u64, u64), bits: u32, taken: bool) {
        let value = self.0.entry(key).or_insert((1 << (bits - 1)) - 1);
        *value = (*value + if taken { 1 } else { -1 }).clamp(0, (1 << bits) - 1);
    }
}

/// Word number modulo the table, with the second half of a word in the far half of the table.
fn slot(pc: u64, entries: u64) -> u64 {
    let far = if pc % 4 == 2 { entries / 2 } else { 0 };
    (pc / 4 % entries) ^ far
}

/// The last `count` outcomes as a number, the newest in bit 0.
fn recent(history: &[bool], count: usize) -> u64 {
    history
        .iter()
        .rev()
        .take(count)
        .enumerate()
        .map(|(back, taken)| u64::from(*taken) << back)
        .sum()
}

/// Runs a random stream through the unit and a model; both must agree on every branch.
fn agree(predictor: Predictor, mut model: impl FnMut(u64, &[bool], bool) -> bool) {
    let mut unit = BranchUnit::new(&config(predictor));
    let mut random = Random::new(21);
    let mut history = Vec::new();
    for _ in 0..30_000 {
        let pc = 0x4_0000 + random.below(300) * 2;
        let taken = random.below(100) < 20 + pc % 70;
        let expected = model(pc, &history, taken);
        let right = conditional(&mut unit, pc, taken);
        assert_eq!(right, expected == taken);
        history.push(taken);
    }
}

#[test]
fn bimodal_is_a_table_of_counters() {
    let mut counters = Saturating::default();
    agree(
        Predictor::Bimodal(BimodalConfig { entries: 64 }),
        |pc, _, taken| {
            let key = (slot(pc, 64), 0);
            let predicted = counters.taken(key, 2);
            counters.train(key, 2, taken);
            predicted
        },
    );
}

#[test]
fn gshare_is_a_table_by_address_and_history() {
    for history_bits in [0, 3, 8] {
        let mut counters = Saturating::default();
        let config = GshareConfig {
            entries: 256,
            history_bits,
        };
        agree(Predictor::Gshare(config), |pc, history, taken| {
            let past = recent(history, history_bits as usize);
            let key = (slot(pc, 256) ^ (past << (8 - history_bits)), 0);
            let predicted = counters.taken(key, 2);
            counters.train(key, 2, taken);
            predicted
        });
    }
}

#[test]
fn tournament_is_two_predictors_and_a_chooser() {
    let mut locals: HashMap<u64, Vec<bool>> = HashMap::new();
    let mut counters = Saturating::default();
    let config = TournamentConfig {
        local_history_entries: 64,
        local_history_bits: 6,
        local_counter_bits: 3,
        global_entries: 256,
        chooser_entries: 128,
    };
    agree(Predictor::Tournament(config), |pc, history, taken| {
        let mine = locals.entry(slot(pc, 64)).or_default();
        let local = (0, recent(mine, 6));
        let global = (1, recent(history, 8));
        let chooser = (2, recent(history, 7));
        let by_local = counters.taken(local, 3);
        let by_global = counters.taken(global, 2);
        let predicted = if counters.taken(chooser, 2) {
            by_global
        } else {
            by_local
        };
        if by_local != by_global {
            counters.train(chooser, 2, by_global == taken);
        }
        counters.train(local, 3, taken);
        counters.train(global, 2, taken);
        mine.push(taken);
        predicted
    });
}

#[test]
fn perceptrons_weigh_the_last_directions() {
    let history_bits = 6;
    let threshold = (1.93 * f64::from(history_bits) + 14.0) as i32;
    let mut weights: HashMap<u64, Vec<i32>> = HashMap::new();
    let config = PerceptronConfig {
        entries: 64,
        history_bits,
    };
    let sign = |taken: bool| if taken { 1 } else { -1 };
    agree(Predictor::Perceptron(config), |pc, history, taken| {
        // Before the first branch every direction is "not taken".
        let past = recent(history, history_bits as usize);
        let inputs: Vec<i32> = std::iter::once(1)
            .chain((0..history_bits).map(|back| sign((past >> back) & 1 == 1)))
            .collect();
        let mine = weights
            .entry(slot(pc, 64))
            .or_insert_with(|| vec![0; inputs.len()]);
        let sum: i32 = mine
            .iter()
            .zip(&inputs)
            .map(|(weight, input)| weight * input)
            .sum();
        let predicted = sum >= 0;
        if predicted != taken || sum.abs() <= threshold {
            for (weight, input) in mine.iter_mut().zip(&inputs) {
                *weight = (*weight + input * sign(taken)).clamp(-128, 127);
            }
        }
        predicted
    });
}

/// Share of right predictions in the second half of a stream.
fn accuracy(predictor: Predictor, stream: impl Fn(usize) -> (u64, bool)) -> f64 {
    let mut unit = BranchUnit::new(&config(predictor));
    let steps = 20_000;
    let mut right = 0;
    for step in 0..steps {
        let (pc, taken) = stream(step);
        let good = conditional(&mut unit, pc, taken);
        right += usize::from(good && step >= steps / 2);
    }
    right as f64 / (steps / 2) as f64
}

#[test]
fn patterns_are_learned_by_those_who_can() {
    let bimodal = || Predictor::Bimodal(BimodalConfig::default());
    let gshare = || Predictor::Gshare(GshareConfig::default());
    let tournament = || Predictor::Tournament(TournamentConfig::default());
    let tage = || Predictor::Tage(TageConfig::default());

    let alternating = |step: usize| (0x100, step.is_multiple_of(2));
    assert!(accuracy(bimodal(), alternating) < 0.6);
    for predictor in [gshare(), tournament(), tage()] {
        assert!(accuracy(predictor, alternating) > 0.999);
    }
    // A loop of 8 iterations: the bimodal predictor loses each exit, the others none.
    let eight = |step: usize| (0x200, step % 8 != 7);
    let lost = accuracy(bimodal(), eight);
    assert!((0.86..0.89).contains(&lost), "{lost}");
    for predictor in [gshare(), tournament(), tage()] {
        assert!(accuracy(predictor, eight) > 0.999);
    }
    // A loop of 60 iterations is beyond 12 bits of history and within TAGE's 130.
    let sixty = |step: usize| (0x300, step % 60 != 59);
    assert!(accuracy(gshare(), sixty) < 0.99);
    let learned = accuracy(tage(), sixty);
    assert!(learned > 0.998, "{learned}");
    // A direction that is that of 25 branches before: no table of 12 bits holds it, a perceptron of 28 weighs it.
    let perceptron = || Predictor::Perceptron(PerceptronConfig::default());
    let far = |step: usize| (0x400, (0x01d5_3a96_u32 >> (step % 25)) & 1 == 1);
    let learned = accuracy(perceptron(), far);
    assert!(learned > 0.998, "{learned}");
    assert!(accuracy(perceptron(), eight) > 0.999);
}

#[test]
fn static_predictors_do_what_they_say() {
    let stream = |step: usize| (0x100, !step.is_multiple_of(4));
    assert_eq!(accuracy(Predictor::AlwaysTaken, stream), 0.75);
    assert_eq!(accuracy(Predictor::AlwaysNotTaken, stream), 0.25);
}

#[test]
fn tage_lengths_grow_from_the_least_to_the_most() {
    let lengths = tage::history_lengths(&TageConfig::default());
    assert_eq!(lengths, [5, 10, 18, 35, 68, 130]);
    let tight = TageConfig {
        tables: 8,
        min_history_bits: 1,
        max_history_bits: 9,
        ..TageConfig::default()
    };
    let lengths = tage::history_lengths(&tight);
    assert!(
        lengths.windows(2).all(|pair| pair[0] < pair[1]),
        "{lengths:?}"
    );
}

fn random_kind(random: &mut Random) -> BranchKind {
    match random.below(9) {
        0..4 => BranchKind::Conditional,
        4 => BranchKind::Jump,
        5 => BranchKind::Call,
        6 => BranchKind::IndirectJump,
        7 => BranchKind::IndirectCall,
        _ => BranchKind::Return,
    }
}

/// One random branch with its outcome.
struct Step {
    pc: u64,
    kind: BranchKind,
    taken: bool,
    target: u64,
    direct: u64,
}

fn random_step(random: &mut Random) -> Step {
    let pc = 0x1000 + random.below(200) * 4;
    let kind = random_kind(random);
    let taken = kind != BranchKind::Conditional || random.below(2) == 0;
    let far = 0x9000 + (pc ^ (random.below(2) << 7));
    let is_direct = matches!(
        kind,
        BranchKind::Conditional | BranchKind::Jump | BranchKind::Call
    );
    Step {
        pc,
        kind,
        taken,
        target: if taken { far } else { pc + 4 },
        direct: if is_direct { far } else { 0 },
    }
}

/// A unit that is led down a wrong path after every branch, and brought back, predicts exactly
/// what a unit predicts that never left the right path.
#[test]
fn wrong_paths_leave_no_trace() {
    for predictor in all_predictors() {
        let mut config = config(predictor);
        config.ras_repair = RasRepair::Full;
        let mut straight = BranchUnit::new(&config);
        let mut lost = BranchUnit::new(&config);
        let mut random = Random::new(99);
        for _ in 0..3000 {
            let Step {
                pc,
                kind,
                taken,
                target,
                direct,
            } = random_step(&mut random);
            let (mut cp, mut lost_cp) = (Checkpoint::default(), Checkpoint::default());
            let expected = straight.predict(pc, kind, pc + 4, direct, &mut cp);
            straight.restore(&cp, kind, taken, target, pc + 4);
            let predicted = lost.predict(pc, kind, pc + 4, direct, &mut lost_cp);
            assert_eq!(predicted, expected, "{:?}", config.predictor);
            for _ in 0..random.below(30) {
                let wrong = random_step(&mut random);
                let mut scratch = Checkpoint::default();
                lost.predict(
                    wrong.pc,
                    wrong.kind,
                    wrong.pc + 4,
                    wrong.direct,
                    &mut scratch,
                );
            }
            if random.below(4) == 0 {
                lost.rewind(&lost_cp);
                let again = lost.predict(pc, kind, pc + 4, direct, &mut lost_cp);
                assert_eq!(again, expected);
            }
            lost.restore(&lost_cp, kind, taken, target, pc + 4);
            straight.train(&cp, pc, kind, taken, target);
            lost.train(&lost_cp, pc, kind, taken, target);
        }
    }
}

#[test]
fn calls_and_returns_meet() {
    let mut unit = BranchUnit::new(&BranchConfig::default());
    let mut cp = Checkpoint::default();
    for depth in 0..10_u64 {
        unit.predict(
            0x1000 * depth,
            BranchKind::Call,
            0x1000 * depth + 4,
            0x40,
            &mut cp,
        );
    }
    for depth in (0..10_u64).rev() {
        let back = unit.predict(0x44, BranchKind::Return, 0x48, 0, &mut cp);
        assert_eq!(back.target, 0x1000 * depth + 4);
    }
}

#[test]
fn indirect_targets_follow_the_history_with_the_target_cache() {
    // The target of the indirect jump is what the conditional branch before it decides.
    let mut right = [0; 2];
    for (with_cache, right) in right.iter_mut().enumerate() {
        let config = BranchConfig {
            indirect: IndirectConfig {
                entries: if with_cache == 1 { 512 } else { 0 },
                ..IndirectConfig::default()
            },
            ..config(Predictor::AlwaysNotTaken)
        };
        let mut unit = BranchUnit::new(&config);
        for step in 0..2000_u64 {
            let taken = step % 2 == 0;
            conditional(&mut unit, 0x100, taken);
            let target = if taken { 0x5000 } else { 0x6002 };
            let mut cp = Checkpoint::default();
            let kind = BranchKind::IndirectJump;
            let predicted = unit.predict(0x200, kind, 0x204, 0, &mut cp);
            *right += u64::from(predicted.target == target && step >= 1000);
            unit.restore(&cp, kind, true, target, 0x204);
            unit.train(&cp, 0x200, kind, true, target);
        }
    }
    assert_eq!(right, [0, 1000]);
}

#[test]
fn without_a_stack_returns_go_where_they_went_last() {
    let config = BranchConfig {
        ras_entries: 0,
        indirect: IndirectConfig {
            entries: 0,
            ..IndirectConfig::default()
        },
        ..BranchConfig::default()
    };
    let mut unit = BranchUnit::new(&config);
    let mut cp = Checkpoint::default();
    let first = unit.predict(0x40, BranchKind::Return, 0x44, 0, &mut cp);
    assert_eq!((first.target, first.btb_hit), (0, false));
    unit.train(&cp, 0x40, BranchKind::Return, true, 0x888);
    let second = unit.predict(0x40, BranchKind::Return, 0x44, 0, &mut cp);
    assert_eq!((second.target, second.btb_hit), (0x888, true));
}

#[test]
fn the_target_buffer_knows_taken_branches_only() {
    let config = BranchConfig {
        btb: BtbConfig::default(),
        ..config(Predictor::AlwaysTaken)
    };
    let mut unit = BranchUnit::new(&config);
    let mut cp = Checkpoint::default();
    let kind = BranchKind::Conditional;
    assert!(!unit.predict(0x40, kind, 0x44, 0x80, &mut cp).btb_hit);
    unit.train(&cp, 0x40, kind, false, 0x44);
    assert!(!unit.predict(0x40, kind, 0x44, 0x80, &mut cp).btb_hit);
    unit.train(&cp, 0x40, kind, true, 0x80);
    assert!(unit.predict(0x40, kind, 0x44, 0x80, &mut cp).btb_hit);
}

#[test]
fn a_perfect_unit_takes_the_outcome() {
    let mut unit = BranchUnit::new(&config(Predictor::Perfect));
    assert!(unit.tables.is_perfect());
    let mut cp = Checkpoint::default();
    let predicted = unit.predict_known(BranchKind::Conditional, true, 0x80, 0x44, &mut cp);
    assert_eq!((predicted.taken, predicted.target), (true, 0x80));
}
