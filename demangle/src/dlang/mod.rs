//! Names of the language D.
//!
//! The grammar is that of the language's ABI (<https://dlang.org/spec/abi.html#name_mangling>): the mangling with back
//! references, and the older one, in which template instances and symbols as arguments have their length before them.
//! The readable form is that of `c++filt --format=dlang` of GNU binutils, which leaves out what a function returns, how
//! it is called and its attributes, but for `const` and the like of `this`.
//!
//! The parser also knows two forms that compilers write: parameters that are `return scope`, and methods whose type is
//! a back reference. And what a compiler makes for a symbol (`ModuleInfo for`) stands before that symbol, among
//! arguments, too.

#[cfg(test)]
mod tests;
mod types;
mod values;

use crate::MAX_NAME_BYTES;

/// Most parts of a name that contain each other. In `libphobos` it is 21.
const MOST_DEPTH: u32 = 128;

/// Most parts of a name that are read: back references read parts again, and an attempt may be in vain. In `libphobos`
/// it is 750.
const MOST_PARTS: u32 = 1 << 13;

/// The readable form of a name of D, if it is one.
pub(crate) fn demangle(name: &str) -> Option<String> {
    if name == "_Dmain" {
        return Some("D main".to_owned());
    }
    if !name.starts_with("_D") {
        return None;
    }
    let mut reader = Reader {
        name: name.as_bytes(),
        at: 0,
        out: Vec::new(),
        before: name.len(),
        is_silent: false,
        is_over: false,
        depth: 0,
        parts: 0,
    };
    reader.mangled()?;
    if reader.at < name.len() {
        return None;
    }
    String::from_utf8(reader.out).ok()
}

/// Result of reading a part. The reader itself holds where it is and what it has written.
type Read = Option<()>;

/// A name, and what has been written for its beginning. A part of it that does not follow the grammar gives `None`;
/// where the reader is and what it has written is without meaning then.
struct Reader<'a> {
    name: &'a [u8],
    at: usize,
    out: Vec<u8>,
    /// Where the references end that may be read.
    before: usize,
    /// Whether nothing is written.
    is_silent: bool,
    /// Whether a bound was met. Then nothing more is read.
    is_over: bool,
    depth: u32,
    parts: u32,
}

impl<'a> Reader<'a> {
    /// The next byte; 0 at the end.
    fn next(&self) -> u8 {
        self.byte(self.at)
    }

    /// The byte at a place; 0 behind the end.
    fn byte(&self, at: usize) -> u8 {
        self.name.get(at).copied().unwrap_or(0)
    }

    fn is_next(&self, text: &str) -> bool {
        self.name[self.at..].starts_with(text.as_bytes())
    }

    /// Passes over a text, if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let is_next = self.is_next(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// The bytes that come next.
    fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes = self.name.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(bytes)
    }

    /// The bytes that come next and are of this kind.
    fn take_while(&mut self, is_of_kind: impl Fn(&u8) -> bool) -> &'a [u8] {
        let rest = &self.name[self.at..];
        let count = rest.iter().take_while(|byte| is_of_kind(byte)).count();
        self.at += count;
        &rest[..count]
    }

    /// The decimal digits that come next, one at least.
    fn digits(&mut self) -> Option<&'a [u8]> {
        let digits = self.take_while(u8::is_ascii_digit);
        (!digits.is_empty()).then_some(digits)
    }

    fn number(&mut self) -> Option<usize> {
        number(self.digits()?)
    }

    fn write(&mut self, text: &str) -> Read {
        self.write_bytes(text.as_bytes())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Read {
        if self.is_silent {
            return Some(());
        }
        self.is_over |= self.out.len() + bytes.len() > MAX_NAME_BYTES;
        if self.is_over {
            return None;
        }
        self.out.extend_from_slice(bytes);
        Some(())
    }

    /// Writes what separates the parts of a list.
    fn separate(&mut self, written: usize) -> Read {
        self.write(if written > 0 { ", " } else { "" })
    }

    /// Moves what was written behind `middle` in front of what was written between `from` and it.
    fn move_front(&mut self, from: usize, middle: usize) {
        self.out[from..].rotate_left(middle - from);
    }

    /// Reads a part inside of others.
    fn part(&mut self, read: impl FnOnce(&mut Self) -> Read) -> Read {
        self.is_over |= self.depth == MOST_DEPTH || self.parts == MOST_PARTS;
        if self.is_over {
            return None;
        }
        self.parts += 1;
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Reads a part, or leaves everything as it is.
    fn attempt(&mut self, read: impl FnOnce(&mut Self) -> Read) -> bool {
        let (at, written) = (self.at, self.out.len());
        let was_silent = self.is_silent;
        let done = read(self).is_some();
        if !done {
            self.at = at;
            self.is_silent = was_silent;
            self.out.truncate(written);
        }
        done
    }

    /// The place that a back reference at a place means, and the place behind the reference. Its digits have the base
    /// 26; the last one is a small letter.
    fn reference(&self, at: usize) -> Option<(usize, usize)> {
        let mut distance = 0_usize;
        let mut behind = at + 1;
        if self.byte(at) != b'Q' {
            return None;
        }
        loop {
            let digit = self.byte(behind);
            behind += 1;
            let (value, is_last) = match digit {
                b'A'..=b'Z' => (digit - b'A', false),
                b'a'..=b'z' => (digit - b'a', true),
                _ => return None,
            };
            distance = distance.checked_mul(26)? + usize::from(value);
            if is_last {
                let to = at.checked_sub(distance).filter(|_| distance > 0)?;
                return Some((to, behind));
            }
        }
    }

    /// Reads what a back reference means. What is read so has references before this one only: no part of a name
    /// contains itself.
    fn by_reference(&mut self, read: impl FnOnce(&mut Self) -> Read) -> Read {
        let place = self.at;
        let (to, behind) = self.reference(place)?;
        if place >= self.before {
            return None;
        }
        let before = std::mem::replace(&mut self.before, place);
        self.at = to;
        let done = read(self);
        self.at = behind;
        self.before = before;
        done
    }

    /// A mangled name: `_D`, a qualified name, and a type that is not shown, or `Z`.
    fn mangled(&mut self) -> Read {
        self.part(|reader| {
            if !reader.take("_D") {
                return None;
            }
            reader.qualified(true)?;
            if reader.take("Z") {
                return Some(());
            }
            if reader.take("M") {
                return reader.method_by_reference();
            }
            let was_silent = std::mem::replace(&mut reader.is_silent, true);
            reader.type_()?;
            reader.is_silent = was_silent;
            Some(())
        })
    }

    /// The type of a method, if it is a back reference: its parameters are shown.
    fn method_by_reference(&mut self) -> Read {
        let modifiers = self.modifiers()?;
        self.by_reference(Self::parameters_of_function)?;
        self.write_modifiers(modifiers)
    }

    /// Names of which each is inside of the one before. Functions among them have parameters; `shows_this` shows what
    /// the `this` of methods is.
    fn qualified(&mut self, shows_this: bool) -> Read {
        self.part(|reader| {
            let begin = reader.out.len();
            let mut is_first = true;
            while is_first || reader.is_symbol() {
                // A symbol without a name.
                if reader.take("0") {
                    continue;
                }
                reader.pass_made_scopes();
                if let Some((title, identifier)) = reader.made_by_compiler() {
                    reader.at += identifier;
                    let end = reader.out.len();
                    reader.write(title)?;
                    reader.move_front(begin, end);
                    return (!is_first).then_some(());
                }
                reader.write(if is_first { "" } else { "." })?;
                is_first = false;
                reader.symbol()?;
                reader.attempt(|reader| {
                    let mut modifiers = (0, 0);
                    if reader.take("M") {
                        modifiers = reader.modifiers()?;
                    }
                    reader.parameters_of_function()?;
                    if shows_this {
                        reader.write_modifiers(modifiers)?;
                    }
                    // The function's result type follows, or the next symbol.
                    (reader.at < reader.name.len()).then_some(())
                });
            }
            Some(())
        })
    }

    /// Passes over scopes that a compiler has made to tell symbols of one name apart: `__S` and a number.
    fn pass_made_scopes(&mut self) {
        loop {
            let begin = self.at;
            let length = self.number();
            let identifier = length.and_then(|length| self.take_bytes(length));
            let number = identifier.and_then(|identifier| identifier.strip_prefix(b"__S"));
            let is_scope =
                number.is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit));
            if !is_scope {
                self.at = begin;
                return;
            }
        }
    }

    /// Looks up what a compiler makes for the symbol whose name stands before: its title, and the identifier's length.
    fn made_by_compiler(&self) -> Option<(&'static str, usize)> {
        let all = [
            ("6__initZ", "initializer for "),
            ("6__vtblZ", "vtable for "),
            ("7__ClassZ", "ClassInfo for "),
            ("11__InterfaceZ", "Interface for "),
            ("12__ModuleInfoZ", "ModuleInfo for "),
        ];
        let of = |(text, title): (&str, _)| self.is_next(text).then_some((title, text.len() - 1));
        all.into_iter().find_map(of)
    }

    /// Whether a symbol comes next.
    fn is_symbol(&self) -> bool {
        match self.next() {
            b'0'..=b'9' => true,
            b'_' => self.is_template(),
            b'Q' => {
                let to = self.reference(self.at);
                to.is_some_and(|(to, _)| self.byte(to).is_ascii_digit())
            }
            _ => false,
        }
    }

    fn is_template(&self) -> bool {
        self.is_next("__T") || self.is_next("__U")
    }

    /// The name of a symbol: an identifier with its length before it, a template instance, or a back reference to an
    /// identifier.
    fn symbol(&mut self) -> Read {
        if self.is_template() {
            return self.template();
        }
        if self.next() == b'Q' {
            return self.by_reference(|reader| {
                let length = reader.number()?;
                reader.identifier(length)
            });
        }
        let length = self.number()?;
        if !self.is_template() || length < "__T1aZ".len() {
            return self.identifier(length);
        }
        let end = self.at.checked_add(length)?;
        self.template()?;
        (self.at == end).then_some(())
    }

    /// An identifier behind its length.
    fn identifier(&mut self, length: usize) -> Read {
        let identifier = self.take_bytes(length).filter(|_| length > 0)?;
        match identifier {
            b"__ctor" => self.write("this"),
            b"__dtor" => self.write("~this"),
            b"__postblit" if self.take("MFZ") => self.write("this(this)"),
            _ => self.write_bytes(identifier),
        }
    }

    /// An instance of a template: its name, then its arguments.
    fn template(&mut self) -> Read {
        self.part(|reader| {
            reader.at += "__T".len();
            if !reader.is_symbol() || reader.next() == b'0' {
                return None;
            }
            reader.symbol()?;
            reader.write("!(")?;
            let mut written = 0;
            while !reader.take("Z") {
                reader.separate(written)?;
                reader.argument()?;
                written += 1;
            }
            reader.write(")")
        })
    }

    /// An argument of a template.
    fn argument(&mut self) -> Read {
        // The parameter is specialized for it.
        self.take("H");
        let kind = self.next();
        self.at += 1;
        match kind {
            b'T' => self.type_(),
            b'V' => self.value_of_type(),
            b'S' => self.symbol_argument(),
            // A name that is mangled in another way.
            b'X' => {
                let length = self.number()?;
                let name = self.take_bytes(length)?;
                self.write_bytes(name)
            }
            _ => None,
        }
    }

    /// A symbol as an argument: a mangled or a qualified name. The older mangling writes its length before it, so that
    /// of the digits of `S83foo3bar` the 8 is the length of the symbol and the 3 that of an identifier.
    fn symbol_argument(&mut self) -> Read {
        if self.is_next("_D") {
            return self.mangled();
        }
        let begin = self.at;
        let behind = begin + self.take_while(u8::is_ascii_digit).len();
        // No length has more digits than that of the longest name.
        for split in (begin + 1..=behind.min(begin + 4)).rev() {
            let Some(length) = number(&self.name[begin..split]) else {
                continue;
            };
            self.at = split;
            let found = self.attempt(|reader| {
                match reader.is_next("_D") {
                    true => reader.mangled()?,
                    false if reader.is_symbol() => reader.qualified(false)?,
                    false => return None,
                }
                (reader.at - split == length).then_some(())
            });
            if found {
                return Some(());
            }
        }
        self.at = begin;
        self.qualified(false)
    }
}

/// The value of decimal digits.
fn number(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0_usize, |value, digit| {
        value
            .checked_mul(10)?
            .checked_add(usize::from(digit - b'0'))
    })
}
