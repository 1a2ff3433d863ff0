//! The sections of a machine description outside branch prediction, units and memory.

use super::branch::BranchConfig;
use super::chip::ChipConfig;
use super::counters::CountersConfig;
use super::interrupts::InterruptConfig;
use super::little::LittleConfig;
use super::memory::MemoryConfig;
use super::node::{config_enum, config_section};
use super::units::UnitsConfig;

config_section! {
    /// A whole machine. The defaults are those of the preset `hps-4wide`.
    MachineConfig patched by MachinePatch {
        /// Name of the machine in reports.
        name: String = "hps-4wide".to_string(), "text";
        /// What the machine is for.
        description: String = "The machine of the HPS paper (section 5): 4-wide, 12 stages, out of order.".to_string(), "text";
        /// Preset whose values hold where this file says nothing; empty for hps-4wide.
        base: String = String::new(), "preset name";
        /// Clock; turns cycles into the guest's time.
        clock_mhz: u32 = 1000, "MHz";
        /// Instruction fetch.
        fetch: FetchConfig = FetchConfig::default(), "section";
        /// Decode and rename.
        decode: DecodeConfig = DecodeConfig::default(), "section";
        /// Dispatch, reorder buffer, reservation stations, load and store queues, commit.
        window: WindowConfig = WindowConfig::default(), "section";
        /// Issue.
        issue: IssueConfig = IssueConfig::default(), "section";
        /// Functional units.
        units: UnitsConfig = UnitsConfig::default(), "section";
        /// Speculation on memory dependences.
        speculation: SpeculationConfig = SpeculationConfig::default(), "section";
        /// Branch prediction.
        branch: BranchConfig = BranchConfig::default(), "section";
        /// Caches, TLBs, buses, memory.
        memory: MemoryConfig = MemoryConfig::default(), "section";
        /// The DISE engine.
        dise: DiseConfig = DiseConfig::default(), "section";
        /// Costs of interrupts.
        #[serde(skip_serializing_if = "InterruptConfig::is_default")]
        interrupts: InterruptConfig = InterruptConfig::default(), "section";
        /// Cores, and how their caches agree.
        #[serde(skip_serializing_if = "ChipConfig::is_default")]
        chip: ChipConfig = ChipConfig::default(), "section";
        /// Counters that programs read.
        #[serde(skip_serializing_if = "CountersConfig::is_default")]
        counters: CountersConfig = CountersConfig::default(), "section";
        /// What the last `chip.little_cores` cores have instead, as differences from the other cores: any keys of the
        /// sections fetch, decode, window, issue, units, speculation and branch, and of memory those in l1i, l1d,
        /// l1d_prefetch, itlb, dtlb and l2_tlb.
        #[serde(skip_serializing_if = "LittleConfig::is_none")]
        little: LittleConfig = LittleConfig::default(), "section";
    }
}

config_section! {
    /// Instruction fetch.
    FetchConfig patched by FetchPatch {
        /// Instructions fetched in a cycle.
        fetch_width_insts: u32 = 4, "instructions";
        /// Instructions between fetch and decode, those in the fetch stages included.
        fetch_buffer_insts: u32 = 16, "instructions";
        /// A cycle's fetch ends where a block of this size ends.
        fetch_block_bytes: u32 = 32, "bytes";
        /// A cycle's fetch ends at this many predicted-taken branches.
        taken_branches_per_cycle: u32 = 1, "branches";
        /// From fetch to decode when the L1 instruction cache hits (its hit time is part of it).
        fetch_to_decode_cycles: u32 = 3, "cycles";
    }
}

config_section! {
    /// Decode and rename.
    DecodeConfig patched by DecodePatch {
        /// Instructions decoded (and renamed) in a cycle, replacement sequences included.
        decode_width: u32 = 4, "instructions";
        /// From decode through rename to dispatch.
        decode_to_dispatch_cycles: u32 = 3, "cycles";
    }
}

config_section! {
    /// Resources that an instruction occupies from dispatch to commit. Physical registers are not a limit: there are as
    /// many as the reorder buffer has entries, beside the architectural ones.
    WindowConfig patched by WindowPatch {
        /// Instructions dispatched in a cycle.
        dispatch_width: u32 = 4, "instructions";
        /// Reorder buffer.
        rob_entries: u32 = 128, "entries";
        /// Instructions that are dispatched and not yet issued.
        reservation_stations: u32 = 80, "entries";
        /// A queue of its own for floating-point instructions (loads and stores excepted) that are
        /// dispatched and not yet issued; `reservation_stations` then holds all others. 0: one queue
        /// for all.
        fp_queue_entries: u32 = 0, "entries";
        /// Loads between dispatch and commit.
        load_queue_entries: u32 = 48, "entries";
        /// Stores between dispatch and their write into the cache, which follows commit.
        store_queue_entries: u32 = 32, "entries";
        /// Loads and stores together, where one queue holds both: a load until it commits, a store until its write into the
        /// cache. 0: two queues, each with its own entries alone.
        #[serde(skip_serializing_if = "is_zero")]
        memory_queue_entries: u32 = 0, "entries";
        /// Instructions committed in a cycle.
        commit_width: u32 = 4, "instructions";
        /// From the end of execution (writeback) to the first cycle in which it may commit.
        complete_to_commit_cycles: u32 = 1, "cycles";
    }
}

config_section! {
    /// Issue.
    IssueConfig patched by IssuePatch {
        /// Instructions issued to the units in a cycle.
        issue_width: u32 = 4, "instructions";
        /// From dispatch to the first cycle in which it may issue.
        dispatch_to_issue_cycles: u32 = 1, "cycles";
        /// From issue through register read to execution. Dependent instructions issue so that
        /// they execute back to back.
        issue_to_execute_cycles: u32 = 2, "cycles";
        /// In which order instructions issue.
        scheduling: Scheduling = Scheduling::OutOfOrder, "policy";
        /// What computes the address of a load or a store.
        #[serde(skip_serializing_if = "AddressGeneration::is_with_access")]
        address_generation: AddressGeneration = AddressGeneration::WithAccess, "policy";
    }
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

config_enum! {
    /// Unit that computes the address of a load or a store. Atomic accesses always compute theirs with their access.
    AddressGeneration {
        /// The unit that does the access.
        WithAccess,
        /// An operation of its own, which takes an issue slot and a unit of the class int_alu as soon as the base is
        /// there; the access issues behind it.
        Separate,
    }
}

impl IssueConfig {
    /// How instructions go through the stages.
    #[must_use]
    pub fn stages(&self) -> &Stages {
        match &self.scheduling {
            Scheduling::InOrder(order) => &order.stages,
            Scheduling::OutOfOrder => &Stages::Free,
        }
    }
}

impl AddressGeneration {
    fn is_with_access(&self) -> bool {
        *self == AddressGeneration::WithAccess
    }
}

config_enum! {
    /// In which order instructions issue.
    Scheduling {
        /// The oldest that have their operands and a unit.
        OutOfOrder,
        /// Program order: one that waits for an operand, a pipe or a unit holds all behind it. A
        /// store waits for its data too, and while the write buffer refuses stores; a load that
        /// misses holds only those that need it.
        InOrder(InOrderConfig),
    }
}

config_section! {
    /// Issue in program order.
    InOrderConfig patched by InOrderPatch {
        /// Which instructions may issue together, beside the issue width and the units.
        slotting: Slotting = Slotting::Free, "policy";
        /// A conditional branch issues in the cycle of the integer comparison or logical operation
        /// that it tests; otherwise after its latency, as behind any other.
        compare_and_branch_together: bool = false, "true or false";
        /// How instructions go through the stages behind fetch.
        #[serde(skip_serializing_if = "Stages::are_free")]
        stages: Stages = Stages::Free, "policy";
    }
}

config_enum! {
    /// How instructions go through the stages behind fetch.
    Stages {
        /// Behind issue each goes on by itself.
        Free,
        /// The stages decode, execute, memory and write back of textbooks, as wide as issue: an instruction that stays
        /// in one holds all behind it.
        InStep(InStepConfig),
        /// All of them in one cycle, and the next instruction is fetched behind it. What misses a cache takes the cycles
        /// of the miss beside.
        OneCycle,
    }
}

impl Stages {
    /// Whether each instruction goes on by itself.
    #[must_use]
    pub fn are_free(&self) -> bool {
        *self == Stages::Free
    }
}

config_section! {
    /// Stages of textbooks.
    InStepConfig patched by InStepPatch {
        /// Results go from behind execute and memory to the instructions that read them. Otherwise registers are read in
        /// the cycle of write back at the earliest: they are written in its first half and read in its second.
        forwarding: bool = true, "true or false";
        /// Branches and indirect jumps are decided in decode, where they need their operands a cycle earlier; otherwise
        /// in execute.
        branches_in_decode: bool = false, "true or false";
    }
}

config_enum! {
    /// Which instructions may issue together.
    Slotting {
        /// Any.
        Free,
        /// Those of one aligned block of 16 bytes that the pipes E0, E1, FA and FM of the Alpha 21164
        /// take at once, in groups that begin when the group before has issued.
        Alpha21164,
    }
}

config_section! {
    /// Speculation on memory dependences. Wrong paths are always executed.
    SpeculationConfig patched by SpeculationPatch {
        /// When a load may pass older stores whose addresses are not known yet.
        memory_dependence: MemDep = MemDep::StoreSets(StoreSetsConfig::default()), "policy";
        /// A load that gets its data from an older store in the store queue: from its address to
        /// the data.
        store_forward_latency_cycles: u32 = 1, "cycles";
    }
}

config_enum! {
    /// When a load may pass older stores whose addresses are not known yet.
    MemDep {
        /// A load waits until the addresses of all older stores are known.
        Conservative,
        /// A load never waits; a store that finds a younger load of its address done squashes it.
        Aggressive,
        /// A load waits for the stores that it conflicted with before (Chrysos and Emer, 1998).
        StoreSets(StoreSetsConfig),
        /// A load that once read too early waits for the addresses of all older stores, as in the
        /// Alpha 21264 (Kessler, 1999).
        StoreWait(StoreWaitConfig),
    }
}

config_section! {
    /// The store-wait table of the Alpha 21264.
    StoreWaitConfig patched by StoreWaitPatch {
        /// Bits, by the address of the load, a power of two.
        entries: u32 = 1024, "bits";
        /// All bits are cleared this often.
        clear_interval_cycles: u64 = 16_384, "cycles";
    }
}

config_section! {
    /// Sizes of the store-set predictor.
    StoreSetsConfig patched by StoreSetsPatch {
        /// Store set identifier table, a power of two.
        ssit_entries: u32 = 1024, "entries";
        /// Last fetched store table.
        lfst_entries: u32 = 128, "entries";
        /// The tables are cleared this often, so that sets which merged by chance come apart.
        clear_interval_cycles: u64 = 1_000_000, "cycles";
    }
}

config_section! {
    /// The DISE engine in decode. Plain data: the engine itself is in its own crate.
    DiseConfig patched by DisePatch {
        /// Pattern table.
        pt_entries: u32 = 32, "entries";
        /// Replacement table.
        rt_entries: u32 = 2048, "entries";
        /// One entry of the replacement table.
        rt_entry_bytes: u32 = 8, "bytes";
        /// Conditionals table: one entry for each microinstruction of all different lists.
        ct_entries: u32 = 16, "entries";
        /// What a replaced instruction costs beside the instructions of its replacement.
        expansion_cost: ExpansionCost = ExpansionCost::Stall, "policy";
        /// Cycles (0 or 1) in which decode stands still for each replacement if `expansion_cost` is
        /// `Stall`.
        stall_cycles: u32 = 1, "cycles";
        /// Fill of a pattern, replacement or conditionals table entry by the controller, with a flush.
        rt_miss_cycles: u32 = 30, "cycles";
        /// Fill of a table entry when the controller composes productions.
        composed_miss_cycles: u32 = 150, "cycles";
        /// A squash restores counters and flags to their values at the squashed branch. Without
        /// it, what wrong paths counted stays.
        repair_counters: bool = true, "true or false";
    }
}

config_enum! {
    /// Cost of a replaced instruction beside the instructions of its replacement.
    ExpansionCost {
        /// Nothing.
        Free,
        /// Decode stands still for `dise.stall_cycles`.
        Stall,
        /// One more decode stage for every instruction, replaced or not.
        ExtraStage,
    }
}
