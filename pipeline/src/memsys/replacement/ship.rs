//! Signature-based hit prediction by instruction, SHiP-PC (Wu, Jaleel, Hasenplaugh, Martonosi, Steely and Emer, "SHiP:
//! Signature-based hit predictor for high performance caching", MICRO 2011).
//!
//! Each line remembers a signature of the instruction that brought it in, and whether it was used again. A counter for
//! each signature rises when such a line is used again, and falls when one leaves that was not. A line whose counter is 0
//! comes in as of the distant future, any other one as with SRRIP, which also chooses the victims. The paper does not say
//! what counters begin with: one.

use super::rrip::Rrip;
use super::{ReplacementPolicy, RequestKind, Requester};
use crate::config::{ShipConfig, SrripConfig};

/// History of a line: the instruction that brought it in, and whether it was used again.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    signature: u32,
    is_reused: bool,
}

hps_isa::save_state! { Origin { signature, is_reused } }

/// The counters, and what lines remember.
#[derive(Clone, Debug)]
pub(super) struct Ship {
    lines: Rrip,
    origins: Box<[Origin]>,
    ways: usize,
    counters: Box<[u8]>,
    most: u8,
}

hps_isa::save_state! { Ship { lines, origins, ways: skip, counters, most: skip } }

impl Ship {
    pub fn new(config: &ShipConfig, sets: usize, ways: usize) -> Self {
        let srrip = SrripConfig { bits: config.bits };
        Ship {
            lines: Rrip::fixed(&srrip, sets, ways),
            origins: vec![Origin::default(); sets * ways].into_boxed_slice(),
            ways,
            counters: vec![1; config.counters as usize].into_boxed_slice(),
            most: ((1_u32 << config.counter_bits) - 1) as u8,
        }
    }

    /// The index of an instruction's counter: all bits of its address take part.
    fn signature(&self, instruction: u64) -> u32 {
        let bits = self.counters.len().trailing_zeros();
        let mut folded = instruction >> 1;
        let mut rest = folded;
        while rest != 0 {
            rest >>= bits;
            folded ^= rest;
        }
        (folded & (self.counters.len() as u64 - 1)) as u32
    }
}

impl ReplacementPolicy for Ship {
    fn hit(&mut self, set: usize, way: usize, line: u64, by: Requester) {
        if by.kind == RequestKind::WriteBack {
            return;
        }
        self.lines.hit(set, way, line, by);
        let origin = &mut self.origins[set * self.ways + way];
        origin.is_reused = true;
        let counter = &mut self.counters[origin.signature as usize];
        *counter = (*counter + 1).min(self.most);
    }

    fn fill(&mut self, set: usize, way: usize, line: u64, by: Requester) {
        let signature = self.signature(by.instruction);
        self.origins[set * self.ways + way] = Origin {
            signature,
            is_reused: false,
        };
        if self.counters[signature as usize] == 0 {
            self.lines.make_distant(set, way);
        } else {
            self.lines.fill(set, way, line, by);
        }
    }

    fn victim(&mut self, set: usize, may_go: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.lines.victim(set, may_go)
    }

    fn leave(&mut self, set: usize, way: usize) {
        let origin = self.origins[set * self.ways + way];
        if !origin.is_reused {
            let counter = &mut self.counters[origin.signature as usize];
            *counter = counter.saturating_sub(1);
        }
    }

    fn clear(&mut self) {
        self.lines.clear();
    }

    fn duplicate(&self) -> Box<dyn ReplacementPolicy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(instruction: u64) -> Requester {
        Requester {
            instruction,
            kind: RequestKind::Load,
        }
    }

    /// One load scans, the other uses the same lines again and again: the scan's lines soon take no place but one.
    #[test]
    fn lines_of_an_instruction_that_scans_leave_first() {
        let config = ShipConfig::default();
        let (scans, reuses) = (0x1000, 0x2000);
        let mut ship = Ship::new(&config, 1, 4);
        let mut lines = [u64::MAX; 4];
        let mut next = 1000;
        let mut access = |ship: &mut Ship, line: u64, pc: u64| {
            if let Some(way) = lines.iter().position(|known| *known == line) {
                ship.hit(0, way, line, by(pc));
                return true;
            }
            let empty = lines.iter().position(|known| *known == u64::MAX);
            let way = empty.unwrap_or_else(|| {
                let way = ship.victim(0, &|_| true).unwrap();
                ship.leave(0, way);
                way
            });
            lines[way] = line;
            ship.fill(0, way, line, by(pc));
            false
        };
        let mut hits = 0;
        for round in 0..100 {
            for line in 0..3 {
                hits += u64::from(access(&mut ship, line, reuses) && round >= 50);
                access(&mut ship, line, reuses);
            }
            for _ in 0..8 {
                next += 1;
                access(&mut ship, next, scans);
            }
        }
        // All three lines stay from the time on when the scan is known.
        assert_eq!(hits, 150);
        assert_eq!(ship.counters[ship.signature(scans) as usize], 0);
        assert!(ship.counters[ship.signature(reuses) as usize] > 0);
    }

    #[test]
    fn a_line_that_was_used_again_takes_nothing_from_its_counter() {
        let mut ship = Ship::new(&ShipConfig::default(), 1, 2);
        let at = ship.signature(0x40) as usize;
        ship.fill(0, 0, 7, by(0x40));
        ship.hit(0, 0, 7, by(0x80));
        ship.hit(0, 0, 7, Requester::WRITE_BACK);
        assert_eq!(ship.counters[at], 2);
        ship.leave(0, 0);
        assert_eq!(ship.counters[at], 2);
        ship.fill(0, 0, 8, by(0x40));
        ship.leave(0, 0);
        assert_eq!(ship.counters[at], 1);
    }
}
