//! Rows as CSV: one line a point, flat columns.

use std::borrow::Cow;

use hps_experiments::Row;

use crate::PlotError;

const COLUMNS: [&str; 47] = [
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
    "machine_id",
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
    "phases",
    "phases_mean",
    "phases_capped_mean",
    "phases_deviation",
    "phases_half_width",
    "phases_silent",
    "set_ups",
    "set_ups_mean",
    "set_ups_deviation",
    "set_ups_half_width",
    "set_ups_least",
    "set_ups_greatest",
    "extra_misses",
    "root_hash",
];

/// All rows as CSV with a header line (RFC 4180). Accuracies and overhead are fractions, not
/// percent; what a point lacks is an empty field; `status` is `ok` or `failed`. The columns about sampled
/// timing are empty where every cycle was simulated; elsewhere cycles are estimates, and the overhead's
/// 95% confidence interval reaches `overhead_half_width` to both sides. `core` says how the machine was simulated
/// (`cycle` or `instruction`). `phases_mean` and the columns behind it are about renormalized accuracies over the phases of
/// the schedule, `set_ups_mean` and those behind it about overheads over set-ups; `extra_misses` are those of both level 1
/// caches with the collector beyond those without. `root_hash` is empty for a program without a root that has a lock file.
/// `machine_id` is that of [`machines_csv`].
///
/// # Errors
/// [`PlotError::Csv`] if the encoder refuses.
pub fn to_csv(rows: &[Row]) -> Result<String, PlotError> {
    let machines = machines(rows);
    let lines = rows.iter().map(|row| record(row, id_of(&machines, row)));
    encode(&COLUMNS, lines)
}

/// The machines of rows, each with its number from 1 on in the order of the rows, its name, and the text of all its
/// keys that its identity consists of.
///
/// # Errors
/// [`PlotError::Csv`] if the encoder refuses.
pub fn machines_csv(rows: &[Row]) -> Result<String, PlotError> {
    let machines = (1..).zip(machines(rows));
    let lines = machines.map(|(id, (name, fingerprint))| {
        [
            u64::to_string(&id),
            name.to_string(),
            fingerprint.to_string(),
        ]
    });
    encode(&["machine_id", "machine", "fingerprint"], lines)
}

/// A table as CSV with a header line (RFC 4180). Every CSV file of the lab is written here.
///
/// # Errors
/// [`PlotError::Csv`] if the encoder refuses.
pub(crate) fn encode<L: AsRef<[String]>>(
    head: &[&str],
    lines: impl IntoIterator<Item = L>,
) -> Result<String, PlotError> {
    let fault = |e: &dyn std::fmt::Display| PlotError::Csv(e.to_string());
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(head).map_err(|e| fault(&e))?;
    for line in lines {
        let fields = line.as_ref().iter().map(|text| field(text));
        for text in fields {
            writer.write_field(text.as_bytes()).map_err(|e| fault(&e))?;
        }
        writer.write_record(None::<&[u8]>).map_err(|e| fault(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| fault(&e))?;
    String::from_utf8(bytes).map_err(|e| fault(&e))
}

/// A field that a spreadsheet shows and does not compute: a text that would begin a formula has `'` before it. Numbers
/// stay numbers.
fn field(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// Names and fingerprints of the machines of rows, each once.
fn machines(rows: &[Row]) -> Vec<(&str, &str)> {
    let mut machines = Vec::new();
    for row in rows {
        let machine = (row.machine.as_str(), row.machine_fingerprint.as_str());
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    machines
}

/// The number of a row's machine.
fn id_of(machines: &[(&str, &str)], row: &Row) -> usize {
    let of_row = (row.machine.as_str(), row.machine_fingerprint.as_str());
    let at = machines.iter().position(|machine| *machine == of_row);
    at.map_or(0, |at| at + 1)
}

fn record(row: &Row, machine_id: usize) -> [String; COLUMNS.len()] {
    let a = row.accuracy.as_ref();
    let t = row.timing.as_ref();
    let s = row.sampled();
    let p = row.phases.as_ref();
    let u = t.and_then(|t| t.set_ups);
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
        machine_id.to_string(),
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
        count(p.map(|p| p.count() as u64)),
        real(p.map(|p| p.mean)),
        real(p.map(|p| p.capped)),
        real(p.map(|p| p.deviation)),
        real(p.and_then(|p| p.half_width)),
        count(p.map(|p| p.silent)),
        count(u.map(|u| u.count)),
        real(u.map(|u| u.mean)),
        real(u.map(|u| u.deviation)),
        real(u.map(|u| u.half_width)),
        real(u.map(|u| u.least)),
        real(u.map(|u| u.greatest)),
        t.and_then(|t| t.extra_misses)
            .map(|m| (m.instruction + m.data).to_string())
            .unwrap_or_default(),
        row.root_hash.clone().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreadsheets_compute_nothing() {
        let cells = [
            "=cmd|' /C calc'!A0",
            "@SUM(1+1)",
            "+1+1",
            "-x",
            "\tx",
            "\r=1",
        ];
        let numbers = ["-0.5", "+3", "1e-7", "-inf", "a=b", "", "–"];
        let lines = [
            cells.map(String::from).to_vec(),
            numbers.map(String::from).to_vec(),
        ];
        let text = encode(&["a"; 7], [&lines[1], &lines[1]]).expect("CSV");
        assert_eq!(
            text,
            "a,a,a,a,a,a,a\n-0.5,+3,1e-7,-inf,a=b,,–\n-0.5,+3,1e-7,-inf,a=b,,–\n"
        );
        for cell in &lines[0] {
            assert_eq!(field(cell), format!("'{cell}"));
            let text = encode(&["a"], [[cell.clone()]]).expect("CSV");
            let read = text.strip_prefix("a\n").expect("a header");
            assert!(read.trim_start_matches('"').starts_with('\''), "{text}");
        }
    }
}
