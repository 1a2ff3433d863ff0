//! The steady state of a loop: cycles of an iteration, and what limits it.
//!
//! Bounds are what each resource alone would allow, of the instructions as they ran: widths, groups of fetch, pools of
//! units, and the longest chain of results from one iteration to the next, with the latencies that were measured.

use std::collections::BTreeMap;

use hps_lab::{Lab, Program};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Cause, EventSet};
use hps_sim_core::inst::{OpClass, reg};
use rustc_hash::FxHashMap;

use crate::protocol::{Analysis, AnalyzedLine, Bound, Limits, Problem, hex};
use crate::recorder::{Kept, Recorded, Recorder};

/// Iterations that a steady state takes at least.
const FEWEST: usize = 8;
/// Most instructions whose dependences are followed.
const MOST: usize = 50_000;
/// How far beyond its largest bound a loop may be and still be limited by it.
const NEAR: f64 = 1.1;

/// Runs a program up to a limit of instructions and analyzes its hottest loop.
///
/// # Errors
/// What cannot be run; a program without a loop that goes round often enough.
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
    let chain = chain(machine, recorded, &window, &rows);
    let mut bounds = width_bounds(machine, &window, recorded, &rows);
    bounds.push(Bound {
        name: "chain of results".to_owned(),
        cycles: chain.cycles,
    });
    bounds.sort_by(|a, b| b.cycles.total_cmp(&a.cycles).then(a.name.cmp(&b.name)));
    let cycles = window.cycles(recorded) as f64 / window.iterations() as f64;
    let largest = &bounds[0];
    let limited_by = match cycles <= largest.cycles * NEAR + 0.05 {
        true => largest.name.clone(),
        false => window
            .mostly_lost_to(recorded)
            .unwrap_or_else(|| largest.name.clone()),
    };
    Ok(Analysis {
        head: hex(window.head),
        iterations: window.iterations() as u64,
        instructions: (window.last - window.first) as f64 / window.iterations() as f64,
        cycles,
        limited_by,
        lines: lines(program, machine, &window, &rows, &chain),
        bounds,
    })
}

/// The part of a run that is analyzed: whole iterations, the later half of all.
struct Window {
    head: u64,
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
        let hottest = taken.into_iter().max_by_key(|&(head, count)| (count, head));
        let head = hottest
            .filter(|&(_, count)| count >= 2 * FEWEST)
            .map(|(head, _)| head)
            .ok_or_else(|| {
                let problem = "no loop goes round often enough: a steady state takes 16 iterations";
                Problem::new(problem)
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

    /// The cause to which most cycles without a commit went.
    fn mostly_lost_to(&self, recorded: &Recorded) -> Option<String> {
        let (from, to) = self.span(recorded);
        let mut lost: BTreeMap<&'static str, u64> = BTreeMap::new();
        for idle in recorded.idle(0, from..to) {
            let cycles = idle.end.min(to).saturating_sub(idle.first.max(from));
            let cause = idle.state.cause();
            if cycles > 0 && cause != Cause::Execute {
                *lost.entry(cause.name()).or_default() += cycles;
            }
        }
        let most = lost.into_iter().max_by_key(|&(_, cycles)| cycles)?;
        Some(most.0.to_owned())
    }
}

/// What widths and units allow.
fn width_bounds(
    machine: &MachineConfig,
    window: &Window,
    recorded: &Recorded,
    rows: &[&Kept],
) -> Vec<Bound> {
    let iterations = window.iterations() as f64;
    let instructions = rows.len() as f64 / iterations;
    let widths = [
        ("fetch width", machine.fetch.fetch_width_insts),
        ("decode width", machine.decode.decode_width),
        ("dispatch width", machine.window.dispatch_width),
        ("issue width", machine.issue.issue_width),
        ("commit width", machine.window.commit_width),
    ];
    let (name, width) = widths
        .into_iter()
        .min_by_key(|(_, width)| *width)
        .unwrap_or(("commit width", 1));
    let mut bounds = vec![Bound {
        name: name.to_owned(),
        cycles: instructions / f64::from(width),
    }];
    bounds.push(Bound {
        name: "fetch groups".to_owned(),
        cycles: fetch_groups(machine, recorded, window) as f64 / iterations,
    });
    let mut pools: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let (_, unit) = machine.units.of(row.class());
        *pools.entry(&unit.pool).or_default() += u64::from(unit.interval_cycles);
    }
    for (pool, busy) in pools {
        let units = machine.units.pools.0.get(pool).copied().unwrap_or(1);
        bounds.push(Bound {
            name: format!("units {pool}"),
            cycles: busy as f64 / iterations / f64::from(units.max(1)),
        });
    }
    bounds
}

/// How many groups the instructions of the program are fetched in, without a miss: a group ends where a block of
/// code ends, at its width, and at its last taken branch.
fn fetch_groups(machine: &MachineConfig, recorded: &Recorded, window: &Window) -> u64 {
    let fetch = &machine.fetch;
    let block = u64::from(fetch.fetch_block_bytes.max(1));
    let mut groups = 0;
    let (mut instructions, mut taken, mut at) = (0, 0, None);
    for commit in &recorded.commits[window.first..window.last] {
        if !commit.is_program {
            continue;
        }
        let goes_on = at == Some(commit.pc / block)
            && instructions < fetch.fetch_width_insts
            && taken < fetch.taken_branches_per_cycle;
        if !goes_on {
            groups += 1;
            (instructions, taken) = (0, 0);
        }
        instructions += 1;
        taken += u32::from(commit.taken);
        at = match commit.taken {
            true => Some(commit.target / block),
            false => Some(commit.pc / block),
        };
    }
    groups
}

/// The longest chain of results.
struct Chain {
    /// By how much it grows in an iteration.
    cycles: f64,
    /// Addresses of its instructions.
    pcs: Vec<u64>,
}

fn chain(machine: &MachineConfig, recorded: &Recorded, window: &Window, rows: &[&Kept]) -> Chain {
    let before = u64::from(machine.issue.issue_to_execute_cycles);
    let forward = u64::from(machine.speculation.store_forward_latency_cycles);
    let mut registers: Vec<Option<usize>> = vec![None; reg::COUNT];
    let mut stored: FxHashMap<u64, usize> = FxHashMap::default();
    let mut finish: Vec<u64> = Vec::with_capacity(rows.len());
    let mut from: Vec<Option<usize>> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let sources = [row.inst.rs1, row.inst.rs2, row.inst.rs3];
        let named = sources.into_iter().filter(|&r| r != reg::ZERO);
        let all = named.filter_map(|r| registers[usize::from(r)]);
        let latest = all.max_by_key(|&at| (finish[at], at));
        let start = latest.map_or(0, |at| finish[at]);
        let commit = row.commit.and_then(|at| recorded.commits.get(at as usize));
        let (addr, forwarded) = commit.map_or((0, false), |commit| {
            (commit.addr, commit.events.has(EventSet::FORWARDED))
        });
        let source = stored
            .get(&(addr / 8))
            .copied()
            .filter(|_| row.is_load() && forwarded);
        let (latest, end) = match source {
            // The load waits for the data of the store, however early it has issued.
            Some(store) => {
                let (own, data) = (start + 1 + forward, finish[store] + forward);
                if data >= own {
                    (Some(store), data)
                } else {
                    (latest, own)
                }
            }
            // A store has its data as soon as its operands are there.
            None if row.is_store() => (latest, start),
            None => {
                let took = row.complete.saturating_sub(row.issue);
                (latest, start + took.saturating_sub(before).max(1))
            }
        };
        finish.push(end);
        from.push(latest);
        if row.is_store() {
            stored.insert(addr / 8, at);
        }
        if !matches!(row.inst.rd, reg::ZERO | reg::SINK) {
            registers[usize::from(row.inst.rd)] = Some(at);
        }
    }
    // The chain grows evenly once it has left the first iterations.
    let place = |iteration: usize| window.starts[iteration] - window.first;
    let highest = |from: usize, to: usize| {
        let to = to.min(finish.len());
        let part = finish.get(from..to).unwrap_or(&[]).iter().enumerate();
        part.max_by_key(|&(_, at)| *at)
            .map(|(at, &height)| (from + at, height))
    };
    let (middle, end) = (window.iterations() / 2, window.iterations());
    let early = highest(place(middle.saturating_sub(1)), place(middle));
    let late = highest(place(end - 1), place(end));
    let (Some((_, early)), Some((top, late))) = (early, late) else {
        return Chain {
            cycles: 0.0,
            pcs: Vec::new(),
        };
    };
    let cycles = late.saturating_sub(early) as f64 / (end - middle).max(1) as f64;
    let mut pcs = Vec::new();
    let mut at = Some(top);
    // What hangs on the chain only at its end is left before a few iterations back.
    let settled = place(end.saturating_sub(3));
    while let Some(place) = at {
        if place < settled {
            pcs.push(rows[place].pc);
        }
        at = from[place];
    }
    pcs.sort_unstable();
    pcs.dedup();
    if cycles == 0.0 {
        pcs.clear();
    }
    Chain { cycles, pcs }
}

/// The instructions of the loop in ascending order of address.
fn lines(
    program: &Program,
    machine: &MachineConfig,
    window: &Window,
    rows: &[&Kept],
    chain: &Chain,
) -> Vec<AnalyzedLine> {
    let isa = program.image.isa;
    let mut all: BTreeMap<(u64, u16), (Vec<&Kept>, u64)> = BTreeMap::new();
    for row in rows {
        let one = all.entry((row.pc, row.disepc.to_bits())).or_default();
        one.0.push(row);
        one.1 += row.complete.saturating_sub(row.issue);
    }
    let iterations = window.iterations() as f64;
    all.into_values()
        .map(|(rows, latency)| {
            let row = rows[0];
            AnalyzedLine {
                pc: hex(row.pc),
                text: isa.disassemble(&row.inst, row.pc),
                times: rows.len() as f64 / iterations,
                pool: machine.units.of(row.class()).1.pool.clone(),
                latency: latency as f64 / rows.len() as f64,
                on_chain: chain.pcs.binary_search(&row.pc).is_ok(),
            }
        })
        .collect()
}
