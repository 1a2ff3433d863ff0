//! Contents of predictor tables, for observers.

use super::counters::Counters;
use super::direction::Direction;
use super::path::PredictedPath;
use super::ras::Ras;
use super::tables::BranchTables;
use super::targets::{Btb, TargetCache};
use crate::contents::{Contents, Held, Selector};

impl BranchTables {
    /// The tables of the direction predictor, the branch target buffer and the target cache.
    #[must_use]
    pub fn contents(&self) -> Vec<Contents> {
        let mut all = Vec::new();
        match &self.direction {
            Direction::Always(_) => {}
            Direction::Tournament(p) => all.extend(p.contents()),
            Direction::Other(p) => all.extend(p.contents()),
        }
        all.extend(targets(&self.btb));
        all.extend(self.indirect.as_ref().map(indirect));
        all
    }
}

impl PredictedPath {
    /// The return address stack; `None` if there is none.
    #[must_use]
    pub fn returns(&self) -> Option<Contents> {
        let stack: &Ras = &self.ras;
        let entries = stack.held().map(|(address, is_top)| match address {
            0 => Held::Nothing,
            _ => Held::Return { address, is_top },
        });
        let one = single("returns", entries.collect());
        stack.exists().then_some(one)
    }

    /// Directions of the last conditional branches, the newest in bit 0.
    #[must_use]
    pub fn directions(&self) -> u64 {
        self.history.state.global
    }
}

/// A table with one entry a set.
pub(super) fn column(name: &'static str, entries: Vec<Held>) -> Contents {
    Contents {
        name,
        sets: entries.len(),
        ways: 1,
        selected_by: Selector::Other,
        by_use: false,
        entries,
    }
}

/// A table of one set.
fn single(name: &'static str, entries: Vec<Held>) -> Contents {
    Contents {
        sets: 1,
        ways: entries.len(),
        ..column(name, entries)
    }
}

pub(super) fn counters(counters: &Counters, name: &'static str) -> Contents {
    let (values, most) = counters.values();
    let entries = values.iter().map(|&value| Held::Counter { value, most });
    column(name, entries.collect())
}

/// Counters that the address of a branch alone selects.
pub(super) fn by_branch(of: &Counters, name: &'static str) -> Contents {
    Contents {
        selected_by: Selector::Branch,
        ..counters(of, name)
    }
}

fn targets(btb: &Btb) -> Option<Contents> {
    let (sets, ways) = btb.shape()?;
    let entries = btb.held().take(sets * ways).map(|known| match known {
        None => Held::Nothing,
        Some((tag, target)) => Held::Target { tag, target },
    });
    Some(Contents {
        name: "btb",
        sets,
        ways,
        selected_by: Selector::Branch,
        by_use: true,
        entries: entries.collect(),
    })
}

fn indirect(cache: &TargetCache) -> Contents {
    let entries = cache.held().map(|known| match known {
        None => Held::Nothing,
        Some((tag, target)) => Held::Target { tag, target },
    });
    column("indirect_targets", entries.collect())
}
