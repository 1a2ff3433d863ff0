//! Rows of JSON as columns.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::said;
use crate::frame::{Column, Data};

/// Units and meanings of columns by their names.
pub type Notes = BTreeMap<String, (String, String)>;

/// The columns of a list of objects, or of one object a line, in the order in which their names first come. Keys inside
/// of objects are joined by dots; lists are JSON texts. A number that is missing somewhere is a float, and not a number
/// there. A column that has notes and no value is there, too.
pub fn columns(text: &str, notes: &Notes) -> PyResult<Vec<Column>> {
    let mut table = Table::default();
    let mut from = serde_json::Deserializer::from_str(text);
    if text.trim_start().starts_with('[') {
        let read = from.deserialize_seq(&mut table);
        read.and_then(|()| from.end()).map_err(said)?;
    } else {
        for row in from.into_iter() {
            table.row(row.map_err(said)?).map_err(said)?;
        }
    }
    let count = table.rows;
    for name in notes.keys() {
        table.place(name);
    }
    let columns = table.columns.into_iter().map(|(name, mut cells)| {
        cells.resize(count, None);
        let (unit, about) = notes
            .get(&name)
            .map_or(("", ""), |(unit, about)| (unit, about));
        Column::new(&name, unit, about, data(&cells))
    });
    Ok(columns.collect())
}

/// The columns of a document with a format and rows, as the command writes it. `notes` has the notes of each format.
pub fn table(text: &str, notes: &BTreeMap<String, Notes>) -> PyResult<Vec<Column>> {
    #[derive(Deserialize)]
    struct Document<'a> {
        format: String,
        #[serde(borrow)]
        rows: &'a RawValue,
    }
    let document: Document = serde_json::from_str(text).map_err(said)?;
    let none = Notes::new();
    columns(
        document.rows.get(),
        notes.get(&document.format).unwrap_or(&none),
    )
}

/// Columns by their names, with a cell for each row up to their last.
#[derive(Default)]
struct Table {
    columns: Vec<(String, Vec<Option<Value>>)>,
    places: HashMap<String, usize>,
    /// Rows that have been added.
    rows: usize,
    /// Place of the column that is expected next: rows name their columns in one order.
    next: usize,
}

impl<'de> Visitor<'de> for &mut Table {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(row) = items.next_element()? {
            self.row(row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

impl Table {
    /// Adds a row.
    fn row(&mut self, row: Node<'_>) -> anyhow::Result<()> {
        let at = self.rows;
        let Node::Object(members) = row else {
            anyhow::bail!("row {at} is no object; a table is made of objects");
        };
        self.next = 0;
        self.add("", at, members);
        self.rows += 1;
        Ok(())
    }

    /// Adds the members of a row, or of an object in it, whose name with a dot is the prefix.
    fn add(&mut self, prefix: &str, row: usize, members: Members) {
        for (Key(key), value) in members {
            let name = match prefix {
                "" => key,
                _ => Cow::Owned(format!("{prefix}{key}")),
            };
            match value {
                Node::Object(inner) => self.add(&format!("{name}."), row, inner),
                Node::Leaf(Value::Null) => {}
                Node::Leaf(value) => {
                    let place = self.place(&name);
                    self.next = place + 1;
                    let cells = &mut self.columns[place].1;
                    cells.resize(row, None);
                    cells.push(Some(value));
                }
            }
        }
    }

    /// Place of a column, which is made where there is none.
    fn place(&mut self, name: &str) -> usize {
        let expected = self.columns.get(self.next);
        if expected.is_some_and(|(column, _)| column == name) {
            return self.next;
        }
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        self.places.insert(name.to_owned(), self.columns.len());
        self.columns.push((name.to_owned(), Vec::new()));
        self.columns.len() - 1
    }
}

/// A key, which is borrowed from the text unless it has escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of an object, in their order.
type Members<'a> = Vec<(Key<'a>, Node<'a>)>;

/// A value whose objects keep the order of their members.
enum Node<'a> {
    Leaf(Value),
    Object(Members<'a>),
}

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node<'de>, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node<'de>, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node<'de>, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node<'de>, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node<'de>, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Leaf(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node<'de>, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Node::Leaf(Value::Array(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node<'de>, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(Node::Object(all))
    }
}

/// The values of a column in the narrowest kind that holds all of them.
fn data(cells: &[Option<Value>]) -> Data {
    let all = |is: fn(&Value) -> bool| {
        !cells.is_empty() && cells.iter().all(|cell| cell.as_ref().is_some_and(is))
    };
    let each = |is: fn(&Value) -> bool| cells.iter().flatten().all(is);
    if all(Value::is_boolean) {
        let bools = cells.iter().flatten().filter_map(Value::as_bool);
        return bools.collect::<Vec<bool>>().into();
    }
    if all(Value::is_u64) {
        let numbers = cells.iter().flatten().filter_map(Value::as_u64);
        return numbers.collect::<Vec<u64>>().into();
    }
    if all(Value::is_i64) {
        let numbers = cells.iter().flatten().filter_map(Value::as_i64);
        return numbers.collect::<Vec<i64>>().into();
    }
    if each(Value::is_number) && cells.iter().any(Option::is_some) {
        let numbers = cells
            .iter()
            .map(|cell| cell.as_ref().and_then(Value::as_f64));
        let numbers = numbers.map(|number| number.unwrap_or(f64::NAN));
        return numbers.collect::<Vec<f64>>().into();
    }
    let texts = cells.iter().map(|cell| {
        cell.as_ref().map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    });
    texts.collect()
}
