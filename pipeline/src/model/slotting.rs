//! The pipes of the Alpha 21164, and which instructions issue together.
//!
//! The slot stage looks at one aligned block of four instructions (16 bytes). It takes the longest
//! beginning of what is left of the block for which every instruction has a pipe of its own; that
//! group goes to the issue stage when the group before has issued completely. An instruction whose
//! pipes are taken therefore waits for the next group, and so does the first of the next block.
//!
//! | instructions | pipes |
//! | --- | --- |
//! | loads | E0 or E1, not beside a store |
//! | stores, locked loads and conditional stores, barriers | E0 |
//! | shifts, byte extraction and insertion, multiplication | E0 |
//! | other integer operations | E0 or E1 |
//! | integer branches, jumps, calls, returns, PALcode calls | E1 |
//! | floating-point addition, comparison, conversion, division, branches | FA |
//! | floating-point multiplication | FM |
//! | copies of signs | FA or FM |
//!
//! After the Alpha 21164 Hardware Reference Manual, section 2.3 ("Scheduling and Issuing Rules").
//! Assumptions fill in operations that the 21164 does not have: integer division runs where multiplication does, fused
//! multiplication in FM, square roots and moves between register files in FA, DISE's own branches in E1. Instructions
//! that the manual gives no pipe (UNOP) take one as the instructions that they decode to.

use super::Pipe;
use hps_isa::inst::{Op, OpClass};
use serde::{Deserialize, Serialize};

const E0: u8 = Pipe::E0.bit();
const E1: u8 = Pipe::E1.bit();
const FA: u8 = Pipe::FA.bit();
const FM: u8 = Pipe::FM.bit();

/// Properties of an operation that matter to issue in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Pipes that take it, as bits.
    pipes: u8,
    is_load: bool,
    is_store: bool,
    /// An integer comparison or a logical operation: a branch may test it in the same cycle.
    pub forwards_to_branch: bool,
}

impl Traits {
    /// The traits of every operation, by its number.
    pub fn table() -> Box<[Traits]> {
        Op::ALL.iter().map(|op| Traits::of(*op)).collect()
    }

    pub fn of(op: Op) -> Traits {
        let class = op.class();
        let mnemonic = op.mnemonic();
        Traits {
            pipes: pipes(class, mnemonic),
            is_load: class == OpClass::Load,
            is_store: matches!(class, OpClass::Store | OpClass::Atomic),
            forwards_to_branch: class == OpClass::IntAlu && compares_or_is_logical(mnemonic),
        }
    }
}

fn pipes(class: OpClass, mnemonic: &str) -> u8 {
    match class {
        OpClass::IntAlu if is_shift(mnemonic) => E0,
        OpClass::IntAlu | OpClass::Load | OpClass::Illegal => E0 | E1,
        OpClass::IntMul
        | OpClass::IntDiv
        | OpClass::Store
        | OpClass::Atomic
        | OpClass::Fence
        | OpClass::FenceI
        | OpClass::Csr
        | OpClass::DiseDrain => E0,
        OpClass::Branch if mnemonic.starts_with("fb") => FA,
        OpClass::Branch
        | OpClass::Jump
        | OpClass::JumpIndirect
        | OpClass::Call
        | OpClass::CallIndirect
        | OpClass::Return
        | OpClass::Syscall
        | OpClass::Break
        | OpClass::DiseBranch
        | OpClass::DiseCall
        | OpClass::DiseReturn => E1,
        OpClass::FpCvt if copies_sign(mnemonic) => FA | FM,
        OpClass::FpAdd | OpClass::FpDiv | OpClass::FpSqrt | OpClass::FpCvt => FA,
        OpClass::FpMul | OpClass::FpFma => FM,
    }
}

/// Shifts and rotations; of Alpha also the byte and media operations, which share the shifter.
fn is_shift(mnemonic: &str) -> bool {
    const SHIFTS: [&str; 9] = [
        "sll", "srl", "sra", "rol", "ror", "zap", "msk", "unpk", "perr",
    ];
    const BYTES: [&str; 4] = ["ext", "ins", "pkwb", "pklb"];
    let media = (mnemonic.starts_with("min") || mnemonic.starts_with("max"))
        && mnemonic.ends_with(|c: char| c.is_ascii_digit());
    media || SHIFTS.iter().chain(&BYTES).any(|s| mnemonic.starts_with(s))
}

fn copies_sign(mnemonic: &str) -> bool {
    mnemonic.starts_with("cpys") || mnemonic.starts_with("fsgnj")
}

fn compares_or_is_logical(mnemonic: &str) -> bool {
    const LOGICAL: [&str; 12] = [
        "and", "andi", "andn", "or", "ori", "orn", "xor", "xori", "xnor", "bic", "bis", "ornot",
    ];
    let compares = mnemonic.starts_with("slt") || mnemonic.starts_with("cmp");
    compares || mnemonic == "eqv" || LOGICAL.contains(&mnemonic)
}

/// The instructions of a group: pipes that they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    used: u8,
    loads: bool,
    stores: bool,
}

hps_isa::save_values!(Group);

impl Group {
    /// The group with one more instruction in this pipe; none if it may not join there.
    fn with(self, t: Traits, pipe: Pipe) -> Option<Group> {
        let free = t.pipes & !self.used & pipe.bit() != 0;
        let apart = t.is_load && self.stores || t.is_store && self.loads;
        (free && !apart).then_some(Group {
            used: self.used | pipe.bit(),
            loads: self.loads | t.is_load,
            stores: self.stores | t.is_store,
        })
    }

    /// How many of these instructions, from the first on, can join.
    fn can_join(self, next: &[Traits]) -> usize {
        let Some((first, rest)) = next.split_first() else {
            return 0;
        };
        let joined = Pipe::ALL.into_iter().filter_map(|p| self.with(*first, p));
        joined.map(|g| 1 + g.can_join(rest)).max().unwrap_or(0)
    }

    /// The first of `next` joins: the group with it, and its pipe, chosen so that as many as
    /// possible of those behind it can join as well.
    pub fn join(self, next: &[Traits]) -> Option<(Group, Pipe)> {
        let (first, rest) = next.split_first()?;
        let mut best = None;
        for pipe in Pipe::ALL {
            if let Some(group) = self.with(*first, pipe) {
                let behind = group.can_join(rest);
                if best.is_none_or(|(most, _)| behind > most) {
                    best = Some((behind, (group, pipe)));
                }
            }
        }
        best.map(|(_, choice)| choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;
    use hps_isa::isa::Isa;

    fn traits(mnemonics: &[&str]) -> Vec<Traits> {
        let of = |m: &&str| {
            Traits::of(
                Isa::ALL
                    .iter()
                    .find_map(|isa| Op::from_mnemonic(*isa, m))
                    .expect("an operation"),
            )
        };
        mnemonics.iter().map(of).collect()
    }

    /// The pipes of the group that these instructions begin.
    fn slot(mnemonics: &[&str]) -> Vec<Pipe> {
        let all = traits(mnemonics);
        let (mut group, mut pipes) = (Group::default(), Vec::new());
        while let Some((joined, pipe)) = group.join(&all[pipes.len()..]) {
            group = joined;
            pipes.push(pipe);
        }
        pipes
    }

    #[test]
    fn the_published_table() {
        use Pipe::{E0, E1, FA, FM};
        let cases: &[(&[&str], &[Pipe])] = &[
            (&["ld", "add", "ld", "ld"], &[E0, E1]),
            (&["ld", "ld", "fadd.d", "fmul.d"], &[E0, E1, FA, FM]),
            (&["fmul.d", "add", "fsub.d", "bne"], &[FM, E0, FA, E1]),
            (&["sd", "sd"], &[E0]),
            (&["sd", "ld"], &[E0]),
            (&["ld", "sd"], &[E0]),
            (&["sd", "sltu", "bne"], &[E0, E1]),
            // Instructions that may go to both pipes make room for those that may not.
            (&["add", "sll"], &[E1, E0]),
            (&["add", "bne"], &[E0, E1]),
            (&["sll", "srl"], &[E0]),
            (&["bne", "sub", "mul"], &[E1, E0]),
            (&["mul", "div"], &[E0]),
            (&["fsgnj.d", "fadd.d", "fmul.d"], &[FM, FA]),
            (&["fdiv.d", "fcvt.d.l"], &[FA]),
            (&["jal", "bne"], &[E1]),
            (&["amoadd.d", "ld"], &[E0]),
        ];
        for (mnemonics, pipes) in cases {
            assert_eq!(slot(mnemonics), *pipes, "{mnemonics:?}");
        }
    }

    /// The longest beginning that some way of giving out the pipes allows: all ways are tried.
    fn longest(all: &[Traits]) -> usize {
        let legal = |count: usize, mut code: usize| {
            let mut used = 0;
            for t in &all[..count] {
                let bit = 1 << (code % 4);
                code /= 4;
                if t.pipes & bit == 0 || used & bit != 0 {
                    return false;
                }
                used |= bit;
            }
            let group = &all[..count];
            !(group.iter().any(|t| t.is_load) && group.iter().any(|t| t.is_store))
        };
        (0..=all.len())
            .rev()
            .find(|&count| (0..4_usize.pow(count as u32)).any(|code| legal(count, code)))
            .unwrap_or(0)
    }

    #[test]
    fn groups_are_as_long_as_any_assignment_of_pipes_allows() {
        let kinds = [
            "add", "sll", "ld", "sd", "bne", "mul", "fadd.d", "fmul.d", "fsgnj.d", "sltu", "fdiv.d",
        ];
        let mut random = Random::new(77);
        let mut lengths = [0; 5];
        for _ in 0..20_000 {
            let mnemonics: Vec<&str> = (0..4)
                .map(|_| kinds[random.below(kinds.len() as u64) as usize])
                .collect();
            let pipes = slot(&mnemonics);
            let all = traits(&mnemonics);
            assert_eq!(pipes.len(), longest(&all), "{mnemonics:?}");
            for (t, pipe) in all.iter().zip(&pipes) {
                assert!(t.pipes & pipe.bit() != 0);
            }
            lengths[pipes.len()] += 1;
        }
        assert!(lengths[1..].iter().all(|count| *count > 20), "{lengths:?}");
    }

    #[test]
    fn branches_test_comparisons_and_logic_at_once() {
        for (mnemonic, at_once) in [
            ("sltu", true),
            ("andi", true),
            ("xor", true),
            ("addi", false),
            ("srl", false),
            ("ld", false),
            ("feq.d", false),
        ] {
            assert_eq!(
                traits(&[mnemonic])[0].forwards_to_branch,
                at_once,
                "{mnemonic}"
            );
        }
    }
}
