//! Objects of a profile: the files whose code lay in the address space of the run, and where.
//!
//! Members have addresses of the run. An object says which of them are its own: two runs that loaded a library at
//! different addresses have the same members if they have the same library, by its build id, and the same offsets in it.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::key::hex;

/// A file with code in the address space of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileObject {
    /// Path of the file, as the program saw it.
    pub name: String,
    /// The linker's name for the bytes of the file, in hexadecimal; `None` if it has none.
    pub build_id: Option<String>,
    /// The address of an instruction less the address that the file says.
    #[serde(with = "hex")]
    #[schemars(with = "String")]
    pub load_bias: u64,
    /// Where its code lay, in ascending order.
    pub code: Vec<CodeRange>,
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeRange {
    /// The first address.
    #[serde(with = "hex")]
    #[schemars(with = "String")]
    pub start: u64,
    /// The first address behind it.
    #[serde(with = "hex")]
    #[schemars(with = "String")]
    pub end: u64,
}

impl From<Range<u64>> for CodeRange {
    fn from(range: Range<u64>) -> CodeRange {
        CodeRange {
            start: range.start,
            end: range.end,
        }
    }
}

impl ProfileObject {
    fn holds(&self, address: u64) -> bool {
        let holds = |range: &CodeRange| (range.start..range.end).contains(&address);
        self.code.iter().any(holds)
    }

    /// Whether both are one file: by build id, or by name if neither has one.
    fn is_same(&self, other: &ProfileObject) -> bool {
        match (&self.build_id, &other.build_id) {
            (Some(one), Some(other)) => one == other,
            (None, None) => self.name == other.name,
            _ => false,
        }
    }
}

/// Addresses of code that the other run does not have: no program has code there.
const ABSENT: u64 = 1 << 63;

/// The address at which code at `address` of a run with the objects `from` lay in a run with the objects `to`. Code of an
/// object that the other run does not have gets an address that no code there has.
#[must_use]
pub fn relocated(address: u64, from: &[ProfileObject], to: &[ProfileObject]) -> u64 {
    let own = from.iter().enumerate().find(|(_, o)| o.holds(address));
    let Some((place, own)) = own else {
        return address;
    };
    let offset = address.wrapping_sub(own.load_bias);
    match to.iter().find(|other| own.is_same(other)) {
        Some(other) => offset.wrapping_add(other.load_bias),
        None => ABSENT | (place as u64) << 48 | offset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, build_id: Option<&str>, load_bias: u64) -> ProfileObject {
        ProfileObject {
            name: name.to_owned(),
            build_id: build_id.map(str::to_owned),
            load_bias,
            code: vec![(load_bias + 0x100..load_bias + 0x200).into()],
        }
    }

    #[test]
    fn addresses_follow_their_object_by_build_id() {
        let from = [
            object("/bin/prog", Some("aa"), 0x1_0000),
            object("/lib/a.so", Some("bb"), 0x2_0000),
            object("/lib/old.so", Some("cc"), 0x3_0000),
            object("/lib/plain.so", None, 0x4_0000),
        ];
        // The library has another path, and lies where the program lay before.
        let to = [
            object("/lib/b.so", Some("bb"), 0x1_0000),
            object("/lib/old.so", Some("dd"), 0x3_0000),
            object("/lib/plain.so", None, 0x5_0000),
        ];
        assert_eq!(relocated(0x2_0180, &from, &to), 0x1_0180);
        assert_eq!(relocated(0x4_0100, &from, &to), 0x5_0100);
        // A program and a changed library that the other run does not have.
        assert_eq!(relocated(0x1_0100, &from, &to), ABSENT | 0x100);
        assert_eq!(relocated(0x3_0100, &from, &to), ABSENT | 2 << 48 | 0x100);
        // Code outside of all objects, also right behind one.
        assert_eq!(relocated(0x2_0200, &from, &to), 0x2_0200);
    }
}
