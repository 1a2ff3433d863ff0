//! How the caches of several cores agree on a line: rule 12 of [`super`].
//!
//! For each line that a core has there is one note of who has it: the state that a directory keeps, and that snooping
//! would find. A core asks here before it reads or writes what it does not have, or has not alone. What that means for
//! other cores is a message to each of them, which it obeys before its next access.
//!
//! A line has one transfer at a time. An answer is given behind the end of the transfer before it, when the line is where
//! that one has sent it, so that requests for one line form a queue in the order in which they are made.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::calendar::Calendar;
use super::stats::CoherenceStats;
use super::transactions::{Copies, Journal, Transaction, TransactionKind};
use super::{CoreId, Level};
use crate::config::{ChipConfig, Coherence};

/// Purpose for which a core wants a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Instructions. Level 1 instruction caches do not take part, as both architectures have it.
    Fetch,
    /// To read.
    Read,
    /// To write.
    Write,
}

/// A core's duty to a line since another one wants it, or since its level 2 cache has dropped it. A core that has changed
/// the line may still store into it before the cycle `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// The core keeps the line, which memory has from now on, too.
    Keep { until: u64 },
    /// Another core writes.
    Drop { until: u64 },
    /// The line has left the level 2 cache.
    Leave,
}

/// Who has a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Holders {
    /// A bit for each core that may have it.
    cores: u64,
    /// The only core may write it.
    is_exclusive: bool,
    /// That core has written it.
    is_changed: bool,
    /// The cycle from which on it may go to another core: it is where its last transfer has brought it.
    settled: u64,
    /// The cycle from which on all copies are there that cores read.
    copied: u64,
}

impl From<Holders> for Copies {
    fn from(holders: Holders) -> Self {
        Copies {
            cores: holders.cores,
            is_exclusive: holders.is_exclusive && holders.cores != 0,
            is_changed: holders.is_changed,
        }
    }
}

impl Holders {
    /// The cycle from which on others may have the line.
    fn free_for(&self, want: Want) -> u64 {
        match want {
            Want::Write => self.settled.max(self.copied),
            Want::Fetch | Want::Read => self.settled,
        }
    }
}

/// Answer to a core that asks for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The cycle of the answer.
    pub cycle: u64,
    /// The shared levels have the line from this cycle on, if they send it.
    pub shared_from: u64,
    /// Another core sends the line.
    pub from_core: bool,
    /// That core's line was changed, and goes to the shared levels as well.
    pub write_back: bool,
    /// Cores that have lost the line, as bits.
    pub losers: u64,
}

/// The notes about all lines, and the messages on their way.
#[derive(Clone, Debug)]
pub(super) struct CoherenceState {
    lines: FxHashMap<u64, Holders>,
    /// Lines that no core has any more, with the cycle in which they are where they went.
    vacated: VecDeque<(u64, u64)>,
    orders: Box<[Vec<(u64, Order)>]>,
    protocol: Coherence,
    transfer_cycles: u64,
    keep_cycles: u64,
    invalidate_cycles: u64,
    snoop_bus_cycles: u64,
    snoop_bus: Calendar,
    stats: Box<[CoherenceStats]>,
    /// Transactions one by one, if somebody watches.
    pub(super) journal: Option<Box<Journal>>,
}

hps_isa::save_state! {
    CoherenceState {
        lines, vacated, orders, protocol: skip, transfer_cycles: skip, keep_cycles: skip,
        invalidate_cycles: skip, snoop_bus_cycles: skip, snoop_bus, stats, journal: skip,
    }
}

fn bit(core: CoreId) -> u64 {
    1 << core.0
}

/// The cores of a set of bits.
pub(super) fn cores_of(mut bits: u64) -> impl Iterator<Item = CoreId> {
    std::iter::from_fn(move || {
        let core = (bits != 0).then(|| CoreId(bits.trailing_zeros() as u16));
        bits &= bits.wrapping_sub(1);
        core
    })
}

impl CoherenceState {
    /// Nobody has anything.
    pub fn new(chip: &ChipConfig, cores: usize) -> CoherenceState {
        CoherenceState {
            lines: FxHashMap::default(),
            vacated: VecDeque::new(),
            orders: vec![Vec::new(); cores].into_boxed_slice(),
            protocol: chip.coherence.clone(),
            transfer_cycles: u64::from(chip.transfer_cycles),
            keep_cycles: u64::from(chip.keep_cycles),
            invalidate_cycles: u64::from(chip.invalidate_cycles),
            snoop_bus_cycles: u64::from(chip.snoop_bus_cycles),
            snoop_bus: Calendar::new(),
            stats: vec![CoherenceStats::default(); cores].into_boxed_slice(),
            journal: None,
        }
    }

    pub fn stats_of(&self, core: CoreId) -> &CoherenceStats {
        &self.stats[usize::from(core.0)]
    }

    fn count(&mut self, core: CoreId) -> &mut CoherenceStats {
        &mut self.stats[usize::from(core.0)]
    }

    fn tell(&mut self, core: CoreId, line: u64, order: Order) {
        self.orders[usize::from(core.0)].push((line, order));
    }

    /// A core asks for a line in cycle `at`. What ended before `past` does not matter any more.
    pub fn ask(&mut self, core: CoreId, past: u64, at: u64, line: u64, want: Want) -> Answer {
        let asked = match self.protocol {
            Coherence::Directory => at,
            Coherence::Snooping => {
                let bus = &mut self.snoop_bus;
                bus.book(past, at, self.snoop_bus_cycles) + self.snoop_bus_cycles
            }
        };
        let before = self.lines.get(&line).copied().unwrap_or_default();
        let others = before.cores & !bit(core);
        let writes = want == Want::Write;
        let shared_from = before.free_for(want);
        let start = asked.max(shared_from);
        self.count(core).queue_cycles += start - asked;
        let until = start + self.keep_cycles;
        let mut answer = Answer {
            cycle: start,
            shared_from,
            from_core: false,
            write_back: false,
            losers: 0,
        };
        let mut after = Holders {
            cores: before.cores | bit(core),
            is_exclusive: others == 0,
            is_changed: writes || others == 0 && before.is_changed,
            ..before
        };
        if others != 0 && before.is_exclusive {
            answer.cycle += self.transfer_cycles;
            after.settled = answer.cycle;
            answer.from_core = true;
            answer.write_back = before.is_changed && !writes;
            let stats = self.count(core);
            stats.transfer_events += 1;
            stats.changed_transfer_events += u64::from(before.is_changed);
        } else if others != 0 && writes {
            answer.cycle += self.invalidate_cycles;
        }
        if writes {
            answer.losers = others;
            after = Holders {
                cores: bit(core),
                is_exclusive: true,
                is_changed: true,
                settled: answer.cycle,
                copied: 0,
            };
            for other in cores_of(others) {
                self.count(other).invalidation_events += 1;
                self.tell(other, line, Order::Drop { until });
            }
        } else if before.is_exclusive {
            for other in cores_of(others) {
                self.count(other).downgrade_events += 1;
                self.tell(other, line, Order::Keep { until });
            }
        }
        self.lines.insert(line, after);
        if let Some(journal) = &mut self.journal {
            journal.note(Transaction {
                address: line,
                core,
                kind: want.into(),
                asked_cycle: at,
                granted_cycle: asked,
                started_cycle: start,
                answered_cycle: answer.cycle,
                arrived_cycle: None,
                source: None,
                owner: cores_of(others).next().filter(|_| answer.from_core),
                is_written_back: answer.write_back,
                losers: answer.losers,
                kept_until_cycle: until,
                before: before.into(),
                after: after.into(),
            });
        }
        answer
    }

    /// A core that has asked for a line has it from a cycle on. `source`: where it comes from; `None` if the core had it
    /// and may write it now.
    pub fn arrives(&mut self, core: CoreId, line: u64, cycle: u64, source: Option<Level>) {
        if let Some(journal) = &mut self.journal {
            journal.arrives(core, line, cycle, source);
        }
        if let Some(holders) = self.lines.get_mut(&line)
            && holders.cores & bit(core) != 0
        {
            let there = match holders.is_exclusive {
                true => &mut holders.settled,
                false => &mut holders.copied,
            };
            *there = cycle.max(*there);
        }
    }

    /// The shared levels have a line from a cycle on that a core keeps.
    pub fn is_written(&mut self, line: u64, cycle: u64) {
        if let Some(holders) = self.lines.get_mut(&line) {
            holders.settled = holders.settled.max(cycle);
        }
    }

    /// Whether a core may have a line.
    pub fn may_have(&self, core: CoreId, line: u64) -> bool {
        let holders = self.lines.get(&line);
        holders.is_some_and(|holders| holders.cores & bit(core) != 0)
    }

    /// A core begins to write a line in a cycle. False: it has to ask first.
    pub fn change(&mut self, core: CoreId, line: u64, now: u64) -> bool {
        match self.lines.get_mut(&line) {
            Some(holders) if holders.is_exclusive && holders.cores == bit(core) => {
                let before = *holders;
                holders.is_changed = true;
                if let Some(journal) = &mut self.journal
                    && !before.is_changed
                {
                    let states = (before.into(), (*holders).into());
                    journal.note_quiet((core, line), TransactionKind::Change, now, states);
                }
                true
            }
            _ => false,
        }
    }

    /// A core writes a line that it has to share: counts.
    pub fn count_upgrade(&mut self, core: CoreId) {
        self.count(core).upgrade_events += 1;
    }

    /// A core does not have a line any more, which is where it went in cycle `there`. What ended before `past` does not
    /// matter any more.
    pub fn leave(&mut self, core: CoreId, line: u64, past: u64, there: u64) {
        if let Some(journal) = &mut self.journal
            && let Some(holders) = self.lines.get(&line)
            && holders.cores & bit(core) != 0
        {
            let after = Holders {
                cores: holders.cores & !bit(core),
                ..*holders
            };
            let states = ((*holders).into(), after.into());
            journal.note_quiet((core, line), TransactionKind::Drop, past, states);
        }
        self.forget(core, line, past, there);
    }

    /// A core's caches do not have a line that it has asked for: the end of [`leave`](Self::leave).
    pub fn forget(&mut self, core: CoreId, line: u64, past: u64, there: u64) {
        if let Some(journal) = &mut self.journal {
            journal.forgets(core, line);
        }
        let Some(holders) = self.lines.get_mut(&line) else {
            return;
        };
        holders.cores &= !bit(core);
        if holders.cores != 0 {
            return;
        }
        let settled = holders.free_for(Want::Write).max(there);
        if settled <= past {
            self.lines.remove(&line);
            return;
        }
        *holders = Holders {
            settled,
            ..Holders::default()
        };
        self.vacated.push_back((settled, line));
        while let Some((cycle, line)) = self.vacated.front().copied()
            && cycle <= past
        {
            self.vacated.pop_front();
            let holders = self.lines.get(&line);
            if holders.is_some_and(|h| h.cores == 0 && h.settled <= past) {
                self.lines.remove(&line);
            }
        }
    }

    /// A level 2 cache has dropped a line, which is where it went in cycle `there`: the first-level caches of those cores
    /// that may have it do, too. `whose`: that of one core, or the shared one.
    pub fn leave_level2(&mut self, whose: Option<CoreId>, line: u64, past: u64, there: u64) {
        let Some(holders) = self.lines.get(&line) else {
            return;
        };
        let leaving = holders.cores & whose.map_or(u64::MAX, bit);
        for core in cores_of(leaving) {
            self.tell(core, line, Order::Leave);
            self.leave(core, line, past, there);
        }
    }

    /// Whether messages wait for a core.
    #[inline]
    pub fn has_orders(&self, core: CoreId) -> bool {
        !self.orders[usize::from(core.0)].is_empty()
    }

    /// The messages to a core, in their order. What it gives back keeps its room.
    pub fn take_orders(&mut self, core: CoreId) -> Vec<(u64, Order)> {
        std::mem::take(&mut self.orders[usize::from(core.0)])
    }

    /// Gives back the emptied list of messages to a core.
    pub fn give_back(&mut self, core: CoreId, mut orders: Vec<(u64, Order)>) {
        orders.clear();
        self.orders[usize::from(core.0)] = orders;
    }

    /// Whether a core that may have a line may write it, too.
    #[cfg(test)]
    pub fn may_write(&self, core: CoreId, line: u64) -> bool {
        let is_exclusive = self.lines.get(&line).is_some_and(|h| h.is_exclusive);
        is_exclusive && self.may_have(core, line)
    }
}
