//! Copies of root folders where there is no host: there are none.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::errno::Errno;
use super::paths::{Entrance, Folder, Node};
use crate::host::sys::fd::OwnedFd;

/// A copy of a root folder, which cannot be made here.
#[derive(Debug)]
pub(super) struct Scratch(Infallible);

impl Scratch {
    pub(super) fn new(_: OwnedFd, _: &Path) -> io::Result<(Scratch, Folder)> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(super) fn bring(&self, _: &Folder, _: &OsStr) -> Result<(), Errno> {
        match self.0 {}
    }

    pub(super) fn complete(&self, _: &Folder) -> Result<(), Errno> {
        match self.0 {}
    }

    pub(super) fn settle(&self, _: &Entrance) -> Result<(), Errno> {
        match self.0 {}
    }

    pub(super) fn fill(&self, _: &Node, _: bool) -> Result<(), Errno> {
        match self.0 {}
    }

    pub(super) fn keep(&self, _: &Path) -> io::Result<()> {
        match self.0 {}
    }
}
