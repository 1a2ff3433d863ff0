//! Reading and writing machine descriptions; the presets.

use super::error::{ConfigError, place_in, syntax};
use super::node::{KeyDoc, Node, Place, dialect};
use super::sections::{MachineConfig, MachinePatch};
use hps_isa::asm::edit_distance;
use std::path::Path;

/// The presets: name and text.
const PRESETS: &[(&str, &str)] = &[
    ("hps-4wide", include_str!("../../presets/hps-4wide.ron")),
    (
        "simplescalar-4wide",
        include_str!("../../presets/simplescalar-4wide.ron"),
    ),
    ("tiny-2wide", include_str!("../../presets/tiny-2wide.ron")),
    ("five-stage", include_str!("../../presets/five-stage.ron")),
    (
        "five-stage-stalls",
        include_str!("../../presets/five-stage-stalls.ron"),
    ),
    (
        "five-stage-dual",
        include_str!("../../presets/five-stage-dual.ron"),
    ),
    (
        "single-cycle",
        include_str!("../../presets/single-cycle.ron"),
    ),
    ("wide-8", include_str!("../../presets/wide-8.ron")),
    ("ev5", include_str!("../../presets/ev5.ron")),
    (
        "alphastation-500",
        include_str!("../../presets/alphastation-500.ron"),
    ),
    ("ev6", include_str!("../../presets/ev6.ron")),
    ("big-little", include_str!("../../presets/big-little.ron")),
    ("cmp-4", include_str!("../../presets/cmp-4.ron")),
    ("smt-2", include_str!("../../presets/smt-2.ron")),
    (
        "shim-haswell-like",
        include_str!("../../presets/shim-haswell-like.ron"),
    ),
];

impl MachineConfig {
    /// Names of the presets.
    #[must_use]
    pub fn presets() -> Vec<&'static str> {
        PRESETS.iter().map(|(name, _)| *name).collect()
    }

    /// The text of a preset, with the reasons for its values.
    #[must_use]
    pub fn preset_text(name: &str) -> Option<&'static str> {
        PRESETS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// A preset.
    ///
    /// # Errors
    /// [`ConfigError::UnknownPreset`].
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        let text = Self::preset_text(name).ok_or_else(|| ConfigError::UnknownPreset {
            name: name.to_string(),
            known: Self::presets().join(", "),
        })?;
        Self::from_ron(text, &format!("{name}.ron"))
    }

    /// A preset by its name, or the description in a file.
    ///
    /// # Errors
    /// The errors of [`from_ron`](Self::from_ron); [`ConfigError::Unreadable`];
    /// [`ConfigError::UnknownPreset`] for a name that is neither a preset nor looks like a file.
    pub fn load(name_or_file: &str) -> Result<Self, ConfigError> {
        let file_like = name_or_file.ends_with(".ron") || Path::new(name_or_file).exists();
        if Self::preset_text(name_or_file).is_some() || !file_like {
            return Self::preset(name_or_file);
        }
        let text = hps_system::host::read_text(Path::new(name_or_file)).map_err(|source| {
            ConfigError::Unreadable {
                file: name_or_file.to_string(),
                source,
            }
        })?;
        Self::from_ron(&text, name_or_file)
    }

    /// Reads a description: the values of `base` (a preset; without it the defaults) with the
    /// differences that the text gives. Only the enumerations (`predictor`,
    /// `memory_dependence`, ...) are replaced as a whole. `little` gives differences from the other
    /// cores of the machine, or from the little ones of `base`. `file_name` is for messages, and
    /// names the machine if the text does not.
    ///
    /// # Errors
    /// [`ConfigError::Syntax`] for what is not RON, unknown keys and values of the wrong type;
    /// [`ConfigError::Impossible`] for values that no machine can have, all of them at once;
    /// [`ConfigError::UnknownPreset`] is turned into an impossible value of `base`.
    pub fn from_ron(text: &str, file_name: &str) -> Result<Self, ConfigError> {
        let patch: MachinePatch = dialect()
            .from_str(text)
            .map_err(|error| syntax(text, file_name, &error))?;
        let mut config = match patch.base.0.as_deref() {
            None | Some("") => MachineConfig::default(),
            Some(base) => base_machine(base, text, file_name)?,
        };
        if patch.name.0.is_none() {
            config.name = Path::new(file_name)
                .file_stem()
                .map_or(file_name.to_string(), |stem| {
                    stem.to_string_lossy().into_owned()
                });
        }
        config.differ(patch, text, file_name)
    }

    /// This machine with the differences that a text gives, in which `base` says nothing. `source_name` is for messages.
    ///
    /// # Errors
    /// [`ConfigError::Syntax`] and [`ConfigError::Impossible`], as [`from_ron`](Self::from_ron).
    pub fn changed(&self, text: &str, source_name: &str) -> Result<Self, ConfigError> {
        let patch: MachinePatch = dialect()
            .from_str(text)
            .map_err(|error| syntax(text, source_name, &error))?;
        self.clone().differ(patch, text, source_name)
    }

    /// The machine with differences that stand in a text.
    fn differ(
        mut self,
        mut patch: MachinePatch,
        text: &str,
        name: &str,
    ) -> Result<Self, ConfigError> {
        let little = std::mem::take(&mut patch.little);
        self.apply(patch);
        self.apply_little(little);
        let violations = self.violations();
        match violations.is_empty() {
            true => Ok(self),
            false => Err(place_in(text, name, violations)),
        }
    }

    /// Checks a configuration that was made or changed in code.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`], with places in [`to_ron`](Self::to_ron)'s text.
    pub fn check(&self) -> Result<(), ConfigError> {
        let violations = self.violations();
        if violations.is_empty() {
            return Ok(());
        }
        Err(place_in(
            &self.to_ron(),
            &format!("machine `{}`", self.name),
            violations,
        ))
    }

    /// The resolved description: every key, with its unit and meaning as a comment. Reading it
    /// gives the same machine.
    #[must_use]
    pub fn to_ron(&self) -> String {
        let mut out = String::new();
        self.print(&root(), 0, &mut out);
        out
    }

    /// Every key with its unit, default and meaning, in the order of the file. The keys of every
    /// variant of an enumeration are there, also of those that are not the default.
    #[must_use]
    pub fn keys() -> Vec<KeyDoc> {
        let mut out = Vec::new();
        MachineConfig::default().document(root(), &mut out);
        out
    }

    /// A canonical text of everything that can change a cycle: equal for equal machines, without
    /// name, description and base. Costs of interrupts are part of it where they are not the defaults.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let anonymous = MachineConfig {
            name: String::new(),
            description: String::new(),
            base: String::new(),
            ..self.clone()
        };
        // Serializing strings, integers, flags and unit names into a string cannot fail.
        dialect().to_string(&anonymous).unwrap_or_default()
    }
}

fn root() -> Place {
    Place {
        path: String::new(),
        unit: "section",
        description: "",
    }
}

fn base_machine(base: &str, text: &str, file_name: &str) -> Result<MachineConfig, ConfigError> {
    if MachineConfig::preset_text(base).is_some() {
        return MachineConfig::preset(base);
    }
    let nearest = MachineConfig::presets()
        .into_iter()
        .min_by_key(|name| edit_distance(name, base))
        .unwrap_or_default();
    let violation = super::error::Violation {
        path: "base".to_string(),
        message: format!(
            "is `{base}`, which is no preset; did you mean `{nearest}`? Allowed: {}",
            MachineConfig::presets().join(", ")
        ),
    };
    Err(place_in(text, file_name, vec![violation]))
}
