//! Regions of programs, which alone count. Instructions before a region run functionally, at full speed.

use hps_isa::editor::NoEditor;
use hps_isa::hart::GuestCounters;
use hps_isa::inst::{Inst, Op, reg};
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, Warm};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::os::{Output, Stdin};
use hps_system::process::Process;
use hps_system::symbols::{CodeWatch, Function, Symbols};

use crate::end::EndError;
use crate::error::LabError;
use crate::mode::functional_machine;
use crate::program::Program;

/// A point in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In front of the first instruction of a function, however control comes there. A function of a library may have the
    /// name of its object in front: `libc.so.6!malloc`.
    Function(String),
    /// At a marker: an instruction without effect ([`BEGIN_MARKER`], [`END_MARKER`]).
    Marker(i64),
}

/// The marker in front of a region: `slti zero, zero, 0x5b1` on RISC-V, `lda $31, 0x5b1($31)` on Alpha.
pub const BEGIN_MARKER: i64 = 0x5b1;
/// The marker behind a region.
pub const END_MARKER: i64 = 0x5b2;

/// Beginning of the part of a run that counts. With both `skip` and `from`, the instructions come first, then the
/// place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Instructions of the program that come before.
    pub skip: u64,
    /// Place at which the region begins, when the program comes there next.
    pub from: Option<Place>,
    /// A timed run begins with the caches, TLBs and predictors that so many instructions in front of the region leave
    /// there (functional warming); [`WARM_BY_ALL`]: all of them. `None`: with empty ones.
    pub warm: Option<u64>,
}

/// Warms a region by all instructions before it.
pub const WARM_BY_ALL: u64 = u64::MAX;

impl Region {
    /// Runs a program, which is at its beginning, to where the region begins.
    ///
    /// # Errors
    /// There is no such function, or the program ended before.
    pub(crate) fn reach(
        &self,
        process: Process,
        is_interpreted: bool,
    ) -> Result<Process, LabError> {
        let machine = functional_machine(process, NoEditor, is_interpreted);
        self.reach_under(machine, NoProbe, 0)
            .map(|(process, _)| process)
    }

    /// Runs a program to where its region begins, and warms the caches and predictors of a machine on the way.
    ///
    /// # Errors
    /// The errors of [`reach`](Self::reach).
    pub(crate) fn reach_warm(
        &self,
        program: &Program,
        core: CoreKind,
        machine: &MachineConfig,
    ) -> Result<(Process, Warm), LabError> {
        let before = match (self.warm.unwrap_or(0), &self.from) {
            (WARM_BY_ALL, _) => 0,
            (last, None) => self.skip.saturating_sub(last),
            (last, Some(_)) => program.instructions_before()?.saturating_sub(last),
        };
        let process = program.load()?;
        let warm = core.warm(machine, process.image.isa, process.image.entry);
        let on = functional_machine(process, NoEditor, program.is_interpreted);
        let (process, mut warm) = self.reach_under(on, warm, before)?;
        warm.settle(process.thread.hart.pc);
        Ok((process, warm))
    }

    /// Runs a program, which is at its beginning, to where the region begins, and behind the first `unwatched`
    /// instructions under a probe.
    fn reach_under<P: Probe>(
        &self,
        mut machine: Machine,
        mut probe: P,
        unwatched: u64,
    ) -> Result<(Process, P), LabError> {
        let start = self.from.as_ref();
        let start = start
            .map(|place| Watcher::of(place, &machine.process))
            .transpose()?;
        let to_skip = |machine: &Machine| self.skip.saturating_sub(machine.retired.program);
        if unwatched > 0 {
            reached(machine.run(&mut NoProbe, unwatched), &machine)?;
        }
        if to_skip(&machine) > 0 {
            let left = to_skip(&machine);
            reached(machine.run(&mut probe, left), &machine)?;
        }
        if let Some(start) = start {
            let mut both = (start, probe);
            let stop = machine.run(&mut both, u64::MAX);
            both.0.reached(stop, &machine)?;
            probe = both.1;
        }
        // Before the region, an instruction takes a cycle and a nanosecond; the operating system's clock holds the
        // waits.
        let before = machine.retired.program;
        let mut process = machine.process;
        process.counters_before = GuestCounters {
            cycle: before,
            time_ns: before,
            instret: before,
        };
        Ok((process, probe))
    }
}

impl Program {
    /// Instructions from where the program's region begins to a place behind it. The program runs for that, with
    /// empty standard input in place of the host's, and without changing files.
    ///
    /// # Errors
    /// The errors of starting the program; there is no such function; the program ended before.
    pub fn instructions_until(&self, place: &Place) -> Result<u64, LabError> {
        let mut machine = Machine::new(self.quiet().start()?);
        let mut end = Watcher::of(place, &machine.process)?;
        // The region may begin at the place where it ends: its first instruction is passed.
        end.passes_first = true;
        let stop = machine.run(&mut end, u64::MAX);
        end.reached(stop, &machine)?;
        Ok(machine.retired.program)
    }

    /// Instructions from where the program's region begins to its end. The program runs for that, as for
    /// [`instructions_until`](Self::instructions_until).
    ///
    /// # Errors
    /// The errors of starting the program.
    pub fn length(&self) -> Result<u64, LabError> {
        let process = self.quiet().start()?;
        let mut machine = functional_machine(process, NoEditor, self.is_interpreted);
        machine.run_to_end();
        Ok(machine.retired.program)
    }

    /// Instructions from the program's beginning to where its region begins. The program runs for that, as for
    /// [`instructions_until`](Self::instructions_until).
    fn instructions_before(&self) -> Result<u64, LabError> {
        Ok(self.quiet().start()?.counters_before.instret)
    }

    /// The program without effects outside of its memory and of a copy of its root, and without input that can be read once
    /// only.
    #[must_use]
    pub fn quiet(&self) -> Program {
        let mut quiet = self.clone();
        let process = &mut quiet.process;
        if process.stdin == Stdin::Inherit {
            process.stdin = Stdin::Empty;
        }
        (process.stdout, process.stderr) = (Output::Discard, Output::Discard);
        process.writable &= process.scratch.is_some();
        quiet
    }
}

fn reached(stop: Stop, machine: &Machine) -> Result<(), LabError> {
    match EndError::of(stop, &machine.process) {
        EndError::Limit => Ok(()),
        EndError::Stopped(reason) => Err(EndError::Stopped(reason).into()),
        _ => Err(LabError::NotReached {
            instructions: machine.retired.program,
        }),
    }
}

/// Stops a functional machine at a place.
struct Watcher {
    pc: Option<u64>,
    marker: Option<i64>,
    /// A function that no object has which the program has mapped so far.
    awaited: Option<(String, CodeWatch)>,
    /// The place does not count as the first instruction.
    passes_first: bool,
    has_stopped: bool,
}

impl Watcher {
    fn of(place: &Place, process: &Process) -> Result<Watcher, LabError> {
        let mut watcher = Watcher {
            pc: None,
            marker: None,
            awaited: None,
            passes_first: false,
            has_stopped: false,
        };
        match place {
            Place::Marker(number) => watcher.marker = Some(*number),
            Place::Function(name) => {
                watcher.pc = address_of(&process.symbols(), name);
                let is_dynamic = process.image.interpreter.is_some();
                if watcher.pc.is_none() && !is_dynamic {
                    return Err(LabError::UnknownFunction { name: name.clone() });
                }
                if watcher.pc.is_none() {
                    let (log, program) = (process.os.code_log(), process.os.program_number());
                    let watch = CodeWatch::new(log.clone(), program);
                    watcher.awaited = Some((name.clone(), watch));
                }
            }
        }
        Ok(watcher)
    }

    /// Looks for the function in code that has come.
    #[cold]
    fn look(&mut self) {
        if let Some((name, watch)) = &mut self.awaited
            && let Some(symbols) = watch.news()
        {
            self.pc = address_of(&symbols, name);
        }
        if self.pc.is_some() {
            self.awaited = None;
        }
    }

    /// Whether a machine that stopped has come to the place.
    fn reached(self, stop: Stop, machine: &Machine) -> Result<(), LabError> {
        match (reached(stop, machine), self.awaited) {
            (Err(LabError::NotReached { .. }), Some((name, _))) => {
                Err(LabError::UnknownFunction { name })
            }
            (result, _) => result,
        }
    }
}

/// The address of a function by its name, which may have the name of its object in front.
fn address_of(symbols: &Symbols, name: &str) -> Option<u64> {
    let is_it = |f: &&Function| symbols.with_object(f.addr, &f.name) == name;
    let of_object = || symbols.functions().iter().find(is_it);
    let function = symbols.function_named(name).or_else(of_object);
    function.map(|function| function.addr)
}

/// The number of a marker.
fn marker(inst: &Inst) -> Option<i64> {
    let is_one =
        matches!(inst.op, Op::Slti | Op::AlphaLda) && inst.rd == reg::SINK && inst.rs1 == reg::ZERO;
    is_one.then_some(inst.imm)
}

impl Probe for Watcher {
    const WANTS_RETIRED: bool = true;
    const CAN_STOP: bool = true;

    #[inline]
    fn stops_before(&mut self, pc: u64, inst: &Inst) -> bool {
        if let Some((_, watch)) = &self.awaited
            && watch.is_changed()
        {
            self.look();
        }
        let is_here = match (self.pc, self.marker) {
            (Some(entry), _) => pc == entry,
            (None, Some(_)) => self.marker == marker(inst),
            (None, None) => false,
        };
        self.has_stopped = is_here && !self.passes_first;
        self.passes_first = false;
        self.has_stopped
    }

    fn has_stopped(&self) -> bool {
        self.has_stopped
    }
}
