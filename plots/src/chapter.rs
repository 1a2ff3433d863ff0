//! Chapters of a report: text, tables and pictures that belong together.

use crate::figure::Figure;

/// A chapter of a report.
#[derive(Clone, Debug, Default)]
pub struct Chapter {
    /// Name in links and of its files: small letters, digits, `_` and `-`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Paragraphs of plain text.
    pub text: Vec<String>,
    /// Pictures with their file names, without extension.
    pub figures: Vec<(String, Figure)>,
    /// Tables, below the pictures.
    pub tables: Vec<ChapterTable>,
}

/// A table of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChapterTable {
    /// Title: what the table shows.
    pub title: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Cells of each row, one for each column.
    pub rows: Vec<Vec<String>>,
    /// Columns from the left that hold words; the others hold numbers.
    pub words: usize,
    /// Whether the table is folded: shown only when its title is opened.
    pub folded: bool,
    /// The class of each row in the page's style; empty for none.
    pub classes: Vec<&'static str>,
}

impl ChapterTable {
    /// A table that is open.
    #[must_use]
    pub fn new(title: &str, words: usize, head: &[&str]) -> Self {
        ChapterTable {
            title: title.to_string(),
            head: head.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
            words,
            folded: false,
            classes: Vec::new(),
        }
    }

    /// The table, shown only when its title is opened.
    #[must_use]
    pub fn folded(self) -> Self {
        ChapterTable {
            folded: true,
            ..self
        }
    }
}
