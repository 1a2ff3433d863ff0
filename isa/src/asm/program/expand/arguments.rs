//! Arguments of macros, and parameters with their defaults, which are written alike.

/// An argument, by the name of its parameter (`name=text`) or by its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Argument {
    pub name: Option<String>,
    pub text: String,
}

/// Whether a name may have a character.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.$".contains(c)
}

pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(is_of_name)
}

/// The arguments in a text. A comma separates them, and so does a blank between two words that are not in parentheses;
/// other blanks are dropped. A text in quotes loses the quotes, and keeps all that is between them.
pub(super) fn arguments(text: &str) -> Vec<Argument> {
    let mut all = vec![Argument::default()];
    let mut parentheses = 0_usize;
    let mut is_blank = false;
    let mut before = ',';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            is_blank = true;
            continue;
        }
        let is_between_words = is_blank && is_of_word(before) && is_of_word(c);
        is_blank = false;
        before = c;
        if c == ',' || is_between_words && parentheses == 0 {
            all.push(Argument::default());
        }
        let Some(argument) = all.last_mut() else {
            break;
        };
        match c {
            ',' => continue,
            '(' | '[' => parentheses += 1,
            ')' | ']' => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        if is_between_words && parentheses > 0 {
            argument.text.push(' ');
        }
        match c {
            '=' if argument.name.is_none() && is_name(&argument.text) => {
                argument.name = Some(std::mem::take(&mut argument.text));
            }
            '"' => {
                let loses_quotes = argument.text.is_empty();
                let mut inside = String::new();
                let mut is_closed = false;
                while let Some(c) = chars.next() {
                    if c == '"' {
                        is_closed = true;
                        break;
                    }
                    inside.push(c);
                    inside.extend((c == '\\').then(|| chars.next()).flatten());
                }
                if loses_quotes && is_closed {
                    argument.text = inside;
                } else {
                    argument.text.push('"');
                    argument.text += &inside;
                    argument.text.extend(is_closed.then_some('"'));
                }
            }
            '\'' => {
                argument.text.push(c);
                argument.text.extend(chars.next());
                argument.text.extend(chars.next_if_eq(&'\''));
            }
            c => argument.text.push(c),
        }
    }
    // Behind the last comma there may be nothing.
    if all.last() == Some(&Argument::default()) {
        all.pop();
    }
    all
}

fn is_of_word(c: char) -> bool {
    is_of_name(c) || "\"'".contains(c)
}
