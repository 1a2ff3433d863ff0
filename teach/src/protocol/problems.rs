//! Problems, in sentences that the page says in its language.

use std::collections::BTreeMap;

use hps_isa::said::Said;
use serde::{Deserialize, Serialize};

exchanged! {
    /// Why something cannot be done, and where the reason lies, if it lies in a text.
    pub struct Problem {
        /// In English.
        pub message: String,
        /// The message for the page's language, unless it is English only.
        pub said: Option<Box<Sentence>>,
        /// `assembly`, `c`, `machine`, or the name of a production file.
        pub place: Option<String>,
        /// The line there, from 1.
        pub line: Option<u64>,
        /// The column, from 1.
        pub column: Option<u64>,
    }

    /// A sentence that the page says in its language.
    pub struct Sentence {
        /// In English, with `{places}`.
        pub text: String,
        /// The values that stand there.
        pub values: BTreeMap<String, String>,
    }

    /// A fault of a program.
    pub struct Fault {
        pub cause: Sentence,
        pub pc: String,
        /// The bytes of the instruction.
        pub encoding: String,
    }
}

impl Problem {
    /// A problem without a place.
    #[must_use]
    pub fn new(said: Said) -> Problem {
        Problem {
            said: Sentence::of(&said).map(Box::new),
            ..Problem::english(said)
        }
    }

    /// A problem that only English has words for.
    #[must_use]
    pub fn english(message: impl ToString) -> Problem {
        Problem {
            message: message.to_string(),
            said: None,
            place: None,
            line: None,
            column: None,
        }
    }

    /// Names the text that has the problem.
    #[must_use]
    pub(crate) fn at(self, place: &str) -> Problem {
        Problem {
            place: Some(place.to_owned()),
            ..self
        }
    }
}

impl Sentence {
    /// The sentence of a message; `None` for one that is English only.
    pub(crate) fn of(said: &Said) -> Option<Sentence> {
        let values = said.values.iter().cloned();
        said.template.map(|text| Sentence {
            text: text.to_owned(),
            values: values
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        })
    }
}
