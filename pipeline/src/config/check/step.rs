//! Machines whose instructions go through the stages in step, or through all of them in one cycle.

use super::super::sections::{ExpansionCost, MachineConfig, Scheduling, Slotting, Stages};
use super::Checks;

/// Refuses what such a machine does not have.
pub(super) fn check(machine: &MachineConfig, c: &mut Checks) {
    let Scheduling::InOrder(order) = &machine.issue.scheduling else {
        return;
    };
    let width = u64::from(machine.issue.issue_width);
    // Cycles between stages, and how wide they are.
    let (name, fetch_to_decode, read, commit, width) = match &order.stages {
        Stages::Free => return,
        Stages::InStep(_) => ("InStep", 1..=64, 1..=64, 1, width),
        Stages::OneCycle => ("OneCycle", 0..=0, 0..=0, 0, 1),
    };
    let (window, issue) = (&machine.window, &machine.issue);
    for (path, value, allowed) in [
        (
            "fetch.fetch_to_decode_cycles",
            machine.fetch.fetch_to_decode_cycles,
            fetch_to_decode,
        ),
        (
            "decode.decode_to_dispatch_cycles",
            machine.decode.decode_to_dispatch_cycles,
            0..=0,
        ),
        (
            "issue.dispatch_to_issue_cycles",
            issue.dispatch_to_issue_cycles,
            0..=0,
        ),
        (
            "issue.issue_to_execute_cycles",
            issue.issue_to_execute_cycles,
            read,
        ),
        (
            "window.complete_to_commit_cycles",
            window.complete_to_commit_cycles,
            commit..=commit,
        ),
        (
            "decode.decode_width",
            machine.decode.decode_width,
            width..=width,
        ),
        (
            "window.dispatch_width",
            window.dispatch_width,
            width..=width,
        ),
        ("window.commit_width", window.commit_width, width..=width),
        ("issue.issue_width", issue.issue_width, width..=width),
    ] {
        let value = u64::from(value);
        if !allowed.contains(&value) {
            let (least, most) = (allowed.start(), allowed.end());
            let all = match least == most {
                true => least.to_string(),
                false => format!("{least} to {most}"),
            };
            c.refuse(
                path,
                format!(
                    "is {value}, but `issue.scheduling.InOrder.stages` is {name}; allowed: {all}"
                ),
            );
        }
    }
    for (path, is_on) in [
        (
            "dise.expansion_cost",
            machine.dise.expansion_cost == ExpansionCost::ExtraStage,
        ),
        ("issue.scheduling", order.slotting != Slotting::Free),
        ("issue.scheduling", order.compare_and_branch_together),
    ] {
        if is_on {
            c.refuse(
                path,
                format!(
                    "has an extra stage, slots or pairs of comparison and branch, which `stages` {name} does not have; \
                     leave that out"
                ),
            );
        }
    }
}
