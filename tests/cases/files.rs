//! Paths: the root folder as a boundary, the working folder, files that the lab makes up.
