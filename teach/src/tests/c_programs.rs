//! The programs in C of the page: their assembly runs, and prints what they say.

use std::fs;
use std::path::Path;

use super::*;

#[test]
fn programs_in_c_print_what_they_say_and_name_their_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/c");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|of| of == "c"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 20);
    for name in names {
        let c = fs::read_to_string(&name).expect("it can be read");
        let said = c
            .lines()
            .nth(1)
            .and_then(|line| line.strip_prefix("// Prints: "));
        let said = said.unwrap_or_else(|| panic!("{}: what it prints", name.display()));
        let text = fs::read_to_string(name.with_extension("s")).expect("it has been compiled");
        for line in text.lines().filter_map(|line| line.rsplit_once("# ")) {
            let Ok(number) = line.1.parse::<usize>() else {
                continue;
            };
            let of = c.lines().nth(number - 1);
            assert!(
                of.is_some_and(|of| !of.trim().is_empty()),
                "{}: line {number}",
                name.display()
            );
        }
        let (_, summary) = started(assembly(&text));
        let printed: Vec<&str> = summary.output.split_whitespace().collect();
        let said: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(printed, said, "{}: {}", name.display(), summary.said);
    }
}
