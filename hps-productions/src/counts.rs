//! Events by address, and methods made of them.

use hps_profile::{Method, Profile};
use hps_system::symbols::SymbolTable;
use rustc_hash::FxHashMap;

/// Events by address, as the hot method handler counts them: for a call the address that is called,
/// for a back-edge the target of the branch (the head of the loop).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressCounts {
    counts: FxHashMap<u64, u64>,
}

impl AddressCounts {
    /// Adds `count` events at `address`.
    pub fn add(&mut self, address: u64, count: u64) {
        if count > 0 {
            *self.counts.entry(address).or_insert(0) += count;
        }
    }

    /// Adds all events of another set of counts.
    pub fn merge(&mut self, other: &Self) {
        for (&address, &count) in &other.counts {
            self.add(address, count);
        }
    }

    /// Events at `address`.
    #[must_use]
    pub fn get(&self, address: u64) -> u64 {
        self.counts.get(&address).copied().unwrap_or(0)
    }

    /// Events at all addresses.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Number of addresses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Addresses and their events, in ascending order of address.
    #[must_use]
    pub fn sorted(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<_> = self
            .counts
            .iter()
            .map(|(&address, &count)| (address, count))
            .collect();
        all.sort_unstable();
        all
    }

    /// The hot method profile: `entry` gives for any address the entry of the method that holds it
    /// (see [`MethodMap`]).
    #[must_use]
    pub fn methods(&self, entry: impl Fn(u64) -> u64) -> Profile<Method> {
        self.counts
            .iter()
            .map(|(&address, &count)| (Method(entry(address)), count))
            .collect()
    }
}

impl FromIterator<(u64, u64)> for AddressCounts {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(counts: I) -> Self {
        let mut all = AddressCounts::default();
        for (address, count) in counts {
            all.add(address, count);
        }
        all
    }
}

/// Which method an address belongs to: the function of the symbol table, and where that has none
/// the nearest lower address that was ever called.
#[derive(Clone, Debug, Default)]
pub struct MethodMap {
    /// Start and end of each function, ascending.
    functions: Vec<(u64, u64)>,
    /// Ascending.
    called: Vec<u64>,
}

impl MethodMap {
    /// From the symbols of a program and the targets of calls in an exhaustive profile.
    #[must_use]
    pub fn new(symbols: &SymbolTable, called: impl IntoIterator<Item = u64>) -> Self {
        let functions = symbols
            .functions()
            .iter()
            .map(|f| (f.addr, f.addr + f.size))
            .collect();
        let mut called: Vec<u64> = called.into_iter().collect();
        called.sort_unstable();
        called.dedup();
        MethodMap { functions, called }
    }

    /// The entry of the method that holds `address`; the address itself if nothing is known.
    #[must_use]
    pub fn entry(&self, address: u64) -> u64 {
        let after = self
            .functions
            .partition_point(|&(start, _)| start <= address);
        if let Some(&(start, end)) = after.checked_sub(1).and_then(|at| self.functions.get(at))
            && address < end
        {
            return start;
        }
        let after = self.called.partition_point(|&start| start <= address);
        after.checked_sub(1).map_or(address, |at| self.called[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_methods() {
        let map = MethodMap {
            functions: vec![(100, 150), (200, 210)],
            called: vec![100, 160, 300],
        };
        let entries = [
            (99, 99),
            (100, 100),
            (149, 100),
            (155, 100),
            (170, 160),
            (205, 200),
            (210, 160),
            (999, 300),
        ];
        for (address, entry) in entries {
            assert_eq!(map.entry(address), entry, "{address}");
        }
        let counts: AddressCounts = [(100, 3), (120, 4), (205, 1), (7, 0)].into_iter().collect();
        let methods = counts.methods(|a| map.entry(a));
        assert_eq!(
            (
                methods.weight(&Method(100)),
                methods.weight(&Method(200)),
                methods.len()
            ),
            (7, 1, 2)
        );
        assert_eq!((counts.total(), counts.len()), (8, 3));
    }
}
