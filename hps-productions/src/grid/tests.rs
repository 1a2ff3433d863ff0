//! The grid against samplers that simulate the framework's six productions, counter by counter.

use std::collections::HashMap;

use hps_isa::inst::{Inst, Op, OpClass};
use hps_profile::Fraction;

use super::*;
use crate::point::COUNTER_MAX;

mod phases;

/// P1 to P6 of Figure 4 (corrected) for one point, and the three profiles by their definitions.
struct Naive {
    initial: [u64; 2],
    counters: [u64; 2],
    addresses: HashMap<u64, u64>,
    pairs: HashMap<(u64, u64), u64>,
    trace: Vec<Option<u64>>,
    unsampled_event: bool,
}

impl Naive {
    fn new(point: &SamplePoint) -> Self {
        let initial = [
            COUNTER_MAX - point.sparsity,
            COUNTER_MAX - (point.burst - 1),
        ];
        Naive {
            initial,
            counters: initial,
            addresses: HashMap::new(),
            pairs: HashMap::new(),
            trace: Vec::new(),
            unsampled_event: false,
        }
    }

    fn overflow(&self, counter: usize) -> bool {
        self.counters[counter - 1] == COUNTER_MAX
    }

    fn step(&mut self, pc: u64, inst: &Inst, target: u64, addr: u64) {
        let call = inst.class.is_call();
        let backward = matches!(inst.class, OpClass::Branch | OpClass::Jump) && inst.imm <= 0;
        let head = if call {
            target
        } else {
            pc.wrapping_add(inst.imm as u64)
        };
        let on = self.overflow(1);
        if on && (call || backward) {
            *self.addresses.entry(head).or_default() += 1;
        }
        if on && call {
            *self.pairs.entry((pc, target)).or_default() += 1;
        }
        if on && inst.class.is_memory() {
            if std::mem::take(&mut self.unsampled_event) && !self.trace.is_empty() {
                self.trace.push(None);
            }
            self.trace.push(Some(addr));
        }
        if call || backward {
            self.unsampled_event |= !on;
            match (on, self.overflow(2)) {
                (false, _) => self.counters[0] += 1,
                (true, false) => self.counters[1] += 1,
                (true, true) => self.counters = self.initial,
            }
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn inst(class: OpClass, imm: i64) -> Inst {
    Inst {
        op: Op::Addi,
        class,
        imm,
        ..Inst::illegal(4)
    }
}

/// One instruction of a random program: address, instruction, address executed next, data address.
fn random_step(random: &mut Random) -> (u64, Inst, u64, u64) {
    let pc = 0x1000 + 4 * random.below(300);
    let kind = pc / 4 % 12;
    let imm = (pc as i64 / 4 % 50 - 25) * 4;
    match kind {
        0 => (
            pc,
            inst(OpClass::Call, imm * 16),
            pc.wrapping_add((imm * 16) as u64),
            0,
        ),
        1 => (
            pc,
            inst(OpClass::CallIndirect, 0),
            0x8000 + 16 * random.below(5),
            0,
        ),
        2 | 3 => {
            let target = pc.wrapping_add(imm as u64);
            (
                pc,
                inst(OpClass::Branch, imm),
                if random.below(2) == 0 { target } else { pc + 4 },
                0,
            )
        }
        4 => (pc, inst(OpClass::Jump, imm), pc.wrapping_add(imm as u64), 0),
        5 => (
            pc,
            inst(OpClass::Return, 0),
            0x1000 + 4 * random.below(300),
            0,
        ),
        6 => (pc, inst(OpClass::JumpIndirect, 0), 0x1000, 0),
        7 => (
            pc,
            inst(OpClass::Store, 8),
            0,
            0x9000 + 8 * random.below(20),
        ),
        8 => (
            pc,
            inst(OpClass::Atomic, 0),
            0,
            0x9000 + 8 * random.below(20),
        ),
        _ => (pc, inst(OpClass::Load, 8), 0, 0x9000 + 8 * random.below(20)),
    }
}

fn points() -> Vec<SamplePoint> {
    let mut points = vec![SamplePoint::EXHAUSTIVE];
    for (burst, sparsity) in [
        (1, 1),
        (1, 99),
        (2, 3),
        (10, 90),
        (7, 0),
        (50, 450),
        (100, 1),
        (3, 1 << 30),
    ] {
        points.push(SamplePoint { burst, sparsity });
    }
    points
}

fn feed<const MEMORY: bool>(
    probe: &mut GridProbe<MEMORY>,
    (pc, inst, target, addr): (u64, Inst, u64, u64),
) {
    if inst.class.is_memory() {
        if MEMORY {
            probe.memory(pc, &inst, addr);
        }
    } else {
        probe.control(pc, &inst, target, target != pc + 4);
    }
}

fn digest(trace: &[Option<u64>]) -> StreamRecorder {
    let mut recorder = StreamRecorder::new(None).unwrap();
    for symbol in trace {
        match symbol {
            Some(address) => recorder.push(*address),
            None => recorder.next_burst(),
        }
    }
    recorder
}

#[test]
fn every_point_equals_its_naive_sampler() {
    let points = points();
    let mut grid = GridProbe::with_memory(&points, Some(&StreamConfig::default())).unwrap();
    let mut light = GridProbe::new(&points).unwrap();
    let mut naive: Vec<Naive> = points.iter().map(Naive::new).collect();
    let mut random = Random(7);
    for _ in 0..60_000 {
        let step = random_step(&mut random);
        feed(&mut grid, step);
        feed(&mut light, step);
        naive
            .iter_mut()
            .for_each(|sampler| sampler.step(step.0, &step.1, step.2, step.3));
    }
    let result = grid.finish();
    let light = light.finish();
    for ((profiles, naive), light) in result.points.iter().zip(&naive).zip(&light.points) {
        let point = profiles.point;
        let addresses: AddressCounts = naive.addresses.iter().map(|(&a, &n)| (a, n)).collect();
        assert_eq!(profiles.addresses, addresses, "{point}");
        assert_eq!(light.addresses, addresses, "{point}");
        let pairs: Profile<CallPair> = naive
            .pairs
            .iter()
            .map(|(&(site, target), &n)| (CallPair { site, target }, n))
            .collect();
        assert_eq!(profiles.call_pairs, pairs, "{point}");
        let (stream, expected) = (profiles.stream.clone().unwrap(), digest(&naive.trace));
        assert_eq!(
            (stream.digest(), stream.bursts()),
            (expected.digest(), expected.bursts()),
            "{point}"
        );
        assert!(light.stream.is_none());
    }
    let exhaustive = &result.points[0];
    assert_eq!(exhaustive.addresses, result.exhaustive.addresses);
    assert_eq!(exhaustive.call_pairs, result.exhaustive.call_pairs);
    let streams = |p: &PointProfiles| p.stream.clone().unwrap().finish().unwrap();
    assert_eq!(streams(exhaustive), streams(&result.exhaustive));
    assert!(
        result.points[2].events() > 50,
        "the sparse points sample something"
    );
    assert!(result.points[8].addresses.is_empty());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let streams = StreamConfig {
        hot_fraction: Fraction::from_f64(0.001).unwrap(),
        max_grammar_symbols: 3_000,
        ..StreamConfig::default()
    };
    let points = points();
    let mut grids = [1, 2, 3, 4, 40].map(|threads| {
        let grid = GridProbe::with_memory(&points, Some(&streams)).unwrap();
        grid.without_streams_from(8).on_threads(threads)
    });
    let mut random = Random(11);
    for _ in 0..60_000 {
        let step = random_step(&mut random);
        grids.iter_mut().for_each(|grid| feed(grid, step));
    }
    let found = grids.map(|grid| {
        let result = grid.finish();
        let all = std::iter::once(result.exhaustive).chain(result.points);
        all.map(|profiles| {
            let stream = profiles.stream.unwrap();
            let numbers = (stream.digest(), stream.bursts(), stream.references());
            let counts = (profiles.addresses.sorted(), profiles.call_pairs);
            (profiles.point, numbers, counts, stream.finish())
        })
        .collect::<Vec<_>>()
    });
    let [one, others @ ..] = found;
    let streams = |at: usize| one[at].3.as_ref().map(|s| s.profile.len());
    assert!(streams(0) > Some(0) && streams(3) > Some(0));
    assert_eq!((one.len(), streams(9)), (10, None));
    for other in others {
        assert_eq!(one, other);
    }
}

#[test]
fn statistics_count_what_was_executed() {
    let mut grid = GridProbe::with_memory(&[], None).unwrap();
    let call = inst(OpClass::CallIndirect, 0);
    for (pc, inst, target) in [
        (0x100, call, 0x1000),
        (0x100, call, 0x2000),
        (0x104, inst(OpClass::Call, 0xefc), 0x1000),
        (0x1010, inst(OpClass::Branch, -8), 0x1008),
        (0x1010, inst(OpClass::Branch, -8), 0x1014),
        (0x1014, inst(OpClass::Branch, 8), 0x101c),
        (0x1018, inst(OpClass::Return, 0), 0x104),
    ] {
        grid.control(pc, &inst, target, true);
    }
    grid.memory(0x1000, &inst(OpClass::Load, 0), 64);
    let result = grid.finish();
    let methods = result.method_map(&Default::default());
    let expected = ProgramStatistics {
        methods: 2,
        call_sites: 2,
        call_pairs: 3,
        calls: 3,
        branches: 3,
        back_edges: 2,
        memory_references: Some(1),
        instructions: 8,
        unique_addresses: Some(1),
    };
    assert_eq!(result.statistics(&methods, 8, Some(1)), expected);
}

#[test]
fn impossible_grids_are_refused() {
    let point = SamplePoint {
        burst: 0,
        sparsity: 1,
    };
    assert_eq!(
        GridProbe::new(&[point]).unwrap_err(),
        GridError::Point(SamplePointError::Burst(0))
    );
    let many = [SamplePoint::EXHAUSTIVE; MAX_POINTS + 1];
    assert_eq!(
        GridProbe::new(&many).unwrap_err(),
        GridError::TooManyPoints(MAX_POINTS + 1)
    );
    assert!(GridProbe::new(&many[1..]).is_ok());
}

#[test]
fn without_the_streams_of_the_exhaustive_trace_all_else_is_the_same() {
    let streams = StreamConfig {
        hot_fraction: Fraction::from_f64(0.001).unwrap(),
        ..StreamConfig::default()
    };
    let points = points();
    let grid = || GridProbe::with_memory(&points, Some(&streams)).unwrap();
    let mut grids = [grid(), grid().without_exhaustive_streams()];
    let mut random = Random(5);
    for _ in 0..30_000 {
        let step = random_step(&mut random);
        grids.iter_mut().for_each(|grid| feed(grid, step));
    }
    let [with, without] = grids.map(|grid| {
        let result = grid.finish();
        let all = std::iter::once(result.exhaustive).chain(result.points);
        let all = all.map(|profiles| {
            let stream = profiles.stream.unwrap();
            let numbers = (stream.digest(), stream.bursts(), stream.references());
            let counts = (profiles.addresses.sorted(), profiles.call_pairs);
            ((profiles.point, numbers, counts), stream.finish())
        });
        all.collect::<Vec<_>>()
    });
    assert_eq!(with.len(), without.len());
    for (at, (with, without)) in with.into_iter().zip(without).enumerate() {
        assert_eq!(with.0, without.0, "profile {at}");
        if at == 0 {
            assert!(with.1.is_some() && without.1.is_none());
        } else {
            assert_eq!(with.1, without.1, "streams of point {at}");
        }
    }
}
