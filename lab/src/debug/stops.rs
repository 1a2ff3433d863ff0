//! Where a run stops on its way: breakpoints, watchpoints and steps of a thread, forward and back.
//!
//! The way is a step of one instruction after the other. Going back is going on from the checkpoint before, up to where the
//! run was, with the last place in mind at which it would have stopped.

use hps_isa::inst::{Inst, OpClass};
use hps_isa::isa::Isa;
use hps_system::process::{Guest, Process};
use rustc_hash::FxHashSet;

use super::history::{End, History};
use super::machine::Debugged;
use super::{DebugError, Debugger};

/// Accesses that a watchpoint stops at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    /// Something has changed the bytes, be it a store or a system call.
    Changes,
    /// An instruction loads any of them.
    Reads,
    /// An instruction loads or stores any of them.
    Accesses,
}

/// A watchpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The process whose memory it is in.
    pub pid: u32,
    /// Address of the first byte.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
    /// The accesses.
    pub kind: WatchKind,
}

/// Where a run stops.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    /// Addresses of instructions, in all processes.
    pub breakpoints: FxHashSet<u64>,
    /// Watchpoints.
    pub watches: Vec<Watch>,
    /// A thread, before or behind each of its instructions.
    pub steps_of: Option<u32>,
}

/// Why a run has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The run has gone as far as it was asked to.
    Budget,
    /// The next instruction of a thread is at a breakpoint.
    Break {
        /// The thread.
        tid: u32,
    },
    /// A watchpoint. Forward, the run is behind the access; back, it is before.
    Watch {
        /// The thread that made the access.
        tid: u32,
        /// The watchpoint.
        watch: Watch,
    },
    /// A step of the thread.
    Step {
        /// The thread.
        tid: u32,
    },
    /// The next instruction, or what the operating system does here, ends the run.
    End(End),
    /// The beginning of the run.
    Begin,
}

impl Stops {
    fn is_empty(&self) -> bool {
        self.breakpoints.is_empty() && self.watches.is_empty() && self.steps_of.is_none()
    }

    /// Whether the run stops before the next instruction.
    #[inline]
    fn breaks(&self, machine: &dyn Debugged) -> bool {
        let (pc, disepc) = machine.next();
        // Inside of an expansion the instruction has begun.
        disepc.index() == 0 && self.breakpoints.contains(&pc)
    }
}

impl Debugger<'_> {
    /// Goes on until the run stops, by up to about `budget` instructions.
    ///
    /// # Errors
    /// A checkpoint cannot be restored.
    pub fn forward(&mut self, stops: &Stops, budget: u64) -> Result<Halt, DebugError> {
        self.history.forward(stops, budget)
    }

    /// Goes back until the run stops, to one checkpoint at most, which is a [`Halt::Budget`].
    ///
    /// # Errors
    /// A checkpoint cannot be restored.
    pub fn back(&mut self, stops: &Stops) -> Result<Halt, DebugError> {
        self.history.back(stops)
    }
}

impl History<'_> {
    fn forward(&mut self, stops: &Stops, budget: u64) -> Result<Halt, DebugError> {
        if stops.is_empty() {
            let end = self.advance(budget)?;
            return Ok(end.map_or(Halt::Budget, Halt::End));
        }
        let mut scan = Scan::new(stops, self.machine());
        let mut halt = Halt::Budget;
        let mut end = None;
        for _ in 0..budget {
            let accessed = scan.before(self.machine());
            end = self.step();
            if end.is_some() {
                break;
            }
            let machine = self.machine();
            if let Some(found) = scan.behind(machine, accessed) {
                halt = found;
                break;
            }
            if stops.breaks(machine) {
                let tid = machine.process().thread.tid;
                halt = Halt::Break { tid };
                break;
            }
        }
        let end = self.finish_steps(end)?;
        Ok(end.map_or(halt, Halt::End))
    }

    fn back(&mut self, stops: &Stops) -> Result<Halt, DebugError> {
        let until = self.position();
        if !self.go_before(until)? {
            return Ok(Halt::Begin);
        }
        let from = self.position();
        if stops.is_empty() {
            return Ok(Halt::Budget);
        }
        let mut last = None;
        let mut scan = Scan::new(stops, self.machine());
        loop {
            let here = self.position();
            if here >= until {
                break;
            }
            let machine = self.machine();
            if stops.breaks(machine) {
                let tid = machine.process().thread.tid;
                last = Some((here, Halt::Break { tid }));
            }
            let accessed = scan.before(machine);
            if self.step().is_some() {
                break;
            }
            if let Some(found) = scan.behind(self.machine(), accessed) {
                last = Some((here, found));
            }
        }
        let (position, halt) = last.unwrap_or((from, Halt::Budget));
        self.finish_replay();
        self.go_to(position)?;
        Ok(halt)
    }
}

/// Memory that a step may change, as it was before the step.
struct Scan<'s> {
    stops: &'s Stops,
    /// Bytes of each watchpoint for changes, if they are mapped.
    bytes: Vec<Option<Vec<u8>>>,
    /// Scratch for the bytes now.
    now: Vec<u8>,
    watches_accesses: bool,
}

/// A step, before it.
struct Before {
    /// The thread on the context.
    tid: u32,
    pc: u64,
    /// The watchpoint that the instruction accesses.
    accessed: Option<usize>,
}

impl<'s> Scan<'s> {
    fn new(stops: &'s Stops, machine: &dyn Debugged) -> Self {
        let process = machine.process();
        let bytes = stops.watches.iter().map(|watch| {
            let mut bytes = vec![0; watch.len as usize];
            read(process, watch, &mut bytes).then_some(bytes)
        });
        let mut watches = stops.watches.iter();
        Scan {
            stops,
            bytes: bytes.collect(),
            now: Vec::new(),
            watches_accesses: watches.any(|watch| watch.kind != WatchKind::Changes),
        }
    }

    fn before(&self, machine: &dyn Debugged) -> Before {
        let (pc, _) = machine.next();
        Before {
            tid: machine.process().thread.tid,
            pc,
            accessed: match self.watches_accesses {
                true => self.access_of(machine, pc),
                false => None,
            },
        }
    }

    /// The watchpoint that the next instruction accesses.
    fn access_of(&self, machine: &dyn Debugged, pc: u64) -> Option<usize> {
        let process = machine.process();
        let inst = instruction(process, pc)?;
        if !inst.class.is_memory() {
            return None;
        }
        let first = inst.data_address(machine.hart().r[usize::from(inst.rs1)]);
        let end = first.wrapping_add(u64::from(inst.op.access_bytes()));
        let pid = process.os.pid();
        let is_hit = |watch: &Watch| {
            let is_kind = match watch.kind {
                WatchKind::Changes => false,
                WatchKind::Reads => inst.class != OpClass::Store,
                WatchKind::Accesses => true,
            };
            is_kind && watch.pid == pid && first < watch.addr + watch.len && watch.addr < end
        };
        self.stops.watches.iter().position(is_hit)
    }

    /// Why the run stops behind a step, if it does.
    fn behind(&mut self, machine: &dyn Debugged, before: Before) -> Option<Halt> {
        let process = machine.process();
        let mut hit = before.accessed;
        for (at, watch) in self.stops.watches.iter().enumerate() {
            if watch.kind != WatchKind::Changes || watch.pid != process.os.pid() {
                continue;
            }
            self.now.resize(watch.len as usize, 0);
            let is_mapped = read(process, watch, &mut self.now);
            let now = is_mapped.then_some(&self.now[..]);
            if self.bytes[at].as_deref() != now {
                self.bytes[at] = now.map(<[u8]>::to_vec);
                hit = Some(at);
            }
        }
        if hit.is_none() && self.stops.steps_of.is_none() {
            return None;
        }
        let tid = executor(process, &before);
        if let Some(at) = hit {
            let watch = self.stops.watches[at].clone();
            return Some(Halt::Watch { tid, watch });
        }
        (self.stops.steps_of == Some(tid)).then_some(Halt::Step { tid })
    }
}

/// The thread that has made a step. The context may have gone to another one before the step, when a time slice was over,
/// or in the step, if that was a system call.
fn executor(process: &Process, before: &Before) -> u32 {
    if process.thread.tid == before.tid {
        return before.tid;
    }
    let guest = process.guest_of(before.tid);
    let inst = guest.and_then(|guest| instruction(guest, before.pc));
    match inst.map(|inst| inst.class) {
        Some(OpClass::Syscall) | None => before.tid,
        _ => process.thread.tid,
    }
}

/// The instruction at an address of a guest, if it can be executed.
pub(super) fn instruction(guest: &Guest, pc: u64) -> Option<Inst> {
    let isa = guest.image.isa;
    let word = match isa {
        Isa::Riscv64 => guest.mem.fetch_word(pc),
        Isa::Alpha => guest.mem.fetch_four_bytes(pc),
    };
    Some(isa.decode(word.ok()?))
}

/// Reads the bytes of a watchpoint. `false` if they are not mapped, or of a process that does not run.
fn read(process: &Process, watch: &Watch, into: &mut [u8]) -> bool {
    let mem = match process.os.pid() == watch.pid {
        true => &process.guest.mem,
        false => match process.guest_of(watch.pid) {
            Some(guest) => &guest.mem,
            None => return false,
        },
    };
    let quick = match into.len() {
        1 => mem.read::<1>(watch.addr),
        2 => mem.read::<2>(watch.addr),
        4 => mem.read::<4>(watch.addr),
        8 => mem.read::<8>(watch.addr),
        _ => return mem.read_bytes_forced(watch.addr, into).is_ok(),
    };
    match quick {
        Ok(value) => {
            into.copy_from_slice(&value.to_le_bytes()[..into.len()]);
            true
        }
        Err(_) => mem.read_bytes_forced(watch.addr, into).is_ok(),
    }
}
