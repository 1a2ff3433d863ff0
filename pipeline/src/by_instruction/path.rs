//! The two kinds of path that instructions lie on, as types, so that each is compiled for itself.

/// The right path, or a wrong one.
pub trait Path {
    /// Whether effects on this path are undone at a squash.
    const IS_WRONG: bool;
}

/// The path that the program takes: instructions on it commit.
pub enum RightPath {}

/// A path that is squashed, since fetch went there behind a mispredicted instruction, or since it runs again.
pub enum WrongPath {}

impl Path for RightPath {
    const IS_WRONG: bool = false;
}

impl Path for WrongPath {
    const IS_WRONG: bool = true;
}
