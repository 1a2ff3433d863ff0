//! Translation of the page's setup into a program, a machine and productions of the lab.

use std::collections::BTreeMap;
use std::sync::Arc;

use hps_dise::{DiseError, LoadOptions, ProductionSet};
use hps_isa::asm::program::{self, ProgramError};
use hps_isa::said;
use hps_lab::{Lab, LabError, NotEdited, PlacedEdit, Productions, Program, Timed, dise_config};
use hps_pipeline::config::{ConfigError, MachineConfig};
use hps_productions::ProductionFile;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::{Output, Stdin};
use hps_workloads::Size;

use crate::edits::placed;
use crate::protocol::{Limits, Problem, ProgramChoice, Setup, TextFile};

impl Limits {
    /// Limits of a page: WebAssembly has 4 GiB for everything.
    pub const PAGE: Limits = Limits {
        instructions: 2_000_000,
        rows: 2_000_000,
        file_bytes: 16 << 20,
        memory_bytes: 1 << 30,
        output_bytes: 1 << 20,
    };
    /// Limits of a session beside a page: records of that many instructions take 3 GiB.
    pub const SERVED: Limits = Limits {
        instructions: 20_000_000,
        rows: 10_000_000,
        file_bytes: 64 << 20,
        memory_bytes: 16 << 30,
        output_bytes: 64 << 20,
    };
}

/// Everything that a run needs.
pub(crate) struct Ready {
    pub program: Program,
    pub machine: MachineConfig,
    pub productions: Option<Productions>,
    pub limit: u64,
    pub text: AssemblyText,
    /// In the order of their places.
    pub edits: Vec<PlacedEdit>,
}

/// Lines and labels of assembly text; empty for other programs.
#[derive(Default)]
pub(crate) struct AssemblyText {
    /// Lines by address.
    pub lines: Vec<(u64, usize)>,
    /// Labels and their addresses, in the order of addresses.
    pub labels: Vec<(u64, String)>,
}

impl Ready {
    pub(crate) fn new(
        setup: &Setup,
        limits: &Limits,
        served: Option<&Program>,
    ) -> Result<Ready, Problem> {
        if setup.limit > limits.instructions {
            let most = limits.instructions;
            return Err(Problem::new(match most < Limits::SERVED.instructions {
                true => said!(
                    "a run has at most {most} instructions here; a page that `hps teach --serve` serves takes more",
                    most = most
                ),
                false => said!("a run has at most {most} instructions here", most = most),
            }));
        }
        let (mut program, text) = program_of(&setup.program, limits, served)?;
        if !matches!(setup.program, ProgramChoice::BuiltIn { .. }) {
            program.process.args.truncate(1);
            program.process.args.extend(setup.arguments.iter().cloned());
            program.process.stdin = Stdin::Bytes(setup.input.clone().into_bytes());
        }
        program.process.stdout = Output::Capture;
        program.process.stderr = Output::Capture;
        program.process.memory_limit_bytes = limits.memory_bytes;
        program.process.output_limit_bytes = Some(limits.output_bytes);
        let machine = machine_of(&setup.machine, &setup.keys)?;
        let isa = program.image.isa;
        let contexts = u64::from(machine.chip.processors());
        if let Some(edit) = setup.edits.iter().find(|edit| edit.context >= contexts) {
            return Err(Problem::new(said!(
                "{place}: the machine has no context {n}; take the edit back, or choose another machine",
                place = edit.place,
                n = edit.context
            )));
        }
        let edits = placed(&setup.edits, isa)?;
        let productions = if setup.productions.is_empty() {
            None
        } else {
            let set = production_set(isa, &setup.productions, &setup.params)?;
            let loaded = Productions {
                set,
                engine: dise_config(&machine),
            };
            Some(loaded.on(&machine).map_err(Problem::english)?)
        };
        Ok(Ready {
            program,
            machine,
            productions,
            limit: setup.limit,
            text,
            edits,
        })
    }

    /// A run of the program up to the limit, with the edits.
    pub(crate) fn lab(&self) -> Lab<'_> {
        Lab::of(&self.program)
            .limit(self.limit)
            .with_edits(self.edits.clone())
    }

    /// The run on the machine.
    pub(crate) fn timed(&self) -> Lab<'_, Timed<'_>> {
        self.lab().on_machine(&self.machine)
    }
}

fn program_of(
    choice: &ProgramChoice,
    limits: &Limits,
    served: Option<&Program>,
) -> Result<(Program, AssemblyText), Problem> {
    match choice {
        ProgramChoice::BuiltIn { name, isa, size } => {
            let workload = hps_workloads::find(name)
                .ok_or_else(|| Problem::new(said!("there is no program `{name}`", name = name)))?;
            let size = Size::ALL.into_iter().find(|s| s.arg() == size);
            let size =
                size.ok_or_else(|| Problem::new(said!("a program runs with `small` or `large`")))?;
            let mut program = Program::workload(workload, isa_of(isa)?, size)?;
            program.expected = None;
            Ok((program, AssemblyText::default()))
        }
        ProgramChoice::Assembly { isa, text, c: _ } => {
            let assembled = program::assemble(isa_of(isa)?, text)?;
            let image =
                ProgramImage::parse(&assembled.file, "assembly").map_err(Problem::english)?;
            let program = Program::of_image("assembly", Arc::new(image));
            let names = assembled.names.into_iter();
            // Smaller values are constants and no addresses of code.
            let labels = names.map(|(name, value)| (value as u64, name));
            let mut labels: Vec<_> = labels.filter(|(at, _)| *at >= program::CODE).collect();
            labels.sort();
            let text = AssemblyText {
                lines: assembled.lines,
                labels,
            };
            Ok((program, text))
        }
        ProgramChoice::File { name, hex } => {
            if hex.len() as u64 / 2 > limits.file_bytes {
                return Err(Problem::new(said!(
                    "{name}: a file has at most {most} bytes here",
                    name = name,
                    most = limits.file_bytes
                )));
            }
            let bytes = bytes_of(hex).ok_or_else(|| {
                Problem::new(said!("the bytes of the file are no hexadecimal digits"))
            })?;
            let image = ProgramImage::parse(&bytes, name).map_err(Problem::english)?;
            let program = Program::of_image(name, Arc::new(image));
            Ok((program, AssemblyText::default()))
        }
        ProgramChoice::Served { name, .. } => {
            let program = served.filter(|program| program.name == *name).cloned();
            let program = program.ok_or_else(|| {
                Problem::new(said!(
                    "{name} is not here: it was served by `hps teach --serve {name}`",
                    name = name
                ))
            })?;
            Ok((program, AssemblyText::default()))
        }
    }
}

pub(crate) fn isa_of(name: &str) -> Result<Isa, Problem> {
    Isa::from_name(name).ok_or_else(|| {
        Problem::new(said!(
            "`{name}` is no instruction set: riscv64 or alpha",
            name = name
        ))
    })
}

/// The bytes of hexadecimal digits.
pub(crate) fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    let pairs = hex.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    bytes.collect()
}

/// A preset with differences.
fn machine_of(preset: &str, keys: &BTreeMap<String, String>) -> Result<MachineConfig, Problem> {
    if keys.is_empty() {
        return MachineConfig::preset(preset).map_err(Problem::from);
    }
    let mut root = Section::default();
    root.insert("base", &format!("{preset:?}"))?;
    root.insert("name", &format!("{:?}", format!("{preset}, changed")))?;
    for (path, value) in keys {
        root.insert(path, value)?;
    }
    let mut text = String::new();
    root.print(&mut text);
    MachineConfig::from_ron(&text, "machine").map_err(Problem::from)
}

/// Keys of a machine description, by section.
#[derive(Default)]
struct Section {
    values: BTreeMap<String, String>,
    sections: BTreeMap<String, Section>,
}

impl Section {
    fn insert(&mut self, path: &str, value: &str) -> Result<(), Problem> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match path.split_once('.') {
            Some((section, rest)) if !section.is_empty() && section.chars().all(is_name) => {
                let section = self.sections.entry(section.to_owned()).or_default();
                section.insert(rest, value)
            }
            None if !path.is_empty() && path.chars().all(is_name) => {
                self.values.insert(path.to_owned(), value.to_owned());
                Ok(())
            }
            _ => {
                let said = said!("`{path}` is no key: write section.key", path = path);
                Err(Problem::new(said).at("machine"))
            }
        }
    }

    fn print(&self, out: &mut String) {
        out.push('(');
        for (name, value) in &self.values {
            *out += &format!("{name}: {value}, ");
        }
        for (name, section) in &self.sections {
            *out += &format!("{name}: ");
            section.print(out);
            out.push_str(", ");
        }
        out.push(')');
    }
}

/// Production files with what built-in ones need.
pub(crate) fn production_set(
    isa: Isa,
    files: &[TextFile],
    params: &BTreeMap<String, u64>,
) -> Result<ProductionSet, Problem> {
    let built_in = |file: &TextFile| match file.text.is_empty() {
        true => ProductionFile::find(&file.name).map(Some).ok_or_else(|| {
            Problem::new(said!(
                "there is no production file `{name}`",
                name = file.name
            ))
        }),
        false => Ok(None),
    };
    let found: Vec<Option<ProductionFile>> =
        files.iter().map(built_in).collect::<Result<_, _>>()?;
    let all: Vec<ProductionFile> = found.iter().flatten().copied().collect();
    let mut texts: Vec<(String, String)> = Vec::new();
    for (file, found) in files.iter().zip(found) {
        match found {
            None => texts.push((file.text.clone(), file.name.clone())),
            Some(found) => {
                for needed in found.beside(&all) {
                    let text = (needed.text.to_owned(), format!("{}.dise", needed.name));
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
            }
        }
    }
    let pairs: Vec<(&str, &str)> = texts
        .iter()
        .map(|(t, n)| (t.as_str(), n.as_str()))
        .collect();
    let options = LoadOptions {
        params: params.iter().map(|(k, v)| (k.clone(), *v as i64)).collect(),
        ..LoadOptions::default().for_isa(isa)
    };
    Ok(ProductionSet::parse_files(&pairs, &options)?)
}

impl From<LabError> for Problem {
    fn from(error: LabError) -> Self {
        match error {
            LabError::NotEdited { position, why } => Problem::new(match why {
                NotEdited::NotMapped => said!(
                    "memory that is edited behind instruction {n} is not mapped there",
                    n = position
                ),
                NotEdited::NoThread => said!(
                    "no thread is on the context behind instruction {n} whose registers or memory are edited there",
                    n = position
                ),
            }),
            error => Problem::english(error),
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Problem::english(error).at("machine")
    }
}

impl From<ProgramError> for Problem {
    fn from(error: ProgramError) -> Self {
        Problem {
            line: Some(error.line as u64),
            column: Some(error.column as u64),
            ..Problem::new(error.message).at("assembly")
        }
    }
}

impl From<DiseError> for Problem {
    fn from(error: DiseError) -> Self {
        match &error {
            DiseError::Text(at) => at.as_ref().into(),
            _ => Problem::english(error),
        }
    }
}

impl From<&hps_dise::Diagnostic> for Problem {
    fn from(at: &hps_dise::Diagnostic) -> Self {
        let help = at.help.as_ref().map(|h| format!(" ({h})"));
        Problem {
            line: Some(at.line as u64),
            column: Some(at.column as u64),
            ..Problem::english(format!("{}{}", at.message, help.unwrap_or_default())).at(&at.file)
        }
    }
}
