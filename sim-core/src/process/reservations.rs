//! Load reservations where several contexts store to one memory.

/// Bytes of the block that a reservation is for. Any store of another context to it breaks the reservation.
const BLOCK_BYTES: u64 = 64;

/// The reservations that contexts hold. A machine with one context does not keep them: there a reservation is what
/// [`Hart`](crate::hart::Hart) says, and nothing else breaks it.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    /// Contexts, and the blocks that they have reserved.
    held: Vec<(u16, u64)>,
}

impl Reservations {
    /// A context reserves the block at an address, instead of any other.
    pub fn take(&mut self, context: u16, addr: u64) {
        self.drop_of(context);
        self.held.push((context, addr / BLOCK_BYTES));
    }

    /// Whether the reservation of a context on the block at an address still holds.
    #[must_use]
    pub fn is_held(&self, context: u16, addr: u64) -> bool {
        self.held.contains(&(context, addr / BLOCK_BYTES))
    }

    /// A context has no reservation any more.
    pub fn drop_of(&mut self, context: u16) {
        self.held.retain(|(holder, _)| *holder != context);
    }

    /// A context has stored `size` bytes, at least one: breaks the reservations of others there.
    #[inline]
    pub fn stored(&mut self, context: u16, addr: u64, size: u8) {
        if self.held.is_empty() {
            return;
        }
        let first = addr / BLOCK_BYTES;
        let last = addr.wrapping_add(u64::from(size) - 1) / BLOCK_BYTES;
        self.held
            .retain(|(holder, block)| *holder == context || !(first..=last).contains(block));
    }

    /// The operating system may have stored anywhere.
    pub fn clear(&mut self) {
        self.held.clear();
    }
}
