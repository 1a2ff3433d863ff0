//! JSON documents of commands: each is written by its command, and validated against its JSON Schema.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::json_schema::{errors, expect_valid, schema};
use crate::support::{Hps, exit_with, write_text};

/// A loop of three instructions.
const LOOP: &str = "\
        li t0, 2000
again:  mul t1, t1, t1
        addi t0, t0, -1
        bnez t0, again
        li a0, 0
        li a7, 93
        ecall
";

/// A lock file of a root of one package.
const LOCK: &str = r#"{
    "format": "hps-root", "format_version": 1, "version": "0.1.0", "source": "debian", "suite": "trixie",
    "architecture": "riscv64", "release_date": null, "requested": ["a"],
    "packages": [{ "name": "a", "version": "1", "architecture": "riscv64", "sha256": null }],
    "image_sha256": null, "files_sha256": "00"
}"#;

/// Formats whose documents other tests validate, since they need a second processor of the host, a compiler for it, or
/// much time.
const ELSEWHERE: [(&str, &str); 6] = [
    ("hps-shim", "tests/shim_cli.rs"),
    ("hps-shim-measurement", "tests/shim_cli.rs"),
    ("hps-bench-counts", "src/commands/bench/counts.rs"),
    ("hps-validation", "tests/shim_validate.rs"),
    ("hps-counters", "tests/shim_validate.rs"),
    ("hps-shadow-native", "tests/shadow_native.rs"),
];

/// Tables, which tests/cases/tables.rs writes and validates, and files of profiles.
const TABLES: [&str; 10] = [
    "hps-board",
    "hps-claims",
    "hps-figure7",
    "hps-functions",
    "hps-instructions",
    "hps-machines",
    "hps-measurements",
    "hps-members",
    "hps-points",
    "hps-profile",
];

/// Commands that write documents, with the format of each.
const COMMANDS: [(&[&str], &str); 34] = [
    (&["run", "--json", "quiet"], "hps-run"),
    (
        &["run", "--json", "--max-instructions", "5", "quiet"],
        "hps-run",
    ),
    (&["run", "--json", "fault"], "hps-run"),
    (
        &[
            "run",
            "--json",
            "--machine",
            "hps-4wide",
            "--by-function",
            "quiet",
        ],
        "hps-run",
    ),
    (
        &[
            "run",
            "--json",
            "--machine",
            "hps-4wide",
            "--core",
            "instruction",
            "quiet",
        ],
        "hps-run",
    ),
    (&["run", "--json", "--machine", "cmp-4", "quiet"], "hps-run"),
    (
        &[
            "run",
            "--json",
            "--machine",
            "hps-4wide",
            "--sample",
            "--asm",
            "loop.s",
        ],
        "hps-run",
    ),
    (
        &[
            "run",
            "--json",
            "--productions",
            "identity",
            "--machine",
            "hps-4wide",
            "quiet",
        ],
        "hps-run",
    ),
    (&["sweep", "--json", "sweep.ron"], "hps-sweep"),
    (&["root", "show", "--json", "root"], "hps-root"),
    (&["programs", "--json"], "hps-programs"),
    (&["programs", "--suite", "--json"], "hps-suite"),
    (
        &["profile", "--json", "--with", "nci,tip", "hi"],
        "hps-exact-profile",
    ),
    (
        &["profile", "--json", "--process", "all", "hi"],
        "hps-exact-profiles",
    ),
    (&["analyze", "--json", "loop.s"], "hps-loop"),
    (
        &["collect", "--json", "--kind", "method", "looped"],
        "hps-collected",
    ),
    (
        &[
            "collect",
            "--json",
            "--kind",
            "method",
            "--machine",
            "hps-4wide",
            "looped",
        ],
        "hps-collected",
    ),
    (
        &[
            "leaderboard",
            "--json",
            "--kind",
            "time",
            "--with",
            "nci",
            "./hi",
        ],
        "hps-leaderboard",
    ),
    (&["leaderboard", "--list", "--json"], "hps-profilers"),
    (
        &[
            "dev",
            "bench",
            "--json",
            "--program",
            "chess",
            "--runs",
            "1",
            "--without",
            "qemu",
            "--without",
            "samplers",
            "--without",
            "grid",
            "--without",
            "grid-threads",
            "--without",
            "timed",
            "--without",
            "instruction",
            "--without",
            "sampled",
        ],
        "hps-bench",
    ),
    (&["shim", "analyze", "--json", "kept"], "hps-shim-analysis"),
    (&["dcpi", "report", "--json"], "hps-dcpi-samples"),
    (
        &["shadow", "simulate", "--json", "--end-to-end", "hi"],
        "hps-shadow-simulation",
    ),
    (&["shim", "simulate", "--json", "hi"], "hps-shim-simulation"),
    (
        &["collect", "--json", "--kind", "data-stream", "streams"],
        "hps-collected",
    ),
    (&["doctor", "--json"], "hps-doctor"),
    (&["machine", "show", "--json"], "hps-presets"),
    (&["machine", "show", "--json", "big-little"], "hps-machine"),
    (
        &["machine", "check", "--json", "ev6", "loop.s"],
        "hps-machine-checks",
    ),
    (&["machine", "keys", "--json"], "hps-machine-keys"),
    (
        &["dise", "check", "--json", "hot_method", "hot_call_pair"],
        "hps-dise-checks",
    ),
    (
        &["dise", "explain", "--json", "hot_call_pair"],
        "hps-dise-explanation",
    ),
    (
        &[
            "dise",
            "explain",
            "--json",
            "hot_method",
            "--program",
            "looped",
        ],
        "hps-dise-explanation",
    ),
    (&["dise", "list", "--json"], "hps-productions"),
];

/// A folder with the programs and files of the commands.
fn prepared() -> Hps {
    let hps = Hps::new();
    hps.program("hi", &[write_text(), exit_with(0)].concat());
    hps.program("quiet", &exit_with(0));
    hps.program("fault", &[0]);
    let looped = [
        0x7d00_0293, // li t0, 2000
        0xff81_3383, // ld t2, -8(sp)
        0xfff2_8293, // addi t0, t0, -1
        0xfe02_9ce3, // bnez t0, the load
    ];
    hps.program("looped", &[looped.to_vec(), exit_with(0)].concat());
    // ld t2, -8(sp); ld t2, -16(sp); and ten more
    let loads = (1..=12_u32).map(|n| (n * 8).wrapping_neg() << 20 | 0x13383);
    let mut streams = vec![0x7d00_0293]; // li t0, 2000
    streams.extend(loads);
    streams.extend([0xfff2_8293, 0xfc02_96e3]); // addi t0, t0, -1; bnez t0, the first load
    hps.program("streams", &[streams, exit_with(0)].concat());
    let sweep = "(programs: [], own_programs: [(path: \"hi\")], profiles: [method], bursts: [1], one_in: [10])";
    fs::create_dir(hps.path("root")).expect("made");
    // Raw samples without counters: begin, end, thread, tag.
    let words = [0_u64, 10, 20, 1, 7, 30, 40, 1, 7].map(u64::to_le_bytes);
    let kept = [&b"HPSSMPL1"[..], &words.concat()].concat();
    for (name, bytes) in [
        ("loop.s", LOOP.as_bytes()),
        ("sweep.ron", sweep.as_bytes()),
        ("root/hps-root.json", LOCK.as_bytes()),
        ("kept", &kept),
    ] {
        fs::write(hps.path(name), bytes).expect(name);
    }
    hps.run(&["dcpi", "collect", "--period", "10..20", "./hi"])
        .expect_code(0);
    hps
}

#[test]
fn every_command_writes_json_of_its_schema() {
    let hps = prepared();
    for (words, format) in COMMANDS {
        // Results that break their schema are refused by `run`, too.
        let run = hps.run(words);
        let document: Value = serde_json::from_slice(&run.stdout)
            .unwrap_or_else(|e| panic!("{words:?}: {e}: {}", run.stderr));
        expect_valid(format, &document);
        if document.is_object() {
            assert_eq!(document["format"], *format, "{words:?}");
        }
    }
    hps.run(&["profile", "--out", "kept-profiles", "hi"])
        .expect_code(0);
    for file in fs::read_dir(hps.path("kept-profiles")).expect("profiles") {
        let bytes = fs::read(file.expect("a file").path()).expect("a profile");
        expect_valid(
            "hps-profile",
            &serde_json::from_slice(&bytes).expect("JSON"),
        );
    }
}

#[test]
fn every_schema_has_a_document_that_a_test_validates() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats/schemas");
    let files = fs::read_dir(folder).expect("schemas");
    let name = |file: fs::DirEntry| file.file_name().to_string_lossy().into_owned();
    let all: BTreeSet<String> = files.map(|file| name(file.expect("a file"))).collect();
    let mut known: Vec<&str> = COMMANDS.iter().map(|(_, format)| *format).collect();
    known.extend(ELSEWHERE.map(|(format, _)| format));
    known.extend(TABLES);
    let missing: Vec<&String> = all
        .iter()
        .filter(|file| {
            !known
                .iter()
                .any(|format| **file == format!("{format}.schema.json"))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    for (format, test) in ELSEWHERE {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(test));
        assert!(text.is_ok(), "{test} validates {format}");
    }
}

/// The schema that has these alternatives, properties and elements.
fn small() -> Value {
    json!({
        "$defs": { "Place": { "type": "object", "properties": { "line": { "type": "integer", "minimum": 1 } } } },
        "type": "object",
        "properties": {
            "name": { "enum": ["a", "b"] },
            "place": { "anyOf": [{ "$ref": "#/$defs/Place" }, { "type": "null" }] },
            "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }], "minItems": 2,
                      "maxItems": 2 },
            "counts": { "type": "object", "additionalProperties": { "type": "integer" } },
        },
        "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "x" } }, "required": ["kind"] },
            { "type": "object", "properties": { "kind": { "const": "y" }, "why": { "type": "string" } },
              "required": ["kind", "why"] },
        ],
        "unevaluatedProperties": false,
    })
}

#[test]
fn what_breaks_a_schema_of_documents_is_found() {
    let schema_of = small();
    let right = json!({ "kind": "y", "why": "", "name": "a", "place": { "line": 1 }, "pair": ["", 1.5],
                        "counts": { "z": 1 } });
    assert_eq!(errors(&schema_of, &right, ""), Vec::<String>::new());
    for (key, value) in [
        ("kind", json!("z")),
        ("name", json!("c")),
        ("place", json!({ "line": 0 })),
        ("pair", json!([""])),
        ("pair", json!([1, 1])),
        ("counts", json!({ "z": "1" })),
        ("more", json!(1)),
    ] {
        let mut wrong = right.clone();
        wrong[key] = value;
        assert!(!errors(&schema_of, &wrong, "").is_empty(), "{wrong}");
    }
    // `why` belongs to another alternative.
    assert_eq!(
        errors(&schema_of, &json!({ "kind": "x", "why": "" }), "").len(),
        1
    );
    // The schema of a run refuses a key that it does not have, at any depth.
    let hps = prepared();
    let text = hps
        .run(&["run", "--json", "--machine", "hps-4wide", "quiet"])
        .expect_code(0);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    for pointer in ["", "/end", "/core", "/machine/configuration/window"] {
        let mut wrong = document.clone();
        wrong.pointer_mut(pointer).expect(pointer)["more"] = json!(1);
        assert!(
            !errors(&schema("hps-run"), &wrong, "").is_empty(),
            "{pointer}"
        );
    }
}
