//! The program of a run that is named as the guest sees it, below the root of the run.

use std::sync::Arc;

use super::{Given, ProcessConfig};
use crate::image::{Isa, LoadError, ProgramImage};
use crate::os::{Linux, OsInterface};

/// Folders of programs whose names have no `/`, if the environment has no `PATH`.
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program that lies below a root.
#[derive(Debug)]
pub struct FirstProgram {
    /// The program; of a script its interpreter.
    pub image: Arc<ProgramImage>,
    /// The path under which it is started ([`ProcessConfig::file_name`]).
    pub file_name: String,
    /// Arguments of the program; of a script those that its interpreter gets.
    pub args: Vec<String>,
}

impl FirstProgram {
    /// The program that the first argument of `config` names: by a path below the root of `config`, or by a name that is
    /// looked for in the folders of `PATH`. `None` if the root has no such file.
    ///
    /// # Errors
    /// [`LoadError`] if the file is no program that can run: a folder, a device, damaged, without its interpreter.
    pub fn find(config: &ProcessConfig) -> Result<Option<FirstProgram>, LoadError> {
        let (Some(_), Some(name)) = (&config.root, config.args.first()) else {
            return Ok(None);
        };
        // The calls of an instruction set make no difference before the program runs.
        let looks = ProcessConfig {
            scratch: None,
            ..config.clone()
        };
        let mut os = Linux::new(Isa::Riscv64, OsInterface::Linux, &looks, name)?;
        let mut given = Given::of(config, &config.args)?;
        let mut env = config.env.iter();
        let path = env.find(|(name, _)| name == "PATH");
        let path = path.map_or(DEFAULT_PATH, |(_, value)| value);
        let found = os.first_program(&mut given, name.as_bytes(), path.as_bytes())?;
        let text = |text: Vec<u8>| {
            String::from_utf8(text).map_err(|_| LoadError::Config {
                place: "program",
                problem: format!("{name}: a path or an argument in its first line is no UTF-8"),
                remedy: "start the interpreter of the script by its own name",
            })
        };
        let Some(found) = found else {
            return Ok(None);
        };
        Ok(Some(FirstProgram {
            image: found.image,
            file_name: text(given.file_name)?,
            args: given.args.into_iter().map(text).collect::<Result<_, _>>()?,
        }))
    }
}
