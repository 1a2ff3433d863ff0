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
    let mut order = vec![
        "leaderboard",
        one,
        two,
        "--out",
        out,
        "--phases",
        "3",
        "--runs",
        "1",
        "--samples",
        "100,1000",
    ];
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
    let text = hps.run(&order(&programs, &out, &["--json"])).expect_code(0);
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
fn a_budget_is_spent_by_a_search() {
    let hps = Hps::new();
    let programs = [program(&hps, "few", 1), program(&hps, "many", 4)];
    let out = hps.path("out");
    let more = [
        "--with",
        "hps,nci",
        "--kind",
        "method",
        "--kind",
        "collected",
        "--json",
        "--budget",
        "20%,5%",
    ];
    let board = || -> Value {
        let text = hps.run(&order(&programs, &out, &more)).expect_code(0);
        let document: Value = serde_json::from_str(&text).expect("JSON");
        document["boards"][0].clone()
    };
    let first = board();
    let entries = first["entries"].as_array().expect("a list");
    assert_eq!(entries.len(), 4, "two profilers, each for two budgets");
    for entry in entries {
        let number = |value: &Value| value.as_f64().expect("a number");
        let budget = number(&entry["budget"]);
        let overhead = number(&entry["mean"]["overhead"]["mean"]);
        assert!(overhead <= budget, "{entry}");
        assert_eq!(entry["fit"] == "spent", overhead >= 0.9 * budget, "{entry}");
    }
    let spent = entries.iter().filter(|e| e["fit"] == "spent").count();
    assert!(spent >= 2, "{entries:?}");
    let wider = entries.iter().find(|e| e["budget"] == 0.2).expect("20%");
    let narrow = entries.iter().find(|e| e["budget"] == 0.05).expect("5%");
    let point = |entry: &Value| entry["point"][1].as_u64();
    assert!(point(wider) < point(narrow), "{wider} {narrow}");
    // The search asks for the same points again, which are all there.
    let store = hps.path("out/units.jsonl");
    let whole = std::fs::read(&store).expect("the store");
    assert_eq!(board(), first);
    assert_eq!(std::fs::read(&store).expect("the store"), whole);
    let run = hps.run(&order(&programs, &out, &["--budget", "0%"]));
    assert!(
        run.code == 2 && run.stderr.contains("above 0"),
        "{}",
        run.stderr
    );
}

/// Many divisions hold the window up at one instruction, which everybody who is proportional to time must name.
#[test]
fn decisions_are_right_with_enough_samples() {
    let hps = Hps::new();
    let programs = [program(&hps, "few", 1), program(&hps, "many", 4)];
    let out = hps.path("out");
    let more = ["--with", "tip,tea,lci", "--kind", "time", "--json"];
    let text = hps.run(&order(&programs, &out, &more)).expect_code(0);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let board = &document["boards"][0];
    let answer = |name: &str, question: &str| {
        let mean = &entry(board, name, &Value::Null)["mean"]["answers"][question];
        mean["mean"].as_f64()
    };
    assert_eq!(answer("tip", "hottest-function"), Some(1.0));
    assert_eq!(answer("tea", "cause"), Some(1.0));
    assert_eq!(answer("tip", "cause"), None, "TIP tells no events");
    let (right, wrong) = (
        answer("tip", "hottest-instruction"),
        answer("lci", "hottest-instruction"),
    );
    assert!(right > wrong, "{right:?} {wrong:?}");
    // More samples never make the expected error of draws greater, and it ends at the bias.
    for entry in board["entries"].as_array().expect("a list") {
        let draws = entry["mean"]["by_draws"].as_array().expect("a list");
        let error = |at: &Value| {
            at["errors"]["instruction"]["mean"]
                .as_f64()
                .expect("a number")
        };
        let errors: Vec<f64> = draws.iter().map(error).collect();
        assert!(errors.is_sorted_by(|a, b| a >= b), "{errors:?}");
        let bias = entry["mean"]["biases"]["instruction"]["mean"].as_f64();
        let last = errors.last().expect("draws") - bias.expect("a bias");
        // But for what sums of many numbers round.
        assert!((-1e-9..0.002).contains(&last), "{}", entry["name"]);
    }
    let groups = board["groups"].as_object().expect("groups");
    assert_eq!(groups.len(), 2);
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
