//! A guest's standard input, read once and replayed in each of its runs.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use hps_system::host;

/// The most bytes of standard input that are kept for replay: 256 MiB.
pub const MAX_STDIN_BYTES: u64 = 256 << 20;

/// Why a guest's standard input cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The host cannot read it.
    #[error("standard input from {from}: cannot be read: {cause}")]
    Read {
        /// Name of the input's source.
        from: String,
        /// The host's error.
        cause: std::io::Error,
    },
    /// The input has not ended in time.
    #[error(
        "standard input has not ended within the limit of {} seconds; end it with `</dev/null`, or raise --time-limit",
        .0.as_secs_f64()
    )]
    Late(Duration),
    /// The input is longer than [`MAX_STDIN_BYTES`].
    #[error(
        "standard input from {from}: more than {} MiB, which is the most that is kept to be read again in each run; \
         put it into a folder and give the program that as --root",
        MAX_STDIN_BYTES >> 20
    )]
    TooLong {
        /// Name of the input's source.
        from: String,
    },
}

/// Reads a file.
///
/// # Errors
/// The file cannot be read, or is longer than [`MAX_STDIN_BYTES`].
pub fn read_file(path: &Path) -> Result<Vec<u8>, InputError> {
    let from = path.display().to_string();
    match File::open(path) {
        Ok(file) => read(file, &from, MAX_STDIN_BYTES),
        Err(cause) => Err(InputError::Read { from, cause }),
    }
}

/// Reads to the end, but at most `limit` bytes. `from` names the source in messages.
///
/// # Errors
/// The source cannot be read, or is longer than `limit`.
pub fn read(source: impl Read, from: &str, limit: u64) -> Result<Vec<u8>, InputError> {
    host::read_to_end(source, limit).map_err(|cause| {
        let from = from.to_string();
        match cause.kind() {
            ErrorKind::FileTooLarge => InputError::TooLong { from },
            _ => InputError::Read { from, cause },
        }
    })
}

/// Reads the standard input of the host to its end, for which a silent writer may let a run wait until its limit on
/// time.
///
/// # Errors
/// Standard input cannot be read, is longer than [`MAX_STDIN_BYTES`], or has not ended in `time`.
pub fn read_host(time: Option<Duration>) -> Result<Vec<u8>, InputError> {
    let whole = || read(std::io::stdin().lock(), "the host", MAX_STDIN_BYTES);
    let Some(time) = time else {
        return whole();
    };
    let (done, ended) = mpsc::channel();
    // The thread is left alone if the limit ends first.
    std::thread::spawn(move || done.send(whole()));
    ended
        .recv_timeout(time)
        .unwrap_or(Err(InputError::Late(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_that_never_ends_is_refused() {
        assert_eq!(
            read(&b"four"[..], "a pipe", 4).expect("short enough"),
            b"four"
        );
        let error = read(std::io::repeat(0), "a pipe", 4).expect_err("too long");
        assert!(
            error
                .to_string()
                .contains("standard input from a pipe: more than 256 MiB")
        );
        let error = read_file(Path::new("/no/such/file")).expect_err("not there");
        assert!(error.to_string().contains("/no/such/file"));
    }
}
