//! Whole observations of real processes. The observed program is this test binary itself, started
//! again with a variable that says what to play.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hps_shim::analysis::Depth;
use hps_shim::keep::read_samples;
use hps_shim::machine::Machine;
use hps_shim::pace::Pace;
use hps_shim::placement::Wish;
use hps_shim::plan::{Mode, Plan};
use hps_shim::region::{REGION_VARIABLE, Region};
use hps_shim::sample::Sample;
use hps_shim::session::{Request, Session};
use hps_shim::spawn::Start;
use hps_shim::{ShimError, affinity, clock};

const ROLE: &str = "HPS_SHIM_TEST_ROLE";
const REPORT: &str = "HPS_SHIM_TEST_REPORT";

/// Cycles of one stay in each tag; the shares are these over their sum.
const STAYS: [(u64, u64); 4] = [(1, 50_000), (2, 30_000), (3, 15_000), (4, 5_000)];

fn region() -> Region {
    Region::open(&PathBuf::from(std::env::var_os(REGION_VARIABLE).unwrap())).unwrap()
}

/// Stays in each tag for its time, round after round, and reports how long it really was in each.
fn calibrated(milliseconds: u64) {
    let region = region();
    let slot = region.take_slot().unwrap();
    for (tag, name) in [(1, "half"), (2, "third"), (3, "some"), (4, "little")] {
        region.set_name(tag, name);
    }
    let began = Instant::now();
    // All time, and time of stays in which nobody took the CPU away.
    let (mut spent, mut clean) = ([0_u64; 5], [0_u64; 5]);
    let mut from = clock::now();
    while began.elapsed() < Duration::from_millis(milliseconds) {
        for (tag, stay) in STAYS {
            slot.set(tag);
            let until = from + stay;
            let mut now = clock::now();
            while now < until {
                now = clock::now();
            }
            slot.counters[0].fetch_add(1, Ordering::Relaxed);
            spent[tag as usize] += now - from;
            if now - from < 2 * stay {
                clean[tag as usize] += now - from;
            }
            from = now;
        }
    }
    slot.live.store(2, Ordering::Relaxed);
    let text: Vec<String> = spent.iter().chain(&clean).map(u64::to_string).collect();
    std::fs::write(std::env::var_os(REPORT).unwrap(), text.join(" ")).unwrap();
}

/// What the started copy does; nothing in an ordinary run of the tests.
#[test]
fn observed_program() {
    match std::env::var(ROLE).as_deref() {
        Ok("calibrated") => calibrated(400),
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

fn play(role: &str, report: &std::path::Path) -> Start {
    let me = std::env::current_exe().unwrap().into_os_string();
    let words = ["--exact", "observed_program", "--nocapture", "-q"];
    Start {
        command: std::iter::once(me)
            .chain(words.map(OsString::from))
            .collect(),
        environment: vec![
            (ROLE.into(), role.into()),
            (REPORT.into(), report.as_os_str().to_owned()),
        ],
        cpus: Vec::new(),
    }
}

/// A machine with two CPUs, or none and a word about it: then there is nothing to test here.
fn two_cpus() -> Option<Machine> {
    let machine = Machine::find().unwrap();
    if machine.allowed.len() < 2 {
        eprintln!("only one CPU may be used: not tested");
        return None;
    }
    Some(machine)
}

fn request(mode: Mode, pace: Pace) -> Request {
    Request {
        plan: Plan {
            mode,
            pace,
            ..Plan::default()
        },
        ..Request::default()
    }
}

/// One observation at a time: they would take each other's CPU.
static ALONE: Mutex<()> = Mutex::new(());

fn observed(mode: Mode, pace: Pace, role: &str) -> Option<(Result<Session, ShimError>, String)> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let machine = two_cpus()?;
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let session = request(mode, pace).run(&machine, play(role, &report));
    Some((session, std::fs::read_to_string(report).unwrap_or_default()))
}

/// As [`observed`], again if the observer did not get its CPU before the program had ended.
fn sampled(mode: Mode, pace: Pace, role: &str) -> Option<(Session, String)> {
    for _ in 0..20 {
        match observed(mode, pace, role)? {
            (Ok(session), report) => return Some((session, report)),
            (Err(ShimError::EndedAtOnce { .. }), _) => {}
            (Err(error), _) => panic!("{error}"),
        }
    }
    panic!("{role}: not one sample in 20 runs");
}

/// Largest difference between a tag's share of samples and its share of time, in points.
fn worst_difference(samples: &[u64; 5], time: &[u64]) -> f64 {
    let (all, whole) = (samples.iter().sum::<u64>(), time.iter().sum::<u64>());
    (1..5)
        .map(|tag| {
            let share = samples[tag] as f64 / all.max(1) as f64;
            100.0 * (share - time[tag] as f64 / whole as f64).abs()
        })
        .fold(0.0, f64::max)
}

fn numbers(report: &str) -> Vec<u64> {
    report
        .split(' ')
        .map(|word| word.parse().unwrap())
        .collect()
}

/// A busy host takes the CPU away from both sides at different times. So runs are added up until one
/// of them, or all together, are within 2 points; if the observer never had its CPU, nothing can be
/// said, and the test says that.
fn recovered(mode: Mode, pace: Pace) {
    let (mut all_samples, mut all_time) = ([0; 5], vec![0; 5]);
    let (mut seen, mut quiet) = (Vec::new(), false);
    for _ in 0..12 {
        let Some((session, report)) = sampled(mode, pace, "calibrated") else {
            return;
        };
        let watched = &session.watched;
        assert!(watched.account.balances(), "{:?}", watched.account);
        assert_eq!(session.region.name(2).as_deref(), Some("third"));
        let mut samples = [0; 5];
        for &(tag, count) in watched.tags.iter().filter(|t| (1..5).contains(&t.0)) {
            samples[tag as usize] += count;
            all_samples[tag as usize] += count;
        }
        let time = &numbers(&report)[..5];
        all_time.iter_mut().zip(time).for_each(|(a, t)| *a += t);
        let one = worst_difference(&samples, time);
        let together = worst_difference(&all_samples, &all_time);
        if one <= 2.0 || together <= 2.0 {
            return;
        }
        quiet |= watched.observed.running_share() > 0.97;
        seen.push((one, together));
    }
    if quiet {
        panic!("shares differ by so many points, alone and added up: {seen:?}");
    }
    eprintln!("others had the observer's CPU all the time: not judged {seen:?}");
}

#[test]
fn known_shares_are_recovered_by_tallying() {
    recovered(Mode::Tally, Pace::Fast);
}

#[test]
fn known_shares_are_recovered_with_time_stamps() {
    recovered(Mode::Inline(Depth::Full), Pace::Cycles(2_000));
}

/// Samples of stays that were not interrupted, by tag: a longer stay than the program makes is one in
/// which it did not run, and a hole is one of the observer.
fn clean_samples(samples: &[Sample]) -> [u64; 5] {
    let mut counts = [0; 5];
    let mut from = 0;
    for to in 1..=samples.len() {
        let goes_on = to < samples.len()
            && samples[to].tag == samples[from].tag
            && samples[to].start - samples[to - 1].start < 20_000;
        if goes_on {
            continue;
        }
        let length = samples[to - 1].start - samples[from].start;
        let stay = STAYS.iter().find(|(tag, _)| *tag == samples[from].tag);
        if let Some(&(tag, stay)) = stay
            && length < 2 * stay
        {
            counts[tag as usize] += (to - from) as u64;
        }
        from = to;
    }
    counts
}

/// Raw samples tell interrupted stays from others, so this holds on a busy host too.
#[test]
fn known_shares_are_recovered_from_raw_samples_through_a_ring() {
    let Some(machine) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (report, kept) = (folder.path().join("report"), folder.path().join("samples"));
    let request = Request {
        keep: Some(kept.clone()),
        ..request(Mode::Ring { capacity: 1 << 20 }, Pace::Cycles(1_500))
    };
    let (mut counts, mut time) = ([0; 5], vec![0; 5]);
    for _ in 0..8 {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let session = request.run(&machine, play("calibrated", &report));
        drop(alone);
        let session = match session {
            Ok(session) => session,
            Err(ShimError::EndedAtOnce { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let account = session.watched.account;
        let (counters, samples) = read_samples(&kept).unwrap();
        assert_eq!(counters, 0);
        assert!(account.balances());
        assert_eq!(samples.len() as u64, account.kept + account.discarded);
        let here = clean_samples(&samples);
        counts.iter_mut().zip(here).for_each(|(a, c)| *a += c);
        let clean = &numbers(&std::fs::read_to_string(&report).unwrap())[5..];
        time.iter_mut().zip(clean).for_each(|(a, t)| *a += t);
        if worst_difference(&counts, &time) <= 2.0 {
            return;
        }
    }
    panic!("{counts:?} samples of {time:?} cycles");
}

#[test]
fn a_ring_without_room_drops_and_says_so() {
    let tiny = Mode::Ring { capacity: 2 };
    let Some((session, _)) = sampled(tiny, Pace::Fast, "calibrated") else {
        return;
    };
    let account = session.watched.account;
    assert!(account.dropped > 0 && account.balances(), "{account:?}");
}

#[test]
fn a_crash_is_reported_and_nothing_is_left_behind() {
    let before = (affinity::allowed().unwrap(), threads());
    for _ in 0..3 {
        let Some((session, _)) = sampled(Mode::Inline(Depth::Full), Pace::Fast, "crash") else {
            return;
        };
        assert_eq!(session.code, 128 + 6);
        assert_eq!(session.status, "ended by signal 6");
        assert!(session.watched.account.balances());
        assert_eq!(session.watched.tags.first().map(|t| t.0), Some(7));
    }
    assert_eq!(affinity::allowed().unwrap(), before.0);
    // Other tests run beside this one: only observers are counted.
    let deadline = Instant::now() + Duration::from_secs(60);
    while threads() > before.1 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(threads() <= before.1.max(1), "observers left");
}

/// Threads of this process that are observers, by their name.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.trim() == "shim-observer")
        .count()
}

#[test]
fn a_region_that_its_program_tries_to_take_away_stays() {
    let Some((session, _)) = sampled(Mode::Inline(Depth::Full), Pace::Fast, "vandal") else {
        return;
    };
    assert_eq!(session.code, 0, "truncating a sealed region must fail");
    assert_eq!(session.watched.tags.first().map(|t| t.0), Some(9));
}

#[test]
fn programs_that_cannot_be_observed_are_refused_in_words() {
    let Some(machine) = two_cpus() else { return };
    let start = |words: &[&str]| Start {
        command: words.iter().map(OsString::from).collect(),
        ..Start::default()
    };
    let request = request(Mode::Tally, Pace::Fast);
    let run = |words: &[&str]| match request.run(&machine, start(words)) {
        Ok(_) => panic!("{words:?} was observed"),
        Err(error) => error,
    };
    assert!(matches!(run(&["/no/such"]), ShimError::NotStarted { .. }));
    assert!(matches!(run(&["true"]), ShimError::NoTags { .. }));
    let one = Request {
        wish: Wish {
            observer: Some(4096),
            ..Wish::default()
        },
        ..request.clone()
    };
    let error = one.run(&machine, start(&["true"])).err().unwrap();
    assert!(matches!(error, ShimError::CpuNotAllowed { .. }), "{error}");
    let Some((blink, _)) = observed(Mode::Tally, Pace::Sleep(500_000_000), "blink") else {
        return;
    };
    // It may be caught all the same; if not, the message says why.
    if let Err(error) = blink {
        assert!(matches!(error, ShimError::EndedAtOnce { .. }), "{error}");
    }
}

#[test]
fn a_running_process_is_attached_to_and_left_running() {
    let Some(machine) = two_cpus() else { return };
    let region = Region::create().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut start = play("linger", &folder.path().join("report"));
    let path = region.path().into_os_string();
    start.environment.push((REGION_VARIABLE.into(), path));
    let mut child = hps_shim::spawn::Waiting::new(&start).unwrap().go().unwrap();
    let request = request(Mode::Inline(Depth::Full), Pace::Cycles(10_000));
    let deadline = Instant::now() + Duration::from_secs(30);
    let session = loop {
        // Until it has opened the region there is none to be found.
        match request.attach(&machine, child.id(), Duration::from_millis(100)) {
            Ok(session) => break session,
            Err(_) if Instant::now() < deadline => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert!(session.watched.observed.sent > 0 && session.watched.account.balances());
    assert_eq!(session.watched.tags.first().map(|t| t.0), Some(5));
    assert!(child.try_wait().unwrap().is_none(), "it must still run");
    child.kill().unwrap();
    child.wait().unwrap();
    let error = request.attach(&machine, u32::MAX >> 1, Duration::from_millis(1));
    assert!(matches!(error.err(), Some(ShimError::NoProcess { .. })));
}
