//! Values that are arguments of templates.

use super::{Read, Reader, number};

/// The suffix of integers of a type, by the type's letter.
fn suffix(letter: u8) -> &'static str {
    match letter {
        b'h' | b't' | b'k' => "u",
        b'l' => "L",
        b'm' => "uL",
        _ => "",
    }
}

impl Reader<'_> {
    /// A value behind its type. The type is shown for structures only.
    pub(super) fn value_of_type(&mut self) -> Read {
        let letter = match self.reference(self.at) {
            Some((to, _)) => self.byte(to),
            None => self.next(),
        };
        let written = self.out.len();
        self.type_()?;
        if self.next() != b'S' {
            self.out.truncate(written);
        }
        self.value(letter)
    }

    /// A value of the type that begins with this letter; 0 if that is not known.
    fn value(&mut self, letter: u8) -> Read {
        self.part(|reader| reader.value_inside(letter))
    }

    fn value_inside(&mut self, letter: u8) -> Read {
        let kind = self.next();
        if kind.is_ascii_digit() {
            return self.integer(letter);
        }
        self.at += 1;
        match kind {
            b'n' => self.write("null"),
            b'i' => self.integer(letter),
            b'N' => {
                self.write("-")?;
                self.integer(letter)
            }
            b'e' => self.real(),
            b'c' => {
                self.real()?;
                self.write("+")?;
                if !self.take("c") {
                    return None;
                }
                self.real()?;
                self.write("i")
            }
            b'a' | b'w' | b'd' => self.string(kind),
            b'A' => {
                let count = self.number()?;
                self.write("[")?;
                for written in 0..count {
                    self.separate(written)?;
                    self.value(0)?;
                    if letter == b'H' {
                        self.write(":")?;
                        self.value(0)?;
                    }
                }
                self.write("]")
            }
            b'S' => {
                let count = self.number()?;
                self.write("(")?;
                for written in 0..count {
                    self.separate(written)?;
                    self.value(0)?;
                }
                self.write(")")
            }
            // A function.
            b'f' => self.mangled(),
            _ => None,
        }
    }

    fn integer(&mut self, letter: u8) -> Read {
        let digits = self.digits()?;
        match letter {
            b'a' | b'u' | b'w' => {
                let value = u32::try_from(number(digits)?).ok()?;
                let text = match letter {
                    b'a' if (0x20..0x7f).contains(&value) => {
                        format!("'{}'", char::from_u32(value)?)
                    }
                    b'a' => format!("'\\x{value:02x}'"),
                    b'u' => format!("'\\u{value:04x}'"),
                    _ => format!("'\\U{value:08x}'"),
                };
                self.write(&text)
            }
            b'b' => {
                let is_false = digits.iter().all(|digit| *digit == b'0');
                self.write(if is_false { "false" } else { "true" })
            }
            _ => {
                self.write_bytes(digits)?;
                self.write(suffix(letter))
            }
        }
    }

    /// A real number as hexadecimal digits, the first one before the point, and an exponent of two.
    fn real(&mut self) -> Read {
        if self.take("NAN") {
            return self.write("NaN");
        }
        if self.take("INF") {
            return self.write("Inf");
        }
        if self.take("NINF") {
            return self.write("-Inf");
        }
        let sign = if self.take("N") { "-0x" } else { "0x" };
        self.write(sign)?;
        let digits = self.take_while(u8::is_ascii_hexdigit);
        let (first, rest) = digits.split_at_checked(1)?;
        self.write_bytes(first)?;
        self.write(".")?;
        self.write_bytes(rest)?;
        if !self.take("P") {
            return None;
        }
        let sign = if self.take("N") { "p-" } else { "p" };
        self.write(sign)?;
        let exponent = self.digits()?;
        self.write_bytes(exponent)
    }

    /// A text whose bytes are given by two hexadecimal digits each; `kind` is the type of its characters.
    fn string(&mut self, kind: u8) -> Read {
        let count = self.number()?;
        if !self.take("_") {
            return None;
        }
        self.write("\"")?;
        for _ in 0..count {
            let digits = self.take_bytes(2)?;
            let byte = byte_of(digits)?;
            match byte {
                b'\t' => self.write("\\t")?,
                b'\n' => self.write("\\n")?,
                b'\r' => self.write("\\r")?,
                0x0b => self.write("\\v")?,
                0x0c => self.write("\\f")?,
                0x20..0x7f => self.write_bytes(&[byte])?,
                _ => {
                    self.write("\\x")?;
                    self.write_bytes(digits)?;
                }
            }
        }
        self.write("\"")?;
        match kind {
            b'a' => Some(()),
            _ => self.write_bytes(&[kind]),
        }
    }
}

/// The value of two hexadecimal digits.
fn byte_of(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(value << 4 | digit as u8)
    })
}
