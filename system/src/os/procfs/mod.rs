//! Files that Linux makes up: `/proc`, `/sys`, and the devices of `/dev`.
//!
//! The files tell of the guest and its simulated machine alone, and they exist with and without a root folder. A path
//! into `/proc` or `/sys` never reaches the host. In `/dev` the devices below are made up, and other names are those of
//! the root folder.
//!
//! [`tree`] says which files there are, [`locate`] where a path leads, [`open`] what opening
//! gives, and [`opened`] and [`devices`] what reading does; [`process`], [`maps`] and [`system`] write the text of the files.

mod devices;
mod locate;
mod maps;
mod open;
mod opened;
mod process;
mod subject;
mod system;
mod tree;

pub(super) use self::locate::Located;
pub(super) use self::open::reopen;
pub(super) use self::opened::{MadeFolder, MadeText};
pub(super) use self::tree::Device;

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::image::ProgramImage;
use crate::process::Loaded;

/// The program and where its arguments lie, which the files of the process tell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Started {
    /// The program.
    #[serde(with = "crate::checkpoint::kept")]
    pub image: Arc<ProgramImage>,
    /// The loader and the vDSO of a dynamic program.
    pub loaded: Vec<Loaded>,
    /// The initial stack pointer.
    pub stack: u64,
    /// The strings of the arguments.
    pub arguments: std::ops::Range<u64>,
    /// The strings of the environment.
    pub environment: std::ops::Range<u64>,
    /// The auxiliary vector.
    pub auxiliary: std::ops::Range<u64>,
}
