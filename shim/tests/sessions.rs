//! Whole observations of real processes. The observed program is this test binary itself, started
//! again with a variable that says what to play.

mod played;

#[path = "../../tests/support/left_out.rs"]
mod left_out;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hps_shim::analysis::Depth;
use hps_shim::distribution::DistributionResult;
use hps_shim::keep::read_samples;
use hps_shim::machine::Machine;
use hps_shim::pace::Pace;
use hps_shim::placement::Wish;
use hps_shim::plan::{CONTEXTS, Mode, Plan};
use hps_shim::region::{REGION_VARIABLE, Region};
use hps_shim::session::{Request, Session};
use hps_shim::spawn::Start;
use hps_shim::stack_read::MISSING;
use hps_shim::{ShimError, affinity};
use left_out::left_out;
use played::{BOTH, LEFT, REPORT, RIGHT, ROLE, ROUND, stay_of};

/// Number of undisturbed rounds until which runs are repeated.
const ENOUGH: usize = 60;

/// The started copy's; nothing in an ordinary run of the tests.
#[test]
fn observed_program() {
    played::role();
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
        ..Start::default()
    }
}

/// A machine with two CPUs; none if there is but one, where all that can be tested is that observing
/// is refused.
fn two_cpus() -> Option<Machine> {
    let machine = Machine::find().unwrap();
    if machine.allowed.len() < 2 {
        let start = play("blink", "/nowhere".as_ref());
        let refused = request(Mode::Tally, Pace::Fast).run(&machine, start).err();
        assert!(
            matches!(refused, Some(ShimError::OneCpu { .. })),
            "{refused:?}"
        );
        left_out(
            "sessions of observers",
            "only one CPU may be used; that they are refused is tested",
        );
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

fn observed(request: &Request, role: &str) -> Option<(Result<Session, ShimError>, String)> {
    let machine = two_cpus()?;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let session = request.run(&machine, play(role, &report));
    Some((session, std::fs::read_to_string(report).unwrap_or_default()))
}

/// Like [`observed`], again if the observer did not get its CPU before the program had ended.
fn sampled(request: &Request, role: &str) -> Option<(Session, String)> {
    for _ in 0..20 {
        match observed(request, role)? {
            (Ok(session), report) => return Some((session, report)),
            (Err(ShimError::EndedAtOnce { .. }), _) => {}
            (Err(error), _) => panic!("{error}"),
        }
    }
    panic!("{role}: not one sample in 20 runs");
}

/// Largest difference between a stay's share of samples and its share of time, in points.
fn worst_difference(samples: &[u64; 4], time: &[u64; 4]) -> f64 {
    let (all, whole) = (samples.iter().sum::<u64>(), time.iter().sum::<u64>());
    let points = samples.iter().zip(time).map(|(&samples, &time)| {
        let share = samples as f64 / all.max(1) as f64;
        100.0 * (share - time as f64 / whole.max(1) as f64).abs()
    });
    points.fold(0.0, f64::max)
}

/// How long the program was in each stay, by round.
fn reported(report: &str) -> Vec<[u64; 4]> {
    let round = |line: &str| {
        let times: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        times.try_into().unwrap()
    };
    report.lines().map(round).collect()
}

/// Samples and time of the rounds in which the program was not held up, and the observer took at least
/// half as many samples as in the median of these rounds.
fn undisturbed(samples: &BTreeMap<u64, [u64; 4]>, time: &[[u64; 4]]) -> Vec<([u64; 4], [u64; 4])> {
    let quick = |time: &[u64; 4]| time.iter().sum::<u64>() < ROUND + ROUND / 10;
    // Held up between two rounds, the program is still in the tag of the one and counts the time for the
    // other. What came behind the last round it does not say.
    let pairs = time.windows(2).enumerate();
    let quick = pairs.filter(|(_, pair)| quick(&pair[0]) && quick(&pair[1]));
    let quick = quick.map(|(round, pair)| (round, pair[0]));
    let both = quick.filter_map(|(round, time)| Some((*samples.get(&(round as u64))?, time)));
    let both: Vec<_> = both.collect();
    let mut counts: Vec<u64> = both
        .iter()
        .map(|(samples, _)| samples.iter().sum())
        .collect();
    counts.sort_unstable();
    let Some(&median) = counts.get(counts.len() / 2) else {
        return Vec::new();
    };
    let usual = |(samples, _): &([u64; 4], [u64; 4])| {
        let count: u64 = samples.iter().sum();
        count * 2 >= median
    };
    both.into_iter().filter(usual).collect()
}

/// Runs until there are enough undisturbed rounds, on a busy host too: a round is short
/// beside the time that a scheduler gives. Their shares must be right at once; `samples_of` says what
/// was seen in each round.
fn recovered(
    request: &Request,
    role: &str,
    samples_of: impl Fn(&Session) -> BTreeMap<u64, [u64; 4]>,
) {
    let (mut samples, mut time, mut rounds) = ([0; 4], [0; 4], 0);
    let mut runs = Vec::new();
    while rounds < ENOUGH {
        assert!(
            runs.len() < 120,
            "only {rounds} rounds without a disturbance in {} runs: the host gave the observer its CPU \
             for these shares of the time: {runs:?}",
            runs.len()
        );
        let Some((session, report)) = sampled(request, role) else {
            return;
        };
        let watched = &session.watched;
        assert!(watched.account.balances(), "{:?}", watched.account);
        assert_eq!(session.region.name(2).as_deref(), Some("third"));
        for (seen, spent) in undisturbed(&samples_of(&session), &reported(&report)) {
            rounds += 1;
            samples
                .iter_mut()
                .zip(seen)
                .for_each(|(all, one)| *all += one);
            time.iter_mut()
                .zip(spent)
                .for_each(|(all, one)| *all += one);
        }
        runs.push(watched.observed.running_share());
    }
    let worst = worst_difference(&samples, &time);
    eprintln!(
        "{role}: {rounds} rounds in {} runs, {worst:.2} points",
        runs.len()
    );
    assert!(
        worst <= 2.0,
        "{samples:?} samples of {time:?} cycles: {worst:.2} points"
    );
}

/// Samples by round and stay, of tags alone.
fn by_round(tags: &[(u64, u64)]) -> BTreeMap<u64, [u64; 4]> {
    let mut rounds = BTreeMap::<u64, [u64; 4]>::new();
    for &(tag, count) in tags {
        if let Some((round, stay @ 1..=4)) = stay_of(tag) {
            rounds.entry(round).or_default()[stay as usize - 1] += count;
        }
    }
    rounds
}

#[test]
fn known_shares_are_recovered_by_tallying() {
    let request = request(Mode::Tally, Pace::Fast);
    recovered(&request, "calibrated", |session| {
        by_round(&session.watched.tags)
    });
}

#[test]
fn known_shares_are_recovered_with_time_stamps() {
    let request = request(Mode::Inline(Depth::Full), Pace::Cycles(2_000));
    recovered(&request, "calibrated", |session| {
        by_round(&session.watched.tags)
    });
}

/// One function called by two others: its samples are told apart, and no stack is seen that never was.
#[test]
fn known_paths_are_recovered_from_stacks() {
    let mut request = request(Mode::Inline(Depth::Full), Pace::Cycles(2_000));
    request.plan.stacks = Some(CONTEXTS);
    recovered(&request, "paths", |session| {
        let stacks = session.watched.stacks.as_ref().expect("asked for");
        let contexts = &stacks.contexts;
        assert_eq!(stacks.sampled, session.watched.observed.sent);
        assert_eq!(stacks.sampled, stacks.whole + stacks.torn);
        assert_eq!((stacks.lost, stacks.deeper), (0, 0));
        let in_tree: u64 = contexts.iter().map(|context| context.samples).sum();
        assert_eq!(in_tree, stacks.sampled);
        // Stays are long beside a read.
        assert!(stacks.torn * 20 < stacks.sampled, "{} torn", stacks.torn);
        let mut rounds = BTreeMap::<u64, [u64; 4]>::new();
        for context in contexts.iter().filter(|context| context.samples > 0) {
            let frames = std::iter::successors(Some(context), |c| Some(&contexts[c.parent?]));
            let mut path: Vec<u64> = frames.map(|c| c.tag).collect();
            path.reverse();
            // The thread, the round, and what it called.
            let stay = match path[1..] {
                // On the way from one stay to another: what was between is not known.
                [.., MISSING, _] => continue,
                [_, LEFT, BOTH] => 1,
                [_, RIGHT, BOTH] => 2,
                [_, RIGHT] => 3,
                [round] if round > 0 => 4,
                // Before the first round, and between two stays.
                [0] | [_, LEFT] => continue,
                _ => panic!("{path:?} was never a stack"),
            };
            let Some((round, 0)) = stay_of(path[1]) else {
                panic!("{path:?} begins with no round");
            };
            rounds.entry(round).or_default()[stay - 1] += context.samples;
        }
        rounds
    });
}

/// Threads are told apart and called by their names. On a busy host the observer may have its CPU only
/// before the threads have their tags; then they are run again.
#[test]
fn threads_have_their_own_shares_and_names() {
    let request = request(Mode::Inline(Depth::Tags), Pace::Cycles(2_000));
    for _ in 0..20 {
        let Some((session, _)) = sampled(&request, "threads") else {
            return;
        };
        let analysis = session.watched.analysis.as_ref().expect("not tallied");
        let threads = &analysis.threads;
        let all: u64 = threads.iter().map(|thread| thread.samples).sum();
        assert_eq!(all, session.watched.observed.sent);
        let mut seen = Vec::new();
        for thread in threads {
            let name = session.threads.get(thread.thread.expect("few threads"));
            let tags = thread.tags.iter().map(|t| t.0).filter(|tag| *tag != 0);
            seen.extend(tags.map(|tag| (name.expect("it lived long enough"), tag)));
        }
        seen.sort_unstable();
        let expected = [("first-worker", 11), ("second-worker", 12)];
        assert!(seen.iter().all(|pair| expected.contains(pair)), "{seen:?}");
        if seen == expected {
            return;
        }
    }
    panic!("in 20 runs never both threads were seen in their tags");
}

#[test]
fn known_shares_are_recovered_from_raw_samples_through_a_ring() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("samples");
    let request = Request {
        keep: Some(kept.clone()),
        ..request(Mode::Ring { capacity: 1 << 20 }, Pace::Cycles(1_500))
    };
    recovered(&request, "calibrated", |session| {
        let account = session.watched.account;
        let (counters, samples) = read_samples(&kept).unwrap();
        assert_eq!(counters, 0);
        assert_eq!(samples.len() as u64, account.kept + account.discarded);
        let tags: Vec<(u64, u64)> = samples.iter().map(|sample| (sample.tag, 1)).collect();
        by_round(&tags)
    });
}

#[test]
fn a_ring_without_room_drops_and_says_so() {
    let tiny = Mode::Ring { capacity: 2 };
    let Some((session, _)) = sampled(&request(tiny, Pace::Fast), "calibrated") else {
        return;
    };
    let account = session.watched.account;
    assert!(account.dropped > 0 && account.balances(), "{account:?}");
}

#[test]
fn a_crash_is_reported_and_nothing_is_left_behind() {
    let before = (affinity::allowed().unwrap(), threads());
    for _ in 0..3 {
        let Some((session, _)) = sampled(&request(Mode::Inline(Depth::Full), Pace::Fast), "crash")
        else {
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

/// The line of a counter that has changed is with its writer: if reading it took longer, double-time error correction
/// would discard the very intervals that have events.
#[test]
fn intervals_with_events_are_kept_as_often_as_others() {
    let mut request = request(Mode::Inline(Depth::Full), Pace::Cycles(1_200));
    request.plan.events = vec!["soft:0".parse().unwrap()];
    let Some((session, _)) = sampled(&request, "counts") else {
        return;
    };
    let analysis = session.watched.analysis.unwrap();
    let rate = &analysis.rates[0];
    let (all, kept) = (&rate.before_dte, &rate.periods[0].rates);
    let with_events = |d: &DistributionResult| 1.0 - d.zeros as f64 / d.count as f64;
    let (all, kept) = (with_events(all), with_events(kept));
    eprintln!("{all:.4} of all intervals have events, {kept:.4} of those kept");
    // One in eight or so, less where the observer or the program waits for a CPU.
    assert!(all > 0.01, "{all}");
    assert!(kept > all / 2.0 && kept < all * 2.0, "{kept} of {all}");
}

#[test]
fn a_region_that_its_program_tries_to_take_away_stays() {
    let Some((session, _)) = sampled(&request(Mode::Inline(Depth::Full), Pace::Fast), "vandal")
    else {
        return;
    };
    assert_eq!(session.code, 0, "truncating a sealed region must fail");
    assert_eq!(session.watched.tags.first().map(|t| t.0), Some(9));
}

#[test]
fn programs_that_cannot_be_observed_are_refused_in_words() {
    let Some(machine) = two_cpus() else { return };
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
    let stacks = Request {
        plan: Plan {
            stacks: Some(CONTEXTS),
            ..request.plan.clone()
        },
        ..Request::default()
    };
    let error = stacks.run(&machine, start(&["true"])).err();
    assert!(matches!(error, Some(ShimError::StacksInTally)), "{error:?}");
    let one = Request {
        wish: Wish {
            observer: Some(4096),
            ..Wish::default()
        },
        ..request.clone()
    };
    let error = one.run(&machine, start(&["true"])).err().unwrap();
    assert!(matches!(error, ShimError::CpuNotAllowed { .. }), "{error}");
    drop(alone);
    let seldom = Request {
        plan: Plan {
            pace: Pace::Sleep(500_000_000),
            ..request.plan.clone()
        },
        ..Request::default()
    };
    let Some((blink, _)) = observed(&seldom, "blink") else {
        return;
    };
    // The program may be caught all the same; if not, the message says why.
    if let Err(error) = blink {
        assert!(matches!(error, ShimError::EndedAtOnce { .. }), "{error}");
    }
}

#[test]
fn a_running_process_is_attached_to_and_left_running() {
    let Some(machine) = two_cpus() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
