//! Which program a path leads to: through scripts to a file, and to the loader that a dynamic program asks for (Linux
//! `fs/exec.c`, `fs/binfmt_script.c`, `fs/binfmt_elf.c`).
//!
//! `execve` and the start of a run find programs here. Paths are the guest's, so that nothing outside of the root is found:
//! a symbolic link to somewhere else begins at the root.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fs::File;
use std::sync::Arc;
use std::time::SystemTime;

use super::super::Linux;
use super::super::descriptors::Kind;
use super::super::errno::Errno;
use super::super::file_mappings::identity;
use super::super::paths::{Node, joined};
use super::super::procfs::Located;
use super::super::stat::{S_IFDIR, S_IFIFO, S_IFMT, S_IFREG, mode_of};
use super::super::streams::retry;
use super::super::tree::AT_FDCWD;
use crate::checkpoint::OfFile;
use crate::host::sys::rustix::fs::OFlags;
use crate::host::sys::unix_fs::{FileExt, MetadataExt};
use crate::image::{LoadError, MAX_FILE_BYTES, ProgramImage};
use crate::process::{Given, Loaded};

/// Scripts that one call may lead through.
const MAX_SCRIPTS: u32 = 5;
/// The first line of a script is looked at so far.
const MAX_LINE: usize = 256;
/// Remedy where the loader of a dynamic program is missing.
const LOADER_REMEDY: &str =
    "give it a root folder with the loader and its libraries (--root DIR), or link it with -static";

/// A program that can run.
#[derive(Debug)]
pub(crate) struct FoundProgram {
    /// The program.
    pub image: Arc<ProgramImage>,
    /// The loader that it asks for.
    pub interpreter: Option<Loaded>,
    /// Where its file lies, as the guest sees it.
    pub exe: Vec<u8>,
}

/// Why a path leads to no program that can run.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Error that `execve` returns.
    pub errno: Errno,
    /// The same in words.
    pub problem: String,
    /// Error of the file, if programs of users are usually not like that.
    pub cause: Option<LoadError>,
    /// Something lies at the path, if only a link that leads nowhere.
    is_there: bool,
}

impl From<Errno> for Box<Refused> {
    fn from(errno: Errno) -> Self {
        let problem = match errno {
            Errno::ENOENT => "there is no such file under the root",
            Errno::ELOOP => "its links or its interpreters lead round in a circle, or are too many",
            Errno::EACCES => "it may not be run",
            Errno::ENOTDIR => "its path leads through something that is no folder",
            Errno::ENOEXEC => "it is no program and no script with an interpreter",
            Errno::ENOMEM => "it is larger than the memory of the program (--memory-limit)",
            Errno::E2BIG => "its arguments are too long",
            _ => "it cannot be read",
        };
        let mut refused = Refused::because(errno, problem.to_owned());
        refused.is_there = !matches!(errno, Errno::ENOENT | Errno::ENOTDIR);
        refused
    }
}

impl Refused {
    fn because(errno: Errno, problem: String) -> Box<Refused> {
        Box::new(Refused {
            errno,
            problem,
            cause: None,
            is_there: true,
        })
    }

    fn with(errno: Errno, cause: LoadError) -> Box<Refused> {
        Box::new(Refused {
            errno,
            problem: cause.to_string(),
            cause: Some(cause),
            is_there: true,
        })
    }

    /// The same for the user of a run that cannot begin, about the file at `path`.
    pub(crate) fn at_start(self, path: &[u8]) -> LoadError {
        let file = String::from_utf8_lossy(path).into_owned();
        self.cause.unwrap_or_else(|| LoadError::WrongKind {
            file,
            place: "program".to_owned(),
            problem: self.problem,
            remedy: "name a program or a script that is there, as the program will see it under its root",
        })
    }
}

/// Programs that have been read, those used last first. All stay, since reports tell of those that processes have run.
#[derive(Debug, Default)]
pub(super) struct Images(Vec<(Key, Arc<ProgramImage>)>);

/// Device and number, size, and time of the last change of a file, and what it is read for.
type Key = ((u64, u64), u64, Option<SystemTime>, Wanted);

/// An image as checkpoints keep it.
#[derive(Serialize, Deserialize)]
struct SavedImage {
    file: OfFile,
    size: u64,
    changed: Option<SystemTime>,
    wanted: Wanted,
    #[serde(with = "crate::checkpoint::kept")]
    image: Arc<ProgramImage>,
}

impl Serialize for Images {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self
            .0
            .iter()
            .map(|((file, size, changed, wanted), image)| SavedImage {
                file: OfFile(*file),
                size: *size,
                changed: *changed,
                wanted: *wanted,
                image: Arc::clone(image),
            });
        serializer.collect_seq(all)
    }
}

impl<'de> Deserialize<'de> for Images {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::<SavedImage>::deserialize(deserializer)?.into_iter();
        let all = all.map(|saved| {
            let key = (saved.file.0, saved.size, saved.changed, saved.wanted);
            (key, saved.image)
        });
        Ok(Images(all.collect()))
    }
}

impl Images {
    fn find(&mut self, key: &Key) -> Option<Arc<ProgramImage>> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        self.0[..=at].rotate_right(1);
        Some(Arc::clone(&self.0[0].1))
    }

    fn keep(&mut self, key: Key, image: &Arc<ProgramImage>) {
        self.0.insert(0, (key, Arc::clone(image)));
    }
}

/// How a call names a program.
#[derive(Debug)]
pub(super) enum Named {
    /// By a path from an open folder.
    At(u64, Vec<u8>),
    /// By an open file.
    Open(u64),
}

impl Named {
    /// The path by which the program knows itself.
    pub(super) fn text(&self) -> Vec<u8> {
        match self {
            Named::At(folder, path)
                if *folder as u32 == AT_FDCWD as u32 || path.starts_with(b"/") =>
            {
                path.clone()
            }
            Named::At(folder, path) => {
                let mut text = format!("/dev/fd/{folder}/").into_bytes();
                text.extend(path);
                text
            }
            Named::Open(fd) => format!("/dev/fd/{fd}").into_bytes(),
        }
    }
}

/// File to which a path leads.
enum Found {
    /// A program, and where its file lies.
    Program(Arc<ProgramImage>, Vec<u8>),
    Script {
        interpreter: Vec<u8>,
        argument: Option<Vec<u8>>,
    },
}

/// Purpose for which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Wanted {
    Program,
    Interpreter,
}

/// A file that may be run.
enum Runnable {
    /// An open file, and the path where it lies.
    File(File, Vec<u8>),
    /// The process's own program.
    Own,
}

impl Linux {
    /// The program that a path leads to, through scripts, which change the arguments.
    pub(super) fn program_of(
        &mut self,
        given: &mut Given,
        mut place: Named,
    ) -> Result<FoundProgram, Box<Refused>> {
        for scripts in 0..=MAX_SCRIPTS {
            let found = self.program_at(&place).map_err(|mut refused| {
                if scripts > 0 {
                    let name = place.text();
                    let name = String::from_utf8_lossy(&name);
                    refused.problem = format!("its interpreter {name}: {}", refused.problem);
                }
                refused
            })?;
            match found {
                Found::Program(image, exe) => {
                    return Ok(FoundProgram {
                        interpreter: self.interpreter_of(&image)?,
                        image,
                        exe,
                    });
                }
                Found::Script {
                    interpreter,
                    argument,
                } => {
                    let mut args = vec![interpreter.clone()];
                    args.extend(argument);
                    args.push(place.text());
                    args.extend(given.args.drain(1..));
                    given.args = args;
                    place = Named::At(AT_FDCWD as u64, interpreter);
                }
            }
        }
        Err(Errno::ELOOP.into())
    }

    /// The loader that a program asks for; `None` for a static one.
    pub(crate) fn interpreter_of(
        &mut self,
        image: &ProgramImage,
    ) -> Result<Option<Loaded>, Box<Refused>> {
        let Some(path) = &image.interpreter else {
            return Ok(None);
        };
        let found = match self.tree.root {
            None => Err(Refused::because(
                Errno::ENOENT,
                "but the program sees no files".to_owned(),
            )),
            Some(_) => self.read_interpreter(path, image),
        };
        found.map(Some).map_err(|refused| {
            let shown = String::from_utf8_lossy(path);
            let cause = LoadError::WrongKind {
                file: image.name.clone(),
                place: "program headers, PT_INTERP".to_owned(),
                problem: format!(
                    "a dynamic program that asks for the loader {shown}: {}",
                    refused.problem
                ),
                remedy: LOADER_REMEDY,
            };
            Refused::with(refused.errno, cause)
        })
    }

    fn read_interpreter(&mut self, path: &[u8], of: &ProgramImage) -> Result<Loaded, Box<Refused>> {
        let (file, exe) = match self.runnable_at(AT_FDCWD as u64, path)? {
            Runnable::File(file, exe) => (file, exe),
            Runnable::Own => return Err(Errno::EACCES.into()),
        };
        let key = key_of(&file, Wanted::Interpreter)?;
        let known = self.family.images.find(&key);
        let image = match known {
            Some(image) => image,
            None => {
                // Linux says so of all that is no loader.
                let refuse = |cause: &dyn std::fmt::Display| {
                    Refused::because(Errno::ELIBBAD, cause.to_string())
                };
                let mut start = [0; MAX_LINE];
                let len = retry(|| file.read_at(&mut start, 0))?;
                if !start[..len].starts_with(b"\x7fELF") {
                    return Err(refuse(&"it is no ELF file"));
                }
                let bytes = self.program_bytes(&file, &start[..len])?;
                let bytes = bytes.ok_or_else(|| refuse(&"its headers lead out of the file"))?;
                let name = String::from_utf8_lossy(path);
                let image = ProgramImage::parse_interpreter(&bytes, &name);
                let image = Arc::new(image.map_err(|cause| refuse(&cause))?);
                self.keep_image(key, &image);
                image
            }
        };
        if (image.isa, image.os) != (of.isa, of.os) {
            let problem = format!("it is a program for {}", image.isa);
            return Err(Refused::because(Errno::ELIBBAD, problem));
        }
        Ok(Loaded { image, path: exe })
    }

    fn program_at(&mut self, place: &Named) -> Result<Found, Box<Refused>> {
        let runnable = match place {
            Named::At(folder, path) => self.runnable_at(*folder, path)?,
            Named::Open(fd) => self.runnable_open(*fd)?,
        };
        match runnable {
            Runnable::File(file, exe) => self.program_in(&file, &place.text(), exe),
            Runnable::Own => {
                let started = self.program.started.as_ref().ok_or(Errno::ENOENT)?;
                Ok(Found::Program(
                    Arc::clone(&started.image),
                    self.program.exe.clone(),
                ))
            }
        }
    }

    /// The file that a path leads to, if it may be run.
    fn runnable_at(&mut self, folder: u64, path: &[u8]) -> Result<Runnable, Box<Refused>> {
        let (from, way) = match self.locate(folder, path, true)? {
            Located::Host(from, way) => (from, way),
            Located::Program => return Ok(Runnable::Own),
            Located::Descriptor(fd) => return self.runnable_open(fd),
            _ => {
                let problem = "it is a file that stands for the machine, and no program";
                return Err(Refused::because(Errno::EACCES, problem.to_owned()));
            }
        };
        let place = match self.resolve(from, &way, true) {
            Ok(place) if place.node.is_some() => place,
            Ok(_) | Err(Errno::ENOENT) if self.names_program(folder, path) => {
                return Ok(Runnable::Own);
            }
            Ok(_) | Err(Errno::ENOENT) if self.is_link(from, &way) == Ok(true) => {
                let problem = "its link leads to no file under the root";
                return Err(Refused::because(Errno::ENOENT, problem.to_owned()));
            }
            Ok(_) => return Ok(self.noted(path, Err(Errno::ENOENT))?),
            Err(errno) => return Ok(self.noted(path, Err(errno))?),
        };
        let file = self.open_to_run(place.existing()?)?;
        let exe = self.root()?.path_at(&place.entrance)?.text();
        Ok(Runnable::File(file, exe))
    }

    /// The file of a descriptor, if it may be run.
    fn runnable_open(&mut self, fd: u64) -> Result<Runnable, Box<Refused>> {
        let open = self.files.get(fd)?;
        let exe = match &open.path {
            Some(path) => path.text(),
            None => joined(b"/dev/fd", fd.to_string().as_bytes()),
        };
        let file = match &open.kind {
            Kind::File(file) => file.try_clone().map_err(Errno::from)?,
            Kind::Place(node) => self.open_to_run(&node.clone())?,
            _ => return Err(Errno::EACCES.into()),
        };
        let mode = file.metadata().map_err(Errno::from)?.mode();
        if mode & 0o100 == 0 {
            return Err(Errno::EACCES.into());
        }
        Ok(Runnable::File(file, exe))
    }

    fn open_to_run(&self, node: &Node) -> Result<File, Box<Refused>> {
        let refused = |problem: &str| Err(Refused::because(Errno::EACCES, problem.to_owned()));
        match node.stat.st_mode & S_IFMT {
            S_IFREG => {}
            S_IFDIR => return refused("it is a folder"),
            S_IFIFO => return refused("it is a FIFO"),
            _ => return refused("it is a device or a socket"),
        }
        let mode = mode_of(&node.stat, self.tree.writable);
        if self.credentials.access(mode, self.tree.owner, false) & 1 == 0 {
            return refused("it is not executable (chmod +x)");
        }
        Ok(self.root()?.open(node, OFlags::RDONLY)?)
    }

    /// The bytes of a program's file that are needed of it; `None` if its headers do not say so.
    fn program_bytes(
        &mut self,
        file: &File,
        start: &[u8],
    ) -> Result<Option<Vec<u8>>, Box<Refused>> {
        let len = file.metadata().map_err(Errno::from)?.len();
        let read = |buffer: &mut [u8], at| file.read_exact_at(buffer, at);
        let needed = ProgramImage::needed_bytes(start, len, read);
        let Some(needed) = needed.filter(|needed| *needed <= MAX_FILE_BYTES) else {
            return Ok(None);
        };
        if self.program.started.is_some() {
            // The bytes are there twice for a moment.
            self.check_room(2 * needed, Errno::ENOMEM)?;
        }
        let mut bytes = vec![0; needed as usize];
        let read = file.read_exact_at(&mut bytes, 0);
        read.map_err(|_| Errno::ENOEXEC)?;
        Ok(Some(bytes))
    }

    fn program_in(
        &mut self,
        file: &File,
        path: &[u8],
        exe: Vec<u8>,
    ) -> Result<Found, Box<Refused>> {
        let key = key_of(file, Wanted::Program)?;
        if let Some(image) = self.family.images.find(&key) {
            return Ok(Found::Program(image, exe));
        }
        let mut start = [0; MAX_LINE];
        let len = retry(|| file.read_at(&mut start, 0))?;
        let start = &start[..len];
        if let Some(line) = start.strip_prefix(b"#!") {
            return Ok(script(line)?);
        }
        let name = String::from_utf8_lossy(path).into_owned();
        let is_elf = start.starts_with(b"\x7fELF");
        let Some(bytes) = self.program_bytes(file, start)? else {
            if !is_elf {
                return Err(Errno::ENOEXEC.into());
            }
            let cause = LoadError::Damaged {
                file: name,
                place: "ELF header".to_owned(),
                problem: "its headers lead out of the file, or it is too large".to_owned(),
            };
            return Err(Refused::with(Errno::ENOEXEC, cause));
        };
        let image = ProgramImage::parse(&bytes, &name).map_err(|cause| match is_elf {
            true => Refused::with(Errno::ENOEXEC, cause),
            false => Errno::ENOEXEC.into(),
        })?;
        let own = self
            .program
            .started
            .as_ref()
            .map(|s| (s.image.isa, s.image.os));
        if own.is_some_and(|own| own != (image.isa, image.os)) {
            let cause = LoadError::WrongKind {
                file: name,
                place: "ELF header, e_machine".to_owned(),
                problem: "a program for another instruction set or operating system than that of the process"
                    .to_owned(),
                remedy: "give the processes of a run programs for one instruction set",
            };
            return Err(Refused::with(Errno::ENOEXEC, cause));
        }
        let image = Arc::new(image);
        self.keep_image(key, &image);
        Ok(Found::Program(image, exe))
    }

    /// Keeps a program that has been read. What a run begins with is not the program's memory.
    fn keep_image(&mut self, key: Key, image: &Arc<ProgramImage>) {
        if self.program.started.is_some() {
            self.charge_program(image.held_bytes());
        }
        self.family.images.keep(key, image);
    }

    /// The program that a run begins with, if its root has one of this name: a path, or a name that is looked for in the
    /// folders of `path`. The arguments in `given` become those that the program gets.
    ///
    /// # Errors
    /// The file that is there cannot be run.
    pub(crate) fn first_program(
        &mut self,
        given: &mut Given,
        name: &[u8],
        path: &[u8],
    ) -> Result<Option<FoundProgram>, LoadError> {
        let is_path = name.contains(&b'/');
        let folders: Vec<&[u8]> = match is_path {
            true => vec![b""],
            false => path.split(|byte| *byte == b':').collect(),
        };
        // Of the first file that has the name and cannot be run.
        let mut passed = None;
        for folder in folders {
            let place = match folder {
                b"" => name.to_vec(),
                folder => [folder, b"/", name].concat(),
            };
            let located = self.locate(AT_FDCWD as u64, &place, true);
            if !matches!(located, Ok(Located::Host(..))) {
                // Files that are made up for the program are no programs.
                continue;
            }
            match self.runnable_at(AT_FDCWD as u64, &place) {
                Ok(Runnable::File(..)) => {}
                // A shell goes on looking, too.
                Err(refused) if refused.is_there => {
                    passed = passed.or(Some((refused, place)));
                    continue;
                }
                _ => continue,
            }
            given.file_name.clone_from(&place);
            let named = Named::At(AT_FDCWD as u64, place.clone());
            let found = self.program_of(given, named);
            return found.map(Some).map_err(|refused| refused.at_start(&place));
        }
        passed.map_or(Ok(None), |(refused, place)| Err(refused.at_start(&place)))
    }
}

fn key_of(file: &File, wanted: Wanted) -> Result<Key, Errno> {
    let metadata = file.metadata()?;
    let changed = metadata.modified().ok();
    Ok((identity(file)?, metadata.len(), changed, wanted))
}

/// The interpreter in the first line of a script, behind `#!`, and the rest of the line as one argument.
fn script(line: &[u8]) -> Result<Found, Errno> {
    let line = &line[..line.len().min(MAX_LINE)];
    let end = line.iter().position(|byte| *byte == b'\n');
    let line = line[..end.unwrap_or(line.len())].trim_ascii();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let end = line.iter().position(is_blank).unwrap_or(line.len());
    let (interpreter, argument) = line.split_at(end);
    if interpreter.is_empty() {
        return Err(Errno::ENOEXEC);
    }
    let argument = argument.trim_ascii();
    Ok(Found::Script {
        interpreter: interpreter.to_vec(),
        argument: (!argument.is_empty()).then(|| argument.to_vec()),
    })
}
