//! Fragments: parts of replacement sequences, written once and used in many.

use std::collections::BTreeMap;

use crate::error::DiseError;
use crate::lang::ast::{File, Line};
use crate::lang::source::{Name, Source};

/// How deep fragments may use fragments.
const MAX_DEPTH: usize = 8;

/// The fragments of a set of files, by name.
#[derive(Debug, Default)]
pub(super) struct Fragments<'a>(BTreeMap<&'a str, (&'a Source, &'a [Line])>);

impl<'a> Fragments<'a> {
    /// Collects the fragments of all files. A name stands for one fragment.
    pub fn collect(files: &[&'a File]) -> Result<Self, DiseError> {
        let mut all = BTreeMap::new();
        for file in files {
            for (name, lines) in &file.fragments {
                let fragment = (&file.source, lines.as_slice());
                if all.insert(name.text.as_str(), fragment).is_some() {
                    let message = format!("fragment `{}` is already defined", name.text);
                    return Err(file.source.error_help(name.at, message, "use another name"));
                }
            }
        }
        Ok(Fragments(all))
    }

    /// The lines of a sequence of `source` with those of a fragment in the place of each
    /// `use NAME`, each with the text that it stands in. Labels reach from one into the other, since
    /// they are resolved afterwards.
    pub fn expand<'s>(
        &'s self,
        lines: &'s [Line],
        source: &'s Source,
    ) -> Result<Vec<Placed<'s>>, DiseError> {
        let mut out = Vec::with_capacity(lines.len());
        self.append(lines, source, MAX_DEPTH, &mut out)?;
        Ok(out)
    }

    fn append<'s>(
        &'s self,
        lines: &'s [Line],
        source: &'s Source,
        depth: usize,
        out: &mut Vec<Placed<'s>>,
    ) -> Result<(), DiseError> {
        for line in lines {
            let Some(name) = used(&line.text) else {
                let (labels, text, at) = (line.labels.as_slice(), line.text.as_str(), line.at);
                out.push(Placed {
                    labels,
                    text,
                    at,
                    source,
                });
                continue;
            };
            if !line.labels.is_empty() {
                let (labels, text, at) = (line.labels.as_slice(), "", line.at);
                out.push(Placed {
                    labels,
                    text,
                    at,
                    source,
                });
            }
            let Some((from, fragment)) = self.0.get(name) else {
                let (text, at) = (name.to_owned(), line.at);
                let help = format!("define it: `fragment {text} {{ ... }}`");
                let known = self.0.keys().copied();
                return Err(source.unknown(&Name { text, at }, "fragment", known, &help));
            };
            if depth == 0 {
                let message = format!("fragments use each other deeper than {MAX_DEPTH} levels");
                let help = format!("`{name}` must not use itself, through others neither");
                return Err(source.error_help(line.at, message, help));
            }
            self.append(fragment, from, depth - 1, out)?;
        }
        Ok(())
    }
}

/// A line of a sequence, and the text that it stands in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a> {
    /// Labels in front of it.
    pub labels: &'a [Name],
    /// The instruction; empty if there are only labels.
    pub text: &'a str,
    /// Where it starts in `source`.
    pub at: usize,
    /// Source that holds the line.
    pub source: &'a Source,
}

/// The name in `use NAME`.
fn used(text: &str) -> Option<&str> {
    let name = text.strip_prefix("use")?;
    name.starts_with(char::is_whitespace).then(|| name.trim())
}
