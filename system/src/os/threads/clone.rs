//! `clone` and `clone3`, threads that they make, and how a thread ends (clone(2), Linux `kernel/fork.c`,
//! `kernel/exit.c`, `kernel/futex/core.c`). Processes are made in [`processes`](super::super::processes).

use hps_isa::memory::Memory;

use super::super::account::THREAD_BYTES;
use super::super::errno::Errno;
use super::super::outcome::{Outcome, Returned};
use super::super::record::read_words;
use super::super::signals::LAST_SIGNAL;
use super::super::{Linux, Served, SyscallResult};
use crate::process::Thread;

/// The flags of `clone` (Linux `include/uapi/linux/sched.h`), without `CLONE_` in front of their names.
pub(in super::super) mod flag {
    pub const VM: u64 = 0x100;
    pub const FS: u64 = 0x200;
    pub const FILES: u64 = 0x400;
    pub const SIGHAND: u64 = 0x800;
    pub const PIDFD: u64 = 0x1000;
    pub const VFORK: u64 = 0x4000;
    pub const THREAD: u64 = 0x1_0000;
    pub const SYSVSEM: u64 = 0x4_0000;
    pub const SETTLS: u64 = 0x8_0000;
    pub const PARENT_SETTID: u64 = 0x10_0000;
    pub const CHILD_CLEARTID: u64 = 0x20_0000;
    pub const DETACHED: u64 = 0x40_0000;
    pub const CHILD_SETTID: u64 = 0x100_0000;
    pub const IO: u64 = 0x8000_0000;
    pub const CLEAR_SIGHAND: u64 = 0x1_0000_0000;
    /// Flags of what a thread shares with the one that makes it.
    pub const SHARED: u64 = VM | FS | FILES | SIGHAND | THREAD;
}

/// In the word of a robust futex: the number of its owner, that the owner has died, that somebody waits.
pub(super) const FUTEX_TID: u32 = 0x3fff_ffff;
pub(super) const FUTEX_OWNER_DIED: u32 = 0x4000_0000;
pub(super) const FUTEX_WAITERS: u32 = 0x8000_0000;

/// Request of `clone` and `clone3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Request {
    pub flags: u64,
    /// The signal that tells the parent of the end of a process; 0: none.
    pub signal: u8,
    /// The stack pointer of the new thread; 0: that of the one that makes it.
    stack: u64,
    pub parent_tid: u64,
    pub child_tid: u64,
    tls: u64,
}

/// The signal at the end of a process.
fn valid_end(signal: u64) -> Result<u8, Errno> {
    match u8::try_from(signal) {
        Ok(signal @ 0..=LAST_SIGNAL) => Ok(signal),
        _ => Err(Errno::EINVAL),
    }
}

impl Linux {
    /// `clone`, whose last two arguments have an order of each interface.
    pub(in super::super) fn clone_call(
        &mut self,
        thread: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome<Returned> {
        let [flags, stack, parent_tid, ..] = *a;
        let (child_tid, tls) = if self.abi.clone_has_tls_last() {
            (a[3], a[4])
        } else {
            (a[4], a[3])
        };
        self.make(
            thread,
            mem,
            Request {
                // The lowest byte is the signal at the end of a process.
                flags: flags & 0xffff_ff00,
                signal: valid_end(flags & 0xff)?,
                stack,
                parent_tid,
                child_tid,
                tls,
            },
        )
    }

    /// `clone3`, whose arguments lie in memory.
    pub(in super::super) fn clone3_call(
        &mut self,
        thread: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome<Returned> {
        /// Size of the first `struct clone_args`.
        const LEAST_BYTES: u64 = 64;
        const PAGE: u64 = 4096;
        let [at, bytes, ..] = *a;
        if bytes < LEAST_BYTES {
            return Err(Errno::EINVAL.into());
        }
        if bytes > PAGE {
            return Err(Errno::E2BIG.into());
        }
        // Fields that this kernel does not know must be zero.
        const KNOWN_BYTES: u64 = 88;
        let all = mem.readable(at, bytes)?;
        let unknown = all.get(KNOWN_BYTES as usize..).unwrap_or_default();
        if unknown.iter().any(|byte| *byte != 0) {
            return Err(Errno::E2BIG.into());
        }
        let [flags, _, child_tid, parent_tid, signal, stack, size, tls] = read_words(mem, at)?;
        if (stack == 0) != (size == 0) || signal != 0 && flags & flag::THREAD != 0 {
            return Err(Errno::EINVAL.into());
        }
        self.make(
            thread,
            mem,
            Request {
                flags,
                signal: valid_end(signal)?,
                stack: stack.wrapping_add(size),
                parent_tid,
                child_tid,
                tls,
            },
        )
    }

    fn make(&mut self, thread: &Thread, mem: &mut Memory, request: Request) -> Outcome<Returned> {
        let has = |flag| request.flags & flag != 0;
        // In Linux a thread shares signals, which share memory.
        if has(flag::THREAD) && !has(flag::SIGHAND)
            || has(flag::SIGHAND) && (!has(flag::VM) || has(flag::CLEAR_SIGHAND))
            || has(flag::PIDFD)
        {
            return Err(Errno::EINVAL.into());
        }
        match request.flags & flag::SHARED {
            flag::SHARED => self.make_thread(thread, mem, request),
            _ => self.make_process(thread, mem, request),
        }
    }

    fn make_thread(
        &mut self,
        thread: &Thread,
        mem: &mut Memory,
        request: Request,
    ) -> Outcome<Returned> {
        let flags = request.flags;
        if self.threads.is_full() {
            self.run.warnings.once(
                "a thread is refused (EAGAIN): the program has as many as it may have; --max-threads allows more",
            );
            return Err(Errno::EAGAIN.into());
        }
        self.charge(THREAD_BYTES, Errno::EAGAIN)?;
        let tid = self.threads.last_tid + 1;
        let number = tid.to_le_bytes();
        if flags & flag::PARENT_SETTID != 0 {
            mem.write_bytes(request.parent_tid, &number)?;
        }
        if flags & flag::CHILD_SETTID != 0 {
            // As in Linux, a place that cannot be written is no error.
            let _ = mem.write_bytes(request.child_tid, &number);
        }
        self.threads.last_tid = tid;
        let mut child = Box::new(thread.child(tid));
        if flags & flag::CHILD_CLEARTID != 0 {
            child.clear_tid = request.child_tid;
        }
        self.begin_child(&mut child, &request);
        self.threads.tables.give(tid, &mut child.hart);
        self.threads.park(child);
        Ok(Returned {
            second: Some(0),
            ..tid.into()
        })
    }

    /// Gives a new thread the registers with which it returns from the call.
    pub(in super::super) fn begin_child(&self, child: &mut Thread, request: &Request) {
        self.abi.set_result(&mut child.hart, Ok(0));
        self.abi.set_second_result(&mut child.hart, 1);
        if request.stack != 0 {
            self.abi.set_stack_pointer(&mut child.hart, request.stack);
        }
        if request.flags & flag::SETTLS != 0 {
            self.abi.set_thread_pointer(&mut child.hart, request.tls);
        }
    }

    /// `exit`: the thread ends, and with the last one the process.
    pub(in super::super) fn exit_thread(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        code: i32,
    ) -> Served {
        if thread.tid == self.pid {
            self.threads.first_code = Some(code);
        }
        if self.threads.is_alone() {
            let code = self.threads.first_code.unwrap_or(code);
            return SyscallResult::Exit(code).into();
        }
        self.release_robust_list(thread.tid, thread.robust_list, mem);
        self.release_locks(thread.tid, mem);
        let clear_tid = thread.clear_tid;
        if clear_tid != 0 && mem.write_bytes(clear_tid, &[0; 4]).is_ok() {
            self.wake_futex(clear_tid, 1, u32::MAX);
        }
        Served::Ends
    }

    /// `get_robust_list`: that of a thread, or of the caller for 0.
    pub(in super::super) fn robust_list(
        &self,
        thread: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        /// Size of `struct robust_list_head`.
        const HEAD_BYTES: u64 = 24;
        let head = match a[0] as u32 {
            tid if tid == 0 || tid == thread.tid => thread.robust_list,
            tid => self.threads.robust_list_of(tid).ok_or(Errno::ESRCH)?,
        };
        mem.write_bytes(a[1], &head.to_le_bytes())?;
        mem.write_bytes(a[2], &HEAD_BYTES.to_le_bytes())?;
        Ok(0)
    }

    /// Marks the locks that the threads of the process hold at its end, or where it executes another program.
    pub(in super::super) fn release_robust_lists(&mut self, thread: &Thread, mem: &mut Memory) {
        let mut all = self.threads.robust_lists_elsewhere();
        all.push((thread.tid, thread.robust_list));
        let parked = self.threads.all_parked();
        all.extend(parked.map(|thread| (thread.tid, thread.robust_list)));
        // Whoever waits in this process ends with it.
        self.threads.pi = Default::default();
        for (tid, head) in all {
            self.release_robust_list(tid, head, mem);
            self.release_locks(tid, mem);
        }
    }

    /// Marks the locks that a thread holds at its end, so that whoever waits for them learns of it.
    fn release_robust_list(&mut self, tid: u32, head: u64, mem: &mut Memory) {
        /// No list is followed any further (`ROBUST_LIST_LIMIT`).
        const MOST: usize = 2048;
        if head == 0 {
            return;
        }
        let Ok([first, offset, pending]) = read_words::<3>(mem, head) else {
            return;
        };
        let mut entry = first;
        for _ in 0..MOST {
            // The lowest bit says that the lock inherits priorities.
            let at = entry & !1;
            if at == head || at == 0 {
                break;
            }
            let Ok([next]) = read_words::<1>(mem, at) else {
                return;
            };
            if at != pending & !1 {
                self.owner_died(tid, mem, at.wrapping_add(offset));
            }
            entry = next;
        }
        if pending & !1 != 0 {
            self.owner_died(tid, mem, (pending & !1).wrapping_add(offset));
        }
    }

    fn owner_died(&mut self, tid: u32, mem: &mut Memory, addr: u64) {
        let Ok(word) = mem.read::<4>(addr) else {
            return;
        };
        let word = word as u32;
        if word & FUTEX_TID != tid {
            return;
        }
        let after = word & FUTEX_WAITERS | FUTEX_OWNER_DIED;
        if mem.write_bytes(addr, &after.to_le_bytes()).is_ok() && word & FUTEX_WAITERS != 0 {
            self.wake_futex(addr, 1, u32::MAX);
        }
    }
}
