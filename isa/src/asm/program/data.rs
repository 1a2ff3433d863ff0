//! Numbers, and directives that make data.

use std::collections::BTreeMap;

use super::{ProgramError, Statement, split_word};
use crate::said;

/// The value of a number, a character in quotes, or a name, with `+` or `-` between such.
pub(super) fn value(text: &str, names: &BTreeMap<String, i64>) -> Option<i64> {
    let text = text.trim();
    if let Some(known) = names.get(text) {
        return Some(*known);
    }
    if let Some(number) = number(text) {
        return Some(number);
    }
    let at = text
        .char_indices()
        .rev()
        .find(|(at, c)| *at > 0 && "+-".contains(*c))?
        .0;
    let (left, right) = (value(&text[..at], names)?, value(&text[at + 1..], names)?);
    Some(if text.as_bytes()[at] == b'+' {
        left.wrapping_add(right)
    } else {
        left.wrapping_sub(right)
    })
}

fn number(text: &str) -> Option<i64> {
    if let Some(c) = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
        let mut all = c.chars();
        return match (all.next(), all.next()) {
            (Some(one), None) => Some(i64::from(u32::from(one))),
            _ => None,
        };
    }
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = digits.replace('_', "");
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok()?
    } else if let Some(bits) = digits.strip_prefix("0b") {
        u64::from_str_radix(bits, 2).ok()?
    } else {
        digits.parse::<u64>().ok()?
    };
    let value = value as i64;
    Some(if is_negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// Bytes of a value of a directive.
fn width(word: &str) -> Option<usize> {
    Some(match word {
        ".byte" => 1,
        ".half" | ".short" | ".2byte" => 2,
        ".word" | ".long" | ".4byte" => 4,
        ".dword" | ".quad" | ".8byte" => 8,
        _ => return None,
    })
}

/// How many bytes a statement of data takes.
pub(super) fn size(
    statement: &Statement<'_>,
    number: impl Fn(&str) -> Result<i64, ProgramError>,
) -> Result<u64, ProgramError> {
    let (word, rest) = split_word(&statement.text);
    match word {
        ".zero" | ".space" | ".skip" => u64::try_from(number(rest)?)
            .map_err(|_| statement.error(0, said!("a number of bytes is not negative"))),
        ".ascii" | ".asciz" | ".string" => Ok(text(statement, word, rest)?.len() as u64),
        _ => match width(word) {
            Some(bytes) => Ok((bytes * rest.split(',').count()) as u64),
            None => Err(statement.error(
                0,
                said!(
                    "`{name}` is no directive of data (.byte .half .word .dword .zero .ascii .asciz .balign); \
                     instructions stand behind `.text`",
                    name = word
                ),
            )),
        },
    }
}

/// Writes what a statement of data says.
pub(super) fn write(
    statement: &Statement<'_>,
    names: &BTreeMap<String, i64>,
    out: &mut [u8],
) -> Result<(), ProgramError> {
    let (word, rest) = split_word(&statement.text);
    if word.starts_with(".as") || word == ".string" {
        let bytes = text(statement, word, rest)?;
        out[..bytes.len()].copy_from_slice(&bytes);
    }
    let Some(bytes) = width(word) else {
        return Ok(());
    };
    for (at, item) in rest.split(',').enumerate() {
        let item = item.trim();
        let Some(number) = value(item, names) else {
            let column = statement.text.find(item).unwrap_or(0);
            return Err(statement.error(
                column,
                said!("`{name}` is neither a number nor a name", name = item),
            ));
        };
        let all = number.to_le_bytes();
        let fits = bytes == 8 || number >> (8 * bytes - 1) == 0 || number >> (8 * bytes) == 0;
        if !fits && number >> (8 * bytes - 1) != -1 {
            return Err(statement.error(
                0,
                said!(
                    "{number} does not fit into {bytes} bytes",
                    number = number,
                    bytes = bytes
                ),
            ));
        }
        out[at * bytes..(at + 1) * bytes].copy_from_slice(&all[..bytes]);
    }
    Ok(())
}

/// The bytes of a text in quotes.
fn text(statement: &Statement<'_>, word: &str, rest: &str) -> Result<Vec<u8>, ProgramError> {
    let inside = rest
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .ok_or_else(|| statement.error(0, said!("write `{name} \"text\"`", name = word)))?;
    let mut bytes = Vec::new();
    let mut left = inside;
    while let Some(c) = left.chars().next() {
        left = &left[c.len_utf8()..];
        if c != '\\' {
            bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let (byte, length) = escaped(left).ok_or_else(|| {
            let all = said!(
                "behind a backslash stands b, f, n, r, t, \", \\, one to three octal digits up to 377, or x and two \
                 hexadecimal digits"
            );
            statement.error(0, all)
        })?;
        bytes.push(byte);
        left = &left[length..];
    }
    if word != ".ascii" {
        bytes.push(0);
    }
    Ok(bytes)
}

/// The byte that an escape means as the GNU assembler has it, and the length of what stands behind the backslash.
fn escaped(text: &str) -> Option<(u8, usize)> {
    let first = *text.as_bytes().first()?;
    if let b'0'..=b'7' = first {
        let digits = text
            .bytes()
            .take(3)
            .take_while(|b| (b'0'..=b'7').contains(b));
        let length = digits.count();
        let value = u16::from_str_radix(&text[..length], 8).ok()?;
        return Some((u8::try_from(value).ok()?, length));
    }
    if first == b'x' {
        let digits = text.get(1..3)?;
        let is_number = digits.bytes().all(|b| b.is_ascii_hexdigit());
        return is_number.then_some((u8::from_str_radix(digits, 16).ok()?, 3));
    }
    let byte = match first {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'"' | b'\\' => first,
        _ => return None,
    };
    Some((byte, 1))
}
