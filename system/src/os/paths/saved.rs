//! Folders and nodes of the root in checkpoints.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Folder, Node, Root};
use crate::checkpoint::{base_root, folder};
use crate::host::sys::rustix::{self, fs};

#[cfg(not(target_family = "wasm"))]
impl Root {
    /// The root folder that the run has begun with.
    pub(crate) fn first(&self) -> Folder {
        Folder::clone(&self.first)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        folder::serialize(&self.fd, serializer)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fd: Folder = folder::deserialize(deserializer)?;
        let stat = fs::fstat(&*fd).map_err(failed)?;
        Ok(Node { fd, stat })
    }
}

impl Serialize for Root {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        folder::serialize(&self.folder, serializer)
    }
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let folder: Folder = folder::deserialize(deserializer)?;
        let base = base_root().ok_or_else(|| D::Error::custom("the run has no root folder"))?;
        base.moved(folder).map_err(failed)
    }
}

fn failed<E: serde::de::Error>(cause: rustix::io::Errno) -> E {
    E::custom(format_args!("{cause:?}"))
}
