//! Tables of results: each file is written by the command, and validated against its JSON Schema.

use std::fs;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};

use crate::support::json_schema::{errors, expect_valid, schema};
use crate::support::{Hps, exit_with, write_text};

/// A sweep of four points that times two of them.
const SWEEP: &str = "(programs: [], own_programs: [(path: \"ok\")], profiles: [method, call_pair], bursts: [1], \
                     one_in: [10, 100])";

fn json(file: &str) -> Value {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{file}: {e}"));
    serde_json::from_str(&text).expect("JSON")
}

/// Refuses a JSON document that does not obey the schema of a table; gives its rows.
#[track_caller]
fn valid_rows(table: &str, document: &Value) -> Vec<Value> {
    expect_valid(table, document);
    document["rows"].as_array().expect("rows").clone()
}

/// Rows in one order: a store is sorted by origin, and a report has the order in which its command asks.
fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(Value::to_string);
    rows
}

/// The lines of a CSV file in one order.
fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// The rows of a JSON file in one order.
fn sorted_rows(file: &str) -> Vec<Value> {
    sorted(json(file)["rows"].as_array().expect("rows").clone())
}

/// A value of a Parquet file as JSON.
fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Str(text) => json!(text),
        Field::ULong(count) => json!(count),
        Field::Long(number) => json!(number),
        Field::Double(number) => json!(number),
        Field::Bool(flag) => json!(flag),
        other => panic!("{other}: no table has such a value"),
    }
}

/// Refuses a Parquet file whose rows are not these; numbers are compared as they are.
#[track_caller]
fn expect_parquet(file: &str, table: &str, rows: &[Value]) {
    let read = SerializedFileReader::new(fs::File::open(file).expect(file)).expect("Parquet");
    let about = read.metadata().file_metadata();
    let pairs = about.key_value_metadata().expect("metadata");
    let has = |key: &str, value: &str| {
        let mut pairs = pairs.iter();
        pairs.any(|pair| pair.key == key && pair.value.as_deref() == Some(value))
    };
    let version = schema(table)["properties"]["format_version"]["const"].to_string();
    assert!(
        has("hps.schema", table) && has("hps.schema_version", &version),
        "{pairs:?}"
    );
    let found = read.get_row_iter(None).expect("rows");
    let row = |row: Row| {
        row.get_column_iter()
            .map(|(name, f)| (name.clone(), value(f)))
            .collect()
    };
    let found: Vec<Value> = found.map(|found| row(found.expect("a row"))).collect();
    assert!(sorted(found) == sorted(rows.to_vec()), "{file}");
}

/// Refuses a CSV file whose columns are not those of a table in their order; gives its text.
#[track_caller]
fn expect_csv(file: &str, table: &str, rows: usize) -> String {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let names = &schema(table)["properties"]["rows"]["items"]["required"];
    let head: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
    assert_eq!(json!(head), *names, "{file}");
    assert_eq!(text.lines().count(), 1 + rows, "{file}");
    text
}

/// A file of results as each of the three formats: all of them obey the schema and hold one and the same.
#[track_caller]
fn converted(hps: &Hps, results: &str, rows: &str, table: &str) -> Vec<Value> {
    let at = |end: &str| hps.path(&format!("{table}.{end}"));
    for end in ["json", "csv", "parquet"] {
        let out = at(end);
        hps.run(&["results", "convert", results, "--rows", rows, "--out", &out])
            .expect_code(0);
    }
    let all = valid_rows(table, &json(&at("json")));
    let csv = expect_csv(&at("csv"), table, all.len());
    expect_parquet(&at("parquet"), table, &all);
    let printed = hps.run(&["results", "convert", results, "--rows", rows]);
    assert_eq!(printed.expect_code(0), csv);
    all
}

fn swept() -> Hps {
    let hps = Hps::new();
    hps.program("ok", &exit_with(0));
    fs::write(hps.path("sweep.ron"), SWEEP).expect("a definition");
    hps
}

#[test]
fn points_and_machines_of_a_sweep_are_tables() {
    let hps = swept();
    for file in ["t.parquet", "t.csv", "t.json"] {
        hps.run(&["sweep", "sweep.ron", "--table", file])
            .expect_code(0);
    }
    let folder = hps.path("hps-results");
    let rows = converted(&hps, &folder, "points", "hps-points");
    assert_eq!(rows.len(), 4);
    assert!(
        rows.iter()
            .all(|row| row["program"] == "ok" && row["status"] == "ok")
    );
    assert!(rows.iter().any(|row| row["cycles"].as_u64() > Some(0)));
    // What the sweep writes itself is what is converted of its store.
    assert_eq!(sorted_rows(&hps.path("t.json")), sorted(rows.clone()));
    expect_parquet(&hps.path("t.parquet"), "hps-points", &rows);
    let csv = expect_csv(&hps.path("t.csv"), "hps-points", 4);
    let beside = fs::read_to_string(hps.path("hps-results/results.csv")).expect("CSV");
    assert_eq!(csv, beside);
    let machines = converted(&hps, &folder, "machines", "hps-machines");
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0]["machine"], rows[0]["machine"]);
    // A store of an early version: no checksums, no phases.
    let store = fs::read_to_string(hps.path("hps-results/results.jsonl")).expect("a store");
    let early = store.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).expect("JSON");
        let object = row.as_object_mut().expect("an object");
        object.remove("crc32");
        object.remove("phases");
        row.to_string() + "\n"
    });
    fs::write(hps.path("early.jsonl"), early.collect::<String>()).expect("written");
    let run = hps.run(&["results", "convert", "early.jsonl", "--to", "json"]);
    assert!(
        run.stderr.contains("4 lines have no checksum"),
        "{}",
        run.stderr
    );
    let early: Value = serde_json::from_str(&run.expect_code(0)).expect("JSON");
    let early = valid_rows("hps-points", &early);
    for (early, row) in early.iter().zip(&rows) {
        assert_eq!(early["cycles"], row["cycles"]);
        assert_eq!(early["phases_mean"], Value::Null);
    }
}

#[test]
fn measurements_of_a_leaderboard_are_tables() {
    let hps = swept();
    let words = [
        "leaderboard",
        "./ok",
        "--kind",
        "time",
        "--with",
        "nci",
        "--out",
        "board",
    ];
    hps.run(&[&words[..], &["--table", "t.json"]].concat())
        .expect_code(0);
    let store = hps.path("board/units.jsonl");
    let rows = converted(&hps, &store, "measurements", "hps-measurements");
    assert!(rows.len() > 5 && rows.iter().all(|row| row["value"].is_number()));
    assert_eq!(sorted_rows(&hps.path("t.json")), sorted(rows.clone()));
    let beside = fs::read_to_string(hps.path("board/measurements.csv")).expect("CSV");
    let csv = fs::read_to_string(hps.path("hps-measurements.csv")).expect("CSV");
    assert_eq!(sorted_lines(&csv), sorted_lines(&beside));
    assert!(converted(&hps, &store, "figure7", "hps-figure7").is_empty());
    let board = converted(&hps, &store, "board", "hps-board");
    assert_eq!(board.len(), 1);
    assert_eq!(board[0]["profiler"], "nci");
    assert_eq!(board[0]["form"], "watching");
    let measured =
        |row: &&Value| row["measure"] == "error_ratio" && row["setting"] == "instruction";
    let measured = rows.iter().find(measured).expect("an error");
    assert_eq!(board[0]["instruction_error"], measured["value"]);
    // Nothing is charged.
    assert_eq!(board[0]["overhead"], Value::Null);
    let beside = fs::read_to_string(hps.path("board/board.csv")).expect("CSV");
    let csv = fs::read_to_string(hps.path("hps-board.csv")).expect("CSV");
    assert_eq!(csv, beside);
}

#[test]
fn claims_and_bars_of_an_evaluation_are_tables() {
    let hps = swept();
    let words = [
        "reproduce",
        "hps-2005",
        "--program",
        "./ok",
        "--only",
        "figure7",
        "--out",
        "paper",
    ];
    hps.run(&[&words[..], &["--json=claims.json", "--table", "t.parquet"]].concat())
        .expect_code(0);
    let claims = valid_rows("hps-claims", &json(&hps.path("claims.json")));
    assert!(claims.len() > 10);
    expect_csv(&hps.path("paper/claims.csv"), "hps-claims", claims.len());
    let store = hps.path("paper/units.jsonl");
    let bars = converted(&hps, &store, "figure7", "hps-figure7");
    assert_eq!(
        expect_csv(&hps.path("paper/figure7.csv"), "hps-figure7", bars.len())
            .lines()
            .count(),
        1 + bars.len()
    );
    let rows = converted(&hps, &store, "measurements", "hps-measurements");
    expect_parquet(&hps.path("t.parquet"), "hps-measurements", &rows);
    // Standard output is JSON alone.
    let printed = hps.run(&[&words[..], &["--json"]].concat()).expect_code(0);
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(valid_rows("hps-claims", &printed), claims);
}

#[test]
fn functions_instructions_and_members_of_a_profile_are_tables() {
    let hps = swept();
    hps.run(&["profile", "--json=p.json", "--out", "kept", "./ok"])
        .expect_code(0);
    let profile = json(&hps.path("p.json"));
    let file = hps.path("p.json");
    let instructions = converted(&hps, &file, "instructions", "hps-instructions");
    // Three instructions, which share all cycles.
    assert_eq!(instructions.len(), 3);
    let sum = |rows: &[Value], column: &str| -> f64 {
        rows.iter()
            .map(|row| row[column].as_f64().expect("a number"))
            .sum()
    };
    let cycles = profile["cycles"].as_f64().expect("cycles");
    assert!((sum(&instructions, "own_cycles") - cycles).abs() < 1e-9 * cycles);
    assert!((sum(&instructions, "own_share") - 1.0).abs() < 1e-9);
    let states = ["computing", "stalled", "flushed", "drained"];
    let of_states = states.map(|state| sum(&instructions, &format!("{state}_cycles")));
    assert!((of_states.iter().sum::<f64>() - cycles).abs() < 1e-9 * cycles);
    let functions = converted(&hps, &file, "functions", "hps-functions");
    assert!((sum(&functions, "own_cycles") - cycles).abs() < 1e-9 * cycles);
    for row in &instructions {
        assert_eq!(row["function"], functions[0]["name"]);
    }
    for row in &instructions {
        // The program is one object, which lies where its file says.
        assert_eq!(row["offset"], row["pc"]);
        assert!(
            row["object"]
                .as_str()
                .is_some_and(|object| object.ends_with("ok")),
            "{row}"
        );
        assert_eq!(row["process"], 1);
    }
    // The command itself writes these rows, also with the profiles of all processes.
    hps.run(&["profile", "--table", "t.parquet", "./ok"])
        .expect_code(0);
    expect_parquet(&hps.path("t.parquet"), "hps-instructions", &instructions);
    let all = [
        "profile",
        "--process",
        "all",
        "--json=all.json",
        "--table",
        "all-table.json",
        "./ok",
    ];
    hps.run(&all).expect_code(0);
    assert_eq!(
        sorted_rows(&hps.path("all-table.json")),
        sorted(instructions.clone())
    );
    let of_all = converted(
        &hps,
        &hps.path("all.json"),
        "instructions",
        "hps-instructions",
    );
    assert_eq!(sorted(of_all), sorted(instructions.clone()));
    let members = converted(
        &hps,
        &hps.path("kept/instruction.json"),
        "members",
        "hps-members",
    );
    assert_eq!(members.len(), 3);
    assert!((sum(&members, "weight") - cycles).abs() < 1e-9 * cycles);
}

#[test]
fn simulations_and_samples_are_json_of_their_schemas() {
    let hps = swept();
    let program = hps.program("hi", &[write_text(), exit_with(0)].concat());
    let one = |words: &[&str], table: &str| -> Value {
        let file = hps.path(&format!("{table}.json"));
        let json = format!("--json={file}");
        let told = hps
            .run(&[words, &[&*json, &*program]].concat())
            .expect_code(0);
        assert!(
            told.starts_with("hi\n") && told.lines().count() > 5,
            "{told}"
        );
        let rows = valid_rows(table, &self::json(&file));
        // Printed, it is all that standard output has.
        let printed = hps
            .run(&[words, &["--json", &*program]].concat())
            .expect_code(0);
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(valid_rows(table, &printed), rows);
        assert_eq!(rows.len(), 1);
        rows[0].clone()
    };
    let shadows = one(
        &["shadow", "simulate", "--end-to-end"],
        "hps-shadow-simulation",
    );
    assert_eq!(shadows["instructions"], 11);
    assert_eq!(shadows["shadows_on"], "host");
    let shim = one(&["shim", "simulate"], "hps-shim-simulation");
    assert_eq!(shim["instructions"], 11);
    assert_eq!(shim["placement"], "smt");
    hps.run(&["dcpi", "collect", "--period", "10..20", &*program])
        .expect_code(0);
    let printed = hps.run(&["dcpi", "report", "--json"]).expect_code(0);
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    let rows = valid_rows("hps-dcpi-samples", &printed);
    let shares: f64 = rows
        .iter()
        .map(|row| row["share"].as_f64().expect("a share"))
        .sum();
    assert!((shares - 1.0).abs() < 1e-9, "{rows:?}");
    let run = hps.run(&["dcpi", "report", "--as", "summary", "--json"]);
    assert!(
        run.stderr.contains("--json goes with --as prof"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_cannot_be_a_table_is_refused_with_a_remedy() {
    let hps = swept();
    fs::write(hps.path("notes"), "a text\n").expect("written");
    fs::write(hps.path("list.json"), "[1]\n").expect("written");
    fs::write(hps.path("empty.jsonl"), "").expect("written");
    fs::create_dir(hps.path("folder")).expect("made");
    for (words, said) in [
        (
            &["sweep", "sweep.ron", "--table", "t.xls"][..],
            "let it end in .parquet, .csv or .json",
        ),
        (&["results", "convert", "notes"], "is no JSON document"),
        (
            &["results", "convert", "list.json"],
            "is no file of results",
        ),
        (&["results", "convert", "empty.jsonl"], "holds no result"),
        (
            &["results", "convert", "folder"],
            "holds neither results.jsonl nor units.jsonl",
        ),
        (&["results", "convert", "missing.jsonl"], "missing.jsonl"),
        (
            &["results", "convert", "list.json", "--to", "parquet"],
            "--out FILE.parquet",
        ),
        (
            &["results", "convert", "list.json", "--out", "notes"],
            "--force",
        ),
    ] {
        let run = hps.run(words);
        assert_eq!(run.code, 2, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{words:?}: {}", run.stderr);
    }
    // Nothing ran before the name was refused.
    assert!(!Path::new(&hps.path("hps-results")).exists());
    hps.run(&["sweep", "sweep.ron", "--no-timing"])
        .expect_code(0);
    let run = hps.run(&["results", "convert", "hps-results", "--rows", "bars"]);
    assert!(run.stderr.contains("points, machines"), "{}", run.stderr);
}

#[test]
fn what_breaks_a_schema_is_found() {
    let schema = schema("hps-machines");
    let row = json!({ "machine_id": 1, "machine": "m", "fingerprint": null });
    let document = |row: &Value| json!({ "format": "hps-machines", "format_version": 1, "version": "0", "rows": [row] });
    assert!(errors(&schema, &document(&row), "").is_empty());
    for (key, value) in [
        ("machine_id", json!(-1)),
        ("machine_id", json!(1.5)),
        ("machine", json!(7)),
        ("more", json!(null)),
    ] {
        let mut wrong = row.clone();
        wrong[key] = value;
        assert_eq!(errors(&schema, &document(&wrong), "").len(), 1, "{wrong}");
    }
    let mut lacking = row.clone();
    lacking
        .as_object_mut()
        .expect("an object")
        .remove("machine");
    assert_eq!(errors(&schema, &document(&lacking), "").len(), 1);
    let mut later = document(&row);
    later["format_version"] = json!(2);
    assert_eq!(errors(&schema, &later, "").len(), 1);
}
