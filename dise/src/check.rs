//! Table entries that a set of productions takes, and conflicts between productions.

use std::collections::BTreeMap;
use std::fmt;

use bitvec::BitArr;

use crate::config::{MAX_COUNTERS, MAX_PATTERNS};
use crate::error::Diagnostic;
use crate::flags::FlagCondition;
use crate::pattern::PatternEntry;
use crate::set::ProductionSet;
use crate::tables::{Micro, Production, Tables, Template};

/// Two productions that touch the same instructions in a way that may surprise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The same pattern twice, both with a null replacement: both run on every match.
    BothRun {
        /// The production that comes first.
        first: String,
        /// The other one.
        second: String,
        /// The pattern.
        pattern: String,
        /// Microinstructions of the first.
        first_control: Vec<String>,
        /// Microinstructions of the second, which run later.
        second_control: Vec<String>,
        /// Counters that both write, so that the second decides.
        counters: Vec<u8>,
    },
    /// A production with a replacement that never wins.
    NeverWins {
        /// The production.
        loser: String,
        /// The production that always wins over it.
        winner: String,
        /// The pattern of the loser.
        pattern: String,
    },
    /// Two productions with replacements and equally specific patterns that can match the same
    /// instruction: the order in the file decides.
    Tie {
        /// The one that wins because it comes first.
        winner: String,
        /// The other one.
        loser: String,
        /// The two patterns.
        patterns: (String, String),
    },
    /// Two productions that can run for the same instruction and write the same counter.
    CounterRace {
        /// The production that runs first.
        first: String,
        /// The production that runs later.
        second: String,
        /// The counters.
        counters: Vec<u8>,
    },
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Conflict::BothRun {
                first,
                second,
                pattern,
                first_control,
                second_control,
                counters,
            } => {
                write!(
                    f,
                    "{first} and {second} have the same pattern ({pattern}) and null replacements: \
                     both run on every match, first {}, then {}",
                    list(first_control),
                    list(second_control)
                )?;
                if !counters.is_empty() {
                    write!(
                        f,
                        "; {second} has the last word on {}",
                        counter_list(counters)
                    )?;
                }
                Ok(())
            }
            Conflict::NeverWins {
                loser,
                winner,
                pattern,
            } => {
                write!(
                    f,
                    "{loser} can never win: {winner} wins whenever {loser} matches ({pattern})"
                )
            }
            Conflict::Tie {
                winner,
                loser,
                patterns,
            } => write!(
                f,
                "{winner} ({}) and {loser} ({}) are equally specific and can match the same instruction: \
                 {winner} wins because it comes first",
                patterns.0, patterns.1
            ),
            Conflict::CounterRace {
                first,
                second,
                counters,
            } => write!(
                f,
                "{first} and {second} can run for the same instruction and both write {}: {first} runs first",
                counter_list(counters)
            ),
        }
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        "nothing".to_owned()
    } else {
        items.join(", ")
    }
}

fn counter_list(counters: &[u8]) -> String {
    counters
        .iter()
        .map(|c| format!("counter {c}"))
        .collect::<Vec<_>>()
        .join(" and ")
}

/// Findings of [`check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Productions.
    pub productions: usize,
    /// Pattern-table entries used.
    pub pt_entries: usize,
    /// Replacement-table entries used.
    pub rt_entries: usize,
    /// Conditionals-table entries used: microinstructions of all different lists.
    pub ct_entries: usize,
    /// Name, address and code bytes of each handler.
    pub handlers: Vec<(String, u64, u64)>,
    /// Bytes of all handlers.
    pub handler_bytes: u64,
    /// Bytes of all data areas.
    pub data_bytes: u64,
    /// Productions in each other's way.
    pub conflicts: Vec<Conflict>,
    /// Accepted input that looks like a mistake, with its place in the file.
    pub warnings: Vec<Diagnostic>,
    /// Warnings about the set as a whole.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether there is nothing to look at.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.conflicts.is_empty() && self.warnings.is_empty() && self.notes.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} productions: {} PT entries, {} RT entries, {} CT entries",
            self.productions, self.pt_entries, self.rt_entries, self.ct_entries
        )?;
        for (name, address, size) in &self.handlers {
            writeln!(f, "handler {name}: {size} bytes at {address:#x}")?;
        }
        writeln!(
            f,
            "{} bytes of handlers, {} bytes of data",
            self.handler_bytes, self.data_bytes
        )?;
        for conflict in &self.conflicts {
            writeln!(f, "conflict: {conflict}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

/// Looks over a set: table use, conflicts, likely mistakes.
#[must_use]
pub fn check(set: &ProductionSet) -> Report {
    let tables = set.tables();
    Report {
        productions: tables.productions.len(),
        pt_entries: tables.productions.iter().map(|p| p.entries.len()).sum(),
        rt_entries: tables.replacement_entries(),
        ct_entries: tables.conditionals_entries(),
        handlers: set
            .handlers()
            .iter()
            .map(|h| (h.name.clone(), h.address, h.size))
            .collect(),
        handler_bytes: set.handlers().iter().map(|h| h.size).sum(),
        data_bytes: set.data_areas().iter().map(|d| d.size).sum(),
        conflicts: conflicts(set, tables),
        warnings: set.warnings().to_vec(),
        notes: notes(set, tables),
    }
}

/// Every pair of productions that is worth a word.
fn conflicts(set: &ProductionSet, tables: &Tables) -> Vec<Conflict> {
    let mut found = Vec::new();
    for (i, first) in tables.productions.iter().enumerate() {
        for second in &tables.productions[i + 1..] {
            found.extend(conflict(set, first, second));
        }
    }
    found
}

fn conflict(set: &ProductionSet, first: &Production, second: &Production) -> Option<Conflict> {
    let overlapping = |a: &Production, b: &Production| {
        a.entries
            .iter()
            .any(|x| b.entries.iter().any(|y| x.overlaps(y)))
    };
    if !overlapping(first, second) {
        return None;
    }
    match (&first.replacement, &second.replacement) {
        (Some(_), Some(_)) => replacing(first, second),
        (None, None) if first.entries == second.entries => Some(Conflict::BothRun {
            first: first.name.clone(),
            second: second.name.clone(),
            pattern: pattern_text(first),
            first_control: control_text(set, first),
            second_control: control_text(set, second),
            counters: shared_counters(first, second),
        }),
        _ => {
            let counters = shared_counters(first, second);
            (!counters.is_empty()).then(|| Conflict::CounterRace {
                first: first.name.clone(),
                second: second.name.clone(),
                counters,
            })
        }
    }
}

/// Two productions of which one can win.
fn replacing(first: &Production, second: &Production) -> Option<Conflict> {
    let beats = |a: &PatternEntry, b: &PatternEntry, a_first: bool| {
        a.specificity() > b.specificity() || (a_first && a.specificity() == b.specificity())
    };
    let shadows = |a: &Production, b: &Production, a_first: bool| {
        b.entries.iter().all(|x| {
            a.entries
                .iter()
                .any(|y| y.covers(x) && beats(y, x, a_first))
        })
    };
    for (winner, loser, in_order) in [(first, second, true), (second, first, false)] {
        if shadows(winner, loser, in_order) {
            return Some(Conflict::NeverWins {
                loser: loser.name.clone(),
                winner: winner.name.clone(),
                pattern: pattern_text(loser),
            });
        }
    }
    let tie = first.entries.iter().any(|a| {
        second
            .entries
            .iter()
            .any(|b| a.specificity() == b.specificity() && a.overlaps(b))
    });
    tie.then(|| Conflict::Tie {
        winner: first.name.clone(),
        loser: second.name.clone(),
        patterns: (pattern_text(first), pattern_text(second)),
    })
}

/// Counters that both productions write, unless both only count in the same direction, which
/// gives the same result in either order.
fn shared_counters(first: &Production, second: &Production) -> Vec<u8> {
    let mut counters: Vec<u8> = Vec::new();
    for a in &first.control {
        for b in &second.control {
            let commute = matches!(
                (a, b),
                (Micro::Inc(_), Micro::Inc(_)) | (Micro::Dec(_), Micro::Dec(_))
            );
            if a.counter() == b.counter() && !commute && !counters.contains(&a.counter()) {
                counters.push(a.counter());
            }
        }
    }
    counters.sort_unstable();
    counters
}

fn pattern_text(production: &Production) -> String {
    production
        .entries
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" || ")
}

fn control_text(set: &ProductionSet, production: &Production) -> Vec<String> {
    production
        .control
        .iter()
        .map(|micro| micro_text(set, *micro))
        .collect()
}

/// A microinstruction as it is written.
#[must_use]
pub fn micro_text(set: &ProductionSet, micro: Micro) -> String {
    match micro {
        Micro::Inc(counter) => format!("inc_{counter}"),
        Micro::Dec(counter) => format!("dec_{counter}"),
        Micro::Set { counter, register } => {
            let named = set
                .registers()
                .iter()
                .find(|(_, r)| **r == register)
                .map(|(name, _)| name.as_str());
            format!(
                "set_{counter}({})",
                named.unwrap_or(set.isa().register_name(register))
            )
        }
    }
}

/// A set of counters.
type CounterSet = BitArr!(for MAX_COUNTERS);

/// Likely mistakes that no single place shows.
fn notes(set: &ProductionSet, tables: &Tables) -> Vec<String> {
    let mut notes = Vec::new();
    let entries: usize = tables.productions.iter().map(|p| p.entries.len()).sum();
    if entries > MAX_PATTERNS {
        notes.push(format!(
            "the set needs {entries} PT entries; no engine has more than {MAX_PATTERNS}"
        ));
    }
    let mut tested = CounterSet::ZERO;
    let mut written = CounterSet::ZERO;
    let mut read = CounterSet::ZERO;
    for production in &tables.productions {
        let conditions = production.entries.iter().map(|e| e.condition);
        for bit in conditions.flat_map(FlagCondition::tested_bits) {
            tested.set(bit as usize / 2, true);
        }
        for micro in &production.control {
            written.set(usize::from(micro.counter()), true);
        }
        let templates = production.replacement.iter().flat_map(|s| &s.templates);
        for counter in templates.filter_map(Template::count) {
            read.set(usize::from(counter), true);
        }
    }
    for counter in 0..MAX_COUNTERS {
        if tested[counter] && !written[counter] {
            notes.push(format!(
                "counter {counter} is tested, but no production changes it"
            ));
        }
        if written[counter] && !tested[counter] && !read[counter] {
            notes.push(format!(
                "counter {counter} is changed, but nothing tests or reads it"
            ));
        }
    }
    let loaded =
        crate::lang::compile::counter_registers(tables).chain(tables.initial.iter().map(|i| i.1));
    let mut missing: Vec<u8> = loaded
        .filter(|r| {
            !set.dise_register_init()
                .iter()
                .any(|(register, _)| register == r)
        })
        .collect();
    missing.sort_unstable();
    missing.dedup();
    for register in missing {
        let name = set.isa().register_name(register);
        notes.push(format!(
            "counters are loaded from {name}, which has no initial value (`init`)"
        ));
    }
    notes.extend(shared_registers(set));
    notes
}

/// DISE registers that go by several names, as when merged files each took one for themselves.
fn shared_registers(set: &ProductionSet) -> Vec<String> {
    let mut names: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    for (name, register) in set.registers() {
        names.entry(*register).or_default().push(name);
    }
    names.retain(|_, names| names.len() > 1);
    let text = |(register, names): (u8, Vec<&str>)| {
        format!(
            "{} has several names: {}",
            set.isa().register_name(register),
            names.join(", ")
        )
    };
    names.into_iter().map(text).collect()
}
