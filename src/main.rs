//! The `hps` command: a laboratory for profilers.
#![deny(clippy::print_stderr)] // `say!` never panics

/// Writes a message to standard error, harmless to a terminal ([`text::harmless`]). If that fails (a full disk, a closed
/// pipe), the run goes on, since its results matter more than the message.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let message = format!($($text)*);
        let _ = writeln!(std::io::stderr().lock(), "{}", crate::text::harmless(&message));
    }};
}

mod cli;
mod commands;
mod document;
mod examples;
mod export;
mod listing;
mod output;
mod productions;
mod program;
mod progress;
mod saved;
mod slices;
mod text;

use std::process::ExitCode;

use clap::FromArgMatches;
use hps_lab::host;

/// Bytes of stack for all that a command does, whatever the host's limit for its first thread is.
const STACK_BYTES: usize = 64 << 20;

fn main() -> ExitCode {
    let command = std::thread::Builder::new()
        .name("hps".into())
        .stack_size(STACK_BYTES)
        .spawn(command);
    match command.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // The panic has been reported where it happened.
        Ok(Err(_)) => ExitCode::from(101),
        Err(cause) => {
            say!("hps: error: no thread can be started: {cause}");
            ExitCode::from(2)
        }
    }
}

fn command() -> ExitCode {
    let description = cli::help::description();
    let renewed = cli::old::renew(&description, std::env::args_os().collect());
    if let Some(hint) = renewed.hint() {
        say!("hps: hint: {hint}");
    }
    let matches = description.clone().try_get_matches_from(renewed.words);
    let matches = matches.unwrap_or_else(|error| {
        if error.kind() == clap::error::ErrorKind::InvalidUtf8
            && let Some(word) = std::env::args_os().find(|word| word.to_str().is_none())
        {
            say!(
                "hps: error: {}: the bytes of this name are not UTF-8, which all names and arguments have to be; rename the \
                 file, or make a link to it",
                word.display()
            );
            std::process::exit(2);
        }
        error.exit()
    });
    let cli = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if std::env::args_os().all(|word| word != "--") {
        for option in cli::strays(&description, &matches) {
            say!(
                "hps: warning: {option} behind the program is an argument of the program; options of hps come before it, and \
                 `--` before the program says that this is meant"
            );
        }
    }
    let checked = match cli.force {
        true => Ok(()),
        false => output::check(&description, &matches),
    };
    match checked.and_then(|()| commands::dispatch(cli)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            say!("hps: error: {}", hps_lab::message(error.as_ref()));
            ExitCode::from(2)
        }
    }
}

/// The reader of our output has gone (`hps … | head`): not an error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn causes_are_said_once() {
        let cause = || std::io::Error::other("disk on fire");
        let said = anyhow::Error::new(cause()).context("x.ron: cannot be read: disk on fire");
        assert_eq!(
            hps_lab::message(said.as_ref()),
            "x.ron: cannot be read: disk on fire"
        );
        let unsaid = anyhow::Error::new(cause()).context("x.ron: cannot be read");
        assert_eq!(
            hps_lab::message(unsaid.as_ref()),
            "x.ron: cannot be read: disk on fire"
        );
    }
}
