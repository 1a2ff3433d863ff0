//! `hps machine`: machine descriptions, their keys and their presets.

use hps_pipeline::config::{KeyDoc, MachineConfig, Source};
use serde_json::Value;

use crate::cli::MachineCommand;
use crate::text::{Align, Table, print, wrapped};

/// Runs the command; the result is the exit code.
pub fn machine(command: &MachineCommand) -> anyhow::Result<u8> {
    match command {
        MachineCommand::Show { machine: None, .. } => print(&list()?)?,
        MachineCommand::Show {
            machine: Some(machine),
            ron,
        } => {
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
    let mut out = format!("{}: {}\n", config.name, config.description);
    if !config.base.is_empty() {
        out += &format!("Differences from {}.\n", config.base);
    }
    out += &format!("\n{}\n{}", stages(config), values(config)?);
    out += "\norigin: `paper` and `chosen` are defaults, from the HPS paper (section 5) or chosen where it is silent;\n\
            `machine` is what this machine says. `hps machine keys` says what each key means.\n";
    if config.chip.little_cores > 0 {
        out += &little(config)?;
    }
    Ok(out)
}

/// The little cores: their stages, and the keys in which they differ from the other cores.
fn little(config: &MachineConfig) -> anyhow::Result<String> {
    let last = config.chip.cores - 1;
    let core = config.of_core(last);
    let (theirs, others) = (serde_json::to_value(&*core)?, serde_json::to_value(config)?);
    let columns = [
        ("key", Align::Left),
        ("value", Align::Right),
        ("other cores", Align::Right),
        ("unit", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for key in MachineConfig::keys() {
        // Keys of `chip` belong to the chip: cores have no values of their own.
        if key.path.starts_with("chip.") || key.path == "little" {
            continue;
        }
        let Some(value) = lookup(&theirs, &key.path) else {
            continue;
        };
        let other = lookup(&others, &key.path);
        for (path, value) in lines(&key.path, value) {
            let inside = path.strip_prefix(&key.path).unwrap_or_default();
            let other = other.and_then(|other| lookup(other, inside.trim_start_matches('.')));
            let other = other.map_or_else(|| "none".to_owned(), value_text);
            if value != other {
                table.row([path, value, other, key.unit.to_string()]);
            }
        }
    }
    let first = last + 1 - config.chip.little_cores;
    let which = match first == last {
        true => format!("Core {last} is little"),
        false => format!("Cores {first} to {last} are little"),
    };
    Ok(format!(
        "\n{which}, with these differences from the others.\n\n{}\n{}",
        stages(&core),
        table.render()
    ))
}

/// Every key with its value.
fn values(config: &MachineConfig) -> anyhow::Result<String> {
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
        if ["name", "description", "base", "little"].contains(&key.path.as_str()) {
            continue;
        }
        let has_variant = key.path.contains(char::is_uppercase);
        let value = match lookup(&values, &key.path) {
            Some(value) => value.clone(),
            None if has_variant => continue,
            // A section that holds its defaults is left out.
            // Names of variants are no JSON.
            None => serde_json::from_str(&key.default)
                .unwrap_or_else(|_| Value::String(key.default.clone())),
        };
        let value = &value;
        let default = lookup(&defaults, &key.path);
        for (path, value) in lines(&key.path, value) {
            let default = default.and_then(|default| {
                let inside = path.strip_prefix(&key.path).unwrap_or_default();
                lookup(default, inside.trim_start_matches('.'))
            });
            // The default of a key that the default machine lacks: a key of another variant, or a pool that it does not
            // have.
            let own = || {
                if path == key.path {
                    key.default.as_str()
                } else {
                    "none"
                }
            };
            let default = default.map_or_else(|| own().to_string(), value_text);
            let origin = origin(&key, &value, &default);
            table.row([path, value, key.unit.to_string(), origin]);
        }
    }
    Ok(table.render())
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

/// The value at a path of keys (itself for an empty one); none for keys of variants that this
/// machine does not use.
fn lookup<'a>(values: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .filter(|key| !key.is_empty())
        .try_fold(values, |value, key| value.get(key))
}

/// The lines of a key: one, or for a map (pools of units) one for each of its entries.
fn lines(path: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Object(map) if !is_variant(value) => map
            .iter()
            .map(|(entry, value)| (format!("{path}.{entry}"), value_text(value)))
            .collect(),
        _ => vec![(path.to_string(), value_text(value))],
    }
}

/// Whether a value is a variant of an enumeration with keys of its own.
fn is_variant(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.len() == 1 && map.values().all(Value::is_object))
}

/// A value as a machine file would hold it; of an enumeration only the variant, since its keys
/// have lines of their own.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => map.keys().cloned().collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn origin(key: &KeyDoc, value: &str, default: &str) -> String {
    let source = match key.source {
        Source::Paper => "paper",
        Source::Chosen => "chosen",
    };
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
    fn little_cores_are_shown_by_their_differences() {
        let config = MachineConfig::preset("big-little").expect("a preset");
        let text = show(&config).expect("shown");
        let (_, little) = text.split_once("Core 1 is little").expect("a section");
        let rows: Vec<Vec<&str>> = little
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        for row in [
            "window.rob_entries 32 512 entries",
            "units.pools.load 1 3 units by pool name",
            "branch.predictor Gshare Tage predictor",
            "branch.predictor.Gshare.entries 4096 none entries",
            "issue.scheduling InOrder OutOfOrder policy",
        ] {
            let row: Vec<&str> = row.split_whitespace().collect();
            assert!(rows.contains(&row), "{row:?}: {little}");
        }
        assert!(little.contains("8 stages"), "{little}");
        // Keys with equal values, and keys of the chip, have no row.
        for path in ["memory.l2.ways", "memory.l1i.line_bytes", "chip.cores"] {
            assert!(!little.contains(path), "{path}");
        }
        assert!(!text.contains("little."), "{text}");
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
