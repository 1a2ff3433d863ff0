//! The thesis's tables, with what stands for each row here.

/// A row of a table: what was measured there, and its counterpart here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperRow {
    /// The table, as the thesis numbers it.
    pub table: &'static str,
    /// Method, in the thesis's words.
    pub what: &'static str,
    /// When it sampled there.
    pub period: &'static str,
    /// Accuracy there, in percent, if the table has one.
    pub accuracy: Option<f64>,
    /// Overhead there, in percent.
    pub overhead: f64,
    /// The scheme and the setting here.
    pub here: (&'static str, &'static str),
    /// Whether edges distinguish call sites there.
    pub by_site: bool,
}

const FAST: &str = "as fast as possible";
const INTERRUPTS: &str = "200,000 cycles";
const MILLISECOND: &str = "1 ms";

/// Settings here that stand for the thesis's periods.
const PERIODS: [(&str, &str); 3] = [
    (FAST, "wait=0"),
    (INTERRUPTS, "wait=10000"),
    (MILLISECOND, "wait=100000"),
];

type Three = [(Option<f64>, f64); 3];

fn three(
    table: &'static str,
    what: &'static str,
    scheme: &'static str,
    by_site: bool,
    values: Three,
) -> impl Iterator<Item = PaperRow> {
    PERIODS
        .into_iter()
        .zip(values)
        .map(move |((period, setting), (accuracy, overhead))| PaperRow {
            table,
            what,
            period,
            accuracy,
            overhead,
            here: (scheme, setting),
            by_site,
        })
}

/// All rows of Tables 3.1 and 4.1 to 4.4.
#[must_use]
pub fn rows() -> Vec<PaperRow> {
    let cost = |a: f64, b: f64, c: f64| [(None, a), (None, b), (None, c)];
    let with = |values: [(f64, f64); 3]| values.map(|(accuracy, cost)| (Some(accuracy), cost));
    let mut all: Vec<PaperRow> = Vec::new();
    for (what, scheme, values) in [
        ("caller and callee", "context-2", cost(65.4, 8.8, 0.0)),
        ("10 deep", "context-10", cost(63.8, 8.9, 0.0)),
        ("full depth", "context-full", cost(69.9, 8.8, 0.0)),
    ] {
        all.extend(three("3.1", what, scheme, false, values));
    }
    for (what, scheme, values) in [
        (
            "2 deep",
            "stack-2",
            [(82.15, 7.0), (36.65, 2.4), (20.78, 0.2)],
        ),
        (
            "10 deep",
            "stack-10",
            [(82.27, 5.7), (39.35, 4.2), (22.72, 0.1)],
        ),
        (
            "full depth",
            "stack-full",
            [(79.42, 5.3), (39.33, 3.9), (22.66, 0.1)],
        ),
    ] {
        all.extend(three("4.1", what, scheme, false, with(values)));
    }
    for (what, scheme, period, setting, accuracy, overhead) in [
        (
            "existing, one sample",
            "yield-1",
            MILLISECOND,
            "wait=100000",
            38.84,
            3.7,
        ),
        (
            "existing, one sample",
            "yield-1",
            INTERRUPTS,
            "wait=10000",
            42.60,
            10.2,
        ),
        (
            "existing, burst of 8",
            "yield-8",
            MILLISECOND,
            "wait=100000",
            51.65,
            4.5,
        ),
        (
            "existing, burst of 8",
            "yield-8",
            INTERRUPTS,
            "wait=10000",
            53.70,
            14.7,
        ),
    ] {
        all.push(PaperRow {
            table: "4.2",
            what,
            period,
            accuracy: Some(accuracy),
            overhead,
            here: (scheme, setting),
            by_site: true,
        });
    }
    for (what, scheme, values) in [
        (
            "ring of 10 KB",
            "pairs-8k",
            [(64.03, 9.1), (60.97, 8.6), (46.37, 7.0)],
        ),
        (
            "ring of 100 KB",
            "pairs-128k",
            [(72.01, 8.9), (70.13, 8.2), (47.30, 7.1)],
        ),
        (
            "ring of 1 MB",
            "pairs-1024k",
            [(68.42, 9.0), (67.04, 8.1), (49.50, 7.0)],
        ),
    ] {
        all.extend(three("4.3", what, scheme, true, with(values)));
    }
    for (what, scheme, values) in [
        (
            "ring of 10 KB",
            "sequence-8k",
            [(69.91, 5.1), (69.26, 2.1), (69.27, 2.2)],
        ),
        (
            "ring of 100 KB",
            "sequence-128k",
            [(86.80, 5.3), (86.62, 3.2), (85.62, 2.1)],
        ),
        (
            "ring of 1 MB",
            "sequence-1024k",
            [(96.06, 5.7), (96.37, 4.1), (96.42, 2.4)],
        ),
    ] {
        all.extend(three("4.4", what, scheme, false, with(values)));
    }
    all
}
