//! Machines as sweeps use them.

use std::ops::Deref;

use hps_dise::DiseConfig;
use hps_pipeline::config::{ExpansionCost, MachineConfig};
use hps_pipeline::core::{CoreKind, EitherCore};
use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::Process;

/// A machine, and how it is simulated when it times programs.
#[derive(Clone, Debug, Default)]
pub struct TimedMachine {
    /// The machine.
    pub config: MachineConfig,
    /// How it is simulated.
    pub core: CoreKind,
}

impl TimedMachine {
    /// Its core with a program and a decode-stage editor.
    ///
    /// # Errors
    /// What the machine has that a core of this kind does not.
    pub fn core_of<E: DecodeEditor>(
        &self,
        process: Process,
        editor: E,
    ) -> Result<EitherCore<E, NoProbe>, String> {
        EitherCore::with(self.core, &self.config, process, editor, NoProbe)
            .map_err(|reason| reason.to_string())
    }
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
