//! The remote protocol's questions about a run.

use std::collections::BTreeMap;

use gdbstub::common::{Pid, Signal, Tid};
use gdbstub::stub::{BaseStopReason, MultiThreadStopReason};
use gdbstub::target::ext::auxv::{Auxv, AuxvOps};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSchedulerLocking,
    MultiThreadSchedulerLockingOps, MultiThreadSingleStep, MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::reverse_exec::{
    ReplayLogPosition, ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};
use gdbstub::target::ext::breakpoints::{
    self, Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint,
    HwWatchpointOps, SwBreakpoint, SwBreakpointOps,
};
use gdbstub::target::ext::exec_file::{ExecFile, ExecFileOps};
use gdbstub::target::ext::host_io::HostIoOps;
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps};
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};
use hps_isa::hart::Hart;
use hps_isa::isa::Isa;
use hps_isa::memory::{Memory, PAGE_SIZE};
use hps_isa::trap::TrapCause;
use hps_sim_core::machine::Stop;

use super::files::{Opened, copy_range};
use super::registers::{self, Guest, RegisterFile};
use super::stops::{Halt, Stops, Watch, WatchKind};
use super::{DebugError, Debugger, Edit, End};

/// Errno of an address that is not mapped, as the protocol numbers it.
const EFAULT: u8 = 14;

/// A session of gdb.
pub(super) struct Session<'s, 'a> {
    pub(super) debugger: &'s mut Debugger<'a>,
    isa: Isa,
    /// How often gdb has set each breakpoint.
    breakpoints: BTreeMap<u64, u32>,
    stops: Stops,
    is_going_back: bool,
    /// gdb knows that the next instruction ends the run.
    knows_end: bool,
    /// How the run has ended, once it has.
    pub(super) ended: Option<End>,
    pub(super) files: Opened,
}

pub(super) type StopReason = MultiThreadStopReason<u64>;

impl<'s, 'a> Session<'s, 'a> {
    pub(super) fn new(debugger: &'s mut Debugger<'a>) -> Self {
        let isa = debugger.process().image.isa;
        Session {
            debugger,
            isa,
            breakpoints: BTreeMap::new(),
            stops: Stops::default(),
            is_going_back: false,
            knows_end: false,
            ended: None,
            files: Opened::default(),
        }
    }

    /// The thread on the context, or any other one if the context is idle.
    fn current(&self) -> u32 {
        let process = self.debugger.process();
        match process.is_idle() {
            false => process.thread.tid,
            true => process.thread_views().first().map_or(1, |one| one.tid),
        }
    }

    /// That thread, as the protocol numbers it.
    pub(super) fn thread(&self) -> Tid {
        number(self.current())
    }

    /// Goes on for a moment. Gives why the run has stopped, if it has.
    pub(super) fn go(&mut self) -> Result<Option<StopReason>, DebugError> {
        let halt = if self.is_going_back {
            self.knows_end = false;
            self.debugger.back(&self.stops)?
        } else {
            let interval = self.debugger.history.interval();
            let is_stepping = !self.breakpoints.is_empty()
                || !self.stops.watches.is_empty()
                || self.stops.steps_of.is_some();
            let budget = if is_stepping { interval / 20 } else { interval };
            self.debugger.forward(&self.stops, budget)?
        };
        Ok(match halt {
            Halt::Budget => None,
            Halt::Break { tid } => Some(BaseStopReason::SwBreak(number(tid))),
            Halt::Step { tid } => Some(BaseStopReason::SignalWithThread {
                tid: number(tid),
                signal: Signal::SIGTRAP,
            }),
            Halt::Watch { tid, watch } => {
                self.stop_short_of_access()?;
                Some(BaseStopReason::Watch {
                    tid: number(tid),
                    kind: match watch.kind {
                        WatchKind::Changes => breakpoints::WatchKind::Write,
                        WatchKind::Reads => breakpoints::WatchKind::Read,
                        WatchKind::Accesses => breakpoints::WatchKind::ReadWrite,
                    },
                    addr: watch.addr,
                })
            }
            Halt::Begin => Some(BaseStopReason::ReplayLog {
                tid: Some(number(self.current())),
                pos: ReplayLogPosition::Begin,
            }),
            Halt::End(end) => Some(self.end(end)),
        })
    }

    /// On RISC-V gdb expects to hear of an access before it is made, in the direction of the run, and steps over it itself
    /// (`have_nonsteppable_watchpoint`).
    fn stop_short_of_access(&mut self) -> Result<(), DebugError> {
        if self.isa != Isa::Riscv64 {
            return Ok(());
        }
        let position = self.debugger.position();
        self.debugger.go_to(match self.is_going_back {
            true => position + 1,
            false => position - 1,
        })
    }

    /// The run ends here. gdb learns of a signal before the program dies of it.
    fn end(&mut self, end: End) -> StopReason {
        let signal = match (end.stop, end.signal) {
            (Stop::Fault(trap), _) if trap.cause == TrapCause::Stopped => Some(Signal::SIGSTOP),
            (Stop::Fault(_), _) => Some(signal(self.isa, end.stop.exit_code(self.isa) - 128)),
            (_, Some(number)) => Some(signal(self.isa, i32::from(number))),
            _ => None,
        };
        match signal {
            Some(signal) if !self.knows_end => {
                self.knows_end = true;
                BaseStopReason::SignalWithThread {
                    tid: number(self.current()),
                    signal,
                }
            }
            Some(signal) => {
                self.ended = Some(end);
                BaseStopReason::Terminated(signal)
            }
            None => {
                self.ended = Some(end);
                BaseStopReason::Exited(end.stop.exit_code(self.isa) as u8)
            }
        }
    }

    fn begin(&mut self, is_going_back: bool, steps_of: Option<Tid>) {
        self.is_going_back = is_going_back;
        self.stops.steps_of = steps_of.map(|tid| tid.get() as u32);
    }

    /// Registers of a thread.
    fn hart(&self, tid: Tid) -> Option<Hart> {
        let process = self.debugger.process();
        let views = process.thread_views();
        let view = views.iter().find(|one| one.tid as usize == tid.get())?;
        Some(match view.runs {
            true => self.debugger.hart(),
            false => view.hart.clone(),
        })
    }

    fn add_breakpoint(&mut self, addr: u64) {
        *self.breakpoints.entry(addr).or_default() += 1;
        self.stops.breakpoints.insert(addr);
    }

    fn remove_breakpoint(&mut self, addr: u64) -> bool {
        let Some(count) = self.breakpoints.get_mut(&addr) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.breakpoints.remove(&addr);
            self.stops.breakpoints.remove(&addr);
        }
        true
    }

    fn edit(&mut self, edit: Edit) -> TargetResult<(), Self> {
        self.knows_end = false;
        match self.debugger.edit(edit) {
            true => Ok(()),
            false => Err(TargetError::Errno(EFAULT)),
        }
    }
}

/// gdb's number of a signal. Its numbers are those of BSD, which Alpha has, too; RISC-V has some others.
fn signal(isa: Isa, number: i32) -> Signal {
    match (isa, number) {
        (Isa::Riscv64, 7) => Signal::SIGBUS,
        (Isa::Riscv64, 10) => Signal::SIGUSR1,
        (Isa::Riscv64, 12) => Signal::SIGUSR2,
        (Isa::Riscv64, 31) => Signal::SIGSYS,
        (_, number) => Signal(number as u8),
    }
}

/// A thread's number in the protocol.
fn number(tid: u32) -> Tid {
    Tid::new(tid as usize).unwrap_or(Tid::MIN)
}

/// Reads as much as is mapped from an address on.
fn read(mem: &Memory, addr: u64, into: &mut [u8]) -> usize {
    if mem.read_bytes_forced(addr, into).is_ok() {
        return into.len();
    }
    let mut done = 0;
    while done < into.len() {
        let at = addr.wrapping_add(done as u64);
        let in_page = (PAGE_SIZE - at % PAGE_SIZE) as usize;
        let end = into.len().min(done + in_page);
        if mem.read_bytes_forced(at, &mut into[done..end]).is_err() {
            break;
        }
        done = end;
    }
    done
}

impl Target for Session<'_, '_> {
    type Arch = Guest;
    type Error = DebugError;

    fn base_ops(&mut self) -> BaseOps<'_, Guest, DebugError> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }

    fn support_auxv(&mut self) -> Option<AuxvOps<'_, Self>> {
        Some(self)
    }

    fn support_exec_file(&mut self) -> Option<ExecFileOps<'_, Self>> {
        Some(self)
    }

    fn support_host_io(&mut self) -> Option<HostIoOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for Session<'_, '_> {
    fn read_registers(&mut self, regs: &mut RegisterFile, tid: Tid) -> TargetResult<(), Self> {
        let hart = self.hart(tid).ok_or(TargetError::NonFatal)?;
        *regs = registers::file(self.isa, &hart);
        Ok(())
    }

    fn write_registers(&mut self, regs: &RegisterFile, tid: Tid) -> TargetResult<(), Self> {
        // The others are parked in the middle of their calls.
        if tid != number(self.current()) {
            return Err(TargetError::NonFatal);
        }
        let before = self.debugger.hart();
        let after = registers::written(self.isa, regs, &before).ok_or(TargetError::NonFatal)?;
        if (&after.r, after.fcsr) != (&before.r, before.fcsr) {
            self.edit(Edit::Registers(Box::new(after.clone())))?;
        }
        match after.pc == before.pc {
            true => Ok(()),
            false => self.edit(Edit::Pc(after.pc)),
        }
    }

    fn read_addrs(
        &mut self,
        start_addr: u64,
        data: &mut [u8],
        tid: Tid,
    ) -> TargetResult<usize, Self> {
        let process = self.debugger.process();
        let guest = process.guest_of(tid.get() as u32);
        let mem = guest.map_or(&process.guest.mem, |guest| &guest.mem);
        match read(mem, start_addr, data) {
            0 if !data.is_empty() => Err(TargetError::Errno(EFAULT)),
            count => Ok(count),
        }
    }

    fn write_addrs(&mut self, start_addr: u64, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        self.edit(Edit::Memory {
            tid: Some(tid.get() as u32),
            addr: start_addr,
            bytes: data.to_vec(),
        })
    }

    fn list_active_threads(
        &mut self,
        thread_is_active: &mut dyn FnMut(Tid),
    ) -> Result<(), DebugError> {
        // Any thread, for which gdb asks where it means the one that runs, is the first.
        let current = self.current();
        thread_is_active(number(current));
        let views = self.debugger.process().thread_views();
        for view in views.iter().filter(|view| view.tid != current) {
            thread_is_active(number(view.tid));
        }
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadResume for Session<'_, '_> {
    fn resume(&mut self) -> Result<(), DebugError> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), DebugError> {
        self.begin(false, None);
        Ok(())
    }

    fn set_resume_action_continue(
        &mut self,
        _tid: Tid,
        _signal: Option<Signal>,
    ) -> Result<(), DebugError> {
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadSingleStep for Session<'_, '_> {
    fn set_resume_action_step(
        &mut self,
        tid: Tid,
        _signal: Option<Signal>,
    ) -> Result<(), DebugError> {
        self.begin(false, Some(tid));
        Ok(())
    }
}

impl MultiThreadSchedulerLocking for Session<'_, '_> {
    /// Whose turn it is follows from the program: the others go on as they would.
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), DebugError> {
        Ok(())
    }
}

impl ReverseCont<Tid> for Session<'_, '_> {
    fn reverse_cont(&mut self) -> Result<(), DebugError> {
        self.begin(true, None);
        Ok(())
    }
}

impl ReverseStep<Tid> for Session<'_, '_> {
    fn reverse_step(&mut self, tid: Tid) -> Result<(), DebugError> {
        self.begin(true, Some(tid));
        Ok(())
    }
}

impl Breakpoints for Session<'_, '_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Session<'_, '_> {
    fn add_sw_breakpoint(&mut self, addr: u64, _kind: usize) -> TargetResult<bool, Self> {
        self.add_breakpoint(addr);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, addr: u64, _kind: usize) -> TargetResult<bool, Self> {
        Ok(self.remove_breakpoint(addr))
    }
}

impl HwBreakpoint for Session<'_, '_> {
    fn add_hw_breakpoint(&mut self, addr: u64, _kind: usize) -> TargetResult<bool, Self> {
        self.add_breakpoint(addr);
        Ok(true)
    }

    fn remove_hw_breakpoint(&mut self, addr: u64, _kind: usize) -> TargetResult<bool, Self> {
        Ok(self.remove_breakpoint(addr))
    }
}

/// Bytes of a watchpoint at most: each step looks at them.
const MOST_WATCHED: u64 = 1 << 16;

impl Session<'_, '_> {
    fn watch(&self, addr: u64, len: u64, kind: breakpoints::WatchKind) -> Watch {
        Watch {
            pid: self.debugger.process().os.pid(),
            addr,
            len,
            kind: match kind {
                breakpoints::WatchKind::Write => WatchKind::Changes,
                breakpoints::WatchKind::Read => WatchKind::Reads,
                breakpoints::WatchKind::ReadWrite => WatchKind::Accesses,
            },
        }
    }
}

impl HwWatchpoint for Session<'_, '_> {
    fn add_hw_watchpoint(
        &mut self,
        addr: u64,
        len: u64,
        kind: breakpoints::WatchKind,
    ) -> TargetResult<bool, Self> {
        if len == 0 || len > MOST_WATCHED || addr.checked_add(len).is_none() {
            return Ok(false);
        }
        let watch = self.watch(addr, len, kind);
        self.stops.watches.push(watch);
        Ok(true)
    }

    fn remove_hw_watchpoint(
        &mut self,
        addr: u64,
        len: u64,
        kind: breakpoints::WatchKind,
    ) -> TargetResult<bool, Self> {
        // gdb takes them away in whatever process the run has come to.
        let wanted = self.watch(addr, len, kind).kind;
        let is_it = |watch: &Watch| (watch.addr, watch.len, watch.kind) == (addr, len, wanted);
        let at = self.stops.watches.iter().position(is_it);
        if let Some(at) = at {
            self.stops.watches.remove(at);
        }
        Ok(at.is_some())
    }
}

impl TargetDescriptionXmlOverride for Session<'_, '_> {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        if annex != b"target.xml" {
            return Err(TargetError::NonFatal);
        }
        let text = registers::description(self.isa);
        Ok(copy_range(text.as_bytes(), offset, length, buf))
    }
}

impl Auxv for Session<'_, '_> {
    fn get_auxv(&self, offset: u64, length: usize, buf: &mut [u8]) -> TargetResult<usize, Self> {
        let process = self.debugger.process();
        let range = process.os.auxiliary().ok_or(TargetError::NonFatal)?;
        let mut vector = vec![0; (range.end - range.start) as usize];
        let count = read(&process.mem, range.start, &mut vector);
        Ok(copy_range(&vector[..count], offset, length, buf))
    }
}

impl ExecFile for Session<'_, '_> {
    fn get_exec_file(
        &self,
        _pid: Option<Pid>,
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let path = self.debugger.process().os.executable();
        Ok(copy_range(path, offset, length, buf))
    }
}

impl ThreadExtraInfo for Session<'_, '_> {
    fn thread_extra_info(&self, tid: Tid, buf: &mut [u8]) -> Result<usize, DebugError> {
        let views = self.debugger.process().thread_views();
        let view = views.iter().find(|one| one.tid as usize == tid.get());
        let text = view.map_or_else(String::new, |view| {
            let state = match (&view.waits_for, view.runs) {
                (_, true) => "runs".to_owned(),
                (Some(what), _) => format!("waits for {what}"),
                (None, _) => "ready".to_owned(),
            };
            format!("{} of process {}: {state}", view.name, view.pid)
        });
        Ok(copy_range(text.as_bytes(), 0, text.len(), buf))
    }
}

impl MonitorCmd for Session<'_, '_> {
    fn handle_monitor_cmd(
        &mut self,
        cmd: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), DebugError> {
        let command = String::from_utf8_lossy(cmd);
        let answer = self.debugger.monitor(&command)?;
        out.write_raw(answer.as_bytes());
        Ok(())
    }
}
