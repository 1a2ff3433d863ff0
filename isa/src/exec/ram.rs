//! Memory for the tests of single operations.

use crate::bus::{Bus, MemFault};

/// 64 bytes from address 0, of which the upper half cannot be written.
pub(crate) struct Ram(pub(crate) [u8; 64]);

impl Bus for Ram {
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        let mut bytes = [0; 8];
        let slice = self.0.get(addr as usize..).and_then(|rest| rest.get(..N));
        bytes[..N].copy_from_slice(slice.ok_or(MemFault {
            addr,
            unmapped: true,
        })?);
        Ok(u64::from_le_bytes(bytes))
    }
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        if addr >= 32 {
            return Err(MemFault {
                addr,
                unmapped: false,
            });
        }
        self.0[addr as usize..addr as usize + N].copy_from_slice(&value.to_le_bytes()[..N]);
        Ok(())
    }
}
