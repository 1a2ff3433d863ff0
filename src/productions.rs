//! Production files as commands take them: a file, or the name of one that comes with the project.

use anyhow::{Context, bail};
use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_pipeline::config::MachineConfig;
use hps_productions::{ProductionFile, files};
use hps_sim_core::isa::Isa;
use hps_sim_core::memory::{Memory, Perm, page_align_up};
use hps_sim_core::process::{Process, layout};

/// Text and name of each file, what the built-in ones need included.
fn texts(names: &[String]) -> anyhow::Result<Vec<(String, String)>> {
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

fn read(name: &str) -> anyhow::Result<String> {
    if !name.contains('/') && !std::path::Path::new(name).exists() {
        let known: Vec<&str> = files::ALL.iter().map(|file| file.name).collect();
        bail!(
            "{name}: neither a file nor productions that come with the project; there are: {}",
            known.join(", ")
        );
    }
    hps_sim_core::host::read_text(name.as_ref()).with_context(|| {
        format!("{name}: cannot be read; name a production file or a built-in one (hps dise list)")
    })
}

/// `NAME=VALUE` with an integer, also in hexadecimal or with underscores.
fn parameter(pair: &str) -> anyhow::Result<(String, i64)> {
    let (name, value) = pair
        .split_once('=')
        .with_context(|| format!("--param {pair}: write NAME=VALUE"))?;
    let digits = value.replace('_', "");
    let number = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let number = number.with_context(|| format!("--param {pair}: `{value}` is no integer"))?;
    Ok((name.to_string(), number))
}

/// Loads production files together for programs of an instruction set, with values for their
/// parameters (`NAME=VALUE`).
pub fn load(isa: Isa, names: &[String], params: &[String]) -> anyhow::Result<ProductionSet> {
    let params = params
        .iter()
        .map(|pair| parameter(pair))
        .collect::<anyhow::Result<_>>()?;
    let options = LoadOptions {
        params,
        ..LoadOptions::default().for_isa(isa)
    };
    let texts = texts(names)?;
    let pairs: Vec<(&str, &str)> = texts
        .iter()
        .map(|(text, name)| (text.as_str(), name.as_str()))
        .collect();
    Ok(ProductionSet::parse_files(&pairs, &options)?)
}

/// Refuses productions that the tables of the machine's DISE engine cannot hold even one at a time.
pub fn check_fit(set: &ProductionSet, machine: &MachineConfig) -> anyhow::Result<()> {
    let config = hps_experiments::machine::dise_config(machine);
    set.engine(&config)
        .with_context(|| format!("the productions do not fit machine `{}`", machine.name))?;
    Ok(())
}

/// Maps handlers and data into a process, sets the DISE registers, and gives the engine.
pub fn install(
    set: &ProductionSet,
    config: &DiseConfig,
    process: &mut Process,
) -> anyhow::Result<DiseEngine> {
    map_handlers(set, &mut process.mem).context("the handlers' memory cannot be mapped")?;
    set.init_registers(&mut process.hart.r);
    let mut engine = set.engine(config)?;
    engine.reset(&process.hart.r);
    Ok(engine)
}

fn map_handlers(set: &ProductionSet, mem: &mut Memory) -> anyhow::Result<()> {
    let mut data_start = layout::HANDLER_BASE;
    for (base, code) in set.handler_image() {
        let end = page_align_up(base + code.len() as u64)
            .context("the handlers end beyond all addresses")?;
        mem.map(base, end - base, Perm::RX)?;
        mem.write_bytes_forced(base, &code).map_err(|fault| {
            anyhow::anyhow!("guest address {:#x} cannot be written", fault.addr)
        })?;
        data_start = end;
    }
    let data_end = set
        .data_areas()
        .iter()
        .map(|area| area.address + area.size)
        .max()
        .unwrap_or(data_start);
    let data_end =
        page_align_up(data_end).context("the handlers' data ends beyond all addresses")?;
    if data_end > layout::HANDLER_END {
        bail!(
            "their data ends at {data_end:#x}, beyond the region for handlers ({:#x}); use smaller areas",
            layout::HANDLER_END
        );
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
    fn parameters_are_integers() {
        assert_eq!(
            parameter("burst=1_000").expect("decimal"),
            ("burst".to_string(), 1000)
        );
        assert_eq!(
            parameter("x=0x10").expect("hexadecimal"),
            ("x".to_string(), 16)
        );
        for wrong in ["burst", "burst=", "burst=ten"] {
            let message = parameter(wrong).expect_err(wrong).to_string();
            assert!(message.contains(wrong), "{message}");
        }
    }

    #[test]
    fn a_list_of_microinstructions_that_the_machine_cannot_hold_is_refused() {
        let mut machine = MachineConfig::default();
        machine.dise.ct_entries = 1;
        for isa in Isa::ALL {
            let set = load(isa, &["framework".to_string()], &[]).expect("built in");
            assert!(check_fit(&set, &machine).is_err());
            assert!(check_fit(&set, &MachineConfig::default()).is_ok());
        }
    }
}
