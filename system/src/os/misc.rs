//! Names, limits, randomness.

use hps_isa::layout;
use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::abi::{Abi, Resource};
use super::errno::Errno;
use super::identity::capability;
use super::pending::MOST_QUEUED;
use super::record::{Record, read_words};

const UNLIMITED: u64 = u64::MAX;
const RESOURCES: usize = 16;
/// Memory that a process may lock unless it asks for less, in bytes: Linux's default.
const LOCKED_BYTES: u64 = 8 << 20;

/// Soft and hard limits by number of the resource. Those of open files, of a file's size, of locked memory and of
/// signals that wait have an effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Limits {
    limits: [(u64, u64); RESOURCES],
    files: usize,
    file_size: usize,
    locked_memory: usize,
    pending_signals: usize,
}

impl Limits {
    /// Limits of a new process, which may have `descriptors` files open.
    pub(super) fn new(abi: &dyn Abi, descriptors: u64) -> Limits {
        let mut limits = [(UNLIMITED, UNLIMITED); RESOURCES];
        let files = abi.resource_number(Resource::Files);
        limits[abi.resource_number(Resource::Stack)] = (layout::STACK_BYTES, layout::STACK_BYTES);
        limits[abi.resource_number(Resource::Core)] = (0, 0);
        limits[files] = (descriptors, descriptors);
        let locked_memory = abi.resource_number(Resource::LockedMemory);
        limits[locked_memory] = (LOCKED_BYTES, LOCKED_BYTES);
        let pending_signals = abi.resource_number(Resource::PendingSignals);
        limits[pending_signals] = (MOST_QUEUED as u64, MOST_QUEUED as u64);
        Limits {
            limits,
            files,
            file_size: abi.resource_number(Resource::FileSize),
            locked_memory,
            pending_signals,
        }
    }

    /// Descriptors that may be open.
    pub(super) fn descriptors(&self) -> u64 {
        self.limits[self.files].0
    }

    /// Signals that may wait for all processes together.
    pub(super) fn pending_signals(&self) -> u64 {
        self.limits[self.pending_signals].0
    }

    /// Bytes of memory that may be locked.
    pub(super) fn locked_bytes(&self) -> u64 {
        self.limits[self.locked_memory].0
    }

    /// The largest size to which a file may grow, in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        self.limits[self.file_size].0
    }
}

impl Linux {
    pub(super) fn uname(&self, mem: &mut Memory, buffer: u64) -> Result<u64, Errno> {
        const FIELD: usize = 65;
        let mut record = Record::new();
        let (name, release) = self.abi.system();
        let fields = [name, "hps", release, "#1", self.abi.machine(), "(none)"];
        for (index, field) in fields.iter().enumerate() {
            record = record.bytes(field.as_bytes()).pad_to((index + 1) * FIELD);
        }
        mem.write_bytes(buffer, &record.done())?;
        Ok(0)
    }

    /// `uname` of OSF/1.
    pub(super) fn osf_utsname(&self, mem: &mut Memory, buffer: u64) -> Result<u64, Errno> {
        const FIELD: usize = 32;
        let (name, release) = self.abi.system();
        let mut record = Record::new();
        let fields = [name, "hps", release, "#1", self.abi.machine()];
        for (index, field) in fields.iter().enumerate() {
            record = record.bytes(field.as_bytes()).pad_to((index + 1) * FIELD);
        }
        mem.write_bytes(buffer, &record.done())?;
        Ok(0)
    }

    /// `gethostname` and `getdomainname`: the name, cut to the buffer.
    pub(super) fn host_name(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const NAME: &[u8] = b"hps\0";
        let [buffer, size, ..] = *a;
        if (size as i32) < 0 {
            return Err(Errno::EINVAL);
        }
        let len = NAME.len().min(size as u32 as usize);
        mem.write_bytes(buffer, &NAME[..len])?;
        Ok(0)
    }

    /// `getrlimit` and `setrlimit`, whose number for "no limit" is not everywhere that of `prlimit64`.
    pub(super) fn rlimit(
        &mut self,
        mem: &mut Memory,
        resource: u64,
        buffer: u64,
        set: bool,
    ) -> Result<u64, Errno> {
        let (new, old) = if set { (buffer, 0) } else { (0, buffer) };
        self.exchange_limit(mem, resource, new, old, self.abi.unlimited())
    }

    pub(super) fn prlimit(
        &mut self,
        mem: &mut Memory,
        resource: u64,
        new: u64,
        old: u64,
    ) -> Result<u64, Errno> {
        self.exchange_limit(mem, resource, new, old, UNLIMITED)
    }

    /// Reads and changes a limit; `unlimited` stands for none in guest memory.
    fn exchange_limit(
        &mut self,
        mem: &mut Memory,
        resource: u64,
        new: u64,
        old: u64,
        unlimited: u64,
    ) -> Result<u64, Errno> {
        let inner = |value| if value >= unlimited { UNLIMITED } else { value };
        let outer = |value: u64| value.min(unlimited);
        let index = usize::try_from(resource)
            .ok()
            .filter(|&i| i < RESOURCES)
            .ok_or(Errno::EINVAL)?;
        let current = self.limits.limits[index];
        let wanted = match new {
            0 => current,
            addr => {
                let [soft, hard] = read_words(mem, addr)?;
                (inner(soft), inner(hard))
            }
        };
        if wanted.0 > wanted.1 {
            return Err(Errno::EINVAL);
        }
        /// `/proc/sys/fs/nr_open`.
        const MOST_FILES: u64 = 1 << 20;
        let is_too_many = index == self.limits.files && wanted.1 > MOST_FILES;
        if is_too_many || wanted.1 > current.1 && !self.may(capability::SYS_RESOURCE) {
            return Err(Errno::EPERM);
        }
        super::record::write_optional(
            mem,
            old,
            &Record::new()
                .u64(outer(current.0))
                .u64(outer(current.1))
                .done(),
        )?;
        self.limits.limits[index] = wanted;
        Ok(0)
    }

    pub(super) fn prlimit64(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [pid, resource, new, old, ..] = *a;
        if pid as u32 != 0 && pid as u32 != self.pid {
            return Err(Errno::ESRCH);
        }
        self.prlimit(mem, resource, new, old)
    }

    pub(super) fn getrandom(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const MAX_BYTES: u64 = 1 << 25;
        // GRND_NONBLOCK, GRND_RANDOM and GRND_INSECURE; the last two exclude each other.
        const KNOWN: u32 = 7;
        const EXCLUSIVE: u32 = 6;
        let flags = a[2] as u32;
        if flags & !KNOWN != 0 || flags & EXCLUSIVE == EXCLUSIVE {
            return Err(Errno::EINVAL);
        }
        let len = a[1].min(MAX_BYTES);
        self.run.random.fill(mem.writable(a[0], len)?);
        Ok(len)
    }
}
