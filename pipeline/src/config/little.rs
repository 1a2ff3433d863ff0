//! Cores of a chip that differ from the others.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::branch::BranchConfig;
use super::chip::ChipConfig;
use super::error::Violation;
use super::memory::{CacheConfig, L1dPrefetch, L2TlbConfig, MemoryConfig, TlbConfig};
use super::node::{Given, KeyDoc, Node, Place, config_section, document_value};
use super::sections::{
    DecodeConfig, FetchConfig, IssueConfig, MachineConfig, SpeculationConfig, WindowConfig,
};
use super::units::UnitsConfig;

config_section! {
    /// Parts of a machine that each core has for itself. The keys are those of the machine.
    CoreConfig patched by CorePatch {
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
        /// Level 1 caches and TLBs.
        memory: CoreMemoryConfig = CoreMemoryConfig::default(), "section";
    }
}

config_section! {
    /// Parts of the memory system that a core has for itself and need not have like the others.
    CoreMemoryConfig patched by CoreMemoryPatch {
        /// Level 1 instruction cache.
        l1i: CacheConfig = MemoryConfig::default().l1i, "section";
        /// Level 1 data cache.
        l1d: CacheConfig = MemoryConfig::default().l1d, "section";
        /// What brings lines into the level 1 data cache before anything asks for them.
        l1d_prefetch: L1dPrefetch = L1dPrefetch::Off, "policy";
        /// TLB for instructions.
        itlb: TlbConfig = MemoryConfig::default().itlb, "section";
        /// TLB for data.
        dtlb: TlbConfig = MemoryConfig::default().dtlb, "section";
        /// Second-level TLB for both.
        l2_tlb: L2TlbConfig = MemoryConfig::default().l2_tlb, "section";
    }
}

/// The description of the little cores of a chip, if it has one. A file gives what differs from the other cores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LittleConfig(pub Option<Box<CoreConfig>>);

impl LittleConfig {
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Node for LittleConfig {
    type Patch = Given<CorePatch>;

    /// Without a description before, what the patch does not give is as in the paper's machine.
    fn apply(&mut self, patch: Self::Patch) {
        if let Some(patch) = patch.0 {
            self.0.get_or_insert_default().apply(patch);
        }
    }

    fn document(&self, place: Place, out: &mut Vec<KeyDoc>) {
        document_value(self, place, out);
    }

    fn print(&self, place: &Place, indent: usize, out: &mut String) {
        if let Some(core) = &self.0 {
            core.print(place, indent, out);
        }
    }
}

impl MachineConfig {
    /// Applies what a file says of little cores, behind everything else that it says: where it describes them first,
    /// they are as the other cores in what it does not give.
    pub(super) fn apply_little(&mut self, patch: <LittleConfig as Node>::Patch) {
        if patch.0.is_some() && self.little.is_none() {
            self.little.0 = Some(Box::new(self.core()));
        }
        self.little.apply(patch);
    }

    /// Description of the cores that are not little.
    fn core(&self) -> CoreConfig {
        let memory = &self.memory;
        CoreConfig {
            fetch: self.fetch.clone(),
            decode: self.decode.clone(),
            window: self.window.clone(),
            issue: self.issue.clone(),
            units: self.units.clone(),
            speculation: self.speculation.clone(),
            branch: self.branch.clone(),
            memory: CoreMemoryConfig {
                l1i: memory.l1i.clone(),
                l1d: memory.l1d.clone(),
                l1d_prefetch: memory.l1d_prefetch.clone(),
                itlb: memory.itlb.clone(),
                dtlb: memory.dtlb.clone(),
                l2_tlb: memory.l2_tlb.clone(),
            },
        }
    }

    /// The machine as one of its cores has it, by the number of the core: a machine of cores that are all like that one.
    #[must_use]
    pub fn of_core(&self, core: u32) -> Cow<'_, MachineConfig> {
        let first_little = self.chip.cores.saturating_sub(self.chip.little_cores);
        match &self.little.0 {
            Some(little) if core >= first_little => Cow::Owned(self.with_all_cores(little)),
            _ => Cow::Borrowed(self),
        }
    }

    fn with_all_cores(&self, like: &CoreConfig) -> MachineConfig {
        let core = like.clone();
        MachineConfig {
            fetch: core.fetch,
            decode: core.decode,
            window: core.window,
            issue: core.issue,
            units: core.units,
            speculation: core.speculation,
            branch: core.branch,
            memory: MemoryConfig {
                l1i: core.memory.l1i,
                l1d: core.memory.l1d,
                l1d_prefetch: core.memory.l1d_prefetch,
                itlb: core.memory.itlb,
                dtlb: core.memory.dtlb,
                l2_tlb: core.memory.l2_tlb,
                ..self.memory.clone()
            },
            chip: ChipConfig {
                little_cores: 0,
                ..self.chip.clone()
            },
            little: LittleConfig::default(),
            ..self.clone()
        }
    }

    /// The most instructions that any of its cores commits in a cycle.
    #[must_use]
    pub fn most_commit_width(&self) -> u32 {
        let last = self.of_core(self.chip.cores.saturating_sub(1));
        self.window.commit_width.max(last.window.commit_width)
    }

    /// Violations of its little cores, by their keys. `found` are the violations of the machine that has the other
    /// cores only.
    pub(super) fn violations_of_little(&self, found: &[Violation]) -> Vec<Violation> {
        let last = self.of_core(self.chip.cores.saturating_sub(1));
        let Cow::Owned(all_little) = last else {
            return Vec::new();
        };
        let mut own = all_little.violations();
        own.retain(|one| !found.contains(one));
        for violation in &mut own {
            violation.path = format!("little.{}", violation.path);
        }
        own
    }
}
