//! The tree of files that a process sees, and where it is in it.

use serde::{Deserialize, Serialize};

use super::identity::Owner;
use super::paths::{Folder, Root};
use crate::image::LoadError;
use crate::process::ProcessConfig;

/// The root folder of a process, and how the process uses it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tree {
    pub root: Option<Root>,
    /// The guest may change files.
    pub writable: bool,
    /// The working folder, where there are files.
    #[serde(with = "crate::checkpoint::folder_option")]
    pub cwd: Option<Folder>,
    /// The working folder, if it is a made-up one.
    pub made_cwd: Option<String>,
    pub umask: u32,
    /// Owner of all files.
    pub owner: Owner,
}

impl Tree {
    /// The tree that a run begins with.
    ///
    /// # Errors
    /// [`LoadError::Config`] if the root, or the folder for a copy of it, cannot be used, or the working folder is not there.
    pub(super) fn new(config: &ProcessConfig) -> Result<Tree, LoadError> {
        let root = match &config.root {
            None => None,
            Some(path) => Some(Root::new(path).map_err(|cause| LoadError::Config {
                place: "root",
                problem: format!("{}: {cause}", path.display()),
                remedy: "name a folder that exists and can be read",
            })?),
        };
        let root = match (root, &config.scratch) {
            (Some(root), Some(parent)) => {
                Some(root.copied(parent).map_err(|cause| LoadError::Config {
                    place: "scratch",
                    problem: format!("{}: {cause}", parent.display()),
                    remedy: "name a folder in which files can be made",
                })?)
            }
            (root, _) => root,
        };
        let cwd = match &root {
            None => None,
            Some(root) => Some(starting_folder(root, &config.cwd)?),
        };
        Ok(Tree {
            root,
            writable: config.writable,
            cwd,
            made_cwd: None,
            umask: 0o022,
            owner: config.owner,
        })
    }

    /// The path of the working folder; empty without files.
    pub(super) fn start(&self) -> Vec<u8> {
        match (&self.root, &self.cwd) {
            (Some(root), Some(folder)) => {
                let path = root.current_path(folder).map(|path| path.text());
                path.unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// The folder that a process starts in.
fn starting_folder(root: &Root, path: &str) -> Result<Folder, LoadError> {
    let found = root.find(&root.folder(), path.as_bytes(), true);
    let folder = found.and_then(|place| place.existing()?.folder());
    folder.map_err(|_| LoadError::Config {
        place: "cwd",
        problem: format!("{path}: there is no such folder under the root"),
        remedy: "name a folder as the program sees it, from the root on",
    })
}
