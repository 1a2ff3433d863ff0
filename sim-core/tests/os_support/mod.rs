//! A guest whose system calls are made by the test. Scenarios that hold under Linux on both
//! instruction sets run in [`on_both`]: they use the generic numbers, flags and errors, which are
//! translated for Alpha here.
#![allow(dead_code, missing_docs)]

pub mod alpha;
pub(crate) use crate::loader_support;

use std::cell::Cell;
use std::sync::Arc;

use hps_system::image::{Isa, ProgramImage};
use hps_system::os::SyscallResult;
use hps_system::process::{Process, ProcessConfig};

/// Memory for arguments and results: the data segment of the test program.
pub const BUFFER: u64 = 0x12800;
/// A second place in it, for paths.
pub const PATH: u64 = 0x12000;

pub struct Guest(pub Process);

/// `-errno` as the guest sees it.
pub const fn error(number: i64) -> i64 {
    -number
}

pub const EPERM: i64 = -1;
pub const ENOENT: i64 = -2;
pub const ESRCH: i64 = -3;
pub const EINTR: i64 = -4;
pub const EBADF: i64 = -9;
pub const EAGAIN: i64 = -11;
pub const ENOMEM: i64 = -12;
pub const EACCES: i64 = -13;
pub const EFAULT: i64 = -14;
pub const EEXIST: i64 = -17;
pub const ENODEV: i64 = -19;
pub const ENOTDIR: i64 = -20;
pub const EISDIR: i64 = -21;
pub const EINVAL: i64 = -22;
pub const EMFILE: i64 = -24;
pub const ENOTTY: i64 = -25;
pub const ESPIPE: i64 = -29;
pub const EROFS: i64 = -30;
pub const EPIPE: i64 = -32;
pub const ERANGE: i64 = -34;
pub const ENOSYS: i64 = -38;
pub const ENOTEMPTY: i64 = -39;
pub const ELOOP: i64 = -40;
pub const AT_FDCWD: u64 = -100i64 as u64;

thread_local! {
    static ISA: Cell<Isa> = const { Cell::new(Isa::Riscv64) };
}

/// Runs a scenario with guests of each instruction set.
pub fn on_both(scenario: impl Fn()) {
    for isa in Isa::ALL {
        ISA.set(isa);
        scenario();
    }
    ISA.set(Isa::Riscv64);
}

/// The instruction set of the guests that are made now.
pub fn isa() -> Isa {
    ISA.get()
}

impl Guest {
    pub fn new(config: &ProcessConfig) -> Guest {
        let elf = match isa() {
            Isa::Riscv64 => loader_support::Elf::default(),
            Isa::Alpha => loader_support::Elf::alpha(),
        };
        let image = ProgramImage::parse(&elf.build(), "dir/prog").unwrap();
        Guest(Process::new(Arc::new(image), config).unwrap())
    }

    fn isa(&self) -> Isa {
        self.0.image.isa
    }

    /// Makes a system call by its generic number.
    pub fn raw(&mut self, number: u64, args: &[u64]) -> SyscallResult {
        if self.isa() == Isa::Alpha {
            let (number, args) = alpha::translate(number, args);
            return self.raw_alpha(number, &args);
        }
        let hart = &mut self.0.thread.hart;
        hart.r[17] = number;
        hart.r[10..16].fill(0);
        hart.r[10..10 + args.len()].copy_from_slice(args);
        self.0.syscall()
    }

    /// Makes a system call that continues and returns its result, `-errno` if it failed.
    pub fn call(&mut self, number: u64, args: &[u64]) -> i64 {
        assert_eq!(self.raw(number, args), SyscallResult::Continue);
        match self.isa() {
            Isa::Riscv64 => self.0.thread.hart.r[10] as i64,
            Isa::Alpha => alpha::generic_result(&self.0.thread.hart),
        }
    }

    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.0.os.abi().stack_pointer(&self.0.thread.hart)
    }

    pub fn put(&mut self, addr: u64, bytes: &[u8]) {
        self.0.mem.write_bytes(addr, bytes).unwrap();
    }

    pub fn put_words(&mut self, addr: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.put(addr, &bytes);
    }

    pub fn get(&self, addr: u64, len: usize) -> Vec<u8> {
        self.0.mem.readable(addr, len as u64).unwrap().to_vec()
    }

    pub fn word(&self, addr: u64) -> u64 {
        self.0.mem.read::<8>(addr).unwrap()
    }

    pub fn half(&self, addr: u64) -> u32 {
        self.0.mem.read::<4>(addr).unwrap() as u32
    }

    /// A path in guest memory.
    pub fn path(&mut self, path: &str) -> u64 {
        self.put(PATH, path.as_bytes());
        self.put(PATH + path.len() as u64, &[0]);
        PATH
    }

    pub fn open(&mut self, path: &str, flags: u64) -> i64 {
        let path = self.path(path);
        self.call(56, &[AT_FDCWD, path, flags, 0o644])
    }

    pub fn write(&mut self, fd: u64, text: &[u8]) -> i64 {
        self.put(BUFFER, text);
        self.call(64, &[fd, BUFFER, text.len() as u64])
    }

    pub fn read(&mut self, fd: u64, len: u64) -> Result<Vec<u8>, i64> {
        match self.call(63, &[fd, BUFFER, len]) {
            n @ 0.. => Ok(self.get(BUFFER, n as usize)),
            errno => Err(errno),
        }
    }
}
