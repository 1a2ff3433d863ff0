//! `hps teach`: the page with the simulator inside, and a program of the user's choice; or the page alone, and the
//! simulator and the program in this process ([`serve`]).

mod serve;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use hps_lab::{DEFAULT_ISA, Files, GuestOptions, Isa, Program, host};
use hps_pipeline::config::MachineConfig;
use hps_system::image::ProgramImage;
use hps_system::os::{Output, Stdin};
use hps_teach::PAGE;
use hps_teach::protocol::{Limits, Problem, ProgramChoice, Setup};

use super::analyze::is_assembly;
use crate::cli::TeachArgs;
use crate::program;
use crate::text::print;

/// Element of the page that holds its first program, as JSON.
const START: &str = r#"<script type="application/json" id="start">null</script>"#;

/// Element of the page that holds the token of its requests to the server, as JSON.
const SERVER: &str = r#"<script type="application/json" id="server">null</script>"#;

/// Instructions that the page runs at first.
const LIMIT: u64 = 20_000;

/// Writes the page and opens it, or serves it.
pub fn teach(args: &TeachArgs) -> anyhow::Result<u8> {
    if let Some(port) = args.serve {
        let (choice, program) = served(args)?;
        return serve::serve(port, program, |token| page(args, choice, Some(token)));
    }
    let choice = match args.command.split_first() {
        Some((name, arguments)) => Some(choice(name, arguments, args)?),
        None => None,
    };
    let page = page(args, choice, None)?;
    let file = &args.out;
    std::fs::write(file, &page)
        .with_context(|| format!("{}: cannot be written", file.display()))?;
    print(&format!("{}\n", file.display()))?;
    if !args.no_open && !open(file) {
        say!(
            "hps: no program was found that opens it; open {} in a browser",
            file.display()
        );
    }
    Ok(0)
}

/// The page that begins with a program. `token`: what it shows when it asks the server that it came from.
fn page(
    args: &TeachArgs,
    program: Option<ProgramChoice>,
    token: Option<&str>,
) -> anyhow::Result<String> {
    MachineConfig::preset(&args.machine)?;
    let mut page = PAGE.to_string();
    if let Some(program) = program {
        // A program of the project takes its first argument as its size.
        let given = args.command.get(1..).unwrap_or_default();
        let arguments = match program {
            ProgramChoice::BuiltIn { .. } => Vec::new(),
            _ => given.to_vec(),
        };
        let setup = Setup {
            program,
            arguments,
            input: String::new(),
            machine: args.machine.clone(),
            keys: Default::default(),
            productions: Vec::new(),
            params: Default::default(),
            limit: LIMIT,
            edits: Vec::new(),
        };
        put(&mut page, START, &serde_json::to_string(&setup)?)?;
    }
    if let Some(token) = token {
        put(&mut page, SERVER, &serde_json::to_string(token)?)?;
    }
    Ok(page)
}

/// Puts JSON into an element of the page that holds `null`.
fn put(page: &mut String, element: &str, json: &str) -> anyhow::Result<()> {
    if !page.contains(element) {
        bail!("the page has no place for a program; build it anew by scripts/build-teach-page.sh");
    }
    let filled = element.replace("null", &json.replace("</", "<\\/"));
    *page = page.replacen(element, &filled, 1);
    Ok(())
}

/// The first program of a served page, and the program that the server holds for it: of any size, with the files of the
/// working folder, as under `hps run`.
fn served(args: &TeachArgs) -> anyhow::Result<(Option<ProgramChoice>, Option<Program>)> {
    let Some((name, arguments)) = args.command.split_first() else {
        return Ok((None, None));
    };
    if is_assembly(name) || is_c(name) || is_built_in(name) {
        return Ok((Some(choice(name, arguments, args)?), None));
    }
    let guest = GuestOptions {
        files: Files::WorkingFolder,
        stdin: Stdin::Empty,
        stdout: Output::Discard,
        stderr: Output::Discard,
        ..GuestOptions::default()
    };
    let program = program::find(name, args.isa, arguments, &guest)?;
    let choice = ProgramChoice::Served {
        name: program.name.clone(),
        isa: program.image.isa.name().to_string(),
    };
    Ok((Some(choice), Some(program)))
}

/// Whether a program is given as text in C.
fn is_c(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "c")
}

fn is_built_in(name: &str) -> bool {
    !name.contains('/') && hps_workloads::find(name).is_some()
}

fn choice(name: &str, arguments: &[String], args: &TeachArgs) -> anyhow::Result<ProgramChoice> {
    let isa = args.isa.unwrap_or(DEFAULT_ISA);
    if is_assembly(name) {
        let text = hps_system::host::read_text(Path::new(name))
            .with_context(|| format!("{name}: the assembly text cannot be read"))?;
        return Ok(ProgramChoice::Assembly {
            isa: isa.name().to_string(),
            text,
            c: None,
        });
    }
    if is_c(name) {
        if isa != Isa::Riscv64 {
            bail!("{name}: a program in C is compiled for riscv64, and not for {isa}");
        }
        let c = hps_system::host::read_text(Path::new(name))
            .with_context(|| format!("{name}: the text in C cannot be read"))?;
        return Ok(ProgramChoice::Assembly {
            isa: isa.name().to_string(),
            text: hps_teach::c::compile(&c).map_err(|problem| in_c(name, &problem))?,
            c: Some(c),
        });
    }
    if is_built_in(name) {
        return Ok(ProgramChoice::BuiltIn {
            name: name.to_string(),
            isa: isa.name().to_string(),
            size: match arguments.first().map(String::as_str) {
                Some("large") => "large",
                _ => "small",
            }
            .to_string(),
        });
    }
    let bytes = hps_system::host::read_file(Path::new(name), Limits::PAGE.file_bytes)
        .with_context(|| {
            format!("{name}: cannot be put into the page; --serve takes larger ones")
        })?;
    // An image that the page could not run is refused here.
    ProgramImage::parse(&bytes, name)?;
    Ok(ProgramChoice::File {
        name: name.to_string(),
        hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// Why a program in C cannot be compiled, with its place.
fn in_c(name: &str, problem: &Problem) -> anyhow::Error {
    let numbers = [problem.line, problem.column].into_iter().flatten();
    let place = numbers.fold(name.to_string(), |place, number| {
        format!("{place}:{number}")
    });
    anyhow!("{place}: {}", problem.message)
}

/// Opens a file in the user's browser, if the host can.
fn open(file: &Path) -> bool {
    host::find(&["xdg-open", "open"]).is_some_and(|program| {
        let quiet = Command::new(program)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        quiet.is_ok_and(|status| status.success())
    })
}
