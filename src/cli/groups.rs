//! Groups of options that several commands share: one name and one meaning each.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use hps_experiments::VERSION;
use hps_frames::{Format, Frame};
use hps_system::image::Isa;
use serde::Serialize;

use super::{GuestArgs, isa};
use crate::output::OutFile;
use crate::text;

/// The value of `--json` without a file: standard output.
const STANDARD_OUTPUT: &str = "-";

/// Results as JSON.
#[derive(Debug, Args, Clone, Default)]
pub struct JsonArgs {
    /// Print results as JSON in place of text, or write them as JSON to this file beside the text
    #[arg(
        long,
        value_name = "FILE.json",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = STANDARD_OUTPUT
    )]
    pub json: Option<OutFile>,
}

impl JsonArgs {
    /// Whether standard output is for JSON, and for no text.
    pub fn is_printed(&self) -> bool {
        self.json
            .as_deref()
            .is_some_and(|file| file == STANDARD_OUTPUT)
    }

    /// Standard output for text: nothing comes there if it is for JSON.
    pub fn text(&self) -> Box<dyn Write> {
        match self.is_printed() {
            true => Box::new(io::sink()),
            false => Box::new(text::out()),
        }
    }

    /// Prints text where standard output is for text.
    pub fn print_text(&self, text: &str) -> io::Result<()> {
        match self.is_printed() {
            true => Ok(()),
            false => text::print(text),
        }
    }

    /// Passes on what a program printed: where standard output is for JSON, its messages alone.
    pub fn pass_on(&self, stdout: &[u8], stderr: &[u8]) -> io::Result<()> {
        text::pass_on(if self.is_printed() { b"" } else { stdout }, stderr)
    }

    /// Makes the file, if there is to be one: for a command that has long to run before it writes.
    pub fn open(&self) -> anyhow::Result<Json<'_>> {
        let file = self.json.as_deref().filter(|_| !self.is_printed());
        let open = |path: &Path| Part::new(path).with_context(|| refusal(path));
        Ok(Json {
            args: self,
            file: file.map(open).transpose()?,
        })
    }

    /// Writes the results, if they are asked for as JSON.
    pub fn write(&self, results: &impl Serialize) -> anyhow::Result<()> {
        match self.json {
            Some(_) => self.open()?.write(results),
            None => Ok(()),
        }
    }
}

/// Results as JSON: their destination, if they are asked for.
pub struct Json<'a> {
    args: &'a JsonArgs,
    file: Option<Part>,
}

/// A file that gets its name once it is whole: what had the name before stays until then.
pub struct Part {
    file: File,
    /// The name meanwhile, and the one to come; `None` of what is no regular file, such as a pipe.
    names: Option<[PathBuf; 2]>,
}

impl Part {
    /// Makes the file under a name of its own.
    pub fn new(path: &Path) -> io::Result<Part> {
        // The target of a link, so that the link stays.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
            let file = File::create(path)?;
            return Ok(Part { file, names: None });
        }
        let mut part = target.file_name().unwrap_or_default().to_os_string();
        part.push(format!(".{}.part", std::process::id()));
        let part = target.with_file_name(part);
        // A folder may take no new files, and the old one be writable.
        match File::create(&part) {
            Ok(file) => Ok(Part {
                file,
                names: Some([part, target]),
            }),
            Err(_) => Ok(Part {
                file: File::create(path)?,
                names: None,
            }),
        }
    }

    /// Writes the text, and gives the file its name.
    pub fn finish(mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        if let Some([part, target]) = &self.names {
            fs::rename(part, target)?;
        }
        self.names = None;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some([part, _]) = &self.names {
            // Nothing is lost if it stays.
            let _ = fs::remove_file(part);
        }
    }
}

impl Json<'_> {
    /// Writes the results, if they are asked for as JSON.
    pub fn write(self, results: &impl Serialize) -> anyhow::Result<()> {
        let Some(path) = self.args.json.as_deref() else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(results)? + "\n";
        match self.file {
            None => Ok(text::print(&text)?),
            Some(file) => file.finish(&text).with_context(|| refusal(path)),
        }
    }
}

fn refusal(file: &Path) -> String {
    let file = file.display();
    format!("{file}: cannot be written; choose another file with --json=FILE")
}

/// Results as a table in a file.
#[derive(Debug, Args, Clone, Default)]
pub struct TableArgs {
    /// Also write results as a table to this file, in the format that the end of its name says: parquet, csv or json
    #[arg(long, value_name = "FILE.parquet")]
    pub table: Option<OutFile>,
}

impl TableArgs {
    /// Whether a table is asked for.
    pub fn is_given(&self) -> bool {
        self.table.is_some()
    }

    /// Refuses a name that says no format: for a command that has long to run before it writes.
    pub fn check(&self) -> anyhow::Result<()> {
        self.table
            .as_deref()
            .map_or(Ok(()), |file| table_format(file).map(|_| ()))
    }

    /// Writes the table, if it is asked for.
    pub fn write(&self, frame: &Frame) -> anyhow::Result<()> {
        let Some(file) = self.table.as_deref() else {
            return Ok(());
        };
        let bytes = frame.to_bytes(table_format(file)?, VERSION)?;
        let refusal = || format!("{}: cannot be written; choose another file", file.display());
        std::fs::write(file, bytes).with_context(refusal)
    }
}

/// The format of a table that the end of its name says.
pub fn table_format(file: &Path) -> anyhow::Result<Format> {
    let refusal = || {
        format!(
            "{}: the end of the name says no format of a table; let it end in .parquet, .csv or .json",
            file.display()
        )
    };
    Format::of(file).with_context(refusal)
}

/// Threads of a command.
#[derive(Debug, Args, Clone, Copy, Default)]
pub struct JobsArgs {
    /// Threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
}

impl JobsArgs {
    /// Uses so many threads for all parallel work of the command.
    pub fn apply(self) -> anyhow::Result<()> {
        if self.jobs > 0 {
            rayon::ThreadPoolBuilder::new()
                .num_threads(self.jobs)
                .build_global()
                .context("--jobs: the threads could not be started")?;
        }
        Ok(())
    }
}

/// Programs of a study.
#[derive(Debug, Args, Clone, Default)]
pub struct ChosenPrograms {
    /// Only these programs (may be repeated): names of programs that come with the project, or paths of executables of
    /// your own
    #[arg(long, value_name = "NAME|FILE,...")]
    pub program: Vec<String>,
}

impl ChosenPrograms {
    /// The programs, one by one. A path may hold commas.
    pub fn all(&self) -> Vec<String> {
        let parts = self.program.iter().flat_map(|words| match is_path(words) {
            true => vec![words.as_str()],
            false => words.split(',').collect(),
        });
        parts.map(str::to_string).collect()
    }

    /// The names of programs of the project or the suite, and the paths of the user's own.
    pub fn names_and_paths(&self) -> (Vec<String>, Vec<String>) {
        names_and_paths(self.all())
    }

    /// Whether one of them is the user's own.
    pub fn has_own(&self) -> bool {
        self.all().iter().any(|program| is_path(program))
    }

    /// The option as a command line has it.
    pub fn words(&self) -> Vec<String> {
        let all = self.all();
        let word = |program: &String| format!("--program {}", hps_lab::host::shell_word(program));
        all.iter().map(word).collect()
    }
}

/// The names of programs of the project or the suite, and the paths of the user's own.
pub fn names_and_paths(programs: Vec<String>) -> (Vec<String>, Vec<String>) {
    programs.into_iter().partition(|program| !is_path(program))
}

/// Whether a program is named by its path: by a slash, or as a file of this folder that no program of the project is
/// named like.
fn is_path(program: &str) -> bool {
    program.contains('/')
        || (hps_workloads::find(program).is_none() && Path::new(program).is_file())
}

/// The program that a command profiles.
#[derive(Debug, Args)]
pub struct SubjectArgs {
    /// Instruction set: chooses the image of a program that comes with the project (riscv64 if
    /// none is given); a file must be for it
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// The file that the program reads as its standard input, from the beginning in each of its runs; without it a
    /// pipe or a redirected file given to this command, kept in memory (at most 256 MiB)
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Program (a RISC-V or Alpha executable, a dynamic one with --root, or the name of one that comes with the project)
    /// and its arguments; whatever stands behind the program is its own, options too
    #[arg(trailing_var_arg = true, required = true, num_args = 1.., value_names = ["PROG", "ARGS"])]
    pub command: Vec<String>,
}

impl SubjectArgs {
    /// The program.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The arguments of the program.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }
}

/// Reads a time with its unit, such as 50us; gives nanoseconds.
pub fn nanoseconds(text: &str) -> Result<f64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * scale)
    });
    found
        .filter(|time| time.is_finite())
        .ok_or_else(|| "a time is a number with its unit, ns, us, ms or s: 50us".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(nanoseconds("4ms"), Ok(4e6));
        assert_eq!(nanoseconds("0.5ns"), Ok(0.5));
        assert_eq!(nanoseconds("2s"), Ok(2e9));
        for wrong in ["4", "ms", "4 m", "infs", ""] {
            assert!(nanoseconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_separated_by_commas_and_paths_are_whole() {
        let programs = ChosenPrograms {
            program: ["bwt,ray", "./a,b", "lz"].map(String::from).to_vec(),
        };
        let (names, paths) = programs.names_and_paths();
        assert_eq!(names, ["bwt", "ray", "lz"]);
        assert_eq!(paths, ["./a,b"]);
    }

    #[test]
    fn a_file_keeps_what_it_held_until_the_new_text_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("a"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let holds = |text: &str| assert_eq!(fs::read_to_string(&file).expect("there"), text);
        let part = Part::new(&link).expect("a part");
        holds("old");
        // As of a run that fails.
        drop(part);
        holds("old");
        let part = Part::new(&link).expect("a part");
        part.finish("new").expect("written");
        holds("new");
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
        let nothing = Part::new(Path::new("/dev/null")).expect("a device");
        nothing.finish("nothing").expect("written");
        assert!(Part::new(&folder.path().join("none/a")).is_err());
    }
}
