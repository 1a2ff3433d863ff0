//! Reading stored rows, whole and damaged.

use std::fs;
use std::path::PathBuf;

use crate::support::{Timed, grid};
use hps_plots::{PlotError, read_results, read_rows};

fn stored(tail: &[u8]) -> (tempfile::TempDir, PathBuf, usize) {
    let rows = grid(&["alpha"], Timed::PaperPoints);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.jsonl");
    let mut bytes: Vec<u8> = Vec::new();
    for row in &rows {
        bytes.extend(hps_experiments::line::encode(row).unwrap().into_bytes());
    }
    bytes.extend_from_slice(tail);
    fs::write(&path, bytes).unwrap();
    (dir, path, rows.len())
}

#[test]
fn rows_come_back_as_they_were() {
    let (_dir, path, _) = stored(b"\n");
    let file = read_results(&path).unwrap();
    assert_eq!(file.rows, grid(&["alpha"], Timed::PaperPoints));
    assert_eq!(file.warning, None);
}

#[test]
fn an_unfinished_last_line_is_left_out_and_reported() {
    let (_dir, path, count) = stored(b"{\"id\":\"ab\xc3");
    let file = read_results(&path).unwrap();
    assert_eq!(file.rows.len(), count);
    let warning = file.warning.unwrap();
    assert!(
        warning.contains(&format!("line {}", count + 1)),
        "{warning}"
    );
    assert_eq!(read_rows(&path).unwrap().len(), count);
}

#[test]
fn other_damage_is_an_error_with_its_line() {
    let (_dir, path, count) = stored(b"{\"id\":1}\n\n");
    let fault = read_rows(&path).unwrap_err();
    assert!(
        matches!(fault, PlotError::DamagedLine { line, .. } if line == count + 1),
        "{fault}"
    );
    assert!(fault.to_string().contains("results.jsonl"), "{fault}");
}

#[test]
fn a_missing_file_is_named() {
    let fault = read_rows(&PathBuf::from("no/such/results.jsonl")).unwrap_err();
    assert!(
        fault.to_string().contains("no/such/results.jsonl"),
        "{fault}"
    );
}
