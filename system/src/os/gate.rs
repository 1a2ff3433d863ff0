//! A gate in front of the system calls of a run that must leave no traces outside of itself.
//!
//! A [`Linux`] with a gate asks it before it serves a call. The gate sees the call, its arguments and what kind of
//! thing the call's descriptor stands for, and answers whether the call is served, only pretended, or ends the run.

use hps_isa::memory::Memory;

use super::calls::Call;
use super::errno::Errno;
use super::{Linux, StopReason};

/// Object that the descriptor of a call stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DescriptorKind {
    /// The call has no descriptor.
    None,
    /// No open file has this number.
    Closed,
    /// Standard input.
    Input,
    /// Standard output or standard error.
    Output,
    /// A file or a folder with a place in the tree.
    File,
    /// A file that lies in memory (`memfd_create`).
    MemoryFile,
    /// An end of a pipe, or a socket.
    Pipe,
    /// A timer, a counter of events, or a set of descriptors to wait for.
    Event,
    /// Something that the kernel makes up: a device, a file of `/proc` or `/sys`.
    MadeUp,
}

/// A system call that is about to be served.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The call; `None` if the lab does not know its number.
    pub call: Option<Call>,
    /// Arguments of the call.
    pub arguments: [u64; 6],
    /// Object that the descriptor of the call stands for.
    pub descriptor: DescriptorKind,
    /// Whether the call opens a file so that it is changed or can be, or maps memory that others would see change.
    pub writes: bool,
    /// Simulated time, in nanoseconds.
    pub now_ns: u64,
}

/// Decision of a gate on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The call is served, at a time this much later than the run's own.
    Serve {
        /// Nanoseconds that are added to the simulated time.
        later_ns: u64,
    },
    /// Nothing is done, and the program is told that all of it was.
    Pretend,
    /// Nothing is done, and the result is 0.
    Skip,
    /// The run ends in front of the call.
    End,
}

/// Decides on the system calls of a run.
pub trait Gate: Send {
    /// Decides on a call.
    fn ask(&mut self, asked: &Asked) -> Answer;
}

impl Linux {
    /// Puts a gate in front of the system calls, in place of the one that was there.
    pub fn set_gate(&mut self, gate: Option<Box<dyn Gate>>) {
        self.gate = gate;
    }

    /// Asks the gate about a call. `None`: the call is served. Some: its result, or the end of the run.
    #[cold]
    pub(super) fn ask_gate(
        &mut self,
        call: Option<Call>,
        mem: &Memory,
        arguments: &[u64; 6],
    ) -> Option<Result<u64, Errno>> {
        let descriptor = call.map_or(DescriptorKind::None, |call| {
            self.descriptor_kind(call, arguments)
        });
        let asked = Asked {
            call,
            arguments: *arguments,
            descriptor,
            writes: call.is_some_and(|call| self.opens_to_write(call, arguments)),
            now_ns: self.time.now_ns,
        };
        match self.gate.as_mut()?.ask(&asked) {
            Answer::Serve { later_ns } => {
                self.time.now_ns += later_ns;
                None
            }
            Answer::Skip => Some(Ok(0)),
            Answer::Pretend => Some(pretended(call?, mem, arguments)),
            Answer::End => {
                let call = call.map_or("an unknown call", Call::name);
                self.run.stop = Some(StopReason::Gate { call });
                Some(Err(Errno::ENOSYS))
            }
        }
    }

    fn opens_to_write(&self, call: Call, a: &[u64; 6]) -> bool {
        match call {
            Call::Openat => {
                let flags = self.abi.open_rules().decode(a[2]);
                flags.write || flags.create || flags.truncate
            }
            Call::Mmap => {
                // `PROT_WRITE`, and `MAP_PRIVATE` among the bits that say what kind of mapping it is.
                a[2] & 2 != 0 && a[3] & 15 != 2
            }
            _ => false,
        }
    }

    fn descriptor_kind(&self, call: Call, arguments: &[u64; 6]) -> DescriptorKind {
        if !call.begins_with_descriptor() {
            return DescriptorKind::None;
        }
        match self.files.get(arguments[0]) {
            Ok(file) => file.kind.role(file.path.is_some()),
            Err(_) => DescriptorKind::Closed,
        }
    }
}

/// Result of a call that did all that was asked for.
fn pretended(call: Call, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
    match call {
        Call::Write | Call::Pwrite64 => Ok(a[2]),
        Call::Writev | Call::Pwritev | Call::Pwritev2 => {
            /// Linux `include/uapi/linux/uio.h`.
            const UIO_MAXIOV: u64 = 1024;
            let mut total = 0_u64;
            for part in 0..a[2].min(UIO_MAXIOV) {
                let mut length = [0; 8];
                mem.read_bytes(a[1].wrapping_add(part * 16 + 8), &mut length)?;
                total = total.saturating_add(u64::from_le_bytes(length));
            }
            Ok(total)
        }
        Call::Sendfile => Ok(a[3]),
        Call::CopyFileRange => Ok(a[4]),
        _ => Ok(0),
    }
}
