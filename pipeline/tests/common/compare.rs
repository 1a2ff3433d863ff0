//! The pipeline against the functional machine: registers, memory, retired stream.

use std::collections::BTreeMap;

use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::hart::Hart;
use hps_isa::inst::{OpClass, reg};
use hps_isa::memory::{Memory, PAGE_SIZE};
use hps_isa::probe::{Probe, Retired};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Chip, CoreStats, DrivenCore, PipelineProbe};
use hps_sim_core::machine::{Machine, RetiredCounts, Stop};
use hps_system::process::Process;

/// One retired instruction of the program, as both machines must see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub pc: u64,
    pub addr: u64,
    pub target: u64,
    pub taken: bool,
}

impl Step {
    fn of(event: &Retired<'_>) -> Step {
        // The address is defined for memory instructions alone.
        let addr = if event.inst.class.is_memory() {
            event.addr
        } else {
            0
        };
        Step {
            pc: event.pc,
            addr,
            target: event.target,
            taken: event.taken,
        }
    }
}

/// Collects the retired stream of the program.
#[derive(Default)]
pub struct Stream {
    pub steps: Vec<Step>,
    /// Retired control transfers.
    pub transfers: u64,
    /// Retired loads, stores and atomics.
    pub references: u64,
}

impl Probe for Stream {
    const WANTS_RETIRED: bool = true;
    const WANTS_MEMORY: bool = true;
    const WANTS_CONTROL: bool = true;
    fn retired(&mut self, event: &Retired<'_>) {
        // An instruction-stream synchronisation changes nothing that a stream could show.
        if event.is_program && event.inst.class != OpClass::FenceI {
            self.steps.push(Step::of(event));
        }
    }
    fn memory(&mut self, _: u64, _: &hps_isa::inst::Inst, _: u64) {
        self.references += 1;
    }
    fn control(&mut self, _: u64, _: &hps_isa::inst::Inst, _: u64, _: bool) {
        self.transfers += 1;
    }
}

impl PipelineProbe for Stream {}

/// State that a run left behind.
pub struct Outcome {
    pub stop: Stop,
    pub hart: Hart,
    pub retired: RetiredCounts,
    pub stream: Stream,
    /// Pages that were written, with their content.
    pub pages: BTreeMap<u64, Vec<u8>>,
}

impl Outcome {
    /// Runs the functional machine to the end, at most `limit` instructions.
    pub fn functional<E: DecodeEditor>(process: Process, editor: E, limit: u64) -> Outcome {
        let mut machine = Machine::with_editor(process, editor);
        let mut stream = Stream::default();
        let stop = machine.run(&mut stream, limit);
        Outcome {
            stop,
            hart: machine.process.thread.hart.clone(),
            retired: machine.retired,
            stream,
            pages: written_pages(&machine.process.mem),
        }
    }

    /// A functional run without an editor.
    pub fn plain(process: Process, limit: u64) -> Outcome {
        Outcome::functional(process, NoEditor, limit)
    }

    /// State that the pipeline left behind. A run that stopped at its limit is brought to the boundary of the last
    /// committed instruction first.
    pub fn of_core<E: DecodeEditor>(core: &mut Chip<E, Stream>, stop: Stop) -> Outcome {
        if stop == Stop::Limit {
            core.drain_to_boundary();
        }
        Outcome {
            stop,
            hart: core.process().thread.hart.clone(),
            retired: counts(core.stats()),
            stream: std::mem::take(core.probe_mut()),
            pages: written_pages(&core.process().mem),
        }
    }

    /// Runs the pipeline to the end, at most `limit` instructions.
    pub fn pipeline<E: DecodeEditor>(
        config: &MachineConfig,
        process: Process,
        editor: E,
        limit: u64,
    ) -> Outcome {
        let mut core = Chip::with(config, process, editor, Stream::default());
        let stop = core.run(limit);
        Outcome::of_core(&mut core, stop)
    }

    /// Runs the instruction-driven core to the end, at most `limit` instructions. None: the machine has
    /// no such core.
    pub fn driven<E: DecodeEditor>(
        config: &MachineConfig,
        process: Process,
        editor: E,
        limit: u64,
    ) -> Option<Outcome> {
        let mut core = DrivenCore::with(config, process, editor, Stream::default()).ok()?;
        let stop = core.run(limit);
        Some(Outcome {
            stop,
            hart: core.process().thread.hart.clone(),
            retired: counts(core.stats()),
            stream: std::mem::take(core.probe_mut()),
            pages: written_pages(&core.process().mem),
        })
    }

    /// Both ended in the same architectural state after the same program.
    pub fn assert_equal(&self, other: &Outcome, registers: std::ops::Range<u8>, what: &str) {
        assert_same_steps(&self.stream.steps, &other.stream.steps, what);
        assert_eq!(
            self.stream.transfers, other.stream.transfers,
            "{what}: control hooks"
        );
        assert_eq!(
            self.stream.references, other.stream.references,
            "{what}: memory hooks"
        );
        assert_eq!(self.stop, other.stop, "{what}: how it ended");
        assert_eq!(
            self.retired.program, other.retired.program,
            "{what}: retired instructions"
        );
        for r in registers {
            assert_eq!(
                self.hart.r[r as usize], other.hart.r[r as usize],
                "{what}: register {r}"
            );
        }
        assert_eq!(self.hart.fcsr, other.hart.fcsr, "{what}: fcsr");
        assert_eq!(
            self.hart.reservation, other.hart.reservation,
            "{what}: load reservation"
        );
    }

    /// Both left the same memory, apart from addresses in `except`. A page that only one of them
    /// counts as written (the pipeline does so when a store is checked, also on a wrong path) has
    /// to be as it was: the tests' memory begins with zeros.
    pub fn assert_same_memory(&self, other: &Outcome, except: std::ops::Range<u64>, what: &str) {
        let untouched = vec![0; PAGE_SIZE as usize];
        let written = self.pages.keys().chain(other.pages.keys());
        for address in written.filter(|address| !except.contains(address)) {
            let ours = self.pages.get(address).unwrap_or(&untouched);
            let theirs = other.pages.get(address).unwrap_or(&untouched);
            let differs = ours.iter().zip(theirs).position(|(a, b)| a != b);
            assert_eq!(
                differs, None,
                "{what}: byte of page {address:#x} that differs"
            );
        }
    }
}

/// Registers of the program: integer and floating point.
pub const PROGRAM_REGISTERS: std::ops::Range<u8> = 0..reg::DISE;
/// The registers of programs, and the DISE registers.
pub const ALL_REGISTERS: std::ops::Range<u8> = 0..reg::DISE + reg::DISE_COUNT;

/// Instructions that a core has committed, by origin.
pub fn counts(stats: &CoreStats) -> RetiredCounts {
    RetiredCounts {
        program: stats.commit_program_instructions,
        inserted: stats.commit_inserted_instructions,
        handler: stats.commit_handler_instructions,
    }
}

fn assert_same_steps(ours: &[Step], theirs: &[Step], what: &str) {
    if let Some(i) = (0..ours.len().min(theirs.len())).find(|&i| ours[i] != theirs[i]) {
        panic!(
            "{what}: instruction {i} differs: {:x?} and {:x?}",
            ours[i], theirs[i]
        );
    }
    assert_eq!(
        ours.len(),
        theirs.len(),
        "{what}: length of the retired stream"
    );
}

fn written_pages(mem: &Memory) -> BTreeMap<u64, Vec<u8>> {
    mem.dirty_pages()
        .map(|address| {
            let mut bytes = vec![0; PAGE_SIZE as usize];
            mem.read_bytes_forced(address, &mut bytes)
                .expect("a written page is mapped");
            (address, bytes)
        })
        .collect()
}
