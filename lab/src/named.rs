//! Programs as people name them: under a root, as a file, by the name of one that comes with the project or of the suite, or
//! as assembly text; with their arguments and what they get from outside.

use std::path::Path;
use std::sync::Arc;

use hps_isa::asm::program::assemble;
use hps_system::image::{Isa, ProgramImage};
use hps_workloads::{Size, suite};

use crate::error::LabError;
use crate::guest::{Files, GuestOptions};
use crate::program::{DEFAULT_ISA, Program};

impl Program {
    /// The program of a name in the folder of the guest's root, the one of a file, the one of that name that comes with the
    /// project, or the one that `hps programs build` has built, with its arguments and what it gets from outside. A program
    /// that was built takes `small` or `large`, or nothing for small, for its own arguments, files and input.
    ///
    /// # Errors
    /// There is no such program, it has no image for the instruction set, it is for another one, or the file is no program.
    pub fn named(
        name: &str,
        isa: Option<Isa>,
        arguments: &[String],
        guest: &GuestOptions,
    ) -> Result<Program, LabError> {
        if let Some(program) = of_root(name, isa, arguments, guest)? {
            return Ok(program);
        }
        match Program::find(name, isa) {
            Err(error @ LabError::UnknownProgram { .. }) => {
                match of_suite(name, isa, arguments, guest)? {
                    Some(program) => Ok(program),
                    None => Err(not_found(error, name, guest)),
                }
            }
            found => Ok(found?.called(arguments, guest)),
        }
    }

    /// The program of assembly text in a file, with its arguments and what it gets from outside.
    ///
    /// # Errors
    /// The file cannot be read, or its text is no program; the place of the mistake is named.
    pub fn assembled(
        file: &str,
        isa: Option<Isa>,
        arguments: &[String],
        guest: &GuestOptions,
    ) -> Result<Program, LabError> {
        let text =
            hps_system::host::read_text(file.as_ref()).map_err(|source| LabError::Unreadable {
                file: file.into(),
                source,
            })?;
        let assembled = assemble(isa.unwrap_or(DEFAULT_ISA), &text).map_err(|error| {
            LabError::NotAssembled {
                file: file.to_owned(),
                line: error.line,
                column: error.column,
                message: error.message.into(),
            }
        })?;
        let image = ProgramImage::parse(&assembled.file, file)?;
        Ok(Program::of_image(file, Arc::new(image)).called(arguments, guest))
    }

    /// The program with more arguments, and what a guest gets from outside.
    fn called(mut self, arguments: &[String], guest: &GuestOptions) -> Program {
        let mut args = std::mem::take(&mut self.process.args);
        args.extend_from_slice(arguments);
        self.with(guest.process_config(args))
    }
}

/// The error for a name that no program has, with the folders of the root that were searched, if there is one.
fn not_found(error: LabError, name: &str, guest: &GuestOptions) -> LabError {
    match guest.files {
        Files::Under { .. } => {
            Program::not_on_path(&guest.process_config(vec![name.to_owned()])).unwrap_or(error)
        }
        _ => error,
    }
}

/// The program of a name in the guest's root, if that has one. A relative path is first one of the host.
fn of_root(
    name: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> Result<Option<Program>, LabError> {
    let Files::Under { root, .. } = &guest.files else {
        return Ok(None);
    };
    let is_path = name.contains('/');
    let is_relative = is_path && !name.starts_with('/');
    let is_hosts = is_path && root.canonicalize().is_ok_and(|root| root == Path::new("/"));
    if is_hosts || is_relative && Path::new(name).exists() {
        return Ok(None);
    }
    let args = [&[name.to_owned()], arguments].concat();
    let found = Program::under_root(guest.process_config(args), isa)?;
    if found.is_none() && is_path && !Path::new(name).exists() {
        return Err(LabError::NotUnderRoot {
            name: name.to_owned(),
            root: root.clone(),
        });
    }
    Ok(found)
}

/// The program of the suite with this name, if it has been built.
fn of_suite(
    name: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> Result<Option<Program>, LabError> {
    let size = match arguments {
        [size] if *size == Size::Large.arg() => Size::Large,
        _ => Size::Small,
    };
    let isa = isa.unwrap_or(DEFAULT_ISA).name();
    let built = suite::built(&suite::default_folder(), size);
    let Some(built) = built.iter().find(|b| b.name == name && b.isa == isa) else {
        return Ok(None);
    };
    let mut program = Program::built(built, size.arg())?;
    let own = std::mem::take(&mut program.process);
    let takes_own = arguments.is_empty() || *arguments == [size.arg()];
    let args = match takes_own {
        true => own.args,
        false => [&own.args[..1], arguments].concat(),
    };
    let mut program = program.with(guest.process_config(args));
    if takes_own {
        (program.process.root, program.process.cwd) = (own.root, own.cwd);
        program.process.stdin = own.stdin;
    }
    Ok(Some(program))
}
