//! Types, and functions with their parameters.

use super::{Read, Reader};

/// How a function is called, by the letter that begins its type.
const CONVENTIONS: [(u8, &str); 6] = [
    (b'F', ""),
    (b'U', "extern(C) "),
    (b'W', "extern(Windows) "),
    (b'V', "extern(Pascal) "),
    (b'R', "extern(C++) "),
    (b'Y', "extern(Objective-C) "),
];

/// Attributes of functions, by the letter behind `N`.
const ATTRIBUTES: [(u8, &str); 10] = [
    (b'a', "pure "),
    (b'b', "nothrow "),
    (b'c', "ref "),
    (b'd', "@property "),
    (b'e', "@trusted "),
    (b'f', "@safe "),
    (b'i', "@nogc "),
    (b'j', "return "),
    (b'l', "scope "),
    (b'm', "@live "),
];

/// Types of the language, by their letter.
const BASIC: [(u8, &str); 23] = [
    (b'n', "typeof(null)"),
    (b'v', "void"),
    (b'g', "byte"),
    (b'h', "ubyte"),
    (b's', "short"),
    (b't', "ushort"),
    (b'i', "int"),
    (b'k', "uint"),
    (b'l', "long"),
    (b'm', "ulong"),
    (b'f', "float"),
    (b'd', "double"),
    (b'e', "real"),
    (b'o', "ifloat"),
    (b'p', "idouble"),
    (b'j', "ireal"),
    (b'q', "cfloat"),
    (b'r', "cdouble"),
    (b'c', "creal"),
    (b'b', "bool"),
    (b'a', "char"),
    (b'u', "wchar"),
    (b'w', "dchar"),
];

/// The text of a letter.
fn text_of<const N: usize>(all: &[(u8, &'static str); N], letter: u8) -> Option<&'static str> {
    let found = all.iter().find(|(of, _)| *of == letter);
    found.map(|(_, text)| *text)
}

/// A part of the name: where it begins and ends.
type Range = (usize, usize);

impl Reader<'_> {
    /// A type.
    pub(super) fn type_(&mut self) -> Read {
        self.part(Self::type_inside)
    }

    fn type_inside(&mut self) -> Read {
        let begin = self.out.len();
        let letter = self.next();
        if letter == b'Q' {
            return self.by_reference(Self::type_);
        }
        if self.is_function() {
            self.function()?;
            return self.write("function");
        }
        self.at += 1;
        match letter {
            b'x' => self.wrapped("const("),
            b'y' => self.wrapped("immutable("),
            b'O' => self.wrapped("shared("),
            b'N' => {
                let kind = self.next();
                self.at += 1;
                match kind {
                    b'g' => self.wrapped("inout("),
                    b'h' => self.wrapped("__vector("),
                    b'n' => self.write("typeof(*null)"),
                    _ => None,
                }
            }
            b'A' => {
                self.type_()?;
                self.write("[]")
            }
            b'G' => {
                let count = self.digits()?;
                self.type_()?;
                self.write("[")?;
                self.write_bytes(count)?;
                self.write("]")
            }
            b'H' => {
                self.write("[")?;
                self.type_()?;
                self.write("]")?;
                let middle = self.out.len();
                self.type_()?;
                self.move_front(begin, middle);
                Some(())
            }
            b'P' if self.is_function() => self.type_(),
            b'P' => {
                self.type_()?;
                self.write("*")
            }
            b'D' => self.delegate(),
            b'B' => self.tuple(),
            b'C' | b'S' | b'E' | b'T' => self.qualified(false),
            b'z' => {
                let kind = self.next();
                self.at += 1;
                match kind {
                    b'i' => self.write("cent"),
                    b'k' => self.write("ucent"),
                    _ => None,
                }
            }
            _ => self.write(text_of(&BASIC, letter)?),
        }
    }

    /// A type in parentheses.
    fn wrapped(&mut self, before: &str) -> Read {
        self.write(before)?;
        self.type_()?;
        self.write(")")
    }

    fn tuple(&mut self) -> Read {
        let count = self.number()?;
        self.write("Tuple!(")?;
        for written in 0..count {
            self.separate(written)?;
            self.type_()?;
        }
        self.write(")")
    }

    /// A function with what its `this` is; the function may be a back reference.
    fn delegate(&mut self) -> Read {
        let modifiers = self.modifiers()?;
        if self.next() == b'Q' {
            self.by_reference(|reader| reader.part(Self::function))?;
        } else {
            self.function()?;
        }
        self.write("delegate")?;
        self.write_modifiers(modifiers)
    }

    /// Reads the next of `const`, `immutable`, `shared` and `inout`.
    pub(super) fn modifiers(&mut self) -> Option<Range> {
        let begin = self.at;
        while self.take("O") || self.take("Ng") {}
        if !self.take("x") {
            self.take("y");
        }
        Some((begin, self.at))
    }

    pub(super) fn write_modifiers(&mut self, (begin, end): Range) -> Read {
        for at in begin..end {
            let text = match self.byte(at) {
                b'x' => " const",
                b'y' => " immutable",
                b'O' => " shared",
                b'g' => " inout",
                _ => "",
            };
            self.write(text)?;
        }
        Some(())
    }

    /// Whether the type of a function comes next.
    fn is_function(&self) -> bool {
        text_of(&CONVENTIONS, self.next()).is_some()
    }

    /// A function with what it returns: `extern(C) int(char) pure `.
    fn function(&mut self) -> Read {
        let convention = text_of(&CONVENTIONS, self.next())?;
        self.write(convention)?;
        let begin = self.out.len();
        self.at += 1;
        let (mut at, end) = self.attributes();
        self.parameters()?;
        let middle = self.out.len();
        self.type_()?;
        self.move_front(begin, middle);
        self.write(" ")?;
        while at < end {
            self.write(text_of(&ATTRIBUTES, self.byte(at + 1))?)?;
            at += 2;
        }
        Some(())
    }

    /// The parameters of a function, whose way of being called and attributes are passed over.
    pub(super) fn parameters_of_function(&mut self) -> Read {
        text_of(&CONVENTIONS, self.next())?;
        self.at += 1;
        self.attributes();
        self.parameters()
    }

    /// Passes over attributes. `Ng`, `Nh`, `Nk` and `Nn` begin a parameter.
    fn attributes(&mut self) -> Range {
        let begin = self.at;
        while self.next() == b'N' && text_of(&ATTRIBUTES, self.byte(self.at + 1)).is_some() {
            self.at += 2;
        }
        (begin, self.at)
    }

    /// Parameters in parentheses, and how they end: `X` as `T t...`, `Y` as `T t, ...`.
    fn parameters(&mut self) -> Read {
        self.write("(")?;
        let mut written = 0;
        loop {
            if self.take("Z") {
                return self.write(")");
            }
            if self.take("X") {
                return self.write("...)");
            }
            self.separate(written)?;
            if self.take("Y") {
                return self.write("...)");
            }
            self.parameter()?;
            written += 1;
        }
    }

    fn parameter(&mut self) -> Read {
        let is_return = self.take("Nk");
        self.write(if is_return { "return " } else { "" })?;
        if self.take("M") {
            self.write("scope ")?;
        }
        if !is_return && self.take("Nk") {
            self.write("return ")?;
        }
        if self.take("I") {
            self.write("in ")?;
            if self.take("K") {
                self.write("ref ")?;
            }
        } else if self.take("J") {
            self.write("out ")?;
        } else if self.take("K") {
            self.write("ref ")?;
        } else if self.take("L") {
            self.write("lazy ")?;
        }
        self.type_()
    }
}
