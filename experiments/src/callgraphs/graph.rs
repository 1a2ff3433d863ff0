//! Call graphs, and how far one is another.

use hps_profile::{CallPair, Profile, overlap_without_cut};
use hps_system::image::ProgramImage;

/// An edge between functions, by their places in the list of symbols; [`ELSEWHERE`] for code without one.
type Edge = (usize, usize);

/// Code that belongs to no function.
const ELSEWHERE: usize = usize::MAX;

/// A program's functions.
#[derive(Clone, Copy)]
pub struct Functions<'a>(pub &'a ProgramImage);

impl Functions<'_> {
    /// The function at an address.
    pub fn at(self, addr: u64) -> usize {
        self.0.symbols.function_index(addr).unwrap_or(ELSEWHERE)
    }

    /// The edge from the function of one address to that of another.
    pub fn edge(self, (caller, callee): (u64, u64)) -> Edge {
        (self.at(caller), self.at(callee))
    }
}

/// Every call of a run.
pub struct Complete {
    /// By function.
    pub by_function: Profile<Edge>,
    /// By call site and target.
    pub by_site: Profile<CallPair>,
}

impl Complete {
    /// Of calls by site and target.
    pub fn new(
        functions: Functions<'_>,
        calls: impl IntoIterator<Item = ((u64, u64), u64)>,
    ) -> Self {
        let (mut by_function, mut by_site) = (Profile::new(), Profile::new());
        for ((site, target), count) in calls {
            by_function.add(functions.edge((site, target)), count);
            by_site.add(CallPair { site, target }, count);
        }
        Complete {
            by_function,
            by_site,
        }
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.by_site.total()
    }
}

/// A graph as a profiler found it.
#[derive(Default)]
pub struct Found {
    /// By function.
    pub by_function: Profile<Edge>,
    /// By call site and target, if it knows sites.
    pub by_site: Option<Profile<CallPair>>,
}

impl Found {
    /// Of a profiler that knows sites.
    pub fn by_site(functions: Functions<'_>, pairs: Profile<CallPair>) -> Found {
        let mut by_function = Profile::new();
        for (pair, count) in pairs.iter() {
            by_function.add(functions.edge((pair.site, pair.target)), count);
        }
        Found {
            by_function,
            by_site: Some(pairs),
        }
    }

    /// Accuracy by function and by call site, 0 to 1; without any call it is 0.
    pub fn accuracy(&self, complete: &Complete) -> (f64, Option<f64>) {
        let overlap = |is_empty: bool, of: &dyn Fn() -> f64| if is_empty { 0.0 } else { of() };
        let by_function = overlap(self.by_function.total() == 0, &|| {
            overlap_without_cut(&self.by_function, &complete.by_function)
        });
        let by_site = self.by_site.as_ref().map(|pairs| {
            overlap(pairs.total() == 0, &|| {
                overlap_without_cut(pairs, &complete.by_site)
            })
        });
        (by_function, by_site)
    }

    /// The share of the weight on edges that the complete graph does not have.
    pub fn invalid(&self, complete: &Complete) -> f64 {
        let is_there = |edge: &Edge| complete.by_function.weight(edge) > 0;
        let invalid = self.by_function.iter().filter(|(edge, _)| !is_there(edge));
        let weight: u64 = invalid.map(|(_, count)| count).sum();
        weight as f64 / self.by_function.total().max(1) as f64
    }
}
