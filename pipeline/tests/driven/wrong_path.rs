//! Reads and writes of wrong paths, and the commit slots that loads lose to stores in front of them.

use super::*;

/// The first code for floating point that a core sees lies on a wrong path, and the registers are in use already.
#[test]
fn a_wrong_path_leaves_no_trace_in_registers_that_only_it_writes() {
    let text = "
        li a0, 7
        li a1, 3
        div a2, a0, a1
        bnez a2, over
        fadd.d f1, f1, f2
        fcvt.d.l f2, a0
        over:
        li a0, 0
        li a7, 93
        ecall";
    let program = Program::new(text, random::DATA_BYTES);
    let [first, second] = [33, 34];
    for name in PRESETS {
        let mut process = program.process();
        (process.thread.hart.r[first], process.thread.hart.r[second]) =
            (1.5f64.to_bits(), 2.5f64.to_bits());
        let mut core = driven(&preset(name), process, NoProbe);
        assert_eq!(core.run_to_end(), Stop::Exit(0), "{name}");
        assert!(
            core.stats().squash_instructions > 2,
            "{name}: no wrong path"
        );
        let values = [first, second].map(|at| f64::from_bits(core.process().thread.hart.r[at]));
        assert_eq!(values, [1.5, 2.5], "{name}");
    }
}

/// Loads that a store gives their bytes, and those that read the cache: of the cycle-driven core and of this one.
fn forwarded_and_read(text: &str) -> [(u64, u64); 2] {
    let program = Program::new(text, random::DATA_BYTES);
    let config = preset("hps-4wide");
    let mut oracle = Chip::new(&config, program.process());
    oracle.run_to_end();
    let mut core = driven(&config, program.process(), NoProbe);
    core.run_to_end();
    [
        (oracle.stats(), oracle.memory_stats()),
        (core.stats(), core.memory_stats()),
    ]
    .map(|(core, memory)| (core.store_forward_events, memory.l1d.read_access_events))
}

/// A wrong path reads the pointer that it has written, and what that points to: one access to the cache.
#[test]
fn a_wrong_path_follows_pointers_that_it_has_stored() {
    let text = "
        li a0, 700
        li a1, 3
        addi t1, sp, -1024
        sd zero, -8(sp)
        div a2, a0, a1
        div a2, a2, a1
        div a2, a2, a1
        bnez a2, over
        sd t1, -8(sp)
        ld t2, -8(sp)
        ld t3, 0(t2)
        over:
        li a0, 0
        li a7, 93
        ecall";
    assert_eq!(forwarded_and_read(text), [(1, 1); 2]);
}

/// A wrong path's store gives its bytes to a load behind it where no older store holds any.
#[test]
fn a_wrong_path_forwards_what_it_has_stored() {
    let text = "
        li a0, 700
        li a1, 3
        sd zero, -8(sp)
        fence.i
        div a2, a0, a1
        div a2, a2, a1
        div a2, a2, a1
        bnez a2, over
        sd a0, -8(sp)
        ld t2, -8(sp)
        lw t3, -4(sp)
        over:
        li a0, 0
        li a7, 93
        ecall";
    assert_eq!(forwarded_and_read(text), [(2, 0); 2]);
}

/// Loads that wait until a store that writes a part of what they read has left its queue: as many slots as in the
/// cycle-driven core are lost to that and to the access itself, in which the last cycle of the wait is the access's.
#[test]
fn what_loads_lose_to_stores_is_said() {
    let text = "
        li a0, 700
        li a1, 3
        li t0, 200
        addi sp, sp, -64
        again:
        div a2, a0, a1
        sb a2, 0(sp)
        ld a3, 0(sp)
        add a0, a3, a0
        addi t0, t0, -1
        bnez t0, again
        li a0, 0
        li a7, 93
        ecall";
    let program = Program::new(text, random::DATA_BYTES);
    for name in ["hps-4wide", "wide-8", "simplescalar-4wide"] {
        let config = preset(name);
        let mut oracle = Chip::new(&config, program.process());
        oracle.run_to_end();
        let mut core = driven(&config, program.process(), NoProbe);
        core.run_to_end();
        let waits = |stack: &CpiStack| stack.get(Cause::StoreWait);
        assert!(
            waits(oracle.cpi()) > 200 && waits(core.cpi()) > 200,
            "{name}"
        );
        let all = |stack: &CpiStack| waits(stack) + stack.get(Cause::LoadL1);
        assert_eq!(all(core.cpi()), all(oracle.cpi()), "{name}");
    }
}
