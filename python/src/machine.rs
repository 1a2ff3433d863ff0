//! Machine descriptions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hps_pipeline::config::MachineConfig;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use serde_json::Value;

use crate::error::said;
use crate::frame::{Column, Frame};

/// A machine: a preset or a file, with keys that differ.
///
/// Keys are keyword arguments with two underscores for each dot: `Machine("hps-4wide", window__rob_entries=256)`.
/// `Machine.keys()` lists them with units and meanings.
#[pyclass(frozen, module = "hps._hps")]
pub struct Machine {
    pub config: MachineConfig,
}

/// A machine, or the name or file of one.
#[derive(FromPyObject)]
pub enum AnyMachine<'py> {
    Made(PyRef<'py, Machine>),
    Named(String),
}

impl AnyMachine<'_> {
    pub fn config(self) -> PyResult<MachineConfig> {
        match self {
            AnyMachine::Made(machine) => Ok(machine.config.clone()),
            AnyMachine::Named(name) => MachineConfig::load(&name).map_err(said),
        }
    }

    /// This machine, or the one that commands run on unless they are told another one.
    pub fn or_standard(machine: Option<Self>) -> PyResult<MachineConfig> {
        let standard = || AnyMachine::Named("hps-4wide".to_owned());
        machine.unwrap_or_else(standard).config()
    }
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (name="hps-4wide", /, **keys))]
    fn new(name: &str, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Machine> {
        let config = MachineConfig::load(name).map_err(said)?;
        Machine { config }.with_keys(keys)
    }

    /// This machine with these keys.
    #[pyo3(name = "with_", signature = (**keys))]
    fn with_keys(&self, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Machine> {
        let Some(keys) = keys.filter(|keys| !keys.is_empty()) else {
            let config = self.config.clone();
            return Ok(Machine { config });
        };
        let (mut all, mut each) = (Section::default(), Vec::new());
        // The name says what differs, unless it is given.
        let mut name = self.config.name.clone();
        for (key, value) in keys.iter() {
            let key: String = key.extract::<String>()?.replace("__", ".");
            let value = match key.as_str() {
                "name" | "description" => format!("{:?}", value.extract::<String>()?),
                _ => literal(&value)?,
            };
            let last = key.rsplit('.').next().unwrap_or(&key);
            let _ = write!(name, " {last}={value}");
            all.insert(&key, value.clone());
            each.push((key, value));
        }
        all.0
            .entry("name".to_owned())
            .or_insert_with(|| Node::Value(format!("{name:?}")));
        let error = match self.config.changed(&all.text(), "keyword arguments") {
            Ok(config) => return Ok(Machine { config }),
            Err(error) => error,
        };
        // A key that no machine takes says so by itself.
        for (key, value) in &each {
            let mut one = Section::default();
            one.insert(key, value.clone());
            if let Err(error) = self.config.changed(&one.text(), key) {
                return Err(said(anyhow::anyhow!("{key}={value}: {error}")));
            }
        }
        Err(said(error))
    }

    /// The names of the presets.
    #[staticmethod]
    fn presets() -> Vec<&'static str> {
        MachineConfig::presets()
    }

    /// Every key with its unit, default and meaning.
    #[staticmethod]
    fn keys() -> PyResult<Frame> {
        let keys = MachineConfig::keys();
        let text = |name, about, of: fn(&hps_pipeline::config::KeyDoc) -> &str| {
            Column::new(
                name,
                "text",
                about,
                keys.iter()
                    .map(|key| Some(of(key)))
                    .collect::<crate::frame::Data>(),
            )
        };
        Frame::of(vec![
            text("key", "where the key is", |key| &key.path),
            text("unit", "unit of its value", |key| key.unit),
            text("default", "its default", |key| &key.default),
            text("description", "what it means", |key| &key.description),
        ])
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.config.name
    }

    /// Description of the machine, in a sentence.
    #[getter]
    fn description(&self) -> &str {
        &self.config.description
    }

    /// The whole description as a machine file, with every key, its unit and its meaning.
    fn to_ron(&self) -> String {
        self.config.to_ron()
    }

    /// The value of a key, such as `window.rob_entries`; of a section a dictionary.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let all = serde_json::to_value(&self.config).map_err(said)?;
        let pointer = format!("/{}", key.replace("__", ".").replace('.', "/"));
        match all.pointer(&pointer) {
            Some(value) => object(py, value),
            None => Err(PyAttributeError::new_err(format!(
                "{}: there is no key {key}; Machine.keys() lists all of them",
                self.config.name
            ))),
        }
    }

    /// A section or a key by its name: `machine.window["rob_entries"]`.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.__getitem__(py, name)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Machine {}: {}>",
            self.config.name, self.config.description
        )
    }

    fn __eq__(&self, other: &Machine) -> bool {
        self.config == other.config
    }
}

/// Differences from a machine, as a machine file has them.
#[derive(Default)]
struct Section(BTreeMap<String, Node>);

enum Node {
    Value(String),
    Inner(Section),
}

impl Section {
    /// Adds the value of a key such as `window.rob_entries`.
    fn insert(&mut self, key: &str, value: String) {
        let Some((section, rest)) = key.split_once('.') else {
            self.0.insert(key.to_owned(), Node::Value(value));
            return;
        };
        let empty = || Node::Inner(Section::default());
        let node = self.0.entry(section.to_owned()).or_insert_with(empty);
        if let Node::Value(_) = node {
            *node = empty();
        }
        if let Node::Inner(inner) = node {
            inner.insert(rest, value);
        }
    }

    fn text(&self) -> String {
        let items = self.0.iter().map(|(key, node)| match node {
            Node::Value(value) => format!("{key}: {value}"),
            Node::Inner(inner) => format!("{key}: {}", inner.text()),
        });
        format!("({})", items.collect::<Vec<_>>().join(", "))
    }
}

/// A value as a machine file has it. A text is the name of a variant, with its keys if it has any, unless it is quoted.
fn literal(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true().to_string());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: PyResult<Vec<String>> = value.try_iter()?.map(|item| literal(&item?)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    if let Ok(keys) = value.cast::<PyDict>() {
        let items = keys.iter().map(|(key, value)| {
            Ok(format!(
                "{}: {}",
                key.extract::<String>()?,
                literal(&value)?
            ))
        });
        return Ok(format!(
            "({})",
            items.collect::<PyResult<Vec<_>>>()?.join(", ")
        ));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(number.to_string());
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(format!("{number:?}"));
    }
    if let Ok(text) = value.extract::<String>() {
        return Ok(text);
    }
    Err(PyTypeError::new_err(format!(
        "{value}: a key takes a number, True or False, a text, a list or a dictionary"
    )))
}

/// A value of JSON as Python has it.
pub fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(is) => PyBool::new(py, *is).to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (_, Some(number)) => number.into_pyobject(py)?.into_any(),
            _ => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let items: PyResult<Vec<_>> = items.iter().map(|item| object(py, item)).collect();
            PyList::new(py, items?)?.into_any()
        }
        Value::Object(items) => {
            let all = PyDict::new(py);
            for (key, item) in items {
                all.set_item(key, object(py, item)?)?;
            }
            all.into_any()
        }
    })
}
