//! Options about the files that programs see.

use clap::ValueEnum;

/// Folder in which a program may change files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Writable {
    /// Under the root.
    Root,
    /// In a copy of the root.
    Scratch,
}
