//! CPI stacks in the statistics of a run.

use super::*;

#[test]
fn the_parts_of_a_stack_sum_to_the_whole() {
    let mut stack = CpiStack::default();
    for (at, cause) in Cause::ALL.into_iter().enumerate() {
        stack.add(cause, 3 * at as u64 + 1);
    }
    let document = Stack::new(&stack, 4, 100);
    assert_eq!(
        document.parts.iter().map(|p| p.slots).sum::<u64>(),
        document.total_slots
    );
    let cycles: f64 = document.parts.iter().map(|p| p.cycles).sum();
    assert!((cycles - document.total_cycles).abs() < 1e-9);
    assert_eq!(document.parts.len(), Cause::ALL.len());
}

/// 10 cycles of a core that commits four instructions in each, and 10 of one that commits two.
#[test]
fn cycles_of_cores_that_differ_are_summed_by_core() {
    let [mut wide, mut narrow] = [CpiStack::default(); 2];
    wide.add(Cause::Base, 30);
    wide.add(Cause::Frontend, 10);
    narrow.add(Cause::Base, 4);
    narrow.add(Cause::Frontend, 16);
    let counted = |cpi| Counted {
        context: hps_pipeline::core::ContextId::FIRST,
        stats: CoreStats::default(),
        cpi,
        memory: hps_pipeline::memsys::MemoryStats::default(),
    };
    let cores = [
        CoreDocument::new(&counted(wide), 4),
        CoreDocument::new(&counted(narrow), 2),
    ];
    wide.merge(&narrow);
    let whole = Stack::of_chip(&wide, 4, &cores, 34);
    assert_eq!((whole.contexts, whole.commit_width), (Some(2), None));
    assert!(whole.total_slots == 60 && (whole.total_cycles - 20.0).abs() < 1e-9);
    let base = &whole.parts[0];
    assert_eq!((base.cause, base.slots), ("base", 34));
    assert!((base.cycles - (30.0 / 4.0 + 4.0 / 2.0)).abs() < 1e-9);
    assert!((base.cpi - 9.5 / 2.0 / 34.0).abs() < 1e-9);
    assert!((whole.cpi(34) - 10.0 / 34.0).abs() < 1e-9);
    let alike = Stack::of_chip(&wide, 4, &cores[..1], 34);
    assert_eq!(alike.commit_width, Some(4));
}
