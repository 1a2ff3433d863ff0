//! Standard input, output and error, and the limit on what a guest may write.

use std::io::{self, Read, Write};

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

    /// The same to read from, as far as it is not the host's; what is written goes nowhere.
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
            (Output::Discard, _) => {}
            (Output::Capture, _) => self.captured[which as usize].extend_from_slice(bytes),
            (Output::Inherit, Which::Stdout) => pass_on(io::stdout().lock(), bytes)?,
            (Output::Inherit, Which::Stderr) => pass_on(io::stderr().lock(), bytes)?,
        }
        Ok(bytes.len())
    }
}

/// Writes and flushes, so that the guest learns at once of a full disk or a closed pipe.
fn pass_on(mut stream: impl Write, bytes: &[u8]) -> Result<(), Errno> {
    stream.write_all(bytes)?;
    stream.flush()?;
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

    /// Takes some bytes, then fails.
    struct Failing {
        room: usize,
        error: i32,
    }

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room);
            self.room -= count;
            if count == 0 {
                Err(io::Error::from_raw_os_error(self.error))
            } else {
                Ok(count)
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn failing_writes_of_the_host_reach_the_guest() {
        let write = |room, error| pass_on(Failing { room, error }, b"text");
        assert_eq!(write(4, libc::ENOSPC), Ok(()));
        assert_eq!(write(3, libc::ENOSPC), Err(Errno::ENOSPC));
        assert_eq!(write(0, libc::EPIPE), Err(Errno::EPIPE));
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
