//! Roles that the observed copy of the test binary plays.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hps_shim::clock;
use hps_shim::region::{ENTRY_GONE, ENTRY_MORE, REGION_VARIABLE, Region, Slot, depth_of};

/// The variable that says what to play.
pub const ROLE: &str = "HPS_SHIM_TEST_ROLE";
/// The variable that names the file for what it has to report.
pub const REPORT: &str = "HPS_SHIM_TEST_REPORT";

/// Cycles of one stay in each tag; the shares are these over their sum.
pub const STAYS: [(u64, u64); 4] = [(1, 50_000), (2, 30_000), (3, 15_000), (4, 5_000)];
/// How often the stays of a round are repeated: whatever takes the observer away takes about as much of
/// each of them.
const LAPS: u64 = 16;
/// Cycles of a round.
pub const ROUND: u64 = LAPS * 100_000;
/// Rounds of a run at most: each has tags of its own, and all must find room in the table of tags.
const ROUNDS: usize = 1_000;

fn region() -> Region {
    Region::open(&PathBuf::from(std::env::var_os(REGION_VARIABLE).unwrap())).unwrap()
}

/// The tag of a stay in a round; stay 0 is the round itself.
fn tag_of(round: u64, stay: u64) -> u64 {
    (round + 1) * 8 + stay
}

/// The round and the stay of such a tag.
pub fn stay_of(tag: u64) -> Option<(u64, u64)> {
    Some(((tag / 8).checked_sub(1)?, tag % 8))
}

fn push(slot: &Slot, tag: u64) {
    let word = slot.depth.load(Ordering::Relaxed);
    slot.depth
        .store(word.wrapping_add(ENTRY_MORE), Ordering::Release);
    slot.stack[depth_of(word)].store(tag, Ordering::Release);
    slot.tag.store(tag, Ordering::Release);
}

fn pop(slot: &Slot) {
    let word = slot.depth.load(Ordering::Relaxed).wrapping_add(ENTRY_GONE);
    slot.depth.store(word, Ordering::Release);
    let below = depth_of(word).checked_sub(1);
    let tag = below.map_or(0, |at| slot.stack[at].load(Ordering::Relaxed));
    slot.tag.store(tag, Ordering::Release);
}

/// Functions of the program with stacks.
pub const LEFT: u64 = 70_001;
pub const RIGHT: u64 = 70_002;
pub const BOTH: u64 = 70_003;

/// Goes where stay `stay` of a round is spent: the first in what `LEFT` calls, the second in the same
/// function called by `RIGHT`, the third in `RIGHT`, the last in the round itself.
fn go(slot: &Slot, round: u64, stay: u64) {
    match stay {
        1 => {
            if depth_of(slot.depth.load(Ordering::Relaxed)) > 0 {
                pop(slot);
            }
            push(slot, tag_of(round, 0));
            push(slot, LEFT);
            push(slot, BOTH);
        }
        2 => {
            pop(slot);
            pop(slot);
            push(slot, RIGHT);
            push(slot, BOTH);
        }
        _ => pop(slot),
    }
}

/// Stays in each tag for its time, round after round, and reports how long it really was in each.
fn calibrated(milliseconds: u64, go: impl Fn(&Slot, u64, u64)) {
    let region = region();
    let slot = region.take_slot().unwrap();
    for (tag, name) in [(1, "half"), (2, "third"), (3, "some"), (4, "little")] {
        region.set_name(tag, name);
    }
    // Nothing is allocated or written out between two stays: whose time would that be?
    let mut spent = vec![[1_u64; 4]; ROUNDS];
    let mut rounds = 0;
    let began = Instant::now();
    let mut from = clock::now();
    for times in &mut spent {
        if began.elapsed() > Duration::from_millis(milliseconds) {
            break;
        }
        *times = [0; 4];
        for (at, (stay, cycles)) in (0..LAPS).flat_map(|_| STAYS.into_iter().enumerate()) {
            go(slot, rounds, stay);
            let until = from + cycles;
            let mut now = clock::now();
            while now < until {
                now = clock::now();
            }
            slot.counters[0].fetch_add(1, Ordering::Relaxed);
            times[at] += now - from;
            from = now;
        }
        rounds += 1;
    }
    slot.live.store(2, Ordering::Relaxed);
    let lines: Vec<String> = spent[..rounds as usize]
        .iter()
        .map(|times| times.map(|time| time.to_string()).join(" "))
        .collect();
    std::fs::write(std::env::var_os(REPORT).unwrap(), lines.join("\n")).unwrap();
}

/// Two named threads, each with a tag of its own.
fn two_threads() {
    let region = region();
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for (name, tag) in [("first-worker", 11), ("second-worker", 12)] {
            let named = std::thread::Builder::new().name(name.to_owned());
            let (region, both) = (&region, &both);
            let worker = move || {
                let slot = region.take_slot().unwrap();
                both.wait();
                slot.set(tag);
                std::thread::sleep(Duration::from_millis(300));
                slot.live.store(2, Ordering::Relaxed);
            };
            named.spawn_scoped(scope, worker).unwrap();
        }
    });
}

/// Counts one event each time that some thousand cycles have passed.
fn counts() {
    let region = region();
    let slot = region.take_slot().unwrap();
    slot.set(8);
    let mut until = clock::now();
    for _ in 0..20_000 {
        until += 10_000;
        while clock::now() < until {}
        slot.counters[0].fetch_add(1, Ordering::Relaxed);
    }
    slot.live.store(2, Ordering::Relaxed);
}

/// Plays what the variable says; nothing in an ordinary run of the tests.
pub fn role() {
    match std::env::var(ROLE).as_deref() {
        Ok("calibrated") => calibrated(400, |slot, round, stay| slot.set(tag_of(round, stay))),
        Ok("paths") => calibrated(400, go),
        Ok("threads") => two_threads(),
        Ok("counts") => counts(),
        Ok("crash") => {
            let region = region();
            region.take_slot().unwrap().set(7);
            std::thread::sleep(Duration::from_millis(60));
            std::process::abort();
        }
        Ok("vandal") => {
            let region = region();
            let slot = region.take_slot().unwrap();
            slot.set(9);
            std::thread::sleep(Duration::from_millis(20));
            let refused = rustix::fs::ftruncate(&region, 0).is_err();
            let slot_stays = region.layout().slots[0].tag.load(Ordering::Relaxed) == 9;
            drop(region);
            std::thread::sleep(Duration::from_millis(20));
            std::process::exit(if refused && slot_stays { 0 } else { 3 });
        }
        Ok("blink") => drop(
            region()
                .take_slot()
                .map(|slot| slot.live.store(2, Ordering::Relaxed)),
        ),
        Ok("linger") => {
            let region = region();
            region.take_slot().unwrap().set(5);
            std::thread::sleep(Duration::from_secs(20));
        }
        _ => {}
    }
}
