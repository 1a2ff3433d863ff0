//! `hps reproduce dcpi-1997`: claims beside the published numbers, resumed runs, refusals.

use crate::support::{Hps, reproduced};

#[test]
#[ignore = "takes two minutes; scripts/nightly.sh runs it"]
fn claims_are_held_against_a_program() {
    let hps = Hps::new();
    let text = reproduced(&hps, &["dcpi-1997", "--program", "place"]);
    for claim in [
        "claims on alpha",
        "here: 1549 by the rule; 1527 without the ratio 1636",
        "[confirmed] samples whose frequency is within 15% of the truth",
        "[differs: +23 points] edge executions whose frequency is within 10% of the truth",
        "[holds] edge samples give better estimates of edges",
        "[holds] edge samples tell where branches lead",
        "points are gained] eighty runs give better frequencies than one",
        "[differs: 0.20 times the published] stalls without a cause",
        "[holds] no sample is lost",
        "[differs: below] slowdown at 60-64 K cycles a sample",
        "[differs: below] slowdown with cycles, with misses",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
}

#[test]
fn what_the_study_cannot_do_is_refused() {
    let hps = Hps::new();
    for (more, wanted) in [
        (["--machine", "ev6"], "issues out of order"),
        (
            ["--core", "instruction"],
            "only the cycle-driven core issues in order",
        ),
        (["--only", "figure7"], "dcpi-1997 is made as a whole"),
    ] {
        let run = hps.run(&[&["reproduce", "dcpi-1997"][..], &more].concat());
        assert_eq!(run.code, 2, "{more:?}");
        assert!(run.stderr.contains(wanted), "{more:?}: {}", run.stderr);
    }
}
