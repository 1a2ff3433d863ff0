//! The paper's Figure 6: what the programs do, beside those that they stand for.

use hps_experiments::UnitRecord;
use hps_experiments::figure6::{COLUMNS, STUDY};
use hps_experiments::paper::{PaperProgram, rows_for};

use super::isas;
use crate::chapter::{Chapter, ChapterTable};

const HEAD: [&str; 11] = [
    "Program",
    "Input, or the paper's program",
    "Methods",
    "Call sites",
    "Call pairs",
    "Calls, M",
    "Branches, M",
    "Back-edges, M",
    "References, M",
    "Instructions, M",
    "Addresses, K",
];

/// None without statistics.
pub(super) fn chapter(records: &[UnitRecord]) -> Option<Chapter> {
    let of = |r: &&UnitRecord| r.study == STUDY && r.failure.is_none();
    let records: Vec<&UnitRecord> = records.iter().filter(of).collect();
    if records.is_empty() {
        return None;
    }
    let tables = isas(records.iter().map(|r| r.isa.as_str()))
        .into_iter()
        .map(|isa| table(isa, &records))
        .collect();
    Some(Chapter {
        id: STUDY.to_string(),
        title: "Figure 6: what the programs do".to_string(),
        text: vec![
            "Each program is followed by those of the paper's Figure 6 in whose place it stands. Here methods, call \
             sites and pairs are those that were executed, branches are conditional branches and jumps, and an \
             address is an aligned granule of 8 bytes; the paper does not say. It prints no back-edges, and more \
             branches than instructions for vpr_place."
                .to_string(),
        ],
        figures: Vec::new(),
        tables,
    })
}

fn table(isa: &str, records: &[&UnitRecord]) -> ChapterTable {
    let mut table = ChapterTable::new(&format!("On {isa}"), 2, &HEAD);
    for record in records.iter().filter(|r| r.isa == isa) {
        let value = |column: &str| {
            let found = record.measurements.iter().find(|m| m.measure == column);
            found.map_or(f64::NAN, |m| m.value)
        };
        let mut row = vec![record.program.clone(), record.input.clone()];
        row.extend(COLUMNS.iter().map(|column| match *column {
            "methods" | "call_sites" | "call_pairs" => format!("{:.0}", value(column)),
            "unique_addresses" => format!("{:.1}", value(column) / 1e3),
            _ => format!("{:.2}", value(column) / 1e6),
        }));
        table.rows.push(row);
        let stands_for = hps_experiments::stands_for(&record.program).unwrap_or_default();
        table
            .rows
            .extend(rows_for(&stands_for).into_iter().map(paper_row));
    }
    table
}

fn paper_row(p: &PaperProgram) -> Vec<String> {
    vec![
        String::new(),
        format!("paper: {}", p.name),
        p.methods.to_string(),
        p.call_sites.to_string(),
        p.call_pairs.to_string(),
        p.calls_millions.to_string(),
        p.branches_millions.to_string(),
        "–".to_string(),
        p.references_millions.to_string(),
        p.instructions_millions.to_string(),
        p.addresses_thousands.to_string(),
    ]
}
