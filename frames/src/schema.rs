//! Declaration of a table: its name, version and columns.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::Unit;

/// Kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// A whole number of 64 bits, not negative.
    Count,
    /// A whole number of 64 bits.
    Integer,
    /// A number in double precision.
    Real,
    /// True or false.
    Flag,
}

impl Kind {
    /// The kind as pages name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Count => "unsigned integer",
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::Flag => "true or false",
        }
    }

    /// The `type` of JSON Schema.
    const fn json_type(self) -> &'static str {
        match self {
            Kind::Text => "string",
            Kind::Count | Kind::Integer => "integer",
            Kind::Real => "number",
            Kind::Flag => "boolean",
        }
    }
}

/// Declaration of a column. Each value may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    /// Name in all files.
    pub name: &'static str,
    /// Kind of the values.
    pub kind: Kind,
    /// Unit of the values.
    pub unit: Unit,
    /// Meaning, in one line of Markdown.
    pub description: &'static str,
}

/// Declaration of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Name, which begins with `hps-`.
    pub name: &'static str,
    /// Version: 1 at first, and one more with each change of the columns.
    pub version: u32,
    /// Description of a row, in one line.
    pub row: &'static str,
    /// The columns in their order.
    pub columns: Vec<ColumnSchema>,
}

impl Schema {
    /// Defects of the declaration, each in a sentence: names twice or not in small letters, and columns without a
    /// meaning.
    #[must_use]
    pub fn defects(&self) -> Vec<String> {
        let mut defects = Vec::new();
        let is_name = |name: &str| {
            let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_part)
        };
        let mut say = |what: &str, why: &str| defects.push(format!("{}: {what}: {why}", self.name));
        if !self.name.starts_with("hps-") || self.version == 0 || self.row.is_empty() {
            say("the table", "has no name, version or meaning");
        }
        for (at, column) in self.columns.iter().enumerate() {
            let before = &self.columns[..at];
            if !is_name(column.name) {
                say(column.name, "is no name in small letters, digits and `_`");
            }
            if before.iter().any(|other| other.name == column.name) {
                say(column.name, "is declared twice");
            }
            let is_meaning = column.description.trim().len() > 2;
            if !is_meaning || column.description.contains(['\n', '|']) {
                say(column.name, "has no description of one line");
            }
        }
        defects
    }

    /// The JSON Schema (draft 2020-12) of the table's JSON file. `unit` is a keyword beside those of the draft.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        let property = |column: &ColumnSchema| {
            let mut property = json!({
                "description": column.description,
                "type": [column.kind.json_type(), "null"],
                "unit": column.unit.name(),
            });
            if column.kind == Kind::Count {
                property["minimum"] = json!(0);
            }
            (column.name.to_string(), property)
        };
        let properties: Map<String, Value> = self.columns.iter().map(property).collect();
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("{} {}", self.name, self.version),
            "description": format!("A row is {}.", self.row),
            "type": "object",
            "properties": {
                "format": { "const": self.name },
                "format_version": { "const": self.version },
                "version": { "type": "string", "description": "version of the lab" },
                "rows": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": properties,
                        "required": names,
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["format", "format_version", "version", "rows"],
            "additionalProperties": false,
        })
    }

    /// The columns as a table of a page in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut table =
            "| column | values | unit | meaning |\n| --- | --- | --- | --- |\n".to_string();
        for column in &self.columns {
            let (kind, unit) = (column.kind.name(), column.unit.name());
            let _ = writeln!(
                table,
                "| `{}` | {kind} | {unit} | {} |",
                column.name, column.description
            );
        }
        table
    }
}
