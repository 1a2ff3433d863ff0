//! Message queues.

use std::collections::VecDeque;

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::identity::capability;
use super::super::outcome::{Outcome, Unserved};
use super::super::record::Record;
use super::super::threads::WaitFor;
use super::{ALTERS, INFO, IPC_64, MOST, NOWAIT, READS, RECORD_BYTES, REMOVE, SET, STAT};

const NOERROR: u64 = 0o10000;
const EXCEPT: u64 = 0o20000;
const COPY: u64 = 0o40000;
/// Bytes of a message, and of all messages in a queue.
const MESSAGE_BYTES: u64 = 8192;
const QUEUE_BYTES: u64 = 16384;
const MSG_STAT: u64 = 11;
const MSG_INFO: u64 = 12;
const MSG_STAT_ANY: u64 = 13;

/// A queue of messages.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(in super::super) struct Queue {
    /// Type and text of each message.
    messages: VecDeque<(i64, Vec<u8>)>,
    room_bytes: u64,
    sent_at: u64,
    received_at: u64,
    changed_at: u64,
    sender: u32,
    receiver: u32,
}

impl Queue {
    fn bytes(&self) -> u64 {
        self.messages
            .iter()
            .map(|(_, text)| text.len() as u64)
            .sum()
    }

    /// Bytes that the host keeps for the messages.
    pub(super) fn held_bytes(&self) -> u64 {
        self.bytes() + self.messages.len() as u64 * RECORD_BYTES
    }

    /// The message that `msgrcv` takes for a type.
    fn find(&self, kind: i64, flags: u64) -> Option<usize> {
        let all = || self.messages.iter().map(|(kind, _)| *kind);
        match kind {
            0 => (!self.messages.is_empty()).then_some(0),
            1.. if flags & EXCEPT != 0 => all().position(|other| other != kind),
            1.. => all().position(|other| other == kind),
            _ => {
                let lowest = all()
                    .filter(|other| *other <= kind.saturating_neg())
                    .min()?;
                all().position(|other| other == lowest)
            }
        }
    }
}

impl Linux {
    pub(in super::super) fn msgget(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [key, flags, ..] = *a;
        let now = self.date_seconds();
        let make = || {
            Ok(Queue {
                messages: VecDeque::new(),
                room_bytes: QUEUE_BYTES,
                sent_at: 0,
                received_at: 0,
                changed_at: now,
                sender: 0,
                receiver: 0,
            })
        };
        let queues = &mut self.family.ipc.queues;
        queues.open(&self.credentials, key as i32, flags, |_| Ok(()), make)
    }

    pub(in super::super) fn msgsnd(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [id, message, size, flags, ..] = *a;
        let kind = mem.read::<8>(message)? as i64;
        if size > MESSAGE_BYTES || kind < 1 {
            return Err(Errno::EINVAL.into());
        }
        let text = mem.readable(message.wrapping_add(8), size)?;
        self.check_room(size + RECORD_BYTES, Errno::ENOMEM)?;
        let (now, pid) = (self.date_seconds(), self.pid);
        let has_waited = self.call.resumed.is_some();
        let entry = match self.family.ipc.queues.get(id) {
            Err(_) if has_waited => return Err(Errno::EIDRM.into()),
            entry => entry?,
        };
        entry.access.permit(&self.credentials, ALTERS)?;
        let queue = &mut entry.object;
        let count = queue.messages.len() as u64;
        if queue.bytes() + size > queue.room_bytes || count + 1 > queue.room_bytes {
            let nonblock = flags & NOWAIT != 0;
            return Err(Unserved::on_file(nonblock, "room in a message queue"));
        }
        queue.messages.push_back((kind, text.to_vec()));
        (queue.sent_at, queue.sender) = (now, pid);
        self.charge_anyway(size + RECORD_BYTES);
        self.wake_on_files();
        Ok(0)
    }

    pub(in super::super) fn msgrcv(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [id, message, size, kind, flags, ..] = *a;
        if (id as i32) < 0 || (size as i64) < 0 {
            return Err(Errno::EINVAL.into());
        }
        if flags & COPY != 0 {
            // A kernel without checkpoints.
            return Err(Errno::ENOSYS.into());
        }
        let (now, pid) = (self.date_seconds(), self.pid);
        let has_waited = self.call.resumed.is_some();
        let entry = match self.family.ipc.queues.get(id) {
            Err(_) if has_waited => return Err(Errno::EIDRM.into()),
            entry => entry?,
        };
        entry.access.permit(&self.credentials, READS)?;
        let queue = &mut entry.object;
        let Some(index) = queue.find(kind as i64, flags) else {
            return match flags & NOWAIT {
                0 => Err(Unserved::wait(WaitFor::File("a message in a queue"), None)),
                _ => Err(Errno::ENOMSG.into()),
            };
        };
        let (kind, text) = &queue.messages[index];
        let len = text.len().min(size as usize);
        if len < text.len() && flags & NOERROR == 0 {
            return Err(Errno::E2BIG.into());
        }
        let record = Record::new().u64(*kind as u64).bytes(&text[..len]).done();
        mem.write_bytes(message, &record)?;
        queue.messages.remove(index);
        (queue.received_at, queue.receiver) = (now, pid);
        self.wake_on_files();
        Ok(len as u64)
    }

    pub(in super::super) fn msgctl(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [id, request, buffer, ..] = *a;
        let request = u64::from(request as u32) & !IPC_64;
        let now = self.date_seconds();
        if matches!(request, INFO | MSG_INFO) {
            // pool, map, largest message, bytes of a queue, queues, segment, messages, segments
            let queues = &self.family.ipc.queues;
            let all = queues
                .iter()
                .map(|(_, entry)| entry.object.messages.len() as u32);
            let bytes = queues.iter().map(|(_, entry)| entry.object.bytes() as u32);
            let (pool, map, count) = match request {
                INFO => (MOST as u32 * 16, QUEUE_BYTES as u32, QUEUE_BYTES as u32),
                _ => (queues.iter().count() as u32, all.sum(), bytes.sum()),
            };
            let words = [
                pool,
                map,
                MESSAGE_BYTES as u32,
                QUEUE_BYTES as u32,
                MOST as u32,
                16,
                count,
            ];
            let record = words.into_iter().fold(Record::new(), Record::u32);
            mem.write_bytes(buffer, &record.u16(0xffff).pad_to(32).done())?;
            return Ok(queues.highest());
        }
        let (id, result) = match request {
            MSG_STAT | MSG_STAT_ANY => {
                let (id, _) = self.family.ipc.queues.at_place(id)?;
                (id, id)
            }
            _ => (id, 0),
        };
        let may_raise = self.may(capability::SYS_RESOURCE);
        let entry = self.family.ipc.queues.get(id)?;
        let queue = &mut entry.object;
        match request {
            STAT | MSG_STAT | MSG_STAT_ANY => {
                if request != MSG_STAT_ANY {
                    entry.access.permit(&self.credentials, READS)?;
                }
                let record = entry
                    .access
                    .record()
                    .u64(queue.sent_at)
                    .u64(queue.received_at)
                    .u64(queue.changed_at)
                    .u64(queue.bytes())
                    .u64(queue.messages.len() as u64)
                    .u64(queue.room_bytes)
                    .u32(queue.sender)
                    .u32(queue.receiver)
                    .pad_to(120);
                mem.write_bytes(buffer, &record.done())?;
            }
            SET => {
                mem.readable(buffer, 120)?;
                let room = mem.read::<8>(buffer.wrapping_add(88))?;
                entry.access.permit_change(&self.credentials)?;
                if room > QUEUE_BYTES && !may_raise {
                    return Err(Errno::EPERM);
                }
                entry.access.change(mem, buffer)?;
                // A guest cannot fill the memory of the host.
                queue.room_bytes = room.min(1 << 20);
                queue.changed_at = now;
                self.wake_on_files();
            }
            REMOVE => {
                entry.access.permit_change(&self.credentials)?;
                self.family.ipc.queues.remove(id);
                self.wake_on_files();
            }
            _ => return Err(Errno::EINVAL),
        }
        Ok(result)
    }
}
