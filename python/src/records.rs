//! Rows of JSON as columns, which grow while the text is read.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use arrow_array::builder::StringBuilder;
use pyo3::prelude::*;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::said;
use crate::frame::{Column, Data};

/// Units and meanings of columns by their names.
pub type Notes = BTreeMap<String, (String, String)>;

/// The columns of a list of objects, or of one object a line, in the order in which their names first come. Keys inside
/// of objects are joined by dots; lists are JSON texts. A number that is missing somewhere is a float, and not a number
/// there. A column that has notes and no value is there, too.
pub fn columns(text: &str, notes: &Notes) -> PyResult<Vec<Column>> {
    let mut rows = Rows::default();
    let mut rest = text.trim_start();
    if rest.starts_with('[') {
        let mut from = serde_json::Deserializer::from_str(rest);
        let read = List(&mut rows).deserialize(&mut from);
        read.and_then(|()| from.end()).map_err(said)?;
        return Ok(rows.into_columns(notes));
    }
    while !rest.is_empty() {
        let mut from = serde_json::Deserializer::from_str(rest);
        Row(&mut rows).deserialize(&mut from).map_err(said)?;
        let length = from.into_iter::<IgnoredAny>().byte_offset();
        rest = rest[length..].trim_start();
    }
    Ok(rows.into_columns(notes))
}

/// The columns of a table that the command has written. `notes` has the notes of each format.
pub fn table(text: &str, notes: &BTreeMap<String, Notes>) -> PyResult<Vec<Column>> {
    let mut from = serde_json::Deserializer::from_str(text);
    let (format, rows) = from.deserialize_map(Document).map_err(said)?;
    let none = Notes::new();
    Ok(rows.into_columns(notes.get(&format).unwrap_or(&none)))
}

/// Columns that grow row by row.
#[derive(Default)]
struct Rows {
    columns: Vec<Cells>,
    places: HashMap<String, usize>,
    /// Rows that are whole.
    count: usize,
    /// Place of the column that a row is expected to name next: rows name their columns in one order.
    next: usize,
    /// Keys of the objects around the value, each with a dot.
    prefix: String,
}

impl Rows {
    /// The column of a key, which is made where there is none.
    fn column(&mut self, key: &str) -> &mut Cells {
        let is_it = |column: &Cells| {
            let inner = column.name.strip_prefix(&*self.prefix);
            inner.is_some_and(|inner| inner == key)
        };
        let at = match self.columns.get(self.next) {
            Some(column) if is_it(column) => self.next,
            _ => self.place(format!("{}{key}", self.prefix)),
        };
        self.next = at + 1;
        &mut self.columns[at]
    }

    fn place(&mut self, name: String) -> usize {
        if let Some(&at) = self.places.get(&name) {
            return at;
        }
        let at = self.columns.len();
        self.places.insert(name.clone(), at);
        self.columns.push(Cells {
            name,
            values: Values::None,
            rows: 0,
            missing: Vec::new(),
        });
        at
    }

    /// Adds a value of the row that is being read.
    fn add<E: Error>(&mut self, key: &str, value: Cell<'_>) -> Result<(), E> {
        let row = self.count;
        let column = self.column(key);
        if column.rows > row {
            let name = &column.name;
            return Err(E::custom(format_args!("row {row} has {name} twice")));
        }
        column.fill(row);
        column.add(value);
        Ok(())
    }

    fn into_columns(mut self, notes: &Notes) -> Vec<Column> {
        for name in notes.keys() {
            self.place(name.clone());
        }
        let count = self.count;
        let columns = self.columns.into_iter().map(|mut cells| {
            cells.fill(count);
            let found = notes.get(&cells.name);
            let (unit, about) = found.map_or(("", ""), |(unit, about)| (unit, about));
            let name = std::mem::take(&mut cells.name);
            Column::new(&name, unit, about, cells.into_data())
        });
        columns.collect()
    }
}

/// A value that is no object and is there.
enum Cell<'a> {
    Bool(bool),
    Count(u64),
    Real(f64),
    Text(&'a str),
    Other(Value),
}

/// A column that grows.
struct Cells {
    name: String,
    values: Values,
    /// Rows that have a value, or are known to lack one.
    rows: usize,
    /// Rows without a value; `values` has any value there.
    missing: Vec<usize>,
}

/// Values of one kind, or of several.
enum Values {
    None,
    Bools(Vec<bool>),
    Counts(Vec<u64>),
    Reals(Vec<f64>),
    Texts(StringBuilder),
    Several(Vec<Option<Value>>),
}

impl Cells {
    /// Says that rows up to one have no value.
    fn fill(&mut self, row: usize) {
        let new = self.rows..row;
        match &mut self.values {
            Values::None => {}
            Values::Bools(all) => all.resize(row, false),
            Values::Counts(all) => all.resize(row, 0),
            Values::Reals(all) => all.resize(row, f64::NAN),
            Values::Texts(all) => new.clone().for_each(|_| all.append_null()),
            Values::Several(all) => all.resize(row, None),
        }
        self.missing.extend(new);
        self.rows = row;
    }

    fn add(&mut self, value: Cell<'_>) {
        if matches!(self.values, Values::None) {
            self.begin(&value);
        }
        self.rows += 1;
        match (&mut self.values, value) {
            (Values::Bools(all), Cell::Bool(value)) => all.push(value),
            (Values::Counts(all), Cell::Count(value)) => all.push(value),
            (Values::Reals(all), Cell::Real(value)) => all.push(value),
            (Values::Texts(all), Cell::Text(value)) => all.append_value(value),
            (_, value) => self.several().push(Some(value.into())),
        }
    }

    /// Chooses the kind of the values by the first one.
    fn begin(&mut self, first: &Cell<'_>) {
        let rows = self.rows;
        self.values = match first {
            Cell::Bool(_) => Values::Bools(vec![false; rows]),
            Cell::Count(_) => Values::Counts(vec![0; rows]),
            Cell::Real(_) => Values::Reals(vec![f64::NAN; rows]),
            Cell::Text(_) => {
                let mut texts = StringBuilder::new();
                (0..rows).for_each(|_| texts.append_null());
                Values::Texts(texts)
            }
            Cell::Other(_) => Values::Several(vec![None; rows]),
        };
    }

    /// The values as those of several kinds.
    fn several(&mut self) -> &mut Vec<Option<Value>> {
        let mut all: Vec<Option<Value>> = match &mut self.values {
            Values::Several(_) | Values::None => Vec::new(),
            Values::Bools(all) => all.iter().map(|&one| Some(one.into())).collect(),
            Values::Counts(all) => all.iter().map(|&one| Some(one.into())).collect(),
            Values::Reals(all) => all.iter().map(|&one| Some(one.into())).collect(),
            Values::Texts(all) => {
                let texts = all.finish();
                texts.iter().map(|text| Some(text?.into())).collect()
            }
        };
        if !matches!(self.values, Values::Several(_)) {
            for &row in &self.missing {
                all[row] = None;
            }
            self.values = Values::Several(all);
        }
        match &mut self.values {
            Values::Several(all) => all,
            _ => unreachable!("the values are of several kinds"),
        }
    }

    /// The values in the narrowest kind that holds all of them.
    fn into_data(mut self) -> Data {
        let is_whole = self.missing.is_empty();
        match self.values {
            Values::Bools(all) if is_whole => all.into(),
            Values::Counts(all) if is_whole => all.into(),
            Values::Counts(all) => {
                let mut reals: Vec<f64> = all.into_iter().map(|count| count as f64).collect();
                for row in self.missing {
                    reals[row] = f64::NAN;
                }
                reals.into()
            }
            Values::Reals(all) => all.into(),
            Values::Texts(mut all) => Data(std::sync::Arc::new(all.finish())),
            Values::None => (0..self.rows).map(|_| None::<&str>).collect(),
            Values::Bools(_) | Values::Several(_) => data_of(self.several()),
        }
    }
}

impl From<Cell<'_>> for Value {
    fn from(cell: Cell<'_>) -> Value {
        match cell {
            Cell::Bool(value) => value.into(),
            Cell::Count(value) => value.into(),
            Cell::Real(value) => value.into(),
            Cell::Text(value) => value.into(),
            Cell::Other(value) => value,
        }
    }
}

/// Values of several kinds in the narrowest kind that holds all of them.
fn data_of(cells: &[Option<Value>]) -> Data {
    let present = || cells.iter().flatten();
    let is_whole = cells.iter().all(Option::is_some);
    if is_whole && present().all(Value::is_i64) {
        return Data::from(present().filter_map(Value::as_i64).collect::<Vec<i64>>());
    }
    if present().all(Value::is_number) {
        let number = |cell: &Option<Value>| cell.as_ref().and_then(Value::as_f64);
        let numbers = cells.iter().map(|cell| number(cell).unwrap_or(f64::NAN));
        return numbers.collect::<Vec<f64>>().into();
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let texts = cells.iter().map(|cell| cell.as_ref().map(text));
    texts.collect()
}

/// A document with a format and a list of rows.
struct Document;

impl<'de> Visitor<'de> for Document {
    type Value = (String, Rows);

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a table that hps has written")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut format, mut rows) = (String::new(), None);
        while let Some(key) = members.next_key::<String>()? {
            match key.as_str() {
                "format" => format = members.next_value()?,
                "rows" => members.next_value_seed(List(rows.insert(Rows::default())))?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        let rows = rows.ok_or_else(|| A::Error::missing_field("rows"))?;
        Ok((format, rows))
    }
}

/// A list of rows.
struct List<'a>(&'a mut Rows);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Row(self.0))?.is_some() {}
        Ok(())
    }
}

/// A row.
struct Row<'a>(&'a mut Rows);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.next = 0;
        from.deserialize_any(Members(&mut *self.0))?;
        self.0.count += 1;
        Ok(())
    }
}

/// The members of an object.
struct Members<'a>(&'a mut Rows);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "an object: row {} is no object; a table is made of objects",
            self.0.count
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut name = String::new();
        while members.next_key_seed(Key(&mut name))?.is_some() {
            members.next_value_seed(Member(self.0, &name))?;
        }
        Ok(())
    }
}

/// A key, which is read into the memory of the one before.
struct Key<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        self.0.clear();
        self.0.push_str(key);
        Ok(())
    }
}

/// The value of a key.
struct Member<'a>(&'a mut Rows, &'a str);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.add(self.1, Cell::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.add(self.1, Cell::Other(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.add(self.1, Cell::Count(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.add(self.1, Cell::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.add(self.1, Cell::Text(value))
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        self.0.add(self.1, Cell::Other(Value::Array(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        let Member(rows, key) = self;
        let length = rows.prefix.len();
        rows.prefix.push_str(key);
        rows.prefix.push('.');
        let read = Members(&mut *rows).visit_map(members);
        rows.prefix.truncate(length);
        read
    }
}
