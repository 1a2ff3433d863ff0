//! The rules of the repository itself: sizes of files, which crate may know which, and documents that name
//! only files that exist.

#[path = "house/book/mod.rs"]
mod book;
#[path = "house/packages.rs"]
mod packaged;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The packages of the workspace, each with the folder it lies in. A package may depend on packages
/// above it only, in its tests too. A package that the workspace does not have is passed over.
const PACKAGES: [(&str, &str); 24] = [
    ("hps-demangle", "demangle"),
    ("hps-frames", "frames"),
    ("hps-isa", "isa"),
    ("hps-system", "system"),
    ("hps-sim-core", "sim-core"),
    ("hps-profile", "profile"),
    ("hps-workloads", "workloads"),
    ("hps-translator", "translator"),
    ("hps-dise", "dise"),
    ("hps-pipeline", "pipeline"),
    ("hps-productions", "hps-productions"),
    ("hps-profilers", "profilers"),
    ("hps-dcpi", "dcpi"),
    ("hps-shadow", "shadow"),
    ("hps-lab", "lab"),
    ("hps-shim", "shim"),
    ("hps-shadow-native", "shadow/native"),
    ("hps-experiments", "experiments"),
    ("hps-plots", "plots"),
    ("hps-teach", "teach"),
    ("hps-shim-tags", "shim/tags"),
    ("hps-shim-lua", "shim/examples/lua"),
    ("hps-python", "python"),
    ("hps", "."),
];

/// Packages that know no other part of the lab.
const ALONE: [&str; 5] = [
    "hps-demangle",
    "hps-frames",
    "hps-isa",
    "hps-profile",
    "hps-workloads",
];

/// Most lines of a source file.
const MOST_LINES: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Most bytes of ARCHITECTURE.md.
const MOST_BYTES: usize = 15 << 10;

/// Every file below a folder whose name ends like this, but for built and hidden ones.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let entry = entry.expect("an entry of the folder");
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().expect("the kind of an entry");
        if kind.is_dir() && !name.starts_with('.') && name != "target" {
            files(&entry.path(), ending, found);
        } else if kind.is_file() && name.ends_with(ending) {
            found.push(entry.path());
        }
    }
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let mut sources = Vec::new();
    files(root(), ".rs", &mut sources);
    assert!(sources.len() > 100, "only {} were found", sources.len());
    let mut long = Vec::new();
    for file in sources {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let name = file.strip_prefix(root()).expect("it lies in the project");
        let lines = text.lines().count();
        if lines > MOST_LINES {
            long.push(format!("{}: {lines} lines", name.display()));
        }
    }
    assert!(long.is_empty(), "split these files: {long:#?}");
}

/// A package's dependencies on other packages of the workspace.
fn dependencies_of(package: &Value) -> impl Iterator<Item = &Value> {
    let all = package["dependencies"].as_array().expect("a list");
    all.iter()
        .filter(|dependency| !dependency["path"].is_null())
}

/// The packages of the workspace as Cargo describes them.
fn packages() -> Vec<Value> {
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
    metadata["packages"].as_array().expect("a list").clone()
}

#[test]
fn crates_depend_only_on_crates_above_them() {
    let packages = packages();
    let by_name: BTreeMap<&str, &Value> = packages
        .iter()
        .map(|package| (package["name"].as_str().expect("a name"), package))
        .collect();
    for name in by_name.keys() {
        assert!(
            PACKAGES.iter().any(|(listed, _)| listed == name),
            "{name} has no place in PACKAGES"
        );
    }

    for (place, (name, folder)) in PACKAGES.iter().enumerate() {
        let Some(package) = by_name.get(name) else {
            continue;
        };
        let manifest = package["manifest_path"].as_str().expect("a path");
        let expected = root().join(folder).join("Cargo.toml");
        assert_eq!(
            Path::new(manifest).canonicalize().ok(),
            expected.canonicalize().ok(),
            "{name}"
        );
        for dependency in dependencies_of(package) {
            let dependency = dependency["name"].as_str().expect("a name");
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

/// The modules of the pipeline by layer: a module uses those of layers before its own only. Neither core knows the
/// other one.
const LAYERS: [&[&str]; 11] = [
    &["config", "contents"],
    &["predict"],
    &["memsys"],
    &["model"],
    &["pmu"],
    &["interrupts"],
    &["by_cycle", "by_instruction"],
    &["either"],
    &["core"],
    &["schedule", "stacks", "static_schedule", "sampled"],
    &["kanata"],
];

/// The modules of a crate that a source file names, by lines of code.
fn used_modules(text: &str) -> BTreeSet<&str> {
    let code = text.lines().filter(|line| !line.trim().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1))
        .filter_map(|rest| {
            rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .next()
        })
        .collect()
}

#[test]
fn modules_of_the_pipeline_use_only_layers_below_them() {
    let folder = root().join("pipeline/src");
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut sources = Vec::new();
    files(&folder, ".rs", &mut sources);
    let mut upward = Vec::new();
    for file in sources {
        let name = file.strip_prefix(&folder).expect("it lies in the folder");
        let module = name.components().next().expect("it has a name");
        let module = Path::new(&module).with_extension("");
        let module = module.to_string_lossy();
        if module == "lib" {
            continue;
        }
        let own = layer(&module).unwrap_or_else(|| panic!("`{module}` has no place in LAYERS"));
        let text = std::fs::read_to_string(&file).expect("a source file");
        for used in used_modules(&text) {
            if used != module && layer(used).is_some_and(|layer| layer >= own) {
                upward.push(format!("{} uses `{used}`", name.display()));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn the_architecture_fits_into_15_kilobytes() {
    let text = std::fs::read(root().join("ARCHITECTURE.md")).expect("the document");
    assert!(text.len() <= MOST_BYTES, "it has {} bytes", text.len());
}

/// Paths that a document names as files of the project: targets of its links, and quoted words that begin with a folder
/// of the project.
fn named_files(text: &str) -> Vec<&str> {
    let links = text.split("](").skip(1).filter_map(|rest| {
        let (target, _) = rest.split_once(')')?;
        let target = target.split('#').next()?;
        (!target.is_empty() && !target.contains("::") && !target.contains(':')).then_some(target)
    });
    let folders = PACKAGES.iter().map(|(_, folder)| *folder);
    let folders: Vec<&str> = folders
        .chain(["docs", "examples", "scripts", "src", "tests"])
        .collect();
    let quoted = text.split('`').skip(1).step_by(2).filter(move |quoted| {
        let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let folder = quoted.split('/').next().unwrap_or_default();
        quoted.contains('/') && folders.contains(&folder) && quoted.chars().all(is_path)
    });
    links.chain(quoted).collect()
}

#[test]
fn documents_name_files_that_exist() {
    let mut documents = Vec::new();
    files(root(), ".md", &mut documents);
    let mut missing = Vec::new();
    let mut checked = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).expect("a document");
        let folder = document.parent().expect("it lies in a folder");
        for name in named_files(&text) {
            checked += 1;
            if !folder.join(name).exists() && !root().join(name).exists() {
                missing.push(format!("{}: {name}", document.display()));
            }
        }
    }
    assert!(checked > 50, "only {checked} names were found");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The texts in quotes of a list of deny.toml, from `key = [` to its end.
fn denied_or_allowed(text: &str, key: &str) -> Vec<String> {
    let (_, rest) = text.split_once(&format!("\n{key} = [")).expect(key);
    let end = rest.find(']').expect("an end");
    let quoted = rest[..end].split('"').skip(1).step_by(2);
    quoted.map(str::to_string).collect()
}

/// Licences that deny.toml allows for one package alone: lines such as `{ name = "p", allow = ["L"] },`.
fn exceptions(text: &str) -> BTreeMap<String, Vec<String>> {
    let lines = text.lines().filter(|line| line.contains(", allow = ["));
    let quoted = lines.map(|line| line.split('"').skip(1).step_by(2).map(str::to_string));
    let named = |mut words: Vec<String>| (words.remove(0), words);
    quoted.map(|words| named(words.collect())).collect()
}

/// Whether an SPDX expression can be met with the allowed licences. AND binds stronger than OR; old packages write `/`
/// for OR.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let spaced = spaced.replace(" WITH ", "+WITH+");
    let words: Vec<String> = spaced
        .split_whitespace()
        .map(|w| w.replace('+', " "))
        .collect();
    let (met, rest) = any_of(&words, allowed);
    assert!(rest.is_empty(), "{expression}: {rest:?}");
    met
}

fn any_of<'a>(words: &'a [String], allowed: &[String]) -> (bool, &'a [String]) {
    let (mut met, mut rest) = all_of(words, allowed);
    while let [word, behind @ ..] = rest
        && word == "OR"
    {
        let (other, left) = all_of(behind, allowed);
        (met, rest) = (met | other, left);
    }
    (met, rest)
}

fn all_of<'a>(words: &'a [String], allowed: &[String]) -> (bool, &'a [String]) {
    let (mut met, mut rest) = one_licence(words, allowed);
    while let [word, behind @ ..] = rest
        && word == "AND"
    {
        let (other, left) = one_licence(behind, allowed);
        (met, rest) = (met & other, left);
    }
    (met, rest)
}

fn one_licence<'a>(words: &'a [String], allowed: &[String]) -> (bool, &'a [String]) {
    let (word, behind) = words.split_first().expect("a licence");
    if word == "(" {
        let (met, rest) = any_of(behind, allowed);
        assert_eq!(rest.first().map(String::as_str), Some(")"));
        return (met, &rest[1..]);
    }
    (allowed.contains(word), behind)
}

#[test]
fn licence_expressions_are_read_as_spdx_says() {
    let allowed = ["MIT", "Zlib", "A WITH e"].map(String::from);
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("GPL-3.0 AND MIT OR Zlib", true),
        ("(GPL-3.0 OR MIT) AND Zlib", true),
        ("(GPL-3.0 OR MIT) AND BSD-4", false),
        ("A WITH e OR GPL-3.0", true),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}

#[test]
fn dependencies_are_those_that_deny_toml_allows() {
    let rules = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let allowed = denied_or_allowed(&rules, "allow");
    let twice = denied_or_allowed(&rules, "skip");
    let exceptions = exceptions(&rules);
    assert!(allowed.len() > 3 && allowed.iter().all(|licence| !licence.contains("GPL")));
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--offline",
            "--format-version",
            "1",
            "--filter-platform",
        ])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let mut names = BTreeSet::new();
    for package in metadata["packages"].as_array().expect("a list") {
        let (name, source) = (&package["name"], package["source"].as_str());
        let Some(source) = source else { continue };
        assert_eq!(
            source, "registry+https://github.com/rust-lang/crates.io-index",
            "{name}"
        );
        let licence = package["license"]
            .as_str()
            .unwrap_or_else(|| panic!("{name}: no licence"));
        let name = name.as_str().expect("a name").to_string();
        let here = exceptions.get(&name).map_or(&[][..], Vec::as_slice);
        let allowed = [&allowed[..], here].concat();
        assert!(is_met(licence, &allowed), "{name}: {licence}");
        assert!(
            names.insert(name.clone()) || twice.contains(&name),
            "{name}: two versions"
        );
    }
    assert!(names.len() > 50, "{}", names.len());
}

/// Text of strangers reaches a terminal through `src/text.rs` alone, which shows control characters as escapes.
#[test]
fn the_command_prints_through_one_place() {
    let mut sources = Vec::new();
    files(&root().join("src"), ".rs", &mut sources);
    assert!(sources.len() > 50, "{}", sources.len());
    for file in sources {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let prints = ["io::stdout()", "println!(", "print!(\""]
            .iter()
            .any(|p| text.contains(p));
        assert!(
            !prints || file.ends_with("src/text.rs"),
            "{}: print by crate::text",
            file.display()
        );
    }
}
