//! Descriptors opened with `O_PATH`: places in the tree, which are neither read nor written.

use super::abi::FileStat;
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::gate::DescriptorKind;
use super::kinds::{Kind, Operations, Whereabouts};
use super::paths::{Folder, Node};
use super::readiness::POLLNVAL;
use super::stat::stat_of;

impl Operations for Node {
    fn role(&self, _has_place: bool) -> DescriptorKind {
        DescriptorKind::File
    }

    fn stat(&self, at: &Whereabouts) -> Result<FileStat, Errno> {
        let path = at.path.ok_or(Errno::EBADF)?;
        Ok(stat_of(&self.stat_now()?, path, at.is_writable))
    }

    fn folder(&self) -> Result<Folder, Errno> {
        Node::folder(self)
    }

    fn seek(&mut self, _offset: i64, _whence: u64) -> Result<u64, Errno> {
        Err(Errno::EBADF)
    }

    fn events(&self) -> u16 {
        POLLNVAL
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Place(self.clone()))
    }
}
