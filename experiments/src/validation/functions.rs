//! Functions as both sides of a comparison know them: by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use hps_profile::Profile;
use hps_system::image::ProgramImage;

/// The functions of an image by position, and which of them are observed natively.
pub(super) struct Functions {
    image: Arc<ProgramImage>,
    /// For each function of the image the index of its name; `None`: not observed.
    observed: Vec<Option<usize>>,
    pub(super) names: Vec<String>,
    /// The function that held the last address: its range and its name.
    last: (u64, u64, Option<usize>),
}

impl Functions {
    pub(super) fn new(image: &Arc<ProgramImage>, observed: &BTreeSet<String>) -> Self {
        let names: Vec<String> = observed.iter().cloned().collect();
        let observed = image
            .symbols
            .functions()
            .iter()
            .map(|f| names.binary_search(&base_name(&f.name)).ok())
            .collect();
        Functions {
            image: Arc::clone(image),
            observed,
            names,
            last: (1, 0, None),
        }
    }

    /// The observed function that holds an address.
    #[inline]
    pub(super) fn at(&mut self, pc: u64) -> Option<usize> {
        let (from, to, name) = self.last;
        if pc >= from && pc < to {
            return name;
        }
        let index = self.image.symbols.function_index(pc)?;
        let function = &self.image.symbols.functions()[index];
        let name = self.observed[index];
        self.last = (function.addr, function.addr + function.size, name);
        name
    }

    /// A weight for each name.
    pub(super) fn profile(&self, weights: &[u64]) -> Profile<String> {
        let named = self.names.iter().cloned().zip(weights.iter().copied());
        named.collect()
    }
}

/// The function that a compiler's clone (`sort.constprop.0`, `sort.cold`) was made of.
#[must_use]
pub fn base_name(name: &str) -> String {
    let mut name = name;
    while let Some((base, last)) = name.rsplit_once('.') {
        let is_number = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
        if base.is_empty() || !(is_number || ["constprop", "isra", "part", "cold"].contains(&last))
        {
            break;
        }
        name = base;
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_have_the_name_of_their_function() {
        assert_eq!(base_name("sort.constprop.0"), "sort");
        assert_eq!(base_name("sort.isra.0.cold"), "sort");
        assert_eq!(base_name("libc.so.6"), "libc.so");
        assert_eq!(base_name("a::b(int)"), "a::b(int)");
        assert_eq!(base_name(".L1"), ".L1");
    }
}
