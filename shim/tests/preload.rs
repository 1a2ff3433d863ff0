//! The tag library in programs that know nothing of it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use hps_shim::calls::{Collector, FoundCalls, observe_calls};
use hps_shim::pace::Pace;
use hps_shim::preload::{self, CALLS_VARIABLE, Variant};
use hps_shim::region::{ENDED, LIVE, REGION_VARIABLE, Region, STACK, depth_of};
use hps_shim::rings::RINGS_VARIABLE;
use hps_shim::symbols::{ProcessMaps, Symbolizer};

fn compile(source: &str, out: &Path, flags: &[&str]) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let program = out.join(source.replace('.', "_"));
    let output = Command::new("cc")
        .args(["-g1", "-pthread", "-Wall", "-Wextra", "-o"])
        .arg(&program)
        .arg(file)
        .args(flags)
        .output()
        .expect("the host's compiler (Debian: build-essential)");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// A program that stops at each of its `stop` calls.
struct Stops {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    region: Region,
    symbols: Symbolizer,
}

impl Stops {
    fn start(program: &Path, library: &Path) -> Self {
        let region = Region::create().expect("a region");
        region.layout().header.gate.store(1, Ordering::Relaxed);
        let mut child = Command::new(program)
            .env("LD_PRELOAD", library)
            .env(REGION_VARIABLE, region.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        // The program waits at the gate, with the region claimed, until it is let through.
        while region.layout().header.pid.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(
            region.layout().header.pid.load(Ordering::Relaxed),
            child.id()
        );
        assert_eq!(region.used_slots().count(), 0, "nobody is through yet");
        region.layout().header.gate.store(0, Ordering::Release);
        Stops {
            input: child.stdin.take().expect("its input"),
            output: child.stdout.take().expect("its output"),
            symbols: Symbolizer::of_process(child.id()).expect("it runs"),
            child,
            region,
        }
    }

    /// Waits for the next stop.
    fn reach(&mut self) {
        self.output.read_exact(&mut [0]).expect("it stops again");
        self.symbols
            .update(&ProcessMaps::of_process(self.child.id()).expect("it runs"));
    }

    fn go_on(&mut self) {
        self.input.write_all(b"x").expect("it reads");
    }

    /// Tag of a slot's thread, and its stack.
    fn state(&mut self, slot: usize) -> (String, Vec<String>) {
        let slot = &self.region.layout().slots[slot];
        let tag = slot.tag.load(Ordering::Relaxed);
        let depth = depth_of(slot.depth.load(Ordering::Relaxed));
        let stack: Vec<u64> = slot.stack[..depth.min(STACK)]
            .iter()
            .map(|entry| entry.load(Ordering::Relaxed))
            .collect();
        let mut name = |tag| self.symbols.resolve(tag).to_string();
        (name(tag), stack.into_iter().map(&mut name).collect())
    }
}

#[test]
fn each_entry_and_exit_writes_its_tag() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preload::build(folder.path(), Variant::Stack).expect("a library");
    assert_eq!(
        preload::build(folder.path(), Variant::Stack).expect("again"),
        library,
        "the same sources are compiled once"
    );
    let flags = ["-O2", "-fno-inline", "-finstrument-functions"];
    let program = compile("stops.c", folder.path(), &flags);
    let mut stops = Stops::start(&program, &library);
    let expect = |stops: &mut Stops, tag: &str, stack: &[&str]| {
        stops.reach();
        let seen = stops.state(0);
        assert_eq!(
            (seen.0.as_str(), seen.1),
            (tag, stack.iter().map(|s| (*s).to_owned()).collect())
        );
        stops.go_on();
    };
    expect(&mut stops, "leaf", &["main", "caller", "leaf"]);
    expect(&mut stops, "caller", &["main", "caller"]);
    // Frames that longjmp skipped go when the next function leaves; until then the tag is the last entered function's.
    stops.reach();
    assert_eq!(stops.state(0).0, "jumper");
    stops.go_on();
    // Deeper than the stack that the observer sees.
    for (depth, tag) in [(402, "deeper"), (102, "deeper"), (2, "deeper")] {
        stops.reach();
        let slot = &stops.region.layout().slots[0];
        assert_eq!(depth_of(slot.depth.load(Ordering::Relaxed)), depth);
        let (seen, stack) = stops.state(0);
        assert_eq!((seen.as_str(), stack[0].as_str()), (tag, "main"));
        assert!(stack[1..].iter().all(|f| f == "deeper"));
        stops.go_on();
    }
    // A thread has a slot of its own.
    stops.reach();
    assert_eq!(stops.state(1).0, "leaf");
    assert_eq!(stops.state(1).1, ["thread", "leaf"]);
    assert_eq!(stops.state(0), ("main".to_owned(), vec!["main".to_owned()]));
    stops.go_on();
    // A forked child has a slot of its own, too, and begins with an empty stack.
    stops.reach();
    let child = &stops.region.layout().slots[1];
    assert_eq!(child.generation.load(Ordering::Relaxed), 2);
    assert_eq!(stops.state(1), ("leaf".to_owned(), vec!["leaf".to_owned()]));
    assert_eq!(stops.state(0).0, "forker");
    stops.go_on();
    stops.reach();
    let child = &stops.region.layout().slots[1];
    assert_eq!(child.live.load(Ordering::Relaxed), ENDED);
    assert_eq!(
        stops.region.layout().slots[0].live.load(Ordering::Relaxed),
        LIVE
    );
    stops.go_on();
    assert!(stops.child.wait().expect("it ends").success());
    assert_eq!(stops.region.used_slots().count(), 2);
    let main = &stops.region.layout().slots[0];
    assert_eq!(
        (
            main.live.load(Ordering::Relaxed),
            depth_of(main.depth.load(Ordering::Relaxed))
        ),
        (ENDED, 0)
    );
}

#[test]
fn the_flat_library_comes_back_to_the_caller() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preload::build(folder.path(), Variant::Flat).expect("a library");
    let flags = ["-O1", "-fno-inline", "-finstrument-functions"];
    let program = compile("stops.c", folder.path(), &flags);
    let mut stops = Stops::start(&program, &library);
    for expected in ["leaf", "caller"] {
        stops.reach();
        assert_eq!(stops.state(0), (expected.to_owned(), vec![]));
        stops.go_on();
    }
    stops.child.kill().expect("killed");
    stops.child.wait().expect("waited for");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn patched_entries_write_the_function_entered_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preload::build(folder.path(), Variant::Patch).expect("a library");
    for kind in ["-pie", "-no-pie"] {
        for landing in ["-fcf-protection=none", "-fcf-protection=full"] {
            let flags = ["-O1", "-fno-inline", "-fpatchable-function-entry=5"];
            let code = if kind == "-pie" { "-fPIE" } else { "-fno-pie" };
            let flags = [&flags[..], &[kind, code, landing]].concat();
            let program = compile("stops.c", folder.path(), &flags);
            assert_eq!(Variant::of_program(&program), Variant::Patch, "{flags:?}");
            let mut stops = Stops::start(&program, &library);
            // In the leaf, and back in its caller, whose exit nothing says.
            for _ in 0..2 {
                stops.reach();
                assert_eq!(stops.state(0), ("leaf".to_owned(), vec![]), "{flags:?}");
                stops.go_on();
            }
            for expected in ["jumper", "deeper", "deeper", "deeper"] {
                stops.reach();
                assert_eq!(stops.state(0).0, expected, "{flags:?}");
                stops.go_on();
            }
            stops.reach();
            assert_eq!(stops.state(1).0, "leaf", "{flags:?}: the thread's own");
            stops.child.kill().expect("killed");
            stops.child.wait().expect("waited for");
        }
    }
}

#[test]
fn calls_are_counted_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preload::build(folder.path(), Variant::Calls).expect("a library");
    let flags = ["-O2", "-finstrument-functions"];
    let program = compile("stops.c", folder.path(), &flags);
    let file = folder.path().join("calls");
    preload::create_calls_file(&file).expect("a file");
    let mut child = Command::new(program)
        .env("LD_PRELOAD", library)
        .env(CALLS_VARIABLE, &file)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(&[b'x'; 64]).expect("it reads");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    let calls = preload::read_calls_file(&file).expect("counts");
    assert_eq!(calls.lost, 0);
    let mut symbols = Symbolizer::new(ProcessMaps::parse(&calls.maps));
    assert_eq!(
        named(&mut symbols, calls.calls),
        expected(&[("forker", "leaf", 1)])
    );
}

/// Calls by the names of caller and callee.
fn named(
    symbols: &mut Symbolizer,
    calls: impl IntoIterator<Item = ((u64, u64), u64)>,
) -> BTreeMap<(String, String), u64> {
    let mut name = |address: u64| match address {
        0 => String::new(),
        _ => symbols.resolve(address).to_string(),
    };
    calls
        .into_iter()
        .map(|((caller, callee), count)| ((name(caller), name(callee)), count))
        .collect()
}

/// The calls of `stops.c`, and some more.
fn expected(more: &[(&str, &str, u64)]) -> BTreeMap<(String, String), u64> {
    let always = [
        ("", "main", 1),
        ("", "thread", 1),
        ("main", "leaf", 1000),
        ("main", "caller", 1),
        ("caller", "leaf", 1),
        ("main", "survivor", 1),
        ("survivor", "jumper", 1),
        ("jumper", "jumper", 10),
        ("main", "deeper", 1),
        ("deeper", "deeper", 400),
        ("thread", "leaf", 1),
        ("main", "forker", 1),
    ];
    let all = always.iter().chain(more);
    all.map(|&(caller, callee, count)| ((caller.to_owned(), callee.to_owned()), count))
        .collect()
}

/// Runs `stops.c` with rings of these bytes, which nobody reads before its end: what they hold, by address and by name,
/// and what found no room.
fn left_in_rings(collector: Collector) -> (FoundCalls, BTreeMap<(String, String), u64>, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preload::build(folder.path(), collector.variant()).expect("a library");
    let flags = ["-O2", "-finstrument-functions"];
    let program = compile("stops.c", folder.path(), &flags);
    let region = Region::create().expect("a region");
    let rings = collector.rings().expect("rings").expect("it needs rings");
    let mut child = Command::new(program)
        .env("LD_PRELOAD", library)
        .env(REGION_VARIABLE, region.path())
        .env(RINGS_VARIABLE, rings.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = child.stdout.take().expect("its output");
    let mut byte = [0];
    output.read_exact(&mut byte).expect("it stops once");
    let mut symbols = Symbolizer::of_process(child.id()).expect("its map");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(&[b'x'; 64]).expect("it reads");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    let ended = AtomicBool::new(true);
    let found = observe_calls(collector, &region, Some(&rings), Pace::Fast, &ended);
    let names = named(&mut symbols, found.calls.clone());
    (found, names, rings.skipped())
}

#[test]
fn rings_hold_each_call_with_its_caller() {
    let (found, names, skipped) = left_in_rings(Collector::Pairs(64 << 10));
    assert_eq!((found.orphans, skipped), (0, 0));
    // The forked child's is nobody's.
    assert_eq!(names, expected(&[]));

    let (found, names, skipped) = left_in_rings(Collector::Sequence(64 << 10));
    assert_eq!((found.orphans, skipped), (2, 0), "main and thread");
    let mut all = expected(&[]);
    all.retain(|(caller, _), _| !caller.is_empty());
    assert_eq!(names, all);
}

#[test]
fn what_finds_no_room_in_a_ring_is_counted() {
    let (found, _, skipped) = left_in_rings(Collector::Pairs(4 << 10));
    let all: u64 = expected(&[]).values().sum();
    assert_eq!(found.total() + skipped, all);
    // 256 calls of the main thread, and the other's two.
    assert_eq!(found.total(), 258);
}

#[test]
fn without_a_region_the_program_runs_as_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preload::build(folder.path(), Variant::Stack).expect("a library");
    let program = compile("stops.c", folder.path(), &["-O2", "-finstrument-functions"]);
    for region in [None, Some("/nowhere"), Some("/dev/null"), Some("")] {
        let mut command = Command::new(&program);
        command.env_remove(REGION_VARIABLE);
        if let Some(region) = region {
            command.env(REGION_VARIABLE, region);
        }
        let mut child = command
            .env("LD_PRELOAD", &library)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("its input");
        input.write_all(&[b'x'; 64]).expect("it reads");
        assert!(child.wait().expect("it ends").success(), "{region:?}");
    }
}
