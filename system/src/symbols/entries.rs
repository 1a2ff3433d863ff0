//! Entries of functions: calls, tail calls and jumps told apart.

use std::ops::Range;

use hps_isa::isa::Isa;
use rustc_hash::FxHashMap;

use super::SymbolTable;
use super::table::holds;

/// Entries of functions. Tells a jump into another function, a *tail call*, from a jump within one.
///
/// A function is entered at its first address. On Alpha it is also entered 8 bytes behind it by callers that share its
/// global pointer: they leave out the two instructions (`ldgp`) that load it. A program without symbols has no entries.
/// A jump out of a stub (`name@plt`) to code outside of the stubs enters a function.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// First address of each function, and the address behind the function.
    ends: FxHashMap<u64, u64>,
    /// Bytes that a caller may leave out; 0 if none may be.
    optional: u64,
    /// Address ranges of stubs, ascending.
    stubs: Vec<Range<u64>>,
}

impl Entries {
    /// The entries of a program for this instruction set.
    #[must_use]
    pub fn of(symbols: &SymbolTable, isa: Isa) -> Self {
        Entries::new([], isa).renewed(symbols)
    }

    /// The entries of these symbols for the same instruction set.
    #[must_use]
    pub fn renewed(&self, symbols: &SymbolTable) -> Self {
        let functions = symbols.functions().iter().enumerate();
        // A jump to a part of a function stays in the function.
        let wholes = functions.filter(|&(at, _)| symbols.whole(at) == at);
        Entries {
            ends: wholes.map(|(_, f)| (f.addr, f.addr + f.size)).collect(),
            optional: self.optional,
            stubs: symbols.stubs().to_vec(),
        }
    }

    /// The entries of functions, given by their first address and the address behind them.
    #[must_use]
    pub fn new(functions: impl IntoIterator<Item = (u64, u64)>, isa: Isa) -> Self {
        Entries {
            ends: functions.into_iter().collect(),
            optional: if isa == Isa::Alpha { 8 } else { 0 },
            stubs: Vec::new(),
        }
    }

    /// Whether a function begins at this address.
    #[must_use]
    pub fn begins_function(&self, addr: u64) -> bool {
        self.ends.contains_key(&addr)
    }

    /// The first address of the function that a jump at `pc` to `target` enters, from outside or again from within.
    #[must_use]
    pub fn entered(&self, pc: u64, target: u64) -> Option<u64> {
        if self.begins_function(target) {
            return Some(target);
        }
        // Loops often begin there: from within it is no entry.
        let begin = target.wrapping_sub(self.optional);
        if self.begins_function(begin) && !self.is_within(begin, pc) {
            return Some(begin);
        }
        (self.is_stub(pc) && !self.is_stub(target)).then_some(target)
    }

    /// Whether a stub of a call through a table of addresses lies here.
    fn is_stub(&self, addr: u64) -> bool {
        holds(&self.stubs, addr)
    }

    /// The first address of the function that a jump at `pc` to `target` enters from outside.
    #[must_use]
    pub fn tail_called(&self, pc: u64, target: u64) -> Option<u64> {
        let entered = self.entered(pc, target);
        entered.filter(|&begin| !self.is_within(begin, pc))
    }

    /// Whether a jump at `pc` to `target` enters a function that does not hold the jump.
    #[must_use]
    pub fn is_tail_call(&self, pc: u64, target: u64) -> bool {
        self.tail_called(pc, target).is_some()
    }

    fn is_within(&self, begin: u64, pc: u64) -> bool {
        let end = self.ends.get(&begin);
        end.is_some_and(|&end| (begin..end).contains(&pc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_call_enters_a_function_from_outside_of_it() {
        let functions = [(0x1000, 0x1040), (0x1040, 0x1080)];
        let riscv = Entries::new(functions, Isa::Riscv64);
        let alpha = Entries::new(functions, Isa::Alpha);
        for entries in [&riscv, &alpha] {
            assert!(entries.is_tail_call(0x1010, 0x1040));
            assert!(!entries.is_tail_call(0x1050, 0x1040));
            assert_eq!(entries.entered(0x1050, 0x1040), Some(0x1040));
            assert_eq!(entries.entered(0x1010, 0x1044), None);
        }
        assert_eq!(alpha.entered(0x1010, 0x1048), Some(0x1040));
        assert_eq!(alpha.entered(0x1050, 0x1048), None);
        assert_eq!(riscv.entered(0x1010, 0x1048), None);
    }

    #[test]
    fn stubs_enter_functions_that_no_symbol_names() {
        let entries = Entries {
            stubs: vec![0x2000..0x2020, 0x2020..0x2040],
            ..Entries::new([(0x1000, 0x1040), (0x2020, 0x2030)], Isa::Riscv64)
        };
        assert_eq!(entries.entered(0x2028, 0x5000), Some(0x5000));
        assert_eq!(entries.tail_called(0x2028, 0x5000), Some(0x5000));
        // To the head of the stubs, which looks the function up, and from elsewhere.
        assert_eq!(entries.entered(0x2028, 0x2000), None);
        assert_eq!(entries.entered(0x2040, 0x5000), None);
    }
}
