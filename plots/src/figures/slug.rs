//! Names of programs as names of files.

use std::collections::BTreeSet;

/// A name safe in file names and links, not used before.
pub(super) fn slug(name: &str, used: &mut BTreeSet<String>) -> String {
    let safe: String = name
        .chars()
        .take(60)
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
                c
            } else {
                '-'
            }
        })
        .collect();
    let safe = safe.trim_matches(|c| matches!(c, '-' | '.')).to_string();
    let safe = if safe.is_empty() {
        "unnamed".to_string()
    } else {
        safe
    };
    let mut candidate = safe.clone();
    let mut number = 2;
    // File systems that ignore case must not merge two programs.
    while !used.insert(candidate.to_lowercase()) {
        candidate = format!("{safe}-{number}");
        number += 1;
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_safe_and_unique() {
        let mut used = BTreeSet::new();
        let made: Vec<_> = ["a b", "../etc", "a-b", "A b", "<>"]
            .iter()
            .map(|n| slug(n, &mut used))
            .collect();
        assert_eq!(made, ["a-b", "etc", "a-b-2", "A-b-3", "unnamed"]);
    }
}
