//! Profiles at four levels: instruction, basic block, line, function. Sampled ones and the exact one are taken to
//! the same keys, so that they can be compared at each.

use hps_profile::{Profile, error_without_cut};
use hps_system::symbols::Symbols;
use rustc_hash::FxHashMap;

use super::FunctionMap;
use crate::beat::Key;
use crate::oracle::ExactProfile;

/// Granularity of a profile's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Static instructions.
    Instruction,
    /// Basic blocks, by their first address.
    Block,
    /// Source lines; instructions without one count by function.
    Line,
    /// Functions, by their entry.
    Function,
}

impl Level {
    /// All of them, the finest first.
    pub const ALL: [Level; 4] = [
        Level::Instruction,
        Level::Block,
        Level::Line,
        Level::Function,
    ];

    /// Name of the level in results and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Level::Instruction => "instruction",
            Level::Block => "block",
            Level::Line => "line",
            Level::Function => "function",
        }
    }
}

/// A member of a profile at some level, as a number: only equality counts.
pub type Member = u64;

/// The members of all instructions of a run at one level.
#[derive(Clone, Debug)]
pub struct Members {
    of: FxHashMap<Key, Member>,
}

impl Members {
    /// The members at a level.
    #[must_use]
    pub fn new(
        level: Level,
        exact: &ExactProfile,
        symbols: &Symbols,
        functions: &FunctionMap,
    ) -> Self {
        let mut keys: Vec<(Key, bool)> = exact
            .rows
            .iter()
            .map(|row| (row.of.key, row.begins_block))
            .collect();
        keys.sort_unstable();
        keys.dedup_by_key(|(key, _)| *key);
        let function = |pc| {
            functions
                .find(pc)
                .map_or(pc, |at| functions.functions()[at].entry)
        };
        let mut of = FxHashMap::default();
        let mut lines: FxHashMap<String, Member> = FxHashMap::default();
        let mut block = 0;
        for (at, &(key, begins_block)) in keys.iter().enumerate() {
            let member = match level {
                Level::Instruction => at as Member,
                Level::Block => {
                    if begins_block || at == 0 {
                        block = key.pc;
                    }
                    block
                }
                Level::Function => function(key.pc),
                Level::Line => {
                    let line = symbols
                        .source_line(key.pc)
                        .unwrap_or_else(|| format!("{:#x}", function(key.pc)));
                    let next = lines.len() as Member;
                    *lines.entry(line).or_insert(next)
                }
            };
            of.insert(key, member);
        }
        Members { of }
    }

    /// The member of an instruction; one that did not run is a member of its own.
    #[must_use]
    pub fn of(&self, key: Key) -> Member {
        let elsewhere = || u64::MAX ^ key.pc;
        self.of.get(&key).copied().unwrap_or_else(elsewhere)
    }

    /// Weights by instruction as a profile over the members.
    #[must_use]
    pub fn profile(&self, weights: impl Iterator<Item = (Key, u64)>) -> Profile<Member> {
        weights.map(|(key, units)| (self.of(key), units)).collect()
    }
}

/// The exact profile of a run at every level, to hold other profiles against.
#[derive(Clone, Debug)]
pub struct Levels {
    all: Vec<(Level, Members, Profile<Member>)>,
}

impl Levels {
    /// The exact profile at the levels of [`Level::ALL`].
    #[must_use]
    pub fn new(exact: &ExactProfile, symbols: &Symbols, functions: &FunctionMap) -> Self {
        let at = |level| {
            let members = Members::new(level, exact, symbols, functions);
            let profile = members.profile(exact.weights());
            (level, members, profile)
        };
        Levels {
            all: Level::ALL.map(at).into(),
        }
    }

    /// The exact profile at a level, in units.
    #[must_use]
    pub fn exact(&self, level: Level) -> &Profile<Member> {
        &self.all[level as usize].2
    }

    /// Weights by instruction as a profile over the members of a level.
    #[must_use]
    pub fn profile(
        &self,
        level: Level,
        weights: impl Iterator<Item = (Key, u64)>,
    ) -> Profile<Member> {
        self.all[level as usize].1.profile(weights)
    }

    /// `1 - overlap` of weights by instruction with the exact profile, at each level: the share of time that goes to
    /// the wrong member.
    pub fn errors(&self, weights: impl Iterator<Item = (Key, u64)> + Clone) -> Vec<(Level, f64)> {
        let errors = self.all.iter().map(|(level, members, exact)| {
            let found = members.profile(weights.clone());
            (*level, error_without_cut(&found, exact))
        });
        errors.collect()
    }
}
