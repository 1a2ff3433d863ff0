//! Contents of caches, TLBs, predictors and queues in a cycle, in the words of the page.

use std::collections::BTreeMap;

use hps_isa::said;
use hps_pipeline::contents::{Contents, Held, MemoryOp, Selector, Window};

use crate::protocol::{EntryView, InsideView, MemoryOpView, Problem, TableView, hex};
use crate::recorder::{Kept, Recorded};
use crate::session::Session;

/// Branches of the history that are shown.
const HISTORY: usize = 32;

impl Session {
    fn look_inside(
        &mut self,
        cycle: u64,
        context: u64,
    ) -> Result<(Vec<Contents>, Window), Problem> {
        let cycles = self.cycles();
        let (ready, rerun) = self.rerun()?;
        rerun.inside(ready, cycle.min(cycles), context)
    }

    /// Tables and queues; the entries of those that are named.
    pub(crate) fn inside(
        &mut self,
        cycle: u64,
        context: u64,
        wanted: &[String],
        row: Option<u64>,
    ) -> Result<InsideView, Problem> {
        let (tables, window) = self.look_inside(cycle, context)?;
        let recorded = self.recorded()?;
        let used = row.and_then(|row| recorded.rows.get(row as usize));
        let address = used.and_then(|row| address_of(recorded, &window, row));
        let tables = tables.iter().map(|table| {
            let is_wanted = wanted.iter().any(|name| name == table.name);
            TableView {
                name: table.name.to_owned(),
                sets: table.sets as u64,
                ways: table.ways as u64,
                bytes: match table.selected_by {
                    Selector::Address { shift } => 1 << shift,
                    _ => 0,
                },
                by_use: table.by_use,
                taken: table.taken() as u64,
                set: used.and_then(|row| set_of(table, row, address)),
                letters: is_wanted.then(|| table.entries.iter().map(letter).collect()),
                digests: is_wanted.then(|| table.entries.chunks(table.ways).map(digest).collect()),
            }
        });
        let directions = (0..HISTORY)
            .rev()
            .map(|bit| match window.history >> bit & 1 {
                1 => '1',
                _ => '0',
            });
        Ok(InsideView {
            cycle,
            tables: tables.collect(),
            fetch_pc: hex(window.fetch_pc),
            fetch_from: Some(window.fetch_from_cycle)
                .filter(|&from| from > cycle && from < u64::MAX),
            history: directions.collect(),
            memory: self.memory_ops(recorded, &window, cycle, context),
        })
    }

    fn memory_ops(
        &self,
        recorded: &Recorded,
        window: &Window,
        cycle: u64,
        context: u64,
    ) -> Vec<MemoryOpView> {
        let rows: BTreeMap<u64, usize> = recorded
            .in_flight(cycle)
            .into_iter()
            .map(|at| (at, &recorded.rows[at]))
            .filter(|(_, row)| u64::from(row.context) == context && row.end > cycle)
            .map(|(at, row)| (row.seq, at))
            .collect();
        let view = |op: &MemoryOp| {
            let row = op.seq.and_then(|seq| rows.get(&seq)).copied();
            MemoryOpView {
                row: row.map(|at| at as u64),
                text: row.map_or_else(String::new, |at| {
                    let kept: &Kept = &recorded.rows[at];
                    self.image().isa.disassemble(&kept.inst, kept.pc)
                }),
                is_store: op.is_store,
                committed: op.seq.is_none(),
                waits: op.waits,
                address: op.address.map(hex),
                size: u64::from(op.size),
                value: op.value.map(hex),
            }
        };
        window.memory.iter().map(view).collect()
    }

    /// The entries of a set.
    pub(crate) fn entries(
        &mut self,
        cycle: u64,
        context: u64,
        table: &str,
        set: u64,
    ) -> Result<Vec<EntryView>, Problem> {
        let (tables, _) = self.look_inside(cycle, context)?;
        let table = tables
            .iter()
            .find(|one| one.name == table)
            .ok_or_else(|| Problem::new(said!("there is no table `{name}`", name = table)))?;
        if set >= table.sets as u64 {
            return Err(Problem::new(said!(
                "{name} has the sets 0 to {last}",
                name = table.name,
                last = table.sets - 1
            )));
        }
        let first = set as usize * table.ways;
        let entries = &table.entries[first..first + table.ways];
        Ok(entries.iter().map(|held| self.entry(held)).collect())
    }

    fn entry(&self, held: &Held) -> EntryView {
        let (key, text, address) = match *held {
            Held::Nothing => (String::new(), String::new(), None),
            Held::Line {
                address,
                dirty,
                ready_cycle,
                unused,
            } => {
                let facts = [
                    dirty.then(|| "changed".to_owned()),
                    ready_cycle.map(|at| format!("on its way until cycle {at}")),
                    unused.then(|| "prefetched, not used yet".to_owned()),
                ];
                (hex(address), listed(facts), Some(address))
            }
            Held::Moving {
                address,
                since_cycle,
                ready_cycle,
            } => {
                let until = match ready_cycle {
                    Some(at) => format!("until cycle {at}"),
                    None => "not sent yet".to_owned(),
                };
                let text = format!("since cycle {since_cycle}, {until}");
                (hex(address), text, Some(address))
            }
            Held::Target { tag, target } => {
                let text = format!("goes to {}", hex(target));
                (format!("tag {tag:#x}"), text, Some(target))
            }
            Held::Counter { value, most } => {
                let taken = if value > most / 2 {
                    "taken"
                } else {
                    "not taken"
                };
                (String::new(), format!("{value} of {most}: {taken}"), None)
            }
            Held::Tagged {
                tag,
                counter,
                useful,
            } => {
                let taken = if counter >= 0 { "taken" } else { "not taken" };
                let text = format!("{counter} of -4 to 3: {taken}; useful {useful} of 3");
                (format!("tag {tag:#x}"), text, None)
            }
            Held::History { bits, length } => {
                let text = format!("{bits:0length$b}", length = length as usize);
                (String::new(), text, None)
            }
            Held::Return { address, is_top } => {
                let text = if is_top { "the next return" } else { "" };
                (hex(address), text.to_owned(), Some(address))
            }
        };
        EntryView {
            letter: letter(held).to_string(),
            place: address.map_or_else(String::new, |address| self.place(address)),
            key,
            text,
            address: address.map(hex),
        }
    }

    /// The label or function that an address lies behind.
    fn place(&self, address: u64) -> String {
        let labels = &self.ready().text.labels;
        let behind = labels.partition_point(|(at, _)| *at <= address);
        let label = behind.checked_sub(1).map(|at| &labels[at]);
        let function = self.image().symbols.function_at(address);
        let named = match (label, function) {
            (Some((at, name)), _) => Some((*at, name)),
            (None, Some(function)) => Some((function.addr, &function.name)),
            (None, None) => None,
        };
        named.map_or_else(String::new, |(at, name)| match address - at {
            0 => name.clone(),
            offset => format!("{name}+{offset:#x}"),
        })
    }
}

fn listed(facts: [Option<String>; 3]) -> String {
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    facts.join(", ")
}

/// The address of a load or store, if it is known: of one that commits from its commit, of others from the queues.
fn address_of(recorded: &Recorded, window: &Window, row: &Kept) -> Option<u64> {
    if !row.class().is_memory() {
        return None;
    }
    let commit = row.commit.and_then(|at| recorded.commits.get(at as usize));
    commit.map(|commit| commit.addr).or_else(|| {
        let mut all = window.memory.iter();
        all.find(|op| op.seq == Some(row.seq))?.address
    })
}

/// The set of a table that an instruction uses.
fn set_of(table: &Contents, row: &Kept, address: Option<u64>) -> Option<u64> {
    let is_transfer = row.class().is_control();
    let address = match table.name {
        "l1i" | "itlb" => Some(row.pc),
        "l1d" | "dtlb" | "l2" | "l3" | "l2_tlb" => address,
        _ => Some(row.pc).filter(|_| is_transfer),
    };
    table.set_of(address?).map(|set| set as u64)
}

fn letter(held: &Held) -> char {
    match *held {
        Held::Nothing => '.',
        Held::Line {
            ready_cycle: Some(_),
            ..
        }
        | Held::Moving { .. } => 'm',
        Held::Line { dirty: true, .. } => 'd',
        Held::Line { unused: true, .. } => 'p',
        Held::Line { .. } => 'c',
        Held::Counter { value, most } => quarter(u32::from(value), u32::from(most) + 1),
        Held::Tagged { counter, .. } => quarter((i32::from(counter) + 4) as u32, 8),
        Held::Target { .. } | Held::Return { is_top: false, .. } => 't',
        Held::Return { is_top: true, .. } => 'T',
        Held::History { bits: 0, .. } => '.',
        Held::History { .. } => 'h',
    }
}

/// A digit from 0 to 3 for a value of so many.
fn quarter(value: u32, values: u32) -> char {
    char::from_digit(value * 4 / values, 10).unwrap_or('3')
}

/// A number that changes when a set does (FNV-1a by words). A line that arrives does not change its set.
fn digest(set: &[Held]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325;
    let mut take = |words: [u64; 3]| {
        for word in words {
            sum = (sum ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for held in set {
        take(match *held {
            Held::Nothing => [0; 3],
            Held::Line { address, dirty, .. } => [1, address, dirty.into()],
            Held::Moving {
                address,
                since_cycle,
                ..
            } => [2, address, since_cycle],
            Held::Target { tag, target } => [3, tag.into(), target],
            Held::Counter { value, .. } => [4, value.into(), 0],
            Held::Tagged {
                tag,
                counter,
                useful,
            } => [
                5,
                tag.into(),
                u64::from(counter as u8) << 8 | u64::from(useful),
            ],
            Held::History { bits, .. } => [6, bits.into(), 0],
            Held::Return { address, is_top } => [7, address, is_top.into()],
        });
    }
    // Numbers of JavaScript hold this many bits.
    sum >> 32
}
