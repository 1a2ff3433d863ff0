//! `hps machine`: machine descriptions, their keys and their presets.

use hps_pipeline::config::{KeyDoc, MachineConfig, Source};
use serde_json::Value;

use crate::cli::MachineCommand;
use crate::text::{Align, Table, print, wrapped};

/// Runs the command; the result is the exit code.
pub fn machine(command: &MachineCommand) -> anyhow::Result<u8> {
    match command {
        MachineCommand::List => print(&list()?)?,
        MachineCommand::Show { machine, ron } => {
            let config = MachineConfig::load(machine)?;
            print(&if *ron {
                config.to_ron()
            } else {
                show(&config)?
            })?;
        }
        MachineCommand::Check { files } => return check(files),
        MachineCommand::Keys => print(&keys())?,
    }
    Ok(0)
}

fn list() -> anyhow::Result<String> {
    let mut table = Table::new(&[
        ("machine", Align::Left),
        ("stages", Align::Right),
        ("description", Align::Left),
    ]);
    for name in MachineConfig::presets() {
        let config = MachineConfig::preset(name)?;
        table.row([
            name.to_string(),
            config.pipeline_stages().to_string(),
            config.description,
        ]);
    }
    Ok(table.render())
}

/// Every key of a machine with unit, value and where the value comes from; the stages.
fn show(config: &MachineConfig) -> anyhow::Result<String> {
    let values = serde_json::to_value(config)?;
    let defaults = serde_json::to_value(MachineConfig::default())?;
    let columns = [
        ("key", Align::Left),
        ("value", Align::Right),
        ("unit", Align::Left),
        ("origin", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for key in MachineConfig::keys() {
        if ["name", "description", "base"].contains(&key.path.as_str()) {
            continue;
        }
        if let Some(value) = lookup(&values, &key.path) {
            let value = value_text(value);
            table.row([
                key.path.clone(),
                value.clone(),
                key.unit.to_string(),
                origin(&key, &value, &defaults),
            ]);
        }
    }
    let mut out = format!("{}: {}\n", config.name, config.description);
    if !config.base.is_empty() {
        out += &format!("Differences from {}.\n", config.base);
    }
    out += &format!("\n{}\n{}", stages(config), table.render());
    out += "\norigin: `paper` and `chosen` are defaults, from the HPS paper (section 5) or chosen where it is silent;\n\
            `machine` is what this machine says. `hps machine keys` says what each key means.\n";
    Ok(out)
}

fn stages(config: &MachineConfig) -> String {
    let rows = [
        ("fetch to decode", config.fetch.fetch_to_decode_cycles),
        ("decode to dispatch", config.decode_to_dispatch_cycles()),
        ("dispatch to issue", config.issue.dispatch_to_issue_cycles),
        ("issue to execute", config.issue.issue_to_execute_cycles),
        ("execute (shortest)", 1),
        (
            "complete to commit",
            config.window.complete_to_commit_cycles,
        ),
        ("commit", 1),
    ];
    let mut table = Table::new(&[
        ("part of the pipeline", Align::Left),
        ("cycles", Align::Right),
    ]);
    for (part, cycles) in rows {
        table.row([part.to_string(), cycles.to_string()]);
    }
    format!(
        "{} stages: {}\nA mispredicted branch loses at least {} cycles of fetch.\n\n{}",
        config.pipeline_stages(),
        config.stage_names().join(" "),
        config.min_mispredict_penalty_cycles(),
        table.render()
    )
}

/// The value at a path of keys; none for keys of variants that this machine does not use.
fn lookup<'a>(values: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(values, |value, key| value.get(key))
}

/// A value as a machine file would hold it; of an enumeration only the variant, since its keys
/// have lines of their own.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => match map.iter().next() {
            Some((variant, Value::Object(_))) if map.len() == 1 => variant.clone(),
            _ => {
                let entries: Vec<String> = map
                    .iter()
                    .map(|(k, v)| format!("{k} {}", value_text(v)))
                    .collect();
                entries.join(", ")
            }
        },
        other => other.to_string(),
    }
}

/// The default of a key in the form of [`value_text`].
fn default_text(key: &KeyDoc, defaults: &Value) -> String {
    lookup(defaults, &key.path).map_or_else(|| key.default.clone(), value_text)
}

fn origin(key: &KeyDoc, value: &str, defaults: &Value) -> String {
    let source = match key.source {
        Source::Paper => "paper",
        Source::Chosen => "chosen",
    };
    let default = default_text(key, defaults);
    if value == default {
        source.to_string()
    } else {
        format!("machine (default {default}, {source})")
    }
}

fn check(files: &[String]) -> anyhow::Result<u8> {
    let mut bad = 0;
    let mut out = String::new();
    for file in files {
        match MachineConfig::load(file) {
            Ok(config) => {
                out += &format!(
                    "{file}: ok ({}, {} stages)\n",
                    config.name,
                    config.pipeline_stages()
                );
            }
            Err(error) => {
                bad += 1;
                out += &format!("{file}: refused\n");
                for line in error.to_string().lines() {
                    out += &format!("  {line}\n");
                }
            }
        }
    }
    print(&out)?;
    Ok(u8::from(bad > 0))
}

fn keys() -> String {
    let mut out = String::from(
        "A machine file is RON: (fetch: (fetch_width_insts: 2), memory: (l1d: (size_bytes: 65536))).\n\
         It gives only what differs from its `base`, a preset; without one, from hps-4wide.\n\
         `hps machine show NAME --ron` prints a whole one.\n",
    );
    for key in MachineConfig::keys() {
        let source = match key.source {
            Source::Paper => ", from the paper",
            Source::Chosen => "",
        };
        let default = if key.default.is_empty() || key.default == "\"\"" {
            "none"
        } else {
            &key.default
        };
        out += &format!(
            "\n{}  [{}; default {default}{source}]\n    ",
            key.path, key.unit
        );
        out += &wrapped(&key.description, 92, 4);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_shown_with_its_values() {
        for name in MachineConfig::presets() {
            let config = MachineConfig::preset(name).expect("a preset");
            let text = show(&config).expect("shown");
            let line = text
                .lines()
                .find(|l| l.starts_with("window.rob_entries "))
                .expect("the key");
            assert!(
                line.contains(&format!(" {} ", config.window.rob_entries)),
                "{line}"
            );
            assert_eq!(
                line.contains("default 128"),
                config.window.rob_entries != 128,
                "{line}"
            );
        }
    }

    #[test]
    fn variants_show_their_own_keys_only() {
        let text = show(&MachineConfig::default()).expect("shown");
        assert!(text.contains("branch.predictor.Tournament.chooser_entries"));
        assert!(!text.contains("branch.predictor.Tage"));
        assert!(text.contains("12 stages: fetch1"), "{text}");
        assert!(keys().contains("branch.predictor.Tage"));
    }
}
