//! Tags, counters and stacks that a guest shows by itself (`hps_shim.h`), beside the truth.

use std::process::Command;

use hps_lab::observer::shown::VARIABLE;
use hps_lab::observer::{Observer, Placement, Signals, Throttle};
use hps_lab::{Lab, Productions, Program};
use hps_pipeline::config::MachineConfig;
use hps_sim_core::machine::Stop;
use hps_system::image::Isa;
use hps_system::os::Output;

use crate::cases::build::build;
use crate::guest::in_parallel;
use crate::support::Hps;

/// The program `tests/guest/tagged.c`.
fn tagged(hps: &Hps, isa: Isa) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let path = hps.path(&format!("tagged-{isa}"));
    let compiler = format!("{isa}-linux-gnu-gcc");
    let for_isa: &[&str] = match isa {
        Isa::Riscv64 => &[],
        // Linker relaxation would leave a static Alpha program without its thread-local data.
        Isa::Alpha => &["-mcpu=ev6", "-mieee", "-Wl,--no-relax"],
    };
    let status = Command::new(&compiler)
        .args(["-O2", "-static", "-pthread", "-o", &path])
        .args(for_isa)
        .arg(format!("-I{root}/shim/include"))
        .arg(format!("{root}/tests/guest/tagged.c"))
        .status()
        .unwrap_or_else(|e| panic!("{compiler}: {e}; install Debian's packages as test.sh does"));
    assert!(status.success(), "{compiler}");
    path
}

/// Samples that may be wrong: the observer may have looked up where the slot is before it was told.
const STALE: f64 = 2.0;

/// The numbers in the row of a table that begins with a word, without their units.
#[track_caller]
fn row(text: &str, name: &str) -> Vec<f64> {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix(name));
    let row = rows.next().unwrap_or_else(|| panic!("{name}: {text}"));
    let number = |word: &str| word.replace(['%', ','], "").parse().ok();
    row.split_whitespace().filter_map(number).collect()
}

#[test]
fn what_a_guest_shows_is_seen_and_changes_nothing() {
    let hps = Hps::new();
    let mut runs = Vec::new();
    for isa in Isa::ALL {
        for placement in ["smt", "cmp"] {
            runs.push((tagged(&hps, isa), placement));
        }
    }
    in_parallel(&runs, |(path, placement)| {
        let alone = hps.run(&["run", path]).expect_code(0);
        let observed = |argument: &[&str]| {
            let words = [
                "shim",
                "simulate",
                "--own-tags",
                "--own-counter",
                "2",
                "--own-stacks",
                "--placement",
                placement,
                path,
            ];
            hps.run(&[&words[..], argument].concat()).expect_code(0)
        };
        let text = observed(&[]);
        assert_eq!(text.lines().next(), alone.lines().next());
        // Samples, cycles, precision, then samples and cycles with all that was called.
        // From another core a tag is as old as its line takes to come, and a read that meets a store of the program has the
        // tag behind it: short stretches between two stores are seen less often than they last.
        let (of_heavy, off) = match *placement {
            "cmp" => (85.0, 7.0),
            _ => (90.0, 4.0),
        };
        for (name, precision) in [("light", 75.0), ("heavy", of_heavy), ("outer", 0.0)] {
            let shares = row(&text, name);
            assert!((shares[0] - shares[1]).abs() < off, "{name}: {text}");
            assert!(shares[2] > precision, "{name}: {text}");
        }
        // Three times the work.
        let (light, heavy) = (row(&text, "light"), row(&text, "heavy"));
        assert!((2.6..3.3).contains(&(heavy[1] / light[1])), "{text}");
        let outer = row(&text, "outer");
        assert!(
            (outer[1] + light[1] + heavy[1] - outer[4]).abs() < 1.0,
            "{text}"
        );
        assert!((outer[3] - outer[4]).abs() < 7.0, "{text}");
        assert!(row(&text, "read whole, and never so")[0] <= STALE, "{text}");
        // 60 rounds of 5, but for those before the slot is known and behind the last sample.
        let counter = text
            .lines()
            .find(|line| line.trim_start().starts_with("2 "));
        let counter = row(counter.expect("counter 2").trim_start(), "2 ");
        assert!((280.0..=300.0).contains(&counter[0]), "{text}");
        assert!(
            (counter[0] - counter[1]).abs() <= 5.0 && counter[2] > 99.0,
            "{text}"
        );

        let text = observed(&["drop"]);
        assert_eq!(text.lines().next(), alone.lines().next(), "{text}");
        let (alone, text) = (hps.run(&["run", path, "threads"]), observed(&["threads"]));
        assert_eq!(text.lines().next(), alone.expect_code(0).lines().next());
        assert_eq!(row(&text, "threads with tags"), [2.0], "{text}");
    });
}

/// Stores are seen by others when they commit, and loads of the observer read when they are dispatched: in one cycle either
/// may come first.
#[test]
fn each_sample_is_what_the_guest_showed_when_it_was_read() {
    let hps = Hps::new();
    let machine = MachineConfig::preset("shim-haswell-like").expect("the preset exists");
    for isa in Isa::ALL {
        let mut program = Program::find(&tagged(&hps, isa), isa).expect("it was compiled");
        program.process.stdout = Output::Capture;
        program.process.env = vec![(VARIABLE.0.to_string(), VARIABLE.1.to_string())];
        for placement in [Placement::Smt, Placement::Cmp] {
            let observer = Observer {
                placement,
                signals: Signals::Shown {
                    counters: 0,
                    own: 1 << 2,
                    depth: 8,
                },
                throttle: Throttle::None,
            };
            let (mut samples, mut wrong) = (0_u64, Vec::new());
            let mut tags = std::collections::BTreeSet::new();
            let lab = Lab::of(&program).on_machine(&machine);
            let observed = lab.observe_stacks(&observer, |sample, stack, reads, reckoning| {
                let is = |before: &dyn Fn(u64) -> u64, read, cycle| {
                    read == before(cycle) || read == before(cycle + 1)
                };
                let tag = |cycle| reckoning.place_before(cycle);
                let counter = |cycle| reckoning.own_before(2, cycle);
                if !is(&tag, sample.tag, reads.tag)
                    || !is(&counter, sample.counters[0], reads.counters[0])
                    || stack.tag != sample.tag
                {
                    wrong.push(*sample);
                }
                tags.insert(sample.tag);
                samples += 1;
            });
            assert!(wrong.len() as f64 <= STALE, "{isa}: {wrong:?}");
            let observed = observed.expect("it runs");
            assert!(
                matches!(observed.stop, Stop::Exit(0)),
                "{:?}",
                observed.stop
            );
            assert!(
                samples > 300 && tags.len() == 4,
                "{isa}: {samples}, {tags:?}"
            );
            let shown = observed.shown.expect("it has a region");
            let names: Vec<&str> = shown.names.values().map(String::as_str).collect();
            assert_eq!(names, ["light", "heavy", "outer"]);
            let cycles: u64 = shown.paths.iter().map(|(_, spent)| spent.cycles).sum();
            assert_eq!(cycles, observed.cycles);
        }
    }
}

/// A function that computes, one that calls it, one whose error is caught, and in Lua a coroutine.
const LUA: &str = "
local function work(n)
  local x = 0
  for i = 1, n do x = (x * 31 + i) % 1000003 end
  return x
end
local function fails() error('caught') end
local function call(n)
  pcall(fails)
  local done = work(n)
  return done
end
local turns = coroutine.wrap(function() while true do coroutine.yield(call(200)) end end)
local sum = 0
for i = 1, 12 do sum = sum + call(300) + turns() end
print(sum)
";
const JAVASCRIPT: &str = "
function work(n) {
  var x = 0;
  for (var i = 1; i <= n; i++) x = (x * 31 + i) & 1023;
  return x;
}
function fails() { throw new Error('caught'); }
function call(n) {
  try { fails(); } catch (error) { n++; }
  return work(n);
}
var sum = 0;
for (var i = 0; i < 5; i++) sum += call(250);
print(sum);
";

#[test]
fn functions_of_scripts_are_tags_of_interpreters() {
    let hps = Hps::new();
    std::fs::write(hps.path("script.lua"), LUA).expect("a file");
    std::fs::write(hps.path("script.js"), JAVASCRIPT).expect("a file");
    let lua = (
        "lua-tags",
        "script.lua",
        "script.lua:2 work",
        "script.lua:8 call",
    );
    let mujs = (
        "mujs-tags",
        "script.js",
        "script.js:2 work",
        "script.js:8 call",
    );
    let runs = [
        (lua, Isa::Riscv64, "cmp"),
        (lua, Isa::Alpha, "smt"),
        (mujs, Isa::Riscv64, "smt"),
        (mujs, Isa::Alpha, "nowhere"),
    ];
    in_parallel(&runs, |((name, script, work, call), isa, placement)| {
        let image = crate::real_programs::program(name, *isa);
        let image = image.to_str().expect("a path");
        let alone = hps.run(&["run", image, script]).expect_code(0);
        if *placement == "nowhere" {
            // Only the tags are written: an observer beside the program takes long.
            let region = format!("{}={}", VARIABLE.0, VARIABLE.1);
            let tagged = hps.run(&["run", "--env", &region, image, script]);
            assert_eq!(tagged.expect_code(0), alone);
            return;
        }
        let words = [
            "shim",
            "simulate",
            "--own-tags",
            "--own-stacks",
            "--sleep",
            "200",
            "--placement",
            placement,
            image,
            script,
        ];
        let text = hps.run(&words).expect_code(0);
        assert_eq!(text.lines().next(), alone.lines().next());
        let work = row(&text, work);
        // Samples, cycles, precision, then samples and cycles with all that was called.
        assert!(work[1] > 20.0 && (work[0] - work[1]).abs() < 2.0, "{text}");
        assert!(work[2] > 90.0, "{text}");
        let call = row(&text, call);
        assert!(call[1] < 6.0 && (call[3] - call[4]).abs() < 2.0, "{text}");
        assert!(call[4] > work[1], "{text}");
        assert!(row(&text, "read whole, and never so")[0] <= STALE, "{text}");
    });
}

/// A program with children, on the one context that is left for it: what counts is counted of no other process. Reads cost
/// nothing, so that the count of each interval is exact.
#[test]
fn counts_between_samples_of_a_process_with_children_are_exact() {
    let mut machine = MachineConfig::preset("shim-haswell-like").expect("the preset exists");
    (machine.counters.read_cycles, machine.chip.cores) = (0, 1);
    machine.counters.selected.0.truncate(2);
    let path = build(
        crate::cases::build::Isa::Riscv64,
        "observed.c",
        &["-O1", "-pthread"],
    );
    for way in ["child", "vfork", "spawn", "pipes", "exec-child"] {
        let mut program = Program::find(&path, Isa::Riscv64).expect("it was compiled");
        program.process.stdout = Output::Capture;
        program.process.args = vec![path.clone(), way.to_string()];
        let tags = Productions::load(Isa::Riscv64, &["shim_tag".to_string()], Default::default());
        let tags = tags.expect("the file is good").on(&machine);
        let observer = Observer {
            placement: Placement::Smt,
            signals: Signals::Samples { counters: 2 },
            throttle: Throttle::Spin(20),
        };
        let (mut last, mut exact, mut hidden, mut apart) = (None, 0, 0, 0);
        let observed = Lab::of(&program)
            .on_machine(&machine)
            .edited_by(&tags.expect("they fit"))
            .observe(&observer, |sample, reads, reckoning| {
                // In a cycle contexts take turns in being the first.
                let at = reads.counters[0] + u64::from(reads.counters[0].is_multiple_of(2));
                let now = (
                    sample.counters[0].wrapping_sub(sample.counters[1]),
                    reckoning.before(at),
                    at,
                );
                if sample.is_apart() {
                    (last, apart) = (None, apart + 1);
                    return;
                }
                let Some((read, done, from)) = last.replace(now) else {
                    return;
                };
                let (counted, truth) = (now.0.wrapping_sub(read), now.1 - done);
                if reckoning.cycles_of_others(from, at) > 0 {
                    assert!(counted >= truth, "{way}: {counted} {truth}");
                    hidden += 1;
                } else {
                    assert_eq!(counted, truth, "{way}, at {at}");
                    exact += 1;
                }
            });
        let observed = observed.expect("it runs");
        assert!(matches!(observed.stop, Stop::Exit(0)), "{way}");
        assert!(observed.other_instructions > 20_000, "{way}");
        assert!(exact > 500 && apart > 100, "{way}: {exact} {apart}");
        assert!(hidden < 50, "{way}: {hidden}");
    }
}
