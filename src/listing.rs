//! The code of a function with numbers beside each instruction, for simulated and for native profiles.

use std::path::Path;

use hps_system::host::read_text;

use crate::text::{Align, Table};

/// A function's instructions, source lines between them.
pub struct Listing {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Row>,
}

struct Row {
    address: u64,
    line: Option<String>,
    before: Vec<String>,
    text: String,
}

impl Listing {
    /// A listing with these columns of numbers and words; behind them come the address and the instruction.
    pub fn new(columns: Vec<(&'static str, Align)>) -> Self {
        Listing {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds an instruction: what stands in the columns, its source line as `file:line`, its address and its text.
    pub fn row(&mut self, cells: Vec<String>, line: Option<String>, address: u64, text: String) {
        self.rows.push(Row {
            address,
            line,
            before: cells,
            text,
        });
    }

    /// The listing as text. Where the source line changes, it stands above the instruction.
    pub fn render(self) -> String {
        let mut columns = self.columns;
        columns.extend([("address", Align::Right), ("instruction", Align::Left)]);
        let empty = columns.len() - 1;
        let mut table = Table::new(&columns);
        let mut line = None;
        for row in self.rows {
            if row.line.is_some() && row.line != line {
                let text = source(row.line.as_deref().unwrap_or_default());
                table.row((0..empty).map(|_| String::new()).chain([text]));
                line = row.line;
            }
            let behind = [format!("{:x}", row.address), row.text];
            table.row(row.before.into_iter().chain(behind));
        }
        table.render()
    }
}

/// A source line with its text, if the file is there.
fn source(line: &str) -> String {
    let text = || {
        let (file, number) = line.rsplit_once(':')?;
        let number: usize = number.parse().ok()?;
        let file = read_text(Path::new(file)).ok()?;
        let text = file.lines().nth(number.checked_sub(1)?)?;
        Some(text.trim_end().to_string())
    };
    match text() {
        Some(text) => format!("; {line}: {text}"),
        None => format!("; {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_line_stands_once_above_its_instructions() {
        let mut listing = Listing::new(vec![("samples", Align::Right)]);
        for (address, line) in [
            (16, Some("a.c:1")),
            (20, Some("a.c:1")),
            (24, None),
            (28, Some("a.c:2")),
        ] {
            let line = line.map(str::to_string);
            listing.row(
                vec!["7".to_string()],
                line,
                address,
                format!("add {address}"),
            );
        }
        let text = listing.render();
        let words: Vec<Vec<&str>> = text
            .lines()
            .skip(2)
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert_eq!(
            words,
            [
                vec![";", "a.c:1"],
                vec!["7", "10", "add", "16"],
                vec!["7", "14", "add", "20"],
                vec!["7", "18", "add", "24"],
                vec![";", "a.c:2"],
                vec!["7", "1c", "add", "28"],
            ]
        );
    }
}
