//! `hps dcpi` from outside: collections, tools, refusals, and collections that are killed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Hps;

/// Samples a program into a database in the folder.
fn collect(hps: &Hps, more: &[&str]) -> crate::support::Run {
    let base = ["dcpi", "collect", "--isa", "alpha", "--period", "240..272"];
    hps.run(&[&base[..], more, &["minicc", "small"]].concat())
}

#[test]
fn edge_samples_are_kept_and_told() {
    let hps = Hps::new();
    let run = collect(&hps, &["--follow", "transfer"]);
    assert!(run.stderr.contains(" edges;"), "{}", run.stderr);
    let drawn = |name: &str| {
        hps.run(&[
            "dcpi",
            "report",
            "--as",
            "cfg",
            "execute.constprop.0",
            "-o",
            name,
        ])
        .expect_code(0);
        std::fs::read_to_string(hps.path(name)).expect("the drawing")
    };
    let before = drawn("transfer.dot");
    collect(&hps, &["--follow", "4"]).expect_code(0);
    assert_ne!(drawn("both.dot"), before, "edge samples add up");
    for (value, wanted) in [("0", "from 1 to 1024"), ("branch", "from 1 to 1024")] {
        let run = collect(&hps, &["--follow", value]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(wanted), "{}", run.stderr);
    }
    let run = collect(&hps, &["--follow", "1", "--charged"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--charged"), "{}", run.stderr);
}

/// All samples of cycles that `report` counts.
fn samples(hps: &Hps, options: &[&str]) -> u64 {
    let text = hps
        .run(&[&["dcpi", "report"], options].concat())
        .expect_code(0);
    let (_, rest) = text.split_once("cycles = ").expect("a total");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn samples_add_up_and_the_tools_read_them() {
    let hps = Hps::new();
    let run = collect(&hps, &["--event", "all"]);
    let expected = hps_workloads::find("minicc")
        .expect("it exists")
        .expected_small;
    assert_eq!(run.expect_code(0), expected, "the program's own output");
    let one = samples(&hps, &[]);
    assert!(one > 20_000, "{one}");
    collect(&hps, &["--event", "all"]).expect_code(0);
    assert_eq!(samples(&hps, &[]), 2 * one, "the same cycles once more");
    collect(&hps, &["--new-epoch", "--period-seed", "5"]).expect_code(0);
    assert_eq!(samples(&hps, &["--epoch", "1"]), 2 * one);

    let tool = |args: &[&str]| hps.run(&[&["dcpi"], args].concat()).expect_code(0);
    let text = tool(&["report", "--as", "calc", "execute.constprop.0"]);
    assert!(
        text.contains("Best-case") && text.contains("(d = D-cache miss)"),
        "{text}"
    );
    let text = tool(&["report", "--as", "summary"]);
    assert!(text.contains("Total tallied  100.0%"), "{text}");
    // Misses of the data TLB were sampled, and there were none.
    assert!(text.contains("DTB miss    0.0% to   0.0%"), "{text}");
    let text = tool(&["report", "--as", "stats"]);
    assert!(text.contains("range%") && text.contains("set  2"), "{text}");
    let text = tool(&[
        "report", "--as", "diff", "--db", "dcpi-db", "--db", "dcpi-db",
    ]);
    assert!(text.contains("+0.00%"), "{text}");
    let text = tool(&["report", "--as", "annotate"]);
    assert!(text.contains("src-guest/minicc/"), "{text}");
    let text = tool(&["report", "--as", "cfg", "apply_operator"]);
    assert!(
        text.starts_with("digraph \"apply_operator\" {") && text.contains("->"),
        "{text}"
    );
    tool(&["report", "--export", "p.folded"]);
    let folded = std::fs::read_to_string(hps.path("p.folded")).expect("written");
    let sum: u64 = folded
        .lines()
        .filter_map(|l| l.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(sum, samples(&hps, &[]));
}

#[test]
fn what_does_not_belong_is_refused_with_one_message() {
    let hps = Hps::new();
    let refused = |args: &[&str], wanted: &str| {
        let run = hps.run(&[&["dcpi"], args].concat());
        assert_eq!(
            (run.code, run.stderr.lines().count()),
            (2, 1),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(wanted), "{}", run.stderr);
    };
    refused(&["report"], "there is no database of samples");
    refused(&["collect", "--event", "heat", "bwt"], "an event is one of");
    let few = ["--max-instructions", "200000"];
    collect(&hps, &few).expect_code(0);
    let other = collect(&hps, &[&few[..], &["--period", "7"]].concat());
    assert_ne!(other.code, 0);
    let base = [
        "collect", "--isa", "alpha", "--period", "7", "minicc", "small",
    ];
    refused(&base, "collect into a new epoch (--new-epoch)");
    refused(
        &["report", "--as", "calc", "nothing"],
        "has no such procedure",
    );
    refused(
        &["report", "--program", "chess"],
        "the database has samples of minicc",
    );
    refused(&["report", "--as", "stats"], "two sets");
    // On a machine out of order, samples are collected, and the analysis says why it cannot use them.
    let ev6 = ["--db", "ev6", "--machine", "ev6"];
    collect(&hps, &[&few[..], &ev6].concat()).expect_code(0);
    assert!(samples(&hps, &["--db", "ev6"]) > 100);
    refused(
        &["report", "--as", "calc", "--db", "ev6", "put"],
        "issues out of order",
    );
}

#[test]
fn a_program_that_has_changed_is_not_looked_up_in_old_samples() {
    let hps = Hps::new();
    let program = hps.program(
        "prog",
        &[crate::support::write_text(), crate::support::exit_with(0)].concat(),
    );
    let run = hps.run(&["dcpi", "collect", "--period", "3", &program]);
    run.expect_code(0);
    assert!(samples(&hps, &[]) > 10);
    hps.program(
        "prog",
        &[crate::support::exit_with(0), crate::support::write_text()].concat(),
    );
    let run = hps.run(&["dcpi", "report"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("its file has changed"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_killed_collection_leaves_what_it_had_merged() {
    let hps = Hps::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(["dcpi", "collect", "--isa", "alpha", "--db", &hps.path("db")])
        .args([
            "--period",
            "100",
            "--merge-every",
            "100000",
            "minicc",
            "large",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    // The collection merges many times in a second.
    let folder = std::path::PathBuf::from(hps.path("db")).join("epoch-0001");
    // A file that is being written has one more ending.
    let is_whole = |file: std::fs::DirEntry| file.path().extension().is_none_or(|e| e != "new");
    let has_samples =
        || std::fs::read_dir(&folder).is_ok_and(|files| files.flatten().any(is_whole));
    let begun = Instant::now();
    while !has_samples() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let left = samples(&hps, &["--db", &hps.path("db")]);
    assert!(left >= 900, "{left}");
    // The database goes on.
    let db = hps.path("db");
    let more = ["--db", &db, "--max-instructions", "100000"];
    let base = ["dcpi", "collect", "--isa", "alpha", "--period", "100"];
    hps.run(&[&base[..], &more, &["minicc", "small"]].concat())
        .expect_code(0);
    assert!(samples(&hps, &["--db", &db]) > left);
}

#[test]
fn a_charged_collection_costs_cycles_and_accounts_for_every_sample() {
    let hps = Hps::new();
    let base = [
        "dcpi",
        "collect",
        "--isa",
        "alpha",
        "--charged",
        "--period",
        "4000..4200",
    ];
    let run = hps.run(&[&base[..], &["minicc", "small"]].concat());
    let said = run.stderr.clone();
    let expected = hps_workloads::find("minicc")
        .expect("it exists")
        .expected_small;
    assert_eq!(run.expect_code(0), expected, "the program's output");
    let number = |before: &str, after: &str| -> u64 {
        let (_, rest) = said
            .split_once(before)
            .unwrap_or_else(|| panic!("{before}: {said}"));
        let (digits, _) = rest
            .split_once(after)
            .unwrap_or_else(|| panic!("{after}: {said}"));
        digits
            .replace(',', "")
            .parse()
            .unwrap_or_else(|_| panic!("{digits}: {said}"))
    };
    let taken = number(" of which in ", " interrupts");
    let sums = number("samples: ", " kept")
        + number("kept, ", " evicted")
        + number("evicted, ", " dropped");
    assert_eq!(sums, taken, "{said}");
    assert_eq!(samples(&hps, &[]), taken);
    assert!(taken > 1000, "{said}");
    let refused = hps.run(&[&base[..], &["--merge-every", "9", "minicc", "small"]].concat());
    assert_eq!(refused.code, 2);
}

/// Samples of an event that `report` counts, times what each stands for.
fn events(hps: &Hps, db: &str, event: &str, period: u64) -> f64 {
    let text = hps.run(&["dcpi", "report", "--db", db]).expect_code(0);
    let before = format!("{event} = ");
    let (_, rest) = text
        .split_once(&before)
        .unwrap_or_else(|| panic!("{event}: {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (digits.parse::<u64>().expect("a number") * period) as f64
}

#[test]
fn events_that_share_a_counter_are_estimated_as_with_counters_of_their_own() {
    let hps = Hps::new();
    let wanted = ["--event", "dmiss,branchmp", "--event-period", "16"];
    let apart = hps.path("apart");
    collect(&hps, &[&wanted[..], &["--db", &apart]].concat()).expect_code(0);
    let shared = hps.path("shared");
    let turns = ["--multiplex", "--turn-cycles", "4096", "--db", &shared];
    collect(&hps, &[&wanted[..], &turns].concat()).expect_code(0);
    for event in ["dmiss", "branchmp"] {
        let [own, turn] = [
            events(&hps, &apart, event, 16),
            events(&hps, &shared, event, 32),
        ];
        assert!(
            own > 1000.0 && (turn / own - 1.0).abs() < 0.1,
            "{event}: {own} and {turn}"
        );
    }
    // Samples of the two may not be added: they stand for other numbers of events.
    let run = collect(&hps, &[&wanted[..], &["--db", &shared]].concat());
    assert!(
        run.code == 2 && run.stderr.contains("period"),
        "{}",
        run.stderr
    );
    // The program pays for three counters, too: most of such a run is handlers.
    let short = ["--max-instructions", "400000"];
    let [own, paid] = [&[][..], &["--charged"]].map(|more| {
        let db = hps.path(&format!("short{}", more.len()));
        let run = collect(&hps, &[&wanted[..], &short, more, &["--db", &db]].concat());
        run.expect_code(0);
        events(&hps, &db, "dmiss", 16)
    });
    assert!(
        paid > 0.8 * own,
        "{own} and {paid}: misses of handlers and wrong paths count too"
    );
}

#[test]
fn a_page_shows_procedures_and_their_graphs() {
    let hps = Hps::new();
    collect(&hps, &["--max-instructions", "400000"]).expect_code(0);
    hps.run(&["dcpi", "report", "--as", "page", "-o", "p.html"])
        .expect_code(0);
    let html = std::fs::read_to_string(hps.path("p.html")).expect("a page");
    for part in [
        "<h2>Procedures</h2>",
        "Best-case",
        "<svg ",
        "followed ",
        "minicc",
        "Total tallied",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(
        !html.contains("http://")
            || html.matches("http://").count() == html.matches("http://www.w3.org").count()
    );
    hps.run(&[
        "dcpi",
        "report",
        "--as",
        "cfg",
        "apply_operator",
        "-o",
        "g.svg",
    ])
    .expect_code(0);
    let svg = std::fs::read_to_string(hps.path("g.svg")).expect("a picture");
    assert!(
        svg.starts_with("<svg ") && svg.contains("apply_operator"),
        "{svg}"
    );
}
