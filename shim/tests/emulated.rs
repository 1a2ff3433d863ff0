//! Counters of a real kernel. `scripts/emulated-machine.sh` runs these tests in an emulated machine, whose processor has
//! counters and where an instruction takes a nanosecond, so that each expected value is known; on a host they say nothing.
//!
//! The machine's first process, which is root and alone, starts them. `one_` tests want one processor, `two_` tests two,
//! `bare_` tests one without counters, `slow_` tests one whose instructions take 64 nanoseconds.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hps_shim::ShimError;
use hps_shim::analysis::Depth;
use hps_shim::clock;
use hps_shim::counters::{Event, PerfEvent, Target};
use hps_shim::keep::read_samples;
use hps_shim::machine::{Finding, Machine};
use hps_shim::pace::Pace;
use hps_shim::plan::{Mode, Plan};
use hps_shim::region::{REGION_VARIABLE, Region, Slot};
use hps_shim::session::{Request, Session};
use hps_shim::spawn::{Start, Waiting};

/// Environment variables of a started copy of this program: its role, and the file in which it reports.
const ROLE: &str = "HPS_SHIM_TEST_ROLE";
const REPORT: &str = "HPS_SHIM_TEST_REPORT";
/// A user without capabilities.
const NOBODY: u32 = 65_534;
/// Phases of the observed program: tags, and instructions in each 10 ms, in which 10,000,000 cycles pass. The rest of them
/// is the kernel's.
const PHASES: [(u64, u64); 3] = [(1, 10_000_000), (2, 5_000_000), (3, 2_500_000)];
/// Steps of 10 ms in a phase.
const STEPS: u64 = 30;

/// Two instructions a turn.
fn turns(count: u64) {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a register and flags are all that it changes.
    unsafe {
        core::arch::asm!("2:", "subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) count => _, options(nomem, nostack));
    }
    #[cfg(target_arch = "riscv64")]
    // SAFETY: a register is all that it changes.
    unsafe {
        core::arch::asm!("2:", "addi {n}, {n}, -1", "bnez {n}, 2b", n = inout(reg) count => _, options(nomem, nostack));
    }
    #[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64")))]
    panic!("{count} turns: the emulated machines are of other architectures");
}

/// Lets the kernel work: it fills a buffer, for which the program has some ten instructions of its own.
fn pass_time(zeros: &mut std::fs::File, buffer: &mut [u8]) {
    zeros.read_exact(buffer).unwrap();
}

fn sysctl(name: &str, value: &str) {
    std::fs::write(Path::new("/proc/sys/kernel").join(name), value).expect(name);
}

fn own(event: &str) -> Result<PerfEvent, ShimError> {
    PerfEvent::open(&event.parse::<Event>().unwrap(), Target::OwnThread)
}

fn finding(machine: &Machine, what: &str) -> Finding {
    let findings = machine.findings();
    let found = findings.into_iter().find(|finding| finding.what == what);
    found.unwrap_or_else(|| panic!("no finding {what}"))
}

/// Counts of `event` while the turns run, after the first, in which pages come into memory.
fn counted(counter: &mut PerfEvent, count: u64) -> u64 {
    let mut last = 0;
    for _ in 0..3 {
        let before = counter.read().unwrap();
        turns(count);
        last = counter.read().unwrap() - before;
    }
    last
}

#[test]
fn one_counts_are_exact_by_page_and_by_call() {
    for allowed in ["1", "0"] {
        sysctl("perf_user_access", allowed);
        for event in ["instructions:u", "cycles:u"] {
            let mut counter = own(event).unwrap();
            assert_eq!(counter.user_readable(), allowed == "1", "{event}");
            let [few, many] = [1_000_000, 3_000_000].map(|count| counted(&mut counter, count));
            eprintln!("{event}, read in user space: {allowed}: {few} and {many}");
            // Two instructions a turn, and those around the loop, which are equally many.
            assert_eq!(many - few, 4_000_000, "{event}");
            assert!((2_000_000..2_000_500).contains(&few), "{few}");
        }
    }
    sysctl("perf_user_access", "1");
}

#[test]
fn one_a_program_is_counted_from_its_first_instruction_to_its_last() {
    let event: Event = "instructions:u".parse().unwrap();
    let instructions = |turns: &str| {
        let waiting = Waiting::new(&play(turns, Path::new("/dev/null"))).unwrap();
        let mut counter = PerfEvent::open(&event, Target::Program(waiting.pid())).unwrap();
        // Nothing before the program is counted.
        assert_eq!(counter.read_by_call().unwrap(), 0);
        assert!(waiting.go().unwrap().wait().unwrap().success());
        counter.read_by_call().unwrap()
    };
    let [few, many] = ["1000000", "3000000"].map(instructions);
    eprintln!("instructions of a program: {few} and {many}");
    // Two instructions a turn; the rest is the test program's own.
    assert!(
        (many - few).abs_diff(4_000_000) < 20_000,
        "{few} and {many}"
    );
    assert!((2_000_000..8_000_000).contains(&few), "{few}");
}

/// Arm's counter of 32 bits overflows after 2^31 cycles, since the kernel starts it there.
#[test]
fn slow_the_page_reader_agrees_with_the_kernel_over_overflows() {
    const READS: u32 = 5_000;
    sysctl("perf_user_access", "1");
    let mut paged = own("cycles:u").unwrap();
    assert!(paged.user_readable());
    let begin = paged.read().unwrap();
    let mut last = begin;
    for _ in 0..READS {
        let before = paged.read_by_call().unwrap();
        let here = paged.read().unwrap();
        let after = paged.read_by_call().unwrap();
        assert!(before <= here && here <= after, "{before} {here} {after}");
        assert!(last <= here, "{last} {here}");
        last = here;
        turns(20_000);
    }
    eprintln!("{READS} reads over {} cycles", last - begin);
    assert!(last - begin > 1 << 33, "{}", last - begin);
}

#[test]
fn one_missing_and_shared_counters_are_said_in_a_line() {
    for (event, words) in [
        (
            "cache-misses",
            "no performance monitoring unit with such an event",
        ),
        (
            "branch-misses:u",
            "no performance monitoring unit with such an event",
        ),
    ] {
        let said = own(event).unwrap_err().to_string();
        assert!(said.contains(event) && said.contains(words), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }
    // An event that the processor does not know: Arm's counts nothing, RISC-V's firmware finds no counter for it.
    let mut unknown = own("r3ff:u").unwrap();
    match unknown.read() {
        Ok(before) => {
            turns(1_000);
            assert_eq!(unknown.read().unwrap(), before);
        }
        Err(error) => assert!(matches!(error, ShimError::NeverCounted { .. }), "{error}"),
    }
    let mut all: Vec<PerfEvent> = (0..12).map(|_| own("instructions:u").unwrap()).collect();
    let (mut shared, mut never) = (0, 0);
    for _ in 0..20 {
        turns(5_000_000);
    }
    for counter in &mut all {
        match counter.read_by_call() {
            Err(ShimError::Multiplexed { .. }) => shared += 1,
            Err(ShimError::NeverCounted { .. }) => never += 1,
            other => panic!("{other:?}"),
        }
    }
    eprintln!("12 events: {shared} shared a counter, {never} never had one");
    assert!(shared > 0);
}

/// Rights of users without capabilities: own program in user space, own program, whole CPU.
#[test]
fn one_every_paranoid_level_is_answered_in_a_line() {
    for (level, [user, kernel, cpu], words) in [
        ("-1", [true, true, true], "whole CPUs may be counted"),
        ("0", [true, true, true], "whole CPUs may be counted"),
        ("1", [true, true, false], "own programs may be counted"),
        ("2", [true, false, false], "in user space (:u)"),
        ("3", [false, false, false], "every event is refused"),
        ("4", [false, false, false], "every event is refused"),
    ] {
        sysctl("perf_event_paranoid", level);
        let played = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "role", "--nocapture", "-q"])
            .env(ROLE, "rights")
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&played.stderr).into_owned();
        assert!(played.status.success(), "{said}");
        let line = |name: &str| {
            let found = said.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap_or_else(|| panic!("no {name} in {said}"))
        };
        for (name, expected) in [("own:u ", user), ("own ", kernel), ("cpu ", cpu)] {
            let answer = line(name);
            assert_eq!(
                answer == "counts",
                expected,
                "level {level}: {name}{answer}"
            );
            assert!(
                expected || answer.contains("perf_event_paranoid"),
                "{answer}"
            );
        }
        eprintln!("level {level}: {}", line("SHIM: paranoid "));
        assert!(line("SHIM: paranoid ").contains(words), "{said}");
    }
    sysctl("perf_event_paranoid", "2");
}

/// Prints which events a user without capabilities may count.
fn rights() {
    let cycles = |name: &str, target| {
        let event: Event = name.parse().unwrap();
        match PerfEvent::open(&event, target) {
            Ok(_) => "counts".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    eprintln!("\nown:u {}", cycles("cycles:u", Target::OwnThread));
    eprintln!("own {}", cycles("cycles", Target::OwnThread));
    eprintln!("cpu {}", cycles("cycles", Target::Cpu(0)));
    for finding in Machine::find().unwrap().findings() {
        eprintln!("{} {}", finding.what, finding.detail);
    }
}

/// The started copy's; nothing otherwise.
#[test]
fn role() {
    match std::env::var(ROLE).as_deref() {
        Ok("rights") => rights(),
        Ok("phases") => phases(),
        Ok("lasts") => lasts(),
        Ok(count) => turns(count.parse().expect("a number of turns")),
        _ => {}
    }
}

fn slot_of(region: &Region) -> &Slot {
    region.take_slot().expect("a free slot")
}

fn region() -> Region {
    Region::open(&PathBuf::from(std::env::var_os(REGION_VARIABLE).unwrap())).unwrap()
}

fn phases() {
    let region = region();
    let slot = slot_of(&region);
    let step = clock::ticks_per_second() / 100.0;
    let mut zeros = std::fs::File::open("/dev/zero").unwrap();
    let mut buffer = vec![0; 1 << 18];
    for (tag, instructions) in PHASES {
        slot.set(tag);
        let begin = clock::now();
        for number in 1..=STEPS {
            turns(instructions / 2);
            while clock::now() - begin < (number as f64 * step) as u64 {
                pass_time(&mut zeros, &mut buffer);
            }
        }
    }
    slot.live.store(2, Ordering::Relaxed);
}

/// Runs for ten seconds, and says so at its end.
fn lasts() {
    let region = region();
    slot_of(&region).set(1);
    std::thread::sleep(Duration::from_secs(10));
    std::fs::write(std::env::var_os(REPORT).unwrap(), "ended").unwrap();
}

fn play(role: &str, report: &Path) -> Start {
    let me = std::env::current_exe().unwrap().into_os_string();
    let words = ["--exact", "role", "--nocapture", "-q"];
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

fn counting(events: &[&str]) -> Request {
    Request {
        plan: Plan {
            mode: Mode::Inline(Depth::Full),
            pace: Pace::Sleep(10_000_000),
            events: events.iter().map(|event| event.parse().unwrap()).collect(),
            may_interrupt: true,
            ..Plan::default()
        },
        ..Request::default()
    }
}

#[test]
fn two_instructions_are_those_of_the_program_and_phases_are_told_apart() {
    let kept = PathBuf::from("/tmp/samples");
    let mut request = counting(&["instructions:u", "cycles"]);
    request.plan.mode = Mode::Ring { capacity: 1 << 12 };
    request.keep = Some(kept.clone());
    let machine = Machine::find().unwrap();
    let session = request.run(&machine, play("phases", &kept)).unwrap();
    assert_eq!(session.code, 0, "{}", session.status);
    let samples = read_samples(&kept).unwrap().1;
    let counted = samples.last().unwrap().counters[0];
    let known: u64 = PHASES
        .iter()
        .map(|(_, instructions)| STEPS * instructions)
        .sum();
    eprintln!(
        "{} samples: {counted} instructions of {known}",
        samples.len()
    );
    assert!(
        counted.abs_diff(known) * 100 < known,
        "{counted} of {known}"
    );
    for (tag, instructions) in PHASES {
        let mut phase = samples.iter().filter(|sample| sample.tag == tag);
        let (first, last) = (phase.next().unwrap(), phase.next_back().unwrap());
        let gained = |counter: usize| (last.counters[counter] - first.counters[counter]) as f64;
        let (ipc, expected) = (gained(0) / gained(1), instructions as f64 / 1e7);
        eprintln!("phase {tag}: IPC {ipc:.3} of {expected}");
        assert!((ipc / expected - 1.0).abs() < 0.1, "{ipc} of {expected}");
    }
}

/// The program's thread counts for itself, with each tag; nothing interrupts it.
#[test]
fn two_threads_count_with_their_tags() {
    sysctl("perf_user_access", "1");
    let machine = Machine::find().unwrap();
    let said = finding(&machine, "SHIM: IPC");
    eprintln!("{}", said.detail);
    assert!(said.available && said.detail.contains("with each tag"));
    assert!(said.detail.contains("two counters are read in "));
    let mut request = counting(&["instructions:u", "cycles"]);
    request.plan.may_interrupt = false;
    request.plan.pace = Pace::Sleep(2_000_000);
    let start = Start {
        command: vec!["/stays".into()],
        ..Start::default()
    };
    let session = request.run(&machine, start).unwrap();
    let path = &session.watched.counters[0].path;
    assert!(path.contains("with each tag"), "{path}");
    let counted = session.region.layout().slots[0].events[0].load(Ordering::Relaxed);
    let known: u64 = PHASES
        .iter()
        .map(|(_, instructions)| 6 * 4 * instructions)
        .sum();
    eprintln!("{counted} instructions of {known}");
    assert!(
        counted.abs_diff(known) * 100 < known,
        "{counted} of {known}"
    );
    let analysis = session.watched.analysis.unwrap();
    let ipc = &analysis.rates[0];
    assert_eq!(ipc.spec.name, "IPC");
    for (tag, instructions) in PHASES {
        let of_tag = ipc.by_tag.iter().find(|(of, _)| *of == tag);
        let (stays, mean) = of_tag.map(|(_, rates)| (rates.count, rates.mean)).unwrap();
        let expected = instructions as f64 / 1e7;
        eprintln!("tag {tag}: IPC {mean:.3} of {expected} in {stays} stays");
        // QEMU runs the two processors in turns of up to 4 ms: the observer misses the ends of some stays, which then do not count.
        assert!(stays >= 2 && (mean / expected - 1.0).abs() < 0.1, "{mean}");
    }
}

/// A run that must end early, with what it says.
fn refused(request: &Request, also: impl FnOnce() + Send + 'static) -> String {
    let report = PathBuf::from("/tmp/report");
    let _ = std::fs::remove_file(&report);
    let beside = std::thread::spawn(also);
    let ended = request.run(&Machine::find().unwrap(), play("lasts", &report));
    beside.join().unwrap();
    assert!(!report.exists(), "the program ran to its end");
    ended
        .map(|session: Session| session.status)
        .unwrap_err()
        .to_string()
}

#[test]
fn two_events_that_share_counters_end_the_run_at_once() {
    let said = refused(&counting(&["instructions:u"; 8]), || ());
    eprintln!("{said}");
    assert!(
        said.contains("fewer events") && !said.contains('\n'),
        "{said}"
    );
}

#[test]
fn two_an_observer_whose_cpu_goes_offline_says_so() {
    let observer = "/sys/devices/system/cpu/cpu1/online";
    let said = refused(&counting(&[]), move || {
        std::thread::sleep(Duration::from_millis(500));
        std::fs::write(observer, "0").unwrap();
    });
    std::fs::write(observer, "1").unwrap();
    eprintln!("{said}");
    assert!(said.contains("observer's CPU 1 went offline"), "{said}");
}

#[test]
fn bare_a_machine_without_counters_says_so() {
    let machine = Machine::find().unwrap();
    let said = finding(&machine, "SHIM: PMU");
    eprintln!("{}", said.detail);
    assert!(!said.available && said.detail.contains("no performance monitoring unit"));
    assert!(finding(&machine, "SHIM: perf").available);
    assert!(!finding(&machine, "SHIM: IPC").available);
}
