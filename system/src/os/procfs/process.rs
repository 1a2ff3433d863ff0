//! Files of `/proc/PID`, which tell of a process (Linux `fs/proc/array.c`).

use hps_isa::layout;
use hps_isa::memory::{Memory, PAGE_SIZE};

use super::subject::{Subject, Whose};
use super::tree::Text;
use crate::os::Linux;
use crate::process::Thread;

impl Linux {
    /// The text of a file that tells of a process. `thread` makes the call, and `mem` is its process's memory.
    pub(super) fn process_text(
        &self,
        text: Text,
        whose: Whose,
        thread: &Thread,
        mem: &Memory,
    ) -> Vec<u8> {
        match self.subject(whose, thread, mem) {
            Some(subject) => self.text_of_subject(text, &subject),
            None => self.text_of_ended(text, whose.pid).into_bytes(),
        }
    }

    /// The text of a process that has ended and whose parent has not asked yet.
    fn text_of_ended(&self, text: Text, pid: u32) -> String {
        let Some((parent, group, session, name)) = self.ended_process(pid) else {
            return String::new();
        };
        let name = Thread::readable_name(&name);
        match text {
            Text::Name => format!("{name}\n"),
            Text::MemoryStatus => "0 0 0 0 0 0 0\n".to_owned(),
            Text::ProcessStat => {
                let rest = " 0".repeat(44);
                format!("{pid} ({name}) Z {parent} {group} {session} 0 -1{rest}\n")
            }
            Text::Status => format!(
                "Name:\t{name}\nState:\tZ (zombie)\nTgid:\t{pid}\nNgid:\t0\nPid:\t{pid}\nPPid:\t{parent}\n\
                 TracerPid:\t0\nThreads:\t1\n"
            ),
            _ => String::new(),
        }
    }

    fn text_of_subject(&self, text: Text, subject: &Subject<'_>) -> Vec<u8> {
        let (os, mem) = (subject.os, subject.mem);
        let from_stack = |range: Option<&std::ops::Range<u64>>| {
            let range = range.cloned().unwrap_or_default();
            let mut bytes = vec![0; (range.end - range.start) as usize];
            // Linux reads them from the process's memory, too, where it may have changed them.
            let _ = mem.read_bytes(range.start, &mut bytes);
            bytes
        };
        let started = os.program.started.as_ref();
        match text {
            Text::Arguments => from_stack(started.map(|s| &s.arguments)),
            Text::Environment => from_stack(started.map(|s| &s.environment)),
            Text::Auxiliary => from_stack(started.map(|s| &s.auxiliary)),
            Text::Name => format!("{}\n", subject.name()).into_bytes(),
            Text::Maps => os.maps(mem).into_bytes(),
            Text::MemoryStatus => os.memory_status(mem).into_bytes(),
            Text::ProcessStat => self.process_stat(subject).into_bytes(),
            Text::Status => self.status(subject).into_bytes(),
            _ => Vec::new(),
        }
    }

    /// `statm`: total, resident, shared, text, libraries, data and stack, dirty; in pages.
    fn memory_status(&self, mem: &Memory) -> String {
        let page = self.abi.page_bytes();
        let sizes = self.sizes(mem);
        format!(
            "{} {} 0 {} 0 {} 0\n",
            sizes.total / page,
            mem.resident_bytes() / page,
            sizes.text / page,
            (sizes.data + sizes.stack) / page
        )
    }

    fn sizes(&self, mem: &Memory) -> Sizes {
        let total = mem.mapped_ranges().map(|r| r.end - r.start).sum();
        let segments = self.program.started.iter().flat_map(|s| &s.image.segments);
        let text = segments
            .filter(|segment| segment.perm.contains(hps_isa::memory::Perm::X))
            .map(|segment| segment.mem_bytes.next_multiple_of(PAGE_SIZE))
            .sum();
        let stack = layout::STACK_BYTES;
        Sizes {
            total,
            text,
            stack,
            data: total.saturating_sub(text + stack),
        }
    }

    /// `stat`: 52 numbers. Those that have no meaning here are zero.
    fn process_stat(&self, subject: &Subject<'_>) -> String {
        let (os, mem) = (subject.os, subject.mem);
        let started = os.program.started.as_ref();
        let image = started.map(|started| &started.image);
        let text = image.and_then(|image| {
            let is_text = |s: &&crate::image::Segment| s.perm.contains(hps_isa::memory::Perm::X);
            image.segments.iter().find(is_text)
        });
        let (code, code_end) = text.map_or((0, 0), |s| (s.addr, s.end()));
        let stack = started.map_or(0, |started| started.stack);
        let range = |range: Option<&std::ops::Range<u64>>| {
            range.map_or((0, 0), |range| (range.start, range.end))
        };
        let arguments = range(started.map(|s| &s.arguments));
        let environment = range(started.map(|s| &s.environment));
        let signals = os.signal_sets(subject.thread);
        let low = |set: u64| set & 0x7fff_ffff;
        let tid = subject.tid;
        let sizes = os.sizes(mem);
        let resident = mem.resident_bytes() / os.abi.page_bytes();
        let heap = os.space.heap.range().start;
        let parts: [&[u64]; 6] = [
            // time of user, system, children; priority, nice, threads, interval, start
            &[
                os.busy_ticks(self.time.now_ns),
                0,
                0,
                0,
                20,
                0,
                self.threads_of(os.pid).len() as u64,
                0,
                0,
            ],
            // memory in bytes, resident pages, their limit; code, stack, stack pointer, program counter
            &[sizes.total, resident, u64::MAX, code, code_end, stack, 0, 0],
            // signals: pending, blocked, ignored, caught; place of waiting, swapped pages of two kinds
            &[
                low(signals.pending),
                low(signals.blocked),
                low(signals.ignored),
                low(signals.caught),
                0,
                0,
                0,
            ],
            // signal to the parent, processor, real-time priority, policy, delays, guest time twice
            &[17, 0, 0, 0, 0, 0, 0],
            // data and its end, heap
            &[code_end, heap, heap],
            // arguments, environment, exit code
            &[arguments.0, arguments.1, environment.0, environment.1, 0],
        ];
        let rest: Vec<String> = parts.concat().iter().map(u64::to_string).collect();
        let rest = rest.join(" ");
        // parent, group, session, terminal, its group, flags, four kinds of page faults
        let (parent, group, session) = self.place_of(os.pid);
        let first = format!("{parent} {group} {session} 0 -1 0 0 0 0 0");
        let state = &subject.state.text()[..1];
        format!("{tid} ({}) {state} {first} {rest}\n", subject.name())
    }

    /// `status`.
    fn status(&self, subject: &Subject<'_>) -> String {
        let (os, mem) = (subject.os, subject.mem);
        let sizes = os.sizes(mem);
        let signals = os.signal_sets(subject.thread);
        let (parent, ..) = self.place_of(os.pid);
        let kib = |bytes: u64| format!("{:>8} kB", bytes >> 10);
        let descriptors = os.files.open_numbers().last().map_or(0, |fd| fd + 1);
        let rows: Vec<(&str, String)> = vec![
            ("Name", subject.name()),
            ("Umask", format!("{:04o}", os.tree.umask)),
            ("State", subject.state.text().to_owned()),
            ("Tgid", os.pid.to_string()),
            ("Ngid", "0".to_owned()),
            ("Pid", subject.tid.to_string()),
            ("PPid", parent.to_string()),
            ("TracerPid", "0".to_owned()),
            ("FDSize", descriptors.next_multiple_of(64).to_string()),
            ("VmSize", kib(sizes.total)),
            (
                "VmLck",
                kib(os.space.locks.ranges.bytes_within(0..u64::MAX)),
            ),
            ("VmPin", kib(0)),
            ("VmHWM", kib(mem.peak_resident_bytes())),
            ("VmRSS", kib(mem.resident_bytes())),
            ("RssAnon", kib(mem.resident_bytes())),
            ("RssFile", kib(0)),
            ("RssShmem", kib(0)),
            ("VmData", kib(sizes.data)),
            ("VmStk", kib(sizes.stack)),
            ("VmExe", kib(sizes.text)),
            ("VmLib", kib(0)),
            ("VmSwap", kib(0)),
            ("Threads", self.threads_of(os.pid).len().to_string()),
            ("SigPnd", format!("{:016x}", signals.own_pending)),
            (
                "ShdPnd",
                format!("{:016x}", signals.pending & !signals.own_pending),
            ),
            ("SigBlk", format!("{:016x}", signals.blocked)),
            ("SigIgn", format!("{:016x}", signals.ignored)),
            ("SigCgt", format!("{:016x}", signals.caught)),
            ("Seccomp", "0".to_owned()),
            ("Cpus_allowed", "1".to_owned()),
            ("Cpus_allowed_list", "0".to_owned()),
            ("Mems_allowed_list", "0".to_owned()),
            ("voluntary_ctxt_switches", "0".to_owned()),
            ("nonvoluntary_ctxt_switches", "0".to_owned()),
        ];
        // Users and groups stand behind the tracer, the sets of capabilities behind those of signals.
        let own = os.credentials.rows();
        let (ids, capabilities) = own.split_at(3);
        let behind = |name: &str| match name {
            "TracerPid" => &ids[..2],
            "FDSize" => &ids[2..],
            "SigCgt" => capabilities,
            _ => &[],
        };
        let line = |(key, value): &(&str, String)| format!("{key}:\t{value}\n");
        rows.iter()
            .flat_map(|row| std::iter::once(row).chain(behind(row.0)))
            .map(line)
            .collect()
    }

    fn signal_sets(&self, thread: Option<&Thread>) -> SignalSets {
        let own_pending = thread.map_or(0, |thread| thread.signals.pending.set);
        let mut sets = SignalSets {
            own_pending,
            pending: own_pending | self.signals.pending.set,
            blocked: thread.map_or(0, |thread| thread.signals.blocked),
            ignored: 0,
            caught: 0,
        };
        for (signal, action) in self.signals.actions.iter().enumerate().skip(1) {
            match action.handler {
                crate::os::signals::SIG_DFL => {}
                crate::os::signals::SIG_IGN => sets.ignored |= 1 << (signal - 1),
                _ => sets.caught |= 1 << (signal - 1),
            }
        }
        sets
    }
}

/// Sizes of parts of the address space, in bytes.
struct Sizes {
    total: u64,
    text: u64,
    data: u64,
    stack: u64,
}

/// Sets of signals; signal 1 is the lowest bit.
struct SignalSets {
    own_pending: u64,
    pending: u64,
    blocked: u64,
    ignored: u64,
    caught: u64,
}
