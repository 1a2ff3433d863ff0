//! Open files that are sent over Unix sockets (`SCM_RIGHTS`).
//!
//! The open file itself is sent: those who receive it share its position and its flags with the sender. While it is
//! under way it is open, whoever closes it; it is closed when nobody can receive it any more.

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::record::Record;
use super::address::Family;
use super::lock;

/// The most open files with one message (`SCM_MAX_FD`).
const MOST_FILES: usize = 253;
/// The most bytes of control messages with one message (Linux `net.core.optmem_max`).
const MOST_CONTROL_BYTES: u64 = 131_072;
/// Bytes of a `struct cmsghdr`.
const HEADER_BYTES: u64 = 16;
/// `SCM_RIGHTS` and `SCM_CREDENTIALS`.
const RIGHTS: u32 = 1;
const CREDENTIALS: u32 = 2;

/// Where control messages lie.
#[derive(Clone, Copy)]
pub(super) struct Control {
    pub at: u64,
    pub len: u64,
}

/// A control message: its kind at `SOL_SOCKET`, and its content.
type Message<'a> = (u32, &'a [u8]);

impl Linux {
    /// The open files that control messages send over a socket; each is shared once more.
    pub(super) fn rights_to_send(
        &mut self,
        mem: &Memory,
        id: u64,
        control: Control,
    ) -> Result<Vec<usize>, Errno> {
        if control.len == 0 {
            return Ok(Vec::new());
        }
        if control.len > MOST_CONTROL_BYTES {
            return Err(Errno::ENOBUFS);
        }
        let bytes = mem.readable(control.at, control.len)?;
        let is_unix = lock(&self.run.network).get(id)?.family == Family::Unix;
        let mut slots = Vec::new();
        for (kind, content) in messages(bytes, self.abi.socket_rules().level)? {
            match kind {
                RIGHTS if is_unix => {
                    for fd in content.chunks_exact(4) {
                        let fd = fd
                            .iter()
                            .rev()
                            .fold(0, |all, byte| all << 8 | u64::from(*byte));
                        slots.push(self.files.slot(fd)?);
                    }
                }
                CREDENTIALS if is_unix => {
                    self.run.warnings.once(
                        "a message with credentials is refused: sockets carry bytes and descriptors",
                    );
                    return Err(Errno::EOPNOTSUPP);
                }
                // They mean something to Unix sockets alone.
                RIGHTS | CREDENTIALS => {}
                _ => return Err(Errno::EINVAL),
            }
            if slots.len() > MOST_FILES {
                return Err(Errno::EINVAL);
            }
        }
        let is_crowded = lock(&self.run.network).in_flight as u64 > self.limits.descriptors();
        if is_crowded && !slots.is_empty() {
            return Err(Errno::ETOOMANYREFS);
        }
        for &slot in &slots {
            self.files.share(slot);
        }
        Ok(slots)
    }

    /// Open files that were received, or are still under way if the call only `peeks`.
    pub(super) fn received_rights(&mut self, slots: Vec<usize>, peeks: bool) -> Vec<usize> {
        if peeks {
            slots.iter().for_each(|&slot| self.files.share(slot));
        }
        slots
    }

    /// Gives descriptors to open files that were received, and writes a control message with them. What there is no
    /// room for is closed. The bytes of control that were used, and whether something was closed.
    pub(super) fn hand_out(
        &mut self,
        mem: &mut Memory,
        slots: Vec<usize>,
        control: Control,
        cloexec: bool,
    ) -> (u64, bool) {
        let room = mem.writable_prefix_bytes(control.at, control.len);
        let room = if control.at == 0 { 0 } else { room };
        let fitting = (room.saturating_sub(HEADER_BYTES) / 4) as usize;
        let mut record = Record::new();
        let mut given = 0;
        for &slot in slots.iter().take(fitting) {
            let limit = self.limits.descriptors();
            let Ok(fd) = self.files.give_descriptor(slot, cloexec, limit) else {
                break;
            };
            record = record.u32(fd as u32);
            given += 1;
        }
        let is_cut = given < slots.len();
        self.files.release(slots[given..].to_vec());
        if given == 0 {
            return (0, is_cut);
        }
        let len = HEADER_BYTES + 4 * given as u64;
        let level = self.abi.socket_rules().level as u32;
        let header = Record::new().u64(len).u32(level).u32(RIGHTS).done();
        // There is room for both.
        let _ = mem.write_bytes(control.at, &header);
        let _ = mem.write_bytes(control.at + HEADER_BYTES, &record.done());
        (len.next_multiple_of(8).min(control.len), is_cut)
    }
}

/// The control messages at `SOL_SOCKET`, whose number is `level`.
fn messages(bytes: &[u8], level: u64) -> Result<Vec<Message<'_>>, Errno> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while rest.len() as u64 >= HEADER_BYTES {
        let word =
            |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let len = u64::from(word(0)) | u64::from(word(4)) << 32;
        if len < HEADER_BYTES || len > rest.len() as u64 {
            return Err(Errno::EINVAL);
        }
        if u64::from(word(8)) == level {
            found.push((word(12), &rest[HEADER_BYTES as usize..len as usize]));
        }
        rest = rest
            .get(len.next_multiple_of(8) as usize..)
            .unwrap_or_default();
    }
    Ok(found)
}
