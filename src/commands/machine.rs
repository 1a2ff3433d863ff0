//! `hps machine`: machine descriptions, their keys and their presets.

use hps_pipeline::config::{KeyDoc, MachineConfig, Source};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::cli::MachineCommand;
use crate::document::{Described, Format};
use crate::text::{Align, Table, print, wrapped};

/// Format of a machine.
const MACHINE: Format = Format::new("hps-machine", 1);

/// Formats of the documents.
pub fn all_described() -> Vec<Described> {
    vec![
        MACHINE.described::<Shown>(&["machine show MACHINE"]),
        Format::new("hps-presets", 1).described::<Vec<Preset>>(&["machine show"]),
        Format::new("hps-machine-checks", 1).described::<Vec<Checked>>(&["machine check"]),
        Format::new("hps-machine-keys", 1).described::<Vec<Key>>(&["machine keys"]),
    ]
}

/// A machine that comes with the project.
#[derive(Serialize, JsonSchema)]
struct Preset {
    /// Name of the machine.
    machine: &'static str,
    /// Stages of its pipeline.
    stages: u32,
    /// Description in one line.
    description: String,
}

/// A machine with the value of every key.
#[derive(Serialize, JsonSchema)]
struct Shown {
    /// Name of the machine.
    name: String,
    /// Description in one line.
    description: String,
    /// The preset from which it differs by its own keys; an empty text if there is none.
    base: String,
    #[serde(flatten)]
    stages: Stages,
    /// The keys with their values.
    keys: Vec<KeyValue>,
    /// The little cores, if there are some.
    little: Option<Little>,
}

/// The stages of a pipeline.
#[derive(Serialize, JsonSchema)]
struct Stages {
    /// Stages of the pipeline, as the lab counts them.
    stages: u32,
    /// Names of the stages, in their order.
    stage_names: Vec<String>,
    /// Cycles of fetch that a mispredicted branch loses at least.
    min_mispredict_penalty_cycles: u32,
    /// Parts of the pipeline, in their order.
    parts: Vec<Part>,
}

/// A part of a pipeline.
#[derive(Serialize, JsonSchema)]
struct Part {
    /// Name of the part.
    part: &'static str,
    /// Cycles that an instruction takes for it.
    cycles: u32,
}

/// A key of a machine.
#[derive(Serialize, JsonSchema)]
struct KeyValue {
    /// Path of the key, such as `memory.l1d.hit_cycles`.
    key: String,
    /// Value as a machine file has it; of an enumeration only the variant, whose keys stand for themselves.
    value: String,
    /// Unit of the value.
    unit: &'static str,
    /// The value that a machine has which says nothing, in the same form.
    default: String,
    /// Origin of the default: `paper` (section 5 of the HPS paper) or `chosen`.
    source: &'static str,
}

/// The cores of a chip that are smaller than the others.
#[derive(Serialize, JsonSchema)]
struct Little {
    /// Number of the first of them.
    first_core: u32,
    /// Number of the last of them.
    last_core: u32,
    #[serde(flatten)]
    stages: Stages,
    /// Keys in which they differ.
    differences: Vec<Difference>,
}

/// A key in which little cores differ from the others.
#[derive(Serialize, JsonSchema)]
struct Difference {
    /// Path of the key.
    key: String,
    /// Value for the little cores.
    value: String,
    /// Value for the others; `none` for a key that they do not have.
    other_cores: String,
    /// Unit of the values.
    unit: &'static str,
}

/// What a check found out about a machine file.
#[derive(Serialize, JsonSchema)]
struct Checked {
    /// The file, or the name of a preset.
    file: String,
    /// Name of the machine; `null` if the file describes none.
    name: Option<String>,
    /// Stages of its pipeline; `null` if the file describes no machine.
    stages: Option<u32>,
    /// Why the file was refused; `null` if it was not.
    error: Option<String>,
}

/// A key that machine files can have.
#[derive(Serialize, JsonSchema)]
struct Key {
    /// Path of the key; keys of a variant of an enumeration have the variant in it.
    key: String,
    /// Unit of the value.
    unit: &'static str,
    /// The default as a machine file has it; an empty text if there is none.
    default: String,
    /// Origin of the default: `paper` (section 5 of the HPS paper) or `chosen`.
    source: &'static str,
    /// Meaning of the key, with all values of an enumeration.
    description: String,
}

/// Runs the command; the result is the exit code.
pub fn machine(command: &MachineCommand) -> anyhow::Result<u8> {
    match command {
        MachineCommand::Show {
            machine: None,
            json,
            ..
        } => {
            let presets = presets()?;
            json.print_text(&list(&presets))?;
            json.write(&presets)?;
        }
        MachineCommand::Show {
            machine: Some(machine),
            ron: true,
            ..
        } => print(&MachineConfig::load(machine)?.to_ron())?,
        MachineCommand::Show {
            machine: Some(machine),
            json,
            ..
        } => {
            let shown = shown(&MachineConfig::load(machine)?)?;
            json.print_text(&shown.text())?;
            json.write(&MACHINE.of(&shown))?;
        }
        MachineCommand::Check { files, json } => {
            let checked: Vec<Checked> = files.iter().map(|file| check(file)).collect();
            json.print_text(&checked.iter().map(Checked::text).collect::<String>())?;
            json.write(&checked)?;
            return Ok(u8::from(checked.iter().any(|one| one.error.is_some())));
        }
        MachineCommand::Keys { json } => {
            let keys = keys();
            json.print_text(&keys_text(&keys))?;
            json.write(&keys)?;
        }
    }
    Ok(0)
}

fn presets() -> anyhow::Result<Vec<Preset>> {
    let preset = |machine| {
        let config = MachineConfig::preset(machine)?;
        Ok(Preset {
            machine,
            stages: config.pipeline_stages(),
            description: config.description,
        })
    };
    MachineConfig::presets().into_iter().map(preset).collect()
}

fn list(presets: &[Preset]) -> String {
    let mut table = Table::new(&[
        ("machine", Align::Left),
        ("stages", Align::Right),
        ("description", Align::Left),
    ]);
    for one in presets {
        let (stages, description) = (one.stages.to_string(), one.description.clone());
        table.row([one.machine.to_string(), stages, description]);
    }
    table.render()
}

fn shown(config: &MachineConfig) -> anyhow::Result<Shown> {
    let has_little = config.chip.little_cores > 0;
    Ok(Shown {
        name: config.name.clone(),
        description: config.description.clone(),
        base: config.base.clone(),
        stages: stages(config),
        keys: values(config)?,
        little: has_little.then(|| little(config)).transpose()?,
    })
}

impl Shown {
    /// Every key with unit, value and where the value comes from; the stages.
    fn text(&self) -> String {
        let mut out = format!("{}: {}\n", self.name, self.description);
        if !self.base.is_empty() {
            out += &format!("Differences from {}.\n", self.base);
        }
        let columns = [
            ("key", Align::Left),
            ("value", Align::Right),
            ("unit", Align::Left),
            ("origin", Align::Left),
        ];
        let mut table = Table::new(&columns);
        for key in &self.keys {
            let (unit, origin) = (key.unit.to_string(), key.origin());
            table.row([key.key.clone(), key.value.clone(), unit, origin]);
        }
        out += &format!("\n{}\n{}", self.stages.text(), table.render());
        out += "\norigin: `paper` and `chosen` are defaults, from the HPS paper (section 5) or chosen where it is silent;\n\
                `machine` is what this machine says. `hps machine keys` says what each key means.\n";
        out + &self.little.as_ref().map_or_else(String::new, Little::text)
    }
}

impl KeyValue {
    fn origin(&self) -> String {
        if self.value == self.default {
            self.source.to_string()
        } else {
            format!("machine (default {}, {})", self.default, self.source)
        }
    }
}

/// The little cores: their stages, and the keys in which they differ from the other cores.
fn little(config: &MachineConfig) -> anyhow::Result<Little> {
    let last = config.chip.cores - 1;
    let core = config.of_core(last);
    let (theirs, others) = (serde_json::to_value(&*core)?, serde_json::to_value(config)?);
    let mut differences = Vec::new();
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
                differences.push(Difference {
                    key: path,
                    value,
                    other_cores: other,
                    unit: key.unit,
                });
            }
        }
    }
    Ok(Little {
        first_core: last + 1 - config.chip.little_cores,
        last_core: last,
        stages: stages(&core),
        differences,
    })
}

impl Little {
    fn text(&self) -> String {
        let columns = [
            ("key", Align::Left),
            ("value", Align::Right),
            ("other cores", Align::Right),
            ("unit", Align::Left),
        ];
        let mut table = Table::new(&columns);
        for one in &self.differences {
            let (value, other) = (one.value.clone(), one.other_cores.clone());
            table.row([one.key.clone(), value, other, one.unit.to_string()]);
        }
        let (first, last) = (self.first_core, self.last_core);
        let which = match first == last {
            true => format!("Core {last} is little"),
            false => format!("Cores {first} to {last} are little"),
        };
        format!(
            "\n{which}, with these differences from the others.\n\n{}\n{}",
            self.stages.text(),
            table.render()
        )
    }
}

/// Every key with its value.
fn values(config: &MachineConfig) -> anyhow::Result<Vec<KeyValue>> {
    let values = serde_json::to_value(config)?;
    let defaults = serde_json::to_value(MachineConfig::default())?;
    let mut all = Vec::new();
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
        let default = lookup(&defaults, &key.path);
        for (path, value) in lines(&key.path, &value) {
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
            all.push(KeyValue {
                default: default.map_or_else(|| own().to_string(), value_text),
                key: path,
                value,
                unit: key.unit,
                source: source(&key),
            });
        }
    }
    Ok(all)
}

fn stages(config: &MachineConfig) -> Stages {
    let parts = [
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
    Stages {
        stages: config.pipeline_stages(),
        stage_names: config.stage_names(),
        min_mispredict_penalty_cycles: config.min_mispredict_penalty_cycles(),
        parts: parts.map(|(part, cycles)| Part { part, cycles }).into(),
    }
}

impl Stages {
    fn text(&self) -> String {
        let mut table = Table::new(&[
            ("part of the pipeline", Align::Left),
            ("cycles", Align::Right),
        ]);
        for one in &self.parts {
            table.row([one.part.to_string(), one.cycles.to_string()]);
        }
        format!(
            "{} stages: {}\nA mispredicted branch loses at least {} cycles of fetch.\n\n{}",
            self.stages,
            self.stage_names.join(" "),
            self.min_mispredict_penalty_cycles,
            table.render()
        )
    }
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

fn source(key: &KeyDoc) -> &'static str {
    match key.source {
        Source::Paper => "paper",
        Source::Chosen => "chosen",
    }
}

fn check(file: &str) -> Checked {
    let found = MachineConfig::load(file);
    let config = found.as_ref().ok();
    Checked {
        file: file.to_owned(),
        name: config.map(|config| config.name.clone()),
        stages: config.map(MachineConfig::pipeline_stages),
        error: found.as_ref().err().map(ToString::to_string),
    }
}

impl Checked {
    fn text(&self) -> String {
        match (&self.name, &self.error) {
            (_, Some(error)) => {
                let lines = error.lines().map(|line| format!("  {line}\n"));
                format!("{}: refused\n{}", self.file, lines.collect::<String>())
            }
            (name, None) => format!(
                "{}: ok ({}, {} stages)\n",
                self.file,
                name.as_deref().unwrap_or_default(),
                self.stages.unwrap_or_default()
            ),
        }
    }
}

fn keys() -> Vec<Key> {
    let all = MachineConfig::keys().into_iter().map(|key| Key {
        unit: key.unit,
        default: match &*key.default {
            "\"\"" => String::new(),
            _ => key.default.clone(),
        },
        source: source(&key),
        key: key.path,
        description: key.description,
    });
    all.collect()
}

fn keys_text(keys: &[Key]) -> String {
    let mut out = String::from(
        "A machine file is RON: (fetch: (fetch_width_insts: 2), memory: (l1d: (size_bytes: 65536))).\n\
         It gives only what differs from its `base`, a preset; without one, from hps-4wide.\n\
         `hps machine show NAME --ron` prints a whole one.\n",
    );
    for key in keys {
        let source = match key.source {
            "paper" => ", from the paper",
            _ => "",
        };
        let default = match &*key.default {
            "" => "none",
            default => default,
        };
        out += &format!(
            "\n{}  [{}; default {default}{source}]\n    ",
            key.key, key.unit
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
            let text = shown(&config).expect("shown").text();
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
        let text = shown(&config).expect("shown").text();
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
        let text = shown(&MachineConfig::default()).expect("shown").text();
        assert!(text.contains("branch.predictor.Tournament.chooser_entries"));
        assert!(!text.contains("branch.predictor.Tage"));
        assert!(text.contains("12 stages: fetch1"), "{text}");
        assert!(keys_text(&keys()).contains("branch.predictor.Tage"));
    }
}
