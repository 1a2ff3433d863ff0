//! `hps run --gdb`: a program that gdb steps through, forward and back.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};

use anyhow::{Context as _, ensure};
use hps_dise::DiseEngine;
use hps_isa::editor::NoEditor;
use hps_isa::probe::NoProbe;
use hps_lab::debug::{DebugError, Debugger, Ended, ShownEditor, Told};
use hps_lab::{Functional, FunctionalLoop, Install, Lab, Productions, TimedLoop, TimedMachine};

use super::fault;
use crate::cli::RunArgs;
use crate::text;

/// Exit code of a command whose program was killed: 128 plus SIGKILL.
const KILLED: i32 = 128 + 9;

/// Refuses what does not go with a debugger and has a value of its own where it is not given.
pub fn check(args: &RunArgs) -> anyhow::Result<()> {
    ensure!(
        args.gdb.is_none() || args.guest.time.limit.is_none(),
        "--time-limit does not go with --gdb: the program waits for whoever debugs it"
    );
    Ok(())
}

/// Runs a program under gdb; the result is the exit code of the program.
pub fn run<'a>(
    lab: Lab<'a>,
    (port, program): (&str, &str),
    machine: Option<&'a TimedMachine>,
    productions: Option<&'a Productions>,
) -> anyhow::Result<u8> {
    let listener = listen(port)?;
    let mut debugger = match productions {
        None => opened(lab, machine)?,
        Some(productions) => opened(lab.edited_by(productions), machine)?,
    };
    let at = listener.local_addr().context("--gdb")?;
    // Without a file of the host, gdb reads the program through the connection.
    let file = match std::path::Path::new(program).is_file() {
        true => format!("{} ", hps_lab::host::shell_word(program)),
        false => String::new(),
    };
    say!(
        "hps: waits for gdb: gdb-multiarch {file}-ex 'target remote {}'",
        shown(at)
    );
    let (connection, _) = listener.accept().context("--gdb: no connection")?;
    let end = match debugger.serve(connection)? {
        Ended::Run(end) => end,
        Ended::Killed => return Ok(KILLED as u8),
        Ended::Detached => debugger.run_to_end()?,
    };
    let process = debugger.process();
    fault::say_end(end.stop, process, end.position, None);
    Ok((end.stop.exit_code(process.image.isa) & 0xff) as u8)
}

fn opened<'a, I>(
    lab: Lab<'a, Functional, I>,
    machine: Option<&'a TimedMachine>,
) -> Result<Debugger<'a>, DebugError>
where
    I: Install<Editor: DebuggedLoop + 'a>,
{
    match machine {
        None => lab.debugged(tell),
        Some(machine) => lab.timed_by(machine).debugged(tell),
    }
}

/// An editor whose loops are compiled and whose state is shown.
trait DebuggedLoop: FunctionalLoop<NoProbe> + TimedLoop<NoProbe> + ShownEditor {}

impl DebuggedLoop for NoEditor {}
impl DebuggedLoop for DiseEngine {}

/// Passes on what the program writes. The program does not learn of a stream that is closed.
fn tell(told: Told<'_>) {
    match told {
        Told::Stdout(bytes) => {
            let mut out = text::out();
            _ = out.write_all(bytes).and_then(|()| out.flush());
        }
        Told::Stderr(bytes) => _ = std::io::stderr().write_all(bytes),
        Told::Warning(text) => say!("hps: warning: {text}"),
    }
}

/// Listens on `PORT` of this host alone, or on `HOST:PORT`.
fn listen(port: &str) -> anyhow::Result<TcpListener> {
    let place = match port.contains(':') {
        true => port.trim_start_matches(':').to_owned(),
        false => port.to_owned(),
    };
    let listener = match place.parse::<u16>() {
        Ok(number) => TcpListener::bind(("127.0.0.1", number)),
        Err(_) => TcpListener::bind(&*place),
    };
    listener.with_context(|| {
        format!(
            "--gdb {port}: cannot be listened on; write PORT or HOST:PORT, with 0 for a free port"
        )
    })
}

/// The place as gdb takes it: without the host if that is this one.
fn shown(at: SocketAddr) -> String {
    match at.ip().is_loopback() && at.is_ipv4() {
        true => format!(":{}", at.port()),
        false => at.to_string(),
    }
}
