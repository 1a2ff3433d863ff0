//! The command line of `hps root`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::groups::JsonArgs;
use crate::examples;

/// `hps root`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::ROOT)]
pub enum RootCommand {
    /// Make a root folder from packages of Debian, from a lock file, or from an image
    #[command(after_long_help = examples::ROOT)]
    Make(RootMakeArgs),
    /// Say what a root is made of: its packages and their versions
    #[command(after_long_help = "Example:\n  hps root show trixie")]
    Show {
        /// The root
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Compare a root with what was made: exit code 1 if a file was changed, removed or added
    #[command(after_long_help = "Example:\n  hps root check trixie")]
    Check {
        /// The root
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// `hps root make`.
#[derive(Debug, Args)]
pub struct RootMakeArgs {
    /// Folder that becomes the root, which does not exist yet or is empty
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Packages beside those of every Debian system, with commas between them; what they depend on comes along
    #[arg(
        long,
        value_name = "PACKAGES",
        value_delimiter = ',',
        conflicts_with_all = ["lock", "from"]
    )]
    pub with: Vec<String>,
    /// Suite of Debian
    #[arg(long, value_name = "SUITE", default_value = "trixie")]
    pub suite: String,
    /// Architecture, by Debian's name; of an OCI layout, the image for it
    #[arg(long, value_name = "ARCH", default_value = "riscv64")]
    pub arch: String,
    /// Mirror of Debian: an address, or a line as in sources.list (may be repeated) [default: Debian's own]
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub mirror: Vec<String>,
    /// Make the packages of this lock file again (DIR/hps-root.json of another root), each in its version and with its content
    #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "arch", "from"])]
    pub lock: Option<PathBuf>,
    /// Unpack an image instead: a tar of a file system, compressed or not, or the folder of an OCI layout
    #[arg(long, value_name = "TAR|DIR", conflicts_with = "suite")]
    pub from: Option<PathBuf>,
}
