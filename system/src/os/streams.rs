//! Standard input, output and error, and the limit on what a guest may write.

#[cfg(not(target_family = "wasm"))]
use crate::host::sys::fd::AsFd;
#[cfg(target_family = "wasm")]
use std::io::Read;
use std::io::{self, Write};
use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

#[cfg(not(target_family = "wasm"))]
use crate::host::sys::rustix;
#[cfg(not(target_family = "wasm"))]
use crate::host::sys::rustix::event::{PollFd, PollFlags, Timespec};

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::files::PIECE_BYTES;
use super::gate::DescriptorKind;
use super::kinds::{Kind, Operations, Span, in_order};
use super::outcome::{Outcome, Unserved};
use super::signals::Signal;
use crate::process::Thread;

/// Where a guest's standard input comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// The host process's own.
    Inherit,
    /// At its end from the start.
    #[default]
    Empty,
    /// The given bytes.
    Bytes(Vec<u8>),
}

/// Where a guest's standard output or error goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Which {
    Stdout,
    Stderr,
}

/// Standard input.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Input;

impl Operations for Input {
    fn role(&self, _has_place: bool) -> DescriptorKind {
        DescriptorKind::Input
    }

    fn is_fifo(&self) -> bool {
        true
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Input(*self))
    }

    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        let room = span.room_in_order(mem)?;
        let left = os.run.time_left();
        let buffer = mem.writable(span.addr, room.min(PIECE_BYTES))?;
        Ok(os.run.streams.read(buffer, left)? as u64)
    }
}

impl Operations for Which {
    fn role(&self, _has_place: bool) -> DescriptorKind {
        DescriptorKind::Output
    }

    fn is_fifo(&self) -> bool {
        true
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Output(*self))
    }

    fn write(os: &mut Linux, fd: u64, bytes: &[u8], offset: Option<u64>) -> Outcome {
        let within = os.run.output_room(bytes.len() as u64)?;
        in_order(offset)?;
        let left = os.run.time_left();
        let which = *os.files.own::<Which>(fd)?;
        match os.run.streams.write(which, &bytes[..within as usize], left) {
            Err(Errno::EPIPE) => Err(Unserved::Raises(Signal::Pipe, Errno::EPIPE)),
            written => {
                let written = written? as u64;
                os.run.spend_output(written);
                Ok(written)
            }
        }
    }
}

/// The standard streams.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

    /// Takes what was captured of both streams.
    pub(super) fn take_captured(&mut self) -> [Vec<u8>; 2] {
        std::mem::take(&mut self.captured)
    }

    /// Reads some bytes, for as long as `left` at most if the run has a limit on its time.
    ///
    /// # Errors
    /// The errors of the host; `EINTR` if there was nothing in time.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        left: Option<Duration>,
    ) -> Result<usize, Errno> {
        match &self.input {
            Stdin::Inherit => read_own_input(buffer, left),
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

    /// Writes bytes, for as long as `left` at most if the run has a limit on its time.
    ///
    /// # Errors
    /// The errors of the host; `EINTR` if there was no room in time.
    pub(super) fn write(
        &mut self,
        which: Which,
        bytes: &[u8],
        left: Option<Duration>,
    ) -> Result<usize, Errno> {
        match (self.modes[which as usize], which) {
            (Output::Discard, _) => Ok(bytes.len()),
            (Output::Capture, _) => {
                self.captured[which as usize].extend_from_slice(bytes);
                Ok(bytes.len())
            }
            (Output::Inherit, Which::Stdout) => pass_on(io::stdout().lock(), bytes, left),
            (Output::Inherit, Which::Stderr) => pass_on(io::stderr().lock(), bytes, left),
        }
    }
}

/// Reads of the lab's own standard input, past the buffer of the standard library: what lies there could not be waited
/// for.
#[cfg(not(target_family = "wasm"))]
fn read_own_input(buffer: &mut [u8], left: Option<Duration>) -> Result<usize, Errno> {
    let stream = io::stdin();
    if let Some(left) = left {
        wait_for(&stream, PollFlags::IN, Some(Instant::now() + left))?;
    }
    retry(|| Ok(rustix::io::read(&stream, &mut *buffer)?))
}

#[cfg(target_family = "wasm")]
fn read_own_input(buffer: &mut [u8], _left: Option<Duration>) -> Result<usize, Errno> {
    retry(|| io::stdin().lock().read(buffer))
}

/// Writes as much as the host takes, so that the guest learns at once of a full disk or a closed pipe.
/// Whatever the lab itself has written goes first; the guest's bytes pass no buffer, in which the host's
/// refusal would leave them.
#[cfg(not(target_family = "wasm"))]
fn pass_on(
    mut stream: impl Write + AsFd,
    bytes: &[u8],
    left: Option<Duration>,
) -> Result<usize, Errno> {
    /// A pipe that has room has it for so many bytes (`PIPE_BUF`).
    const SURE_BYTES: usize = 4096;
    stream.flush()?;
    let end = left.map(|left| Instant::now() + left);
    let write = |bytes: &[u8]| {
        retry(|| match rustix::io::write(&stream, bytes) {
            Err(rustix::io::Errno::AGAIN) => {
                // Somebody else has made it a stream that does not wait.
                wait_for(&stream, PollFlags::OUT, end)?;
                Err(io::ErrorKind::Interrupted.into())
            }
            result => Ok(result?),
        })
    };
    if end.is_none() {
        return write(bytes);
    }
    let mut done = 0;
    for piece in bytes.chunks(SURE_BYTES) {
        let room = wait_for(&stream, PollFlags::OUT, end);
        match room.map_err(Errno::from).and_then(|()| write(piece)) {
            Ok(written) if written == piece.len() => done += written,
            Ok(written) => return Ok(done + written),
            Err(errno) if done == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// Without an operating system there is nobody who would read it.
#[cfg(target_family = "wasm")]
fn pass_on(_stream: impl Write, _bytes: &[u8], _left: Option<Duration>) -> Result<usize, Errno> {
    Err(Errno::EIO)
}

/// Waits until a stream is ready, or to the end of the time that the run may take.
#[cfg(not(target_family = "wasm"))]
fn wait_for(stream: &impl AsFd, ready: PollFlags, end: Option<Instant>) -> io::Result<()> {
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut wanted = [PollFd::new(stream, ready)];
        match rustix::event::poll(&mut wanted, left.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
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
    use std::io::Read;

    #[test]
    fn failing_writes_of_the_host_reach_the_guest() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(pass_on(full, b"text", None), Err(Errno::ENOSPC));
        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(pass_on(writer.try_clone().unwrap(), b"text", None), Ok(4));
        drop(reader);
        assert_eq!(pass_on(writer, b"text", None), Err(Errno::EPIPE));
    }

    #[test]
    fn a_stream_that_does_not_wait_takes_what_it_has_room_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let much = vec![7; 1 << 20];
        let first = pass_on(writer.try_clone().unwrap(), &much, None).unwrap();
        assert!(first > 0 && first < much.len(), "{first}");
        let waiting = std::thread::spawn(move || {
            let mut taken = vec![0; first];
            reader.read_exact(&mut taken).unwrap();
            reader
        });
        assert!(pass_on(writer, &much[first..], None).unwrap() > 0);
        drop(waiting.join().unwrap());
    }

    #[test]
    fn a_full_pipe_is_waited_for_only_as_long_as_there_is_time() {
        let (_reader, writer) = io::pipe().unwrap();
        let much = vec![7; 1 << 20];
        let some = pass_on(
            writer.try_clone().unwrap(),
            &much,
            Some(Duration::from_millis(5)),
        );
        assert!(some.is_ok_and(|some| some > 0 && some < much.len()));
        let none = pass_on(writer, &much, Some(Duration::from_millis(5)));
        assert_eq!(none, Err(Errno::EINTR));
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
