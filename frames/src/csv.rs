//! Frames as CSV (RFC 4180) with a header line. A missing value is an empty field.

use std::borrow::Cow;

use crate::frame::{Frame, FrameError, Values};

/// A frame as text. Every CSV file of the lab is written here.
pub(crate) fn text(frame: &Frame) -> Result<String, FrameError> {
    let fault = |e: &dyn std::fmt::Display| FrameError::Csv(e.to_string());
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let names = frame.schema().columns.iter().map(|column| column.name);
    writer.write_record(names).map_err(|e| fault(&e))?;
    for row in 0..frame.rows() {
        for values in frame.columns() {
            let text = value(values, row);
            let bytes = field(&text);
            writer
                .write_field(bytes.as_bytes())
                .map_err(|e| fault(&e))?;
        }
        writer.write_record(None::<&[u8]>).map_err(|e| fault(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| fault(&e))?;
    String::from_utf8(bytes).map_err(|e| fault(&e))
}

/// The value of a row as text.
fn value(values: &Values, row: usize) -> Cow<'_, str> {
    fn shown<'a>(value: Option<impl ToString>) -> Cow<'a, str> {
        value.map_or(Cow::Borrowed(""), |v| Cow::Owned(v.to_string()))
    }
    match values {
        Values::Text(all) => Cow::Borrowed(all[row].as_deref().unwrap_or_default()),
        Values::Count(all) => shown(all[row]),
        Values::Integer(all) => shown(all[row]),
        Values::Real(all) => shown(all[row]),
        Values::Flag(all) => shown(all[row]),
    }
}

/// A field that a spreadsheet shows and does not compute: a text that would begin a formula has `'` before it. Numbers
/// stay numbers.
fn field(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Table, Unit, text as text_column};

    /// A table of texts as CSV.
    fn encode(lines: &[String]) -> String {
        let a = text_column("a", Unit::Text, "a text", |line: &String| Some(line));
        let table = Table::new("hps-test", 1, "a text", [a]);
        table.frame(lines).to_csv().expect("CSV")
    }

    #[test]
    fn spreadsheets_compute_nothing() {
        let cells = [
            "=cmd|' /C calc'!A0",
            "@SUM(1+1)",
            "+1+1",
            "-x",
            "\tx",
            "\r=1",
        ];
        let numbers = ["-0.5", "+3", "1e-7", "-inf", "a=b", "–"].map(String::from);
        assert_eq!(encode(&numbers), "a\n-0.5\n+3\n1e-7\n-inf\na=b\n–\n");
        for cell in cells {
            assert_eq!(field(cell), format!("'{cell}"));
            let text = encode(&[cell.to_string()]);
            let read = text.strip_prefix("a\n").expect("a header");
            assert!(read.trim_start_matches('"').starts_with('\''), "{text}");
        }
    }
}
