use super::*;
use crate::Size;

/// An entry that is as it should be, to be spoilt.
const ENTRY: &str = r#"#![enable(implicit_some)]
[(
    name: "one", stands_for: "999.one", description: "does", license: "MIT",
    sources: [(folder: "one", from: Debian(package: "one", version: "1", file: "one.tar.gz"),
        sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")],
    build: "true",
    small: (args: ["x"], files: [("in", Literal("y"))], stdin: "in",
        stdout_sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
    large: (args: [],
        stdout_sha256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
)]"#;

#[test]
fn the_manifest_stands_for_all_of_specint2000() {
    let programs = all().expect("a manifest without errors");
    for spec in [
        "164.gzip",
        "175.vpr",
        "176.gcc",
        "181.mcf",
        "186.crafty",
        "197.parser",
        "252.eon",
        "253.perlbmk",
        "254.gap",
        "255.vortex",
        "256.bzip2",
        "300.twolf",
    ] {
        assert!(
            programs.iter().any(|p| p.stands_for.contains(spec)),
            "{spec}"
        );
    }
    let others: Vec<&str> = programs
        .iter()
        .filter(|p| p.stands_for.is_empty())
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(others, ["hash-join", "graph-walk", "sparse-solve", "btree"]);
    for program in programs {
        assert_eq!(find(&program.name).ok(), Some(program));
        assert!(!program.sources.is_empty() && !program.license.is_empty());
        assert_ne!(program.small, program.large, "{}", program.name);
        for sum in Size::ALL.map(|size| &program.run(size).stdout_sha256) {
            assert!(
                !sum.starts_with("00000000"),
                "{}: nothing is pinned",
                program.name
            );
        }
    }
    let unknown = find("quake").expect_err("there is none").to_string();
    assert!(
        unknown.contains("`quake`") && unknown.contains("bzip2, gzip"),
        "{unknown}"
    );
}

#[test]
fn what_is_wrong_in_a_manifest_is_named() {
    let one = parse(ENTRY).expect("nothing is wrong");
    assert_eq!(one[0].small.stdin.as_deref(), Some("in"));
    let twice = ENTRY.replace(")]\"", ")]").replacen("[(", "[(@", 1);
    let body = &twice[twice.find('@').expect("marked") + 1..twice.len() - 2];
    let twice = format!("#![enable(implicit_some)]\n[({body}), ({body})]");
    for (text, said) in [
        (twice, "two programs of this name"),
        (ENTRY.replacen("0123", "012G", 1), "no SHA-256"),
        (ENTRY.replacen("0123", "012", 1), "no SHA-256"),
        (
            ENTRY.replace("stdin: \"in\"", "stdin: \"out\""),
            "`out` is none of its files",
        ),
        (
            ENTRY.replace("Literal(\"y\")", "Driver(\"y.c\")"),
            "no driver `y.c`",
        ),
        (ENTRY.replace("(\"in\"", "(\"../in\""), "leaves its folder"),
        (
            ENTRY.replace("Literal(\"y\")", "Copy(\"/etc/passwd\")"),
            "leaves its folder",
        ),
        (ENTRY.replace("license", "licence"), "licence"),
    ] {
        let error = parse(&text).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_build_is_known_by_what_determines_it() {
    let programs = parse(ENTRY).expect("a manifest");
    let key = |program: &SuiteProgram, isa| {
        store::key(program, tools::Target::of(isa).expect("a target"))
    };
    let first = key(&programs[0], "riscv64");
    assert_ne!(first, key(&programs[0], "alpha"));
    let mut other = programs[0].clone();
    other.large.stdout_sha256 = "f".repeat(64);
    assert_eq!(
        first,
        key(&other, "riscv64"),
        "what is expected is not built"
    );
    other.build.push_str("\ntrue");
    assert_ne!(first, key(&other, "riscv64"));
}

#[test]
fn a_file_that_is_not_the_pinned_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let builder = Builder::new(folder.path()).expect("a builder");
    let sources = folder.path().join("sources");
    std::fs::create_dir_all(&sources).expect("a folder");
    let program = &parse(ENTRY).expect("a manifest")[0];
    std::fs::write(sources.join("one.tar.gz"), "something else").expect("a file");
    let error = builder
        .fetch(program)
        .expect_err("the wrong file")
        .to_string();
    for part in ["one.tar.gz", "SHA-256", "is pinned", "delete the file"] {
        assert!(error.contains(part), "`{part}` is missing: {error}");
    }
    let mut right = program.clone();
    right.sources[0].sha256 = sha256_hex(b"something else");
    builder.fetch(&right).expect("the pinned file");
}

#[test]
fn builds_do_not_bear_blanks_in_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Builder::new(&folder.path().join("a b")).expect_err("a blank");
    assert!(error.to_string().contains("--folder"), "{error}");
}

#[test]
fn debians_mirrors_are_asked_for_sources_too() {
    let stanza = "Types: deb\nURIs: mirror\nSuites: stable\n";
    assert_eq!(
        fetch::with_sources(stanza),
        "Types: deb deb-src\nURIs: mirror\nSuites: stable\n"
    );
    let lines = "# a comment\ndeb http://mirror/debian stable main\ndeb http://other/x y z\n";
    assert_eq!(
        fetch::lines_with_sources(lines),
        "deb http://mirror/debian stable main\ndeb-src http://mirror/debian stable main\n"
    );
}
