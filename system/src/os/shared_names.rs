//! `/dev/shm` where the root folder has none: files in memory that are known by their names to all processes of the run
//! (shm_overview(7), sem_overview(7)).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::memory_files::new_memory_file;
use super::paths::{GuestPath, NAME_MAX};
use super::procfs::reopen;
use super::tree::AT_FDCWD;
use crate::host::sys::rustix::fs::{Mode, fchmod};
use crate::host::sys::unix_fs::MetadataExt;

const FOLDER: &[u8] = b"/dev/shm/";
/// The most names, so that a guest cannot take all descriptors of the host.
const MOST: usize = 256;

/// Files by their names.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SharedNames {
    #[serde(with = "crate::checkpoint::kept")]
    files: BTreeMap<Vec<u8>, File>,
    /// The host's device of files in memory, once one has been made here. No other files are there.
    #[serde(with = "crate::checkpoint::device")]
    device: Option<u64>,
}

impl SharedNames {
    /// Whether a file lies in memory and may have had a name here.
    pub(super) fn may_hold(&self, host: &File) -> bool {
        let is_it = |device| host.metadata().is_ok_and(|told| told.dev() == device);
        self.device.is_some_and(is_it)
    }

    /// The files that have names.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values()
    }
}

impl Linux {
    /// The name in `/dev/shm` that a path of the root folder has, if that folder is made up.
    pub(super) fn shared_name<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let name = path.strip_prefix(FOLDER)?;
        let is_name = !name.is_empty() && name.len() <= NAME_MAX && !name.contains(&b'/');
        let is_special = name == b"." || name == b"..";
        (is_name && !is_special && !self.has_shared_folder()).then_some(name)
    }

    fn has_shared_folder(&self) -> bool {
        let found = self.resolve(AT_FDCWD as u64, b"/dev/shm", true);
        found.is_ok_and(|place| place.node.is_some_and(|node| node.is_dir()))
    }

    pub(super) fn open_shared_name(
        &mut self,
        name: &[u8],
        flags: OpenFlags,
        mode: Mode,
    ) -> Result<u64, Errno> {
        let SharedNames {
            files: names,
            device,
        } = &mut self.family.shared_names;
        let host = match names.get(name) {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::EEXIST),
            Some(_) if flags.directory => return Err(Errno::ENOTDIR),
            Some(host) => reopen(host, flags)?,
            None if !flags.create => return Err(Errno::ENOENT),
            None if names.len() >= MOST => return Err(Errno::ENOSPC),
            None => {
                let host = new_memory_file()?;
                fchmod(&host, mode)?;
                *device = Some(host.metadata()?.dev());
                let open = reopen(&host, flags)?;
                names.insert(name.to_vec(), host);
                open
            }
        };
        let path = [FOLDER, name].concat();
        let file = OpenFile {
            kind: Kind::File(host),
            flags,
            path: Some(GuestPath::new(&path)),
            number: None,
        };
        self.files.insert(file, self.limits.descriptors())
    }

    pub(super) fn unlink_shared_name(&mut self, name: &[u8]) -> Result<u64, Errno> {
        let removed = self.family.shared_names.files.remove(name);
        removed.map(|_| 0).ok_or(Errno::ENOENT)
    }

    /// Gives a file a second name, or with `moves` another one.
    pub(super) fn link_shared_name(
        &mut self,
        old: &[u8],
        new: &[u8],
        moves: bool,
    ) -> Result<u64, Errno> {
        let names = &mut self.family.shared_names.files;
        let host = names.get(old).ok_or(Errno::ENOENT)?;
        if !moves && names.contains_key(new) {
            return Err(Errno::EEXIST);
        }
        let host = host.try_clone()?;
        if moves {
            names.remove(old);
        } else if names.len() >= MOST {
            return Err(Errno::ENOSPC);
        }
        names.insert(new.to_vec(), host);
        Ok(0)
    }
}
