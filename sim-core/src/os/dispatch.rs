//! From the number of a system call to what it does.

use super::abi::{FrameKind, StatFormat};
use super::errno::Errno;
use super::limits::LOOK_WORK;
use super::numbers::Call;
use super::time::TimeFormat;
use super::{GivesUp, Linux, Served, SyscallResult, schedule};
use crate::memory::Memory;
use crate::process::Thread;

impl Linux {
    /// Serves the system call that `thread` makes. `hart.pc` is already behind the instruction. On
    /// return the result is in its register, or a signal handler is about to run.
    pub(crate) fn syscall(&mut self, thread: &mut Thread, mem: &mut Memory) -> Served {
        self.now_ns = thread.hart.counters.time_ns;
        self.serve_call(thread, mem)
    }

    /// Serves the call that is in the registers of `thread`.
    pub(super) fn serve_call(&mut self, thread: &mut Thread, mem: &mut Memory) -> Served {
        self.caller = thread.tid;
        let number = self.abi.call_number(&thread.hart);
        let arguments = self.abi.arguments(&thread.hart);
        self.write_back(mem);
        let decoded = self.abi.call(number, arguments);
        let is_plain = decoded.is_some_and(|(call, _)| call.is_plain());
        if self.is_late_after(if is_plain { 1 } else { LOOK_WORK }) {
            return Ok(SyscallResult::Trap);
        }
        self.catch_up_on_timers(thread);
        if self.gate.is_some() && !decoded.is_some_and(|(call, _)| call.ends_or_returns()) {
            let (call, arguments) = decoded.unzip();
            let asked = self.ask_gate(call, mem, &arguments.unwrap_or_default());
            if let Some(result) = asked {
                self.abi.set_result(&mut thread.hart, result);
                return Ok(self.end_call(thread, mem));
            }
        }
        match decoded {
            Some((Call::ExitGroup, arguments)) => {
                return Ok(SyscallResult::Exit((arguments[0] & 0xff) as i32));
            }
            Some((Call::Exit, arguments)) => {
                let code = (arguments[0] & 0xff) as i32;
                return self.exit_thread(thread, mem, code);
            }
            Some((call @ (Call::RtSigreturn | Call::Sigreturn), _)) => {
                let kind = match call {
                    Call::Sigreturn => FrameKind::Plain,
                    _ => FrameKind::Realtime,
                };
                if let Err(code) = self.signal_return(thread, mem, kind) {
                    return Ok(SyscallResult::Exit(code));
                }
            }
            Some((call, arguments)) => {
                self.look_at_signals(thread);
                let foreseen = self.foresee(call, mem, &arguments);
                let mut result = self.serve(call, thread, mem, &arguments);
                if let Ok(value) = result
                    && (self.mappings.has_files() || self.family.has_others())
                    && let Err(errno) = self.show_changes(mem, call, &arguments, value)
                {
                    result = Err(errno);
                }
                if let Some(foreseen) = foreseen {
                    self.tell_watches(call, mem, &arguments, &foreseen, result);
                }
                if let Some(signal) = self.raised.take() {
                    self.raise_for(thread, signal);
                }
                if self.stop.is_none()
                    && let Some(blocked) = self.wait.take()
                    && result.is_err()
                {
                    return self.begin_wait(call, thread, mem, blocked);
                }
                let is_alone = self.threads.is_alone() && !self.family.has_others();
                if !is_alone && call.may_change_files() {
                    self.wake_on_files();
                }
                let hart = &mut thread.hart;
                self.abi.set_result(hart, result);
                if let Some(second) = self.second_result.take() {
                    self.abi.set_second_result(hart, second);
                }
            }
            None => {
                self.warn_of_unserved(number, thread.hart.pc);
                self.abi.set_result(&mut thread.hart, Err(Errno::ENOSYS));
            }
        }
        if self.has_lent_memory() {
            // Signals wait until it is back.
            self.yields = false;
            return Err(GivesUp::Yields);
        }
        let result = self.end_call(thread, mem);
        if result == SyscallResult::Continue && std::mem::take(&mut self.yields) {
            return Err(GivesUp::Yields);
        }
        Ok(result)
    }

    /// The current call has its result: delivers signals.
    pub(super) fn end_call(&mut self, thread: &mut Thread, mem: &mut Memory) -> SyscallResult {
        if self.stop.is_some() {
            return SyscallResult::Trap;
        }
        let ended = self.deliver_pending(thread, mem);
        thread.signals.end_suspension();
        ended.map_or(SyscallResult::Continue, SyscallResult::Exit)
    }

    /// Says which call the lab does not serve. `pc` is behind the instruction that makes it.
    fn warn_of_unserved(&mut self, number: u64, pc: u64) {
        let call = match self.abi.call_name(number) {
            Some(name) => format!("system call {name} ({number})"),
            None => format!("system call {number}"),
        };
        self.warn(
            number,
            format!("{call} before pc {pc:#x} is not served: it returns ENOSYS"),
        );
    }

    fn serve(
        &mut self,
        call: Call,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        match call {
            Call::Clone => self.clone_call(thread, mem, a),
            Call::Clone3 => self.clone3_call(thread, mem, a),
            Call::Execve => self.execve(mem, a),
            Call::PerfEventOpen => self.perf_event_open(thread, mem, a),
            Call::Read if self.is_event(a[0]) => self.read_event(thread, mem, a),
            Call::Read if self.is_signal_file(a[0]) => self.read_signals(thread, mem, a),
            Call::Ioctl if self.is_event(a[0]) => self.control_event(thread, mem, a),
            Call::PidfdOpen => self.pidfd_open(a[0], a[1]),
            Call::PidfdSendSignal => self.pidfd_send_signal(thread, mem, a),
            Call::Execveat => self.execveat(mem, a),
            Call::Wait4 => self.wait4(mem, a, false),
            Call::OsfWait4 => self.wait4(mem, a, true),
            Call::Waitid => self.waitid(mem, a),
            Call::Settimeofday => self.settimeofday(mem, a),
            // glibc and musl do without them.
            Call::Rseq => Err(Errno::ENOSYS),
            Call::RiscvHwprobe => Linux::riscv_hwprobe(mem, a),
            Call::RiscvFlushIcache => {
                mem.invalidate_code();
                Ok(0)
            }
            Call::Exit | Call::ExitGroup | Call::RtSigreturn | Call::Sigreturn => Ok(0),
            Call::OsfGetsysinfo => self.getsysinfo(thread, mem, a),
            Call::OsfSetsysinfo => self.setsysinfo(thread, mem, a),
            Call::Kill
            | Call::RtSigqueueinfo
            | Call::RtSigtimedwait
            | Call::RtTgsigqueueinfo
            | Call::Tkill
            | Call::Tgkill
            | Call::RtSigaction
            | Call::RtSigpending
            | Call::RtSigprocmask
            | Call::RtSigsuspend
            | Call::Sigaltstack
            | Call::OsfSigaction
            | Call::OsfSigprocmask
            | Call::OsfSigstack
            | Call::OsfSigsuspend => self.serve_signals(call, thread, mem, a),
            Call::Brk
            | Call::OsfBrk
            | Call::Mmap
            | Call::Munmap
            | Call::Mprotect
            | Call::Mremap
            | Call::Madvise
            | Call::Mincore
            | Call::Mlock
            | Call::Mlock2
            | Call::Mlockall
            | Call::Msync
            | Call::Munlock
            | Call::Munlockall => self.serve_memory(call, mem, a),
            Call::ClockGettime
            | Call::ClockGetres
            | Call::ClockNanosleep
            | Call::Nanosleep
            | Call::Gettimeofday
            | Call::Times
            | Call::Getrusage
            | Call::Sysinfo
            | Call::OsfGettimeofday
            | Call::OsfGetrusage
            | Call::OsfUsleepThread
            | Call::ClockSettime
            | Call::Getitimer
            | Call::Setitimer
            | Call::TimerCreate
            | Call::TimerDelete
            | Call::TimerGetoverrun
            | Call::TimerGettime
            | Call::TimerSettime
            | Call::TimerfdCreate
            | Call::TimerfdGettime
            | Call::TimerfdSettime
            | Call::Adjtimex => self.serve_time(call, mem, a),
            Call::Getpid
            | Call::Gettid
            | Call::Getppid
            | Call::Getxpid
            | Call::Getuid
            | Call::Geteuid
            | Call::Getxuid
            | Call::Getgid
            | Call::Getegid
            | Call::Getxgid => Ok(self.identity(call, thread)),
            Call::Getpgid
            | Call::Getsid
            | Call::Setpgid
            | Call::Setsid
            | Call::Setuid
            | Call::Setgid
            | Call::Setreuid
            | Call::Setregid
            | Call::Setresuid
            | Call::Setresgid
            | Call::Setfsuid
            | Call::Setfsgid
            | Call::Getresuid
            | Call::Getresgid
            | Call::Getgroups
            | Call::Setgroups
            | Call::Capget
            | Call::Capset => self.serve_identity(call, thread, mem, a),
            Call::Getpriority
            | Call::OsfGetpriority
            | Call::Setpriority
            | Call::SchedGetaffinity
            | Call::SchedSetaffinity
            | Call::SchedGetscheduler
            | Call::SchedSetscheduler
            | Call::SchedGetparam
            | Call::SchedSetparam
            | Call::SchedGetPriorityMax
            | Call::SchedGetPriorityMin
            | Call::SchedRrGetInterval
            | Call::SchedYield
            | Call::Getcpu => self.serve_scheduling(call, thread, mem, a),
            Call::Accept
            | Call::Accept4
            | Call::Bind
            | Call::Connect
            | Call::Getpeername
            | Call::Getsockname
            | Call::Getsockopt
            | Call::Listen
            | Call::Recvfrom
            | Call::Recvmmsg
            | Call::Recvmsg
            | Call::Sendmmsg
            | Call::Sendmsg
            | Call::Sendto
            | Call::Setsockopt
            | Call::Shutdown
            | Call::Socket
            | Call::Socketpair => self.serve_sockets(call, mem, a),
            _ => self.serve_rest(call, thread, mem, a),
        }
    }

    fn serve_scheduling(
        &mut self,
        call: Call,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let a = &self.caller_as_zero(call, a);
        match call {
            // Numbers that cannot be mistaken for errors.
            Call::Getpriority => thread
                .scheduling
                .nice(&self.credentials, a[0], a[1])
                .map(|nice| (20 - nice) as u64),
            Call::OsfGetpriority => thread
                .scheduling
                .nice(&self.credentials, a[0], a[1])
                .map(|nice| i64::from(nice) as u64),
            Call::Setpriority => thread.scheduling.set_nice(&self.credentials, a),
            Call::SchedGetaffinity => self.sched_getaffinity(thread, mem, a),
            Call::SchedSetaffinity => self.sched_setaffinity(thread, mem, a),
            Call::SchedGetscheduler => thread.scheduling.policy(a[0]),
            Call::SchedSetscheduler => thread.scheduling.set_scheduler(mem, a),
            Call::SchedGetparam => schedule::get_parameters(mem, a),
            Call::SchedSetparam => thread.scheduling.set_parameters(mem, a),
            Call::SchedGetPriorityMax => schedule::priorities(a[0]).map(|(_, most)| most),
            Call::SchedGetPriorityMin => schedule::priorities(a[0]).map(|(least, _)| least),
            Call::SchedRrGetInterval => schedule::time_slice(mem, a),
            Call::SchedYield => {
                self.yields = self.others_are_ready();
                Ok(0)
            }
            Call::Getcpu => self.getcpu(mem, a),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// The arguments of a call on scheduling, in which 0 stands for the process that makes it.
    fn caller_as_zero(&self, call: Call, a: &[u64; 6]) -> [u64; 6] {
        const USER: u64 = 2;
        let mut a = *a;
        let place = match call {
            Call::Getpriority | Call::OsfGetpriority | Call::Setpriority if a[0] == USER => None,
            Call::Getpriority | Call::OsfGetpriority | Call::Setpriority => Some(1),
            Call::SchedGetscheduler
            | Call::SchedSetscheduler
            | Call::SchedGetparam
            | Call::SchedSetparam
            | Call::SchedRrGetInterval => Some(0),
            _ => None,
        };
        if let Some(place) = place
            && a[place] as u32 == self.pid
        {
            a[place] = 0;
        }
        a
    }

    fn serve_signals(
        &mut self,
        call: Call,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        match call {
            Call::Kill => self.kill(a),
            Call::RtSigqueueinfo => self.queue_signal(thread, mem, [a[0], 0, a[1], a[2]], false),
            Call::RtTgsigqueueinfo => {
                self.queue_signal(thread, mem, [a[0], a[1], a[2], a[3]], true)
            }
            Call::RtSigtimedwait => self.rt_sigtimedwait(thread, mem, a),
            Call::Tkill => self.tkill(thread, a[0], a[1]),
            Call::Tgkill if a[0] as u32 != self.pid => self.tgkill_elsewhere(thread, a),
            Call::Tgkill => self.tkill(thread, a[1], a[2]),
            Call::RtSigaction => self.rt_sigaction(thread, mem, a),
            Call::RtSigpending => self.rt_sigpending(thread, mem, a),
            Call::RtSigprocmask => self.rt_sigprocmask(thread, mem, a),
            Call::RtSigsuspend => self.rt_sigsuspend(thread, mem, a),
            Call::Sigaltstack => self.sigaltstack(thread, mem, a),
            Call::OsfSigaction => self.osf_sigaction(thread, mem, a),
            Call::OsfSigprocmask => self.osf_sigprocmask(thread, a),
            Call::OsfSigstack => self.sigstack(thread, mem, a),
            Call::OsfSigsuspend => self.suspend(thread, a[0]),
            _ => Err(Errno::ENOSYS),
        }
    }

    fn serve_memory(&mut self, call: Call, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let result = self.serve_mapping(call, mem, a);
        if matches!(
            call,
            Call::Mmap | Call::Munmap | Call::Mremap | Call::Mprotect
        ) {
            self.track_shared(mem);
        }
        result
    }

    fn serve_mapping(&mut self, call: Call, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        match call {
            Call::Brk => Ok(self.brk(mem, a[0])),
            Call::OsfBrk => self.osf_brk(mem, a[0]),
            Call::Mmap => self.mmap(mem, a),
            Call::Munmap => self.munmap(mem, a),
            Call::Mprotect => self.mprotect(mem, a),
            Call::Mremap => self.mremap(mem, a),
            Call::Madvise => self.madvise(mem, a),
            Call::Msync => self.msync(mem, a),
            Call::Mincore => self.mincore(mem, a),
            Call::Mlock => self.mlock(mem, a[0], a[1], 0),
            Call::Mlock2 => self.mlock(mem, a[0], a[1], a[2]),
            Call::Mlockall => self.mlockall(mem, a[0]),
            Call::Munlock => self.munlock(mem, a),
            Call::Munlockall => Ok(self.munlockall()),
            _ => Err(Errno::ENOSYS),
        }
    }

    fn serve_time(&mut self, call: Call, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        match call {
            Call::ClockGettime => self.clock_gettime(mem, a),
            Call::ClockGetres => self.clock_getres(mem, a),
            Call::ClockNanosleep => self.clock_nanosleep(mem, a),
            Call::Nanosleep => self.sleep(mem, a),
            Call::Getitimer => self.getitimer(mem, a),
            Call::Setitimer => self.setitimer(mem, a),
            Call::TimerCreate => self.timer_create(mem, a),
            Call::TimerDelete => self.timer_delete(a[0]),
            Call::TimerGetoverrun => self.timer_getoverrun(a[0]),
            Call::TimerGettime => self.timer_gettime(mem, a),
            Call::TimerSettime => self.timer_settime(mem, a),
            Call::TimerfdCreate => self.timerfd_create(a),
            Call::TimerfdGettime => self.timerfd_gettime(mem, a),
            Call::TimerfdSettime => self.timerfd_settime(mem, a),
            Call::Gettimeofday => self.gettimeofday(mem, a),
            Call::Times => self.times(mem, a[0]),
            Call::Getrusage => self.getrusage(mem, a, 16),
            Call::OsfGetrusage => self.getrusage(mem, a, 8),
            Call::OsfGettimeofday => self.gettimeofday32(mem, a),
            Call::OsfUsleepThread => self.usleep_thread(mem, a),
            Call::Sysinfo => self.sysinfo(mem, a[0]),
            Call::ClockSettime => self.clock_settime(mem, a),
            Call::Adjtimex => self.adjtimex(mem, a[0]),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Files, identity, and the rest.
    fn serve_rest(
        &mut self,
        call: Call,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        match call {
            Call::Read | Call::Readv | Call::Getdents64 | Call::OsfGetdirentries => {
                self.refresh_made(thread, mem, a[0], None);
            }
            Call::Pread64 | Call::Preadv => self.refresh_made(thread, mem, a[0], Some(a[3])),
            _ => {}
        }
        match call {
            Call::Read => self.read(mem, a),
            Call::Write => self.write(mem, a),
            Call::Pread64 => self.pread(mem, a),
            Call::Pwrite64 => self.pwrite(mem, a),
            Call::Readv => self.readv(mem, a, None),
            Call::Writev => self.writev(mem, a, None),
            Call::Preadv => self.readv(mem, a, Some(a[3])),
            Call::Pwritev => self.writev(mem, a, Some(a[3])),
            Call::Preadv2 => self.readv(mem, a, Linux::vector_offset(a)?),
            Call::Pwritev2 => self.writev(mem, a, Linux::vector_offset(a)?),
            Call::Close => self.close(a[0]),
            Call::Lseek => self.lseek(a),
            Call::Truncate => self.truncate(mem, a),
            Call::Ftruncate => self.ftruncate(a[0], a[1]),
            Call::Fsync | Call::Fdatasync => self.fsync(a[0]),
            Call::Fadvise64 => self.fadvise(a),
            Call::Flock => self.flock(a[0], a[1]),
            Call::Fallocate => self.fallocate(a),
            Call::Sync => Ok(0),
            Call::Syncfs => self.syncfs(a[0]),
            Call::SyncFileRange => self.sync_file_range(a),
            Call::Readahead => self.readahead(a),
            Call::Sendfile => self.sendfile(mem, a),
            Call::CopyFileRange => self.copy_file_range(mem, a),
            Call::MemfdCreate => self.memfd_create(mem, a),
            Call::CloseRange => self.close_range(a),
            Call::Dup => self.dup(a[0]),
            Call::Dup2 => self.dup2(a),
            Call::Dup3 => self.dup3(a),
            Call::Pipe2 => self.pipe2(mem, a),
            Call::PipePair => self.pipe_pair(),
            Call::Fcntl => self.fcntl(mem, a),
            Call::Ioctl => self.ioctl(mem, a),
            Call::Ppoll => self.ppoll(thread, mem, a),
            Call::Poll => self.poll(mem, a),
            Call::Select => self.select(mem, a, TimeFormat::Microseconds),
            Call::OsfSelect => self.select(mem, a, TimeFormat::Osf),
            Call::Pselect6 => self.pselect6(thread, mem, a),
            Call::Msgget => self.msgget(a),
            Call::Msgsnd => self.msgsnd(mem, a),
            Call::Msgrcv => self.msgrcv(mem, a),
            Call::Msgctl => self.msgctl(mem, a),
            Call::Semget => self.semget(a),
            Call::Semop => self.semop(mem, a, 0),
            Call::Semtimedop => self.semop(mem, a, a[3]),
            Call::Semctl => self.semctl(mem, a),
            Call::Shmget => self.shmget(a),
            Call::Shmat => self.shmat(mem, a),
            Call::Shmdt => self.shmdt(mem, a[0]),
            Call::Shmctl => self.shmctl(mem, a),
            Call::Splice => self.splice(mem, a),
            Call::Tee => self.tee(a),
            Call::Vmsplice => self.vmsplice(mem, a),
            Call::InotifyInit1 => self.inotify_init(a[0]),
            Call::InotifyAddWatch => self.inotify_add_watch(mem, a),
            Call::InotifyRmWatch => self.inotify_rm_watch(a[0], a[1]),
            Call::Signalfd4 => self.signalfd4(mem, a),
            Call::Eventfd => self.eventfd(a[0], 0),
            Call::Eventfd2 => self.eventfd(a[0], a[1]),
            Call::EpollCreate => self.epoll_create(a[0]),
            Call::EpollCreate1 => self.epoll_create1(a[0]),
            Call::EpollCtl => self.epoll_ctl(mem, a),
            Call::EpollWait => self.epoll_pwait(thread, mem, &[a[0], a[1], a[2], a[3], 0, 0]),
            Call::EpollPwait => self.epoll_pwait(thread, mem, a),
            Call::EpollPwait2 => self.epoll_pwait2(thread, mem, a),
            Call::Openat => self.openat(thread, mem, a),
            Call::Fstat => self.fstat(mem, a, StatFormat::Native),
            Call::Fstat64 => self.fstat(mem, a, StatFormat::Large),
            Call::OsfFstat => self.fstat(mem, a, StatFormat::Osf),
            Call::Newfstatat => self.newfstatat(mem, a, StatFormat::Native),
            Call::Fstatat64 => self.newfstatat(mem, a, StatFormat::Large),
            Call::OsfFstatat => self.newfstatat(mem, a, StatFormat::Osf),
            Call::Statfs => self.statfs(mem, a),
            Call::Fstatfs => self.fstatfs(mem, a),
            Call::Statx => self.statx(mem, a),
            Call::Readlinkat => self.readlinkat(mem, a),
            Call::Faccessat => self.faccessat(mem, a, 0),
            Call::Faccessat2 => self.faccessat(mem, a, a[3]),
            Call::Getcwd => self.getcwd(mem, a),
            Call::Chdir => self.chdir(mem, a),
            Call::Fchdir => self.fchdir(a[0]),
            Call::Chroot => self.chroot(mem, a),
            Call::Getdents64 => self.getdents64(mem, a),
            Call::OsfGetdirentries => self.osf_getdirentries(mem, a),
            Call::Mkdirat => self.mkdirat(mem, a),
            Call::Mknodat => self.mknodat(mem, a),
            Call::Linkat => self.linkat(mem, a),
            Call::Symlinkat => self.symlinkat(mem, a),
            Call::Unlinkat => self.unlinkat(mem, a),
            Call::Renameat => self.renameat(mem, a, 0),
            Call::Renameat2 => self.renameat(mem, a, a[4]),
            Call::Fchmod => self.fchmod(a[0], a[1]),
            Call::Fchmodat => self.fchmodat(mem, a),
            Call::Fchown => self.chown_open(a),
            Call::Fchownat => self.chown_at(mem, a),
            // Without a path it is `futimens`.
            Call::Utimensat if a[1] == 0 => self.change_open(a[0]),
            Call::Utimensat => self.change_at(mem, a),
            Call::Umask => {
                let old = std::mem::replace(&mut self.umask, a[0] as u32 & 0o777);
                Ok(u64::from(old))
            }
            Call::SetTidAddress => {
                thread.clear_tid = a[0];
                Ok(u64::from(thread.tid))
            }
            Call::GetRobustList => self.robust_list(thread, mem, a),
            Call::SetRobustList => {
                thread.robust_list = a[0];
                Ok(0)
            }
            Call::Uname => self.uname(mem, a[0]),
            Call::OsfUtsname => self.osf_utsname(mem, a[0]),
            Call::Gethostname | Call::Getdomainname => self.host_name(mem, a),
            Call::Getpagesize => Ok(self.abi.page_bytes()),
            Call::Getdtablesize => Ok(self.limits.descriptors()),
            // The loader knows where the program lies.
            Call::OsfSetProgramAttributes => Ok(0),
            Call::Getrlimit => self.rlimit(mem, a[0], a[1], false),
            Call::Setrlimit => self.rlimit(mem, a[0], a[1], true),
            Call::Prlimit64 => self.prlimit64(mem, a),
            Call::Getrandom => self.getrandom(mem, a),
            Call::Personality => Ok(thread.attributes.set_personality(a[0])),
            Call::Futex => self.futex(mem, a),
            Call::Prctl => self.prctl(thread, mem, a),
            Call::Membarrier => self.membarrier(a),
            _ => {
                let number = self.abi.call_number(&thread.hart);
                self.warn_of_unserved(number, thread.hart.pc);
                Err(Errno::ENOSYS)
            }
        }
    }
}

impl Call {
    /// It ends a thread, or returns from the handler of a signal.
    const fn ends_or_returns(self) -> bool {
        matches!(
            self,
            Call::Exit | Call::ExitGroup | Call::RtSigreturn | Call::Sigreturn
        )
    }
}
