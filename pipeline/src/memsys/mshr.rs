//! Miss status holding registers: lines on their way.
//!
//! Accesses may come a little out of order of time (see [`super`]), so a register also knows since when
//! its line is on its way: before that it is free to an access that comes later but lies earlier.

use super::Level;
use super::disorder::DisorderStats;

/// Places for each register where accesses come out of order: what is taken for later does not keep an
/// earlier access out.
const PLACES_OUT_OF_ORDER: usize = 4;

/// Groups of lines, by their last bits, of which it is known until when any is on its way.
const GROUPS: usize = 64;

/// A line that nobody asks for.
const NO_LINE: u64 = u64::MAX;

/// A line on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InFlight {
    pub line: u64,
    /// Cycle of the access that asked for it.
    pub start: u64,
    /// Cycle in which the whole line is there.
    pub end: u64,
    /// Where it comes from.
    pub level: Level,
    /// Cycle in which the part is there that was asked for.
    pub first: u64,
    /// Number of that part.
    pub asked: u64,
}

hps_isa::save_state! { InFlight { line, start, end, level, first, asked } }

impl InFlight {
    /// The start of a fill for an access at `now`. A cycle early, since the second half of an access
    /// to two lines begins in the cycle after its own.
    #[inline]
    pub fn started(now: u64) -> u64 {
        now.saturating_sub(1)
    }

    /// Whether it takes a register in this cycle.
    #[inline]
    pub fn is_busy(&self, now: u64) -> bool {
        self.start <= now && self.end > now
    }

    /// Cycle in which the whole line is there for an access at `now`. One that lies before the access
    /// that asked for the line would have asked itself, and had it so much earlier.
    #[inline]
    pub fn end_for(&self, now: u64) -> u64 {
        self.end - self.start.saturating_sub(now)
    }

    /// Cycle in which a part of the line is there for an access at `now`, as [`InFlight::end_for`]. Parts come one after the
    /// other from the one on that was asked for; a line of one part is there as a whole.
    #[inline]
    pub fn part_for(&self, now: u64, part: u64, parts: u64) -> u64 {
        if parts <= 1 {
            return self.end_for(now);
        }
        let behind = (part + parts - self.asked) % parts;
        let there = self.first + behind * (self.end - self.first) / (parts - 1);
        there - self.start.saturating_sub(now)
    }
}

/// The registers of one cache.
#[derive(Clone, Debug)]
pub(super) struct Mshrs {
    slots: Box<[InFlight]>,
    /// The slots in order of their ends, and then of their numbers. Few of them end late, and a search for a line
    /// looks at those alone.
    order: Box<[u16]>,
    count: usize,
    /// Whether accesses come in order of time.
    is_in_order: bool,
    /// From this cycle on no line of a group is on its way.
    quiet_from: [u64; GROUPS],
    /// Lines that got a register out of order of time.
    pub crowded: DisorderStats,
}

hps_isa::save_state! { Mshrs { slots, order, count: skip, is_in_order: skip, quiet_from, crowded } }

impl Mshrs {
    pub fn new(count: u32) -> Self {
        Mshrs::with_slots(count, count as usize)
    }

    /// Empty registers for which so many more lines may wait.
    pub fn queued(count: u32, more: u32) -> Self {
        Mshrs::with_slots(count, (count + more) as usize)
    }

    /// Empty registers for accesses that do not come in order of time.
    pub fn out_of_order(count: u32) -> Self {
        Mshrs {
            is_in_order: false,
            ..Mshrs::with_slots(count, count as usize * PLACES_OUT_OF_ORDER)
        }
    }

    fn with_slots(count: u32, slots: usize) -> Self {
        let empty = InFlight {
            line: 0,
            start: 0,
            end: 0,
            level: Level::L1,
            first: 0,
            asked: 0,
        };
        Mshrs {
            slots: vec![empty; slots].into_boxed_slice(),
            order: (0..slots as u16).collect(),
            count: count as usize,
            is_in_order: true,
            quiet_from: [0; GROUPS],
            crowded: DisorderStats::default(),
        }
    }

    /// True: this line is not on its way.
    #[inline(always)]
    pub fn is_quiet(&self, now: u64, line: u64) -> bool {
        now >= self.quiet_from[line as usize % GROUPS]
    }

    /// The slots whose lines are there after this cycle, and their numbers, the latest first.
    #[inline]
    fn late(&self, now: u64) -> impl Iterator<Item = (u16, &InFlight)> {
        let slots = self.order.iter().rev();
        let slots = slots.map(|at| (*at, &self.slots[usize::from(*at)]));
        slots.take_while(move |(_, slot)| slot.end > now)
    }

    /// The register of a line that is on its way.
    #[inline]
    pub fn find(&self, now: u64, line: u64) -> Option<InFlight> {
        if self.is_quiet(now, line) {
            return None;
        }
        // A line can be there twice where accesses come out of order.
        let same = self.late(now).filter(|(_, slot)| slot.line == line);
        let found = same.min_by_key(|(at, _)| *at)?;
        Some(*found.1)
    }

    /// A line on its way goes on to another core when it comes: its registers stay taken, and no access joins it any more.
    pub fn pass_on(&mut self, line: u64) {
        for slot in &mut self.slots {
            if slot.line == line {
                slot.line = NO_LINE;
            }
        }
    }

    /// A free register, or the cycle in which one becomes free.
    pub fn free(&self, now: u64) -> Result<usize, u64> {
        let busy = self.late(now).filter(|(_, slot)| slot.start <= now);
        let (mut count, mut next_end) = (0, u64::MAX);
        for (_, slot) in busy {
            count += 1;
            next_end = slot.end;
        }
        if count >= self.count {
            return Err(next_end);
        }
        // The one that has been free for longest.
        Ok(usize::from(self.order[0]))
    }

    /// The cycle, after `now`, in which the next line is there.
    pub fn next_end(&self, now: u64) -> u64 {
        let busy = self.late(now).filter(|(_, slot)| slot.is_busy(now));
        busy.map(|(_, slot)| slot.end).last().unwrap_or(now + 1)
    }

    /// Lines on their way in a cycle, the latest first, without those that go on to other cores.
    pub fn busy(&self, now: u64) -> impl Iterator<Item = InFlight> {
        let late = self.late(now).filter(move |(_, slot)| slot.is_busy(now));
        late.map(|(_, slot)| *slot)
            .filter(|slot| slot.line != NO_LINE)
    }

    /// Whether every register is taken, and the next one becomes free when a line comes from another core.
    pub fn wait_for_cores(&self, now: u64) -> bool {
        let next_end = self.free(now).err();
        let mut late = self.late(now);
        next_end
            .is_some_and(|end| late.any(|(_, slot)| slot.end == end && slot.level == Level::Core))
    }

    /// How many registers there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether all registers are taken at some time between the start of a line that is asked for and its end, for
    /// accesses of later cycles that came before.
    fn is_crowded(&self, line: &InFlight) -> bool {
        let later = self
            .late(line.start)
            .filter(|(_, slot)| (line.start + 1..line.end).contains(&slot.start));
        later
            .map(|(_, slot)| {
                self.late(slot.start)
                    .filter(|(_, other)| other.start <= slot.start)
            })
            .any(|busy| busy.count() >= self.count)
    }

    /// Takes the free register.
    pub fn take(&mut self, slot: usize, line: InFlight) {
        debug_assert_eq!(slot, usize::from(self.order[0]));
        if !self.is_in_order && self.is_crowded(&line) {
            self.crowded.crowded_events += 1;
            self.crowded.crowded_cycles += line.end - line.start;
        }
        self.slots[slot] = line;
        let quiet_from = &mut self.quiet_from[line.line as usize % GROUPS];
        *quiet_from = line.end.max(*quiet_from);
        let key = |at: u16| (self.slots[usize::from(at)].end, at);
        let taken = (line.end, slot as u16);
        let place = self.order.iter().rposition(|at| key(*at) <= taken);
        let place = place.unwrap_or(0);
        self.order.copy_within(1..=place, 0);
        self.order[place] = slot as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    /// By looking at every slot.
    struct Brute(Vec<InFlight>, usize);

    impl Brute {
        fn find(&self, now: u64, line: u64) -> Option<InFlight> {
            let mut slots = self.0.iter();
            slots.find(|s| s.line == line && s.end > now).copied()
        }

        fn free(&self, now: u64) -> Result<usize, u64> {
            let busy = self.0.iter().filter(|s| s.is_busy(now));
            if busy.clone().count() >= self.1 {
                return Err(busy.map(|s| s.end).min().unwrap());
            }
            let slots = 0..self.0.len();
            Ok(slots.min_by_key(|at| self.0[*at].end).unwrap())
        }
    }

    #[test]
    fn the_late_ones_say_what_all_say() {
        let mut random = Random::new(13);
        for places in [1, PLACES_OUT_OF_ORDER] {
            let mut mshrs = match places {
                1 => Mshrs::new(4),
                _ => Mshrs::out_of_order(4),
            };
            let mut brute = Brute(mshrs.slots.to_vec(), 4);
            let (mut time, mut merged, mut refused) = (10, 0, 0);
            for _ in 0..20_000 {
                time += random.below(6);
                // Only with more places do accesses come out of order.
                let now = time - if places > 1 { random.below(10) } else { 0 };
                // Three lines to a group.
                let line = random.below(12) * (GROUPS as u64 / 4);
                let found = mshrs.find(now, line);
                assert_eq!(found, brute.find(now, line));
                if found.is_some() {
                    merged += 1;
                    continue;
                }
                let free = mshrs.free(now);
                assert_eq!(free, brute.free(now));
                let Ok(slot) = free else {
                    let ends = brute.0.iter().filter(|s| s.is_busy(now)).map(|s| s.end);
                    assert_eq!(mshrs.next_end(now), ends.min().unwrap());
                    refused += 1;
                    continue;
                };
                let in_flight = InFlight {
                    line,
                    start: InFlight::started(now),
                    // Several end in the same cycle.
                    end: now + 5 * (1 + random.below(6)),
                    level: Level::L2,
                    first: now,
                    asked: 0,
                };
                mshrs.take(slot, in_flight);
                brute.0[slot] = in_flight;
            }
            assert!(merged > 100 && refused > 100);
        }
    }
}
