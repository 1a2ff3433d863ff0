//! The rules of the repository itself: sizes of files, and which crate may know which.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The packages of the workspace, each with the folder it lies in. A package may depend on packages
/// above it only, in its tests too.
const PACKAGES: [(&str, &str); 13] = [
    ("hps-sim-core", "sim-core"),
    ("hps-profile", "profile"),
    ("hps-workloads", "workloads"),
    ("hps-dise", "dise"),
    ("hps-pipeline", "pipeline"),
    ("hps-productions", "hps-productions"),
    ("hps-lab", "lab"),
    ("hps-experiments", "experiments"),
    ("hps-plots", "plots"),
    ("hps-shim", "shim"),
    ("hps-shim-tags", "shim/tags"),
    ("hps-shim-lua", "shim/examples/lua"),
    ("hps", "."),
];

/// Packages that know no other part of the lab.
const ALONE: [&str; 4] = ["hps-sim-core", "hps-profile", "hps-workloads", "hps-shim"];

/// Most lines of a source file.
const MOST_LINES: usize = 600;

/// Files that are longer, and are to be split.
const LONGER: [&str; 1] = ["pipeline/src/core/driven/calendar.rs"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust source file below a folder, but for built and hidden ones.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let entry = entry.expect("an entry of the folder");
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().expect("the kind of an entry");
        if kind.is_dir() && !name.starts_with('.') && name != "target" {
            sources(&entry.path(), found);
        } else if kind.is_file() && name.ends_with(".rs") {
            found.push(entry.path());
        }
    }
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    assert!(files.len() > 100, "only {} files were found", files.len());
    let mut long = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let name = file.strip_prefix(root()).expect("it lies in the project");
        let lines = text.lines().count();
        if lines > MOST_LINES && !LONGER.iter().any(|known| name == Path::new(known)) {
            long.push(format!("{}: {lines} lines", name.display()));
        }
    }
    assert!(long.is_empty(), "split these files: {long:#?}");
}

/// The names of a package's dependencies on other packages of the workspace.
fn dependencies(package: &Value) -> Vec<&str> {
    let all = package["dependencies"].as_array().expect("a list");
    all.iter()
        .filter(|dependency| !dependency["path"].is_null())
        .map(|dependency| dependency["name"].as_str().expect("a name"))
        .collect()
}

#[test]
fn crates_depend_only_on_crates_above_them() {
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let by_name: BTreeMap<&str, &Value> = packages
        .iter()
        .map(|package| (package["name"].as_str().expect("a name"), package))
        .collect();
    let mut listed: Vec<&str> = PACKAGES.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    let names: Vec<&str> = by_name.keys().copied().collect();
    assert_eq!(listed, names, "PACKAGES is the list of the workspace");

    for (place, (name, folder)) in PACKAGES.iter().enumerate() {
        let package = by_name[name];
        let manifest = package["manifest_path"].as_str().expect("a path");
        let expected = root().join(folder).join("Cargo.toml");
        assert_eq!(
            Path::new(manifest).canonicalize().ok(),
            expected.canonicalize().ok(),
            "{name}"
        );
        for dependency in dependencies(package) {
            let above = PACKAGES[..place]
                .iter()
                .any(|(name, _)| *name == dependency);
            assert!(
                above,
                "{name} depends on {dependency}, which is not above it"
            );
            assert!(
                !ALONE.contains(name),
                "{name} knows no other crate, but depends on {dependency}"
            );
        }
    }
}
