//! Guest paths as text.

use std::ffi::OsStr;

use crate::host::sys::ffi::OsStrExt;

/// A place in the guest's tree as text, to tell the guest of it and to derive numbers from it. Nothing
/// is ever opened by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::os) struct GuestPath(Vec<u8>);

impl GuestPath {
    /// A path that is written with its leading `/`, without `.`, `..` and empty names.
    pub(in crate::os) fn new(text: &[u8]) -> GuestPath {
        GuestPath(text.strip_suffix(b"/").unwrap_or(text).to_vec())
    }

    /// The path as the guest writes it.
    pub(in crate::os) fn text(&self) -> Vec<u8> {
        if self.0.is_empty() {
            b"/".to_vec()
        } else {
            self.0.clone()
        }
    }

    /// A number that stands for the file: FNV-1a of its path. The host's numbers would differ
    /// from host to host.
    pub(in crate::os) fn inode(&self) -> u64 {
        let text: &[u8] = if self.0.is_empty() { b"/" } else { &self.0 };
        text.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    }

    pub(in crate::os) fn child(&self, name: &OsStr) -> GuestPath {
        GuestPath([&self.0, &b"/"[..], name.as_bytes()].concat())
    }

    pub(in crate::os) fn parent(&self) -> GuestPath {
        let end = self.0.iter().rposition(|&b| b == b'/').unwrap_or(0);
        GuestPath(self.0[..end].to_vec())
    }
}

/// The text of the place that `path` names from `base` on, without `.` and `..`.
pub(in crate::os) fn joined(base: &[u8], path: &[u8]) -> Vec<u8> {
    let base = if path.first() == Some(&b'/') {
        &[]
    } else {
        base
    };
    let mut text = Vec::new();
    for name in [base, path]
        .into_iter()
        .flat_map(|path| path.split(|&b| b == b'/'))
    {
        match name {
            b"" | b"." => {}
            b".." => text.truncate(text.iter().rposition(|&b| b == b'/').unwrap_or(0)),
            name => {
                text.push(b'/');
                text.extend(name);
            }
        }
    }
    text
}
