//! Tables of measured numbers, declared by their rows and columns.

use hps_experiments::{Cells, Mean, Table};

use crate::chapter::ChapterTable;
use crate::reproduction::parts::cell;

/// A column of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    head: String,
    measure: String,
    scheme: Option<String>,
    setting: Option<String>,
    factor: f64,
    decimals: usize,
}

/// A column of numbers as they are.
pub(crate) fn number(
    head: impl Into<String>,
    measure: impl Into<String>,
    decimals: usize,
) -> Column {
    Column {
        head: head.into(),
        measure: measure.into(),
        scheme: None,
        setting: None,
        factor: 1.0,
        decimals,
    }
}

/// A column of ratios in percent.
pub(crate) fn percent(
    head: impl Into<String>,
    measure: impl Into<String>,
    decimals: usize,
) -> Column {
    number(head, measure, decimals).times(100.0)
}

impl Column {
    /// The numbers are multiplied by this.
    pub fn times(self, factor: f64) -> Column {
        Column { factor, ..self }
    }

    /// Numbers of this scheme, whatever the row is about.
    pub fn of(self, scheme: impl Into<String>) -> Column {
        Column {
            scheme: Some(scheme.into()),
            ..self
        }
    }

    /// Numbers at this setting, whatever the row is about.
    pub fn at(self, setting: impl Into<String>) -> Column {
        Column {
            setting: Some(setting.into()),
            ..self
        }
    }

    /// The cells that it shows in a row.
    fn cells<'c>(&'c self, row: &'c Row) -> Cells<'c> {
        let mut cells = Cells::of(&self.measure);
        if let Some(scheme) = self.scheme.as_deref().or(row.scheme.as_deref()) {
            cells = cells.scheme(scheme);
        }
        if let Some(setting) = self.setting.as_deref().or(row.setting.as_deref()) {
            cells = cells.setting(setting);
        }
        cells
    }

    fn text(&self, value: Option<f64>) -> String {
        cell(value.map(|value| self.factor * value), self.decimals)
    }
}

/// A row of means over programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    words: Vec<String>,
    scheme: Option<String>,
    setting: Option<String>,
}

impl Row {
    /// A row that begins with these words.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Row {
        Row {
            words: words.into_iter().map(Into::into).collect(),
            ..Row::default()
        }
    }

    /// A row about a scheme.
    pub fn of(self, scheme: impl Into<String>) -> Row {
        Row {
            scheme: Some(scheme.into()),
            ..self
        }
    }

    /// A row about a setting.
    pub fn at(self, setting: impl Into<String>) -> Row {
        Row {
            setting: Some(setting.into()),
            ..self
        }
    }

    /// Whether a measure was taken of what the row is about.
    pub fn has(&self, table: &Table<'_>, measure: &str) -> bool {
        let column = number("", measure, 0);
        table.select(column.cells(self)).next().is_some()
    }
}

fn empty(title: &str, words: &[&str], columns: &[Column]) -> ChapterTable {
    let heads = columns.iter().map(|column| column.head.as_str());
    let head: Vec<&str> = words.iter().copied().chain(heads).collect();
    ChapterTable::new(title, words.len(), &head)
}

/// A table of means over programs. `words` has the headings of the words with which rows begin.
pub(crate) fn means(
    table: &Table<'_>,
    title: &str,
    words: &[&str],
    rows: impl IntoIterator<Item = Row>,
    columns: &[Column],
) -> ChapterTable {
    let mut shown = empty(title, words, columns);
    for row in rows {
        let mean = |column: &Column| {
            let mean: Option<Mean> = table.mean_of(column.cells(&row));
            column.text(mean.map(|mean| mean.value))
        };
        let numbers: Vec<String> = columns.iter().map(mean).collect();
        shown
            .rows
            .push(row.words.into_iter().chain(numbers).collect());
    }
    shown
}

/// A table with a row for each program.
pub(crate) fn by_program(
    table: &Table<'_>,
    title: &str,
    programs: &[&str],
    columns: &[Column],
) -> ChapterTable {
    let mut shown = empty(title, &["Program"], columns);
    let any = Row::default();
    let numbers: Vec<_> = columns
        .iter()
        .map(|column| table.numbers(column.cells(&any)))
        .collect();
    for program in programs {
        let texts = columns
            .iter()
            .zip(&numbers)
            .map(|(column, numbers)| column.text(numbers.get(program).copied()));
        let row = std::iter::once((*program).to_string()).chain(texts);
        shown.rows.push(row.collect());
    }
    shown
}

#[cfg(test)]
mod tests {
    use hps_experiments::{CoreKind, Measurement, UnitRecord};

    use super::*;

    fn record(program: &str, numbers: &[(&str, &str, &str, f64)]) -> UnitRecord {
        let measurement =
            |(scheme, setting, measure, value): &(&str, &str, &str, f64)| Measurement {
                program: program.to_string(),
                isa: "alpha".to_string(),
                profile: None,
                scheme: (*scheme).to_string(),
                burst: None,
                one_in: None,
                setting: (*setting).to_string(),
                x: None,
                measure: (*measure).to_string(),
                value: *value,
                interval: None,
                run: None,
            };
        UnitRecord {
            id: String::new(),
            version: String::new(),
            study: "study".to_string(),
            program: program.to_string(),
            program_hash: String::new(),
            isa: "alpha".to_string(),
            input: String::new(),
            machine: "ev5".to_string(),
            machine_fingerprint: String::new(),
            core: CoreKind::Cycle,
            measurements: numbers.iter().map(measurement).collect(),
            failure: None,
        }
    }

    #[test]
    fn cells_are_those_of_row_and_column() {
        let records = [
            record(
                "a",
                &[
                    ("s", "fast", "cost_ratio", 0.1),
                    ("s", "slow", "cost_ratio", 0.5),
                ],
            ),
            record(
                "b",
                &[
                    ("s", "fast", "cost_ratio", 0.3),
                    ("t", "fast", "cost_ratio", 0.9),
                ],
            ),
        ];
        let table = Table::of(&records, "alpha");
        let columns = [
            percent("Cost, %", "cost_ratio", 1),
            percent("of t", "cost_ratio", 0).of("t"),
        ];
        let rows = [
            Row::new(["fast"]).of("s").at("fast"),
            Row::new(["none"]).of("s").at("none"),
        ];
        assert!(rows[0].has(&table, "cost_ratio") && !rows[1].has(&table, "cost_ratio"));
        let shown = means(&table, "Means", &["Setting"], rows, &columns);
        assert_eq!(shown.head, ["Setting", "Cost, %", "of t"]);
        assert_eq!(shown.rows, [["fast", "20.0", "90"], ["none", "–", "–"]]);
        let columns = [
            percent("fast", "cost_ratio", 0).of("s").at("fast"),
            number("t", "cost_ratio", 1).of("t"),
        ];
        let shown = by_program(&table, "By program", &["a", "b"], &columns);
        assert_eq!(shown.rows, [["a", "10", "–"], ["b", "30", "0.9"]]);
        assert_eq!((shown.words, shown.head.len()), (1, 3));
    }
}
