//! The same programs on several instruction sets, side by side.

use std::collections::BTreeMap;

use hps_experiments::{ProfileKind, Row};

use crate::axis::frequency;
use crate::dataset::{DataSet, KindData, Metric, group};
use crate::table::{align, one_line, percent};

/// A table of text; the first column is a name, the others are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IsaTable {
    /// Title: what the table shows.
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// One of the tables that fit a terminal.
    pub is_summary: bool,
}

/// Sets of rows that differ in the instruction set alone, and their tables.
pub(crate) struct Comparison<'a> {
    /// Two or more, RISC-V first: the others are compared with it.
    sets: Vec<&'a DataSet<'a>>,
}

/// Finds what can be compared: sets of one version, machine and input.
pub(crate) fn comparisons<'a>(
    sets: impl IntoIterator<Item = &'a DataSet<'a>>,
) -> Vec<Comparison<'a>> {
    let mut alike: BTreeMap<_, Vec<&DataSet>> = BTreeMap::new();
    for set in sets {
        let key = (set.version, set.machine, set.fingerprint, set.input);
        alike.entry(key).or_default().push(set);
    }
    alike
        .into_values()
        .filter(|sets| sets.len() > 1)
        .map(|mut sets| {
            sets.sort_by_key(|set| (set.isa != "riscv64", set.isa));
            Comparison { sets }
        })
        .collect()
}

/// The instruction sets side by side as text, where the rows have more than one: each program's
/// instructions, cycles and cycles an instruction, and the means of accuracy and overhead at the
/// points of the paper's Figure 8.
#[must_use]
pub fn isa_table(rows: &[Row]) -> Option<String> {
    let sets = group(rows);
    let mut text = String::new();
    for comparison in comparisons(&sets) {
        for table in comparison.tables().into_iter().filter(|t| t.is_summary) {
            let lines = [std::slice::from_ref(&table.head), &table.rows].concat();
            text += &format!(
                "{}: {}\n{}\n",
                one_line(&comparison.title()),
                table.title,
                align(&lines)
            );
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Instructions of a program and its cycles without profiling.
type Size = (u64, u64);

impl Comparison<'_> {
    /// Which instruction sets, and on what.
    pub(crate) fn title(&self) -> String {
        let isas: Vec<&str> = self.sets.iter().map(|set| set.isa).collect();
        let set = self.sets[0];
        let input = set.input.map(|i| format!(" · input {i}"));
        format!(
            "{} · {}{} · hps {}",
            isas.join(" and "),
            set.machine,
            input.unwrap_or_default(),
            set.version
        )
    }

    /// All tables, those over all programs first.
    pub(crate) fn tables(&self) -> Vec<IsaTable> {
        let kinds: Vec<OfKind> = ProfileKind::ALL
            .into_iter()
            .filter_map(|kind| OfKind::new(&self.sets, kind))
            .collect();
        let mut tables = vec![self.sizes(), self.means(&kinds)];
        for kind in &kinds {
            for (metric, what) in METRICS {
                tables.push(self.by_program(kind, metric, what));
            }
        }
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    fn isas(&self) -> impl Iterator<Item = &str> {
        self.sets.iter().map(|set| set.isa)
    }

    /// A column for each instruction set, then for each but the first how it compares with it.
    fn ratio_head(&self, what: &str) -> Vec<String> {
        let first = self.sets[0].isa;
        let numbers = self.isas().map(|isa| format!("{what}, {isa}"));
        let ratios = self.isas().skip(1).map(|isa| format!("{isa}/{first}"));
        numbers.chain(ratios).collect()
    }

    /// Programs with instructions, cycles, and cycles an instruction.
    fn sizes(&self) -> IsaTable {
        let mut programs: BTreeMap<(&str, &str), Vec<Option<Size>>> = BTreeMap::new();
        for (at, set) in self.sets.iter().enumerate() {
            for row in &set.rows {
                let sizes = programs
                    .entry((&row.program, &row.input))
                    .or_insert_with(|| vec![None; self.sets.len()]);
                let size = row.timing.map(|t| (t.instructions, t.baseline_cycles));
                sizes[at] = sizes[at].or(size);
            }
        }
        let several_inputs = programs.keys().map(|(_, input)| input).min()
            != programs.keys().map(|k| k.1).max().as_ref();
        let mut head = vec!["program".to_string()];
        for what in ["instructions", "cycles", "CPI"] {
            head.extend(self.ratio_head(what));
        }
        let rows = programs
            .into_iter()
            .filter(|(_, sizes)| sizes.iter().filter(|s| s.is_some()).count() > 1)
            .map(|((name, input), sizes)| {
                let mut row = vec![match several_inputs {
                    true => format!("{name} ({input})"),
                    false => name.to_string(),
                }];
                let of = |number: fn(Size) -> f64| -> Vec<Option<f64>> {
                    sizes.iter().map(|size| size.map(number)).collect()
                };
                row.extend(with_ratios(&of(|(instructions, _)| instructions as f64), 0));
                row.extend(with_ratios(&of(|(_, cycles)| cycles as f64), 0));
                row.extend(with_ratios(&of(|(n, cycles)| cycles as f64 / n as f64), 3));
                row
            })
            .collect();
        IsaTable {
            title: "instructions, cycles without profiling, and cycles an instruction".to_string(),
            head,
            rows,
            is_summary: true,
        }
    }

    /// Means at each point, over the programs that have a value on every instruction set.
    fn means(&self, kinds: &[OfKind<'_>]) -> IsaTable {
        let mut head = ["profile", "burst", "frequency"]
            .map(str::to_string)
            .to_vec();
        for (_, what) in METRICS {
            head.extend(self.isas().map(|isa| format!("{what} %, {isa}")));
        }
        let mut rows = Vec::new();
        for kind in kinds {
            for &one_in in &kind.frequencies {
                let mut row = vec![
                    kind.kind.title().to_string(),
                    kind.burst.to_string(),
                    frequency(one_in),
                ];
                for (metric, _) in METRICS {
                    let means = kind.means(metric, one_in);
                    row.extend(
                        means
                            .into_iter()
                            .map(|mean| percent(mean, decimals(metric))),
                    );
                }
                rows.push(row);
            }
        }
        IsaTable {
            title: "means over the programs that all of them have".to_string(),
            head,
            rows,
            is_summary: true,
        }
    }

    /// A metric of each program at each frequency.
    fn by_program(&self, kind: &OfKind<'_>, metric: Metric, what: &str) -> IsaTable {
        let mut head = vec!["program".to_string()];
        for &one_in in &kind.frequencies {
            head.extend(
                self.isas()
                    .map(|isa| format!("{}, {isa}", frequency(one_in))),
            );
        }
        let line = |name: &str, values: &dyn Fn(u64) -> Vec<Option<f64>>| {
            let values: Vec<Option<f64>> =
                kind.frequencies.iter().flat_map(|&f| values(f)).collect();
            let cells = values.iter().map(|&v| percent(v, decimals(metric)));
            let row = [name.to_string()].into_iter().chain(cells).collect();
            values.iter().any(Option::is_some).then_some(row)
        };
        let rows = kind
            .names
            .iter()
            .filter_map(|name| line(name, &|one_in| kind.values(metric, name, one_in)))
            .chain(line("mean of those on all", &|one_in| {
                kind.means(metric, one_in)
            }))
            .collect();
        IsaTable {
            title: format!("{}, burst {}: {what} in %", kind.kind.title(), kind.burst),
            head,
            rows,
            is_summary: false,
        }
    }
}

const METRICS: [(Metric, &str); 2] = [
    (Metric::Renormalized, "accuracy"),
    (Metric::Overhead, "overhead"),
];

fn decimals(metric: Metric) -> usize {
    if metric == Metric::Overhead { 3 } else { 2 }
}

/// The numbers, and each but the first as a multiple of the first.
fn with_ratios(values: &[Option<f64>], decimals: usize) -> Vec<String> {
    let number = |value: Option<f64>, decimals| percent(value, decimals);
    let ratio = |value: &Option<f64>| Some((*value)? / values[0]?);
    let numbers = values.iter().map(|&v| number(v, decimals));
    let ratios = values[1..].iter().map(|v| number(ratio(v), 3));
    numbers.chain(ratios).collect()
}

/// The rows of one kind of profile in all sets, at the burst of the paper's Figure 8.
struct OfKind<'a> {
    kind: ProfileKind,
    burst: u64,
    frequencies: Vec<u64>,
    /// Programs of any set.
    names: Vec<String>,
    sets: Vec<KindData<'a>>,
}

impl<'a> OfKind<'a> {
    /// None unless every set has rows of this kind.
    fn new(sets: &[&'a DataSet<'a>], kind: ProfileKind) -> Option<OfKind<'a>> {
        let of_kind = |set: &&DataSet<'a>| set.kinds().into_iter().find(|d| d.kind == kind);
        let sets: Vec<KindData<'a>> = sets.iter().map(of_kind).collect::<Option<_>>()?;
        let mut frequencies: Vec<u64> = sets.iter().flat_map(|s| s.frequencies.clone()).collect();
        frequencies.sort_unstable();
        frequencies.dedup();
        let mut names: Vec<String> = sets.iter().flat_map(|s| s.names.clone()).collect();
        names.sort_unstable();
        names.dedup();
        Some(OfKind {
            kind,
            burst: sets[0].shown_burst(),
            frequencies,
            names,
            sets,
        })
    }

    /// A program's values, one for each set.
    fn values(&self, metric: Metric, name: &str, one_in: u64) -> Vec<Option<f64>> {
        let value = |set: &KindData<'_>| {
            let program = set.names.iter().position(|n| n == name)?;
            set.value(metric, program, self.burst, one_in)
        };
        self.sets.iter().map(value).collect()
    }

    /// The means over the programs that have a value in every set, one for each set.
    fn means(&self, metric: Metric, one_in: u64) -> Vec<Option<f64>> {
        let whole: Vec<Vec<f64>> = self
            .names
            .iter()
            .filter_map(|name| self.values(metric, name, one_in).into_iter().collect())
            .collect();
        let mean = |set: usize| {
            let sum: f64 = whole.iter().map(|values| values[set]).sum();
            (!whole.is_empty()).then(|| sum / whole.len() as f64)
        };
        (0..self.sets.len()).map(mean).collect()
    }
}
