//! Stand-ins for the calls of the host where there is no operating system, as in a browser.
//!
//! There is no file, so every call fails with `ENOSYS`. Names, constants and signatures are those of `rustix`, `libc`
//! and the standard library on Unix, as far as this crate uses them, so that system calls are the same code
//! everywhere. A guest then has standard streams, pipes, sockets and made-up files, and finds no other file.

/// Descriptors. None can exist.
pub(crate) mod fd {
    /// An open file of the host. No call gives one.
    #[derive(Debug)]
    pub(crate) struct OwnedFd(());

    impl OwnedFd {
        pub(crate) fn try_clone(&self) -> std::io::Result<OwnedFd> {
            Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
        }
    }

    /// A borrowed descriptor.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct BorrowedFd<'a>(std::marker::PhantomData<&'a ()>);

    pub(crate) trait AsFd {
        fn as_fd(&self) -> BorrowedFd<'_>;
    }

    pub(crate) trait AsRawFd {
        fn as_raw_fd(&self) -> i32;
    }

    impl AsFd for OwnedFd {
        fn as_fd(&self) -> BorrowedFd<'_> {
            BorrowedFd(std::marker::PhantomData)
        }
    }

    impl AsFd for BorrowedFd<'_> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            *self
        }
    }

    impl AsFd for std::fs::File {
        fn as_fd(&self) -> BorrowedFd<'_> {
            BorrowedFd(std::marker::PhantomData)
        }
    }

    impl<T: AsFd> AsFd for &T {
        fn as_fd(&self) -> BorrowedFd<'_> {
            (**self).as_fd()
        }
    }

    impl<T: AsFd> AsFd for std::sync::Arc<T> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            (**self).as_fd()
        }
    }

    impl AsRawFd for BorrowedFd<'_> {
        fn as_raw_fd(&self) -> i32 {
            -1
        }
    }

    impl AsRawFd for std::fs::File {
        fn as_raw_fd(&self) -> i32 {
            -1
        }
    }

    impl From<OwnedFd> for std::fs::File {
        fn from(fd: OwnedFd) -> Self {
            unreachable!("no call gives {fd:?}")
        }
    }
}

/// Names as bytes. Only UTF-8 can be told; no name leads to a file anyway.
pub(crate) mod ffi {
    use std::ffi::{OsStr, OsString};

    pub(crate) trait OsStrExt {
        fn from_bytes(bytes: &[u8]) -> &Self;
        fn as_bytes(&self) -> &[u8];
    }

    impl OsStrExt for OsStr {
        fn from_bytes(bytes: &[u8]) -> &Self {
            OsStr::new(std::str::from_utf8(bytes).unwrap_or("?"))
        }

        fn as_bytes(&self) -> &[u8] {
            self.as_encoded_bytes()
        }
    }

    pub(crate) trait OsStringExt {
        fn from_vec(bytes: Vec<u8>) -> Self;
    }

    impl OsStringExt for OsString {
        fn from_vec(bytes: Vec<u8>) -> Self {
            OsStr::from_bytes(&bytes).to_owned()
        }
    }
}

/// Additions of Unix to files.
pub(crate) mod unix_fs {
    use std::io::{Error, ErrorKind, Result};

    fn none<T>() -> Result<T> {
        Err(Error::from(ErrorKind::Unsupported))
    }

    pub(crate) trait FileExt {
        fn read_at(&self, _buffer: &mut [u8], _offset: u64) -> Result<usize> {
            none()
        }

        fn read_exact_at(&self, _buffer: &mut [u8], _offset: u64) -> Result<()> {
            none()
        }

        fn write_at(&self, _bytes: &[u8], _offset: u64) -> Result<usize> {
            none()
        }

        fn write_all_at(&self, _bytes: &[u8], _offset: u64) -> Result<()> {
            none()
        }
    }

    impl FileExt for std::fs::File {}

    pub(crate) trait MetadataExt {
        fn dev(&self) -> u64 {
            0
        }

        fn ino(&self) -> u64 {
            0
        }

        fn mode(&self) -> u32 {
            0
        }

        fn blocks(&self) -> u64 {
            0
        }
    }

    impl MetadataExt for std::fs::Metadata {}
}

/// Numbers of Linux.
pub(crate) mod libc {
    pub(crate) const S_IFMT: u32 = 0o170_000;
    pub(crate) const S_IFDIR: u32 = 0o040_000;
    pub(crate) const S_IFREG: u32 = 0o100_000;
    pub(crate) const S_IFLNK: u32 = 0o120_000;
}

/// Calls. Each fails.
pub(crate) mod rustix {
    /// Results and transfers.
    pub(crate) mod io {
        /// A refusal of the host.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct Errno(i32);

        impl Errno {
            pub(crate) const PERM: Errno = Errno(1);
            pub(crate) const NOENT: Errno = Errno(2);
            pub(crate) const AGAIN: Errno = Errno(11);
            pub(crate) const XDEV: Errno = Errno(18);
            pub(crate) const NOSYS: Errno = Errno(38);

            pub(crate) const fn raw_os_error(self) -> i32 {
                self.0
            }
        }

        impl From<Errno> for std::io::Error {
            fn from(_: Errno) -> Self {
                std::io::Error::from(std::io::ErrorKind::Unsupported)
            }
        }

        pub(crate) type Result<T> = std::result::Result<T, Errno>;
    }

    /// Files and folders.
    pub(crate) mod fs {
        use super::super::fd::OwnedFd;
        use super::io::{Errno, Result};
        use std::ffi::{CStr, CString};

        macro_rules! flags {
            ($($name:ident { $($flag:ident = $bit:literal),* })*) => {$(
                #[derive(Clone, Copy, Debug, PartialEq, Eq)]
                pub(crate) struct $name(u32);

                #[allow(dead_code, reason = "each set has what one of them needs")]
                impl $name {
                    $(pub(crate) const $flag: $name = $name($bit);)*

                    pub(crate) const fn empty() -> Self {
                        $name(0)
                    }

                    pub(crate) const fn union(self, other: Self) -> Self {
                        $name(self.0 | other.0)
                    }

                    pub(crate) const fn is_empty(self) -> bool {
                        self.0 == 0
                    }

                    pub(crate) const fn bits(self) -> u32 {
                        self.0
                    }

                    pub(crate) const fn intersects(self, other: Self) -> bool {
                        self.0 & other.0 != 0
                    }

                    pub(crate) const fn difference(self, other: Self) -> Self {
                        $name(self.0 & !other.0)
                    }

                    pub(crate) const fn from_bits_truncate(bits: u32) -> Self {
                        $name(bits)
                    }

                    pub(crate) const fn from_bits_retain(bits: u32) -> Self {
                        $name(bits)
                    }
                }

                impl std::ops::BitOr for $name {
                    type Output = $name;

                    fn bitor(self, other: $name) -> $name {
                        self.union(other)
                    }
                }

                impl From<u32> for $name {
                    fn from(bits: u32) -> $name {
                        $name(bits)
                    }
                }
            )*};
        }

        flags! {
            AtFlags { SYMLINK_NOFOLLOW = 0x100, REMOVEDIR = 0x200, SYMLINK_FOLLOW = 0x400 }
            MemfdFlags { CLOEXEC = 1, ALLOW_SEALING = 2 }
            Mode { RWXU = 0o700 }
            OFlags {
                RDONLY = 0, WRONLY = 1, RDWR = 2, CREATE = 0o100, EXCL = 0o200, NOCTTY = 0o400, TRUNC = 0o1000,
                TMPFILE = 0o20_200_000, APPEND = 0o2000, DIRECTORY = 0o200_000, NOFOLLOW = 0o400_000, CLOEXEC = 0o2_000_000, PATH = 0o10_000_000
            }
            RenameFlags { NOREPLACE = 1 }
            ResolveFlags { NO_XDEV = 1, NO_MAGICLINKS = 2, BENEATH = 8, IN_ROOT = 16 }
            SealFlags { SEAL = 1, SHRINK = 2, GROW = 4, WRITE = 8, FUTURE_WRITE = 16 }
        }

        /// Status of a file.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Stat {
            pub(crate) st_dev: u64,
            pub(crate) st_ino: u64,
            pub(crate) st_mode: u32,
            pub(crate) st_nlink: u64,
            pub(crate) st_size: i64,
        }

        /// Status of a file system.
        pub(crate) struct StatFs {
            pub(crate) f_type: u64,
        }

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum FileType {
            Unknown,
            Socket,
            Fifo,
            RegularFile,
        }

        impl FileType {
            pub(crate) const fn from_raw_mode(_: u32) -> FileType {
                FileType::Unknown
            }

            pub(crate) const fn as_raw_mode(self) -> u32 {
                0
            }
        }

        pub(crate) enum SeekFrom {
            Data(#[expect(dead_code, reason = "nothing is read")] u64),
            Hole(#[expect(dead_code, reason = "nothing is read")] u64),
        }

        /// The working folder of a process.
        pub(crate) const CWD: Nowhere = Nowhere;

        /// A folder that there is not.
        #[derive(Clone, Copy)]
        pub(crate) struct Nowhere;

        /// The entries of a folder.
        pub(crate) struct Dir;

        /// An entry of a folder.
        pub(crate) struct DirEntry;

        impl Dir {
            pub(crate) fn new(_: OwnedFd) -> Result<Dir> {
                Err(Errno::NOSYS)
            }
        }

        impl Iterator for Dir {
            type Item = Result<DirEntry>;

            fn next(&mut self) -> Option<Self::Item> {
                None
            }
        }

        impl DirEntry {
            pub(crate) fn file_name(&self) -> &CStr {
                c""
            }

            pub(crate) fn file_type(&self) -> FileType {
                FileType::Unknown
            }
        }

        macro_rules! calls {
            ($($name:ident<$($of:ident),*>($($argument:ty),*) -> $result:ty;)*) => {$(
                pub(crate) fn $name<$($of),*>($(_: $argument),*) -> Result<$result> {
                    Err(Errno::NOSYS)
                }
            )*};
        }

        calls! {
            chmod<P>(P, Mode) -> ();
            fchmod<F>(F, Mode) -> ();
            fcntl_add_seals<F>(F, SealFlags) -> ();
            fcntl_getfl<F>(F) -> OFlags;
            fcntl_setfl<F>(F, OFlags) -> ();
            fcntl_get_seals<F>(F) -> SealFlags;
            fstat<F>(F) -> Stat;
            fstatfs<F>(F) -> StatFs;
            linkat<A, P, B, Q>(A, P, B, Q, AtFlags) -> ();
            memfd_create<P>(P, MemfdFlags) -> OwnedFd;
            mkdirat<F, P>(F, P, Mode) -> ();
            mknodat<F, P>(F, P, FileType, Mode, u64) -> ();
            open<P>(P, OFlags, Mode) -> OwnedFd;
            openat<F, P>(F, P, OFlags, Mode) -> OwnedFd;
            openat2<F, P>(F, P, OFlags, Mode, ResolveFlags) -> OwnedFd;
            readlinkat<F, P>(F, P, Vec<u8>) -> CString;
            renameat<A, P, B, Q>(A, P, B, Q) -> ();
            renameat_with<A, P, B, Q>(A, P, B, Q, RenameFlags) -> ();
            seek<F>(F, SeekFrom) -> u64;
            stat<P>(P) -> Stat;
            statat<F, P>(F, P, AtFlags) -> Stat;
            symlinkat<P, F, Q>(P, F, Q) -> ();
            unlinkat<F, P>(F, P, AtFlags) -> ();
        }
    }
}
