//! Kinds of events with their counts: exhaustive, and for each point.

/// Counted kind of control transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Call.
    Call,
    /// Back-edge that is not counted as a tail call.
    BackEdge,
    /// Jump to the entry of a function. Counts as an event only if the jump is a back-edge as well.
    TailCall,
}

/// One kind of event: an instruction and where it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKind {
    /// Address of the call or of the branch.
    pub site: u64,
    /// Where it goes if it is taken.
    pub target: u64,
    /// Kind of the transfer.
    pub transfer: Transfer,
    /// How often it was decoded.
    pub count: u64,
}

/// Interns kinds of events and counts them.
///
/// One look-up serves the exhaustive profiles and all points: hot methods are the counts by target,
/// call pairs those of the calls.
#[derive(Clone, Debug)]
pub struct EventTable {
    /// Open addressing: index of a kind plus one, or 0.
    index: Vec<u32>,
    /// 64 minus log2 of the length of `index`.
    shift: u32,
    kinds: Vec<EventKind>,
    /// Row of each kind: its count at each point.
    sampled: Vec<u64>,
    points: usize,
}

impl EventTable {
    const INITIAL_LOG2: u32 = 12;

    /// An empty table for a number of points.
    pub fn new(points: usize) -> Self {
        EventTable {
            index: vec![0; 1 << Self::INITIAL_LOG2],
            shift: 64 - Self::INITIAL_LOG2,
            kinds: Vec::new(),
            sampled: Vec::new(),
            points,
        }
    }

    /// Counts an event; the identity of its kind.
    #[inline]
    pub fn count(&mut self, site: u64, target: u64, transfer: Transfer) -> usize {
        let mut slot = hash(site, target, self.shift);
        loop {
            let Some(id) = (self.index[slot] as usize).checked_sub(1) else {
                return self.insert(site, target, transfer);
            };
            let kind = &mut self.kinds[id];
            if kind.site == site && kind.target == target {
                kind.count += 1;
                return id;
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    /// Counts the event just counted at the points whose bits are set.
    #[inline]
    pub fn count_sampled(&mut self, id: usize, mut mask: u64) {
        let row = &mut self.sampled[id * self.points..(id + 1) * self.points];
        while mask != 0 {
            row[mask.trailing_zeros() as usize] += 1;
            mask &= mask - 1;
        }
    }

    /// All kinds, in the order of their first event.
    pub fn kinds(&self) -> &[EventKind] {
        &self.kinds
    }

    /// All kinds with their counts at a point.
    pub fn at_point(&self, point: usize) -> impl Iterator<Item = (&EventKind, u64)> {
        self.kinds
            .iter()
            .enumerate()
            .map(move |(id, kind)| (kind, self.sampled[id * self.points + point]))
    }

    #[cold]
    fn insert(&mut self, site: u64, target: u64, transfer: Transfer) -> usize {
        if (self.kinds.len() + 1) * 2 > self.index.len() {
            self.grow();
        }
        self.kinds.push(EventKind {
            site,
            target,
            transfer,
            count: 1,
        });
        self.sampled.resize(self.kinds.len() * self.points, 0);
        let id = self.kinds.len() - 1;
        self.link(id);
        id
    }

    fn link(&mut self, id: usize) {
        let kind = self.kinds[id];
        let mut slot = hash(kind.site, kind.target, self.shift);
        while self.index[slot] != 0 {
            slot = (slot + 1) & (self.index.len() - 1);
        }
        self.index[slot] = id as u32 + 1;
    }

    fn grow(&mut self) {
        self.index = vec![0; self.index.len() * 2];
        self.shift -= 1;
        for id in 0..self.kinds.len() {
            self.link(id);
        }
    }
}

/// Fibonacci hashing of both addresses.
#[inline]
fn hash(site: u64, target: u64, shift: u32) -> usize {
    ((site ^ target.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_survive_growth() {
        let transfer = |i: u64| match i % 2 {
            0 => Transfer::Call,
            _ => Transfer::BackEdge,
        };
        let mut table = EventTable::new(2);
        for round in 0..3_u64 {
            for i in 0..10_000_u64 {
                let id = table.count(i * 4, i / 3, transfer(i));
                assert_eq!(id as u64, i);
                table.count_sampled(id, if round == 0 { 0b11 } else { 0b10 });
            }
        }
        assert!(table.kinds().iter().all(|kind| kind.count == 3));
        assert!(table.at_point(0).all(|(_, count)| count == 1));
        assert!(
            table
                .at_point(1)
                .all(|(kind, count)| count == 3 && kind.transfer == transfer(kind.site / 4))
        );
    }
}
