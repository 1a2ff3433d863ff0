//! Whether records belong together: one version, one description for each machine, one image for each program.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hps_pipeline::config::MachineConfig;
use serde_json::Value;

use super::ClusterError;
use crate::store::Origin;

/// Where something was said first: file and line.
type At = (PathBuf, usize);

/// Versions, machines and programs that the records so far have named.
#[derive(Debug, Default)]
pub(super) struct Belongs {
    version: Option<(String, At)>,
    /// Descriptions of machines by name.
    machines: HashMap<String, (String, At)>,
    /// Hashes by program, instruction set and input.
    programs: HashMap<(String, String, String), (String, At)>,
    /// The last record's program, which is mostly the next one's too.
    last: Option<((String, String, String), String)>,
}

impl Belongs {
    /// Refuses a record that does not belong to those before it. `line` is its line, or 0 if it is of no file.
    pub(super) fn check(
        &mut self,
        origin: Origin<'_>,
        path: &Path,
        line: usize,
    ) -> Result<(), ClusterError> {
        let here = || (path.to_path_buf(), line);
        let refuse = |what: String, first: &At| {
            Err(ClusterError::NotTogether {
                one: shown(first),
                other: shown(&here()),
                difference: what,
            })
        };
        match &self.version {
            Some((version, first)) if version != origin.version => {
                let versions = format!("version {version} against {}", origin.version);
                return refuse(versions, first);
            }
            Some(_) => {}
            None => self.version = Some((origin.version.to_string(), here())),
        }
        match self.machines.get(origin.machine) {
            Some((text, first)) if text != origin.machine_text => {
                let keys = differences(text, origin.machine_text);
                return refuse(format!("machine {}: {keys}", origin.machine), first);
            }
            Some(_) => {}
            None => {
                let text = origin.machine_text.to_string();
                self.machines
                    .insert(origin.machine.to_string(), (text, here()));
            }
        }
        if let Some(((name, isa, input), hash)) = &self.last {
            let is_last = name == origin.program && isa == origin.isa && input == origin.input;
            if is_last && hash == origin.program_hash {
                return Ok(());
            }
        }
        let program = (
            origin.program.to_string(),
            origin.isa.to_string(),
            origin.input.to_string(),
        );
        match self.programs.get(&program) {
            Some((hash, first)) if hash != origin.program_hash => {
                return refuse(
                    format!(
                        "program {} ({}): an image with SHA-256 {hash} against {}",
                        program.0, program.1, origin.program_hash
                    ),
                    first,
                );
            }
            Some(_) => {}
            None => {
                let hash = origin.program_hash.to_string();
                self.programs.insert(program.clone(), (hash, here()));
            }
        }
        self.last = Some((program, origin.program_hash.to_string()));
        Ok(())
    }
}

fn shown((path, line): &At) -> String {
    match line {
        0 => path.display().to_string(),
        line => format!("{}:{line}", path.display()),
    }
}

/// The keys in which two descriptions of a machine differ, with both values.
fn differences(one: &str, other: &str) -> String {
    let keys = |text: &str| {
        let machine = MachineConfig::from_ron(text, "a description").ok()?;
        let mut keys = Vec::new();
        flatten(
            String::new(),
            &serde_json::to_value(machine).ok()?,
            &mut keys,
        );
        Some(keys)
    };
    let (Some(one), Some(other)) = (keys(one), keys(other)) else {
        return "other descriptions, of which one cannot be read by this version".to_string();
    };
    let of_other: HashMap<&String, &String> = other.iter().map(|(k, v)| (k, v)).collect();
    let of_one: HashMap<&String, &String> = one.iter().map(|(k, v)| (k, v)).collect();
    let none = "nothing".to_string();
    let changed = one.iter().filter_map(|(key, value)| {
        let there = of_other.get(key).copied().unwrap_or(&none);
        (there != value).then(|| format!("{key} {value} against {there}"))
    });
    let added = other.iter().filter(|(key, _)| !of_one.contains_key(key));
    let added = added.map(|(key, value)| format!("{key} nothing against {value}"));
    changed.chain(added).collect::<Vec<_>>().join(", ")
}

fn flatten(path: String, value: &Value, keys: &mut Vec<(String, String)>) {
    let below = |key: &str| match path.is_empty() {
        true => key.to_string(),
        false => format!("{path}.{key}"),
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(k, v)| flatten(below(k), v, keys)),
        Value::Array(all) => {
            let numbered = all.iter().enumerate();
            numbered.for_each(|(n, v)| flatten(below(&n.to_string()), v, keys));
        }
        value => keys.push((path, value.to_string())),
    }
}
