//! `dcpicalc`: a procedure by instruction, as in the paper's figure 2, and its summary, as in figure 4.

use std::fmt::Write;

use super::percent;
use crate::analysis::{Culprit, InstructionRow, Kind, Procedure, Summary};

/// Most lines of bubbles in front of an instruction that stalls: longer stalls are told by their number.
const MOST_BUBBLES: usize = 4;

/// The procedure by instruction. Above each instruction that stalls are lines with the letters of the causes, each for
/// half a cycle up to a limit.
#[must_use]
pub fn calc(procedure: &Procedure) -> String {
    let summary = Summary::of(procedure);
    let mut out = format!("{}\n", procedure.name);
    heading(&summary, &mut out);
    let graph = if procedure.cfg.missing_edges {
        ", edges are missing from its graph"
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "{} samples, {} blocks, {} classes{graph}\n",
        procedure.samples,
        procedure.cfg.blocks.len(),
        procedure.classes.count
    );
    let _ = writeln!(
        out,
        "{:>9}  {:<28} {:>9} {:>10} {:>6} {:>9}  Culprit",
        "Addr", "Instruction", "Samples", "Frequency", "Conf", "CPI"
    );
    let mut block = None;
    let mut explained: Vec<char> = Vec::new();
    for row in &procedure.rows {
        if block.is_some_and(|b| b != row.block) {
            out.push('\n');
        }
        block = Some(row.block);
        bubbles(row, &mut explained, &mut out);
        let (frequency, confidence, cycles) = figures(row);
        let from: Vec<String> = sources(row).iter().map(|pc| format!("{pc:x}")).collect();
        let line = format!(
            "{:>9x}  {:<28} {:>9} {:>10} {:>6} {:>9}  {}",
            row.pc,
            row.text,
            row.samples,
            frequency,
            confidence,
            cycles,
            from.join(" ")
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Frequency, confidence in it, and cycles of an execution.
pub(super) fn figures(row: &InstructionRow) -> (String, &'static str, String) {
    let frequency = row
        .frequency
        .map_or("?".to_string(), |e| format!("{:.1}", e.frequency));
    let confidence = row.frequency.map_or("", |e| match e.confidence {
        crate::analysis::Confidence::Low => "low",
        crate::analysis::Confidence::Medium => "medium",
        crate::analysis::Confidence::High => "high",
    });
    let cycles = match row.cycles() {
        _ if row.samples == 0 && row.slotted.head_cycles == 0 => "(dual)".to_string(),
        Some(cycles) => format!("{:.1}cy", (2.0 * cycles).round() / 2.0),
        None => "-".to_string(),
    };
    (frequency, confidence, cycles)
}

fn heading(summary: &Summary, out: &mut String) {
    for (name, cycles, each) in cycles_per_instruction(summary) {
        let _ = writeln!(
            out,
            "*** {name:<9} {cycles:>10.0}/{:.0} = {each:.2}CPI",
            summary.instructions
        );
    }
}

/// Cycles in the best case and as they were: of all instructions, and of one.
pub(super) fn cycles_per_instruction(summary: &Summary) -> [(&'static str, f64, f64); 2] {
    let instructions = summary.instructions.max(f64::MIN_POSITIVE);
    let each = |name, cycles: f64| (name, cycles, cycles / instructions);
    [
        each("Best-case", summary.best),
        each("Actual", summary.samples),
    ]
}

/// Lines of letters for the stalls of an instruction. A letter that appears for the first time is explained.
fn bubbles(row: &InstructionRow, explained: &mut Vec<char>, out: &mut String) {
    let letters: String = row.culprits.iter().map(|c| c.kind.letter()).collect();
    let executions = row.frequency.map_or(0.0, |e| e.frequency);
    let cycles = if executions > 0.0 {
        row.dynamic / executions
    } else {
        0.0
    };
    for culprit in &row.culprits {
        explain(
            culprit.kind.letter(),
            culprit.kind.name(),
            &letters,
            explained,
            out,
        );
    }
    let half_cycles = (2.0 * cycles).round() as usize;
    if !letters.is_empty() {
        for _ in 0..half_cycles.min(MOST_BUBBLES) {
            let _ = writeln!(out, "{:>13}", letters);
        }
        if half_cycles > MOST_BUBBLES {
            let _ = writeln!(out, "{:>13} ... {:.1}cy", letters, half_cycles as f64 / 2.0);
        }
    }
    for &(letter, _) in row.static_stalls.iter().take(MOST_BUBBLES) {
        explain(
            letter,
            static_name(letter),
            &letter.to_string(),
            explained,
            out,
        );
    }
}

/// The name of a static stall by its letter.
pub(super) fn static_name(letter: char) -> &'static str {
    match letter {
        's' => "slotting hazard",
        'a' => "Ra dependency",
        'b' => "Rb dependency",
        'c' => "Rc dependency",
        _ => "functional unit busy",
    }
}

fn explain(letter: char, name: &str, line: &str, explained: &mut Vec<char>, out: &mut String) {
    if !explained.contains(&letter) {
        explained.push(letter);
        let _ = writeln!(out, "{line:>13}       ({letter} = {name})");
    } else if line.len() == 1 {
        let _ = writeln!(out, "{line:>13}");
    }
}

/// Addresses of the instructions that may have stalled one, each once.
pub(super) fn sources(row: &InstructionRow) -> Vec<u64> {
    let dynamic = row
        .culprits
        .iter()
        .flat_map(|c: &Culprit| c.from.iter().copied());
    let mut all: Vec<u64> = dynamic.collect();
    all.extend(row.static_stalls.iter().filter_map(|(_, from)| *from));
    all.sort_unstable();
    all.dedup();
    all
}

/// Where the cycles of a procedure, or of several, go.
#[must_use]
pub fn summary(summary: &Summary) -> String {
    let mut out = String::new();
    heading(summary, &mut out);
    out.push_str("***\n");
    let parts = parts(summary);
    let (ranges, shares): (Vec<_>, Vec<_>) = parts.iter().partition(|(_, _, most)| most.is_some());
    for (name, least, most) in ranges {
        let most = most.unwrap_or(*least);
        let _ = writeln!(out, "*** {name:>24} {least:>6.1}% to {most:>5.1}%");
    }
    out.push_str("***\n");
    for (name, share, _) in shares {
        let _ = writeln!(out, "*** {name:>24} {share:>6.1}%");
    }
    out
}

/// The parts of the cycles, in percent: a name, and a share or the ends of its range.
pub(super) fn parts(summary: &Summary) -> Vec<(String, f64, Option<f64>)> {
    let share = |part: f64| percent(part, summary.samples);
    let range = |kind: Kind| {
        let range = summary.dynamic[kind as usize];
        (
            capital(kind.name()),
            share(range.least),
            Some(share(range.most)),
        )
    };
    let mut all: Vec<_> = Kind::ALL.into_iter().map(range).collect();
    let mut line = |name: &str, part: f64| all.push((name.to_string(), share(part), None));
    line("Unexplained stall", summary.unexplained_stall);
    line("Unexplained gain", summary.unexplained_gain);
    line("Subtotal dynamic", summary.dynamic_stalls());
    for (name, part) in [
        "Slotting",
        "Ra dependency",
        "Rb dependency",
        "Rc dependency",
        "FU dependency",
    ]
    .iter()
    .zip(summary.fixed)
    {
        line(name, part);
    }
    let fixed: f64 = summary.fixed.iter().sum();
    line("Subtotal static", fixed);
    line("Total stall", summary.dynamic_stalls() + fixed);
    line("Execution", summary.execution);
    let tallied = summary.dynamic_stalls() + fixed + summary.execution;
    line("Net sampling error", summary.samples - tallied);
    line("Total tallied", summary.samples);
    all
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
