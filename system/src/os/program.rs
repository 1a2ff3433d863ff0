//! The program that a process runs.

use serde::{Deserialize, Serialize};

use super::procfs::Started;
use crate::image::Isa;
use crate::process::Thread;

/// The program of a process, as files in `/proc` tell it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Program {
    pub isa: Isa,
    /// The number among all programs that processes of the run have begun, from 1.
    pub number: u32,
    pub started: Option<Started>,
    /// Path of the program's file, as the guest sees it.
    pub exe: Vec<u8>,
    /// The path under which it was started.
    pub file_name: Vec<u8>,
}

impl Program {
    /// The last part of its path, as the first thread's name.
    pub(super) fn first_name(&self) -> [u8; Thread::NAME_BYTES] {
        let name = &self.file_name[..];
        let start = name.iter().rposition(|&b| b == b'/');
        let name = &name[start.map_or(0, |at| at + 1)..];
        let len = name.len().min(Thread::NAME_BYTES - 1);
        let mut padded = [0; Thread::NAME_BYTES];
        padded[..len].copy_from_slice(&name[..len]);
        padded
    }
}
