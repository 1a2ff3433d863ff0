//! Replacement policies: which line of a set makes room.
//!
//! Least recently used is the order of the slots in [`Tags`](super::tags::Tags), and needs no policy. Every other one is a
//! file here with a [`ReplacementPolicy`].

mod plru;
mod random;
mod rrip;
mod ship;

use std::fmt::Debug;

use hps_isa::state::SaveState;

use crate::config::Replacement;

/// Kind of a request for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memsys) enum RequestKind {
    /// The instruction fetch.
    Fetch,
    /// A load.
    #[default]
    Load,
    /// A store or an atomic.
    Store,
    /// A prefetcher.
    Prefetch,
    /// A cache above that gives back a changed line.
    WriteBack,
    /// A translation.
    Translation,
}

/// Who asks for a line, for policies that learn from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memsys) struct Requester {
    /// Address of the instruction; 0 if nobody has told.
    pub instruction: u64,
    pub kind: RequestKind,
}

impl Requester {
    /// A cache above.
    pub const WRITE_BACK: Requester = Requester {
        instruction: 0,
        kind: RequestKind::WriteBack,
    };
    /// A translation.
    pub const TRANSLATION: Requester = Requester {
        instruction: 0,
        kind: RequestKind::Translation,
    };
}

/// A replacement policy of one cache. It keeps its own state of sets and ways.
pub(in crate::memsys) trait ReplacementPolicy:
    SaveState + Debug + Send + Sync
{
    /// The cache has found a line.
    fn hit(&mut self, set: usize, way: usize, line: u64, by: Requester);

    /// A line that missed has come into a way.
    fn fill(&mut self, set: usize, way: usize, line: u64, by: Requester);

    /// The way that makes room, among those that `may_go`. `None` if none may. Every way holds a line.
    fn victim(&mut self, set: usize, may_go: &dyn Fn(usize) -> bool) -> Option<usize>;

    /// The line of a way is gone: it made room, or was taken away.
    fn leave(&mut self, _set: usize, _way: usize) {}

    /// All lines are gone.
    fn clear(&mut self) {}

    /// A copy.
    fn duplicate(&self) -> Box<dyn ReplacementPolicy>;
}

impl Clone for Box<dyn ReplacementPolicy> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

/// The policy of a cache; `None` is the least recently used.
pub(in crate::memsys) fn policy(
    config: &Replacement,
    sets: usize,
    ways: usize,
) -> Option<Box<dyn ReplacementPolicy>> {
    Some(match config {
        Replacement::Lru => return None,
        Replacement::Random => Box::new(random::Random::new(ways)),
        Replacement::Plru => Box::new(plru::Plru::new(sets, ways)),
        Replacement::Srrip(config) => Box::new(rrip::Rrip::fixed(config, sets, ways)),
        Replacement::Ship(config) => Box::new(ship::Ship::new(config, sets, ways)),
        Replacement::Drrip(config) => Box::new(rrip::Rrip::dynamic(config, sets, ways)),
    })
}
