//! The structures that tell of files (Linux `arch/alpha/include/uapi/asm/{stat,statfs}.h`, `struct
//! osf_stat` of `arch/alpha/kernel/osf_sys.c`; `<sys/stat.h>` of Digital Unix).

use super::super::abi::{BLOCK_BYTES, FileStat, FsStat, short_inode};
use super::super::record::Record;

/// `struct stat` of Linux.
pub(super) fn stat(stat: &FileStat) -> Vec<u8> {
    let mut record = Record::new()
        .u32(stat.device as u32)
        .u32(short_inode(stat.inode))
        .u32(stat.mode)
        .u32(stat.links)
        .u32(stat.owner.uid)
        .u32(stat.owner.gid)
        .u32(stat.rdev as u32)
        .pad_to(32)
        .u64(stat.size_bytes);
    for _ in ["access", "modification", "change"] {
        record = record.u64(stat.time_seconds);
    }
    record
        .u32(BLOCK_BYTES)
        .u32(stat.blocks() as u32)
        .pad_to(80)
        .done()
}

/// `struct stat64` of Linux.
pub(super) fn stat64(stat: &FileStat) -> Vec<u8> {
    let mut record = Record::new()
        .u64(stat.device)
        .u64(stat.inode)
        .u64(stat.rdev)
        .u64(stat.size_bytes)
        .u64(stat.blocks())
        .u32(stat.mode)
        .u32(stat.owner.uid)
        .u32(stat.owner.gid)
        .u32(BLOCK_BYTES)
        .u32(stat.links)
        .pad_to(64);
    for _ in ["access", "modification", "change"] {
        record = record.u64(stat.time_seconds).u64(0);
    }
    record.pad_to(136).done()
}

/// The first `struct stat` of OSF/1, of the calls 67, 68 and 91.
pub(in super::super) fn osf_stat(stat: &FileStat) -> Vec<u8> {
    let mut record = Record::new()
        .u32(stat.device as u32)
        .u32(short_inode(stat.inode))
        .u32(stat.mode)
        .u16(stat.links as u16)
        .pad_to(16)
        .u32(stat.owner.uid)
        .u32(stat.owner.gid)
        .u32(stat.rdev as u32)
        .pad_to(32)
        .u64(stat.size_bytes);
    for _ in ["access", "modification", "change"] {
        record = record.u32(stat.time_seconds as u32).u32(0);
    }
    record
        .u32(BLOCK_BYTES)
        .u32(stat.blocks() as u32)
        .pad_to(80)
        .done()
}

/// The second, of the calls 224 to 226, which Linux has as `struct osf_stat`.
pub(super) fn second_osf_stat(stat: &FileStat) -> Vec<u8> {
    let mut record = Record::new()
        .u32(stat.device as u32)
        .u32(0)
        .u32(stat.mode)
        .u16(stat.links as u16)
        .u16(0)
        .u32(stat.owner.uid)
        .u32(stat.owner.gid)
        .u32(stat.rdev as u32)
        .u32(stat.rdev as u32)
        .u64(stat.size_bytes)
        .pad_to(112)
        .u32(short_inode(stat.inode))
        .u32(0);
    for _ in ["access", "modification", "change"] {
        record = record.u32(stat.time_seconds as u32).u32(0);
    }
    record.u64(u64::from(BLOCK_BYTES)).u64(stat.blocks()).done()
}

/// `struct statfs`, whose words have 32 bits on Alpha.
pub(super) fn statfs(stat: &FsStat) -> Vec<u8> {
    let space = [stat.blocks, stat.free, stat.free];
    let files = [stat.files, stat.free_files];
    let words = [&[stat.kind, BLOCK_BYTES][..], &space, &files].concat();
    let record = words.into_iter().fold(Record::new(), Record::u32);
    // The identity of the file system is not told.
    record
        .pad_to(36)
        .u32(stat.name_bytes)
        .u32(BLOCK_BYTES)
        .pad_to(64)
        .done()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and offsets as the structures are written out in the sources named above; those of Linux
    /// are compared with the compiler's in `tests/os_alpha_programs`.
    #[test]
    fn osf_structures() {
        let sample = FileStat {
            device: 1,
            inode: 0x1_0000_0002,
            mode: 3,
            links: 4,
            rdev: 5,
            size_bytes: 513,
            time_seconds: 6,
            owner: crate::os::Owner::default(),
        };
        let half =
            |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let first = osf_stat(&sample);
        assert_eq!(first.len(), 80);
        assert_eq!(
            [4, 8, 12, 28, 32, 40, 48, 64, 68].map(|at| half(&first, at)),
            [3, 3, 4, 0, 513, 6, 6, 4096, 2]
        );
        let second = second_osf_stat(&sample);
        assert_eq!(second.len(), 160);
        assert_eq!(
            [8, 12, 32, 112, 120, 128, 136, 144, 152].map(|at| half(&second, at)),
            [3, 4, 513, 3, 6, 6, 6, 4096, 2]
        );
    }
}
