//! `hps validate`: programs of the project and real ones of Debian's sources, natively and simulated.

#[path = "support/json_schema.rs"]
#[allow(dead_code)] // it serves tests of other programs, too
mod json_schema;
#[path = "support/left_out.rs"]
mod left_out;

use std::path::{Path, PathBuf};
use std::process::Command;

use left_out::left_out;
use serde_json::Value;

/// Each run wants both processors for itself.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Runs `hps validate` and gives what it wrote as JSON, and its exit code.
fn validate(args: &[&str]) -> (Value, i32) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("out.json");
    // Compiled files stay for the next time; their names tell versions apart.
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("validate");
    let output = Command::new(env!("CARGO_BIN_EXE_hps"))
        .arg("validate")
        .arg(format!("--json={}", json.display()))
        .arg("--out")
        .arg(out)
        .args(args)
        .output()
        .expect("hps runs");
    let text = std::fs::read_to_string(&json).unwrap_or_else(|_| {
        panic!(
            "hps validate {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    let document = serde_json::from_str(&text).expect("JSON");
    json_schema::expect_valid("hps-validation", &document);
    (document, output.status.code().expect("it ended"))
}

/// Two processors are there, so that shares of time can be measured.
fn runs(number: &'static str) -> &'static str {
    let two = std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !two {
        left_out(
            "shares of time of hps validate",
            "only one CPU may be used, and the observer needs another",
        );
    }
    if two { number } else { "0" }
}

/// Functions whose calls differ.
fn differences(program: &Value) -> Vec<&str> {
    let all = program["calls"]["differences"].as_array().expect("a list");
    all.iter()
        .map(|d| d["function"].as_str().expect("a name"))
        .collect()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_agree_exactly_with_the_simulation() {
    // Each night all programs of the project.
    let few: &[&str] = match std::env::var_os("HPS_NIGHT") {
        Some(_) => &[],
        None => &["bwt", "chess", "interp", "lz"],
    };
    let (document, code) = validate(&[few, &["--runs", "0", "--no-timing"]].concat());
    assert_eq!(code, 0);
    let programs = document["programs"].as_array().expect("programs");
    let all = hps_workloads::all().len();
    assert_eq!(programs.len(), if few.is_empty() { all } else { few.len() });
    for program in programs {
        let name = program["program"].as_str().expect("a name");
        assert_eq!(program["same_output"], true, "{name}");
        assert_eq!(program["origin"], "rebuilt", "{name}");
        let calls = &program["calls"];
        assert!(calls["native"].as_u64().expect("calls") > 10_000, "{name}");
        assert!(
            calls["functions"].as_u64().expect("functions") > 40,
            "{name}"
        );
        // Compilers insert calls that clear or copy structures, each its own way.
        for function in differences(program) {
            assert!(
                ["memset", "memcpy"].contains(&function),
                "{name}: {function} of {calls}"
            );
        }
        assert!(
            calls["overlap"].as_f64().expect("a number") > 0.999,
            "{name}"
        );
        let graph = &program["call_graph"];
        for edge in graph["differences"].as_array().expect("a list") {
            let callee = edge["callee"].as_str().expect("a name");
            assert!(["memset", "memcpy"].contains(&callee), "{name}: {edge}");
        }
        assert!(graph["equal"].as_u64().expect("edges") > 60, "{name}");
        let hps = program["hps_accuracy"].as_f64().expect("a number");
        assert!((0.9..=1.0).contains(&hps), "{name}: {hps}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_agree_exactly_with_the_simulation_of_the_alpha_form() {
    let (document, code) = validate(&["lz", "--isa", "alpha", "--runs", "0"]);
    assert_eq!(code, 0);
    for program in document["programs"].as_array().expect("programs") {
        let name = program["program"].as_str().expect("a name");
        assert_eq!(
            (&program["isa"], &program["origin"]),
            (&"alpha".into(), &"rebuilt".into())
        );
        assert_eq!(program["same_output"], true, "{name}");
        let calls = &program["calls"];
        assert!(calls["native"].as_u64().expect("calls") > 10_000, "{name}");
        for function in differences(program) {
            assert!(
                ["memset", "memcpy"].contains(&function),
                "{name}: {function} of {calls}"
            );
        }
        // The pipeline ran both forms, and hooks take time.
        let cycles = |of: &str| program[of].as_u64().expect("cycles");
        assert!(cycles("instrumented_cycles") > cycles("cycles"), "{name}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn committed_images_are_called_less_where_they_inline() {
    let (document, code) = validate(&["lz", "--image", "--runs", "0", "--no-timing"]);
    assert_eq!(code, 0);
    let program = &document["programs"][0];
    assert_eq!(program["origin"], "image");
    let differences = program["calls"]["differences"].as_array().expect("a list");
    assert!(!differences.is_empty());
    let verdict = program["verdict"].as_str().expect("text");
    assert!(verdict.contains("(inlined there)"), "{verdict}");
    // Never-inlined functions agree all the same.
    assert!(program["calls"]["equal"].as_u64().expect("a number") > 20);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn time_is_compared_with_cycles() {
    let (document, _) = validate(&["bwt", "--runs", runs("5")]);
    let program = &document["programs"][0];
    if program["runs"] == 0 {
        return;
    }
    let time = &program["time"];
    let overlap = |of: &str| {
        time[of]
            .as_f64()
            .unwrap_or_else(|| panic!("{of} in {time}"))
    };
    // Wrong attribution would leave next to nothing: 66 functions share the time. What a function costs in time depends
    // on what else the host does: counts of instructions agree with it by 0.5, and by 0.39 on a busy host.
    for measure in [
        "instrumented_cycles",
        "cycles",
        "instructions",
        "exhaustive",
        "hps",
    ] {
        assert!(
            (0.25..=1.0).contains(&overlap(measure)),
            "{measure}: {time}"
        );
    }
    let shares: f64 = program["functions"]
        .as_array()
        .expect("functions")
        .iter()
        .map(|f| f["native_time"].as_f64().expect("a share"))
        .sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    assert!(program["samples"].as_u64().expect("samples") > 500);
}

/// The three forms of a real program.
fn forms(name: &str) -> [String; 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/real-programs");
    ["native", "riscv", "riscv-instrumented"].map(|form| {
        let file: PathBuf = folder.join(format!("{name}-{form}"));
        assert!(
            file.exists(),
            "{} is missing: run scripts/real-programs.sh",
            file.display()
        );
        file.display().to_string()
    })
}

/// Compares a real program that reads `input` from its folder.
fn real_program(name: &str, args: &[&str], files: &[(&str, &[u8])]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, bytes) in files {
        std::fs::write(folder.path().join(file), bytes).expect("a file");
    }
    let [native, riscv, instrumented] = forms(name);
    let root = folder.path().to_str().expect("a name");
    let pair = [
        "--native",
        &native,
        "--riscv",
        &riscv,
        "--riscv-instrumented",
        &instrumented,
        "--root",
        root,
        "--runs",
        runs("7"),
        "--",
    ];
    // A thread that is kept from its CPU keeps its tag: on a host that is busy otherwise, the place at
    // which a program was held can have all of its time. Then it is run again.
    for _ in 0..2 {
        if overlaps_in_time(name, &pair, args) {
            return;
        }
        eprintln!("{name}: its time agrees with nothing simulated; once more");
    }
    assert!(overlaps_in_time(name, &pair, args), "{name}: see above");
}

/// Compares a pair once. Whether its time overlaps what was simulated, or was not measured; all else
/// must hold.
fn overlaps_in_time(name: &str, pair: &[&str], args: &[&str]) -> bool {
    let (document, code) = validate(&[pair, args].concat());
    assert_eq!(code, 0, "{name} prints the same in both forms");
    let program = &document["programs"][0];
    let calls = &program["calls"];
    eprintln!("{name}: {}", program["verdict"]);
    let overlap = calls["overlap"].as_f64().expect("a number");
    assert!(overlap > 0.98, "{name}: {calls}");
    if program["runs"] == 0 {
        return true;
    }
    let time = &program["time"];
    eprintln!("{name}: {time}");
    ["instrumented_cycles", "exhaustive"]
        .iter()
        .all(|&measure| (0.3..=1.0).contains(&time[measure].as_f64().expect("a number")))
}

/// Text with repetitions at many distances.
fn input(lines: u32) -> Vec<u8> {
    (0..lines)
        .flat_map(|i| {
            let (a, b) = (i.wrapping_mul(2_654_435_761) >> 20, i / 7);
            format!("{a} burst {b} of sparsity {} and a profile\n", a % 17).into_bytes()
        })
        .collect()
}

#[test]
fn bzip2_natively_and_simulated() {
    real_program("bzip2", &["-c", "-9", "input"], &[("input", &input(150))]);
}

#[test]
#[ignore = "its three forms take long to configure: scripts/nightly.sh"]
fn gzip_natively_and_simulated() {
    real_program(
        "gzip",
        &["-c", "-9", "-n", "input"],
        &[("input", &input(300))],
    );
}

const SCRIPT: &[u8] = b"
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for i = 1, 400 do t[i] = (i * 7919) % 2003 end
table.sort(t)
local words = {}
for w in (('the quick brown fox jumps over the lazy dog '):rep(5)):gmatch('%a+') do
  words[#words + 1] = w:upper():reverse()
end
print(fib(12), t[1], t[#t], #table.concat(words, ' '))
";

#[test]
fn lua_natively_and_simulated() {
    real_program("lua", &["script.lua"], &[("script.lua", SCRIPT)]);
}

/// Two million calls in rings that hold a few thousand each: what is found is a graph like the complete one, on both
/// sides, and the page has its pictures.
#[cfg(target_arch = "x86_64")]
#[test]
fn collectors_of_calls_are_compared_on_both_sides() {
    if runs("1") == "0" {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("page");
    let (document, code) = validate(&[
        "lz",
        "--runs",
        "1",
        "--no-timing",
        "--calls",
        "pairs-8k,sequence-8k,stack-full",
        "--observed-instructions",
        "300000",
        "--report",
        report.to_str().expect("a path"),
    ]);
    assert_eq!(code, 0);
    let program = &document["programs"][0];
    let collectors = program["collectors"].as_array().expect("collectors");
    assert_eq!(collectors.len(), 3);
    for collector in collectors {
        for side in ["native", "simulated"] {
            let of = |key: &str| collector[side][key].as_f64().expect("a number");
            assert!(of("found") > 0.0 && of("found") <= 1.0, "{collector}");
            assert!(of("accuracy") > 0.1, "{collector}");
            if collector["name"] != "stack-full" {
                assert_eq!((of("invalid"), of("changed")), (0.0, 0.0), "{collector}");
            }
        }
    }
    for side in ["native", "simulated"] {
        let periods = &program["periods"][side];
        assert!(periods["period"]["count"].as_u64() > Some(10), "{periods}");
    }
    // One page has the method profile of both observers.
    let functions = program["functions"].as_array().expect("functions");
    let share = |key: &str| -> f64 {
        let of = functions.iter().map(|f| f[key].as_f64());
        of.map(|share| share.expect("a share")).sum()
    };
    for side in ["native_time", "observed"] {
        assert!((share(side) - 1.0).abs() < 1e-6, "{side}: {functions:?}");
    }
    let overlap = program["time"]["observed"].as_f64().expect("an overlap");
    assert!((0.2..=1.0).contains(&overlap), "{overlap}");
    for file in [
        "report.html",
        "figures/time.svg",
        "figures/call-graphs.png",
        "figures/periods.png",
    ] {
        assert!(report.join(file).is_file(), "{file}");
    }
}

/// The records that others have sent in.
#[test]
fn kept_records_are_documents_of_their_format() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/measurements/machines");
    let mut kept = 0;
    for file in std::fs::read_dir(folder).expect("records") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a record");
        let document = serde_json::from_str(&text).expect("JSON");
        json_schema::expect_valid("hps-counters", &document);
        assert_eq!(document["programs"][0]["same_output"], true);
        kept += 1;
    }
    assert!(kept > 0);
}

/// Counts of a program without hooks: what the host's processor does not count, it says.
#[cfg(target_arch = "x86_64")]
#[test]
fn events_are_counted_on_both_sides_and_kept_as_a_record() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let folder = tempfile::tempdir().expect("a folder");
    let records = folder.path().join("records");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("validate");
    let hps = |words: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_hps"))
            .arg("validate")
            .args(words)
            .arg("--out")
            .arg(&out)
            .output()
            .expect("hps runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&run.stdout), text(&run.stderr), run.status.code())
    };
    let at = records.to_str().expect("a name");
    let (text, said, code) = hps(&["--counters", "lz", "--runs", "2", "--record", at]);
    assert_eq!(code, Some(0), "{said}");
    assert!(text.contains("lz: same output; "), "{text}");
    let files = std::fs::read_dir(&records).expect("records");
    let files: Vec<PathBuf> = files.map(|f| f.expect("a file").path()).collect();
    assert_eq!(files.len(), 1);
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(&files[0]).expect("it is there"))
            .expect("JSON");
    json_schema::expect_valid("hps-counters", &document);
    let program = &document["programs"][0];
    let events = program["events"].as_array().expect("events");
    for event in events {
        assert!(
            event["native"].is_null() != event["missing"].is_null(),
            "{event}"
        );
        let Some(native) = event["native"]["median"].as_f64() else {
            continue;
        };
        // Another instruction set, the same work.
        if event["event"] == "instructions" {
            let ratio = native / event["simulated"].as_f64().expect("a number");
            assert!((0.5..2.0).contains(&ratio), "{event}");
        }
    }
    let simulated = |name: &str| {
        let event = events.iter().find(|e| e["event"] == name);
        event.expect("an event")["simulated"]
            .as_u64()
            .expect("a number")
    };
    assert!(simulated("instructions") > 1_000_000 && simulated("branches") > 100_000);
    assert!(simulated("branches") > simulated("branch-misses") && simulated("branch-misses") > 0);
    // A record of another machine stands beside it.
    let mut other = document.clone();
    other["host"]["processor"] = "Another one".into();
    std::fs::write(records.join("other.json"), other.to_string()).expect("it is written");
    let (table, said, code) = hps(&["--records", at]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        table.contains("Another one (x86_64)") && table.matches("hps-4wide").count() == 2,
        "{table}"
    );
    std::fs::write(records.join("third.json"), "{}").expect("it is written");
    let (_, said, code) = hps(&["--records", at]);
    assert!(
        code == Some(2) && said.contains("third.json: no record of this version"),
        "{said}"
    );
}
