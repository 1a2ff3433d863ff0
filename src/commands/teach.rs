//! `hps teach`: the page with the simulator inside, and a program of the user's choice.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use hps_lab::{DEFAULT_ISA, host};
use hps_pipeline::config::MachineConfig;
use hps_sim_core::image::ProgramImage;
use hps_teach::protocol::{ProgramChoice, Setup};

use super::analyze::is_assembly;
use crate::cli::TeachArgs;
use crate::text::print;

/// The page as `scripts/build-teach-page.sh` builds it.
const PAGE: &str = include_str!("../../teach/page.html");

/// What the page begins with lies in this element.
const START: &str = r#"<script type="application/json" id="start">null</script>"#;

/// Instructions that the page runs at first.
const LIMIT: u64 = 20_000;
/// Bytes of a program that fits into the page.
const MOST_BYTES: u64 = 16 << 20;
/// How long a browser may take for its question.
const PATIENCE: Duration = Duration::from_secs(10);

/// Writes the page and opens it, or serves it.
pub fn teach(args: &TeachArgs) -> anyhow::Result<u8> {
    let page = page(args)?;
    if let Some(port) = args.serve {
        return serve(&page, port);
    }
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

/// The page with the program inside.
fn page(args: &TeachArgs) -> anyhow::Result<String> {
    let Some((name, arguments)) = args.command.split_first() else {
        return Ok(PAGE.to_string());
    };
    MachineConfig::preset(&args.machine)?;
    let setup = Setup {
        program: choice(name, arguments, args)?,
        machine: args.machine.clone(),
        keys: Default::default(),
        productions: Vec::new(),
        params: Default::default(),
        limit: LIMIT,
    };
    let setup = serde_json::to_string(&setup)?.replace("</", "<\\/");
    if !PAGE.contains(START) {
        bail!("the page has no place for a program; build it anew by scripts/build-teach-page.sh");
    }
    let start = START.replace("null", &setup);
    Ok(PAGE.replacen(START, &start, 1))
}

fn choice(name: &str, arguments: &[String], args: &TeachArgs) -> anyhow::Result<ProgramChoice> {
    let isa = args.isa.unwrap_or(DEFAULT_ISA);
    if is_assembly(name) {
        let text = hps_sim_core::host::read_text(Path::new(name))
            .with_context(|| format!("{name}: the assembly text cannot be read"))?;
        return Ok(ProgramChoice::Assembly {
            isa: isa.name().to_string(),
            text,
        });
    }
    if !name.contains('/') && hps_workloads::find(name).is_some() {
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
    let bytes = hps_sim_core::host::read_file(Path::new(name), MOST_BYTES)
        .with_context(|| format!("{name}: cannot be put into the page"))?;
    // What the page could not run is said here.
    ProgramImage::parse(&bytes, name)?;
    Ok(ProgramChoice::File {
        name: name.to_string(),
        hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        arguments: arguments.to_vec(),
    })
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

/// Serves the page on the loopback until interrupted.
fn serve(page: &str, port: u16) -> anyhow::Result<u8> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("--serve {port}: this port cannot be used"))?;
    print(&format!("http://{}/\n", listener.local_addr()?))?;
    for stream in listener.incoming() {
        // A browser that goes away is no reason to end.
        let _ = stream.and_then(|stream| answer(stream, page));
    }
    Ok(0)
}

/// Answers one question: the page for `/`.
fn answer(stream: TcpStream, page: &str) -> std::io::Result<()> {
    /// The longest line of a question that is looked at.
    const LONGEST: u64 = 8 << 10;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut question = String::new();
    reader.by_ref().take(LONGEST).read_line(&mut question)?;
    // The rest of the question is read, so that closing does not cut off the answer.
    let mut line = String::new();
    while reader.by_ref().take(LONGEST).read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = question.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match (question.starts_with("GET "), path) {
        (true, "/" | "/index.html") => ("200 OK", page),
        _ => ("404 Not Found", "There is only the page at /.\n"),
    };
    let kind = match status.starts_with("200") {
        true => "text/html",
        false => "text/plain",
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body.as_bytes())
}
