//! Checkpoints of `hps run`: a run that goes on from one ends as the run that was never stopped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cases::build::{Isa, build};
use crate::support::{Hps, Run, every_by_day};

const FUNCTIONAL: &[&str] = &[];
const BY_CYCLE: &[&str] = &["--machine", "hps-4wide"];
const BY_INSTRUCTION: &[&str] = &["--machine", "hps-4wide", "--core", "instruction"];
const CHIP: &[&str] = &["--machine", "cmp-4"];

/// A folder for checkpoints, which the program does not see.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn checkpoints_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("a file").path());
    let mut all: Vec<_> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|ending| ending == "checkpoint")
        })
        .collect();
    all.sort();
    all
}

/// Statistics without what differs from one run of the command to the next.
fn statistics(file: &str) -> Value {
    let text = std::fs::read_to_string(file).expect("the statistics");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    let object = value.as_object_mut().expect("an object");
    object.retain(|name, _| !name.contains("host"));
    value
}

/// Runs a program to its end, and again with checkpoints; then goes on from some of those.
#[track_caller]
fn goes_on(mode: &[&str], every: u64, program: &[&str]) {
    let hps = Hps::new();
    let (json, kept) = (hps.path("a.json"), folder());
    let wanted = hps.run(&[&["run", &format!("--json={json}")], mode, program].concat());
    assert_eq!(wanted.code, 0, "{mode:?} {program:?}: {}", wanted.stderr);
    let wanted_statistics = statistics(&json);
    let at = kept.path().to_string_lossy().into_owned();
    let (every, json_option) = (every.to_string(), format!("--json={json}"));
    let keeps = ["--checkpoint-every", &every, "--checkpoints", &at];
    let options = ["run", "--force", &json_option];
    let with = hps.run(&[&options[..], &keeps, mode, program].concat());
    let same = |run: &Run, what: &str| {
        assert_eq!(
            run.code, wanted.code,
            "{mode:?} {program:?} {what}: {}",
            run.stderr
        );
        assert_eq!(
            statistics(&json),
            wanted_statistics,
            "{mode:?} {program:?} {what}"
        );
    };
    same(&with, "with checkpoints");
    assert_eq!(with.stdout, wanted.stdout);
    let all = checkpoints_in(kept.path());
    assert!(
        all.len() >= 4,
        "{mode:?} {program:?}: {} checkpoints",
        all.len()
    );
    for file in [&all[0], &all[all.len() / 3], &all[all.len() - 1]] {
        let file = file.to_string_lossy();
        let order = ["run", "--force", &json_option, "--from-checkpoint", &file];
        // Without the options of the run, which the checkpoint knows.
        let on = hps.run(&order);
        same(&on, &file);
        assert!(wanted.stdout.ends_with(&on.stdout), "{file}");
    }
}

#[test]
fn a_run_that_goes_on_ends_as_the_whole_run() {
    goes_on(FUNCTIONAL, 700_001, &["bwt"]);
    goes_on(
        BY_CYCLE,
        150_003,
        &["--max-instructions", "900000", "interp"],
    );
    goes_on(
        BY_INSTRUCTION,
        150_007,
        &["--isa", "alpha", "--max-instructions", "900000", "chess"],
    );
    goes_on(
        BY_CYCLE,
        100_001,
        &[
            "--max-instructions",
            "500000",
            "--productions",
            "hot_method",
            "chess",
        ],
    );
}

#[test]
fn code_that_was_changed_goes_on_being_the_old_one() {
    let program = build(Isa::Riscv64, "stale_code.c", &["-O2"]);
    for mode in [FUNCTIONAL, BY_CYCLE, BY_INSTRUCTION] {
        goes_on(mode, 8_009, &[&program]);
    }
}

#[test]
fn threads_processes_and_cores_go_on() {
    let threads = build(Isa::Riscv64, "threads.c", &["-O2", "-pthread"]);
    goes_on(CHIP, 10_007, &["--max-instructions", "60000", &threads]);
    let forks = build(Isa::Riscv64, "processes.c", &["-O2"]);
    goes_on(FUNCTIONAL, 10_007, &["--max-instructions", "60000", &forks]);
    goes_on(BY_CYCLE, 10_009, &["--max-instructions", "60000", &forks]);
}

/// The state of the operating system: each program tests itself, and goes on from each of its checkpoints.
#[test]
fn what_a_system_has_open_goes_on() {
    let cases = [
        ("linux_calls.c", 9_001),
        ("sockets.c", 20_011),
        ("epoll_eventfd.c", 1_009),
        ("map_shared.c", 1_103),
        ("perf_events.c", 15_013),
        ("timer_alarm.c", 20_011),
        ("links.c", 1_301),
        ("process_control.c", 4_001),
        ("rights.c", 6_011),
        ("threads_fork.c", 15_017),
        ("pi_mutexes.c", 10_009),
    ];
    for (source, every) in every_by_day(2, cases.to_vec()) {
        let program = build(Isa::Riscv64, source, &["-O2", "-pthread"]);
        let run = |keeps: &[&str]| {
            let root = folder();
            let root = root.path().to_string_lossy().into_owned();
            let options = ["run", "--root", &root, "--writable=scratch"];
            let limit = ["--max-instructions", "400000", "--", &program];
            Hps::new().run(&[&options[..], keeps, &limit].concat())
        };
        let wanted = run(&[]);
        let kept = folder();
        let (every, at) = (
            every.to_string(),
            kept.path().to_string_lossy().into_owned(),
        );
        let keeps = [
            "--checkpoint-every",
            &every,
            "--checkpoints",
            &at,
            "--checkpoint-check",
        ];
        let run = run(&keeps);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert_eq!(
            text,
            String::from_utf8_lossy(&wanted.stdout),
            "{source}: {}",
            run.stderr
        );
        assert_eq!(run.code, wanted.code, "{source}: {}", run.stderr);
        assert!(checkpoints_in(kept.path()).len() >= 2, "{source}");
    }
}

#[test]
fn a_killed_run_leaves_checkpoints_that_go_on() {
    let hps = Hps::new();
    let wanted = hps.run(&["run", "bwt"]);
    for milliseconds in [20, 60, 140] {
        let kept = folder();
        let at = kept.path().to_string_lossy().into_owned();
        let mut run = Command::new(env!("CARGO_BIN_EXE_hps"))
            .args([
                "run",
                "--checkpoint-every",
                "50000",
                "--checkpoints",
                &at,
                "bwt",
            ])
            .current_dir(hps.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command runs");
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        run.kill().expect("the command is killed");
        run.wait().expect("it ends");
        if checkpoints_in(kept.path()).is_empty() {
            continue;
        }
        let program = ["--checkpoint-every", "1000000", "--checkpoints", &at, "bwt"];
        let on = hps.run(&[&["run", "--from-checkpoint", &at][..], &program].concat());
        assert_eq!(on.code, 0, "{}", on.stderr);
        assert!(wanted.stdout.ends_with(&on.stdout));
    }
}

#[test]
fn what_a_folder_has_is_not_stored_again() {
    let hps = Hps::new();
    let kept = folder();
    let at = kept.path().to_string_lossy().into_owned();
    let order = [
        "run",
        "--checkpoint-every",
        "500000",
        "--checkpoints",
        &at,
        "bwt",
    ];
    let pages = || {
        let entries = std::fs::read_dir(kept.path()).expect("the folder");
        let files = entries.map(|entry| entry.expect("a file"));
        let packs = files.filter(|file| file.file_name().to_string_lossy().ends_with(".pages"));
        let sizes = packs.map(|pack| pack.metadata().expect("its size").len());
        sizes.collect::<Vec<_>>()
    };
    hps.run(&order).expect_code(0);
    let first = pages();
    let checkpoints = checkpoints_in(kept.path()).len();
    // The program's memory is half a megabyte, most of which stays the same.
    assert!(
        checkpoints >= 10 && first.iter().sum::<u64>() < 4 << 20,
        "{first:?}"
    );
    hps.run(&order).expect_code(0);
    assert_eq!(pages(), first);
}

#[test]
fn damaged_and_foreign_checkpoints_are_refused_by_name() {
    let hps = Hps::new();
    let kept = folder();
    let at = kept.path().to_string_lossy().into_owned();
    let keeps = ["--checkpoint-every", "1000000", "--checkpoints", &at];
    hps.run(&[&["run"][..], &keeps, &["bwt"]].concat())
        .expect_code(0);
    let file = checkpoints_in(kept.path()).remove(1);
    let name = file.to_string_lossy().into_owned();
    let whole = std::fs::read(&file).expect("the checkpoint");
    let refused = |bytes: &[u8], words: &str| {
        std::fs::write(&file, bytes).expect("the checkpoint");
        let run = hps.run(&["run", "--from-checkpoint", &name, "bwt"]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(
            run.stderr.contains(words) && run.stderr.contains(&name),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    };
    refused(b"", "no checkpoint");
    refused(b"\x7fELF and so on", "no checkpoint");
    refused(&whole[..whole.len() - 7], "cut");
    for at in (20..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        refused(&damaged, "");
    }
    let text = String::from_utf8_lossy(&whole).into_owned();
    let line = text.lines().nth(1).expect("the header");
    let older = line.replace("\"format\":1", "\"format\":0");
    let older = format!("hps checkpoint\n{older}\n{:08x}\n", crc(older.as_bytes()));
    refused(older.as_bytes(), "format 0");
    std::fs::write(&file, &whole).expect("the checkpoint");
    for (other, setting) in [
        ("interp", "args"),
        ("--seed=7 bwt", "seed"),
        ("bwt x", "args"),
    ] {
        let words: Vec<&str> = other.split(' ').collect();
        let run = hps.run(&[&["run", "--from-checkpoint", &name][..], &words].concat());
        assert_eq!(run.code, 2, "{other}: {}", run.stderr);
        assert!(run.stderr.contains(setting), "{other}: {}", run.stderr);
    }
    // A pack that is damaged or gone.
    let pack = kept.path().join("000000.pages");
    let pages = std::fs::read(&pack).expect("the pack");
    std::fs::write(&pack, &pages[..pages.len() / 2]).expect("the pack");
    let run = hps.run(&["run", "--from-checkpoint", &name]);
    assert!(
        run.code == 2 && run.stderr.contains("000000.pages"),
        "{}",
        run.stderr
    );
    std::fs::remove_file(&pack).expect("the pack");
    let run = hps.run(&["run", "--from-checkpoint", &name]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    };
    !bytes.iter().fold(!0, step)
}

#[test]
fn what_no_checkpoint_keeps_is_refused_before_the_run() {
    let hps = Hps::new();
    let kept = folder();
    let at = kept.path().to_string_lossy().into_owned();
    let keeps = ["run", "--checkpoint-every", "1000000", "--checkpoints", &at];
    let root = hps.path(".");
    for (options, words) in [
        (&["--root", &root, "--writable"][..], "--writable=scratch"),
        (&["--machine", "hps-4wide", "--sample"], "--sample"),
        (
            &["--machine", "hps-4wide", "--by-function"],
            "--by-function",
        ),
    ] {
        let run = hps.run(&[&keeps[..], options, &["bwt"]].concat());
        assert_eq!(run.code, 2, "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{options:?}: {}", run.stderr);
        assert!(run.stdout.is_empty(), "{options:?}");
    }
}
