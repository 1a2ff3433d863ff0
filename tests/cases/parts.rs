//! Runs in parts: plans, parts that are killed, joined results.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::support::{Hps, exit_with};

/// Calls a function 300 times, which stores something.
pub fn calls() -> Vec<u32> {
    let mut code = vec![
        0x12c0_0413, // li s0, 300
        0x0180_00ef, // jal ra, 24
        0xfff4_0413, // addi s0, s0, -1
        0xfe04_1ce3, // bnez s0, -8
    ];
    code.extend(exit_with(0));
    code.extend([
        0xfe81_3823, // sd s0, -16(sp)
        0x0000_8067, // ret
    ]);
    code
}

/// Every file below a folder but locks, plans and what parts have done.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("below it");
            let name = name.display().to_string();
            if path.is_dir() && name != "parts" {
                folders.push(path);
            } else if path.is_file() && !name.ends_with(".lock") && name != "plan.jsonl" {
                found.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

/// Does a command at once and in three parts, of which one is killed and goes on. Both leave the same files. What
/// is missing has to be planned at least `rounds` times.
fn same_in_parts(hps: &Hps, order: &[&str], rounds: usize) {
    let (one, parts) = (hps.path("one"), hps.path("parts"));
    let said = hps.run(&[order, &["--out", &one]].concat()).expect_code(0);
    let order = [order, &["--out", &parts]].concat();
    let with = |more: &[&'static str]| -> Vec<&str> { [&order, more].concat() };
    let mut planned = 0;
    loop {
        let plan = hps.run(&with(&["--plan"])).expect_code(0);
        assert!(plan.starts_with("pieces "), "{plan}");
        planned += 1;
        let mut killed = Command::new(env!("CARGO_BIN_EXE_hps"))
            .args(with(&["--shard", "2/3"]))
            .stderr(Stdio::null())
            .spawn()
            .expect("the command runs");
        std::thread::sleep(Duration::from_millis(60));
        killed.kill().expect("SIGKILL");
        killed.wait().expect("it ends");
        for part in ["3/3", "1/3", "2/3"] {
            hps.run(&with(&["--shard", part])).expect_code(0);
        }
        let done = hps.run(&with(&["--merge"]));
        let status = hps.run(&with(&["--status"]));
        assert_eq!(status.code, done.code, "{}", status.stderr);
        if done.code == 0 {
            let done = done.expect_code(0);
            assert_eq!(done.replace(&parts, "OUT"), said.replace(&one, "OUT"));
            break;
        }
        assert!(planned < 12, "{}", status.expect_code(0));
    }
    assert!(planned >= rounds, "{planned}");
    let (one, parts) = (files(Path::new(&one)), files(Path::new(&parts)));
    assert!(one.len() >= 3, "{:?}", one.keys());
    assert!(one.keys().eq(parts.keys()), "{:?}", parts.keys());
    for (name, bytes) in one {
        assert!(bytes == parts[&name], "{name} differs");
    }
}

#[test]
fn a_sweep_in_parts_leaves_the_files_of_one_run() {
    let hps = Hps::new();
    let program = hps.program("calls", &calls());
    let order = ["sweep", "--all-timed", "--program", &program];
    same_in_parts(&hps, &order, 1);
    let other = hps.path("parts");
    let run = hps.run(
        &[
            &order[..],
            &["--out", &other, "--machine", "tiny-2wide", "--shard", "1/3"],
        ]
        .concat(),
    );
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--plan"), "{}", run.stderr);
}

#[test]
fn a_papers_evaluation_in_parts_leaves_the_files_of_one_run() {
    let hps = Hps::new();
    let program = hps.program("calls", &calls());
    let only = "figure7,figure10";
    let order = [
        "reproduce",
        "hps-2005",
        "--only",
        only,
        "--program",
        &program,
    ];
    same_in_parts(&hps, &order, 1);
}

/// The budget makes profilers run at other points once some are known: each point is a plan of its own.
#[test]
fn a_leaderboard_in_parts_leaves_the_files_of_one_run() {
    let hps = Hps::new();
    let program = hps.program("calls", &calls());
    let words = "leaderboard --phases 2 --samples 100 --no-bias --runs 1 --with tip,hps --kind time --kind method \
                 --budget 1%";
    let order: Vec<&str> = words.split_whitespace().chain([program.as_str()]).collect();
    same_in_parts(&hps, &order, 2);
}

/// A shell that finds the command, in the folder of the tests.
fn shell(hps: &Hps, words: &[&str]) -> Command {
    let command = Path::new(env!("CARGO_BIN_EXE_hps"));
    let path = std::env::var("PATH").unwrap_or_default();
    let folder = command.parent().expect("a folder").display();
    let mut shell = Command::new("bash");
    shell
        .args(words)
        .env("PATH", format!("{folder}:{path}"))
        .current_dir(hps.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell
}

/// A definition of a sweep whose parts take some time, and its results on one machine.
fn sweep_of_one(hps: &Hps) -> BTreeMap<String, Vec<u8>> {
    let mut code = calls();
    code[0] = 0x0001_4437; // lui s0, 20: 81,920 calls
    hps.program("calls", &code);
    let spec = "(own_programs: [(path: \"calls\")], profiles: [method], bursts: [1, 10], \
                one_in: [100, 200, 500, 1000], timing: All)";
    std::fs::write(hps.path("sweep.ron"), spec).expect("a definition");
    hps.run(&["sweep", "sweep.ron", "--out", "one"])
        .expect_code(0);
    let mut files = files(Path::new(&hps.path("one")));
    files.retain(|name, _| name == "results.jsonl" || name == "report.html");
    assert_eq!(files.len(), 2);
    files
}

fn same_as_one(hps: &Hps, one: &BTreeMap<String, Vec<u8>>) {
    let results = files(Path::new(&hps.path("results")));
    for (name, bytes) in one {
        assert!(*bytes == results[name], "{name} differs");
    }
}

#[test]
fn the_lines_of_the_book_for_parallel_and_xargs_leave_the_files_of_one_run() {
    let hps = Hps::new();
    let one = sweep_of_one(&hps);
    let page = include_str!("../../docs/clusters.md");
    let blocks = page.split("```sh\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|b| b.split("```").next()).collect();
    for runner in ["\nparallel ", "xargs -P"] {
        let lines = blocks.iter().find(|block| block.contains(runner));
        let lines = lines.expect("the lines");
        assert_eq!(lines.lines().count(), 3);
        for line in lines.lines() {
            let status = shell(&hps, &["-c", line]).status().expect("a shell");
            assert!(status.success(), "{line}; ./test.sh installs what it calls");
        }
        same_as_one(&hps, &one);
        std::fs::remove_dir_all(hps.path("results")).expect("the results");
    }
}

/// Whole lines of the stores of parts below a folder.
fn lines_of_parts(folder: &Path) -> Vec<String> {
    let found = files(folder).into_iter();
    let stores = found.filter(|(name, _)| name.ends_with("results.jsonl") && name.contains("-of-"));
    let lines = stores.flat_map(|(_, bytes)| {
        let text = String::from_utf8(bytes).expect("text");
        let lines = text.split_inclusive('\n').map(str::to_string);
        lines.collect::<Vec<_>>()
    });
    lines.filter(|line| line.ends_with('\n')).collect()
}

/// The script of a part with `--copy`, as Slurm runs it: a part gets SIGTERM as soon as it has finished a point on its
/// node, and is put back into the queue.
#[test]
fn a_part_that_copies_in_and_out_loses_no_finished_point() {
    let hps = Hps::new();
    let one = sweep_of_one(&hps);
    std::fs::create_dir(hps.path("scratch")).expect("a folder");
    let words = "cluster slurm --parts 3 --copy scratch --out results sweep.ron";
    let said = hps.run(&words.split(' ').collect::<Vec<_>>());
    assert!(said.expect_code(0).contains("parts    3,"));
    let part = |number: &str| {
        let mut part = shell(&hps, &["results/slurm/part.sh", "0"]);
        part.env("SLURM_ARRAY_TASK_ID", number);
        part
    };
    let mut stopped = part("2").spawn().expect("a shell");
    let (scratch, results) = (hps.path("scratch"), hps.path("results/parts"));
    let finished = loop {
        let finished = lines_of_parts(Path::new(&scratch));
        if !finished.is_empty() || stopped.try_wait().expect("a child").is_some() {
            break finished;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let kill = ["-TERM".to_string(), stopped.id().to_string()];
    let killed = Command::new("kill").args(kill).status();
    assert!(killed.expect("a signal").success());
    stopped.wait().expect("it ends");
    let saved = lines_of_parts(Path::new(&results));
    assert!(!saved.is_empty() && finished.iter().all(|line| saved.contains(line)));
    for number in ["3", "1", "2"] {
        let status = part(number).status().expect("a shell");
        assert!(status.success(), "part {number}");
    }
    let all = lines_of_parts(Path::new(&results));
    assert!(saved.iter().all(|line| all.contains(line)));
    let merge = ["sweep", "sweep.ron", "--out", "results", "--merge"];
    hps.run(&merge).expect_code(0);
    same_as_one(&hps, &one);
}

#[test]
fn stores_of_other_machines_are_refused_by_key() {
    let hps = Hps::new();
    let program = hps.program("calls", &calls());
    let sweep = |out: &str, rob: u32| {
        let machine = hps.path("m.ron");
        let text = format!("(base: \"tiny-2wide\", name: \"m\", window: (rob_entries: {rob}))");
        std::fs::write(&machine, text).expect("a machine");
        let out = hps.path(out);
        let order = [
            "sweep",
            "--no-timing",
            "--program",
            &program,
            "--machine",
            &machine,
        ];
        hps.run(&[&order[..], &["--out", &out]].concat())
            .expect_code(0);
        out
    };
    let (one, other) = (sweep("one", 32), sweep("other", 16));
    let run = hps.run(&["cluster", "merge", &one, &other]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("machine m: window.rob_entries 32 against 16"),
        "{}",
        run.stderr
    );
    let joined = hps.path("joined");
    hps.run(&["cluster", "merge", &joined, &one]).expect_code(0);
    let rows = |folder: &str| std::fs::read(Path::new(folder).join("results.jsonl"));
    assert_eq!(
        rows(&joined).expect("a store"),
        rows(&one).expect("a store")
    );
}
