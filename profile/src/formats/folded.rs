//! Folded stacks: `outer;inner weight`, a line for each stack of functions.
//!
//! The main column alone; stacks whose value rounds to 0 are left out. A semicolon in a name becomes
//! a colon. Heaviest first, equal weights by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::stack::names;
use crate::symbolized::SymbolizedProfile;

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let rounded = profile.rounded();
    let mut stacks: BTreeMap<String, u128> = BTreeMap::new();
    for (sample, &value) in profile.samples().iter().zip(rounded.column(0)) {
        if value > 0 {
            let names = names(profile, sample);
            let names: Vec<String> = names.iter().map(|name| name.replace(';', ":")).collect();
            *stacks.entry(names.join(";")).or_insert(0) += u128::from(value);
        }
    }
    let mut stacks: Vec<_> = stacks.into_iter().collect();
    stacks.sort_by_key(|&(_, value)| Reverse(value));
    for (stack, value) in stacks {
        writeln!(output, "{stack} {value}")?;
    }
    Ok(())
}
