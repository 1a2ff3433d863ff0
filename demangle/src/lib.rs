//! Readable forms of the names that compilers of C++, Rust and D give to linkers.
//!
//! Names come from files of strangers. A damaged one, and one whose readable form would be longer than
//! [`MAX_NAME_BYTES`], comes back as it is, after a bounded time.

mod dlang;

use std::fmt::Write;

/// Most bytes of a name that is demangled, and of its readable form: hostile ones can grow without bound.
pub const MAX_NAME_BYTES: usize = 4096;

/// Collects text up to [`MAX_NAME_BYTES`], then fails.
#[derive(Default)]
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > MAX_NAME_BYTES {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The readable form of a name of C++, Rust or D; any other name as it is.
#[must_use]
pub fn demangle(name: &str) -> String {
    readable(name).unwrap_or_else(|| name.to_owned())
}

fn readable(name: &str) -> Option<String> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let mut text = Bounded::default();
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        write!(text, "{rust:#}").ok()?;
    } else if name.starts_with("_Z") {
        let symbol = cpp_demangle::Symbol::new(name).ok()?;
        let options = cpp_demangle::DemangleOptions::new();
        symbol.structured_demangle(&mut text, &options).ok()?;
    } else {
        return dlang::demangle(name);
    }
    Some(text.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_demangled() {
        assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(
            demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangle("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangle("_D3foo3barFiZv"), "foo.bar(int)");
        for other in [
            "main",
            "_Znonsense(",
            "_Default",
            "_DYNAMIC",
            "_D",
            "_Z",
            "_R",
            "",
        ] {
            assert_eq!(demangle(other), other);
        }
    }

    #[test]
    fn names_that_are_long_or_would_be_come_back() {
        // Each argument of the template is two of the one before.
        let doubled = |times: usize| {
            let last = (1..=times).map(|at| format!("S0_IS{at}_S{at}_E"));
            format!("_Z1fI1AIiiE{}EvT_", last.collect::<String>())
        };
        assert_eq!(
            demangle(&doubled(1)),
            "void f<A<int, int>, A<A<int, int>, A<int, int> > >(A<int, int>)"
        );
        assert!(demangle(&doubled(6)).len() > 1000);
        assert_eq!(demangle(&doubled(9)), doubled(9));
        let long = |letters: usize| format!("_Z{letters}{}v", "a".repeat(letters));
        assert_eq!(demangle(&long(4000)).len(), 4002);
        assert_eq!(demangle(&long(MAX_NAME_BYTES)), long(MAX_NAME_BYTES));
    }
}
