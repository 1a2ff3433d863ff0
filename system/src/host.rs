//! Files of the host that a person names: read whole, up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The calls of the host and its types.
#[cfg(not(target_family = "wasm"))]
pub(crate) mod sys {
    pub(crate) use std::os::fd;
    pub(crate) use std::os::unix::{ffi, fs as unix_fs};
    pub(crate) use {libc, rustix};
}
#[cfg(target_family = "wasm")]
#[path = "host/absent.rs"]
pub(crate) mod sys;

/// Bytes that a text may have which a person writes: productions, machine descriptions, sweeps.
pub const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Reads a file of at most `limit` bytes. A device that never ends is refused as a large file is.
///
/// # Errors
/// I/O errors of the host, or [`io::ErrorKind::FileTooLarge`] with both numbers.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_to_end(File::open(path)?, limit)
}

/// Reads to the end of at most `limit` bytes.
///
/// # Errors
/// The errors of [`read_file`].
pub fn read_to_end(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let problem = format!("it has more than the {limit} bytes that are read of such a file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// Reads a file that is open, of at most `limit` bytes, wherever others are in it.
///
/// # Errors
/// The errors of [`read_file`].
pub(crate) fn read_open(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    /// An open file, and where in it the next byte is read.
    struct From<'a>(&'a File, u64);

    impl Read for From<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = sys::unix_fs::FileExt::read_at(self.0, buffer, self.1)?;
            self.1 += count as u64;
            Ok(count)
        }
    }
    read_to_end(From(file, 0), limit)
}

/// Reads a text of at most [`MAX_TEXT_BYTES`].
///
/// # Errors
/// The errors of [`read_file`], and [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_file(path, MAX_TEXT_BYTES)?;
    String::from_utf8(bytes).map_err(|cause| {
        let problem = format!(
            "it is no text in UTF-8 (byte {})",
            cause.utf8_error().valid_up_to()
        );
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_for_files_and_devices() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, b"12345").unwrap();
        assert_eq!(read_file(file.path(), 5).unwrap(), b"12345");
        for (path, limit) in [(file.path(), 4), (Path::new("/dev/zero"), 1 << 20)] {
            let cause = read_file(path, limit).unwrap_err();
            assert_eq!(cause.kind(), io::ErrorKind::FileTooLarge, "{cause}");
        }
    }

    #[test]
    fn texts_are_utf8() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, b"ab\xff").unwrap();
        let cause = read_text(file.path()).unwrap_err();
        assert!(cause.to_string().contains("byte 2"), "{cause}");
    }
}
