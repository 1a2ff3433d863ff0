//! Profiles as text: flat for people, folded for flame graph tools.
//!
//! Symbols come from a closure that names the function holding an address, or `None`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::key::ProfileKey;
use crate::profile::Profile;
use crate::unit::Unit;

/// Writes one line for each member in listing order: its label and its weight, parted by a space.
/// Call pairs read `caller@site -> callee`, data streams list their addresses.
///
/// # Errors
/// When the output fails.
pub fn write_flat<K: ProfileKey, U: Unit>(
    mut output: impl Write,
    profile: &Profile<K, U>,
    symbol: &dyn Fn(u64) -> Option<String>,
) -> io::Result<()> {
    for (member, weight) in profile.listing() {
        writeln!(output, "{} {weight}", one_line(&member.label(symbol)))?;
    }
    Ok(())
}

/// Writes folded stacks, `outer;inner weight`, which flame graph tools read. Members with the same
/// frames, such as two call sites in one caller, are added up. Heaviest first, equal weights by
/// name.
///
/// # Errors
/// When the output fails.
pub fn write_folded<K: ProfileKey, U: Unit>(
    mut output: impl Write,
    profile: &Profile<K, U>,
    symbol: &dyn Fn(u64) -> Option<String>,
) -> io::Result<()> {
    let members = profile.iter();
    let mut stacks = members.map(|(member, weight)| (member.frames(symbol), weight));
    write_stacks(&mut output, &mut stacks)
}

/// [`write_folded`] of members that are stacks of frames already.
fn write_stacks(
    output: &mut dyn Write,
    members: &mut dyn Iterator<Item = (Vec<String>, u64)>,
) -> io::Result<()> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for (frames, weight) in members {
        let frames: Vec<_> = frames
            .iter()
            .map(|frame| one_line(frame).replace(';', ":"))
            .collect();
        *stacks.entry(frames.join(";")).or_insert(0) += weight;
    }
    let mut stacks: Vec<_> = stacks.into_iter().collect();
    stacks.sort_by_key(|stack| std::cmp::Reverse(stack.1));
    for (stack, weight) in stacks {
        writeln!(output, "{stack} {weight}")?;
    }
    Ok(())
}

/// The text with whatever would break a line or a terminal replaced.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{CallPair, DataStream, Method};

    fn symbol(address: u64) -> Option<String> {
        match address {
            0x100..0x200 => Some("main".into()),
            0x200..0x300 => Some("walk(list; int)\n".into()),
            _ => None,
        }
    }

    fn flat<K: ProfileKey>(profile: &Profile<K>) -> String {
        let mut bytes = Vec::new();
        write_flat(&mut bytes, profile, &symbol).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn folded<K: ProfileKey>(profile: &Profile<K>) -> String {
        let mut bytes = Vec::new();
        write_folded(&mut bytes, profile, &symbol).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn methods() {
        let p = [(Method(0x100), 3), (Method(0x900), 5)]
            .into_iter()
            .collect();
        assert_eq!(flat(&p), "0x900 5\nmain 3\n");
        assert_eq!(folded(&p), "0x900 5\nmain 3\n");
    }

    #[test]
    fn call_pairs_of_one_caller_fold_together() {
        let pair = |site| CallPair {
            site,
            target: 0x200,
        };
        let p = [(pair(0x104), 3), (pair(0x108), 5), (pair(0x900), 8)]
            .into_iter()
            .collect();
        assert_eq!(
            flat(&p),
            "0x900 -> walk(list; int)? 8\n\
             main@0x108 -> walk(list; int)? 5\n\
             main@0x104 -> walk(list; int)? 3\n"
        );
        assert_eq!(
            folded(&p),
            "0x900;walk(list: int)? 8\nmain;walk(list: int)? 8\n"
        );
    }

    #[test]
    fn data_streams_list_their_addresses() {
        let p = [(DataStream([0x900, 0x180].into()), 20)]
            .into_iter()
            .collect();
        assert_eq!(flat(&p), "0x900 main@0x180 20\n");
        assert_eq!(folded(&p), "0x900;main@0x180 20\n");
    }
}
