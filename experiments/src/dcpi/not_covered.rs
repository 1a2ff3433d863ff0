//! Numbers of the paper that no study measures.

use crate::claims::{Draft, Section};

/// Numbers that the paper reports and no study here measures.
pub(super) fn not_covered() -> Vec<Draft> {
    let items = [
        (
            Section::Accuracy,
            "best-case and actual cycles an instruction of the copy loop, and its culprits",
            "0.62 and 10.77 (figure 2)",
        ),
        (
            Section::Cost,
            "aggregate samples a second, memory and disk space of the daemon",
            "by workload (table 5)",
        ),
        (
            Section::Cost,
            "cycles of the daemon for a sample",
            "by workload (table 4)",
        ),
    ];
    let draft = |(section, claim, paper): (Section, &str, &str)| Draft {
        section,
        claim: claim.to_string(),
        paper: paper.to_string(),
        rule: "not covered: no study of the lab measures it".to_string(),
        found: None,
    };
    items.into_iter().map(draft).collect()
}
