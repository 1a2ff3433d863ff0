//! Patterns: the static part, decided once per static instruction, and with it, in a
//! [`PatternEntry`], the condition on the counters' flags.

use std::fmt;

use bitvec::BitArr;
use bitvec::array::BitArray;
use hps_isa::inst::{Inst, OpClass, reg};
use hps_isa::isa::Isa;
use hps_system::symbols::Entries;

use crate::flags::FlagCondition;
use crate::names;

/// A set of [`OpClass`]es, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClassSet(BitArr!(for 32, in u32));

impl ClassSet {
    /// Every class.
    pub const ANY: ClassSet = ClassSet::of_word((1 << OpClass::COUNT) - 1);

    /// The classes listed.
    #[must_use]
    pub const fn of(classes: &[OpClass]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < classes.len() {
            bits |= 1 << classes[i] as u32;
            i += 1;
        }
        ClassSet::of_word(bits)
    }

    /// The classes whose bits are set.
    const fn of_word(bits: u32) -> Self {
        let mut set = BitArray::ZERO;
        set.data = [bits];
        ClassSet(set)
    }

    /// Whether `class` is in the set.
    #[must_use]
    pub fn contains(self, class: OpClass) -> bool {
        self.0[class as usize]
    }

    /// Whether every class of `other` is in the set.
    #[must_use]
    pub fn contains_all(self, other: ClassSet) -> bool {
        other.intersect(self) == other
    }

    /// Classes in one of the sets.
    #[must_use]
    pub fn union(self, other: ClassSet) -> ClassSet {
        ClassSet(self.0 | other.0)
    }

    /// Classes in both sets.
    #[must_use]
    pub fn intersect(self, other: ClassSet) -> ClassSet {
        ClassSet(self.0 & other.0)
    }

    /// Classes not in this set.
    #[must_use]
    pub fn complement(self) -> ClassSet {
        ClassSet(!self.0 & Self::ANY.0)
    }

    /// Whether no class is left.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.not_any()
    }

    /// Number of classes in the set.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.count_ones()
    }

    /// Bits of a 5-bit class number that the set fixes: 5 for one class, 4 for two, 0 for any.
    #[must_use]
    pub fn fixed_bits(self) -> u32 {
        match self.len() {
            0 | 1 => 5,
            n => 5_u32.saturating_sub((n - 1).ilog2() + 1),
        }
    }
}

impl fmt::Debug for ClassSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&names::class_set_name(*self))
    }
}

/// Classes whose target is in the instruction, the only ones that have a `T.Target` in decode.
pub const DIRECT: ClassSet = ClassSet::of(&[OpClass::Branch, OpClass::Jump, OpClass::Call]);

/// A field of the trigger that a pattern can compare (`T.OPCLASS` is a [`ClassSet`] instead).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// `T.OPCODE`: the operation.
    Opcode,
    /// `T.RS`: the first source register.
    Rs,
    /// `T.RT`: the second source register.
    Rt,
    /// `T.RD`: the destination register.
    Rd,
    /// `T.IMM`: the immediate, signed.
    Imm,
    /// `T.PC`: the address of the instruction.
    Pc,
    /// `T.Target`: the target of a direct control transfer. Absent in all other instructions.
    Target,
}

impl Field {
    /// Name of the field in a pattern.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Field::Opcode => "T.OPCODE",
            Field::Rs => "T.RS",
            Field::Rt => "T.RT",
            Field::Rd => "T.RD",
            Field::Imm => "T.IMM",
            Field::Pc => "T.PC",
            Field::Target => "T.Target",
        }
    }

    /// Bits that an equality on the field fixes.
    #[must_use]
    pub const fn width(self) -> u32 {
        match self {
            Field::Opcode => 16,
            Field::Rs | Field::Rt | Field::Rd => 7,
            Field::Imm | Field::Pc | Field::Target => 64,
        }
    }

    /// The value in `inst` at `pc`. A destination of the zero register, or none, reads as the
    /// zero register.
    #[must_use]
    pub fn value(self, pc: u64, inst: &Inst) -> Option<i128> {
        Some(match self {
            Field::Opcode => i128::from(inst.op as u16),
            Field::Rs => i128::from(inst.rs1),
            Field::Rt => i128::from(inst.rs2),
            Field::Rd if inst.rd == reg::SINK => i128::from(reg::ZERO),
            Field::Rd => i128::from(inst.rd),
            Field::Imm => i128::from(inst.imm),
            Field::Pc => i128::from(pc),
            Field::Target if inst.class.is_direct() => i128::from(inst.direct_target(pc)),
            Field::Target => return None,
        })
    }
}

/// Operand that a field is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Another field.
    Field(Field),
    /// A number: an operation, an immediate or an address.
    Number(i128),
    /// A register of an instruction set, in the machine's numbering.
    Register(Isa, u8),
    /// The entries of functions that do not hold the instruction ([`Entries::is_tail_call`]), which the loader of the
    /// program tells the engine; of [`Field::Target`]. Not equal is [`outcome::LESS`].
    Entry,
}

/// The name of [`Operand::Entry`] in patterns.
pub const ENTRY: &str = "entry";

/// Outcomes of a comparison, one bit each; a test lists those that it accepts.
pub mod outcome {
    /// Left is less than right.
    pub const LESS: u8 = 1;
    /// Both are equal.
    pub const EQUAL: u8 = 2;
    /// Left is greater than right.
    pub const GREATER: u8 = 4;
    /// One of the two fields does not exist in the instruction.
    pub const ABSENT: u8 = 8;
    /// Every outcome.
    pub const ALL: u8 = 15;
}

/// One comparison of a static pattern. A comparison on a field that the instruction does not
/// have is false, and so its negation is true: hence a set of accepted outcomes and not a
/// relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Test {
    /// The left side.
    pub left: Field,
    /// The right side. If it is a field, it is greater than `left` in the order of [`Field`].
    pub right: Operand,
    /// Accepted outcomes ([`outcome`]).
    pub accepts: u8,
}

impl Test {
    /// A test in canonical form: two fields are put in the order of [`Field`].
    #[must_use]
    pub fn new(left: Field, right: Operand, accepts: u8) -> Self {
        match right {
            Operand::Field(other) if other < left => Test {
                left: other,
                right: Operand::Field(left),
                accepts: mirror(accepts),
            },
            _ => Test {
                left,
                right,
                accepts,
            },
        }
    }

    /// The test that accepts exactly what this one does not.
    #[must_use]
    pub const fn negated(self) -> Self {
        Test {
            accepts: !self.accepts & outcome::ALL,
            ..self
        }
    }

    /// Whether the instruction passes.
    #[must_use]
    pub fn accepts(&self, pc: u64, inst: &Inst, entries: &Entries) -> bool {
        if self.right == Operand::Entry {
            let outcome = match inst.class.is_direct() {
                true if entries.is_tail_call(pc, inst.direct_target(pc)) => outcome::EQUAL,
                true => outcome::LESS,
                false => outcome::ABSENT,
            };
            return self.accepts & outcome != 0;
        }
        let right = match self.right {
            Operand::Field(field) => field.value(pc, inst),
            Operand::Number(number) => Some(number),
            Operand::Register(_, register) => Some(i128::from(register)),
            Operand::Entry => None,
        };
        self.accepts & compare(self.left.value(pc, inst), right) != 0
    }

    /// Bits that the test fixes: the width of a field compared for equality, one for any other
    /// relation, none if it excludes nothing.
    #[must_use]
    pub const fn fixed_bits(&self) -> u32 {
        match self.accepts {
            outcome::EQUAL if matches!(self.right, Operand::Entry) => 1,
            outcome::EQUAL => self.left.width(),
            outcome::ALL => 0,
            _ => 1,
        }
    }
}

const fn mirror(accepts: u8) -> u8 {
    let kept = accepts & (outcome::EQUAL | outcome::ABSENT);
    let less = if accepts & outcome::GREATER != 0 {
        outcome::LESS
    } else {
        0
    };
    let greater = if accepts & outcome::LESS != 0 {
        outcome::GREATER
    } else {
        0
    };
    kept | less | greater
}

/// The outcome of comparing two values.
#[must_use]
pub fn compare(left: Option<i128>, right: Option<i128>) -> u8 {
    match (left, right) {
        (Some(a), Some(b)) => match a.cmp(&b) {
            std::cmp::Ordering::Less => outcome::LESS,
            std::cmp::Ordering::Equal => outcome::EQUAL,
            std::cmp::Ordering::Greater => outcome::GREATER,
        },
        _ => outcome::ABSENT,
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (negated, positive) = match self.accepts & outcome::ABSENT {
            0 => (false, self.accepts),
            _ => (true, !self.accepts & outcome::ALL),
        };
        let relation = match positive {
            outcome::LESS if self.right == Operand::Entry => "!=",
            outcome::LESS => "<",
            outcome::EQUAL => "==",
            outcome::GREATER => ">",
            0 => "never",
            3 => "<=",
            6 => ">=",
            5 => "!=",
            _ => "any",
        };
        let right = match self.right {
            Operand::Field(field) => field.name().to_owned(),
            Operand::Number(number) => names::number_name(self.left, number),
            Operand::Register(isa, register) => isa.register_name(register).to_owned(),
            Operand::Entry => ENTRY.to_owned(),
        };
        if negated {
            write!(f, "!({} {relation} {right})", self.left.name())
        } else {
            write!(f, "{} {relation} {right}", self.left.name())
        }
    }
}

/// The part of a pattern that looks at one static instruction: a conjunction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticPattern {
    /// Classes that the instruction may have.
    pub classes: ClassSet,
    /// Further comparisons, all of which must pass.
    pub tests: Vec<Test>,
}

impl Default for StaticPattern {
    fn default() -> Self {
        StaticPattern {
            classes: ClassSet::ANY,
            tests: Vec::new(),
        }
    }
}

impl StaticPattern {
    /// Whether the instruction at `pc` matches, where no entry of a function is known.
    #[must_use]
    pub fn matches(&self, pc: u64, inst: &Inst) -> bool {
        self.matches_in(&Entries::default(), pc, inst)
    }

    /// Whether the instruction at `pc` matches, in a program whose functions are entered there.
    #[must_use]
    pub fn matches_in(&self, entries: &Entries, pc: u64, inst: &Inst) -> bool {
        let mut tests = self.tests.iter();
        self.classes.contains(inst.class) && tests.all(|test| test.accepts(pc, inst, entries))
    }

    /// Fixed bits: those of the classes plus those of each test. This is what "most specific"
    /// means for two patterns.
    #[must_use]
    pub fn fixed_bits(&self) -> u32 {
        self.classes.fixed_bits() + self.tests.iter().map(Test::fixed_bits).sum::<u32>()
    }

    /// Both patterns at once.
    #[must_use]
    pub fn and(&self, other: &StaticPattern) -> StaticPattern {
        let mut both = self.clone();
        both.classes = both.classes.intersect(other.classes);
        for test in &other.tests {
            both.add(*test);
        }
        both
    }

    /// Adds a test; two tests on the same pair of operands become one.
    pub fn add(&mut self, test: Test) {
        match self
            .tests
            .iter_mut()
            .find(|t| t.left == test.left && t.right == test.right)
        {
            Some(same) => same.accepts &= test.accepts,
            None => self.tests.push(test),
        }
    }

    /// Whether some instruction can match. Exact for classes and for comparisons of one field
    /// with numbers; comparisons of two fields are only checked against each other, so "yes" may
    /// be wrong, "no" never is.
    #[must_use]
    pub fn is_satisfiable(&self) -> bool {
        let mut classes = self.classes;
        if self.tests.iter().any(|t| t.needs_target()) {
            classes = classes.intersect(DIRECT);
        }
        !classes.is_empty()
            && self.tests.iter().all(|test| test.accepts != 0)
            && self
                .tests
                .iter()
                .all(|test| self.field_is_satisfiable(test.left))
    }

    /// Some value of `field` passes all its comparisons with numbers. Between two neighbouring
    /// numbers nothing changes, so that the numbers and their neighbours are all that has to be
    /// tried.
    fn field_is_satisfiable(&self, field: Field) -> bool {
        let against: Vec<(i128, u8)> = self
            .tests
            .iter()
            .filter(|test| test.left == field)
            .filter_map(|test| match test.right {
                Operand::Number(number) => Some((number, test.accepts)),
                Operand::Register(_, register) => Some((i128::from(register), test.accepts)),
                Operand::Field(_) | Operand::Entry => None,
            })
            .collect();
        let passes = |value: Option<i128>| {
            against
                .iter()
                .all(|(number, accepts)| compare(value, Some(*number)) & accepts != 0)
        };
        against.is_empty()
            || (field == Field::Target && passes(None))
            || against
                .iter()
                .any(|(n, _)| passes(Some(*n)) || passes(Some(n - 1)) || passes(Some(n + 1)))
    }

    /// Whether every instruction that matches `other` certainly matches this pattern.
    #[must_use]
    pub fn covers(&self, other: &StaticPattern) -> bool {
        self.classes.contains_all(other.classes)
            && self.tests.iter().all(|test| {
                other.tests.iter().any(|t| {
                    t.left == test.left && t.right == test.right && t.accepts & !test.accepts == 0
                })
            })
    }
}

impl Test {
    fn needs_target(&self) -> bool {
        let on_target = self.left == Field::Target || self.right == Operand::Field(Field::Target);
        on_target && self.accepts & outcome::ABSENT == 0
    }
}

impl fmt::Display for StaticPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if self.classes != ClassSet::ANY || self.tests.is_empty() {
            write!(f, "T.OPCLASS == {:?}", self.classes)?;
            separator = " && ";
        }
        for test in &self.tests {
            write!(f, "{separator}{test}")?;
            separator = " && ";
        }
        Ok(())
    }
}

/// One entry of the pattern table with its masking layer: a static pattern and a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternEntry {
    /// Static pattern that the instruction must match.
    pub pattern: StaticPattern,
    /// Condition that the flags must meet.
    pub condition: FlagCondition,
}

impl PatternEntry {
    /// Specificity, compared left to right: fixed bits of the instruction, then flags looked at.
    #[must_use]
    pub fn specificity(&self) -> (u32, u32) {
        (self.pattern.fixed_bits(), self.condition.fixed_bits())
    }

    /// Whether some instruction and some state of the flags may match both entries (see
    /// [`StaticPattern::is_satisfiable`] for how exact this is).
    #[must_use]
    pub fn overlaps(&self, other: &PatternEntry) -> bool {
        self.condition.and(other.condition).is_some()
            && self.pattern.and(&other.pattern).is_satisfiable()
    }

    /// Whether this entry certainly matches whenever `other` does.
    #[must_use]
    pub fn covers(&self, other: &PatternEntry) -> bool {
        self.condition.covers(other.condition) && self.pattern.covers(&other.pattern)
    }
}

impl fmt::Display for PatternEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pattern)?;
        if self.condition.care != 0 {
            write!(f, " && {}", self.condition)?;
        }
        Ok(())
    }
}
