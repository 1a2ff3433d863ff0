//! Tests: against counting, and of what counting does not say.

use super::super::NEVER;
use super::super::path::{Path, RightPath, WrongPath};
use super::*;
use crate::config::MachineConfig;
use crate::predict::tests::Random;

fn demand(calendar: &Calendar, class: OpClass, latency_cycles: u32) -> Demand {
    Demand {
        full: calendar.full(class),
        class,
        latency_cycles: u64::from(latency_cycles),
    }
}

fn calendar(preset: &str) -> (Calendar, UnitTable, Widths) {
    calendar_of(MachineConfig::preset(preset).unwrap())
}

/// More pools than lanes: one unit that is held has no lane.
fn wide() -> (Calendar, UnitTable, Widths) {
    let mut config = MachineConfig::preset("hps-4wide").unwrap();
    config.issue.issue_width = 8;
    let (calendar, table, widths) = calendar_of(config);
    let held = [OpClass::IntDiv, OpClass::FpDiv].map(|class| calendar.uses[class as usize].is_held);
    assert_ne!(held[0], held[1]);
    (calendar, table, widths)
}

fn calendar_of(config: MachineConfig) -> (Calendar, UnitTable, Widths) {
    let table = UnitTable::new(&config.units);
    let widths = Widths {
        issue: config.issue.issue_width as usize,
        ports: config.memory.l1d.ports,
        fp_queue: config.window.fp_queue_entries > 0,
    };
    let calendar = Calendar::new(&table, widths).unwrap();
    (calendar, table, widths)
}

/// Issued instructions: cycle, class, cycles for which each keeps its unit, and whether it has taken a port.
type Issued = Vec<(u64, OpClass, u64, bool)>;

/// Whether an instruction may issue in a cycle beside others, by counting.
fn fits(issued: &Issued, table: &UnitTable, widths: Widths, at: u64, new: (OpClass, u64)) -> bool {
    let pool = table.timing(new.0).pool;
    let units = table.pool_units()[usize::from(pool)] as usize;
    let in_cycle = issued.iter().filter(|i| i.0 == at).count();
    // In no cycle that it keeps its unit are all of them kept. Gaps are filled from the first unit on,
    // so counting is enough where a pool has one unit, or units that are kept for a cycle.
    let kept = |cycle: u64| {
        let same = issued.iter().filter(|i| table.timing(i.1).pool == pool);
        same.filter(|i| i.0 <= cycle && cycle < i.0 + i.2).count()
    };
    in_cycle < widths.issue && (at..at + new.1).all(|cycle| kept(cycle) < units)
}

#[test]
fn everything_issues_in_the_first_cycle_in_which_counting_finds_room() {
    for preset in [Some("hps-4wide"), Some("tiny-2wide"), Some("ev6"), None] {
        let (mut calendar, table, widths) = preset.map_or_else(wide, calendar);
        let mut random = Random::new(7);
        let mut issued = Issued::new();
        let mut passed = 0;
        let mut left = 0;
        let mut squashes = 0;
        for _ in 0..4000 {
            if random.below(3) == 0 {
                passed += 1 + random.below(3);
                left += calendar.pass(passed).map_or(0, |left| left.all);
                assert_eq!(
                    left as usize,
                    issued.iter().filter(|i| i.0 <= passed).count()
                );
            }
            let mut limit = NEVER;
            if random.below(40) == 0 {
                // A wrong path.
                limit = passed + 2 + random.below(20);
                for _ in 0..random.below(20) {
                    one::<WrongPath>(
                        &mut calendar,
                        &mut issued,
                        (&table, widths),
                        &mut random,
                        (passed, limit),
                    );
                }
            }
            squashes += usize::from(limit != NEVER);
            one::<RightPath>(
                &mut calendar,
                &mut issued,
                (&table, widths),
                &mut random,
                (passed, NEVER),
            );
        }
        assert!(squashes > 50);
    }
}

/// One more instruction that is ready behind `passed` and before `limit`; if it does not issue before that,
/// nothing is taken.
fn one<K: Path>(
    calendar: &mut Calendar,
    issued: &mut Issued,
    (table, widths): (&UnitTable, Widths),
    random: &mut Random,
    (passed, limit): (u64, u64),
) {
    let mut class = ALL_CLASSES[random.below(ALL_CLASSES.len() as u64) as usize];
    if table.timing(class).interval_cycles > 1 && random.below(8) > 0 {
        class = OpClass::IntAlu;
    }
    let timing = table.timing(class);
    let kept = u64::from(timing.interval_cycles.min(timing.latency_cycles)).max(1);
    let from = passed + 1 + random.below((limit - passed - 1).min(30));
    let mut expected = from;
    while !fits(issued, table, widths, expected, (class, kept)) {
        expected += 1;
    }
    let demand = demand(calendar, class, timing.latency_cycles);
    let wants_port = class == OpClass::Load && random.below(2) == 0;
    let (cycle, has_port) = if wants_port {
        calendar.take_with_port::<K>(from, &demand, limit)
    } else {
        (calendar.take::<K>(from, &demand, limit), false)
    };
    if expected >= limit {
        assert!(cycle >= limit, "{class:?} from {from}");
        return;
    }
    assert_eq!(cycle, expected, "{class:?} from {from}");
    let ports = issued.iter().filter(|i| i.0 == cycle && i.3).count();
    assert_eq!(has_port, wants_port && ports < widths.ports as usize);
    issued.push((cycle, class, kept, has_port));
}

#[test]
fn a_load_is_asked_for_its_store_until_something_older_was_refused() {
    let (mut calendar, _, _) = calendar("tiny-2wide");
    let load = demand(&calendar, OpClass::Load, 1);
    // One load in a cycle. The first is refused nothing and takes cycle 5.
    assert_eq!(
        calendar.take_load::<RightPath>(5, &load, NEVER, |_| None),
        Ok(5)
    );
    // The second one comes to its turn in cycle 5, and is asked there although no unit is free.
    let waits = |cycle: u64| (cycle < 7).then_some(7);
    assert_eq!(
        calendar.take_load::<RightPath>(5, &load, NEVER, waits),
        Err((5, 7))
    );
    assert_eq!(
        calendar.take_load::<RightPath>(5, &load, NEVER, |_| None),
        Ok(6)
    );
    // Now somebody was refused in cycle 5: the next one does not come to its turn before cycle 6.
    assert_eq!(
        calendar.take_load::<RightPath>(5, &load, NEVER, waits),
        Err((6, 7))
    );
}

#[test]
fn what_lies_beyond_the_ring_leaves_its_station_all_the_same() {
    let (mut calendar, _, _) = calendar("hps-4wide");
    let far = 5000;
    let alu = demand(&calendar, OpClass::IntAlu, 1);
    assert_eq!(calendar.take::<RightPath>(far, &alu, NEVER), far);
    assert_eq!(calendar.take::<WrongPath>(far + 1, &alu, far + 2), far + 1);
    calendar.return_to_station(far);
    assert_eq!(calendar.pass(far - 1), Some(Left::default()));
    let left = calendar.pass(far + 10);
    assert_eq!(
        left,
        Some(Left { all: 1, fp: 0 }),
        "two left, one went back"
    );
}

#[test]
fn a_unit_is_held_beyond_what_the_search_looks_at() {
    let (mut calendar, _, _) = calendar("hps-4wide");
    // The last cycles that are near.
    let start = calendar.near - 4;
    let division = demand(&calendar, OpClass::IntDiv, 20);
    assert_eq!(calendar.take::<RightPath>(start, &division, NEVER), start);
    assert_eq!(calendar.pass(100), Some(Left::default()));
    let product = demand(&calendar, OpClass::IntMul, 3);
    assert_eq!(
        calendar.take::<RightPath>(start + 1, &product, NEVER),
        start + 19
    );
    // Before it there is room.
    assert_eq!(
        calendar.take::<RightPath>(start - 1, &product, NEVER),
        start - 1
    );
}

#[test]
fn what_comes_behind_a_squash_takes_neither_slot_nor_port_and_is_refused_nothing() {
    let (mut calendar, _, _) = calendar("tiny-2wide");
    let load = demand(&calendar, OpClass::Load, 1);
    assert_eq!(
        calendar.take_with_port::<RightPath>(9, &load, NEVER),
        (9, true)
    );
    assert_eq!(
        calendar.take_with_port::<RightPath>(10, &load, NEVER),
        (10, true)
    );
    let (cycle, has_port) = calendar.take_with_port::<WrongPath>(9, &load, 10);
    assert!(cycle >= 10 && !has_port);
    let cycle = calendar.take_load::<WrongPath>(9, &load, 10, |_| None);
    assert!(cycle.unwrap() >= 10);
    assert!(calendar.take::<WrongPath>(9, &load, 10) >= 10);
    // One unit, which is held from cycle 9 on.
    let division = demand(&calendar, OpClass::IntDiv, 20);
    assert_eq!(calendar.take::<RightPath>(9, &division, NEVER), 9);
    assert!(calendar.take::<WrongPath>(9, &division, 12) >= 12);
    // Nobody has been refused in cycle 10: the next load is asked there.
    let waits = |cycle: u64| (cycle == 10).then_some(12);
    let waiting = calendar.take_load::<RightPath>(10, &load, NEVER, waits);
    assert_eq!(waiting, Err((10, 12)));
}

#[test]
fn stretches_are_the_places_of_their_cycles() {
    for (from, to) in [(3, 3), (3, 7), (14, 18), (16, 32), (5, 90)] {
        let places: Vec<usize> = stretches(from, to, 15).into_iter().flatten().collect();
        let each = (from..to).take(16).map(|cycle| (cycle & 15) as usize);
        assert_eq!(places, each.collect::<Vec<_>>());
    }
}
