//! Flags of an open file that `fcntl` changes.

use crate::os_support::*;
use hps_system::image::Isa;
use hps_system::process::ProcessConfig;

const O_RDWR: u64 = 2;
const FCNTL: u64 = 25;
const DUP: u64 = 23;
const LSEEK: u64 = 62;
const WRITE: u64 = 64;
const F_GETFL: u64 = 3;
const F_SETFL: u64 = 4;

/// A file that is made to append does so through each of its descriptors, from wherever its position is.
#[test]
fn appending_begins_and_ends_while_a_file_is_open() {
    on_both(|| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "0123").unwrap();
        let mut guest = Guest::new(&ProcessConfig {
            root: Some(dir.path().to_path_buf()),
            writable: true,
            ..ProcessConfig::default()
        });
        let append = match isa() {
            Isa::Alpha => 0o10,
            Isa::Riscv64 => 0o2000,
        };
        let fd = u64::try_from(guest.open("/file", O_RDWR)).expect("a file");
        let other = guest.call(DUP, &[fd]) as u64;
        guest.put(BUFFER, b"ab");
        for (flags, content) in [
            (append, "0123ab"),
            (append, "0123abab"),
            (0, "ab23abab"),
            (append, "ab23ababab"),
        ] {
            assert_eq!(guest.call(FCNTL, &[fd, F_SETFL, flags]), 0);
            let set = guest.call(FCNTL, &[other, F_GETFL, 0]) as u64;
            assert_eq!(set & append, flags);
            assert_eq!(guest.call(LSEEK, &[other, 0, 0]), 0);
            assert_eq!(guest.call(WRITE, &[other, BUFFER, 2]), 2);
            assert_eq!(
                std::fs::read_to_string(dir.path().join("file")).unwrap(),
                content
            );
        }
    });
}
