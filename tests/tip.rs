//! `hps reproduce tip-2021`: claims beside the published errors, resumed runs, refusals.

mod guest;

use guest::rounds;
use guest::support::{Hps, elf};

#[test]
fn claims_are_held_against_a_program_of_ones_own() {
    let hps = Hps::new();
    let path = hps.path("rounds");
    std::fs::write(&path, elf(&rounds("div t1, t1, s2"))).expect("an executable");
    let out = hps.path("out");
    let order = [
        "reproduce",
        "tip-2021",
        "--program",
        &path,
        "--out",
        &out,
        "--samples",
        "200",
        "--phases",
        "2",
    ];
    let text = hps.run(&order).expect_code(0);
    for claim in [
        "mean error of NCI (Intel PEBS)\n      paper: 9.3%",
        "[confirmed] all of TIP's error comes from the number of samples",
        "[confirmed] where instructions commit one by one, NCI errs behind flushes only",
        "TIP errs by no more than as many independent draws from the truth",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
    let store = hps.path("out/units.jsonl");
    let whole = std::fs::read(&store).expect("the store");
    assert_eq!(hps.run(&order).expect_code(0), text);
    assert_eq!(std::fs::read(&store).expect("the store"), whole);
    for file in ["report.html", "claims.csv", "measurements.csv"] {
        let path = hps.path(&format!("out/{file}"));
        assert!(std::fs::metadata(path).expect(file).len() > 100, "{file}");
    }
    let refused = hps.run(&["reproduce", "tip-2021", "--only", "figure7"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("--only"), "{}", refused.stderr);
}
