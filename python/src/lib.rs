#![doc = include_str!("../README.md")]

mod error;
mod frame;
mod machine;
mod profile;
mod program;
mod records;
mod run;
mod watch;

use pyo3::prelude::*;

/// The native part of the package `hps`.
#[pymodule]
fn _hps(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", hps_lab::VERSION)?;
    module.add("CLASSES", watch::classes())?;
    module.add("EVENTS", watch::events())?;
    module.add("LabError", module.py().get_type::<error::LabError>())?;
    module.add("Interrupted", module.py().get_type::<error::Interrupted>())?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<frame::Values>()?;
    module.add_class::<machine::Machine>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<profile::Profile>()?;
    module.add_function(wrap_pyfunction!(program::assemble, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(profile::profile, module)?)?;
    module.add_function(wrap_pyfunction!(profile::profilers, module)?)?;
    module.add_function(wrap_pyfunction!(watch::watch, module)?)
}
