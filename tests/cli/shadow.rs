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
        "--sample",
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
fn claims_of_shadow_profiling_are_held_against_a_program() {
    let hps = Hps::new();
    let text = reproduced(
        &hps,
        &[
            "shadow-2007",
            "--core",
            "instruction",
            "--programs",
            "place",
        ],
    );
    for claim in [
        "claims on riscv64",
        "[confirmed] overhead rises with load",
        "[confirmed] overhead falls with sample size",
        "[holds] what shadows do is what their parent then does",
        "[confirmed] unsafe system calls rarely end shadows",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
}
