//! Programs and their surroundings.

use std::path::PathBuf;
use std::time::Duration;

use hps_isa::asm::program::assemble as assembled;
use hps_lab::{DEFAULT_ISA, Files, GuestLimits, GuestOptions, Isa};
use hps_system::os::{Output, Stdin};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::said;
use crate::frame::{Column, Frame};

/// A program with its arguments and surroundings: an executable for RISC-V or Alpha, or the name of a program that comes
/// with the project.
///
/// `stdin` is bytes, or the path of a file; `root` a folder that the program sees as `/`.
#[pyclass(frozen, module = "hps._hps")]
pub struct Program {
    pub program: hps_lab::Program,
    /// Options of the command that give the program these surroundings.
    options: Vec<String>,
    stdin: Option<PathBuf>,
}

/// A program, or the name or file of one.
#[derive(FromPyObject)]
pub enum AnyProgram<'py> {
    Made(PyRef<'py, Program>),
    Named(PathBuf),
}

impl AnyProgram<'_> {
    pub fn program(self) -> PyResult<hps_lab::Program> {
        match self {
            AnyProgram::Made(program) => Ok(program.program.clone()),
            AnyProgram::Named(name) => {
                let made = Program::new(
                    name,
                    Vec::new(),
                    None,
                    None,
                    None,
                    None,
                    None,
                    0,
                    None,
                    2048,
                    None,
                );
                Ok(made?.program)
            }
        }
    }
}

/// The instruction set of a name.
fn isa_of(name: Option<&str>) -> PyResult<Option<Isa>> {
    let find = |name| {
        Isa::from_name(name).ok_or_else(|| {
            let all = Isa::ALL.map(Isa::name).join(", ");
            PyValueError::new_err(format!("{name}: no such instruction set; there are {all}"))
        })
    };
    name.map(find).transpose()
}

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (
        name, *args, isa=None, stdin=None, root=None, cwd=None, env=None, seed=0, address_seed=None,
        memory_limit_mib=2048, time_limit=None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "keyword arguments, each with a default"
    )]
    fn new(
        name: PathBuf,
        args: Vec<String>,
        isa: Option<&str>,
        stdin: Option<&Bound<'_, PyAny>>,
        root: Option<PathBuf>,
        cwd: Option<String>,
        env: Option<std::collections::BTreeMap<String, String>>,
        seed: u64,
        address_seed: Option<u64>,
        memory_limit_mib: u64,
        time_limit: Option<f64>,
    ) -> PyResult<Program> {
        let name = name
            .to_str()
            .ok_or_else(|| PyValueError::new_err("the name is not UTF-8"))?;
        let isa = isa_of(isa)?;
        let env: Vec<(String, String)> = env.unwrap_or_default().into_iter().collect();
        let mut options = Vec::new();
        let mut option = |name: &str, value: String| options.extend([format!("--{name}"), value]);
        if let Some(root) = &root {
            option("root", root.display().to_string());
        }
        if let Some(cwd) = &cwd {
            option("cwd", cwd.clone());
        }
        for (name, value) in &env {
            option("env", format!("{name}={value}"));
        }
        if seed != 0 {
            option("seed", seed.to_string());
        }
        if let Some(seed) = address_seed {
            option("address-seed", seed.to_string());
        }
        if memory_limit_mib != 2048 {
            option("memory-limit", memory_limit_mib.to_string());
        }
        if let Some(seconds) = time_limit {
            option("time-limit", seconds.to_string());
        }
        let time = time_limit.map(Duration::try_from_secs_f64).transpose();
        let (stdin, file) = input(stdin)?;
        let guest = GuestOptions {
            files: match root {
                Some(root) => Files::Under {
                    root,
                    writable: false,
                },
                None => Files::WorkingFolder,
            },
            cwd,
            env,
            seed,
            address_seed,
            limits: GuestLimits {
                memory_bytes: memory_limit_mib << 20,
                time: time.map_err(said)?,
                ..GuestLimits::default()
            },
            stdin,
            stdout: Output::Capture,
            stderr: Output::Capture,
            ..GuestOptions::default()
        };
        let program = hps_lab::Program::named(name, isa, &args, &guest).map_err(said)?;
        Ok(Program {
            program,
            options,
            stdin: file,
        })
    }

    /// Name of the program.
    #[getter]
    fn name(&self) -> &str {
        &self.program.name
    }

    /// Words of the program: its name and its arguments.
    #[getter]
    fn words(&self) -> Vec<String> {
        self.program.process.args.clone()
    }

    /// Instruction set of the program.
    #[getter]
    fn isa(&self) -> &'static str {
        self.program.image.isa.name()
    }

    /// SHA-256 of its file.
    #[getter]
    fn hash(&self) -> &str {
        &self.program.image.hash
    }

    /// The functions that its symbols name.
    fn functions(&self) -> PyResult<Frame> {
        let all = self.program.image.symbols.functions();
        let names = all.iter().map(|f| Some(f.name.as_str()));
        Frame::of(vec![
            Column::new(
                "name",
                "text",
                "name of the function",
                names.collect::<crate::frame::Data>(),
            ),
            Column::new(
                "address",
                "address",
                "its first address",
                all.iter().map(|f| f.addr).collect::<Vec<u64>>(),
            ),
            Column::new(
                "size_bytes",
                "bytes",
                "its size",
                all.iter().map(|f| f.size).collect::<Vec<u64>>(),
            ),
        ])
    }

    /// Options of the command `hps` for these surroundings.
    #[getter]
    fn _options(&self) -> Vec<String> {
        self.options.clone()
    }

    /// The file of standard input, if it is one.
    #[getter]
    fn _stdin_file(&self) -> Option<PathBuf> {
        self.stdin.clone()
    }

    /// Standard input, if it was given as bytes.
    #[getter]
    fn _stdin_bytes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        match &self.program.process.stdin {
            Stdin::Bytes(bytes) if self.stdin.is_none() => Some(PyBytes::new(py, bytes)),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "<Program {} ({})>",
            self.program.process.args.join(" "),
            self.isa()
        )
    }
}

/// Standard input: nothing, bytes, or a file.
fn input(given: Option<&Bound<'_, PyAny>>) -> PyResult<(Stdin, Option<PathBuf>)> {
    let Some(given) = given else {
        return Ok((Stdin::Empty, None));
    };
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok((Stdin::Bytes(bytes.as_bytes().to_vec()), None));
    }
    let path: PathBuf = given.extract()?;
    let bytes = hps_lab::input::read_file(&path).map_err(said)?;
    Ok((
        Stdin::Bytes(bytes),
        Some(std::path::absolute(&path).map_err(said)?),
    ))
}

/// The executable that assembly text makes, as the bytes of a file.
#[pyfunction]
#[pyo3(signature = (text, isa=None))]
pub fn assemble<'py>(
    py: Python<'py>,
    text: &str,
    isa: Option<&str>,
) -> PyResult<Bound<'py, PyBytes>> {
    let isa = isa_of(isa)?.unwrap_or(DEFAULT_ISA);
    let file = assembled(isa, text).map_err(|e| {
        said(anyhow::anyhow!(
            "line {}, column {}: {}",
            e.line,
            e.column,
            e.message
        ))
    })?;
    Ok(PyBytes::new(py, &file.file))
}
