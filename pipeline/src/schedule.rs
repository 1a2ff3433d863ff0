//! Schedules of issue: which instructions issued when, beside which others, and why not before. The view of an in-order
//! core that DCPI's listings give (Anderson et al., "Continuous Profiling: Where Have All the Cycles Gone?", 1997,
//! figures 2 and 7).

use std::fmt::Write as _;

use hps_isa::isa::Isa;

use crate::model::{IssueStall, Pipe, StageRecord};

/// When one instruction issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueRow {
    /// Address of the instruction.
    pub pc: u64,
    /// Cycle in which it issued.
    pub issue_cycle: u64,
    /// Where, on a core with issue slots.
    pub pipe: Option<Pipe>,
    /// Cycles that it spent at the head of the issue queue: those behind the issue of the instruction
    /// before it. Zero: both issued in one cycle. Without dynamic stalls this is DCPI's `M`.
    pub head_cycles: u64,
    /// Why it did not issue in the last cycle in which it was at the head and could not.
    pub stall: IssueStall,
}

/// The rows of instructions in program order, e.g. those of one iteration of a loop. The first
/// issued `before_first` cycles behind the instruction in front of it, or is counted one cycle.
///
/// Records of instructions that never issued are left out.
pub fn issue_rows<'a>(
    records: impl IntoIterator<Item = &'a StageRecord>,
    before_first: Option<u64>,
) -> Vec<IssueRow> {
    let mut last = None;
    records
        .into_iter()
        .filter(|r| r.issue_cycle != u64::MAX)
        .map(|r| {
            let since = last.replace(r.issue_cycle);
            IssueRow {
                pc: r.pc,
                issue_cycle: r.issue_cycle,
                pipe: r.pipe,
                head_cycles: match since {
                    Some(before) => r.issue_cycle.saturating_sub(before),
                    None => before_first.unwrap_or(1),
                },
                stall: r.issue_stall,
            }
        })
        .collect()
}

/// The rows as text: address, issue cycle, pipe, cycles at the head, instruction, and what it waited
/// for. An instruction that issued in the cycle of the one before it in program order, or (out of order)
/// earlier, is marked so; the latter was never at the head of a queue in order and has no such cycles.
#[must_use]
pub fn listing(isa: Isa, records: &[StageRecord]) -> String {
    let issued = records.iter().filter(|r| r.issue_cycle != u64::MAX);
    let mut out = format!(
        "{:>10} {:>9} {:>4} {:>5}  instruction\n",
        "address", "issue", "pipe", "head"
    );
    let mut before = None;
    for (row, r) in issue_rows(records, None).iter().zip(issued) {
        let since = before.replace(row.issue_cycle);
        let is_earlier = since.is_some_and(|before| row.issue_cycle < before);
        let beside = if is_earlier {
            "  (earlier than the one before)".to_string()
        } else if since == Some(row.issue_cycle) {
            "  (together with the one before)".to_string()
        } else if row.stall == IssueStall::None {
            String::new()
        } else {
            format!("  ({})", row.stall.name())
        };
        let _ = writeln!(
            out,
            "{:>10x} {:>9} {:>4} {:>5}  {}{beside}",
            row.pc,
            row.issue_cycle,
            row.pipe.map_or("-", Pipe::name),
            if is_earlier {
                "-".to_string()
            } else {
                row.head_cycles.to_string()
            },
            isa.disassemble(&r.inst, r.pc),
        );
    }
    out
}
