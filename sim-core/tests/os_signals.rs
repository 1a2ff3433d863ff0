//! Signals: frames, masks, default actions, faults.

use crate::os_support::*;
use hps_isa::ids::DisePc;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::trap::{Trap, TrapCause};
use hps_system::os::{SyscallResult, exit_code_of_fault};
use hps_system::process::ProcessConfig;

const KILL: u64 = 129;
const TGKILL: u64 = 131;
const SIGALTSTACK: u64 = 132;
const SUSPEND: u64 = 133;
const ACTION: u64 = 134;
const MASK: u64 = 135;
const PENDING: u64 = 136;
const RETURN: u64 = 139;
const PID: u64 = 1000;
const USR1: u64 = 10;
const SEGV: u64 = 11;
const USR2: u64 = 12;
const HANDLER: u64 = 0x10104;
const SA_SIGINFO: u64 = 4;
const SA_ONSTACK: u64 = 0x0800_0000;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;

fn guest() -> Guest {
    Guest::new(&ProcessConfig::default())
}

fn handle(guest: &mut Guest, signal: u64, handler: u64, flags: u64, mask: u64) {
    guest.put_words(BUFFER, &[handler, flags, mask]);
    assert_eq!(guest.call(ACTION, &[signal, BUFFER, 0, 8]), 0);
}

fn blocked(guest: &mut Guest) -> u64 {
    assert_eq!(guest.call(MASK, &[0, 0, BUFFER + 256, 8]), 0);
    guest.word(BUFFER + 256)
}

fn fault_at(addr: u64) -> Trap {
    Trap {
        cause: TrapCause::LoadFault { addr },
        pc: 0x10100,
        encoding: 0,
    }
}

#[test]
fn default_actions() {
    assert_eq!(
        guest().raw(KILL, &[PID, USR1]),
        SyscallResult::Exit(128 + 10)
    );
    assert_eq!(guest().raw(KILL, &[0, 9]), SyscallResult::Exit(128 + 9));
    assert_eq!(guest().call(KILL, &[PID, 17]), 0);
    assert_eq!(guest().call(KILL, &[PID, 0]), 0);
    assert_eq!(guest().call(KILL, &[PID, 65]), EINVAL);
    assert_eq!(guest().call(KILL, &[1, 9]), ESRCH);
    assert_eq!(guest().call(TGKILL, &[PID, 7, 9]), ESRCH);
    assert_eq!(
        guest().raw(TGKILL, &[PID, PID, 6]),
        SyscallResult::Exit(128 + 6)
    );
}

#[test]
fn a_handler_runs_and_returns() {
    let mut guest = guest();
    handle(&mut guest, USR1, HANDLER, SA_SIGINFO, 1 << (USR2 - 1));
    guest.0.thread.hart.pc = 0x10100;
    guest.0.thread.hart.fcsr = 0x21;
    guest.0.thread.hart.r[5] = 0x5555;
    guest.0.thread.hart.r[32 + 9] = 0x9999;
    let before = guest.0.thread.hart.clone();
    assert_eq!(guest.raw(KILL, &[PID, USR1]), SyscallResult::Continue);

    let hart = &guest.0.thread.hart;
    let frame = hart.r[2];
    assert_eq!(hart.pc, HANDLER);
    assert_eq!(
        (hart.r[10], hart.r[11], hart.r[12]),
        (USR1, frame, frame + 128)
    );
    assert_eq!(hart.r[1], layout::TRAMPOLINE);
    assert_eq!(frame % 16, 0);
    assert_eq!(frame, (before.r[2] - 1088) & !15);
    // siginfo: number, code SI_USER, sender.
    assert_eq!(
        (
            guest.half(frame),
            guest.half(frame + 8),
            guest.half(frame + 16)
        ),
        (10, 0, 1000)
    );
    // uc_mcontext: pc, then x1...; the floating-point registers, then fcsr.
    let context = frame + 128 + 176;
    assert_eq!(guest.word(context), 0x10100);
    assert_eq!(guest.word(context + 5 * 8), 0x5555);
    assert_eq!(guest.word(context + 10 * 8), 0, "result of kill");
    assert_eq!(guest.word(context + 256 + 9 * 8), 0x9999);
    assert_eq!(guest.half(context + 256 + 32 * 8), 0x21);
    // The trampoline is executable and calls rt_sigreturn.
    assert_eq!(guest.0.mem.fetch_word(layout::TRAMPOLINE), Ok(0x08b0_0893));
    assert_eq!(guest.0.mem.fetch_word(layout::TRAMPOLINE + 4), Ok(0x73));

    let sp = guest.0.thread.hart.r[2];
    assert_eq!(blocked(&mut guest), 1 << (USR1 - 1) | 1 << (USR2 - 1));
    // While it runs, its own signal waits.
    assert_eq!(guest.call(KILL, &[PID, USR1]), 0);
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    assert_eq!(guest.call(PENDING, &[BUFFER, 8]), 0);
    assert_eq!(guest.word(BUFFER), 1 << (USR1 - 1));
    handle(&mut guest, USR1, 1, 0, 0);
    assert_eq!(guest.call(PENDING, &[BUFFER, 8]), 0);
    assert_eq!(guest.word(BUFFER), 0, "ignoring discards it");

    guest.0.thread.hart.r[5] = 1;
    guest.0.thread.hart.r[32 + 9] = 1;
    guest.0.thread.hart.fcsr = 0;
    guest.0.thread.hart.r[2] = sp;
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    let hart = &guest.0.thread.hart;
    assert_eq!(
        (hart.pc, hart.r[2], hart.r[5]),
        (0x10100, before.r[2], 0x5555)
    );
    assert_eq!((hart.r[32 + 9], hart.fcsr, hart.r[10]), (0x9999, 0x21, 0));
    assert_eq!(blocked(&mut guest), 0);
}

#[test]
fn flags_of_actions() {
    let mut guest = guest();
    handle(&mut guest, USR1, HANDLER, SA_NODEFER | SA_RESETHAND, 0);
    assert_eq!(guest.raw(KILL, &[PID, USR1]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    assert_eq!(blocked(&mut guest), 0);
    assert_eq!(
        guest.raw(KILL, &[PID, USR1]),
        SyscallResult::Exit(138),
        "reset to default"
    );
    guest.put_words(BUFFER, &[HANDLER, 0, 0]);
    assert_eq!(guest.call(ACTION, &[9, BUFFER, 0, 8]), EINVAL);
    assert_eq!(guest.call(ACTION, &[USR1, BUFFER, 0, 16]), EINVAL);
    assert_eq!(guest.call(ACTION, &[USR2, BUFFER, BUFFER + 64, 8]), 0);
    assert_eq!(guest.word(BUFFER + 64), 0);
    assert_eq!(guest.call(ACTION, &[USR2, 0, BUFFER + 64, 8]), 0);
    assert_eq!(guest.word(BUFFER + 64), HANDLER);
}

#[test]
fn blocked_signals_wait() {
    let mut guest = guest();
    handle(&mut guest, USR1, HANDLER, 0, 0);
    guest.put_words(BUFFER, &[u64::MAX]);
    assert_eq!(guest.call(MASK, &[0, BUFFER, 0, 8]), 0);
    assert_eq!(
        blocked(&mut guest) & (1 << 8 | 1 << 18),
        0,
        "KILL and STOP cannot be blocked"
    );
    let pc = guest.0.thread.hart.pc;
    assert_eq!(guest.call(KILL, &[PID, USR1]), 0);
    assert_eq!(guest.0.thread.hart.pc, pc);
    guest.put_words(BUFFER, &[1 << (USR1 - 1)]);
    assert_eq!(guest.raw(MASK, &[1, BUFFER, 0, 8]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    assert_eq!(guest.call(MASK, &[3, BUFFER, 0, 8]), EINVAL);
}

#[test]
fn a_thread_takes_its_own_signals_before_those_of_the_process() {
    let mut guest = guest();
    let both = 1 << (USR1 - 1) | 1 << (USR2 - 1);
    handle(&mut guest, USR1, HANDLER, 0, 0);
    handle(&mut guest, USR2, HANDLER + 4, 0, 0);
    guest.put_words(BUFFER, &[both]);
    assert_eq!(guest.call(MASK, &[0, BUFFER, 0, 8]), 0);
    assert_eq!(guest.call(KILL, &[PID, USR1]), 0);
    assert_eq!(guest.call(TGKILL, &[PID, PID, USR2]), 0);
    assert_eq!(guest.call(TGKILL, &[PID, PID, USR2]), 0, "once is enough");
    assert_eq!(guest.call(KILL, &[PID, USR2]), 0, "one for the process");
    assert_eq!(guest.call(PENDING, &[BUFFER + 64, 8]), 0);
    assert_eq!(guest.word(BUFFER + 64), both);
    // The thread's USR2 is delivered first, so that the handler of USR1 interrupts that of USR2.
    assert_eq!(guest.raw(MASK, &[1, BUFFER, 0, 8]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    // The USR2 of the process waits until the handler of the first one has returned.
    let sp = guest.0.thread.hart.r[2];
    assert_eq!(guest.call(PENDING, &[BUFFER + 64, 8]), 0);
    assert_eq!(guest.word(BUFFER + 64), 1 << (USR2 - 1));
    assert_eq!(guest.0.thread.hart.r[2], sp);
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.pc, HANDLER + 4);
    let inner = guest.0.thread.hart.r[2];
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.pc, HANDLER + 4, "once more");
    assert_eq!(guest.0.thread.hart.r[2], inner);
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    assert_eq!(blocked(&mut guest), 0);
}

#[test]
fn what_a_thread_sets_for_itself_lies_in_the_thread() {
    let mut guest = guest();
    let name = guest.path("worker");
    assert_eq!(guest.call(96, &[0x1234]), PID as i64, "set_tid_address");
    assert_eq!(guest.call(99, &[0x5678, 24]), 0, "set_robust_list");
    assert_eq!(guest.call(167, &[15, name]), 0, "PR_SET_NAME");
    let thread = &guest.0.thread;
    assert_eq!(
        (thread.tid, thread.clear_tid, thread.robust_list),
        (1000, 0x1234, 0x5678)
    );
    assert_eq!(&thread.name, b"worker\0\0\0\0\0\0\0\0\0\0");
}

#[test]
fn suspending_takes_a_pending_signal_or_stops() {
    let mut guest = guest();
    handle(&mut guest, USR1, HANDLER, 0, 0);
    let mask = 1 << (USR1 - 1);
    guest.put_words(BUFFER, &[mask]);
    assert_eq!(guest.call(MASK, &[2, BUFFER, 0, 8]), 0);
    assert_eq!(guest.call(KILL, &[PID, USR1]), 0);
    guest.put_words(BUFFER, &[0]);
    assert_eq!(guest.raw(SUSPEND, &[BUFFER, 8]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.r[10] as i64, EINTR);
    assert_eq!(blocked(&mut guest), mask);
    guest.put_words(BUFFER, &[0]);
    assert_eq!(guest.raw(SUSPEND, &[BUFFER, 8]), SyscallResult::Trap);
}

#[test]
fn faults_reach_handlers() {
    let mut guest = guest();
    let process = &mut guest.0;
    assert!(!process.deliver_fault(&fault_at(8)));
    handle(&mut guest, SEGV, HANDLER, SA_SIGINFO, 0);
    guest.0.thread.hart.disepc = DisePc::new(3, 2);
    let process = &mut guest.0;
    assert!(process.deliver_fault(&fault_at(8)));
    let frame = guest.0.thread.hart.r[2];
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    assert_eq!(guest.0.thread.hart.disepc, DisePc::NONE);
    assert_eq!(
        (guest.half(frame), guest.half(frame + 8)),
        (11, 1),
        "SEGV_MAPERR"
    );
    assert_eq!(guest.word(frame + 16), 8, "si_addr");
    assert_eq!(guest.word(frame + 128 + 176), 0x10100, "pc of the fault");
    // A second one while it is blocked ends the process.
    let process = &mut guest.0;
    assert!(!process.deliver_fault(&fault_at(8)));
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    assert_eq!(
        (guest.0.thread.hart.pc, guest.0.thread.hart.disepc),
        (0x10100, DisePc::new(3, 2))
    );
    // What is mapped but not allowed says so.
    let store = Trap {
        cause: TrapCause::StoreFault { addr: 0x10000 },
        ..fault_at(0)
    };
    let process = &mut guest.0;
    assert!(process.deliver_fault(&store));
    assert_eq!(guest.half(guest.0.thread.hart.r[2] + 8), 2, "SEGV_ACCERR");
    // A handler that moves on leaves the expansion.
    guest.0.thread.hart.disepc = DisePc::NONE;
    guest.put_words(guest.0.thread.hart.r[2] + 128 + 176, &[0x10104]);
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    assert_eq!(
        (guest.0.thread.hart.pc, guest.0.thread.hart.disepc),
        (0x10104, DisePc::NONE)
    );
}

#[test]
fn exit_codes_of_faults() {
    let code = |cause| {
        let trap = Trap {
            cause,
            pc: 0,
            encoding: 0,
        };
        exit_code_of_fault(Isa::Riscv64, &trap)
    };
    assert_eq!(code(TrapCause::LoadFault { addr: 0 }), 139);
    assert_eq!(code(TrapCause::FetchFault), 139);
    assert_eq!(code(TrapCause::IllegalInstruction), 132);
    assert_eq!(code(TrapCause::Breakpoint), 133);
    assert_eq!(code(TrapCause::MisalignedAtomic { addr: 1 }), 135);
}

#[test]
fn alternate_stacks() {
    let mut guest = guest();
    let stack = guest.call(222, &[0, 0x4000, 3, 0x22, u64::MAX, 0]) as u64;
    guest.put_words(BUFFER, &[stack, 0, 0x100]);
    assert_eq!(guest.call(SIGALTSTACK, &[BUFFER, 0]), ENOMEM);
    guest.put_words(BUFFER, &[stack, 0, 0x4000]);
    assert_eq!(guest.call(SIGALTSTACK, &[BUFFER, BUFFER + 64]), 0);
    assert_eq!(guest.word(BUFFER + 64 + 8), 2, "SS_DISABLE before");
    handle(&mut guest, SEGV, HANDLER, SA_ONSTACK, 0);
    // The stack overflowed: no frame would fit there.
    let sp = layout::STACK_TOP - layout::STACK_BYTES + 16;
    guest.0.thread.hart.r[2] = sp;
    let process = &mut guest.0;
    assert!(process.deliver_fault(&fault_at(sp - 64)));
    assert_eq!(guest.0.thread.hart.r[2], stack + 0x4000 - 1088);
    assert_eq!(guest.call(SIGALTSTACK, &[0, BUFFER + 64]), 0);
    assert_eq!(guest.word(BUFFER + 64 + 8) & 1, 1, "SS_ONSTACK");
    guest.put_words(BUFFER, &[stack, 0, 0x4000]);
    assert_eq!(guest.call(SIGALTSTACK, &[BUFFER, 0]), EPERM);
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.r[2], sp);
    assert_eq!(guest.call(SIGALTSTACK, &[0, BUFFER + 64]), 0);
    assert_eq!(
        (guest.word(BUFFER + 64), guest.word(BUFFER + 80)),
        (stack, 0x4000)
    );
    // Without the alternate stack the frame does not fit: the process ends.
    handle(&mut guest, USR1, HANDLER, 0, 0);
    assert_eq!(guest.raw(KILL, &[PID, USR1]), SyscallResult::Exit(139));
}

#[test]
fn forged_frames_do_no_harm() {
    for sp in [0, 7, 1 << 34, u64::MAX - 100, u64::MAX] {
        let mut guest = guest();
        guest.0.thread.hart.r[2] = sp;
        assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Exit(139), "{sp:#x}");
        guest.0.thread.hart.r[2] = sp;
        handle(&mut guest, USR1, HANDLER, 0, 0);
        assert_eq!(
            guest.raw(KILL, &[PID, USR1]),
            SyscallResult::Exit(139),
            "{sp:#x}"
        );
    }
    // A frame of garbage restores garbage, and that is the guest's own trouble.
    let mut guest = guest();
    guest.0.thread.hart.r[2] = layout::STACK_TOP - 4096;
    assert_eq!(guest.raw(RETURN, &[]), SyscallResult::Continue);
}
