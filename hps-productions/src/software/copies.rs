//! Lays out both copies of the code: checks, instrumentation, stubs, routines, and their addresses.
//!
//! # What stands where
//!
//! The checking copy, the instrumented one, and the routines lie one behind the other. In front of an
//! instruction stand, in this order: the check of a method entry; its instrumentation, in the
//! instrumented copy; the check of a back-edge or call. A check that finds its counter used up branches
//! to a stub out of line, which loads the other counter and goes on in the other copy behind the same
//! check. Stubs lie behind the next unconditional transfer.
//!
//! # Lengths
//!
//! Instructions keep their lengths, but a compressed branch or jump that no longer reaches its target
//! takes 4 bytes. Functions keep the alignment of their address, up to 16 bytes. A copy begins at the
//! place in a page where the original does, and gaps between functions stay as long as they are (up to a
//! cache line, and less what is put there), so that a copy into which nothing is inserted lies in cache
//! lines and fetch blocks as the original does. Simplification: every
//! branch of 4 bytes reaches (RISC-V's conditional ones reach 4 KiB, its jumps 1 MiB; a rewriter would
//! need a second instruction for the few that go farther).

use hps_isa::inst::{Inst, Op};
use hps_isa::isa::Isa;
use hps_isa::memory::PAGE_SIZE;

use super::code::Code;
use super::liveness::{self, Registers};
use super::sites::Sites;
use super::slots;
use super::work::{Step, Work};
use super::{LayoutStatistics, SoftwareError};

/// Where the copies begin.
pub const BASE: u64 = slots::PAGE + 0x1_0000;

/// The copy that checks and collects nothing.
pub const CHECKING: usize = 0;
/// The copy that checks and collects.
pub const INSTRUMENTED: usize = 1;

/// Where a direct transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// The instruction is no direct transfer.
    None,
    /// To this address.
    Address(u64),
    /// To where this label will be.
    Label(u32),
}

/// Origin of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The program's.
    Program,
    /// Inserted into the program's code.
    Inserted,
    /// Part of a routine out of line.
    Routine,
}

/// An instruction of the layout.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The instruction, with its displacement in the end.
    pub inst: Inst,
    /// Where it lies in the end.
    pub addr: u64,
    /// The address of the program's instruction that it is, or stands in front of.
    pub original: u64,
    /// Origin of the instruction.
    pub origin: Origin,
    goal: Goal,
    space: Space,
}

/// The space in front of an instruction: at least `gap` bytes, and the bytes after which its address is
/// `offset` behind a multiple of `align`.
#[derive(Clone, Copy, Debug)]
struct Space {
    gap: u64,
    align: u64,
    offset: u64,
}

impl Space {
    const NONE: Space = Space {
        gap: 0,
        align: 1,
        offset: 0,
    };
}

/// The parts of an instruction's place that transfers go to.
#[derive(Clone, Copy)]
enum Part {
    /// In front of all that is inserted.
    Start,
    /// Behind the check of an entry.
    BehindEntry,
    /// Behind all checks.
    Itself,
}

/// A complete layout.
#[derive(Debug)]
pub struct Copies {
    /// All instructions, by address.
    pub items: Vec<Item>,
    /// Where each of the program's instructions begins, with what is inserted in front of it, in each
    /// copy.
    pub places: [Vec<u64>; 2],
    /// Where the instrumented copy begins.
    pub instrumented: u64,
    /// Where the routines begin.
    pub routines: u64,
    /// The address behind everything.
    pub end: u64,
    /// Counts.
    pub statistics: LayoutStatistics,
}

/// A check's stub, to be written out of line.
struct Stub {
    label: u32,
    copy: usize,
    at: usize,
    part: Part,
    register: u8,
    is_spilled: bool,
}

/// Lays out a program.
pub struct Layouter<'a> {
    code: &'a Code,
    live: &'a [Registers],
    sites: &'a Sites,
    work: Option<&'a Work<'a>>,
    /// Everything is sampled: the instrumented copy is never left.
    is_exhaustive: bool,
    /// Bursts are numbered.
    counts_bursts: bool,
    items: Vec<Item>,
    labels: Vec<u32>,
    stubs: Vec<Stub>,
    routine_labels: Vec<(u64, u32)>,
    statistics: LayoutStatistics,
}

impl<'a> Layouter<'a> {
    /// A layout of this code with checks at these sites and this instrumentation.
    pub fn new(
        code: &'a Code,
        live: &'a [Registers],
        sites: &'a Sites,
        work: Option<&'a Work<'a>>,
        is_exhaustive: bool,
        counts_bursts: bool,
    ) -> Self {
        Layouter {
            code,
            live,
            sites,
            work,
            is_exhaustive,
            counts_bursts,
            items: Vec::new(),
            labels: vec![0; code.list.len() * 6],
            stubs: Vec::new(),
            routine_labels: Vec::new(),
            statistics: LayoutStatistics::default(),
        }
    }

    /// Lays everything out.
    ///
    /// # Errors
    /// A production whose sequence cannot be inserted.
    pub fn finish(mut self) -> Result<Copies, SoftwareError> {
        let routines = self.work.map(Work::routines).unwrap_or_default();
        for &(addr, _) in &routines {
            let label = self.new_label();
            self.routine_labels.push((addr, label));
        }
        self.copy(CHECKING)?;
        let instrumented = self.items.len();
        self.copy(INSTRUMENTED)?;
        let first_routine = self.items.len();
        for (at, (addr, inst)) in routines.iter().enumerate() {
            self.place_label(self.routine_labels[at].1);
            let goal = self.routine_goal(*addr, inst);
            self.push(*inst, *addr, Origin::Routine, goal);
        }
        for first in [0, instrumented, first_routine] {
            if let Some(item) = self.items.get_mut(first) {
                item.space = Space {
                    gap: 0,
                    align: PAGE_SIZE,
                    offset: item.original % PAGE_SIZE,
                };
            }
        }
        let end = self.settle();
        self.resolve();
        let addr_of = |at: usize| self.items.get(at).map_or(end, |item| item.addr);
        let (instrumented, routines) = (addr_of(instrumented), addr_of(first_routine));
        let places = [CHECKING, INSTRUMENTED].map(|copy| {
            (0..self.code.list.len())
                .map(|at| self.address(self.label(copy, at, Part::Start)))
                .collect()
        });
        self.statistics.program_instructions = self.code.list.len() as u64;
        self.statistics.program_bytes = self.code.list.iter().map(|i| u64::from(i.inst.len)).sum();
        self.statistics.copy_bytes = [instrumented - BASE, routines - instrumented];
        self.statistics.routine_bytes = end - routines;
        Ok(Copies {
            items: self.items,
            places,
            instrumented,
            routines,
            end,
            statistics: self.statistics,
        })
    }

    fn label(&self, copy: usize, at: usize, part: Part) -> u32 {
        ((copy * self.code.list.len() + at) * 3 + part as usize) as u32
    }

    fn new_label(&mut self) -> u32 {
        self.labels.push(0);
        self.labels.len() as u32 - 1
    }

    fn place_label(&mut self, label: u32) {
        self.labels[label as usize] = self.items.len() as u32;
    }

    fn address(&self, label: u32) -> u64 {
        let at = self.labels[label as usize] as usize;
        let last = self
            .items
            .last()
            .map_or(BASE, |i| i.addr + u64::from(i.inst.len));
        self.items.get(at).map_or(last, |item| item.addr)
    }

    fn push(&mut self, inst: Inst, original: u64, origin: Origin, goal: Goal) {
        self.items.push(Item {
            inst,
            addr: 0,
            original,
            origin,
            goal,
            space: Space::NONE,
        });
    }

    fn insert(&mut self, inst: Inst, original: u64, goal: Goal, copy: usize) {
        self.statistics.inserted_instructions[copy] += 1;
        self.push(inst, original, Origin::Inserted, goal);
    }

    fn copy(&mut self, copy: usize) -> Result<(), SoftwareError> {
        let mut starts = self.code.starts.iter().copied().peekable();
        let mut behind_program = self.items.len();
        for at in 0..self.code.list.len() {
            let first = self.items.len();
            let is_start = starts.next_if_eq(&at).is_some();
            let space = self.space_before(at, is_start, behind_program);
            behind_program = self.instruction(copy, at)?;
            self.items[first].space = space;
        }
        self.write_stubs();
        Ok(())
    }

    /// The space in front of an instruction that nothing falls into. Items from `behind_program` on have
    /// been put behind the program's instruction before it.
    fn space_before(&self, at: usize, is_start: bool, behind_program: usize) -> Space {
        const LINE: u64 = 64;
        let Some(before) = at.checked_sub(1).map(|before| self.code.list[before]) else {
            return Space::NONE;
        };
        let addr = self.code.list[at].addr;
        let gap = addr.saturating_sub(before.next()) % LINE;
        if before.falls_through() && before.next() == addr || !is_start && gap == 0 {
            return Space::NONE;
        }
        let put_there = self.items[behind_program..].iter();
        let put_there: u64 = put_there.map(|item| u64::from(item.inst.len)).sum();
        let align = 1 << addr.trailing_zeros().min(4);
        Space {
            gap: gap.saturating_sub(put_there) / align * align,
            align,
            offset: 0,
        }
    }

    /// One instruction with what is inserted around it; the number of the item behind it.
    fn instruction(&mut self, copy: usize, at: usize) -> Result<usize, SoftwareError> {
        let instruction = self.code.list[at];
        self.place_label(self.label(copy, at, Part::Start));
        if self.sites.entry[at] {
            self.statistics.entry_checks += u64::from(copy == CHECKING);
            self.check(copy, at, Part::BehindEntry);
        }
        self.place_label(self.label(copy, at, Part::BehindEntry));
        if copy == INSTRUMENTED
            && let Some(work) = self.work
        {
            let keep_link = liveness::contains(self.live[at], slots::link(self.code.isa));
            let steps = work.steps(&instruction, keep_link)?;
            self.statistics.instrumented_instructions += u64::from(!steps.is_empty());
            for step in steps {
                self.step(step, instruction.addr)?;
            }
        }
        if self.sites.event[at] {
            let count = if instruction.inst.class.is_call() {
                &mut self.statistics.call_checks
            } else {
                &mut self.statistics.back_edge_checks
            };
            *count += u64::from(copy == CHECKING);
            self.check(copy, at, Part::Itself);
        }
        self.place_label(self.label(copy, at, Part::Itself));
        self.statistics.boring_back_edges += u64::from(copy == CHECKING && self.sites.boring[at]);
        let goal = self.program_goal(copy, at);
        self.push(instruction.inst, instruction.addr, Origin::Program, goal);
        let behind = self.items.len();
        self.behind(copy, at);
        Ok(behind)
    }

    /// Where a direct transfer of the program goes.
    fn program_goal(&self, copy: usize, at: usize) -> Goal {
        let instruction = &self.code.list[at];
        let Some(target) = instruction.target() else {
            return Goal::None;
        };
        // A back-edge has, or does without, a check of its own.
        let part = if instruction.inst.is_back_edge() {
            Part::BehindEntry
        } else {
            Part::Start
        };
        match self.code.index.find(target) {
            Some(to) => Goal::Label(self.label(copy, to, part)),
            None => Goal::Address(target),
        }
    }

    /// Goes on where the program does, if that is not what comes next; else this is a place for stubs.
    fn behind(&mut self, copy: usize, at: usize) {
        let instruction = self.code.list[at];
        let next = self.code.behind(at);
        let is_adjacent = next == Some(at + 1);
        if instruction.falls_through() {
            if is_adjacent {
                return;
            }
            let goal = match next {
                Some(next) => Goal::Label(self.label(copy, next, Part::Start)),
                None => Goal::Address(instruction.next()),
            };
            self.insert(slots::jump(self.code.isa), instruction.addr, goal, copy);
        }
        // A call returns to what comes next, and its return is predicted right behind it.
        if !(instruction.inst.class.is_call() && is_adjacent) {
            self.write_stubs();
        }
    }

    fn step(&mut self, step: Step, original: u64) -> Result<(), SoftwareError> {
        match step {
            Step::Plain(inst) => self.insert(inst, original, Goal::None, INSTRUMENTED),
            Step::Call(handler) => {
                let found = self
                    .routine_labels
                    .iter()
                    .find(|(addr, _)| *addr == handler);
                let Some((_, label)) = found else {
                    return Err(SoftwareError::Handler { addr: handler });
                };
                let goal = Goal::Label(*label);
                self.insert(slots::call(self.code.isa), original, goal, INSTRUMENTED);
            }
        }
        Ok(())
    }

    /// Counts down; used up, it goes to the stub.
    fn check(&mut self, copy: usize, at: usize, behind: Part) {
        let isa = self.code.isa;
        let original = self.code.list[at].addr;
        let candidates = slots::candidates(isa);
        let dead = candidates
            .iter()
            .find(|&&r| !liveness::contains(self.live[at], r));
        let is_spilled = dead.is_none();
        let register = dead.copied().unwrap_or(slots::link(isa));
        self.statistics.spilled_checks += u64::from(is_spilled && copy == CHECKING);
        let counter = [slots::CHECKS_LEFT, slots::BURST_LEFT][copy];
        let label = self.new_label();
        if is_spilled {
            self.insert(
                slots::store(isa, register, slots::CHECK_SPILL),
                original,
                Goal::None,
                copy,
            );
        }
        for inst in [
            slots::load(isa, register, counter),
            slots::add(isa, register, -1),
            slots::store(isa, register, counter),
        ] {
            self.insert(inst, original, Goal::None, copy);
        }
        let branch = slots::branch_if_used_up(isa, register);
        self.insert(branch, original, Goal::Label(label), copy);
        if is_spilled {
            self.insert(
                slots::load(isa, register, slots::CHECK_SPILL),
                original,
                Goal::None,
                copy,
            );
        }
        self.stubs.push(Stub {
            label,
            copy,
            at,
            part: behind,
            register,
            is_spilled,
        });
    }

    fn write_stubs(&mut self) {
        for stub in std::mem::take(&mut self.stubs) {
            self.stub(&stub);
        }
    }

    /// The other counter gets its value, and execution goes on in the other copy.
    fn stub(&mut self, stub: &Stub) {
        let isa = self.code.isa;
        let (register, copy) = (stub.register, stub.copy);
        let original = self.code.list[stub.at].addr;
        self.place_label(stub.label);
        let to = if copy == CHECKING || self.is_exhaustive {
            INSTRUMENTED
        } else {
            CHECKING
        };
        let (value, counter) = [
            (slots::SPARSITY, slots::CHECKS_LEFT),
            (slots::BURST, slots::BURST_LEFT),
        ][to];
        let mut code = vec![
            slots::load(isa, register, value),
            slots::store(isa, register, counter),
        ];
        if copy == INSTRUMENTED && self.counts_bursts {
            code.extend([
                slots::load(isa, register, slots::BURST_NUMBER),
                slots::add(isa, register, 1),
                slots::store(isa, register, slots::BURST_NUMBER),
            ]);
        }
        if stub.is_spilled {
            code.push(slots::load(isa, register, slots::CHECK_SPILL));
        }
        for inst in code {
            self.insert(inst, original, Goal::None, copy);
        }
        let goal = Goal::Label(self.label(to, stub.at, stub.part));
        self.insert(slots::jump(isa), original, goal, copy);
    }

    /// Transfers of a routine go to the routine's own instructions.
    fn routine_goal(&self, addr: u64, inst: &Inst) -> Goal {
        if !inst.class.is_direct() {
            return Goal::None;
        }
        let target = inst.direct_target(addr);
        let found = self.routine_labels.iter().find(|(at, _)| *at == target);
        found.map_or(Goal::Address(target), |(_, label)| Goal::Label(*label))
    }

    /// Gives every instruction its address; branches grow until all reach. The end.
    fn settle(&mut self) -> u64 {
        loop {
            let end = self.give_addresses();
            let mut changed = false;
            for at in 0..self.items.len() {
                let item = &self.items[at];
                if item.inst.len == 2 && !self.reaches(item) {
                    self.items[at].inst.len = 4;
                    changed = true;
                }
            }
            if !changed {
                return end;
            }
        }
    }

    fn give_addresses(&mut self) -> u64 {
        let mut addr = BASE;
        for item in &mut self.items {
            let Space { gap, align, offset } = item.space;
            item.addr = (addr + gap - offset).next_multiple_of(align) + offset;
            addr = item.addr + u64::from(item.inst.len);
        }
        addr
    }

    /// Whether a compressed branch (256 bytes either way) or jump (2 KiB) reaches its target.
    fn reaches(&self, item: &Item) -> bool {
        let target = match item.goal {
            Goal::None => return true,
            Goal::Address(target) => target,
            Goal::Label(label) => self.address(label),
        };
        let distance = target.wrapping_sub(item.addr) as i64;
        let reach = if item.inst.op == Op::Jal { 2048 } else { 256 };
        (-reach..reach).contains(&distance)
    }

    /// Corrects what depends on where instructions lie.
    fn resolve(&mut self) {
        for at in 0..self.items.len() {
            let item = self.items[at];
            let distance = match item.goal {
                Goal::None if item.inst.op == Op::Auipc && self.code.isa == Isa::Riscv64 => item
                    .inst
                    .imm
                    .wrapping_add(item.original.wrapping_sub(item.addr) as i64),
                Goal::None => continue,
                Goal::Address(target) => target.wrapping_sub(item.addr) as i64,
                Goal::Label(label) => self.address(label).wrapping_sub(item.addr) as i64,
            };
            self.items[at].inst.imm = distance;
        }
    }
}
