//! Numbers of a reproduction as CSV (RFC 4180), with a header line.

use hps_experiments::UnitRecord;
use hps_experiments::claims::Claim;
use hps_experiments::figure7;
use hps_experiments::schemes::Part;

use crate::PlotError;
use crate::csv::encode;

/// Every measurement, one in a line; `core` says how the machine was simulated, if anything was timed. The
/// machine's configuration, which is long, is in the page and in `units.jsonl`, which has the same ids.
pub(crate) fn measurements(records: &[UnitRecord]) -> Result<String, PlotError> {
    let head = [
        "id",
        "version",
        "study",
        "program",
        "program_hash",
        "input",
        "isa",
        "machine",
        "profile",
        "scheme",
        "burst_events",
        "one_in",
        "setting",
        "x",
        "measure",
        "value",
        "interval_95",
        "failure",
        "core",
    ];
    let mut lines = Vec::new();
    for r in records {
        let unit = [
            &r.id,
            &r.version,
            &r.study,
            &r.program,
            &r.program_hash,
            &r.input,
            &r.isa,
            &r.machine,
        ]
        .map(String::clone);
        if let Some(why) = &r.failure {
            let mut line = unit.to_vec();
            line.resize(head.len() - 2, String::new());
            line.extend([why.clone(), r.core.name().to_string()]);
            lines.push(line);
        }
        for m in &r.measurements {
            let mut line = unit.to_vec();
            // A study may measure programs of its own.
            (line[3], line[6]) = (m.program.clone(), m.isa.clone());
            line.extend([
                m.profile.map_or("", |kind| kind.name()).to_string(),
                m.scheme.clone(),
                optional(m.burst),
                optional(m.one_in),
                m.setting.clone(),
                optional(m.x),
                m.measure.clone(),
                m.value.to_string(),
                optional(m.interval),
                String::new(),
                r.core.name().to_string(),
            ]);
            lines.push(line);
        }
    }
    encode(&head, &lines)
}

/// The bars of Figure 7: cycles, and what each part costs in cycles.
pub(super) fn bars(records: &[UnitRecord]) -> Result<String, PlotError> {
    let mut head = vec![
        "program",
        "isa",
        "profile",
        "scheme",
        "baseline_cycles",
        "whole_cycles",
    ];
    let parts = Part::ALL.map(|part| format!("{}_cycles", part.name()));
    head.extend(parts.iter().map(String::as_str));
    head.extend(["overhead", "cycles_of_burst_ends"]);
    let line = |bar: figure7::Bar| {
        let mut line = vec![
            bar.program.clone(),
            bar.isa.clone(),
            bar.kind.name().to_string(),
            bar.scheme.name().to_string(),
            bar.baseline_cycles.to_string(),
            bar.whole_cycles.to_string(),
        ];
        // A part that a scheme does not have stays empty.
        line.extend(Part::ALL.map(|part| optional(bar.cycles(part))));
        line.push(bar.overhead().to_string());
        line.push(optional(bar.burst_ends));
        line
    };
    encode(&head, figure7::bars(records).into_iter().map(line))
}

/// The claims with their verdicts.
pub(crate) fn claims(claims: &[Claim]) -> Result<String, PlotError> {
    let head = [
        "isa",
        "claim",
        "paper",
        "here",
        "verdict",
        "rule",
        "refuted_by",
    ];
    let line = |c: &Claim| {
        let verdict = c.verdict.to_string();
        let line = [
            &c.isa,
            &c.claim,
            &c.paper,
            &c.here,
            &verdict,
            &c.rule,
            &c.refuted_by,
        ];
        line.map(String::clone).to_vec()
    };
    encode(&head, claims.iter().map(line))
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
