//! Standard input, output and error, and the limit on what a guest may write.

#[cfg(not(target_family = "wasm"))]
use crate::host::sys::fd::AsFd;
use std::io::{self, Read, Write};

#[cfg(not(target_family = "wasm"))]
use crate::host::sys::rustix;
#[cfg(not(target_family = "wasm"))]
use crate::host::sys::rustix::event::{PollFd, PollFlags};

use super::errno::Errno;

/// Where a guest's standard input comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// The host process's own.
    Inherit,
    /// At its end from the start.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// Where a guest's standard output or error goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// To the host process's own, byte for byte.
    Inherit,
    /// Into memory, for [`Linux::captured_stdout`](super::Linux::captured_stdout) or
    /// [`Linux::captured_stderr`](super::Linux::captured_stderr).
    Capture,
    /// Nowhere.
    #[default]
    Discard,
}

/// One of the output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Stdout,
    Stderr,
}

/// The standard streams.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    pub(super) input: Stdin,
    input_position: usize,
    pub(super) modes: [Output; 2],
    captured: [Vec<u8>; 2],
}

impl Streams {
    pub(super) fn new(input: Stdin, stdout: Output, stderr: Output) -> Streams {
        Streams {
            input,
            input_position: 0,
            modes: [stdout, stderr],
            captured: [Vec::new(), Vec::new()],
        }
    }

    /// Streams of which nothing comes and nothing goes anywhere.
    pub(super) fn closed() -> Streams {
        Streams::new(Stdin::Empty, Output::Discard, Output::Discard)
    }

    /// Streams with this input, unless it is the host's; what is written goes nowhere.
    pub(super) fn shadow(&self) -> Streams {
        let input = match &self.input {
            Stdin::Inherit => Stdin::Empty,
            own => own.clone(),
        };
        Streams {
            input_position: self.input_position,
            ..Streams::new(input, Output::Discard, Output::Discard)
        }
    }

    pub(super) fn captured(&self, which: Which) -> &[u8] {
        &self.captured[which as usize]
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match &self.input {
            Stdin::Inherit => retry(|| io::stdin().lock().read(buffer)),
            Stdin::Empty => Ok(0),
            Stdin::Bytes(bytes) => {
                let rest = &bytes[self.input_position..];
                let len = rest.len().min(buffer.len());
                buffer[..len].copy_from_slice(&rest[..len]);
                self.input_position += len;
                Ok(len)
            }
        }
    }

    pub(super) fn write(&mut self, which: Which, bytes: &[u8]) -> Result<usize, Errno> {
        match (self.modes[which as usize], which) {
            (Output::Discard, _) => Ok(bytes.len()),
            (Output::Capture, _) => {
                self.captured[which as usize].extend_from_slice(bytes);
                Ok(bytes.len())
            }
            (Output::Inherit, Which::Stdout) => pass_on(io::stdout().lock(), bytes),
            (Output::Inherit, Which::Stderr) => pass_on(io::stderr().lock(), bytes),
        }
    }
}

/// Writes as much as the host takes, so that the guest learns at once of a full disk or a closed pipe.
/// Whatever the lab itself has written goes first; the guest's bytes pass no buffer, in which the host's
/// refusal would leave them.
#[cfg(not(target_family = "wasm"))]
fn pass_on(mut stream: impl Write + AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    stream.flush()?;
    retry(|| match rustix::io::write(&stream, bytes) {
        Err(rustix::io::Errno::AGAIN) => {
            wait_for_room(&stream)?;
            Err(io::ErrorKind::Interrupted.into())
        }
        result => Ok(result?),
    })
}

/// Without an operating system there is nobody who would read it.
#[cfg(target_family = "wasm")]
fn pass_on(_stream: impl Write, _bytes: &[u8]) -> Result<usize, Errno> {
    Err(Errno::EIO)
}

/// Waits for a stream that somebody else has made one that does not wait.
#[cfg(not(target_family = "wasm"))]
fn wait_for_room(stream: &impl AsFd) -> io::Result<()> {
    let mut wanted = [PollFd::new(stream, PollFlags::OUT)];
    rustix::event::poll(&mut wanted, None)?;
    Ok(())
}

/// Repeats what a signal of the host interrupted.
pub(super) fn retry<T>(mut f: impl FnMut() -> io::Result<T>) -> Result<T, Errno> {
    loop {
        match f() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map_err(Errno::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn failing_writes_of_the_host_reach_the_guest() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(pass_on(full, b"text"), Err(Errno::ENOSPC));
        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(pass_on(writer.try_clone().unwrap(), b"text"), Ok(4));
        drop(reader);
        assert_eq!(pass_on(writer, b"text"), Err(Errno::EPIPE));
    }

    #[test]
    fn a_stream_that_does_not_wait_takes_what_it_has_room_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let much = vec![7; 1 << 20];
        let first = pass_on(writer.try_clone().unwrap(), &much).unwrap();
        assert!(first > 0 && first < much.len(), "{first}");
        let waiting = std::thread::spawn(move || {
            let mut taken = vec![0; first];
            reader.read_exact(&mut taken).unwrap();
            reader
        });
        assert!(pass_on(writer, &much[first..]).unwrap() > 0);
        drop(waiting.join().unwrap());
    }

    #[test]
    fn interrupted_calls_are_repeated() {
        let mut left = 3;
        let result = retry(|| {
            left -= 1;
            if left > 0 {
                Err(io::Error::from(io::ErrorKind::Interrupted))
            } else {
                Ok(left)
            }
        });
        assert_eq!(result, Ok(0));
    }
}
