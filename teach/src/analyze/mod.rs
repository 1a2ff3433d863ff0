//! The steady state of a loop: cycles of an iteration, and what limits it.
//!
//! Bounds are what each resource alone would allow, of the instructions as they ran: widths, groups of fetch, pools of
//! units, misses, mispredictions, and the longest chain of results from one iteration to the next. Latencies run from
//! operands to result, as consumers see them: reading registers and writing back are stages of the pipeline.

mod bounds;
mod chain;

use std::collections::BTreeMap;

use hps_isa::inst::OpClass;
use hps_isa::said;
use hps_lab::{Lab, Program};
use hps_pipeline::config::{AddressGeneration, MachineConfig};
use hps_pipeline::core::{Cause, EventSet};

use crate::protocol::{Analysis, AnalyzedLine, Bound, Limits, Problem, hex};
use crate::recorder::{Committed, Kept, Recorded, Recorder};
use crate::step::Step;

/// Iterations that a steady state takes at least.
const FEWEST: usize = 8;
/// Most instructions whose dependences are followed.
const MOST: usize = 50_000;
/// Largest ratio of a loop's cycles to its largest bound at which that bound limits the loop.
const NEAR: f64 = 1.1;
/// Bounds that are no farther apart are equal, in cycles.
const TIE: f64 = 0.005;

/// Runs a program up to a limit of instructions and analyzes its hottest loop.
///
/// # Errors
/// A program that cannot be run; a program without a loop that goes round often enough.
pub fn analyze(
    program: &Program,
    machine: &MachineConfig,
    limit: u64,
) -> Result<Analysis, Problem> {
    let lab = Lab::of(program).limit(limit).on_machine(machine);
    let ran = lab.watched_by(Recorder::new(Limits::PAGE.rows)).run()?;
    analyze_run(program, machine, &Recorded::new(ran.probe))
}

pub(crate) fn analyze_run(
    program: &Program,
    machine: &MachineConfig,
    recorded: &Recorded,
) -> Result<Analysis, Problem> {
    let window = Window::find(recorded)?;
    let rows = window.rows(recorded);
    let latencies = Latencies(machine);
    let chain = chain::longest(latencies, recorded, &window, &rows);
    let mut bounds = bounds::all(machine, &window, recorded, &rows);
    bounds.push(Bound {
        name: chain.name().to_owned(),
        cycles: chain.cycles,
    });
    bounds.sort_by(|a, b| b.cycles.total_cmp(&a.cycles).then(a.name.cmp(&b.name)));
    let cycles = window.cycles(recorded) as f64 / window.iterations() as f64;
    let largest = bounds[0].cycles;
    let ties = bounds.iter().take_while(|b| b.cycles >= largest - TIE);
    let ties: Vec<String> = ties.map(|b| b.name.clone()).collect();
    let limited_by = match cycles <= largest * NEAR + 0.05 {
        true => ties,
        false => match window.mostly_lost_to(recorded) {
            Some(cause) => vec![cause.to_owned()],
            None => ties,
        },
    };
    Ok(Analysis {
        head: hex(window.head),
        share: window.share,
        iterations: window.iterations() as u64,
        instructions: (window.last - window.first) as f64 / window.iterations() as f64,
        cycles,
        limited_by,
        lines: lines(program, latencies, recorded, &window, &rows, &chain),
        bounds,
    })
}

/// The part of a run that is analyzed: whole iterations, the later half of all.
struct Window {
    head: u64,
    /// Share of the taken branches backwards that go to the head.
    share: f64,
    /// Places of commits: the first instruction of each iteration, and that behind the last one.
    starts: Vec<usize>,
    first: usize,
    last: usize,
}

impl Window {
    fn find(recorded: &Recorded) -> Result<Window, Problem> {
        let mut taken: BTreeMap<u64, usize> = BTreeMap::new();
        for commit in &recorded.commits {
            let is_jump = matches!(commit.class, OpClass::Branch | OpClass::Jump);
            if is_jump && commit.taken && commit.is_program && commit.target <= commit.pc {
                *taken.entry(commit.target).or_default() += 1;
            }
        }
        let backwards: usize = taken.values().sum();
        let hottest = taken.into_iter().max_by_key(|&(head, count)| (count, head));
        let (head, times) = hottest
            .filter(|&(_, count)| count >= 2 * FEWEST)
            .ok_or_else(|| {
                Problem::new(said!(
                    "no loop goes round often enough: a steady state takes 16 iterations"
                ))
            })?;
        let all = recorded.commits.iter().enumerate();
        let starts: Vec<usize> = all
            .filter(|(_, commit)| commit.pc == head && commit.is_program)
            .map(|(at, _)| at)
            .collect();
        let middle = starts.len() / 2;
        let mut starts = starts[middle..].to_vec();
        let end = starts.partition_point(|&at| at < starts[0] + MOST).max(2);
        starts.truncate(end);
        Ok(Window {
            head,
            share: times as f64 / backwards as f64,
            first: starts[0],
            last: starts[starts.len() - 1],
            starts,
        })
    }

    fn iterations(&self) -> usize {
        self.starts.len() - 1
    }

    fn span(&self, recorded: &Recorded) -> (u64, u64) {
        let commits = &recorded.commits;
        (commits[self.first].cycle, commits[self.last].cycle)
    }

    fn cycles(&self, recorded: &Recorded) -> u64 {
        let (from, to) = self.span(recorded);
        to - from
    }

    /// The rows of the window's commits, in program order.
    fn rows<'a>(&self, recorded: &'a Recorded) -> Vec<&'a Kept> {
        let mut rows: Vec<&Kept> = recorded
            .rows
            .iter()
            .filter(|row| {
                let at = row.commit.map(|at| at as usize);
                at.is_some_and(|at| (self.first..self.last).contains(&at))
            })
            .collect();
        rows.sort_by_key(|row| row.commit);
        rows
    }

    /// The iteration that holds a place of [`Window::rows`].
    fn iteration(&self, place: usize) -> usize {
        self.starts
            .partition_point(|&start| start <= self.first + place)
            .saturating_sub(1)
    }

    /// The place of the first row of an iteration.
    fn place(&self, iteration: usize) -> usize {
        self.starts[iteration] - self.first
    }

    /// The cause of most lost cycles without a commit.
    fn mostly_lost_to(&self, recorded: &Recorded) -> Option<&'static str> {
        let (from, to) = self.span(recorded);
        let mut lost: BTreeMap<&'static str, u64> = BTreeMap::new();
        for idle in recorded.idle(0, from..to) {
            let cycles = idle.end.min(to).saturating_sub(idle.first.max(from));
            let cause = idle.state.cause();
            if cycles > 0 && cause != Cause::Execute {
                let next = recorded.commits.get(recorded.commits_until(idle.end - 1));
                let forwarded = next.is_some_and(|next| next.events.has(EventSet::FORWARDED));
                *lost.entry(loss(cause, forwarded)).or_default() += cycles;
            }
        }
        let most = lost.into_iter().max_by_key(|&(_, cycles)| cycles)?;
        Some(most.0)
    }
}

/// The word for a cause of lost cycles; `forwarded`: the instruction that waited got its value from a store.
fn loss(cause: Cause, forwarded: bool) -> &'static str {
    match cause {
        Cause::Mispredict => "mispredictions",
        Cause::ICache => "instruction cache misses",
        Cause::ITlb => "instruction TLB misses",
        Cause::LoadL1 | Cause::StoreWait if forwarded => "store forwarding",
        Cause::LoadL1 => "latency of level 1",
        Cause::LoadL2 | Cause::LoadL3 | Cause::LoadMemory | Cause::LoadCore => "load misses",
        Cause::DTlb => "data TLB misses",
        Cause::StoreWait => "waits for stores",
        cause => cause.name(),
    }
}

/// Cycles from operands to results.
#[derive(Clone, Copy)]
struct Latencies<'a>(&'a MachineConfig);

impl Latencies<'_> {
    /// From the base of an address to the issue of the access, where an operation of its own computes it.
    fn address_generation(self) -> u64 {
        match self.0.issue.address_generation {
            AddressGeneration::WithAccess => 0,
            AddressGeneration::Separate => u64::from(self.0.units.int_alu.latency_cycles),
        }
    }

    /// From the base of a load's or store's address to its address.
    fn address(self, row: &Kept) -> u64 {
        let (_, unit) = self.0.units.of(row.class());
        self.address_generation() + u64::from(unit.latency_cycles)
    }

    /// From the later of a load's address and a store's data to the load's result.
    fn forwarding(self) -> u64 {
        u64::from(self.0.speculation.store_forward_latency_cycles.max(1))
    }

    /// From issue to result, as it was.
    fn measured(self, row: &Kept) -> u64 {
        if let Some(step) = Step::of(self.0) {
            return step.latency(row);
        }
        let before = u64::from(self.0.issue.issue_to_execute_cycles);
        let took = row.complete.saturating_sub(row.issue);
        took.saturating_sub(before).max(1)
    }

    /// Cycles from the operands of an instruction to its result. The result of a store is its address. A load whose
    /// value was forwarded is taken to find the store's data in time.
    fn of(self, row: &Kept, forwarded: bool) -> u64 {
        match (row.is_load(), row.is_store()) {
            (true, false) if forwarded => self.address(row) + self.forwarding(),
            (false, true) => self.address(row),
            (true, _) => self.address_generation() + self.measured(row),
            _ => self.measured(row),
        }
    }
}

/// The commit of a row of the window.
fn commit_of<'a>(recorded: &'a Recorded, row: &Kept) -> Option<&'a Committed> {
    let at = row.commit?;
    recorded.commits.get(at as usize)
}

/// Whether a row is a load that got its value from a store in flight.
fn is_forwarded(recorded: &Recorded, row: &Kept) -> bool {
    let has = |commit: &Committed| commit.events.has(EventSet::FORWARDED);
    row.is_load() && commit_of(recorded, row).is_some_and(has)
}

/// The instructions of the loop in ascending order of address.
fn lines(
    program: &Program,
    latencies: Latencies<'_>,
    recorded: &Recorded,
    window: &Window,
    rows: &[&Kept],
    chain: &chain::Chain,
) -> Vec<AnalyzedLine> {
    let isa = program.image.isa;
    let mut all: BTreeMap<(u64, u16), Vec<&Kept>> = BTreeMap::new();
    for &row in rows {
        let place = (row.pc, row.disepc.to_bits());
        all.entry(place).or_default().push(row);
    }
    let iterations = window.iterations() as f64;
    let line = |(place, rows): ((u64, u16), Vec<&Kept>)| {
        let (row, times) = (rows[0], rows.len() as f64);
        let latency = |row: &&Kept| latencies.of(row, is_forwarded(recorded, row));
        let latency: u64 = rows.iter().map(latency).sum();
        AnalyzedLine {
            pc: hex(row.pc),
            text: isa.disassemble(&row.inst, row.pc),
            times: times / iterations,
            pool: latencies.0.units.of(row.class()).1.pool.clone(),
            latency: latency as f64 / times,
            on_chain: chain.adds.contains_key(&place),
            chain: chain.adds.get(&place).copied().unwrap_or(0.0),
            notes: notes(recorded, &rows, chain.stores.get(&place).copied()),
        }
    };
    all.into_iter().map(line).collect()
}

/// Events of an instruction that occur in more than one of a hundred executions.
fn notes(recorded: &Recorded, rows: &[&Kept], store: Option<u64>) -> Vec<String> {
    let share = |event: EventSet| {
        let has = |row: &&&Kept| {
            let commit = commit_of(recorded, row);
            commit.is_some_and(|commit| commit.events.has(event))
        };
        rows.iter().filter(has).count() as f64 / rows.len() as f64
    };
    let from = match store {
        Some(store) => format!("forwarded from {}", hex(store)),
        None => "forwarded".to_owned(),
    };
    let said = [
        (EventSet::FORWARDED, from.as_str()),
        (EventSet::L1D_MISS, "misses level 1"),
        (EventSet::LLC_MISS, "from memory"),
        (EventSet::DTLB_MISS, "misses the TLB"),
        (EventSet::MISPREDICTED, "mispredicted"),
    ];
    let said = said.into_iter().map(|(event, word)| (share(event), word));
    let said = said.filter(|&(share, _)| share > 0.01);
    said.map(|(share, word)| format!("{word} {:.0}%", 100.0 * share))
        .collect()
}
