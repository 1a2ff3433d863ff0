//! `hps leaderboard` and `hps profilers`: what is sampled at every cycle has no error, runs go on where they
//! stopped, and names that nothing has are refused.

use crate::guest::rounds;
use crate::support::{Hps, elf};
use serde_json::Value;

/// [`rounds`] with divisions, which the processor waits for.
fn program(hps: &Hps, name: &str, divisions: usize) -> String {
    let code = rounds(&"div t1, t1, s2\n".repeat(divisions));
    let path = hps.path(name);
    std::fs::write(&path, elf(&code)).expect("an executable");
    path
}

/// The command with two programs and few samples.
fn order<'a>(programs: &'a [String; 2], out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let [one, two] = programs;
    let mut order = vec!["leaderboard", one, two, "--out", out, "--phases", "3"];
    order.extend(more);
    order
}

fn entry<'a>(board: &'a Value, name: &str, kind: &Value) -> &'a Value {
    let entries = board["entries"].as_array().expect("a list");
    let wanted = |e: &&Value| e["name"] == name && e["kind"] == *kind;
    entries.iter().find(wanted).expect("on the board")
}

#[test]
fn errors_are_those_of_the_definitions() {
    let hps = Hps::new();
    let programs = [program(&hps, "few", 1), program(&hps, "many", 4)];
    let out = hps.path("out");
    let text = hps
        .run(&order(&programs, &out, &["--bias", "--json"]))
        .expect_code(0);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let boards = document["boards"].as_array().expect("a list");
    assert_eq!(boards.len(), 1);
    let board = &boards[0];
    let time = &Value::Null;
    let error = |name: &str, kind: &str, level: &str| {
        let mean = &entry(board, name, time)["mean"][kind][level]["mean"];
        mean.as_f64().expect("a number")
    };
    // At every cycle TIP is the oracle, and so is TEA with its events.
    for level in ["instruction", "block", "line", "function"] {
        assert_eq!(error("tip", "biases", level), 0.0, "{level}");
    }
    assert_eq!(error("tea", "biases", "event-stack"), 0.0);
    // Divisions hold the window up: the last committed instruction is the one in front of a division.
    assert!(error("lci", "biases", "instruction") > 0.3);
    assert!(error("tip", "errors", "instruction") < error("lci", "errors", "instruction"));
    // An error of a coarser level is never greater: its members are sums of those of the finer one.
    for entry in board["entries"].as_array().expect("a list") {
        let errors = &entry["mean"]["errors"];
        let at = |level: &str| errors[level]["mean"].as_f64();
        if let (Some(fine), Some(coarse)) = (at("instruction"), at("block")) {
            assert!(coarse <= fine, "{entry}");
        }
        assert_eq!(entry["by_program"].as_object().expect("programs").len(), 2);
    }
    // Profilers that watch are charged nothing; a second copy of the code with checks is.
    assert!(entry(board, "tip", time)["mean"]["overhead"].is_null());
    let method = &Value::from("method");
    let costs = |name: &str, what: &str| {
        let mean = &entry(board, name, method)["mean"][what]["mean"];
        mean.as_f64().expect("a number")
    };
    assert!(costs("bursty-tracing", "overhead") > costs("hps", "overhead"));
    assert!(costs("bursty-tracing", "perturbation") > 0.0);
    assert!(costs("bursty-tracing", "memory_bytes") > 4096.0);
    interrupts_cost_their_entries_and_returns(board);
}

/// 107 cycles each by the machine's keys, and what handlers take.
fn interrupts_cost_their_entries_and_returns(board: &Value) {
    let entries = board["entries"].as_array().expect("a list");
    let collected = |name: &str| {
        let wanted = |e: &&Value| e["name"] == name && e["form"] == "collected";
        entries.iter().find(wanted)
    };
    assert!(collected("lci").is_none() && collected("software").is_none());
    let nci = collected("nci").expect("on the board at its cost");
    assert_eq!(nci["point"], serde_json::json!([1, 5000]));
    for (program, figures) in nci["by_program"].as_object().expect("programs") {
        let mean = |what: &str| figures[what]["mean"].as_f64().expect("a number");
        let cycles = board["cycles"][program].as_f64().expect("cycles");
        let lost = mean("overhead") * cycles;
        assert!(mean("interrupts") >= 1.0, "{program}");
        assert!(lost >= 214.0 * mean("interrupts"), "{program}: {figures}");
        assert!(mean("perturbation") > 0.0, "{program}");
    }
}

#[test]
fn a_run_that_was_stopped_goes_on() {
    let hps = Hps::new();
    let programs = [program(&hps, "few", 1), program(&hps, "many", 4)];
    let out = hps.path("out");
    let more = [
        "--with",
        "tip,nci,hps",
        "--kind",
        "time",
        "--kind",
        "method",
    ];
    let first = hps.run(&order(&programs, &out, &more)).expect_code(0);
    assert!(
        first.contains("tip") && first.contains("hot method"),
        "{first}"
    );
    let store = hps.path("out/units.jsonl");
    let whole = std::fs::read(&store).expect("the store");
    assert_eq!(
        hps.run(&order(&programs, &out, &more)).expect_code(0),
        first
    );
    assert_eq!(std::fs::read(&store).expect("the store"), whole);
    // A killed run leaves whole lines and a part of one.
    std::fs::write(&store, &whole[..whole.len() / 2]).expect("cut");
    assert_eq!(
        hps.run(&order(&programs, &out, &more)).expect_code(0),
        first
    );
    assert!(std::fs::read(&store).expect("the store").len() >= whole.len());
}

#[test]
fn a_budget_picks_the_densest_point_within_it() {
    let hps = Hps::new();
    let programs = [program(&hps, "few", 1), program(&hps, "many", 4)];
    let out = hps.path("out");
    let board = |budget: &str| -> Value {
        let more = [
            "--with", "hps", "--kind", "method", "--json", "--budget", budget,
        ];
        let text = hps.run(&order(&programs, &out, &more)).expect_code(0);
        let document: Value = serde_json::from_str(&text).expect("JSON");
        document["boards"][0]["entries"][0].clone()
    };
    let dense = board("50%");
    assert_eq!(dense["point"], serde_json::json!([1, 100]));
    let overhead = |entry: &Value| {
        entry["mean"]["overhead"]["mean"]
            .as_f64()
            .expect("a number")
    };
    // Just below what 1/100 costs, the next frequency is taken.
    let less = format!("{}%", 99.0 * overhead(&dense));
    let sparser = board(&less);
    assert_eq!(sparser["within_budget"], true);
    assert!(sparser["point"][1].as_u64() > Some(100), "{sparser}");
    assert!(overhead(&sparser) < overhead(&dense));
}

#[test]
fn unknown_profilers_are_named_with_what_there_is() {
    let hps = Hps::new();
    let run = hps.run(&["leaderboard", "bwt", "--with", "tip,gprof"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("no profiler gprof") && run.stderr.contains("bursty-tracing"),
        "{}",
        run.stderr
    );
    let listed = hps.run(&["leaderboard", "--list"]).expect_code(0);
    for name in ["tip", "pebs-pdir", "plain-dise", "bursty-tracing-reduced"] {
        assert!(
            listed.lines().any(|line| line.starts_with(name)),
            "{listed}"
        );
    }
    let run = hps.run(&["leaderboard", "bwt", "--with", "tip", "--kind", "method"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--kind"), "{}", run.stderr);
}

/// Where a program's name lies on its stack moves everything else there: each command tells it the name that the user
/// wrote, however it finds the file.
#[test]
fn a_program_is_told_the_name_that_the_user_wrote() {
    let hps = Hps::new();
    let path = program(&hps, "few", 1);
    let named = |called: Option<&str>| {
        let own = hps_experiments::OwnProgram {
            path: path.clone(),
            called: called.map(str::to_owned),
            ..Default::default()
        };
        let spec = hps_experiments::SweepSpec {
            own_programs: vec![own],
            ..Default::default()
        };
        let programs = hps_experiments::load_programs(&spec, std::path::Path::new("."));
        programs.expect("a program").remove(0)
    };
    let short = named(Some("./few"));
    assert_eq!(
        (short.name.as_str(), &short.process.args[..]),
        ("few", &["./few".to_owned()][..])
    );
    assert_eq!(named(None).process.args, [path.as_str()]);
    // The program that `hps run ./few` runs.
    let out = hps.path("out");
    let run = hps.run(&["run", "--machine", "hps-4wide", "--json=run.json", "./few"]);
    run.expect_code(0);
    let order = [
        "leaderboard",
        "./few",
        "--out",
        &out,
        "--kind",
        "time",
        "--with",
        "tip",
        "--phases",
        "1",
        "--json",
    ];
    let board: Value = serde_json::from_str(&hps.run(&order).expect_code(0)).expect("JSON");
    let file = std::fs::read_to_string(hps.path("run.json")).expect("statistics");
    let run: Value = serde_json::from_str(&file).expect("JSON");
    assert!(run["cycles"].is_u64());
    assert_eq!(board["boards"][0]["cycles"]["few"], run["cycles"]);
    // Profilers that only watch have no overhead: there is nothing to draw their error against.
    let pictures = std::fs::read_dir(hps.path("out/figures")).expect("pictures");
    let names = pictures.map(|file| {
        file.expect("a file")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    let names: Vec<String> = names.collect();
    assert!(
        !names.is_empty() && names.iter().all(|name| !name.contains("front")),
        "{names:?}"
    );
}
