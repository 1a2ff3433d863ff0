//! Meanings of names, and values of expressions.

use std::collections::{BTreeMap, HashMap};

use hps_isa::isa::Isa;

use crate::error::DiseError;
use crate::lang::ast::{Expr, File};
use crate::lang::parser::{KEYWORDS, dise_register};
use crate::lang::source::{Name, Source};

/// The largest value of a counter, at which it overflows.
const MAX: i64 = u32::MAX as i64;

/// Names of a set of files. They share one name space.
#[derive(Clone, Debug)]
pub(crate) struct Symbols {
    /// The instruction set of the program, whose registers and instructions are meant.
    pub isa: Isa,
    /// Constants, parameters and `MAX`.
    pub values: BTreeMap<String, i64>,
    /// Names of DISE registers, in the machine's numbering.
    pub registers: BTreeMap<String, u8>,
    /// Handlers and data areas.
    pub addresses: BTreeMap<String, u64>,
    /// Names of parameters.
    pub params: Vec<String>,
}

impl Symbols {
    /// Collects parameters, constants and registers. Addresses come later.
    pub fn collect(
        files: &[&File],
        overrides: &HashMap<String, i64>,
        isa: Isa,
    ) -> Result<Self, DiseError> {
        let mut symbols = Symbols {
            isa,
            values: BTreeMap::new(),
            registers: BTreeMap::new(),
            addresses: BTreeMap::new(),
            params: Vec::new(),
        };
        symbols.values.insert("MAX".to_owned(), MAX);
        for file in files {
            for (name, default) in &file.params {
                let value = match overrides.get(&name.text) {
                    Some(value) => *value,
                    None => symbols.evaluate(default, &file.source)?,
                };
                symbols.define(&file.source, name, value)?;
                symbols.params.push(name.text.clone());
            }
        }
        if let Some(unknown) = overrides
            .keys()
            .filter(|name| !symbols.params.contains(name))
            .min()
        {
            let known = if symbols.params.is_empty() {
                "none".to_owned()
            } else {
                symbols.params.join(", ")
            };
            return Err(DiseError::UnknownParam {
                name: unknown.clone(),
                known,
            });
        }
        for file in files {
            for (name, value) in &file.consts {
                let value = symbols.evaluate(value, &file.source)?;
                symbols.define(&file.source, name, value)?;
            }
            for (name, register) in &file.registers {
                symbols.define_register(&file.source, name, *register)?;
            }
        }
        Ok(symbols)
    }

    /// The same name may be defined again with the same value, so that files can be merged.
    fn define(&mut self, source: &Source, name: &Name, value: i64) -> Result<(), DiseError> {
        self.check_free(source, name, false)?;
        match self.values.insert(name.text.clone(), value) {
            Some(old) if old != value => {
                let message = format!("`{}` is already defined as {old}", name.text);
                Err(source.error_help(name.at, message, "use another name"))
            }
            _ => Ok(()),
        }
    }

    fn define_register(
        &mut self,
        source: &Source,
        name: &Name,
        register: u8,
    ) -> Result<(), DiseError> {
        self.check_free(source, name, true)?;
        match self.registers.insert(name.text.clone(), register) {
            Some(old) if old != register => {
                let message = format!("`{}` is already the name of dr{}", name.text, old - 64);
                Err(source.error_help(name.at, message, "use another name"))
            }
            _ => Ok(()),
        }
    }

    /// Defines a handler or a data area.
    pub fn define_address(
        &mut self,
        source: &Source,
        name: &Name,
        address: u64,
    ) -> Result<(), DiseError> {
        self.check_free(source, name, false)?;
        if self.values.contains_key(&name.text) || self.addresses.contains_key(&name.text) {
            let message = format!("`{}` is already defined", name.text);
            return Err(source.error_help(name.at, message, "use another name"));
        }
        self.addresses.insert(name.text.clone(), address);
        Ok(())
    }

    fn check_free(&self, source: &Source, name: &Name, register: bool) -> Result<(), DiseError> {
        let other = if register {
            self.values.contains_key(&name.text)
        } else {
            self.registers.contains_key(&name.text)
        };
        let machine = self.isa.parse_register(&name.text).is_some();
        let dotted = name.text.contains('.');
        if !(other || machine || dotted || KEYWORDS.contains(&name.text.as_str())) {
            return Ok(());
        }
        let message = format!("`{}` cannot be defined: it means something else", name.text);
        Err(source.error_help(name.at, message, "use another name"))
    }

    /// A DISE register by its own name or by one that a file gave it.
    pub fn register(&self, source: &Source, name: &Name) -> Result<u8, DiseError> {
        if let Some(register) = self
            .registers
            .get(&name.text)
            .copied()
            .or_else(|| dise_register(&name.text))
        {
            return Ok(register);
        }
        let known = self
            .registers
            .keys()
            .map(String::as_str)
            .chain(["dr0", "dr1", "dr10", "dr15"]);
        let help = format!("name it first: `register {} = dr0;`", name.text);
        Err(source.unknown(name, "DISE register", known, &help))
    }

    /// The value of a name in expressions.
    pub fn value(&self, name: &str) -> Option<i64> {
        self.values
            .get(name)
            .copied()
            .or_else(|| self.addresses.get(name).map(|address| *address as i64))
    }

    /// Everything that has a value.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values
            .keys()
            .chain(self.addresses.keys())
            .map(String::as_str)
    }

    /// The value of an expression, in 64 bits.
    pub fn evaluate(&self, expr: &Expr, source: &Source) -> Result<i64, DiseError> {
        match expr {
            Expr::Number(value) => Ok(*value),
            Expr::Name(name) => self.value(&name.text).ok_or_else(|| {
                let help = "define it with `const` or `param`, before it is used";
                source.unknown(name, "name", self.names(), help)
            }),
            Expr::Negate(inner, at) => {
                let value = self.evaluate(inner, source)?;
                value
                    .checked_neg()
                    .ok_or_else(|| source.error(*at, "the value does not fit 64 bits"))
            }
            Expr::Binary(left, op, right, at) => {
                let (left, right) = (self.evaluate(left, source)?, self.evaluate(right, source)?);
                if *op == '/' && right == 0 {
                    return Err(source.error(*at, "division by zero"));
                }
                let value = match op {
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    '/' => left.checked_div(right),
                    _ => left.checked_mul(right),
                };
                value.ok_or_else(|| source.error(*at, "the value does not fit 64 bits"))
            }
        }
    }
}
