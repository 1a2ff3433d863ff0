//! The paper's Figure 6: what each program does.

use hps_pipeline::core::CoreKind;
use hps_productions::{GridProbe, ProgramStatistics, UniqueAddresses};

use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::timed::watched;
use hps_lab::Program;

/// The name of the study in results.
pub const STUDY: &str = "figure6";

/// The columns, as measures.
pub const COLUMNS: [&str; 9] = [
    "methods",
    "call_sites",
    "call_pairs",
    "calls",
    "branches",
    "back_edges",
    "memory_references",
    "instructions",
    "unique_addresses",
];

/// A unit for each program.
#[must_use]
pub fn units(programs: &[Program]) -> Vec<Unit<'_>> {
    programs.iter().map(unit).collect()
}

fn unit(program: &Program) -> Unit<'_> {
    Unit {
        study: STUDY,
        title: format!("{}: statistics", program.title()),
        key: serde_json::Value::Null,
        program,
        effort: Effort::runs(1.0, 0.0, CoreKind::Cycle),
        run: Box::new(move || measure(program)),
    }
}

/// Runs a program functionally and counts what it does.
///
/// # Errors
/// Why the program cannot be run, or how it ended if not well.
pub fn statistics(program: &Program) -> Result<ProgramStatistics, String> {
    let grid = GridProbe::with_memory(&[], None).map_err(|e| e.to_string())?;
    let ((grid, unique), instructions) = watched(program, (grid, UniqueAddresses::default()))?;
    let result = grid.finish();
    let methods = result.method_map(&program.image.symbols);
    Ok(result.statistics(&methods, instructions, Some(unique.count())))
}

fn measure(program: &Program) -> Result<Vec<Measurement>, String> {
    let s = statistics(program)?;
    let values = [
        s.methods,
        s.call_sites,
        s.call_pairs,
        s.calls,
        s.branches,
        s.back_edges,
        s.memory_references.unwrap_or(0),
        s.instructions,
        s.unique_addresses.unwrap_or(0),
    ];
    let measured = COLUMNS.iter().zip(values);
    let measurement = |(column, value): (&&str, u64)| {
        Measurement::new(program, "exhaustive", column, value as f64)
    };
    Ok(measured.map(measurement).collect())
}
