//! How an executing instruction reaches memory.

/// An access that memory refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemFault {
    /// The first byte that cannot be accessed.
    pub addr: u64,
    /// Nothing is mapped there (as opposed to: mapped without the permission).
    pub unmapped: bool,
}

/// Data memory as an instruction sees it. The functional machine passes guest memory itself; the
/// pipeline passes a view through its stores in flight.
pub trait Bus {
    /// Whether every access that is not naturally aligned is refused.
    const ONLY_ALIGNED: bool = false;
    /// Reads `N` (1, 2, 4 or 8) bytes, little-endian, zero-extended. Any alignment, but
    /// for [`Bus::ONLY_ALIGNED`].
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault>;
    /// Writes the low `N` (1, 2, 4 or 8) bytes of `value`, little-endian. Any alignment, but
    /// for [`Bus::ONLY_ALIGNED`].
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault>;
}

/// No memory at all, for operations that only compute.
#[derive(Clone, Copy, Debug)]
pub struct NoMemory;

impl Bus for NoMemory {
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        Err(MemFault {
            addr,
            unmapped: true,
        })
    }

    fn store<const N: usize>(&mut self, addr: u64, _: u64) -> Result<(), MemFault> {
        self.load::<N>(addr).map(|_| ())
    }
}
