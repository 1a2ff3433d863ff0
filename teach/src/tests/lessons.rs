//! Measurements of the numbers that lessons state.

use super::*;

#[test]
fn lesson_five_has_one_right_answer() {
    let mut setup = assembly("");
    setup.program = ProgramChoice::BuiltIn {
        name: "bwt".to_owned(),
        isa: "riscv64".to_owned(),
        size: "small".to_owned(),
    };
    setup.limit = 60_000;
    let (_, summary) = started(setup);
    let share = |cause: &str| {
        let slots = summary.cpi_stack.iter().find(|s| s.cause == cause);
        slots.map_or(0.0, |s| {
            s.slots as f64 / (summary.commit_width * summary.cycles) as f64
        })
    };
    let asked = ["mispredict", "icache", "load_memory"].map(share);
    assert!(
        asked[0] > 1.2 * asked[1] && asked[0] > 1.2 * asked[2],
        "{asked:?}"
    );
    let loads = share("load_l1") + share("load_l2") + share("load_memory");
    assert!((0.11..0.15).contains(&loads), "an eighth: {loads}");
}

#[test]
fn units_hold_one_link_of_a_chain_in_a_cycle() {
    let text = format!(
        "_start: li t0, 40\nloop: {}addi t0, t0, -1\nbnez t0, loop\nli a7, 93\necall\n",
        "addi t1, t1, 1\n".repeat(8)
    );
    let (mut session, summary) = started(assembly(&text));
    let mut executing = 0;
    for cycle in summary.cycles - 100..summary.cycles - 40 {
        let view = ask!(session, Request::Cycle { cycle, context: 0 }, Answer::Cycle);
        let links = view
            .rob
            .iter()
            .filter(|slot| slot.row.text == "addi t1, t1, 1");
        let links: Vec<&Slot> = links.filter(|slot| !slot.row.squashed).collect();
        let now = links
            .iter()
            .filter(|slot| slot.stage == "executing")
            .count();
        assert!(now <= 1, "cycle {cycle}: {now}");
        executing += now;
        for slot in links.iter().filter(|slot| slot.stage == "executing") {
            assert_eq!(
                (slot.row.execute, slot.row.complete),
                (Some(cycle), Some(cycle + 1))
            );
        }
    }
    assert!(executing > 40, "{executing}");
}
