//! `hps shadow` and `hps reproduce shadow-2007` from outside.

use crate::support::{Hps, reproduced};

#[test]
fn shadows_end_to_end_see_all_of_a_program_and_policies_can_be_files() {
    let hps = Hps::new();
    let policy = hps.run(&["shadow", "policy", "paper"]).expect_code(0);
    std::fs::write(hps.path("mine.ron"), policy).expect("written");
    let run = hps.run(&[
        "shadow",
        "simulate",
        "--end-to-end",
        "--length",
        "900000",
        "--policy",
        "mine.ron",
        "place",
        "small",
    ]);
    let text = run.expect_code(0);
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(squeezed).collect();
    for line in [
        "instructions of shadows 100.0%",
        "overhead 0.0%",
        "hot paths within functions found 100.0%",
        "hot paths across functions found 100.0%",
        "difference of invariance 0.0%",
        "shadows that diverged 0",
    ] {
        assert!(lines.iter().any(|l| l == line), "{line}: {text}");
    }
    for (more, wanted) in [
        (
            ["--policy", "none.ron"],
            "neither one of paper, strict, pretend nor a file",
        ),
        (["--load", "0"], "give a number above 0"),
        (["--slowdown", "0.5"], "give a number from 1 on"),
    ] {
        let run = hps.run(&[&["shadow", "simulate"][..], &more, &["place", "small"]].concat());
        assert_eq!(run.code, 2, "{more:?}");
        assert!(run.stderr.contains(wanted), "{more:?}: {}", run.stderr);
    }
}

#[test]
fn shadows_on_the_chip_are_measured_beside_what_keys_charge() {
    let hps = Hps::new();
    let of = |more: &[&str]| {
        let first = ["shadow", "simulate", "--shadows-on", "chip"];
        hps.run(&[&first[..], more, &["place", "small"]].concat())
    };
    std::fs::write(hps.path("costs.ron"), "(translate_ns: 0.0)").expect("written");
    let run = of(&[
        "--core",
        "cycle",
        "--machine",
        "smt-2",
        "--length",
        "100000",
        "--load",
        "0.5",
        "--slowdown",
        "1",
        "--costs",
        "costs.ron",
    ]);
    let text = run.expect_code(0);
    for line in [
        "what the parent pays",
        "the rest: shared parts of the chip",
        "of the parent's core",
        "  sibling",
        "bytes over the memory bus",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let line = text
        .lines()
        .find(|line| line.starts_with("unlike their twins"));
    assert_eq!(
        line.and_then(|line| line.split_whitespace().nth(3)),
        Some("0"),
        "{text}"
    );
    for (more, wanted) in [
        (&["--machine", "smt-2"][..], "--core cycle"),
        (
            &["--core", "cycle"],
            "machine hps-4wide has no context for shadows",
        ),
    ] {
        let run = of(more);
        assert_ne!(run.code, 0, "{more:?}");
        assert!(run.stderr.contains(wanted), "{more:?}: {}", run.stderr);
    }
}

#[test]
#[ignore = "takes a minute: scripts/nightly.sh"]
fn claims_of_shadow_profiling_are_held_against_a_program() {
    let hps = Hps::new();
    let text = reproduced(
        &hps,
        &[
            "shadow-2007",
            "--core",
            "instruction",
            "--program",
            "place",
            "--chips",
            "none",
        ],
    );
    for claim in [
        "claims on riscv64",
        "[differs: paths across functions: 1.9 times, values: 49.0 times] instrumentation of the whole run",
        "[confirmed] overhead rises with load",
        "[confirmed] overhead falls with sample size",
        "[holds] what shadows do is what their parent then does",
        "[confirmed] unsafe system calls rarely end shadows",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
}

#[test]
fn chips_for_shadows_have_several_contexts() {
    let hps = Hps::new();
    for (paper, chips, wanted) in [
        (
            "shadow-2007",
            "smt-2,hps-4wide",
            "--chips hps-4wide: the machine has one context",
        ),
        ("shadow-2007", "smt-3", "smt-3"),
        ("hps-2005", "smt-2", "--chips names machines of shadow-2007"),
    ] {
        let run = hps.run(&["reproduce", paper, "--program", "place", "--chips", chips]);
        assert_ne!(run.code, 0, "{chips}");
        assert!(run.stderr.contains(wanted), "{chips}: {}", run.stderr);
    }
}
