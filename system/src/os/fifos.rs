//! Pipes with names (fifo(7)): `mknodat`, and opening them.
//!
//! The name is a file of the host; what is written stays inside the run. Who opens an end waits for the other one, and
//! counts as open for that one meanwhile.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

use crate::host::sys::rustix::fs::{self, FileType, Mode};

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::OpenFlags;
use super::attributes::{new_mode, set_mode};
use super::descriptors::Kind;
use super::errno::Errno;
use super::outcome::{Outcome, Unserved};
use super::paths::Node;
use super::pipes::{Pipe, PipeEnd, lock};
use super::stat::{S_IFCHR, S_IFIFO, S_IFMT, S_IFREG, S_IFSOCK};
use super::threads::WaitFor;

const S_IFBLK: u32 = 0o060_000;
const S_IFDIR: u32 = 0o040_000;
/// Reason of a wait: a thread opens one end.
const OPENS: &str = "somebody to open the other end of a FIFO";

/// A pipe with a name that is open, or about to be.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fifo {
    #[serde(with = "crate::checkpoint::kept")]
    pipe: Arc<Mutex<Pipe>>,
    waiting: Vec<Opener>,
}

/// A thread that waits in `open`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Opener {
    tid: u32,
    reads: bool,
    /// How often the other end had been opened when it began to wait.
    openings: u64,
}

impl Fifo {
    fn new(page_bytes: u64) -> Fifo {
        Fifo {
            pipe: Arc::new(Mutex::new(Pipe::new(page_bytes))),
            waiting: Vec::new(),
        }
    }

    /// Tells the pipe who waits.
    fn count_waiting(&self) {
        let readers = self.waiting.iter().filter(|opener| opener.reads).count();
        let mut pipe = lock(&self.pipe);
        pipe.waiting_readers = readers as u32;
        pipe.waiting_writers = (self.waiting.len() - readers) as u32;
    }
}

impl Linux {
    /// `mknodat`: FIFOs, sockets and regular files. There are no devices but those that are made up.
    pub(super) fn mknodat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let path = self.path_argument(mem, a[1])?;
        let done = self.make_node(a, &path);
        self.noted(&path, done)
    }

    fn make_node(&self, a: &[u64; 6], path: &[u8]) -> Result<u64, Errno> {
        let [dirfd, _, mode, ..] = *a;
        let kind = match mode as u32 & S_IFMT {
            0 | S_IFREG => FileType::RegularFile,
            S_IFIFO => FileType::Fifo,
            S_IFSOCK => FileType::Socket,
            S_IFDIR | S_IFCHR | S_IFBLK => return Err(Errno::EPERM),
            _ => return Err(Errno::EINVAL),
        };
        let new = self.entrance(dirfd, path)?;
        self.can_be_made(&new)?;
        let mode = new_mode(mode, self.tree.umask);
        let name = new.host_name()?;
        fs::mknodat(&new.folder, &name, kind, Mode::empty(), 0)?;
        set_mode(&Node::named(&new.folder, &name)?, mode)?;
        Ok(0)
    }

    /// Opens an end of a FIFO, or both.
    pub(super) fn open_fifo(&mut self, node: &Node, flags: OpenFlags) -> Outcome<Kind> {
        self.forget_openers();
        let identity = super::paths::identity(&node.stat);
        let (caller, page_bytes) = (self.call.caller, self.abi.page_bytes());
        let fifos = &mut self.family.fifos;
        let fifo = fifos
            .entry(identity)
            .or_insert_with(|| Fifo::new(page_bytes));
        let before = fifo
            .waiting
            .iter()
            .find(|opener| opener.tid == caller)
            .copied();
        fifo.waiting.retain(|opener| opener.tid != caller);
        fifo.count_waiting();
        let (reads, writes) = (flags.read, flags.write);
        let (has_other, openings) = {
            let pipe = lock(&fifo.pipe);
            match (reads, writes) {
                (true, true) => (true, 0),
                (true, false) => (pipe.has_writer(), pipe.writer_openings),
                (false, _) => (pipe.has_reader(), pipe.reader_openings),
            }
        };
        let has_come = has_other || before.is_some_and(|opener| opener.openings != openings);
        if has_come || reads && flags.nonblock {
            let end = PipeEnd::open(&fifo.pipe, reads, writes, !has_come);
            self.wake_on_files();
            return Ok(Kind::Pipe(end));
        }
        if flags.nonblock {
            return Err(Errno::ENXIO.into());
        }
        fifo.waiting.push(Opener {
            tid: caller,
            reads,
            openings: before.map_or(openings, |opener| opener.openings),
        });
        fifo.count_waiting();
        Err(Unserved::on_file(false, OPENS))
    }

    /// Forgets threads that do not wait in `open` any more, and pipes that nobody has open.
    fn forget_openers(&mut self) {
        let mut fifos = std::mem::take(&mut self.family.fifos);
        let caller = self.call.caller;
        let waits = |tid: u32| {
            let mut all = std::iter::once(&*self).chain(self.other_processes());
            all.any(|os| {
                let thread = os.threads.parked(tid);
                let blocked = thread.and_then(|thread| thread.blocked.as_ref());
                blocked.is_some_and(|blocked| blocked.waits_for == WaitFor::File(OPENS))
            })
        };
        for fifo in fifos.values_mut() {
            fifo.waiting
                .retain(|opener| opener.tid == caller || waits(opener.tid));
            fifo.count_waiting();
        }
        fifos.retain(|_, fifo| !lock(&fifo.pipe).is_unused());
        self.family.fifos = fifos;
    }
}
