//! Rows as CSV: one line a point, flat columns.

use hps_experiments::Row;

use crate::PlotError;

const COLUMNS: [&str; 33] = [
    "id",
    "version",
    "program",
    "program_hash",
    "input",
    "isa",
    "profile",
    "burst_events",
    "sparsity_events",
    "one_in",
    "machine",
    "machine_fingerprint",
    "accuracy_renormalized",
    "accuracy_capped",
    "members_exact",
    "members_sampled",
    "samples",
    "population",
    "baseline_cycles",
    "cycles",
    "overhead",
    "instructions",
    "inserted_instructions",
    "handler_instructions",
    "status",
    "failure",
    "overhead_half_width",
    "sampled_units",
    "sampled_units_with_insertions",
    "sampling_period",
    "sampling_warm_up",
    "sampling_unit",
    "core",
];

/// All rows as CSV with a header line (RFC 4180). Accuracies and overhead are fractions, not
/// percent; what a point lacks is an empty field; `status` is `ok` or `failed`. The columns about sampled
/// timing are empty where every cycle was simulated; elsewhere cycles are estimates, and the overhead's
/// 95% confidence interval reaches `overhead_half_width` to both sides. `core` says how the machine was simulated
/// (`cycle` or `instruction`).
///
/// # Errors
/// [`PlotError::Csv`] if the encoder refuses.
pub fn to_csv(rows: &[Row]) -> Result<String, PlotError> {
    let fault = |e: &dyn std::fmt::Display| PlotError::Csv(e.to_string());
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(|e| fault(&e))?;
    for row in rows {
        writer.write_record(record(row)).map_err(|e| fault(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| fault(&e))?;
    String::from_utf8(bytes).map_err(|e| fault(&e))
}

fn record(row: &Row) -> [String; COLUMNS.len()] {
    let a = row.accuracy.as_ref();
    let t = row.timing.as_ref();
    let s = row.sampled();
    let real = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
    let count = |v: Option<u64>| v.map(|v| v.to_string()).unwrap_or_default();
    [
        row.id.clone(),
        row.version.clone(),
        row.program.clone(),
        row.program_hash.clone(),
        row.input.clone(),
        row.isa.clone(),
        row.profile.name().to_string(),
        row.burst.to_string(),
        row.sparsity.to_string(),
        row.one_in.to_string(),
        row.machine.clone(),
        row.machine_fingerprint.clone(),
        real(a.map(|a| a.renormalized)),
        real(a.map(|a| a.capped)),
        count(a.map(|a| a.members_exact)),
        count(a.map(|a| a.members_sampled)),
        count(a.map(|a| a.samples)),
        count(a.map(|a| a.population)),
        count(t.map(|t| t.baseline_cycles)),
        count(t.map(|t| t.cycles)),
        real(t.map(|t| t.overhead)),
        count(t.map(|t| t.instructions)),
        count(t.map(|t| t.inserted_instructions)),
        count(t.map(|t| t.handler_instructions)),
        if row.failure.is_some() {
            "failed"
        } else {
            "ok"
        }
        .to_string(),
        row.failure.clone().unwrap_or_default(),
        real(s.map(|s| s.half_width)),
        count(s.map(|s| s.units)),
        count(s.map(|s| s.units_with_insertions)),
        count(s.map(|s| s.plan.period)),
        count(s.map(|s| s.plan.warm_up)),
        count(s.map(|s| s.plan.unit)),
        t.map(|t| t.core.name().to_string()).unwrap_or_default(),
    ]
}
