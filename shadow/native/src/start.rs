//! Starts the program and waits for it.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use hps_shim::ShimError;
use hps_shim::preload::in_front_of_others;

use crate::inject::Injected;
use crate::layout::{REGION_VARIABLE, Region};
use crate::trace::trace_me;

/// Of `personality`: addresses are the same in every run.
const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0004_0000;

/// The companion that a program is started with.
#[derive(Clone, Copy)]
pub enum With<'a> {
    /// Nothing: the library may be put into it later.
    Nothing,
    /// The library, which its loader preloads.
    Library(&'a Path, &'a Region),
    /// A tracer, the calling thread, which the program waits for before its first instruction.
    Tracer,
}

/// Starts the program; without its output if that is wanted.
///
/// Addresses are not randomized, as in a debugger, so that profiles of two runs have the same keys; the program alone is
/// started like this as well, so that its time is comparable.
pub fn start(command: &[OsString], with: With<'_>, is_quiet: bool) -> Result<Child, ShimError> {
    let program = command.first().cloned().unwrap_or_default();
    let not_started = |source| ShimError::NotStarted {
        program: program.to_string_lossy().into_owned(),
        source,
    };
    if program.is_empty() {
        return Err(not_started(std::io::Error::other("no program was named")));
    }
    let mut start = Command::new(&program);
    start.args(&command[1..]);
    if let With::Library(library, region) = with {
        start.env("LD_PRELOAD", in_front_of_others(library));
        start.env(REGION_VARIABLE, region.path());
    }
    if is_quiet {
        start.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let is_traced = matches!(with, With::Tracer);
    // SAFETY: calls of the kernel only.
    unsafe {
        start.pre_exec(move || {
            // Refused in some containers; then profiles of two runs have different keys.
            libc::personality(ADDR_NO_RANDOMIZE);
            // Ours may be "ignore", which is inherited.
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            if is_traced { trace_me() } else { Ok(()) }
        });
    }
    let child = start.spawn().map_err(not_started)?;
    if let With::Library(library, _) = with {
        // Beside the library lies which process uses it, for whoever finds the folder after a kill.
        let stat = std::fs::read(format!("/proc/{}/stat", child.id()));
        let _ = stat.and_then(|stat| std::fs::write(library.with_file_name("program"), stat));
    }
    Ok(child)
}

/// How a program ended, in words and as the exit code that a shell gives it.
pub fn ended(status: ExitStatus) -> (String, u8) {
    match (status.code(), status.signal()) {
        (Some(code), _) => (format!("exit code {code}"), code as u8),
        (None, Some(signal)) => {
            let code = 128_u8.wrapping_add(signal as u8);
            (format!("ended by signal {signal}"), code)
        }
        (None, None) => (status.to_string(), 1),
    }
}

/// The monitor's signal, in sets of signals.
const SIGNAL_BIT: u64 = 1 << (libc::SIGURG - 1);

/// Runs a tracer: the kernel ends all that it traces with its thread.
pub fn on_a_thread<T: Send>(trace: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(trace).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Puts the library into a Go program as soon as its runtime has set an action for the monitor's signal.
pub fn inject_behind_runtime(process: i32, library: &Path, region: &Region) -> Result<(), String> {
    let is_set = |status: &str, set: &str| {
        let set = status.lines().find_map(|line| line.strip_prefix(set));
        let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        set.is_some_and(|set| set & SIGNAL_BIT != 0)
    };
    loop {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        // One that has ended, which we have not waited for yet, has no memory.
        match status.ok().filter(|status| status.contains("VmSize:")) {
            None => return Err("it ended before Go's runtime handled SIGURG".to_owned()),
            Some(status) if is_set(&status, "SigCgt:") => break,
            Some(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    let path = region.path();
    on_a_thread(|| Injected::into_process(process, library, &path)).map(|_| ())
}
