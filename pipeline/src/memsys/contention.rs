//! Lines for which cores contend, and the instructions that ask for them: what `perf c2c` samples, counted. Nothing is noted
//! unless [`SharedMemory::record_contention`] is called.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{CoreId, PrivateMemory, SharedMemory};

/// Kind of an instruction's access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TouchKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A load and a store in one step.
    Atomic,
    /// A prefetch, or another line that a prefetcher brings behind the instruction's access.
    Prefetch,
    /// Instructions are fetched.
    Fetch,
}

/// An instruction that accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Accessor {
    /// The number of its program.
    pub program: u32,
    pub pc: u64,
    pub addr: u64,
    /// Bytes.
    pub size: u8,
    pub kind: TouchKind,
}

hps_isa::save_values!(Accessor);

/// The requests of an instruction on a core to a part of a line that other cores had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The core.
    pub core: CoreId,
    /// The number of the instruction's program.
    pub program: u32,
    /// The address of the instruction; 0 of instructions that are fetched.
    pub pc: u64,
    /// Kind of the access.
    pub kind: TouchKind,
    /// The first byte that it accesses, from the beginning of the line.
    pub offset: u64,
    /// Bytes.
    pub size: u8,
    /// Requests.
    pub request_events: u64,
    /// Accesses for which another core sent the line.
    pub transfer_events: u64,
    /// Cycles from the requests to their answers.
    pub wait_cycles: u64,
}

/// A line that cores took from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedLine {
    /// The address of its first byte.
    pub address: u64,
    /// Transfers from core to core.
    pub transfer_events: u64,
    /// Copies that cores lost to writes of others.
    pub invalidation_events: u64,
    /// Cycles from requests to their answers, of all cores.
    pub wait_cycles: u64,
    /// The instructions that asked for it, by core and part of the line, the longest waits first.
    pub touches: Vec<Touch>,
}

/// Counts of requests for a line.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Met {
    pub requests: u64,
    pub transfers: u64,
    pub invalidations: u64,
    pub waited: u64,
}

impl Met {
    fn add(&mut self, other: Met) {
        self.requests += other.requests;
        self.transfers += other.transfers;
        self.invalidations += other.invalidations;
        self.waited += other.waited;
    }
}

/// Notes about the contended lines of a chip.
#[derive(Clone, Debug)]
pub(super) struct Contention {
    /// The instruction that accesses memory now, and the first of its lines.
    by: Accessor,
    line: u64,
    /// By line, core and instruction. The address is that of the part of the line.
    touches: FxHashMap<(u64, CoreId, Accessor), Met>,
}

hps_isa::save_state! { Contention { by, line, touches } }

impl Contention {
    /// A core has asked for a line that others had.
    pub fn note(&mut self, core: CoreId, line: u64, shift: u32, is_fetch: bool, met: Met) {
        let begin = match line.wrapping_sub(self.line) {
            0 => self.by.addr,
            1 => (self.by.addr >> shift).wrapping_add(1) << shift,
            _ => line << shift,
        };
        let is_own = line.wrapping_sub(self.line) < 2;
        let by = match (is_fetch, is_own) {
            (true, _) => Accessor {
                program: 0,
                pc: 0,
                addr: line << shift,
                size: 0,
                kind: TouchKind::Fetch,
            },
            (false, true) => Accessor {
                addr: begin,
                ..self.by
            },
            (false, false) => Accessor {
                addr: begin,
                size: 0,
                kind: TouchKind::Prefetch,
                ..self.by
            },
        };
        self.touches.entry((line, core, by)).or_default().add(met);
    }
}

impl PrivateMemory {
    /// The next access is that of an instruction.
    #[cold]
    pub(crate) fn announce(&self, shared: &mut SharedMemory, by: Accessor) {
        let shift = shared.line_shift;
        if let Some(contention) = &mut shared.contention {
            contention.by = by;
            contention.line = self.space.of(by.addr) >> shift;
        }
    }
}

impl SharedMemory {
    /// Notes from now on for which lines cores contend. Nothing on a chip with one core.
    pub fn record_contention(&mut self) {
        if self.coherence.is_some() {
            let nobody = Accessor {
                program: 0,
                pc: 0,
                addr: 0,
                size: 0,
                kind: TouchKind::Load,
            };
            self.contention = Some(Box::new(Contention {
                by: nobody,
                line: u64::MAX - 1,
                touches: FxHashMap::default(),
            }));
        }
    }

    /// Whether that is noted.
    #[inline(always)]
    pub(crate) fn records_contention(&self) -> bool {
        self.contention.is_some()
    }

    /// The lines for which cores contended, the longest waits first; none unless that was
    /// [noted](Self::record_contention).
    #[must_use]
    pub fn contended_lines(&self) -> Vec<ContendedLine> {
        let Some(contention) = &self.contention else {
            return Vec::new();
        };
        let begin = |addr: u64| addr >> self.line_shift << self.line_shift;
        let mut lines: FxHashMap<u64, ContendedLine> = FxHashMap::default();
        for ((line, core, by), met) in &contention.touches {
            let of_line = lines.entry(*line).or_insert(ContendedLine {
                address: begin(by.addr),
                transfer_events: 0,
                invalidation_events: 0,
                wait_cycles: 0,
                touches: Vec::new(),
            });
            of_line.transfer_events += met.transfers;
            of_line.invalidation_events += met.invalidations;
            of_line.wait_cycles += met.waited;
            of_line.touches.push(Touch {
                core: *core,
                program: by.program,
                pc: by.pc,
                kind: by.kind,
                offset: by.addr - begin(by.addr),
                size: by.size,
                request_events: met.requests,
                transfer_events: met.transfers,
                wait_cycles: met.waited,
            });
        }
        let mut lines: Vec<_> = lines.into_values().collect();
        for line in &mut lines {
            let rank = |touch: &Touch| (touch.wait_cycles, touch.request_events);
            (line.touches).sort_by(|a, b| {
                let which = |t: &Touch| (t.core, t.offset, t.program, t.pc, t.kind, t.size);
                rank(b).cmp(&rank(a)).then(which(a).cmp(&which(b)))
            });
        }
        lines.sort_by(|a, b| {
            let rank = |line: &ContendedLine| (line.wait_cycles, line.transfer_events);
            rank(b).cmp(&rank(a)).then(a.address.cmp(&b.address))
        });
        lines
    }
}
