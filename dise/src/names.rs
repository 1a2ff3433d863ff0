//! Names of the pattern language: classes, and numbers as a field shows them.

use hps_isa::inst::{Op, OpClass};

use crate::pattern::{ClassSet, Field};

/// Names for `T.OPCLASS`. A name may stand for several classes of the machine.
pub const CLASSES: [(&str, ClassSet); 31] = [
    ("any", ClassSet::ANY),
    ("load", ClassSet::of(&[OpClass::Load])),
    ("store", ClassSet::of(&[OpClass::Store])),
    ("atomic", ClassSet::of(&[OpClass::Atomic])),
    (
        "mem_op",
        ClassSet::of(&[OpClass::Load, OpClass::Store, OpClass::Atomic]),
    ),
    ("branch", ClassSet::of(&[OpClass::Branch, OpClass::Jump])),
    ("cond_branch", ClassSet::of(&[OpClass::Branch])),
    ("jump", ClassSet::of(&[OpClass::Jump])),
    ("indirect_jump", ClassSet::of(&[OpClass::JumpIndirect])),
    (
        "proc_call",
        ClassSet::of(&[OpClass::Call, OpClass::CallIndirect]),
    ),
    ("direct_call", ClassSet::of(&[OpClass::Call])),
    ("indirect_call", ClassSet::of(&[OpClass::CallIndirect])),
    ("return", ClassSet::of(&[OpClass::Return])),
    ("control", CONTROL),
    (
        "int",
        ClassSet::of(&[OpClass::IntAlu, OpClass::IntMul, OpClass::IntDiv]),
    ),
    ("int_alu", ClassSet::of(&[OpClass::IntAlu])),
    ("mul", ClassSet::of(&[OpClass::IntMul])),
    ("div", ClassSet::of(&[OpClass::IntDiv])),
    ("fp", FP),
    ("fp_add", ClassSet::of(&[OpClass::FpAdd])),
    ("fp_mul", ClassSet::of(&[OpClass::FpMul])),
    ("fp_fma", ClassSet::of(&[OpClass::FpFma])),
    ("fp_div", ClassSet::of(&[OpClass::FpDiv])),
    ("fp_sqrt", ClassSet::of(&[OpClass::FpSqrt])),
    ("fp_cvt", ClassSet::of(&[OpClass::FpCvt])),
    ("syscall", ClassSet::of(&[OpClass::Syscall])),
    ("breakpoint", ClassSet::of(&[OpClass::Break])),
    ("fence", ClassSet::of(&[OpClass::Fence])),
    ("fence_i", ClassSet::of(&[OpClass::FenceI])),
    ("csr", ClassSet::of(&[OpClass::Csr])),
    ("illegal", ClassSet::of(&[OpClass::Illegal])),
];

const CONTROL: ClassSet = ClassSet::of(&[
    OpClass::Branch,
    OpClass::Jump,
    OpClass::JumpIndirect,
    OpClass::Call,
    OpClass::CallIndirect,
    OpClass::Return,
]);

const FP: ClassSet = ClassSet::of(&[
    OpClass::FpAdd,
    OpClass::FpMul,
    OpClass::FpFma,
    OpClass::FpDiv,
    OpClass::FpSqrt,
    OpClass::FpCvt,
]);

/// The set of a class name.
#[must_use]
pub fn class_set(name: &str) -> Option<ClassSet> {
    CLASSES
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, set)| *set)
}

/// The name of a set: its own if it has one, else the names of its classes.
#[must_use]
pub fn class_set_name(set: ClassSet) -> String {
    if let Some((name, _)) = CLASSES.iter().find(|(_, s)| *s == set) {
        return (*name).to_owned();
    }
    let single = |(name, s): &(&'static str, ClassSet)| {
        (s.len() == 1 && set.contains_all(*s)).then_some(*name)
    };
    let names: Vec<&str> = CLASSES.iter().filter_map(single).collect();
    format!("{{{}}}", names.join(", "))
}

/// The name of one class of the machine in the pattern language.
#[must_use]
pub fn class_name(class: OpClass) -> String {
    let set = ClassSet::of(&[class]);
    CLASSES
        .iter()
        .find(|(_, s)| *s == set)
        .map_or_else(|| format!("{class:?}"), |(name, _)| (*name).to_owned())
}

/// A number as it would be written next to `field`.
#[must_use]
pub fn number_name(field: Field, number: i128) -> String {
    match field {
        Field::Opcode => Op::ALL
            .iter()
            .find(|op| i128::from(**op as u16) == number)
            .map_or_else(|| number.to_string(), |op| op.mnemonic().to_owned()),
        Field::Rs | Field::Rt | Field::Rd | Field::Imm => number.to_string(),
        Field::Pc | Field::Target => format!("{number:#x}"),
    }
}
