//! A level 2 cache: its tags, MSHRs and ports.

use super::calendar::Calendar;
use super::mshr::Mshrs;
use super::shared::sets;
use super::tags::Tags;
use crate::config::MemoryConfig;

/// A level 2 cache: the chip's, or that of a core.
#[derive(Clone, Debug)]
pub(super) struct Level2 {
    pub tags: Tags,
    pub mshrs: Mshrs,
    pub ports: Box<[Calendar]>,
}

hps_isa::save_state! { Level2 { tags, mshrs, ports } }

impl Level2 {
    pub fn new(memory: &MemoryConfig) -> Self {
        let config = &memory.l2;
        // The lines that wait are those that the level 1 caches have asked for.
        let waiting = match memory.queues_at_l2 {
            true => memory.l1i.mshrs + memory.l1d.mshrs,
            false => 0,
        };
        Level2 {
            tags: Tags::new(sets(config), config.ways as usize, &config.replacement),
            mshrs: Mshrs::queued(config.mshrs, waiting),
            ports: (0..config.ports).map(|_| Calendar::new()).collect(),
        }
    }

    /// The port that is free first for a request that arrives at `arrival`, and when.
    pub fn first_port(&self, arrival: u64) -> (usize, u64) {
        let starts = self.ports.iter().map(|port| port.find(arrival, 1));
        let (port, start) = starts
            .enumerate()
            .min_by_key(|(_, start)| *start)
            .unwrap_or((0, arrival));
        (port, start)
    }

    /// A free MSHR and a way for a line, or the cycle in which to ask again.
    pub fn room(&mut self, now: u64, line: u64) -> Result<(usize, usize), u64> {
        let slot = self.mshrs.free(now)?;
        let mshrs = &self.mshrs;
        match self.tags.choose(line, |old| mshrs.find(now, old).is_some()) {
            Some(way) => Ok((slot, way)),
            None => Err(self.mshrs.next_end(now)),
        }
    }
}
