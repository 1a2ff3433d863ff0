//! The longest chain of results from one iteration to the next.

use std::collections::BTreeMap;

use hps_isa::inst::reg;
use rustc_hash::FxHashMap;

use super::{Latencies, Window, commit_of, is_forwarded};
use crate::recorder::{Kept, Recorded};

/// An instruction of the loop: its address, and its place in an expansion as bits.
type Place = (u64, u16);

/// The longest chain of results.
#[derive(Default)]
pub(super) struct Chain {
    /// Growth of the chain in an iteration: the sum of `adds`.
    pub cycles: f64,
    /// Cycles of an iteration that each of its instructions adds.
    pub adds: BTreeMap<Place, f64>,
    /// The address of the store from which each load got its value last, on the chain or not.
    pub stores: BTreeMap<Place, u64>,
    /// True if a value on the chain goes from a store to a load.
    through_memory: bool,
}

impl Chain {
    pub(super) fn name(&self) -> &'static str {
        match self.through_memory {
            true => "chain of results with store forwarding",
            false => "chain of results",
        }
    }
}

/// Link of a row to the row that it waits for.
struct Link {
    /// Cycle in which the row's result is there, if only results are waited for.
    finish: u64,
    /// The row whose result this row waits for longest.
    from: Option<usize>,
    /// True if the row's value comes from that row, a store.
    forwarded: bool,
}

/// Follows the results of all rows.
pub(super) fn longest(
    latencies: Latencies<'_>,
    recorded: &Recorded,
    window: &Window,
    rows: &[&Kept],
) -> Chain {
    let mut chain = Chain::default();
    let links = links(latencies, recorded, rows, &mut chain.stores);
    // The chain grows evenly once it has left the first iterations, and what hangs on it only at its end is left before a
    // few iterations back.
    let iterations = window.iterations();
    let (early, late) = (iterations / 2, iterations.saturating_sub(3));
    let last = window.place(iterations - 1)..links.len();
    let mut at = last.max_by_key(|&at| (links[at].finish, at));
    let mut upper = None;
    let mut path = Vec::new();
    let lower = loop {
        let Some(place) = at else {
            // A chain that begins within these iterations carries nothing.
            return chain;
        };
        if place < window.place(early) {
            break place;
        }
        if place < window.place(late) {
            upper = upper.or(Some(place));
            path.push(place);
        }
        at = links[place].from;
    };
    let Some(upper) = upper else { return chain };
    let grown = window.iteration(upper) - window.iteration(lower);
    if grown == 0 || links[upper].finish == links[lower].finish {
        return chain;
    }
    let mut adds: BTreeMap<Place, u64> = BTreeMap::new();
    for place in path {
        let (row, link) = (rows[place], &links[place]);
        let before = link.from.map_or(0, |from| links[from].finish);
        *adds.entry((row.pc, row.disepc.to_bits())).or_default() += link.finish - before;
        chain.through_memory |= link.forwarded;
    }
    let each = |(place, cycles): (Place, u64)| (place, cycles as f64 / grown as f64);
    chain.adds = adds.into_iter().map(each).collect();
    chain.cycles = (links[upper].finish - links[lower].finish) as f64 / grown as f64;
    chain
}

fn links(
    latencies: Latencies<'_>,
    recorded: &Recorded,
    rows: &[&Kept],
    stores: &mut BTreeMap<Place, u64>,
) -> Vec<Link> {
    let mut registers: Vec<Option<usize>> = vec![None; reg::COUNT];
    // The row of the youngest store to each byte, by blocks of eight.
    let mut stored: FxHashMap<u64, [Option<usize>; 8]> = FxHashMap::default();
    let mut links: Vec<Link> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let finish = |at: usize| links[at].finish;
        let after = |from: Option<usize>, cycles: u64| Link {
            finish: from.map_or(0, finish) + cycles,
            from,
            forwarded: false,
        };
        let sources = [row.inst.rs1, row.inst.rs2, row.inst.rs3];
        let named = sources.into_iter().filter(|&source| source != reg::ZERO);
        let producers = named.filter_map(|source| registers[usize::from(source)]);
        let latest = producers.max_by_key(|&at| (finish(at), at));
        let addr = commit_of(recorded, row).map_or(0, |commit| commit.addr);
        let forwarded = is_forwarded(recorded, row);
        let source = stored.get(&(addr / 8)).filter(|_| forwarded);
        let source = source.and_then(|bytes| bytes[(addr % 8) as usize]);
        let link = if let Some(store) = source {
            stores.insert((row.pc, row.disepc.to_bits()), rows[store].pc);
            let own = after(latest, latencies.of(row, true));
            let data = finish(store) + latencies.forwarding();
            match data >= own.finish {
                true => Link {
                    finish: data,
                    from: Some(store),
                    forwarded: true,
                },
                false => own,
            }
        } else if row.is_store() && !row.is_load() {
            // A store's data may be forwarded as soon as the data and the base of the store's address are there.
            after(latest, 0)
        } else {
            after(latest, latencies.of(row, forwarded))
        };
        links.push(link);
        if row.is_store() {
            for byte in addr..addr.saturating_add(u64::from(row.inst.op.access_bytes())) {
                stored.entry(byte / 8).or_default()[(byte % 8) as usize] = Some(at);
            }
        }
        if !matches!(row.inst.rd, reg::ZERO | reg::SINK) {
            registers[usize::from(row.inst.rd)] = Some(at);
        }
    }
    links
}
