//! A production file's text, and messages about places in it.

use hps_isa::asm::edit_distance;

use crate::error::{Diagnostic, DiseError};

/// Text with the name it is reported under.
#[derive(Clone, Debug)]
pub struct Source {
    /// File name for messages.
    pub name: String,
    /// The text.
    pub text: String,
}

/// An identifier and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The identifier.
    pub text: String,
    /// Byte offset in the source.
    pub at: usize,
}

impl Source {
    /// A message about byte offset `at`.
    #[must_use]
    pub fn diagnostic(
        &self,
        at: usize,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Diagnostic {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |newline| at + newline);
        Diagnostic {
            file: self.name.clone(),
            line: self.text[..start].matches('\n').count() + 1,
            column: self.text[start..at].chars().count() + 1,
            source_line: self.text[start..end].trim_end_matches('\r').to_owned(),
            message: message.into(),
            help,
        }
    }

    /// An error at byte offset `at`, without advice.
    #[must_use]
    pub fn error(&self, at: usize, message: impl Into<String>) -> DiseError {
        self.diagnostic(at, message, None).into()
    }

    /// An error at byte offset `at` with advice.
    #[must_use]
    pub fn error_help(
        &self,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> DiseError {
        self.diagnostic(at, message, Some(help.into())).into()
    }

    /// An error about an unknown name, with the nearest known ones as advice.
    #[must_use]
    pub fn unknown<'a>(
        &self,
        name: &Name,
        what: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: &str,
    ) -> DiseError {
        let message = format!("unknown {what} `{}`", name.text);
        match nearest(&name.text, known) {
            Some(near) => self.error_help(name.at, message, format!("did you mean `{near}`?")),
            None => self.error_help(name.at, message, otherwise),
        }
    }
}

/// The known name that differs least from `word`, if it differs by little.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = (word.chars().count() / 3).clamp(1, 4);
    known
        .into_iter()
        .map(|candidate| {
            (
                edit_distance(&word.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_near() {
        assert_eq!(
            nearest("brnch", ["branch", "load"]).as_deref(),
            Some("branch")
        );
        assert_eq!(nearest("xyzzy", ["branch", "load"]), None);
    }

    #[test]
    fn places_count_characters() {
        let source = Source {
            name: "f".into(),
            text: "a\n⇒⇒ x\n".into(),
        };
        let d = source.diagnostic("a\n⇒⇒ ".len(), "here", None);
        assert_eq!((d.line, d.column, d.source_line.as_str()), (2, 4, "⇒⇒ x"));
        let end = source.diagnostic(1000, "end", None);
        assert_eq!((end.line, end.column), (3, 1));
    }
}
