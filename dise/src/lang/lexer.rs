//! Tokens of a production file.

use crate::error::DiseError;
use crate::lang::source::Source;

/// Kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name; may contain dots (`T.OPCLASS`, `fadd.s`).
    Word,
    /// A number.
    Number(i64),
    /// Punctuation, in its plain spelling (`⇒` is `=>`).
    Mark(&'static str),
    /// Everything between `{` and `}`: assembly text. The span is that of the inside.
    Block,
    /// The end of the file.
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of this token.
    pub kind: Kind,
    /// Byte offset of its start.
    pub start: usize,
    /// Byte offset behind it.
    pub end: usize,
    /// Whether the token is the first of its line.
    pub first_of_line: bool,
}

const MARKS: [(&str, &str); 22] = [
    ("⇒", "=>"),
    ("=>", "=>"),
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("&&", "&&"),
    ("||", "||"),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("!", "!"),
    ("(", "("),
    (")", ")"),
    (":", ":"),
    (";", ";"),
    (",", ","),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("}", "}"),
];

/// Splits the text; the last token is [`Kind::End`].
///
/// # Errors
/// An unknown character, a number out of range or a block that is not closed.
pub fn tokens(source: &Source) -> Result<Vec<Token>, DiseError> {
    tokens_between(source, 0, source.text.len())
}

/// Splits a part of the text, from byte offset `start` to `end`.
///
/// # Errors
/// Like [`tokens`].
pub fn tokens_between(source: &Source, start: usize, end: usize) -> Result<Vec<Token>, DiseError> {
    let text = &source.text[..end];
    let mut out = Vec::new();
    let mut at = start;
    let mut first_of_line = true;
    while let Some(c) = text[at..].chars().next() {
        if c == '#' {
            at += text[at..].find('\n').unwrap_or(text.len() - at);
            continue;
        }
        if c.is_whitespace() {
            first_of_line |= c == '\n';
            at += c.len_utf8();
            continue;
        }
        let (kind, start, end, next) = token(source, text, at, c)?;
        out.push(Token {
            kind,
            start,
            end,
            first_of_line,
        });
        first_of_line = false;
        at = next;
    }
    out.push(Token {
        kind: Kind::End,
        start: at,
        end: at,
        first_of_line: true,
    });
    Ok(out)
}

/// Kind, span, and where to go on.
fn token(
    source: &Source,
    text: &str,
    at: usize,
    c: char,
) -> Result<(Kind, usize, usize, usize), DiseError> {
    // `$` begins names of registers of Alpha.
    if c.is_ascii_alphabetic() || matches!(c, '_' | '$') {
        let end = at
            + span(&text[at..], |c| {
                c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
            });
        return Ok((Kind::Word, at, end, end));
    }
    if c.is_ascii_digit() {
        let end = at + span(&text[at..], |c| c.is_ascii_alphanumeric() || c == '_');
        let value = number(&text[at..end]).ok_or_else(|| {
            let message = format!("`{}` is not a number", &text[at..end]);
            source.error_help(
                at,
                message,
                "numbers are decimal, 0x... or 0b..., and fit 64 bits",
            )
        })?;
        return Ok((Kind::Number(value), at, end, end));
    }
    if c == '{' {
        let close = block_end(text, at + 1)
            .ok_or_else(|| source.error_help(at, "this block is never closed", "add `}`"))?;
        return Ok((Kind::Block, at + 1, close, close + 1));
    }
    for (spelling, mark) in MARKS {
        if text[at..].starts_with(spelling) {
            let end = at + spelling.len();
            return Ok((Kind::Mark(mark), at, end, end));
        }
    }
    let help = match c {
        '&' => "and is written `&&`",
        '|' => "or is written `||`",
        '/' => "comments start with `#`",
        _ => "remove it",
    };
    Err(source.error_help(at, format!("unexpected character `{c}`"), help))
}

/// A number in decimal, hexadecimal or binary; `_` may separate digits. Hexadecimal numbers may
/// use all 64 bits.
#[must_use]
pub fn number(word: &str) -> Option<i64> {
    let digits = word.replace('_', "");
    let parse = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(|v| v as i64);
    if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        parse(hex, 16)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        parse(binary, 2)
    } else {
        digits.parse().ok()
    }
}

fn span(text: &str, keep: impl Fn(char) -> bool) -> usize {
    text.find(|c| !keep(c)).unwrap_or(text.len())
}

/// Where the `}` of a block is. Comments inside do not count.
fn block_end(text: &str, from: usize) -> Option<usize> {
    let mut in_comment = false;
    for (offset, c) in text[from..].char_indices() {
        match c {
            '\n' => in_comment = false,
            '#' => in_comment = true,
            '}' if !in_comment => return Some(from + offset),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let source = Source {
            name: "t".into(),
            text: text.into(),
        };
        tokens(&source)
            .unwrap()
            .into_iter()
            .map(|t| t.kind)
            .collect()
    }

    #[test]
    fn printed_notation() {
        let words = kinds("P5:T.OPCLASS == a && ! overflow_2\n ⇒ null, CC3 # end");
        assert_eq!(words.len(), 13);
        assert_eq!(words[1], Kind::Mark(":"));
        assert_eq!(words[8], Kind::Mark("=>"));
    }

    #[test]
    fn blocks_are_one_token() {
        assert_eq!(kinds("x { a # }\n }"), [Kind::Word, Kind::Block, Kind::End]);
        let source = Source {
            name: "t".into(),
            text: "{ a".into(),
        };
        assert!(tokens(&source).is_err());
    }

    #[test]
    fn numbers() {
        assert_eq!(number("0x8_0000_0000"), Some(0x8_0000_0000));
        assert_eq!(number("0xffffffffffffffff"), Some(-1));
        assert_eq!(number("0b101"), Some(5));
        assert_eq!(number("12x"), None);
        assert_eq!(number("99999999999999999999"), None);
    }
}
