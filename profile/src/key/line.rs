use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{KeyKind, ProfileKey};

/// A source line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The file, as the program's line table names it. Lines of one file share the text.
    #[serde(serialize_with = "write_text", deserialize_with = "read_text")]
    pub file: Arc<str>,
    /// The line, from 1; 0 for code of the file that belongs to no line.
    pub line: u32,
}

impl ProfileKey for Line {
    const KIND: KeyKind = KeyKind::new("line");
    const TITLE: &'static str = "source line";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![self.label(symbol)]
    }

    fn label(&self, _: &dyn Fn(u64) -> Option<String>) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

// Without serde's feature `rc`, which every crate of a build would get.
fn write_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn read_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Arc::from)
}
