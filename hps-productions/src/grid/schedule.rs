//! When each point's sampling is on: a bit mask that changes only at toggles, a plain word since each event reads it.

use crate::point::SamplePoint;

/// The most points of one grid: one bit each.
pub const MAX_POINTS: usize = 64;

/// The state of all points after `completed` events.
#[derive(Clone, Debug)]
pub struct Schedule {
    points: Vec<SamplePoint>,
    /// The number of completed events at which each point toggles next.
    next: Vec<u64>,
    next_toggle: u64,
    completed: u64,
    mask: u64,
}

impl Schedule {
    /// The schedule of at most [`MAX_POINTS`] valid points, before the first event.
    pub fn new(points: &[SamplePoint]) -> Self {
        let never_off = |p: &SamplePoint| {
            if p.sparsity == 0 {
                u64::MAX
            } else {
                p.sparsity
            }
        };
        let mut schedule = Schedule {
            next: points.iter().map(never_off).collect(),
            points: points.to_vec(),
            next_toggle: u64::MAX,
            completed: 0,
            mask: 0,
        };
        for (bit, point) in points.iter().enumerate() {
            schedule.mask |= u64::from(point.sparsity == 0) << bit;
        }
        schedule.next_toggle = schedule.next.iter().copied().min().unwrap_or(u64::MAX);
        schedule
    }

    /// Bit `i`: point `i` samples the instruction that comes next.
    #[inline]
    pub const fn mask(&self) -> u64 {
        self.mask
    }

    /// Events completed.
    #[inline]
    pub const fn completed(&self) -> u64 {
        self.completed
    }

    /// Completes an event. Returns the points whose sampling it switched on or off.
    #[inline]
    pub fn complete_event(&mut self) -> u64 {
        self.completed += 1;
        if self.completed == self.next_toggle {
            self.toggle()
        } else {
            0
        }
    }

    #[inline(never)]
    fn toggle(&mut self) -> u64 {
        let before = self.mask;
        for (bit, point) in self.points.iter().enumerate() {
            if self.next[bit] != self.completed {
                continue;
            }
            self.mask ^= 1 << bit;
            let was_on = self.mask >> bit & 1 == 0;
            let stays = if was_on { point.sparsity } else { point.burst };
            self.next[bit] = self.completed.saturating_add(stays);
        }
        self.next_toggle = self.next.iter().copied().min().unwrap_or(u64::MAX);
        before ^ self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_follows_the_definition() {
        let points = [(1, 0), (1, 1), (3, 2), (1, 9), (10, 1), (7, 0), (2, 1000)];
        let points = points.map(|(burst, sparsity)| SamplePoint { burst, sparsity });
        let mut schedule = Schedule::new(&points);
        for completed in 0..5000 {
            assert_eq!(schedule.completed(), completed);
            for (bit, point) in points.iter().enumerate() {
                assert_eq!(
                    schedule.mask() >> bit & 1 != 0,
                    point.is_on(completed),
                    "{point} at {completed}"
                );
            }
            let before = schedule.mask();
            assert_eq!(schedule.complete_event(), before ^ schedule.mask());
        }
    }
}
