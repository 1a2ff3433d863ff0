//! Pages and JSON Schemas say what the declarations of the tables say. `UPDATE_DOCS=1` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use hps_frames::Schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::cli::Cli;
use crate::document::Format;

use super::{documents, profiles, schema_files, schemas};

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats")
}

/// Whether files are written anew instead of compared.
fn updates() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Page that has the columns of a table.
const PAGES: [(&str, &str); 12] = [
    ("hps-board", "leaderboard.md"),
    ("hps-dcpi-samples", "dcpi.md"),
    ("hps-shadow-simulation", "shadows.md"),
    ("hps-shim-simulation", "shim.md"),
    ("hps-points", "results.md"),
    ("hps-machines", "results.md"),
    ("hps-measurements", "units.md"),
    ("hps-figure7", "units.md"),
    ("hps-claims", "units.md"),
    ("hps-functions", "exact.md"),
    ("hps-instructions", "exact.md"),
    ("hps-members", "profiles.md"),
];

/// A page with the columns of a table between its two marks.
fn with_columns(page: &str, schema: &Schema) -> String {
    let begin = format!("<!-- columns of {} -->\n", schema.name);
    let (before, rest) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("no page has {begin}"));
    let end = "<!-- end of columns -->\n";
    let (_, behind) = rest.split_once(end).expect("an end of the columns");
    format!("{before}{begin}\n{}\n{end}{behind}", schema.markdown())
}

#[test]
fn every_table_is_declared_whole_and_once() {
    let schemas = schemas();
    let defects: Vec<String> = schemas.iter().flat_map(Schema::defects).collect();
    assert!(defects.is_empty(), "{defects:#?}");
    let mut names: Vec<&str> = schemas.iter().map(|schema| schema.name).collect();
    let mut paged = PAGES.map(|(name, _)| name).to_vec();
    names.sort_unstable();
    paged.sort_unstable();
    assert_eq!(names, paged);
}

#[test]
fn pages_have_the_columns_of_the_declarations() {
    for schema in schemas() {
        let (_, name) = PAGES
            .iter()
            .find(|(name, _)| *name == schema.name)
            .expect("a page");
        let path = formats().join(name);
        let page = fs::read_to_string(&path).expect("a page");
        let whole = with_columns(&page, &schema);
        if updates() {
            fs::write(&path, &whole).expect("written");
        } else {
            assert_eq!(page, whole, "{name}: UPDATE_DOCS=1 writes it anew");
        }
        let version = format!("`{}`, version {}", schema.name, schema.version);
        assert!(page.contains(&version), "{name} lacks {version}");
        let tables = fs::read_to_string(formats().join("tables.md")).expect("a page");
        let row = format!("| `{}` | {} |", schema.name, schema.row);
        assert!(tables.contains(&row), "tables.md lacks {row}");
    }
}

#[test]
fn json_schemas_are_those_of_the_declarations() {
    let folder = formats().join("schemas");
    let mut expected: Vec<String> = Vec::new();
    for (name, text) in schema_files().expect("JSON") {
        let path = folder.join(&name);
        if updates() {
            fs::create_dir_all(&folder).expect("made");
            fs::write(&path, &text).expect("written");
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == text,
            "{}: UPDATE_DOCS=1 writes it anew",
            path.display()
        );
        expected.push(name);
    }
    let entries = fs::read_dir(&folder).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut found: Vec<String> = entries
        .map(|entry| name(entry.expect("an entry")))
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

/// Keys of a schema without a description, each with its place.
fn undescribed(schema: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, value) in properties {
            let says = value["description"].as_str().unwrap_or_default();
            if says.trim().len() <= 2 {
                found.push(format!("{place}.{key}"));
            }
        }
    }
    let inner: Vec<(String, &Value)> = match schema {
        Value::Object(all) => all
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(all) => all.iter().map(|value| (String::new(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner {
        found.extend(undescribed(value, &format!("{place}/{key}")));
    }
    found
}

#[test]
fn every_key_of_a_document_has_a_description() {
    for one in documents::all() {
        let found = undescribed(&one.schema, one.format.name);
        assert!(found.is_empty(), "{found:#?}");
    }
    /// A document with a key whose meaning nobody wrote.
    #[derive(Serialize, JsonSchema)]
    struct Whole {
        /// Its parts.
        parts: Vec<Part>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Part {
        weight: u64,
    }
    let format = Format::new("hps-test", 1);
    let schema = format.described::<Whole>(&[]).schema;
    assert_eq!(undescribed(&schema, ""), ["/$defs/Part.weight"]);
}

#[test]
fn every_command_with_json_has_a_schema() {
    // Commands whose JSON is a table.
    const OF_TABLES: [(&str, &str); 4] = [
        ("reproduce", "hps-claims"),
        ("dcpi report", "hps-dcpi-samples"),
        ("shadow simulate", "hps-shadow-simulation"),
        ("shim simulate", "hps-shim-simulation"),
    ];
    let documents = documents::all();
    for words in with_json(&Cli::command(), "") {
        let is_table = OF_TABLES.iter().any(|(command, _)| *command == words);
        let says = format!("`hps {words} --json`");
        let is_described = documents.iter().any(|one| {
            let description = one.schema["description"].as_str();
            description.is_some_and(|text| text.contains(&says))
        });
        assert!(is_table != is_described, "{words}");
    }
    let tables = schemas();
    for (_, table) in OF_TABLES {
        assert!(tables.iter().any(|schema| schema.name == table), "{table}");
    }
    let readme = fs::read_to_string(formats().join("README.md")).expect("a page");
    for one in documents {
        let row = format!("`{}` {}", one.format.name, one.format.version);
        assert!(readme.contains(&row), "README.md lacks {row}");
    }
}

/// Words of the commands that have `--json`, sorted.
fn with_json(command: &clap::Command, words: &str) -> Vec<String> {
    let is_json = |arg: &clap::Arg| arg.get_long() == Some("json");
    let mut found: Vec<String> = Vec::new();
    if command.get_arguments().any(is_json) {
        found.push(words.trim().to_string());
    }
    for inner in command.get_subcommands() {
        found.extend(with_json(inner, &format!("{words} {}", inner.get_name())));
    }
    found.sort();
    found
}

/// Cells of a column of a frame, as CSV has them.
fn cells(frame: &hps_frames::Frame, column: &str) -> Vec<String> {
    let csv = frame.to_csv().expect("CSV");
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let at = names.iter().position(|name| *name == column).expect(column);
    let cell = |line: &str| line.split(',').nth(at).unwrap_or_default().to_string();
    lines.map(cell).collect()
}

#[test]
fn parts_of_cycles_become_cycles_and_shares() {
    // Four parts to a cycle, 10 cycles: the function has 6 parts, 1.5 cycles, 15%.
    let profile = br#"{
        "format": "hps-exact-profile", "format_version": 1, "program": "p", "cycles": 10, "units_per_cycle": 4,
        "functions": [{
            "name": "main", "object": null, "file": "a.c", "entry": "0x1000", "calls": 1, "instructions": 7,
            "inclusive_units": 40,
            "own": { "units": 6, "spent": { "computing": 1, "stalled:load_l1": 2, "stalled:fill": 3 }, "events": {} }
        }],
        "static_instructions": [
            { "pc": "0x1004", "disepc": 0, "begins_block": true, "line": null, "commits": 7,
              "own": { "units": 6, "spent": { "flushed:trap": 6 }, "events": {} } }
        ]
    }"#;
    let frames = profiles::frames(profile).expect("tables");
    let [functions, instructions] = &frames[..] else {
        panic!("two tables");
    };
    for (column, expected) in [
        ("name", "main"),
        ("object", ""),
        ("own_cycles", "1.5"),
        ("own_share", "0.15"),
        ("inclusive_cycles", "10"),
        ("inclusive_share", "1"),
        ("computing_cycles", "0.25"),
        ("stalled_cycles", "1.25"),
        ("drained_cycles", "0"),
    ] {
        assert_eq!(cells(functions, column), [expected], "{column}");
    }
    assert_eq!(cells(instructions, "flushed_cycles"), ["1.5"]);
    // An earlier version named no functions here.
    assert_eq!(cells(instructions, "function"), [""]);
    assert_eq!(cells(instructions, "begins_block"), ["true"]);
}

#[test]
fn members_have_their_object_and_offset() {
    let file = br#"{
        "format": "hps-profile", "format_version": 1,
        "header": {
            "program": "p", "program_hash": "", "version": "0.1.0", "configuration": {}, "kind": "instruction",
            "unit": "cycles", "parts": 12, "total": 24, "summary": null,
            "objects": [{ "name": "/lib/c.so", "build_id": null, "load_bias": "0x10000",
                          "code": [{ "start": "0x10000", "end": "0x11000" }] }]
        },
        "members": [
            { "member": "0x100a4+2", "weight": 18 },
            { "member": "0x20a4", "weight": 6 }
        ]
    }"#;
    let text = std::str::from_utf8(file).expect("text");
    let frames = profiles::frames(file).expect("a table");
    let frame = &frames[0];
    assert_eq!(cells(frame, "member"), ["0x100a4+2", "0x20a4"]);
    assert_eq!(cells(frame, "address"), ["0x100a4", "0x20a4"]);
    assert_eq!(cells(frame, "object"), ["/lib/c.so", ""]);
    assert_eq!(cells(frame, "offset"), ["0xa4", ""]);
    assert_eq!(cells(frame, "weight"), ["1.5", "0.5"]);
    assert_eq!(cells(frame, "share"), ["0.75", "0.25"]);
    // A total that is not the sum is damage.
    let damaged = text.replace("\"total\": 24", "\"total\": 25");
    assert!(profiles::frames(damaged.as_bytes()).is_err());
    for (wrong, said) in [
        ("[]", "no file of results"),
        ("{", "no JSON"),
        (r#"{"format":"hps-x"}"#, "`hps-x`"),
    ] {
        let error = profiles::frames(wrong.as_bytes()).expect_err("no profile");
        assert!(error.to_string().contains(said), "{error}");
    }
}
