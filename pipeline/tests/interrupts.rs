//! Interrupts on both cores: the program does not see them, each is taken at the boundary and in the
//! cycle that the keys say, and costs what they say.

mod agreement;
mod cost;
mod sources;
mod transparency;

use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_isa::editor::{DecodeEditor, Interruptible, NoEditor};
use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Chip, DrivenCore, PipelineProbe};
use hps_pipeline::interrupts::Interrupts;
use hps_pipeline::pmu::{CounterConfig, Pmu};
use hps_system::process::Process;

use crate::dise::install;

/// A handler that does nothing.
pub const EMPTY: &str = "handler Take { d_ret }";

/// Handlers that write a record of four words for each interrupt: where, who, how many, when. The
/// address of the next record is `ir6`.
pub const RECORDS: [(Isa, &str); 2] = [
    (
        Isa::Riscv64,
        "data records 4194304 64;
         handler Take {
            d_mtdr ir4, t0
            d_mtdr ir5, t1
            d_mfdr t0, ir6
            d_mfdr t1, ir0
            sd     t1, 0(t0)
            d_mfdr t1, ir1
            sd     t1, 8(t0)
            d_mfdr t1, ir2
            sd     t1, 16(t0)
            d_mfdr t1, ir3
            sd     t1, 24(t0)
            addi   t0, t0, 32
            d_mtdr ir6, t0
            d_mfdr t0, ir4
            d_mfdr t1, ir5
            d_ret
         }",
    ),
    (
        Isa::Alpha,
        "data records 4194304 64;
         handler Take {
            d_mtdr ir4, t0
            d_mtdr ir5, t1
            d_mfdr t0, ir6
            d_mfdr t1, ir0
            stq    t1, 0(t0)
            d_mfdr t1, ir1
            stq    t1, 8(t0)
            d_mfdr t1, ir2
            stq    t1, 16(t0)
            d_mfdr t1, ir3
            stq    t1, 24(t0)
            lda    t0, 32(t0)
            d_mtdr ir6, t0
            d_mfdr t0, ir4
            d_mfdr t1, ir5
            d_ret
         }",
    ),
];

/// The handler of records of an instruction set.
pub fn records(isa: Isa) -> &'static str {
    RECORDS.iter().find(|(of, _)| *of == isa).expect("both").1
}

/// Productions and the handler `Take` of interrupts, for programs of an instruction set.
#[derive(Clone)]
pub struct Code {
    set: ProductionSet,
    dise: DiseConfig,
}

impl Code {
    pub fn new(isa: Isa, text: &str) -> Code {
        let load = LoadOptions {
            // Behind the lines of a direct-mapped cache that small programs take.
            handler_base: layout::HANDLER_BASE + 0x1000,
            ..LoadOptions::default().for_isa(isa)
        };
        let set = ProductionSet::parse(text, "test.dise", &load).unwrap_or_else(|e| panic!("{e}"));
        Code {
            set,
            dise: DiseConfig::default(),
        }
    }

    pub fn with_dise(self, dise: DiseConfig) -> Code {
        Code { dise, ..self }
    }

    /// Address of what the text names.
    pub fn address(&self, name: &str) -> u64 {
        self.set.symbols()[name]
    }

    /// Puts it into a process.
    pub fn install(&self, mut process: Process) -> (Process, DiseEngine) {
        let engine = install(&self.set, &self.dise, &mut process);
        if let Some(&records) = self.set.symbols().get("records") {
            process.thread.hart.r[usize::from(reg::INTERRUPT) + 6] = records;
        }
        (process, engine)
    }

    /// The interrupts of these counters.
    pub fn interrupts(&self, config: &MachineConfig, counters: &[CounterConfig]) -> Interrupts {
        let pmu = Pmu::new(counters).unwrap_or_else(|e| panic!("{e}"));
        Interrupts::new(&config.interrupts, pmu, self.address("Take"))
            .unwrap_or_else(|e| panic!("{e}"))
            .with_log()
    }

    /// A cycle-driven core without productions.
    pub fn plain<P: PipelineProbe>(
        &self,
        config: &MachineConfig,
        process: Process,
        counters: &[CounterConfig],
        probe: P,
    ) -> Chip<Interruptible<NoEditor>, P> {
        self.core(config, (process, |_| NoEditor), counters, probe)
    }

    /// A cycle-driven core with the productions.
    pub fn edited<P: PipelineProbe>(
        &self,
        config: &MachineConfig,
        process: Process,
        counters: &[CounterConfig],
        probe: P,
    ) -> Chip<Interruptible<DiseEngine>, P> {
        self.core(config, (process, |engine| engine), counters, probe)
    }

    fn core<E: DecodeEditor, P: PipelineProbe>(
        &self,
        config: &MachineConfig,
        (process, editor): (Process, fn(DiseEngine) -> E),
        counters: &[CounterConfig],
        probe: P,
    ) -> Chip<Interruptible<E>, P> {
        let (process, engine) = self.install(process);
        let mut core = Chip::with(config, process, Interruptible(editor(engine)), probe);
        core.attach_interrupts(self.interrupts(config, counters));
        core
    }

    /// An instruction-driven core without productions.
    pub fn plain_driven<P: PipelineProbe>(
        &self,
        config: &MachineConfig,
        process: Process,
        counters: &[CounterConfig],
        probe: P,
    ) -> DrivenCore<Interruptible<NoEditor>, P> {
        self.driven(config, (process, |_| NoEditor), counters, probe)
    }

    /// An instruction-driven core with the productions.
    pub fn edited_driven<P: PipelineProbe>(
        &self,
        config: &MachineConfig,
        process: Process,
        counters: &[CounterConfig],
        probe: P,
    ) -> DrivenCore<Interruptible<DiseEngine>, P> {
        self.driven(config, (process, |engine| engine), counters, probe)
    }

    fn driven<E: DecodeEditor, P: PipelineProbe>(
        &self,
        config: &MachineConfig,
        (process, editor): (Process, fn(DiseEngine) -> E),
        counters: &[CounterConfig],
        probe: P,
    ) -> DrivenCore<Interruptible<E>, P> {
        let (process, engine) = self.install(process);
        let mut core = DrivenCore::with(config, process, Interruptible(editor(engine)), probe)
            .unwrap_or_else(|e| panic!("{}: {e}", config.name));
        core.attach_interrupts(self.interrupts(config, counters));
        core
    }
}

/// Costs of interrupts.
pub fn costs(config: &mut MachineConfig, recognition: u32, entry: u32, back: u32) {
    config.interrupts.recognition_cycles = recognition;
    config.interrupts.entry_cycles = entry;
    config.interrupts.return_cycles = back;
}
