//! Names of commands and options of the version before: they work, and a hint names today's.

use crate::support::Hps;

/// Exit code, output and messages of a line of words.
fn run(hps: &Hps, line: &str) -> (i32, String, String) {
    let words: Vec<&str> = line.split(' ').collect();
    let run = hps.run(&words);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    (run.code, text, run.stderr)
}

#[test]
fn old_names_print_what_todays_do_and_a_hint() {
    let hps = Hps::new();
    let few = "--max-instructions 20000 bwt small";
    let collect = "dcpi collect --isa alpha --period 240..272 --max-instructions 300000";
    let cases = [
        (
            "profilers --json",
            "leaderboard --list --json",
            "hps leaderboard --list",
        ),
        (
            "completions bash",
            "dev completions bash",
            "hps dev completions",
        ),
        (
            &format!("profile --save a {few}"),
            &format!("profile --out b {few}"),
            "`--save` is `--out` now",
        ),
        (
            "profile --kind call-pair --top 5 parse small",
            "collect --kind call-pair --top 5 parse small",
            "hps collect",
        ),
        (
            &format!("{collect} --events dmiss minicc small"),
            &format!("{collect} --event dmiss minicc small"),
            "`--events` is `--event` now",
        ),
        (
            "dcpi prof --top 5",
            "dcpi report --top 5",
            "hps dcpi report --as prof",
        ),
        (
            "dcpi annotate",
            "dcpi report --as annotate",
            "hps dcpi report --as annotate",
        ),
        (
            "dcpi calc --summary",
            "dcpi report --as summary",
            "--as=summary",
        ),
        (
            "dcpi diff dcpi-db dcpi-db",
            "dcpi report --as diff --db dcpi-db --db dcpi-db",
            "hps dcpi report --as diff",
        ),
        (
            "shadow simulate --phases --period 30000 --sample 100000 lz small",
            "shadow simulate --by-phase --period 30us --length 100000 lz small",
            "`--phases` is `--by-phase` now",
        ),
    ];
    for (old, new, wanted) in cases {
        let (code, text, said) = run(&hps, new);
        assert!(!said.contains("hint"), "{new}: {said}");
        let (old_code, old_text, old_said) = run(&hps, old);
        assert_eq!((old_code, old_text), (code, text), "{old}: {old_said}");
        let hints: Vec<&str> = old_said.lines().filter(|l| l.contains("hint")).collect();
        assert!(
            matches!(hints[..], [hint] if hint.contains(wanted)),
            "{old}: {old_said}"
        );
    }
}

#[test]
fn files_of_old_options_hold_what_those_of_todays_do() {
    let hps = Hps::new();
    for (old, new) in [
        ("profile --json a.json", "profile --json=b.json"),
        (
            "profile --burst 2 --json a.json",
            "collect --burst 2 --json=b.json",
        ),
    ] {
        for line in [old, new] {
            let (code, _, said) = run(&hps, &format!("{line} -- bwt small"));
            assert_eq!(code, 0, "{line}: {said}");
        }
        let read = |name: &str| std::fs::read(hps.path(name)).expect("JSON");
        assert!(read("a.json") == read("b.json"), "{old}");
    }
    // The program of a run may have such an option of its own.
    let (_, _, said) = run(&hps, "run bwt small --stats-out x");
    assert!(!said.contains("hint"), "{said}");
}

#[test]
fn json_without_a_file_is_all_that_is_printed() {
    let hps = Hps::new();
    let limit = "--max-instructions 20000 bwt small";
    for line in [
        &format!("profile --json {limit}"),
        "collect --json parse small",
        "programs --json",
        "leaderboard --list --json",
    ] {
        let (code, text, said) = run(&hps, line);
        assert_eq!(code, 0, "{line}: {said}");
        let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(read.is_ok(), "{line}: {text}");
    }
}
