//! Production files: a file, or the name of one that comes with the project.

use std::collections::HashMap;

use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Memory, Perm, page_align_up};
use hps_pipeline::config::MachineConfig;
use hps_productions::{ProductionFile, files};
use hps_system::process::Process;

use crate::error::{MapError, ProductionsError};
use crate::machine::dise_config;

/// Production files that were loaded together, and the engine that they are installed into.
#[derive(Clone, Debug)]
pub struct Productions {
    /// The productions.
    pub set: ProductionSet,
    /// Sizes and costs of the engine.
    pub engine: DiseConfig,
}

impl Productions {
    /// Loads production files together for programs of an instruction set, with values for their parameters. Files that
    /// built-in ones need are loaded with them. The engine has its default sizes and costs.
    ///
    /// # Errors
    /// There is no such file, or it is wrong.
    pub fn load(
        isa: Isa,
        names: &[String],
        params: HashMap<String, i64>,
    ) -> Result<Productions, ProductionsError> {
        let options = LoadOptions {
            params,
            ..LoadOptions::default().for_isa(isa)
        };
        let texts = texts(names)?;
        let pairs: Vec<(&str, &str)> = texts
            .iter()
            .map(|(text, name)| (text.as_str(), name.as_str()))
            .collect();
        Ok(Productions {
            set: ProductionSet::parse_files(&pairs, &options)?,
            engine: DiseConfig::default(),
        })
    }

    /// The productions in the engine of a machine.
    ///
    /// # Errors
    /// The tables of the engine cannot hold the productions even one at a time.
    pub fn on(self, machine: &MachineConfig) -> Result<Productions, ProductionsError> {
        let engine = dise_config(machine);
        self.set
            .engine(&engine)
            .map_err(|source| ProductionsError::Fit {
                machine: machine.name.clone(),
                source,
            })?;
        Ok(Productions { engine, ..self })
    }

    /// Maps handlers and data into a process, sets the DISE registers, and gives the engine.
    ///
    /// # Errors
    /// Memory that cannot be mapped, or an engine that cannot hold the productions.
    pub fn install(&self, process: &mut Process) -> Result<DiseEngine, ProductionsError> {
        map_handlers(&self.set, &mut process.mem)?;
        self.set.init_registers(&mut process.thread.hart.r);
        let mut engine = self.set.engine(&self.engine)?;
        engine.reset(&process.thread.hart.r);
        Ok(engine)
    }
}

/// Text and name of each file, what the built-in ones need included.
fn texts(names: &[String]) -> Result<Vec<(String, String)>, ProductionsError> {
    let built_in: Vec<ProductionFile> = names
        .iter()
        .filter_map(|name| ProductionFile::find(name))
        .collect();
    let mut all: Vec<(String, String)> = Vec::new();
    for name in names {
        let Some(file) = ProductionFile::find(name) else {
            all.push((read(name)?, name.clone()));
            continue;
        };
        for file in file.beside(&built_in) {
            let text = (file.text.to_string(), format!("{}.dise", file.name));
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    Ok(all)
}

fn read(name: &str) -> Result<String, ProductionsError> {
    if !name.contains('/') && !std::path::Path::new(name).exists() {
        let known: Vec<&str> = files::ALL.iter().map(|file| file.name).collect();
        return Err(ProductionsError::Unknown {
            name: name.to_string(),
            known: known.join(", "),
        });
    }
    hps_system::host::read_text(name.as_ref()).map_err(|source| ProductionsError::Unreadable {
        name: name.to_string(),
        source,
    })
}

fn map_handlers(set: &ProductionSet, mem: &mut Memory) -> Result<(), MapError> {
    let mut data_start = layout::HANDLER_BASE;
    for (base, code) in set.handler_image() {
        let end = page_align_up(base + code.len() as u64).ok_or(MapError::HandlersEnd)?;
        mem.map(base, end - base, Perm::RX)?;
        mem.write_bytes_forced(base, &code)
            .map_err(|fault| MapError::Unwritable { addr: fault.addr })?;
        data_start = end;
    }
    let data_end = set
        .data_areas()
        .iter()
        .map(|area| area.address + area.size)
        .max()
        .unwrap_or(data_start);
    let data_end = page_align_up(data_end).ok_or(MapError::DataEnd)?;
    if data_end > layout::HANDLER_END {
        return Err(MapError::Region { end: data_end });
    }
    if data_start < data_end {
        mem.map(data_start, data_end - data_start, Perm::RW)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_types_bring_the_framework() {
        let names = |list: &[&str]| -> Vec<String> {
            let list: Vec<String> = list.iter().map(|name| (*name).to_string()).collect();
            texts(&list)
                .expect("built-in files")
                .into_iter()
                .map(|(_, name)| name)
                .collect()
        };
        assert_eq!(
            names(&["hot_method"]),
            [
                "framework.dise",
                "hot_method_handler.dise",
                "hot_method.dise"
            ]
        );
        assert_eq!(
            names(&["hot_method", "framework"]),
            [
                "hot_method_handler.dise",
                "hot_method.dise",
                "framework.dise"
            ]
        );
        let both = names(&["framework", "hot_method", "hot_call_pair"]);
        assert_eq!(
            both,
            [
                "framework.dise",
                "hot_method_handler.dise",
                "hot_call_pair_handler.dise",
                "hot_method_call_pair.dise"
            ]
        );
        assert!(texts(&["nothing".to_string()]).is_err());
    }

    #[test]
    fn a_list_of_microinstructions_that_the_machine_cannot_hold_is_refused() {
        let mut machine = MachineConfig::default();
        machine.dise.ct_entries = 1;
        for isa in Isa::ALL {
            let names = ["framework".to_string()];
            let productions = Productions::load(isa, &names, HashMap::new()).expect("built in");
            assert!(productions.clone().on(&machine).is_err());
            assert!(productions.on(&MachineConfig::default()).is_ok());
        }
    }
}
