//! Double-time error correction under injected disturbance (SHIM, section 4.1): samples whose
//! counters were read under a disturbance go, all others stay, and the sum is right.

use std::sync::atomic::{AtomicBool, Ordering};

use hps_shim::analysis::{Analyzer, Depth};
use hps_shim::clock::{Clock, Tsc, now};
use hps_shim::dte::Dte;
use hps_shim::observer::observe;
use hps_shim::pace::Pace;
use hps_shim::region::Region;
use hps_shim::sample::Sample;

/// Disturbance at a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    None,
    /// The observer is away between samples: a longer interval, and a right one.
    Idle(u64),
    /// The observer is away between its two stamps, or a stamp comes late: the rate is wrong.
    Within(u64),
}

/// A clock of 1,000 cycles a sample, 50 of them between the stamps, disturbed at chosen samples.
struct Staged<'a> {
    time: u64,
    turn: u64,
    plan: &'a dyn Fn(u64) -> Disturbance,
    turns: u64,
    stop: &'a AtomicBool,
}

impl Clock for Staged<'_> {
    fn start(&mut self) -> u64 {
        self.turn += 1;
        self.time += 950;
        if let Disturbance::Idle(cycles) = (self.plan)(self.turn) {
            self.time += cycles;
        }
        if self.turn == self.turns {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.time
    }

    fn end(&mut self) -> u64 {
        self.time += 50;
        if let Disturbance::Within(cycles) = (self.plan)(self.turn) {
            self.time += cycles;
        }
        self.time
    }
}

fn staged(turns: u64, plan: &dyn Fn(u64) -> Disturbance) -> (Vec<Sample>, Analyzer, u64) {
    let region = Region::create().unwrap();
    region.take_slot().unwrap().set(3);
    let stop = AtomicBool::new(false);
    let mut clock = Staged {
        time: 0,
        turn: 0,
        plan,
        turns,
        stop: &stop,
    };
    let mut samples: Vec<Sample> = Vec::new();
    let done = observe(
        Some(&region),
        &mut [],
        Pace::Fast,
        &mut clock,
        &mut samples,
        &stop,
    )
    .unwrap();
    let mut analyzer = Analyzer::new(Dte::default(), Depth::Full, 0, Vec::new(), 64);
    for sample in &samples {
        analyzer.add(sample);
    }
    (samples, analyzer, done.sent)
}

#[test]
fn damaged_samples_all_go_and_the_others_stay() {
    let plan = |turn: u64| match turn % 100 {
        37 => Disturbance::Within(turn),
        58 => Disturbance::Idle(1_000_000 + turn),
        _ => Disturbance::None,
    };
    let (samples, analyzer, sent) = staged(10_000, &plan);
    assert_eq!((sent, samples.len()), (10_000, 10_000));
    let dte = Dte::default();
    let mut wrong = Vec::new();
    for (i, pair) in samples.windows(2).enumerate() {
        // Samples are numbered from 1; this interval ends at number i + 2. It is damaged if the time
        // between the stamps differs at its two ends by more than 1% of it.
        let (from, to) = (i as u64 + 1, i as u64 + 2);
        let delay = |turn| match plan(turn) {
            Disturbance::Within(cycles) => cycles,
            _ => 0,
        };
        let length = pair[1].start - pair[0].start;
        let damaged = delay(from).abs_diff(delay(to)) * 100 > length;
        if dte.keeps(pair[0].stamps(), pair[1].stamps()) == damaged {
            wrong.push(to);
        }
    }
    assert_eq!(wrong, Vec::<u64>::new());
    // A hundred delays, two intervals each, all above the tolerance; idle ones harm nothing.
    let (kept, discarded) = analyzer.judged();
    assert_eq!((kept, discarded), (10_000 - 1 - 200, 1 + 200));
    let result = analyzer.result();
    assert!(result.cpc_before.max > 1.3 && result.cpc_after.max <= 1.01);
    assert!(result.period.max > 1_000_000.0, "idle intervals stay");
}

#[test]
fn a_delay_within_the_tolerance_stays() {
    let within = |turn: u64| match turn % 10 {
        5 => Disturbance::Within(10),
        _ => Disturbance::None,
    };
    let (_, analyzer, _) = staged(1_000, &within);
    assert_eq!(analyzer.judged(), (999, 1));
    let beyond = |turn: u64| match turn % 10 {
        5 => Disturbance::Within(11),
        _ => Disturbance::None,
    };
    // At 11 cycles the interval that begins with the delay is 1,011 cycles long: 11 of it are more
    // than 1% nevertheless.
    let (_, analyzer, _) = staged(1_000, &beyond);
    assert_eq!(analyzer.judged(), (999 - 200, 1 + 200));
}

/// The machine's own clock, with a real wait between the stamps of every 16th sample.
struct Delayed {
    turn: u64,
    stop: &'static AtomicBool,
}

impl Clock for Delayed {
    fn start(&mut self) -> u64 {
        self.turn += 1;
        if self.turn == 20_000 {
            self.stop.store(true, Ordering::Relaxed);
        }
        Tsc.start()
    }

    fn end(&mut self) -> u64 {
        if self.turn.is_multiple_of(16) {
            let until = now() + 5_000;
            while now() < until {}
        }
        Tsc.end()
    }
}

/// With the real clock others disturb too; that every injected delay is found must hold all the same.
#[test]
fn real_delays_are_never_kept() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let region = Region::create().unwrap();
    region.take_slot().unwrap().set(3);
    let mut samples: Vec<Sample> = Vec::new();
    let mut clock = Delayed {
        turn: 0,
        stop: &STOP,
    };
    observe(
        Some(&region),
        &mut [],
        Pace::Fast,
        &mut clock,
        &mut samples,
        &STOP,
    )
    .unwrap();
    let dte = Dte::default();
    let mut kept = 0_u64;
    for (i, pair) in samples.windows(2).enumerate() {
        let keeps = dte.keeps(pair[0].stamps(), pair[1].stamps());
        kept += u64::from(keeps);
        let delayed = (i + 1).is_multiple_of(16) || (i + 2).is_multiple_of(16);
        // In a long interval (the observer was away between two samples) 5,000 cycles are little,
        // and a second disturbance of the same length hides the first.
        let length = pair[1].start - pair[0].start;
        let apart = (pair[1].end - pair[1].start).abs_diff(pair[0].end - pair[0].start);
        if delayed && length < 400_000 && apart > 4_000 {
            assert!(!keeps, "{pair:?}");
        }
    }
    assert!(kept > 0, "some samples are not disturbed");
}
