//! Editors of the decode stage, and their installation into a run.

use std::fmt::Display;

use hps_dise::DiseEngine;
use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_productions::{Collector, SoftwareCollector, SoftwareEditor};
use hps_system::process::Process;

use crate::error::LabError;
use crate::productions::Productions;

/// Gives a run its decode-stage editor, and puts what the editor needs into the program's memory and
/// registers: handlers, tables, code laid out anew.
pub trait Install {
    /// The editor.
    type Editor: DecodeEditor;

    /// Installs into a process at its beginning.
    ///
    /// # Errors
    /// An error if the editor's memory or code does not fit into the process.
    fn install(self, process: &mut Process) -> Result<Self::Editor, LabError>;
}

impl Install for NoEditor {
    type Editor = NoEditor;

    fn install(self, _: &mut Process) -> Result<NoEditor, LabError> {
        Ok(NoEditor)
    }
}

impl Install for &Collector {
    type Editor = DiseEngine;

    fn install(self, process: &mut Process) -> Result<DiseEngine, LabError> {
        Ok(Collector::install(self, process)?)
    }
}

impl Install for &SoftwareCollector {
    type Editor = SoftwareEditor;

    fn install(self, process: &mut Process) -> Result<SoftwareEditor, LabError> {
        Ok(SoftwareCollector::install(self, process)?)
    }
}

impl Install for &Productions {
    type Editor = DiseEngine;

    fn install(self, process: &mut Process) -> Result<DiseEngine, LabError> {
        Ok(Productions::install(self, process)?)
    }
}

/// A function that installs an editor.
#[derive(Clone, Copy, Debug)]
pub struct Installer<F>(pub(crate) F);

impl<F, E, X> Install for Installer<F>
where
    F: FnOnce(&mut Process) -> Result<E, X>,
    E: DecodeEditor,
    X: Display,
{
    type Editor = E;

    fn install(self, process: &mut Process) -> Result<E, LabError> {
        (self.0)(process).map_err(|reason| LabError::Editor(reason.to_string()))
    }
}
