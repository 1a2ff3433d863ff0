//! Helpers that the tests of the pipeline share: programs from assembly text, runs with records of every instruction,
//! comparison with the functional machine.
#![allow(dead_code)] // each test crate uses a part of it

pub mod assemble;
pub mod compare;
pub mod random;

use std::sync::Arc;

use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::isa::Isa;
use hps_isa::probe::Probe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Chip, CoreStats, CpiStack, PipelineProbe, StageRecord, StagesProbe};
use hps_pipeline::memsys::MemoryStats;
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};
use hps_workloads::{Size, Workload};

pub use assemble::Program;

/// The copy loop of the DCPI paper, as its figure 2 prints it.
pub const DCPI_COPY_LOOP: &str = "
    ldq t4, 0(t1)
    addq t0, 4, t0
    ldq t5, 8(t1)
    ldq t6, 16(t1)
    ldq a0, 24(t1)
    lda t1, 32(t1)
    stq t4, 0(t2)
    cmpult t0, v0, t4
    stq t5, 8(t2)
    stq t6, 16(t2)
    stq a0, 24(t2)
    lda t2, 32(t2)
    bne t4, main";

/// The presets with one core.
pub fn single_core_presets() -> Vec<&'static str> {
    let mut presets = MachineConfig::presets();
    presets.retain(|name| !preset(name).chip.has_peers());
    presets
}

/// A preset by its name.
pub fn preset(name: &str) -> MachineConfig {
    MachineConfig::preset(name).expect("the preset exists")
}

/// A preset with changes, which must leave a machine that can be built.
pub fn machine(name: &str, change: impl FnOnce(&mut MachineConfig)) -> MachineConfig {
    let mut config = preset(name);
    change(&mut config);
    config
        .check()
        .expect("the changed machine passes its check");
    config
}

/// A program that comes with the project with its small input, from its beginning; its output is captured.
pub fn workload(w: &Workload, isa: Isa) -> Process {
    let image = w.image(isa.name()).expect("every program has one");
    let image = ProgramImage::parse(image, w.name).expect("the image is a program");
    let args = [&[w.name], &w.args(Size::Small)[..]].concat();
    let config = ProcessConfig {
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    Process::new(Arc::new(image), &config).expect("the program fits into memory")
}

/// [`workload`] by its name, for RISC-V.
pub fn riscv_workload(name: &str) -> Process {
    let w = hps_workloads::find(name).expect("the program exists");
    workload(w, Isa::Riscv64)
}

/// Threads that change the same lines, one on each context.
pub fn threads(count: usize) -> Program {
    let begin = (1..count).map(|thread| {
        format!(
            "li a0, 0x50f00
             la a1, data
             li t0, {}
             add a1, a1, t0
             li a7, 220
             ecall
             beqz a0, work
             ",
            (thread + 1) * 0x1000
        )
    });
    let text = format!(
        "main:
         la s0, data
         {}
         work:
         la s0, data
         rdcycle s1
         li s2, 60000
         again:
         slli t0, s1, 13
         xor s1, s1, t0
         srli t0, s1, 7
         xor s1, s1, t0
         slli t0, s1, 17
         xor s1, s1, t0
         andi t1, s1, 0x7f8
         add t1, t1, s0
         ld t2, 0(t1)
         andi t3, s1, 3
         beqz t3, atomic
         add t2, t2, s1
         sd t2, 0(t1)
         j next
         atomic:
         amoadd.d t2, s1, (s0)
         next:
         addi s2, s2, -1
         bnez s2, again
         li a7, 93
         ecall
         ",
        begin.collect::<String>()
    );
    Program::new(&text, 0x1_0000)
}

/// Keeps the record of every instruction that left the pipeline.
#[derive(Default)]
pub struct Trace {
    pub records: Vec<StageRecord>,
}

impl Probe for Trace {}

impl PipelineProbe for Trace {
    const WANTS_STAGES: bool = true;
    fn finished(&mut self, record: &StageRecord) {
        self.records.push(*record);
    }
}

/// A finished run.
pub struct Run {
    /// Committed instructions in program order.
    pub committed: Vec<StageRecord>,
    /// Squashed instructions in the order in which they were squashed.
    pub squashed: Vec<StageRecord>,
    pub stats: CoreStats,
    pub cpi: CpiStack,
    pub memory: MemoryStats,
    pub stop: Stop,
    pub program: Program,
}

impl Run {
    /// Runs a program to its end and records every instruction.
    pub fn of(config: &MachineConfig, program: &Program) -> Run {
        Run::with_editor(config, program, program.process(), NoEditor)
    }

    /// Runs a program with an editor in decode.
    pub fn with_editor<E: DecodeEditor>(
        config: &MachineConfig,
        program: &Program,
        process: Process,
        editor: E,
    ) -> Run {
        let mut core = Chip::with(config, process, editor, StagesProbe::new(Trace::default()));
        let stop = core.run_to_end();
        let (committed, squashed) = core
            .probe()
            .probe::<Trace>()
            .records
            .iter()
            .copied()
            .partition(|r| !r.squashed);
        Run {
            committed,
            squashed,
            stats: *core.stats(),
            cpi: *core.cpi(),
            memory: core.memory_stats(),
            stop,
            program: program.clone(),
        }
    }

    /// Every committed execution of the instruction at a label, in order.
    pub fn at(&self, label: &str) -> Vec<StageRecord> {
        let pc = self.program.address(label);
        self.committed
            .iter()
            .filter(|r| r.pc == pc)
            .copied()
            .collect()
    }

    /// The committed instructions between the last two executions of a label, the first of them
    /// included: one iteration of a warm loop.
    pub fn last_iteration(&self, label: &str) -> &[StageRecord] {
        let pc = self.program.address(label);
        let at: Vec<usize> = (0..self.committed.len())
            .filter(|&i| self.committed[i].pc == pc)
            .collect();
        let [.., from, to] = at[..] else {
            panic!("`{label}` runs at least twice")
        };
        &self.committed[from..to]
    }
}

/// Distances between neighbours.
pub fn steps(cycles: &[u64]) -> Vec<u64> {
    cycles.windows(2).map(|w| w[1] - w[0]).collect()
}

/// Issue cycles.
pub fn issues(records: &[StageRecord]) -> Vec<u64> {
    records.iter().map(|r| r.issue_cycle).collect()
}

/// Lines of text from a closure over a range: unrolled code.
pub fn repeat(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|i| line(i) + "\n").collect()
}
