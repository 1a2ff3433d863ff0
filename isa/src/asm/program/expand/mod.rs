//! Lines that stand for others: `.rept` and macros.
//!
//! Both mean what they mean to the GNU assembler. A line that comes of them keeps the number of the line that was
//! written; one that comes of a macro also knows where the macro is used.

mod arguments;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use arguments::{Argument, arguments, is_name};

use super::{Builder, ProgramError, Statement, label, offset, split_word, without_comment};
use crate::said;
use crate::said::Said;

/// Most lines that may come of `.rept` and macros.
const MOST_LINES: usize = if cfg!(test) { 1 << 14 } else { 1 << 20 };
/// Most bytes of these lines. Those of `.rept` and macros inside of others count each time that they are looked at.
const MOST_BYTES: usize = 1 << 26;
/// Most of `.rept` and macros that lie inside of each other.
const MOST_DEPTH: usize = 64;

/// Where a line was written.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The line, from 1.
    pub number: usize,
    /// The use of the macro that the line comes of.
    within: Option<Rc<Use>>,
}

/// A use of a macro.
#[derive(Debug)]
struct Use {
    name: String,
    place: Place,
}

impl Place {
    /// Error at this place; columns are from 0.
    pub fn error(&self, column: usize, message: impl Into<Said>) -> ProgramError {
        let mut message = message.into();
        if let Some(used) = &self.within {
            message = said!(
                "{message}, in macro {name}, used in line {line}",
                message = message,
                name = used.name,
                line = used.place.number
            );
        }
        ProgramError {
            line: self.number,
            column: column + 1,
            message,
        }
    }

    /// The uses that the line lies inside of, from the innermost.
    fn uses(&self) -> impl Iterator<Item = &Use> {
        std::iter::successors(self.within.as_deref(), |used| used.place.within.as_deref())
    }
}

/// A line, as it was written or as it comes of a macro.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub text: Cow<'a, str>,
    pub place: Place,
    /// The bytes at its beginning that are as they were written.
    pub written: usize,
}

impl<'a> Line<'a> {
    fn new(number: usize, text: &'a str) -> Self {
        Line {
            text: Cow::Borrowed(text),
            place: Place {
                number,
                within: None,
            },
            written: usize::MAX,
        }
    }

    /// A part of the text.
    pub fn part(&self, from: usize, to: usize) -> Cow<'a, str> {
        match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[from..to]),
            Cow::Owned(text) => Cow::Owned(text[from..to].to_owned()),
        }
    }

    /// Statement behind the labels, without a comment, and the column where it begins.
    fn statement(&self) -> (usize, &str) {
        let mut text = without_comment(&self.text);
        while let Some((_, rest)) = label(text) {
            text = rest;
        }
        let text = text.trim();
        (offset(&self.text, text), text)
    }

    /// The labels alone, if there are any.
    fn labels(&self) -> Option<Line<'a>> {
        let (end, _) = self.statement();
        let text = self.part(0, end);
        (!text.trim().is_empty()).then_some(Line {
            text,
            ..self.clone()
        })
    }

    fn word(&self) -> &str {
        split_word(self.statement().1).0
    }
}

struct Macro<'a> {
    name: String,
    /// Names of the parameters, and what they are without an argument.
    parameters: Vec<(String, String)>,
    body: Vec<Line<'a>>,
}

/// The macros that are defined, and how much has come of them.
#[derive(Default)]
pub(super) struct Expander<'a> {
    /// By their names in small letters: the GNU assembler does not tell them apart.
    macros: BTreeMap<String, Rc<Macro<'a>>>,
    /// How often a macro was used.
    uses: usize,
    lines: usize,
    bytes: usize,
}

/// Gives a builder the lines of a text, and what they stand for.
pub(super) fn expand<'a>(builder: &mut Builder<'a>, text: &'a str) -> Result<(), ProgramError> {
    let lines = text.lines().enumerate();
    let lines: Vec<Line<'a>> = lines.map(|(at, line)| Line::new(at + 1, line)).collect();
    Expander::default().lines(builder, &lines, 0)
}

impl<'a> Expander<'a> {
    /// Gives a builder lines that lie so deep inside of `.rept` and macros.
    fn lines(
        &mut self,
        builder: &mut Builder<'a>,
        lines: &[Line<'a>],
        depth: usize,
    ) -> Result<(), ProgramError> {
        let mut rest = lines;
        while let Some((line, behind)) = rest.split_first() {
            rest = behind;
            if depth > 0 {
                self.count(line)?;
            }
            let (column, statement) = line.statement();
            let (word, operands) = split_word(statement);
            match word {
                ".rept" => {
                    let body = self.body(line, &mut rest, [".rept", ".endr"], depth)?;
                    self.labels(builder, line)?;
                    self.repeat(builder, line, &body, depth)?;
                }
                ".macro" => {
                    let body = self.body(line, &mut rest, [".macro", ".endm"], depth)?;
                    self.labels(builder, line)?;
                    self.define(line, operands, body.into_owned())?;
                }
                ".endr" | ".endm" => {
                    let begin = if word == ".endr" { ".rept" } else { ".macro" };
                    let message = said!(
                        "no `{begin}` that `{end}` would end stands above",
                        begin = begin,
                        end = word
                    );
                    return Err(line.place.error(column, message));
                }
                _ => match self.macros.get(&word.to_ascii_lowercase()).cloned() {
                    Some(used) => {
                        self.labels(builder, line)?;
                        let body = self.used(line, &used, operands, depth)?;
                        self.lines(builder, &body, depth + 1)?;
                    }
                    None => builder.line(line)?,
                },
            }
        }
        Ok(())
    }

    fn labels(&self, builder: &mut Builder<'a>, line: &Line<'a>) -> Result<(), ProgramError> {
        line.labels().map_or(Ok(()), |labels| builder.line(&labels))
    }

    /// Counts a line that comes of `.rept` or a macro.
    fn count(&mut self, line: &Line<'a>) -> Result<(), ProgramError> {
        self.lines += 1;
        self.look_at(line)
    }

    fn look_at(&mut self, line: &Line<'a>) -> Result<(), ProgramError> {
        self.bytes += line.text.len() + 1;
        let wrong = if self.lines > MOST_LINES {
            format!("more than {MOST_LINES} lines")
        } else if self.bytes > MOST_BYTES {
            format!("lines of more than {} MiB", MOST_BYTES >> 20)
        } else {
            return Ok(());
        };
        let message =
            format!("{wrong} come of `.rept` and macros: write a loop that the program runs");
        Err(line.place.error(0, message))
    }

    /// The lines up to the one that ends what a line begins, which are taken with it.
    fn body<'b>(
        &mut self,
        line: &Line<'a>,
        rest: &mut &'b [Line<'a>],
        [begin, end]: [&str; 2],
        depth: usize,
    ) -> Result<Cow<'b, [Line<'a>]>, ProgramError> {
        let lines = *rest;
        let mut inside = 1;
        for (at, of) in lines.iter().enumerate() {
            if depth > 0 {
                self.look_at(of)?;
            }
            let word = of.word();
            inside += usize::from(word == begin);
            inside -= usize::from(word == end);
            if inside > 0 {
                continue;
            }
            *rest = &lines[at + 1..];
            let mut body = Cow::Borrowed(&lines[..at]);
            if let Some(labels) = of.labels() {
                body.to_mut().push(labels);
            }
            return Ok(body);
        }
        let message = match begin {
            ".rept" => said!("`.rept` has no end: write `.endr` behind the lines to repeat"),
            _ => said!(
                "`{begin}` has no end: write `{end}` behind the lines of the macro",
                begin = begin,
                end = end
            ),
        };
        Err(line.place.error(line.statement().0, message))
    }

    fn repeat(
        &mut self,
        builder: &mut Builder<'a>,
        line: &Line<'a>,
        body: &[Line<'a>],
        depth: usize,
    ) -> Result<(), ProgramError> {
        let (column, text) = line.statement();
        let statement = Statement::new(line, column, column + text.len());
        let (_, count) = split_word(text);
        if count.is_empty() {
            return Err(statement.error(0, said!("write `.rept COUNT`")));
        }
        let count = builder.number(&statement, count)?;
        let count = u64::try_from(count)
            .map_err(|_| statement.error(0, said!("lines are not repeated less than 0 times")))?;
        self.check_depth(line, depth, None)?;
        if !body.is_empty() {
            for _ in 0..count {
                self.lines(builder, body, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Refuses what lies too deep inside of others.
    fn check_depth(
        &self,
        line: &Line<'a>,
        depth: usize,
        used: Option<&str>,
    ) -> Result<(), ProgramError> {
        if depth < MOST_DEPTH {
            return Ok(());
        }
        let itself = used.filter(|name| line.place.uses().any(|used| used.name == *name));
        let message = match itself {
            Some(name) => format!(
                "macro `{name}` uses itself, {MOST_DEPTH} deep by now: repeat lines by `.rept COUNT`, or let it end \
                 where a `.rept` around its use has the count 0"
            ),
            None => format!(
                "more than {MOST_DEPTH} of `.rept` and macros lie inside of each other: write some of them one \
                 behind the other"
            ),
        };
        Err(line.place.error(line.statement().0, message))
    }

    /// Notes a macro.
    fn define(
        &mut self,
        line: &Line<'a>,
        operands: &str,
        body: Vec<Line<'a>>,
    ) -> Result<(), ProgramError> {
        let error = |message: String| line.place.error(line.statement().0, message);
        let end = operands.find([',', ' ', '\t']).unwrap_or(operands.len());
        let (name, rest) = operands.split_at(end);
        if !is_name(name) || name.starts_with('.') {
            return Err(error(
                "write `.macro NAME`, or `.macro NAME parameter, parameter=default`; names have letters, digits \
                 and `_`"
                    .to_owned(),
            ));
        }
        let rest = rest.trim_start();
        let mut parameters: Vec<(String, String)> = Vec::new();
        for Argument { name: of, text } in arguments(rest.strip_prefix(',').unwrap_or(rest)) {
            let (parameter, default) = match of {
                Some(parameter) => (parameter, text),
                None => (text, String::new()),
            };
            if !is_name(&parameter) {
                return Err(error(format!(
                    "`{parameter}` is no parameter of macro `{name}`: write `parameter` or `parameter=default`"
                )));
            }
            if parameters.iter().any(|(known, _)| *known == parameter) {
                return Err(error(format!(
                    "macro `{name}` has the parameter `{parameter}` twice"
                )));
            }
            parameters.push((parameter, default));
        }
        let name = name.to_owned();
        let key = name.to_ascii_lowercase();
        if self.macros.contains_key(&key) {
            return Err(error(format!("macro `{name}` is defined twice")));
        }
        let defined = Macro {
            name,
            parameters,
            body,
        };
        self.macros.insert(key, Rc::new(defined));
        Ok(())
    }

    /// The lines that a macro stands for where a line uses it.
    fn used(
        &mut self,
        line: &Line<'a>,
        of: &Macro<'a>,
        operands: &str,
        depth: usize,
    ) -> Result<Vec<Line<'a>>, ProgramError> {
        self.check_depth(line, depth, Some(&of.name))?;
        let values = of.values(operands);
        let values = values.map_err(|message| line.place.error(line.statement().0, message))?;
        let number = self.uses.to_string();
        self.uses += 1;
        let within = Some(Rc::new(Use {
            name: of.name.clone(),
            place: line.place.clone(),
        }));
        let mut lines = Vec::with_capacity(of.body.len());
        for written in &of.body {
            let left = MOST_BYTES.saturating_sub(self.bytes);
            let mut made = of.replaced(written, &values, &number, left);
            made.place.within.clone_from(&within);
            self.look_at(&made)?;
            lines.push(made);
        }
        Ok(lines)
    }
}

impl<'a> Macro<'a> {
    /// Values of the parameters for these arguments.
    fn values(&self, operands: &str) -> Result<Vec<String>, String> {
        let mut values: Vec<Option<String>> = vec![None; self.parameters.len()];
        let mut are_named = false;
        for (at, Argument { name, text }) in arguments(operands).into_iter().enumerate() {
            let at = match name {
                None if are_named => {
                    return Err(format!(
                        "arguments of macro `{}` without a name stand before those with one",
                        self.name
                    ));
                }
                None => Some(at).filter(|at| *at < values.len()),
                Some(ref name) => {
                    are_named = true;
                    self.parameters.iter().position(|(known, _)| known == name)
                }
            };
            let Some(at) = at else {
                let names = self.parameters.iter().map(|(name, _)| name.as_str());
                let known = match self.parameters.len() {
                    0 => "it has none".to_owned(),
                    _ => names.collect::<Vec<_>>().join(", "),
                };
                return Err(match name {
                    Some(name) => format!(
                        "macro `{}` has no parameter `{name}` ({known}); write an argument with a `=` in quotes",
                        self.name
                    ),
                    None => format!(
                        "too many arguments for the parameters of macro `{}` ({known})",
                        self.name
                    ),
                });
            };
            if values[at].replace(text).is_some() {
                let name = &self.parameters[at].0;
                return Err(format!("`{name}` of macro `{}` is given twice", self.name));
            }
        }
        let with_default = |(value, (_, default)): (Option<String>, &(String, String))| {
            value
                .filter(|value| !value.is_empty())
                .unwrap_or_else(|| default.clone())
        };
        Ok(values
            .into_iter()
            .zip(&self.parameters)
            .map(with_default)
            .collect())
    }

    /// A line of the body, with values for its parameters and a number for `\@`. `\()` ends a name. It is cut behind as
    /// many bytes as may come yet.
    fn replaced(&self, line: &Line<'a>, values: &[String], number: &str, left: usize) -> Line<'a> {
        let Some(first) = line.text.find('\\') else {
            return line.clone();
        };
        let mut text = String::new();
        let mut rest: &str = &line.text;
        while let Some((before, behind)) = rest.split_once('\\') {
            text.push_str(before);
            if text.len() > left {
                break;
            }
            let end = behind.find(|c| !arguments::is_of_name(c));
            let (name, after) = behind.split_at(end.unwrap_or(behind.len()));
            let parameter = self.parameters.iter().position(|(known, _)| known == name);
            if let Some(at) = parameter {
                text.push_str(&values[at]);
                rest = after;
            } else if let Some(after) = behind.strip_prefix('@') {
                text.push_str(number);
                rest = after;
            } else if let Some(after) = behind.strip_prefix("()") {
                rest = after;
            } else {
                text.push('\\');
                rest = behind;
            }
        }
        text.push_str(rest);
        Line {
            text: Cow::Owned(text),
            place: line.place.clone(),
            written: line.written.min(first),
        }
    }
}
