//! Patterns to pattern-table entries: a disjunction of conjunctions, one entry each.

use hps_isa::alpha::registers;
use hps_isa::inst::{Op, OpClass, reg};
use hps_isa::isa::Isa;

use crate::config::MAX_PATTERNS;
use crate::error::DiseError;
use crate::flags::FlagCondition;
use crate::lang::ast::{Comparison, Expr, Pattern, Side};
use crate::lang::source::{Name, Source};
use crate::lang::symbols::Symbols;
use crate::names;
use crate::pattern::{ClassSet, ENTRY, Field, Operand, PatternEntry, StaticPattern, Test, outcome};

/// Alternatives that are allowed on the way, before equal ones are joined.
const MAX_TERMS: usize = 512;

const FIELDS: [(&str, Option<Field>); 8] = [
    ("T.OPCLASS", None),
    ("T.OPCODE", Some(Field::Opcode)),
    ("T.RS", Some(Field::Rs)),
    ("T.RT", Some(Field::Rt)),
    ("T.RD", Some(Field::Rd)),
    ("T.IMM", Some(Field::Imm)),
    ("T.PC", Some(Field::Pc)),
    ("T.Target", Some(Field::Target)),
];

/// Where patterns are resolved.
pub(super) struct Lowering<'a> {
    pub symbols: &'a Symbols,
    pub source: &'a Source,
    /// Where to report a pattern as a whole.
    pub at: usize,
}

impl Lowering<'_> {
    /// The entries of a pattern; none if nothing can match it.
    pub fn entries(&self, pattern: &Pattern) -> Result<Vec<PatternEntry>, DiseError> {
        let terms = simplify(self.terms(pattern, false)?);
        if terms.len() > MAX_PATTERNS {
            let message = format!(
                "this pattern needs {} entries, more than a table has",
                terms.len()
            );
            return Err(self.source.error_help(
                self.at,
                message,
                "write it with fewer alternatives",
            ));
        }
        Ok(terms)
    }

    fn terms(&self, pattern: &Pattern, negated: bool) -> Result<Vec<PatternEntry>, DiseError> {
        match pattern {
            Pattern::Flag(bit) => {
                let care = 1 << bit;
                let condition = FlagCondition {
                    care,
                    want: if negated { 0 } else { care },
                };
                Ok(vec![PatternEntry {
                    condition,
                    ..PatternEntry::default()
                }])
            }
            Pattern::Compare(comparison) => {
                let pattern = self.comparison(comparison, negated)?;
                Ok(vec![PatternEntry {
                    pattern,
                    ..PatternEntry::default()
                }])
            }
            Pattern::Not(inner) => self.terms(inner, !negated),
            Pattern::And(parts) if !negated => self.all(parts, negated),
            Pattern::Or(parts) if negated => self.all(parts, negated),
            Pattern::And(parts) | Pattern::Or(parts) => {
                let mut terms = Vec::new();
                for part in parts {
                    terms.extend(self.terms(part, negated)?);
                    terms = simplify(self.bounded(terms)?);
                }
                Ok(terms)
            }
        }
    }

    /// The conjunction of all parts, multiplied out.
    fn all(&self, parts: &[Pattern], negated: bool) -> Result<Vec<PatternEntry>, DiseError> {
        let mut product = vec![PatternEntry::default()];
        for part in parts {
            let terms = self.terms(part, negated)?;
            let mut next = Vec::new();
            for left in &product {
                next.extend(terms.iter().filter_map(|right| both(left, right)));
                next = self.bounded(next)?;
            }
            product = simplify(next);
        }
        Ok(product)
    }

    fn bounded(&self, terms: Vec<PatternEntry>) -> Result<Vec<PatternEntry>, DiseError> {
        if terms.len() > MAX_TERMS {
            let message = format!("this pattern has more than {MAX_TERMS} alternatives");
            return Err(self
                .source
                .error_help(self.at, message, "write several productions"));
        }
        Ok(terms)
    }

    fn comparison(
        &self,
        comparison: &Comparison,
        negated: bool,
    ) -> Result<StaticPattern, DiseError> {
        let at = comparison.at;
        let (field, other, accepts) = match (&comparison.left, &comparison.right) {
            (Side::Field(field), other) => (field, other, accepted(comparison.relation)),
            (other, Side::Field(field)) => (field, other, mirrored(comparison.relation)),
            _ => {
                return Err(self
                    .source
                    .error(at, "a comparison needs a field of the trigger (T...)"));
            }
        };
        let mut pattern = StaticPattern::default();
        let Some(left) = self.field(field)? else {
            let classes = self.class(field, other)?;
            self.equality_only(comparison)?;
            let inverted = (accepts != outcome::EQUAL) != negated;
            pattern.classes = if inverted {
                classes.complement()
            } else {
                classes
            };
            return Ok(pattern);
        };
        let right = self.operand(left, other)?;
        if matches!(left, Field::Opcode | Field::Rs | Field::Rt | Field::Rd)
            || right == Operand::Entry
        {
            self.equality_only(comparison)?;
        }
        let test = Test::new(left, right, accepts);
        pattern.add(if negated { test.negated() } else { test });
        Ok(pattern)
    }

    fn equality_only(&self, comparison: &Comparison) -> Result<(), DiseError> {
        if matches!(comparison.relation, "==" | "!=") {
            return Ok(());
        }
        if matches!(&comparison.right, Side::Value(Expr::Name(name), _) if name.text == ENTRY) {
            let message = "entries of functions can only be compared with == and !=";
            return Err(self.source.error(comparison.at, message));
        }
        let message = "operations, classes and registers can only be compared with == and !=";
        Err(self.source.error(comparison.at, message))
    }

    /// The field; nothing for `T.OPCLASS`.
    fn field(&self, name: &Name) -> Result<Option<Field>, DiseError> {
        match FIELDS
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(&name.text))
        {
            Some((_, field)) => Ok(*field),
            None => {
                let help = format!("fields are {}", FIELDS.map(|(n, _)| n).join(", "));
                Err(self
                    .source
                    .unknown(name, "field", FIELDS.map(|(n, _)| n), &help))
            }
        }
    }

    fn class(&self, field: &Name, side: &Side) -> Result<ClassSet, DiseError> {
        let Side::Value(Expr::Name(name), _) = side else {
            return Err(self
                .source
                .error(field.at, "T.OPCLASS is compared with the name of a class"));
        };
        names::class_set(&name.text).ok_or_else(|| {
            let known = names::CLASSES.map(|(n, _)| n);
            let help = format!("classes are {}", known.join(", "));
            self.source.unknown(name, "class", known, &help)
        })
    }

    fn operand(&self, left: Field, side: &Side) -> Result<Operand, DiseError> {
        let register = matches!(left, Field::Rs | Field::Rt | Field::Rd);
        match side {
            Side::Field(name) => {
                let right = self.field(name)?;
                let fits = right.is_some_and(|right| {
                    let right_register = matches!(right, Field::Rs | Field::Rt | Field::Rd);
                    right != Field::Opcode && left != Field::Opcode && right_register == register
                });
                match right {
                    Some(right) if fits => Ok(Operand::Field(right)),
                    _ => {
                        let message =
                            format!("{} cannot be compared with {}", left.name(), name.text);
                        Err(self.source.error(name.at, message))
                    }
                }
            }
            Side::Value(Expr::Name(name), _) if left == Field::Opcode => self.operation(name),
            Side::Value(Expr::Name(name), _) if left == Field::Target && name.text == ENTRY => {
                Ok(Operand::Entry)
            }
            Side::Value(Expr::Name(name), _) if register => self.machine_register(name),
            Side::Value(_, at) if left == Field::Opcode => Err(self
                .source
                .error(*at, "T.OPCODE is compared with a mnemonic")),
            Side::Value(expr, at) => {
                let value = self.symbols.evaluate(expr, self.source)?;
                if register && !(0..i64::from(reg::DISE)).contains(&value) {
                    let message = format!("{value} is not the number of a register (0 to 63)");
                    return Err(self.source.error(*at, message));
                }
                if register {
                    let isa = self.symbols.isa;
                    return Ok(Operand::Register(isa, machine_number(isa, value as u8)));
                }
                Ok(Operand::Number(number(left, value)))
            }
        }
    }

    fn operation(&self, name: &Name) -> Result<Operand, DiseError> {
        let op = Op::from_mnemonic(self.symbols.isa, &name.text).ok_or_else(|| {
            let isa = Some(self.symbols.isa);
            let known = Op::ALL
                .iter()
                .filter(|op| op.isa().is_none() || op.isa() == isa)
                .map(|op| op.mnemonic());
            self.source.unknown(
                name,
                "operation",
                known,
                "use the mnemonic of an instruction",
            )
        })?;
        let class = op.class();
        if matches!(class, OpClass::DiseBranch | OpClass::DiseCall) {
            let message = format!("`{}` never is a trigger", name.text);
            return Err(self.source.error(name.at, message));
        }
        Ok(Operand::Number(i128::from(op as u16)))
    }

    fn machine_register(&self, name: &Name) -> Result<Operand, DiseError> {
        let isa = self.symbols.isa;
        match isa.parse_register(&name.text) {
            Some(register) if register < reg::DISE => Ok(Operand::Register(isa, register)),
            _ => {
                let known: Vec<&str> = (0..reg::DISE).map(|r| isa.register_name(r)).collect();
                Err(self.source.unknown(
                    name,
                    "register",
                    known,
                    match isa {
                        Isa::Riscv64 => "use a name of the ABI, x0 to x31 or f0 to f31",
                        Isa::Alpha => "use a name of the ABI, $0 to $31 or $f0 to $f31",
                    },
                ))
            }
        }
    }
}

/// The number that the machine gives the register that the instruction set calls by this number;
/// floating-point registers from 32.
fn machine_number(isa: Isa, number: u8) -> u8 {
    match isa {
        Isa::Riscv64 => number,
        Isa::Alpha if number < reg::FP => registers::number(number),
        Isa::Alpha => registers::fp_number(number - reg::FP),
    }
}

/// Addresses are unsigned, immediates signed.
fn number(field: Field, value: i64) -> i128 {
    match field {
        Field::Pc | Field::Target => i128::from(value as u64),
        _ => i128::from(value),
    }
}

fn accepted(relation: &str) -> u8 {
    match relation {
        "==" => outcome::EQUAL,
        "!=" => outcome::LESS | outcome::GREATER,
        "<" => outcome::LESS,
        "<=" => outcome::LESS | outcome::EQUAL,
        ">" => outcome::GREATER,
        _ => outcome::GREATER | outcome::EQUAL,
    }
}

fn mirrored(relation: &str) -> u8 {
    accepted(match relation {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        same => same,
    })
}

fn both(a: &PatternEntry, b: &PatternEntry) -> Option<PatternEntry> {
    let condition = a.condition.and(b.condition)?;
    let pattern = a.pattern.and(&b.pattern);
    pattern
        .is_satisfiable()
        .then_some(PatternEntry { pattern, condition })
}

/// Joins alternatives that differ in their classes only, and drops those that another one covers.
fn simplify(terms: Vec<PatternEntry>) -> Vec<PatternEntry> {
    let mut joined: Vec<PatternEntry> = Vec::new();
    for term in terms {
        let same = joined
            .iter_mut()
            .find(|t| t.condition == term.condition && t.pattern.tests == term.pattern.tests);
        match same {
            Some(same) => {
                let classes = &mut same.pattern.classes;
                *classes = classes.union(term.pattern.classes);
            }
            None => joined.push(term),
        }
    }
    let mut kept: Vec<PatternEntry> = Vec::new();
    for (i, term) in joined.iter().enumerate() {
        let covered = kept.iter().any(|k| k.covers(term))
            || joined[i + 1..]
                .iter()
                .any(|j| j.covers(term) && !term.covers(j));
        if !covered {
            kept.push(term.clone());
        }
    }
    kept
}
