//! Machines, and the DISE engine that each has.

use std::ops::Deref;

use hps_dise::DiseConfig;
use hps_pipeline::config::{ExpansionCost, MachineConfig};
use hps_pipeline::core::CoreKind;

use crate::error::LabError;

/// A machine, and the kind of core that times programs on it.
#[derive(Clone, Debug, Default)]
pub struct TimedMachine {
    /// The machine.
    pub config: MachineConfig,
    /// Kind of the core: driven by cycles or by instructions.
    pub core: CoreKind,
}

impl TimedMachine {
    /// A preset by its name, or the machine of a file.
    ///
    /// # Errors
    /// There is no such machine, or it has no core of this kind.
    pub fn load(name_or_file: &str, core: CoreKind) -> Result<TimedMachine, LabError> {
        let config = MachineConfig::load(name_or_file)?;
        check_core(&config, core)?;
        Ok(TimedMachine { config, core })
    }
}

/// Checks that a machine has a core of a kind.
pub(crate) fn check_core(machine: &MachineConfig, core: CoreKind) -> Result<(), LabError> {
    core.check(machine).map_err(|reason| LabError::NotDriven {
        machine: machine.name.clone(),
        reason,
    })
}

impl Deref for TimedMachine {
    type Target = MachineConfig;

    fn deref(&self) -> &MachineConfig {
        &self.config
    }
}

/// The DISE engine that a machine description asks for.
#[must_use]
pub fn dise_config(machine: &MachineConfig) -> DiseConfig {
    let d = &machine.dise;
    DiseConfig {
        pt_entries: d.pt_entries as usize,
        rt_entries: d.rt_entries as usize,
        rt_entry_bytes: d.rt_entry_bytes as usize,
        ct_entries: d.ct_entries as usize,
        expansion_cost: match d.expansion_cost {
            ExpansionCost::Free => hps_dise::ExpansionCost::Free,
            ExpansionCost::Stall if d.stall_cycles == 0 => hps_dise::ExpansionCost::Free,
            ExpansionCost::Stall => hps_dise::ExpansionCost::Stall,
            ExpansionCost::ExtraStage => hps_dise::ExpansionCost::ExtraStage,
        },
        rt_miss_cycles: d.rt_miss_cycles,
        composed_miss_cycles: d.composed_miss_cycles,
        repair_counters: d.repair_counters,
        ..DiseConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_an_engine() {
        for name in MachineConfig::presets() {
            let machine = MachineConfig::preset(name).unwrap();
            dise_config(&machine).validate().unwrap();
        }
        let mut machine = MachineConfig::default();
        assert_eq!(dise_config(&machine), DiseConfig::default());
        machine.dise.stall_cycles = 0;
        let free = dise_config(&machine).expansion_cost;
        assert_eq!(free, hps_dise::ExpansionCost::Free);
    }
}
