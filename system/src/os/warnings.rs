//! Warnings of a run, each once.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// Warnings of a run at most. A hostile guest has 2^64 numbers to try.
const MAX_WARNINGS: usize = 1000;

/// Receives warnings, each once.
pub type WarningSink = Box<dyn FnMut(&str) + Send>;

/// Warnings to the user of a run.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Warnings {
    texts: Vec<String>,
    keys: FxHashSet<u64>,
    #[serde(skip)]
    sink: Option<WarningSink>,
}

impl std::fmt::Debug for Warnings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.texts.fmt(f)
    }
}

impl Warnings {
    /// Every warning so far, in order.
    pub(super) fn all(&self) -> &[String] {
        &self.texts
    }

    /// Passes warnings on as they come.
    pub(super) fn pass_on(&mut self, sink: WarningSink) {
        self.sink = Some(sink);
    }

    /// The warnings of a copy of the run, which are passed on to nobody.
    pub(super) fn copy(&self) -> Warnings {
        Warnings {
            texts: self.texts.clone(),
            keys: self.keys.clone(),
            sink: None,
        }
    }

    /// Warns, once for each text.
    pub(super) fn once(&mut self, text: &str) {
        if !self.texts.iter().any(|warning| warning == text) {
            self.add(text.to_owned());
        }
    }

    /// Warns, once for the number of a call.
    pub(super) fn keyed(&mut self, key: u64, text: String) {
        if self.texts.len() < MAX_WARNINGS && self.keys.insert(key) {
            self.add(text);
        }
    }

    fn add(&mut self, text: String) {
        if self.texts.len() < MAX_WARNINGS {
            if let Some(sink) = &mut self.sink {
                sink(&text);
            }
            self.texts.push(text);
        }
    }
}
