//! Error numbers of Linux. The values are those of the generic ABI; an ABI with other values
//! translates them where it encodes results.

use std::io;

#[cfg(not(target_family = "wasm"))]
use crate::host::sys::libc;
use crate::host::sys::rustix;

macro_rules! errnos {
    ($($name:ident = $value:literal, $doc:literal;)*) => {
        /// Why a system call failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u16)]
        pub enum Errno {
            $(#[doc = $doc] $name = $value,)*
        }

        impl Errno {
            /// The error that the host reports by this number. Numbers that a guest has no use
            /// for become [`Errno::EIO`].
            #[cfg(not(target_family = "wasm"))]
            fn from_host(number: i32) -> Errno {
                match number {
                    $(libc::$name => Errno::$name,)*
                    _ => Errno::EIO,
                }
            }

            /// Without an operating system numbers are those that stand for its calls.
            #[cfg(target_family = "wasm")]
            fn from_host(number: i32) -> Errno {
                match number {
                    $($value => Errno::$name,)*
                    _ => Errno::EIO,
                }
            }
        }
    };
}

errnos! {
    EPERM = 1, "Operation not permitted";
    ENOENT = 2, "No such file or directory";
    ESRCH = 3, "No such process";
    EINTR = 4, "Interrupted by a signal";
    EIO = 5, "Input or output error";
    ENXIO = 6, "No such device or address";
    E2BIG = 7, "Argument list too long";
    ENOEXEC = 8, "Exec format error";
    EBADF = 9, "Bad file descriptor";
    ECHILD = 10, "No child processes";
    EAGAIN = 11, "Try again";
    ENOMEM = 12, "Out of memory";
    EACCES = 13, "Permission denied";
    EFAULT = 14, "Bad address";
    EBUSY = 16, "Resource busy";
    EEXIST = 17, "File exists";
    EXDEV = 18, "Link across devices";
    ENODEV = 19, "No such device";
    ENOTDIR = 20, "Not a directory";
    EISDIR = 21, "Is a directory";
    EINVAL = 22, "Invalid argument";
    ENFILE = 23, "Too many open files in the system";
    EMFILE = 24, "Too many open files";
    ENOTTY = 25, "Not a terminal";
    ETXTBSY = 26, "Text file busy";
    EFBIG = 27, "File too large";
    ENOSPC = 28, "No space left on device";
    ESPIPE = 29, "Illegal seek";
    EROFS = 30, "Read-only file system";
    EMLINK = 31, "Too many links";
    EPIPE = 32, "Broken pipe";
    ERANGE = 34, "Result does not fit";
    EDEADLK = 35, "Deadlock";
    ENAMETOOLONG = 36, "File name too long";
    ENOLCK = 37, "No locks available";
    ENOSYS = 38, "No such system call";
    ENOTEMPTY = 39, "Directory not empty";
    ELOOP = 40, "Too many symbolic links";
    ENOMSG = 42, "No message of that type";
    EIDRM = 43, "Identifier removed";
    EOVERFLOW = 75, "Value too large";
    ELIBBAD = 80, "Damaged shared library, or none";
    ENOTSOCK = 88, "Not a socket";
    EDESTADDRREQ = 89, "No destination given";
    EMSGSIZE = 90, "Message too long";
    ENOBUFS = 105, "No buffer space available";
    ETOOMANYREFS = 109, "Too many references: cannot splice";
    ENOPROTOOPT = 92, "No such option of a protocol";
    EPROTONOSUPPORT = 93, "Protocol not supported";
    ESOCKTNOSUPPORT = 94, "Kind of socket not supported";
    EOPNOTSUPP = 95, "Operation not supported";
    EAFNOSUPPORT = 97, "Address family not supported";
    EADDRINUSE = 98, "Address in use";
    EADDRNOTAVAIL = 99, "No such address of this host";
    ENETUNREACH = 101, "Network unreachable";
    ECONNRESET = 104, "Connection reset by the other end";
    EISCONN = 106, "Already connected";
    ENOTCONN = 107, "Not connected";
    ETIMEDOUT = 110, "Timed out";
    ECONNREFUSED = 111, "Connection refused";
    EINPROGRESS = 115, "Connecting";
    EDQUOT = 122, "Quota exceeded";
}

impl Errno {
    /// The number in the generic ABI.
    #[must_use]
    pub const fn generic_number(self) -> u16 {
        self as u16
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        match (error.raw_os_error(), error.kind()) {
            (Some(number), _) => Errno::from_host(number),
            (None, io::ErrorKind::WriteZero) => Errno::ENOSPC,
            // The run is out of time, and ends.
            (None, io::ErrorKind::TimedOut) => Errno::EINTR,
            (None, io::ErrorKind::InvalidInput) => Errno::EINVAL,
            (None, _) => Errno::EIO,
        }
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Errno::from_host(error.raw_os_error())
    }
}

impl From<hps_isa::bus::MemFault> for Errno {
    fn from(_: hps_isa::bus::MemFault) -> Self {
        Errno::EFAULT
    }
}

impl From<hps_isa::memory::MemoryError> for Errno {
    fn from(error: hps_isa::memory::MemoryError) -> Self {
        match error {
            hps_isa::memory::MemoryError::BadRange { .. } => Errno::EINVAL,
            _ => Errno::ENOMEM,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Errno;

    #[test]
    fn host_errors_are_translated() {
        let error = |n| Errno::from(std::io::Error::from_raw_os_error(n));
        assert_eq!(error(libc::ENOSPC), Errno::ENOSPC);
        assert_eq!(error(libc::EPIPE), Errno::EPIPE);
        assert_eq!(error(libc::ENOTEMPTY), Errno::ENOTEMPTY);
        assert_eq!(error(9999), Errno::EIO);
    }
}
