//! `hps reproduce tip-2021`: claims beside the published errors, resumed runs, refusals.

use crate::guest::rounds;
use crate::support::{Hps, elf, reproduced};

#[test]
fn claims_are_held_against_a_program_of_ones_own() {
    let hps = Hps::new();
    let path = hps.path("rounds");
    std::fs::write(&path, elf(&rounds("div t1, t1, s2"))).expect("an executable");
    let words = [
        "tip-2021",
        "--program",
        &path,
        "--samples",
        "200",
        "--phases",
        "2",
    ];
    let text = reproduced(&hps, &words);
    for claim in [
        "mean error of NCI (Intel PEBS)\n      paper: 9.3%",
        "[holds] all of TIP's error comes from the number of samples",
        "[holds] where instructions commit one by one, NCI errs behind flushes only",
        "TIP errs by no more than as many independent draws from the truth",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
    let refused = hps.run(&["reproduce", "tip-2021", "--only", "figure7"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("--only"), "{}", refused.stderr);
}
