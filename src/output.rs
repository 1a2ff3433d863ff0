//! Files that options name for what a command writes.
//!
//! A slip of the pen names a program where a result was meant. So nothing replaces a file that the lab did not write,
//! unless `--force` says so. Options have the types [`OutFile`], [`OutFolder`], [`ExportArg`] and [`ImageArg`], and
//! [`check`] finds them in the description of the command: before anything runs, and for options to come too.

use std::any::TypeId;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::builder::{MapValueParser, PathBufValueParser, TypedValueParser, ValueParserFactory};
use clap::{ArgMatches, Command};
use hps_lab::Isa;
use hps_profile::formats::{self, Format};

use crate::cli;
use crate::export::Export;

macro_rules! path_argument {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name(PathBuf);

        impl Deref for $name {
            type Target = Path;
            fn deref(&self) -> &Path {
                &self.0
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                &self.0
            }
        }

        impl ValueParserFactory for $name {
            type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> $name>;
            fn value_parser() -> Self::Parser {
                PathBufValueParser::new().map($name)
            }
        }
    };
}

path_argument! {
    /// A file that the command writes.
    OutFile
}
path_argument! {
    /// A folder that the command writes files into, whose names it chooses.
    OutFolder
}

/// `FORMAT:FILE` or `FILE`, of a profile in another tool's format.
#[derive(Clone, Debug)]
pub struct ExportArg(pub String);

/// `NAME=FILE`, of the image of a program of the project.
#[derive(Clone, Debug)]
pub struct ImageArg(pub String);

impl From<String> for ExportArg {
    fn from(text: String) -> Self {
        ExportArg(text)
    }
}

impl From<String> for ImageArg {
    fn from(text: String) -> Self {
        ImageArg(text)
    }
}

/// Refuses output options of a command that name what the lab did not write.
pub fn check(command: &Command, matches: &ArgMatches) -> anyhow::Result<()> {
    let (command, matches) = cli::chosen(command, matches);
    for arg in command.get_arguments() {
        let (id, kind) = (arg.get_id().as_str(), arg.get_value_parser().type_id());
        if kind == TypeId::of::<OutFile>() {
            for file in matches.get_many::<OutFile>(id).into_iter().flatten() {
                check_file(file, None)?;
            }
        } else if kind == TypeId::of::<OutFolder>() {
            for folder in matches.get_many::<OutFolder>(id).into_iter().flatten() {
                check_folder(folder)?;
            }
        } else if kind == TypeId::of::<ExportArg>() {
            for text in matches.get_many::<ExportArg>(id).into_iter().flatten() {
                // An export that does not parse is refused by the command, which lists the formats.
                if let Ok(export) = Export::parse(&text.0) {
                    check_file(export.path(), Some(export.format()))?;
                }
            }
        } else if kind == TypeId::of::<ImageArg>() {
            for text in matches.get_many::<ImageArg>(id).into_iter().flatten() {
                if let Some((_, file)) = text.0.split_once('=') {
                    check_image(Path::new(file))?;
                }
            }
        }
    }
    Ok(())
}

/// Bytes at each end of a file by which it is recognised.
const ENDS: usize = 64 << 10;

/// Refuses a file that the lab did not write. Devices and pipes pass: writing to them loses no data.
fn check_file(path: &Path, format: Option<Format>) -> anyhow::Result<()> {
    let Ok(about) = std::fs::metadata(path) else {
        return Ok(());
    };
    if !about.is_file() || about.len() == 0 {
        return Ok(());
    }
    // A file that cannot be read cannot be recognised.
    let bytes = ends(path).unwrap_or_default();
    let is_program = bytes.starts_with(b"\x7fELF")
        || bytes.starts_with(b"#!")
        || about.permissions().mode() & 0o111 != 0;
    match is_program || !is_of_lab(path, &bytes, format) {
        true => Err(refusal(path, is_program)),
        false => Ok(()),
    }
}

fn refusal(path: &Path, is_program: bool) -> anyhow::Error {
    let what = if is_program {
        "a program"
    } else {
        "a file that hps did not write"
    };
    anyhow::anyhow!(
        "{} is {what} and would be overwritten; name another file, or add --force",
        path.display()
    )
}

/// The first and the last bytes of a file.
fn ends(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(ENDS as u64).read_to_end(&mut bytes)?;
    let length = file.seek(SeekFrom::End(0))?;
    let rest = length.saturating_sub(ENDS as u64).min(ENDS as u64);
    file.seek(SeekFrom::Start(length - rest))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Texts that files of the lab contain. Other files that a user may name as output do not contain them.
const MARKS: [&str; 18] = [
    // JSON documents and stores.
    "\"format\":\"hps-",
    "\"members_exact\":",
    ",\"crc32\":\"",
    // Files for other tools: their exporter, or the origin of the profile.
    "\"exporter\":\"hps ",
    "\"importedFrom\":\"hps ",
    "hps version: ",
    // Pages and drawings.
    "<meta name=\"generator\" content=\"HPS Lab\">",
    "<title>HPS Lab: a lesson</title>",
    "\"samplers\":",
    "font-family=\"monospace\" font-size=\"11\">\n<title>",
    " {\n  node [shape=box, style=filled, fontname=monospace, fontsize=9];\n",
    // Man pages.
    ".TH hps",
    // Pipeline logs.
    "Kanata\t0004\n",
    "   address     issue pipe  head  instruction\n",
    // Tables as Parquet, and their schemas.
    "hps.schema_version",
    "\"title\":\"hps-",
    // Raw samples, and files of databases.
    "HPSSMPL1",
    "HPSDCPI",
];

/// First words of tables.
const TABLES: [&str; 9] = [
    "id,version,program,",
    "id,version,study,",
    "machine_id,machine,",
    "isa,machine,profiler,",
    "isa,claim,paper,",
    "program,isa,profile,",
    "program,name,object,",
    "program,pc,disepc,",
    "program,kind,member,",
];

/// Whether the lab wrote a file that begins and ends so.
fn is_of_lab(path: &Path, bytes: &[u8], format: Option<Format>) -> bool {
    // JSON with and without blanks behind its colons.
    let text = String::from_utf8_lossy(bytes).replace("\": ", "\":");
    let has = |mark: &str| text.contains(mark);
    let is_marked = MARKS.iter().any(|mark| has(mark))
        || TABLES.iter().any(|words| text.starts_with(words))
        || (has("\"program_hash\":") && has("\"core_driven_by\":"));
    let is_format = || match format {
        Some(Format::Pprof) => File::open(path).is_ok_and(formats::is_pprof_of_lab),
        // Folded stacks and LLVM's samples have no place for their writer: every line must have their form.
        Some(Format::Folded) => lines(&text).all(is_folded),
        Some(Format::LlvmSamples) => lines(&text).all(is_llvm_sample),
        _ => false,
    };
    is_marked || is_format()
}

/// The lines that are whole for sure: of a long file, the ones at its beginning.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.get(..ENDS.min(text.len())).unwrap_or_default();
    let end = whole.rfind('\n').unwrap_or(0);
    whole[..end].lines()
}

/// `main;run 12`
fn is_folded(line: &str) -> bool {
    let parts = line.rsplit_once(' ');
    parts.is_some_and(|(stack, value)| !stack.is_empty() && value.parse::<u64>().is_ok())
}

/// `main:12:0` or a line of its body, ` 3: 17`.
fn is_llvm_sample(line: &str) -> bool {
    let body = line.trim_start();
    match body.split_once(':') {
        Some((_, rest)) if body.len() < line.len() => !rest.is_empty(),
        Some((_, rest)) => rest.split(':').all(|number| number.parse::<u64>().is_ok()),
        None => false,
    }
}

/// Names of what commands write into folders.
const NAMES: [&str; 22] = [
    "report.html",
    "results.csv",
    "machines.csv",
    "measurements.csv",
    "figure7.csv",
    "claims.csv",
    "board.csv",
    "results.jsonl",
    "units.jsonl",
    "plan.jsonl",
    "instruction.json",
    "block.json",
    "line.json",
    "function.json",
    "context.json",
    "event_stack.json",
    "time_slice.json",
    "path.json",
    "edge.json",
    "call_pair.json",
    "value.json",
    "hps.1",
];

/// Refuses a folder in which a file that the lab did not write has a name that the lab would use.
fn check_folder(folder: &Path) -> anyhow::Result<()> {
    for name in NAMES {
        check_file(&folder.join(name), None)?;
    }
    if folder.is_file() {
        bail!("{} is a file, and a folder is wanted", folder.display());
    }
    Ok(())
}

/// Refuses a file that is not an image of a program of the project.
fn check_image(path: &Path) -> anyhow::Result<()> {
    let Ok(about) = std::fs::metadata(path) else {
        return Ok(());
    };
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut images = hps_workloads::all()
        .iter()
        .flat_map(|w| Isa::ALL.map(|isa| w.image(isa.name())));
    match !about.is_file() || about.len() == 0 || images.any(|image| image == Some(&bytes[..])) {
        true => Ok(()),
        false => Err(refusal(path, bytes.starts_with(b"\x7fELF"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    /// Options and arguments that name what a command reads, by the words of the command and their names.
    const INPUTS: [&str; 19] = [
        "records",
        "from_checkpoint",
        "regions",
        "root",
        "stdin",
        "spec",
        "suite",
        "compare",
        "from",
        "copy",
        "costs",
        "samples",
        "native",
        "programs folder",
        "root show folder",
        "root check folder",
        "lock",
        "db",
        "results",
    ];

    /// Folders that the command checks itself: nothing is overwritten there.
    const FREE: [&str; 7] = [
        "run scratch",
        "run checkpoints",
        "run slices_in",
        "profile slices_in",
        "run regions_out",
        "profile regions_out",
        "root make folder",
    ];

    /// For commands with outputs, words that they need beside these.
    const WORDS: [(&str, &[&str]); 36] = [
        ("sweep", &[]),
        ("reproduce", &["hps-2005"]),
        ("cluster merge", &["", "from"]),
        ("cluster slurm", &["sweep"]),
        ("run", &["--machine", "hps-4wide", "bwt"]),
        ("teach", &[]),
        ("profile", &["bwt"]),
        ("collect", &["bwt"]),
        ("analyze", &["bwt"]),
        ("leaderboard", &[]),
        ("dcpi collect", &["bwt"]),
        ("dcpi report", &[]),
        ("programs", &[]),
        ("programs build", &[]),
        ("root show", &["trixie"]),
        ("dev bench", &[]),
        ("validate", &[]),
        ("shadow simulate", &["bwt"]),
        ("shadow run", &["./a.out"]),
        ("shadow attach", &["1"]),
        ("shim run", &["--ring", "64", "--", "./a.out"]),
        ("shim attach", &["--ring", "64", "1"]),
        ("shim simulate", &["bwt"]),
        ("shim overhead", &[]),
        ("shim microbench", &[]),
        ("shim analyze", &["samples"]),
        ("dev man", &[]),
        ("dev schemas", &[]),
        ("results convert", &["results.jsonl"]),
        ("doctor", &[]),
        ("machine show", &[]),
        ("machine check", &["ev6"]),
        ("machine keys", &[]),
        ("dise check", &["hot_method"]),
        ("dise explain", &["hot_method"]),
        ("dise list", &[]),
    ];

    /// Every command that has no commands itself, with its words.
    fn leaves(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands() {
            let words = format!("{words} {}", inner.get_name());
            leaves(inner, &words, found);
        }
        if command.get_arguments().next().is_some() && !words.is_empty() {
            found.push((words.trim().to_string(), command.clone()));
        }
    }

    fn all() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        found
    }

    fn is_output(arg: &clap::Arg) -> bool {
        let kind = arg.get_value_parser().type_id();
        kind == TypeId::of::<OutFile>()
            || kind == TypeId::of::<OutFolder>()
            || kind == TypeId::of::<ExportArg>()
            || kind == TypeId::of::<ImageArg>()
    }

    #[test]
    fn every_path_is_known_as_an_input_or_checked_as_an_output() {
        for (words, command) in all() {
            for arg in command.get_arguments() {
                let id = arg.get_id().as_str();
                let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
                let named = format!("{words} {id}");
                let is_known =
                    INPUTS.contains(&id) || INPUTS.contains(&&*named) || FREE.contains(&&*named);
                assert!(
                    !is_path || is_known,
                    "hps {words}: {id} is a path: give it a type of this module"
                );
                let names = arg.get_value_names().unwrap_or_default();
                let is_file = names.iter().any(|name| {
                    name.starts_with("FILE.") || name.ends_with("=FILE") || name.ends_with("]FILE")
                });
                let is_read = is_known && is_path;
                assert!(
                    !is_file || is_read || is_output(arg),
                    "hps {words}: {id} names a file"
                );
            }
        }
    }

    #[test]
    fn no_output_option_overwrites_what_the_lab_did_not_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(at("results")).expect("made");
        let victims: [(&str, &[u8]); 3] = [
            ("wc", b"\x7fELF\x02\x01\x01"),
            (
                "notes.json",
                b"{\"version\": \"1.0.0\", \"machine\": \"hps-4wide\"}\n",
            ),
            ("thesis", b"A text; 12\nof mine\n"),
        ];
        for (name, bytes) in victims {
            std::fs::write(at(name), bytes).expect("written");
        }
        std::fs::write(at("script"), "").expect("written");
        let description = Cli::command();
        let mut checked = 0;
        for (words, command) in all() {
            for arg in command.get_arguments() {
                let kind = arg.get_value_parser().type_id();
                if !is_output(arg) {
                    continue;
                }
                let row = WORDS.iter().find(|(known, _)| *known == words);
                let (_, needs) = row
                    .unwrap_or_else(|| panic!("hps {words} has outputs and no words in this test"));
                let refused = |value: &str| {
                    let mut line: Vec<String> = vec!["hps".into()];
                    line.extend(words.split(' ').map(String::from));
                    if let Some(long) = arg.get_long() {
                        line.push(format!("--{long}={value}"));
                        line.extend(
                            needs
                                .iter()
                                .filter(|w| !w.is_empty())
                                .map(ToString::to_string),
                        );
                    } else {
                        line.push(value.to_string());
                        line.extend(
                            needs
                                .iter()
                                .filter(|w| !w.is_empty())
                                .map(ToString::to_string),
                        );
                    }
                    let matches = description.clone().try_get_matches_from(&line);
                    let matches = matches.unwrap_or_else(|e| panic!("{line:?}: {e}"));
                    check(&description, &matches).err().map(|e| e.to_string())
                };
                let value = |path: &str| match () {
                    () if kind == TypeId::of::<ExportArg>() => format!("folded:{path}"),
                    () if kind == TypeId::of::<ImageArg>() => format!("bwt={path}"),
                    () => path.to_string(),
                };
                for (victim, bytes) in victims {
                    let path = match kind == TypeId::of::<OutFolder>() {
                        true => {
                            let inside = format!("{}/report.html", at("results"));
                            std::fs::write(&inside, bytes).expect("written");
                            at("results")
                        }
                        false => at(victim),
                    };
                    let said =
                        refused(&value(&path)).unwrap_or_else(|| panic!("{words} {arg}: {victim}"));
                    assert!(said.contains("--force") && !said.contains('\n'), "{said}");
                }
                std::fs::remove_file(format!("{}/report.html", at("results"))).ok();
                let free = if kind == TypeId::of::<OutFolder>() {
                    at("results")
                } else {
                    at("script")
                };
                assert_eq!(refused(&value(&free)), None, "{words} {arg}");
                assert_eq!(refused(&value(&at("new"))), None, "{words} {arg}");
                checked += 1;
            }
        }
        assert!(checked >= 30, "{checked}");
    }
}
