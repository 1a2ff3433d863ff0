//! Each crate can be packaged alone: it says what it is, names the others by version, and includes only files of its own.

use std::path::{Component, Path};

use serde_json::Value;

use super::{dependencies_of, files, packages};

/// The files that a source file includes by a plain string, unless a test does.
fn included(text: &str) -> Vec<&str> {
    let parts = ["include_str!(\"", "include_bytes!(\"", "include!(\""];
    let ends = parts.iter().flat_map(|part| text.split(part).skip(1));
    ends.filter_map(|rest| rest.split('"').next()).collect()
}

/// Whether a path that begins in a folder leaves another one above it.
fn leaves(folder: &Path, from: &Path, path: &str) -> bool {
    let inside = from.strip_prefix(folder).expect("a file of the crate");
    let mut depth = inside
        .parent()
        .map_or(0, |parent| parent.components().count());
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// Faults of a package, in words.
fn faults(package: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if package["description"].as_str().is_none_or(str::is_empty) {
        faults.push("it has no description".to_owned());
    }
    if package["license"].is_null() {
        faults.push("it has no licence".to_owned());
    }
    for dependency in dependencies_of(package) {
        // Cargo leaves a dependency of tests without a version out of the package.
        if dependency["req"] == "*" && dependency["kind"] != "dev" {
            faults.push(format!("it names {} without a version", dependency["name"]));
        }
    }
    let manifest = package["manifest_path"].as_str().expect("a path");
    let folder = Path::new(manifest).parent().expect("a folder");
    let mut sources = Vec::new();
    files(&folder.join("src"), ".rs", &mut sources);
    for source in sources {
        let name = source.strip_prefix(folder).expect("a file of the crate");
        if name.to_string_lossy().contains("tests") {
            continue;
        }
        let text = std::fs::read_to_string(&source).expect("a source file");
        for path in included(&text) {
            if leaves(folder, &source, path) {
                faults.push(format!("{} includes {path}", name.display()));
            }
        }
    }
    faults
}

#[test]
fn every_published_crate_can_be_packaged_alone() {
    let mut published = 0;
    let mut found = Vec::new();
    for package in packages() {
        // An empty list of registries is `publish = false`.
        if package["publish"].as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        published += 1;
        for fault in faults(&package) {
            found.push(format!("{}: {fault}", package["name"]));
        }
    }
    assert!(published >= 20, "only {published} crates are published");
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn an_include_that_leaves_its_crate_is_seen() {
    let folder = Path::new("/lab/plots");
    let from = Path::new("/lab/plots/src/report/page.rs");
    assert!(!leaves(folder, from, "../../style.css"));
    assert!(leaves(folder, from, "../../../teach/page.html"));
    assert!(leaves(folder, from, "../../../plots/style.css"));
    assert_eq!(
        included("x = include_str!(\"a\"); include_bytes!(\"../b\")"),
        ["a", "../b"]
    );
}

/// Whether a text has an example in Rust that `cargo test` would run: a block without the name of another language.
/// Lines of comments begin with a mark, those of a README don't.
fn has_example(text: &str, mark: &str) -> bool {
    let lines = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(mark));
    let fences = lines.filter_map(|line| line.trim_start().strip_prefix("```"));
    fences.step_by(2).any(|language| {
        let mut words = language.split(',').map(str::trim);
        words.all(|word| ["", "rust", "no_run", "should_panic"].contains(&word))
    })
}

/// Rustdoc reads a whole crate to find that it has no example, so crates without one say so.
#[test]
fn crates_with_examples_test_them_and_others_spend_nothing() {
    for package in packages() {
        let targets = package["targets"].as_array().expect("a list");
        let is_library = |target: &&Value| {
            let kinds = target["kind"].as_array().expect("a list");
            kinds
                .iter()
                .any(|kind| ["lib", "rlib"].contains(&kind.as_str().unwrap_or_default()))
        };
        let Some(library) = targets.iter().find(is_library) else {
            continue;
        };
        let manifest = package["manifest_path"].as_str().expect("a path");
        let folder = Path::new(manifest).parent().expect("a folder");
        let mut sources = Vec::new();
        files(&folder.join("src"), ".rs", &mut sources);
        let texts: Vec<String> = sources
            .iter()
            .map(|source| std::fs::read_to_string(source).expect("a source file"))
            .collect();
        let mut has = texts
            .iter()
            .any(|text| ["//!", "///"].iter().any(|mark| has_example(text, mark)));
        if texts
            .iter()
            .any(|text| text.contains("#![doc = include_str!(\"../README.md\")]"))
        {
            let readme = std::fs::read_to_string(folder.join("README.md")).expect("a README");
            has |= has_example(&readme, "");
        }
        assert_eq!(
            library["doctest"], has,
            "{}: whether it has an example, and `doctest` of its [lib]",
            package["name"]
        );
    }
}

#[test]
fn examples_in_rust_are_told_from_other_blocks() {
    assert!(has_example("//! ```\n//! let x = 1;\n//! ```", "//!"));
    assert!(has_example(
        "```text\na\n```\n```rust,no_run\nlet x = 1;\n```",
        ""
    ));
    assert!(!has_example(
        "/// ```text\n/// a\n/// ```\n//! ```\n//! b\n//! ```",
        "///"
    ));
}
