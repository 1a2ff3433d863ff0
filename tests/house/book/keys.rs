//! Every key and column that the code writes or reads stands in the pages of file formats.
//!
//! A new key of a structure that is listed here fails the test until a page has it. A new structure is a new line.

use std::collections::BTreeSet;

use super::read;
use crate::root;

/// Where names of keys and columns stand in a source file.
enum Names {
    /// Fields of structs that serde writes or reads.
    Fields,
    /// Fields of these structs.
    Of(&'static [&'static str]),
    /// Keys of `json!`.
    Json,
    /// Keys of sections of a machine.
    Machine,
    /// Names of columns: first arguments of the functions that declare columns.
    Columns,
    /// Texts in quotes behind this text, up to the next `];`.
    Quoted(&'static str),
    /// Texts that stand for variants: `=> "name"`.
    Variants,
    /// Counters, one a line behind this text, up to the next `}`.
    Counters(&'static str),
}

/// A source file, and where its names are.
type Source = (&'static str, Names);

/// Pages below docs/, and the source files whose every name they have between them.
const KEYS: &[(&[&str], &[Source])] = &[
    (
        &["formats/statistics.md", "formats/counters.md"],
        &[
            ("src/commands/run/statistics.rs", Names::Fields),
            ("src/commands/run/rates.rs", Names::Fields),
            ("src/commands/contention.rs", Names::Fields),
            ("dise/src/stats.rs", Names::Fields),
            (
                "pipeline/src/model/stats.rs",
                Names::Counters("CoreStats {"),
            ),
            (
                "pipeline/src/memsys/stats.rs",
                Names::Of(&[
                    "CacheStats",
                    "TlbStats",
                    "WriteBufferStats",
                    "PrefetchStats",
                    "BusStats",
                    "CoherenceStats",
                    "MemoryStats",
                ]),
            ),
            ("pipeline/src/model/cpi.rs", Names::Variants),
        ],
    ),
    (
        &["formats/roots.md"],
        &[("lab/src/root/lock.rs", Names::Fields)],
    ),
    (
        &["formats/sweeps.md"],
        &[
            ("experiments/src/spec.rs", Names::Fields),
            ("experiments/src/limits.rs", Names::Fields),
            ("experiments/src/part.rs", Names::Fields),
            ("profile/src/streams/config.rs", Names::Fields),
            ("pipeline/src/sampled/plan.rs", Names::Fields),
        ],
    ),
    (
        &["formats/results.md"],
        &[
            ("experiments/src/row.rs", Names::Fields),
            ("experiments/src/phases.rs", Names::Fields),
            ("experiments/src/set_ups.rs", Names::Fields),
            ("experiments/src/frames/points.rs", Names::Columns),
        ],
    ),
    (
        &["formats/units.md"],
        &[
            ("experiments/src/measurement.rs", Names::Fields),
            ("experiments/src/frames/units.rs", Names::Columns),
        ],
    ),
    (
        &["formats/leaderboard.md"],
        &[
            ("src/commands/leaderboard/mod.rs", Names::Fields),
            ("experiments/src/frames/board.rs", Names::Columns),
            ("experiments/src/leaderboard/board.rs", Names::Fields),
            ("experiments/src/leaderboard/pairs.rs", Names::Fields),
            ("experiments/src/leaderboard/profilers.rs", Names::Fields),
            (
                "experiments/src/leaderboard/compiled/worth.rs",
                Names::Fields,
            ),
        ],
    ),
    (
        &["formats/profiles.md"],
        &[
            ("profile/src/document.rs", Names::Fields),
            ("profile/src/objects.rs", Names::Fields),
            ("profile/src/streams/mod.rs", Names::Fields),
            ("profile/src/key/call_pair.rs", Names::Fields),
            ("profile/src/key/edge.rs", Names::Fields),
            ("profile/src/key/line.rs", Names::Fields),
            ("profile/src/key/path.rs", Names::Fields),
            ("profile/src/key/value.rs", Names::Fields),
            ("profile/src/key/event_stack.rs", Names::Fields),
            ("profile/src/key/time_slice.rs", Names::Fields),
        ],
    ),
    (
        &["formats/exact.md", "formats/profiles.md"],
        &[
            ("src/commands/results/profiles.rs", Names::Columns),
            ("src/commands/profile/interpreted.rs", Names::Fields),
            ("src/commands/profile/json.rs", Names::Fields),
            ("src/commands/profile/apart.rs", Names::Fields),
            ("src/commands/profile/save.rs", Names::Json),
            ("src/commands/collect/tables.rs", Names::Fields),
            ("src/commands/collect/mod.rs", Names::Json),
            ("src/commands/collect/mod.rs", Names::Fields),
            (
                "pipeline/src/model/observe.rs",
                Names::Quoted("pub const ALL: [(EventSet"),
            ),
        ],
    ),
    (
        &["formats/exports.md"],
        &[("profile/src/formats/mod.rs", Names::Quoted("const ENTRIES"))],
    ),
    (
        &["formats/dcpi.md"],
        &[
            ("src/commands/dcpi/results.rs", Names::Columns),
            ("dcpi/src/database/file.rs", Names::Fields),
            ("dcpi/src/samples.rs", Names::Fields),
            ("dcpi/src/samples.rs", Names::Variants),
        ],
    ),
    (
        &["formats/shim.md", "formats/shim-files.md"],
        &[
            ("src/commands/shim/results.rs", Names::Columns),
            ("shim/src/results.rs", Names::Fields),
            ("shim/src/stack_results.rs", Names::Fields),
            ("shim/src/analysis.rs", Names::Fields),
            ("shim/src/rates.rs", Names::Fields),
            ("shim/src/timeline.rs", Names::Fields),
            ("shim/src/distribution.rs", Names::Fields),
            ("shim/src/observer.rs", Names::Fields),
            ("shim/src/placement.rs", Names::Fields),
            ("shim/src/plan.rs", Names::Fields),
            ("shim/src/threads.rs", Names::Fields),
            ("shim/src/machine.rs", Names::Fields),
            ("shim/src/counters/pmu.rs", Names::Fields),
            ("shim/src/overhead.rs", Names::Fields),
            ("shim/src/microbench.rs", Names::Fields),
            ("shim/src/stats.rs", Names::Fields),
        ],
    ),
    (
        &["formats/shadows.md"],
        &[
            ("src/commands/shadow/results.rs", Names::Columns),
            ("src/commands/shadow/native.rs", Names::Fields),
            ("shadow/native/src/outcome.rs", Names::Fields),
            ("shadow/native/src/overhead.rs", Names::Fields),
            ("shadow/src/policy.rs", Names::Fields),
            ("shadow/src/control.rs", Names::Fields),
        ],
    ),
    (
        &["formats/validation.md"],
        &[
            ("src/commands/validate/mod.rs", Names::Fields),
            ("experiments/src/validation/comparison.rs", Names::Fields),
            ("experiments/src/validation/graph.rs", Names::Fields),
            ("experiments/src/validation/observers.rs", Names::Fields),
        ],
    ),
    (
        &["formats/bench.md"],
        &[
            ("src/commands/bench/mod.rs", Names::Fields),
            ("src/commands/bench/counts.rs", Names::Fields),
            ("src/commands/programs/mod.rs", Names::Fields),
            ("src/commands/programs/suite.rs", Names::Fields),
            ("hps-productions/src/statistics.rs", Names::Fields),
            ("workloads/src/suite/manifest.rs", Names::Fields),
            ("workloads/src/suite/store.rs", Names::Fields),
        ],
    ),
    (
        &["formats/cluster.md"],
        &[
            ("experiments/src/cluster/plan_file.rs", Names::Fields),
            ("experiments/src/cluster/cost.rs", Names::Fields),
        ],
    ),
    (
        &["formats/lessons.md"],
        &[("src/commands/analyze.rs", Names::Fields)],
    ),
    (
        &["machine-keys.md", "machine-keys-memory.md"],
        &[
            ("pipeline/src/config/branch.rs", Names::Machine),
            ("pipeline/src/config/chip.rs", Names::Machine),
            ("pipeline/src/config/counters.rs", Names::Machine),
            ("pipeline/src/config/interrupts.rs", Names::Machine),
            ("pipeline/src/config/memory.rs", Names::Machine),
            ("pipeline/src/config/sections.rs", Names::Machine),
            ("pipeline/src/config/units.rs", Names::Machine),
        ],
    ),
];

/// The name before the first colon of a line, if it is one.
fn name_before_colon(line: &str) -> Option<&str> {
    let (name, _) = line.trim().split_once(": ")?;
    let name = name.strip_prefix("pub ").unwrap_or(name);
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// Fields of the structs of a source file that are wanted: by the lines in front of them, and by their names. Fields
/// that serde skips or flattens are no keys.
fn fields(text: &str, is_wanted: impl Fn(&str, &str) -> bool) -> BTreeSet<&str> {
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut attributes = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let declared = line.trim().strip_suffix(" {").unwrap_or_default();
        let name = declared.split("struct ").nth(1).unwrap_or_default();
        let name = name.split('<').next().unwrap_or_default();
        if !name.is_empty() && is_wanted(&attributes, name) {
            let mut is_skipped = false;
            for line in lines.by_ref().take_while(|line| line.trim() != "}") {
                let line = line.trim();
                if line.starts_with("#[serde(skip)]") || line.starts_with("#[serde(flatten)]") {
                    is_skipped = true;
                } else if let Some(field) = name_before_colon(line) {
                    found.extend((!is_skipped).then_some(field));
                    is_skipped = false;
                }
            }
        }
        match line.trim_start().starts_with("#[") || line.trim_start().starts_with("//") {
            true => attributes += line,
            false => attributes.clear(),
        }
    }
    found
}

impl Names {
    /// The names in a source file.
    fn find<'a>(&self, text: &'a str) -> BTreeSet<&'a str> {
        let quoted = |text: &'a str| -> BTreeSet<&'a str> {
            let is_name =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
            let quoted = text.split('"').skip(1).step_by(2);
            let is_all = |t: &&str| !t.is_empty() && t.chars().all(is_name);
            quoted.filter(is_all).collect()
        };
        let between = |from: &str, to: &str| {
            let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from}"));
            rest.split_once(to).expect("an end").0
        };
        match self {
            Names::Fields => fields(text, |attributes, _| {
                attributes.contains("Serialize") || attributes.contains("Deserialize")
            }),
            Names::Of(names) => fields(text, |_, name| names.contains(&name)),
            Names::Json => {
                let texts: Vec<&str> = text.split('"').collect();
                let pairs = texts.windows(2).skip(1).step_by(2);
                let keys = pairs.filter(|pair| pair[1].starts_with(": "));
                keys.map(|pair| pair[0]).collect()
            }
            Names::Machine => {
                let key = |line: &'a str| {
                    let name = name_before_colon(line)?;
                    (line.starts_with("        ") && line.contains(" = ")).then_some(name)
                };
                text.lines().filter_map(key).collect()
            }
            Names::Columns => {
                const DECLARE: [&str; 6] =
                    ["text(", "made(", "count(", "integer(", "real(", "flag("];
                let calls = DECLARE.iter().flat_map(|call| text.split(call).skip(1));
                let firsts = calls.filter_map(|rest| rest.trim_start().strip_prefix('"'));
                let names = firsts.filter_map(|rest| rest.split('"').next());
                // `context("…")` ends so, too.
                names.filter(|name| !name.contains(' ')).collect()
            }
            Names::Quoted(from) => quoted(between(from, "];")),
            Names::Variants => {
                let variants = text.split("=> \"").skip(1);
                variants.filter_map(|rest| rest.split('"').next()).collect()
            }
            Names::Counters(from) => {
                let lines = between(from, "}").lines().map(str::trim);
                let names = lines.filter_map(|line| line.strip_suffix(','));
                names.filter(|name| !name.contains([' ', '/'])).collect()
            }
        }
    }
}

/// The words of all code in backquotes and in blocks of code.
fn words_of_code(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let code = text.split('`').skip(1).step_by(2);
    let words = code.flat_map(|code| code.split(move |c| !is_part(c)));
    words.map(str::to_string).collect()
}

#[test]
fn every_key_and_column_of_a_file_is_documented() {
    let mut missing = Vec::new();
    let mut checked = 0;
    for (pages, sources) in KEYS {
        let text: Vec<String> = pages
            .iter()
            .map(|page| read(&root().join("docs").join(page)))
            .collect();
        let words = words_of_code(&text.join("\n"));
        for (source, names) in *sources {
            let text = read(&root().join(source));
            let found = names.find(&text);
            assert!(!found.is_empty(), "{source}: no key was found");
            checked += found.len();
            let unknown = found.into_iter().filter(|name| !words.contains(*name));
            missing.extend(unknown.map(|name| format!("{}: {name} ({source})", pages[0])));
        }
    }
    assert!(checked > 600, "only {checked} keys were found");
    assert!(missing.is_empty(), "docs/ lacks keys: {missing:#?}");
}
