//! Memory map of a process: the lines of `/proc/PID/maps`.

use crate::error::ShimError;

/// One line of a map: a piece of a file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Whether code may run there.
    pub executable: bool,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Number of the file on its file system; 0 where there is none.
    pub inode: u64,
    /// The file, or a name of the kernel's such as `[vdso]`; empty for anonymous memory.
    pub path: String,
    /// The file was removed or replaced since the process mapped it.
    pub deleted: bool,
}

/// The map of a process, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessMaps {
    mappings: Vec<Mapping>,
}

impl ProcessMaps {
    /// Reads the map of a running process.
    ///
    /// # Errors
    /// [`ShimError::NoProcess`] if there is no such process (any more) or it is not ours.
    pub fn of_process(pid: u32) -> Result<Self, ShimError> {
        std::fs::read_to_string(format!("/proc/{pid}/maps"))
            .map(|text| Self::parse(&text))
            .map_err(|source| ShimError::NoProcess { pid, source })
    }

    /// Reads the text of such a map. Lines that are none are left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::of_mappings(text.lines().filter_map(parse_line).collect())
    }

    /// A map of these pieces.
    #[must_use]
    pub fn of_mappings(mut mappings: Vec<Mapping>) -> Self {
        mappings.sort_by_key(|mapping| mapping.start);
        ProcessMaps { mappings }
    }

    /// The piece that holds an address.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|m| m.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then_some(mapping)
    }

    /// All pieces, by address.
    #[must_use]
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }
}

/// `START-END PERMISSIONS OFFSET DEVICE INODE      PATH`, numbers but the inode in hexadecimal.
fn parse_line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        rest = rest.trim_start();
        let (word, behind) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        rest = behind;
        word
    };
    let (start, end) = word().split_once('-')?;
    let permissions = word();
    let offset = word();
    let _device = word();
    let inode = word().parse().ok()?;
    let path = rest.trim_start();
    let (path, deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        executable: permissions.as_bytes().get(2) == Some(&b'x'),
        offset: u64::from_str_radix(offset, 16).ok()?,
        inode,
        path: path.to_owned(),
        deleted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
7f31c0000000-7f31c0021000 rw-p 00000000 00:00 0 
55f0131b9000-55f0131bd000 r-xp 00001000 fe:00 10913363                   /home/a program
55f0131b8000-55f0131b9000 r--p 00000000 fe:00 10913363                   /home/a program
7f31c4000000-7f31c4001000 r-xp 00000000 fe:00 77   /lib/old.so (deleted)
nonsense
7ffd1b5f2000-7ffd1b5f4000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn lines_are_read_in_order_of_address() {
        let maps = ProcessMaps::parse(MAP);
        assert_eq!(maps.mappings().len(), 5);
        let code = maps.find(0x55f0_131b_9abc).expect("the program's code");
        assert_eq!(
            *code,
            Mapping {
                start: 0x55f0_131b_9000,
                end: 0x55f0_131b_d000,
                executable: true,
                offset: 0x1000,
                inode: 10_913_363,
                path: "/home/a program".to_owned(),
                deleted: false,
            }
        );
        assert!(!maps.find(0x55f0_131b_8000).expect("its head").executable);
        let old = maps.find(0x7f31_c400_0000).expect("the library");
        assert_eq!((old.path.as_str(), old.deleted), ("/lib/old.so", true));
        assert_eq!(
            maps.find(0x7ffd_1b5f_3fff).map(|m| m.path.as_str()),
            Some("[vdso]")
        );
        assert_eq!(maps.find(0x7ffd_1b5f_4000), None);
        assert_eq!(maps.find(0), None);
    }

    #[test]
    fn our_own_map_holds_our_own_code() {
        let maps = ProcessMaps::of_process(std::process::id()).expect("we run");
        let here = our_own_map_holds_our_own_code as *const () as usize as u64;
        let mapping = maps.find(here).expect("this function");
        assert!(mapping.executable && mapping.inode != 0, "{mapping:?}");
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        let error = ProcessMaps::of_process(u32::MAX).expect_err("no such process");
        assert!(error.to_string().contains("4294967295"), "{error}");
    }
}
