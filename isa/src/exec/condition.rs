//! Conditions of branches, tested without a call and without a branch of the host.

use crate::inst::Op;

/// Condition of a branch: a bit for each way in which its two sources can compare. A plain byte, since each branch of a
/// program shifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(u8);

impl Condition {
    /// Unknown condition: [`execute`](super::execute) says whether the branch is taken.
    const UNKNOWN: Condition = Condition(0);

    /// The condition of a branch of this operation.
    #[must_use]
    pub fn of(op: Op) -> Condition {
        let holds: fn(bool, bool, bool) -> bool = match op {
            Op::Beq | Op::AlphaBeq => |equal, _, _| equal,
            Op::Bne | Op::AlphaBne => |equal, _, _| !equal,
            Op::Blt | Op::AlphaBlt => |_, less, _| less,
            Op::Bge | Op::AlphaBge => |_, less, _| !less,
            Op::AlphaBle => |equal, less, _| less || equal,
            Op::AlphaBgt => |equal, less, _| !(less || equal),
            Op::Bltu => |_, _, below| below,
            Op::Bgeu => |_, _, below| !below,
            _ => return Condition::UNKNOWN,
        };
        let ways = (0..8).filter(|way| holds(way & 4 != 0, way & 2 != 0, way & 1 != 0));
        Condition(ways.fold(0, |all, way| all | 1 << way))
    }

    /// Whether the condition is known.
    #[inline(always)]
    #[must_use]
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// Whether a branch with these sources is taken.
    #[inline(always)]
    #[must_use]
    pub const fn holds(self, a: u64, b: u64) -> bool {
        let less = ((a as i64) < b as i64) as u8;
        let way = ((a == b) as u8) << 2 | less << 1 | (a < b) as u8;
        self.0 >> way & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, execute};
    use super::*;
    use crate::hart::Hart;
    use crate::inst::{Inst, OpClass};
    use crate::memory::Memory;

    #[test]
    fn a_condition_holds_where_the_branch_is_taken() {
        let mut memory = Memory::new(1 << 20).unwrap();
        let values = [0, 1, 2, 1 << 63, u64::MAX, i64::MAX as u64, 0xffff_ffff];
        let mut known = 0;
        for &op in Op::ALL {
            let condition = Condition::of(op);
            if !condition.is_known() {
                continue;
            }
            assert_eq!(op.class(), OpClass::Branch);
            known += 1;
            for a in values {
                for b in values {
                    let mut hart = Hart::default();
                    (hart.r[1], hart.r[2]) = (a, b);
                    let inst = Inst {
                        op,
                        imm: 64,
                        rs1: 1,
                        // Alpha's branches have no second source.
                        rs2: if op.isa() == Op::Beq.isa() { 2 } else { 0 },
                        ..Inst::illegal(4)
                    };
                    let sources = [inst.rs1, inst.rs2].map(|rs| hart.r[usize::from(rs)]);
                    let outcome = execute(&mut hart, &mut memory, &inst, 0);
                    let taken = outcome == Outcome::Taken(64);
                    assert!(taken || outcome == Outcome::Next, "{inst:?}");
                    assert_eq!(condition.holds(sources[0], sources[1]), taken, "{inst:?}");
                }
            }
        }
        assert_eq!(known, 12);
    }

    #[test]
    fn a_conditional_branch_goes_on_or_to_its_target() {
        let mut memory = Memory::new(1 << 20).unwrap();
        for &op in Op::ALL.iter().filter(|op| op.class() == OpClass::Branch) {
            for value in [0, 1, 1 << 63, u64::MAX] {
                let mut hart = Hart::default();
                hart.r[1] = value;
                let inst = Inst {
                    op,
                    imm: 64,
                    rs1: 1,
                    ..Inst::illegal(4)
                };
                let goes_on = op.straight()(&mut hart.clone(), &mut memory, &inst, 0);
                let outcome = execute(&mut hart, &mut memory, &inst, 0);
                let expected = if goes_on {
                    Outcome::Next
                } else {
                    Outcome::Taken(64)
                };
                assert_eq!(outcome, expected, "{inst:?}");
            }
        }
    }

    #[test]
    fn a_direct_jump_links_and_goes_to_its_target() {
        let mut memory = Memory::new(1 << 20).unwrap();
        let is_direct = |op: &&Op| matches!(op.class(), OpClass::Jump | OpClass::Call);
        let mut jumps = 0;
        for &op in Op::ALL.iter().filter(is_direct) {
            let mut hart = Hart::default();
            let inst = Inst {
                op,
                imm: -64,
                rd: 7,
                ..Inst::illegal(2)
            };
            let outcome = execute(&mut hart, &mut memory, &inst, 4096);
            assert_eq!(outcome, Outcome::Taken(4096 - 64), "{op:?}");
            let mut expected = Hart::default();
            expected.r[7] = inst.link(4096);
            assert!(hart == expected && inst.link(4096) == 4098, "{op:?}");
            jumps += 1;
        }
        assert!(jumps >= 3, "{jumps}");
    }
}
