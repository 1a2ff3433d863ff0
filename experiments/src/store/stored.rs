//! Stores that are read and not gone on with, of this and of earlier versions.

use std::collections::HashMap;
use std::path::Path;

use super::{Lines, Record, StoreError};
use crate::measurement::UnitRecord;
use crate::row::Row;

/// Records of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<R> {
    /// The records in the order of the file. A record that a later line measured again is the later one; a failure
    /// never replaces a result.
    pub records: Vec<R>,
    /// Warnings about the file, each a sentence.
    pub warnings: Vec<String>,
}

/// Records of either kind of store.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyStore {
    /// `results.jsonl`.
    Points(Stored<Row>),
    /// `units.jsonl`.
    Units(Stored<UnitRecord>),
}

/// Reads a store, which another process may write, and says which kind it is. Lines of versions that wrote no checksums
/// are read, too.
///
/// # Errors
/// [`StoreError`]: the file cannot be read, holds no record, or a line is damaged.
pub fn read_store(path: &Path) -> Result<AnyStore, StoreError> {
    let mut lines = Lines::open(path)?;
    while lines.next()?.is_some() {
        if lines.is_blank() {
            continue;
        }
        let (first, _): (serde_json::Value, bool) = lines.decode_old()?;
        return match first.get("measurements").is_some() {
            true => Ok(AnyStore::Units(read(path)?)),
            false => Ok(AnyStore::Points(read(path)?)),
        };
    }
    Err(StoreError::Empty {
        path: path.to_path_buf(),
    })
}

fn read<R: Record>(path: &Path) -> Result<Stored<R>, StoreError> {
    let mut lines = Lines::open(path)?;
    let mut records: Vec<R> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut unverified = 0;
    while lines.next()?.is_some() {
        if lines.is_blank() {
            continue;
        }
        let (record, is_verified): (R, bool) = lines.decode_old()?;
        unverified += usize::from(!is_verified);
        match places.get(record.id()) {
            Some(&at) if record.failed() && !records[at].failed() => {}
            Some(&at) => records[at] = record,
            None => {
                places.insert(record.id().to_string(), records.len());
                records.push(record);
            }
        }
    }
    let mut warnings = Vec::new();
    if unverified > 0 {
        warnings.push(format!(
            "{}: {unverified} lines have no checksum, as an early version wrote them",
            path.display()
        ));
    }
    if !lines.is_blank() {
        warnings.push(format!(
            "{}, line {}: unfinished last line of an interrupted run left out",
            path.display(),
            lines.number() + 1
        ));
    }
    Ok(Stored { records, warnings })
}

#[cfg(test)]
mod tests {
    use hps_profile::ProfileKind;

    use super::*;
    use crate::store::line;

    fn stored(text: &str) -> Result<AnyStore, StoreError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        std::fs::write(&path, text).expect("written");
        read_store(&path)
    }

    fn points(text: &str) -> Stored<Row> {
        match stored(text).expect("a store") {
            AnyStore::Points(stored) => stored,
            AnyStore::Units(_) => panic!("these are points"),
        }
    }

    fn row(program: &str, accuracy: f64) -> Row {
        Row::example(program, ProfileKind::Method, (1, 10), accuracy)
    }

    fn failed(program: &str) -> Row {
        Row {
            accuracy: None,
            failure: Some("it stopped".to_string()),
            ..row(program, 0.0)
        }
    }

    fn lines(rows: &[Row]) -> String {
        rows.iter()
            .map(|row| line::encode(row).expect("a line"))
            .collect()
    }

    #[test]
    fn records_come_back_in_their_order_and_results_outlive_failures() {
        let (a, b, c) = (row("a", 0.5), row("b", 0.25), row("c", 0.75));
        let written = [
            failed("b"),
            a.clone(),
            b.clone(),
            c.clone(),
            failed("a"),
            row("c", 1.0),
        ];
        let read = points(&(lines(&written) + "\n"));
        assert_eq!(read.records, [b, a, row("c", 1.0)]);
        assert!(read.warnings.is_empty(), "{:?}", read.warnings);
        assert_eq!(points(&lines(&[failed("d")])).records, [failed("d")]);
    }

    #[test]
    fn an_unfinished_last_line_is_left_out_and_reported() {
        let read = points(&(lines(&[row("a", 0.5)]) + "{\"id\":\"ab"));
        assert_eq!(read.records.len(), 1);
        assert!(read.warnings[0].contains("line 2"), "{:?}", read.warnings);
    }

    #[test]
    fn lines_without_checksums_are_read_and_reported() {
        let text = serde_json::to_string(&row("a", 0.5)).expect("JSON") + "\n";
        let read = points(&text);
        assert_eq!(read.records, [row("a", 0.5)]);
        assert!(read.warnings[0].contains("no checksum"));
        // A line of the first version of the lab: no phases, set-ups, cores.
        let first = r#"{"id":"1","version":"0.1.0","program":"a","program_hash":"","input":"small","isa":"riscv64",
            "profile":"method","burst":1,"sparsity":9,"one_in":10,"machine":"m","machine_fingerprint":"()",
            "accuracy":null,"timing":{"baseline_cycles":100,"cycles":103,"overhead":0.03,"instructions":50,
            "inserted_instructions":1,"handler_instructions":2},"failure":null}"#;
        let read = points(&(first.replace('\n', "") + "\n"));
        assert_eq!(read.records[0].timing.expect("timed").cycles, 103);
    }

    #[test]
    fn units_are_told_from_points() {
        let unit = UnitRecord {
            id: "1".to_string(),
            version: String::new(),
            study: "s".to_string(),
            program: String::new(),
            program_hash: String::new(),
            isa: String::new(),
            input: String::new(),
            machine: String::new(),
            machine_fingerprint: String::new(),
            core: hps_pipeline::core::CoreKind::Cycle,
            measurements: Vec::new(),
            failure: None,
        };
        let read = stored(&line::encode(&unit).expect("a line")).expect("a store");
        let expected = Stored {
            records: vec![unit],
            warnings: Vec::new(),
        };
        assert_eq!(read, AnyStore::Units(expected));
    }

    #[test]
    fn what_is_no_store_is_named_with_its_line() {
        let said = |text: &str| stored(text).expect_err("no store").to_string();
        assert!(said("").contains("results.jsonl: holds no result"));
        assert!(said("{\"id\":1}\n").contains("results.jsonl:1: not a result row"));
        let changed = lines(&[row("a", 0.5)]).replace("0.5", "0.7");
        assert!(said(&changed).contains("checksum"));
        let missing = read_store(Path::new("no/such/results.jsonl")).expect_err("missing");
        assert!(missing.to_string().contains("no/such/results.jsonl"));
    }
}
