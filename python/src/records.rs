//! Rows of JSON as columns.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use pyo3::prelude::*;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::said;
use crate::frame::{Column, Data};

/// Units and meanings of columns by their names.
pub type Notes = BTreeMap<String, (String, String)>;

/// The columns of a list of objects, or of one object a line, in the order in which their names first come. Keys inside
/// of objects are joined by dots; lists are JSON texts. A number that is missing somewhere is a float, and not a number
/// there. A column that has notes and no value is there, too.
pub fn columns(text: &str, notes: &Notes) -> PyResult<Vec<Column>> {
    let rows = rows(text)?;
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut cells: Vec<(String, Vec<Option<Value>>)> = Vec::new();
    let count = rows.len();
    for (at, row) in rows.into_iter().enumerate() {
        flatten(String::new(), row, &mut |name, value| {
            let place = *places.entry(name).or_insert_with_key(|name| {
                cells.push((name.clone(), Vec::new()));
                cells.len() - 1
            });
            cells[place].1.resize(at, None);
            cells[place].1.push(Some(value));
        });
    }
    let missing = notes.keys().filter(|name| !places.contains_key(*name));
    cells.extend(missing.map(|name| (name.clone(), Vec::new())));
    let columns = cells.into_iter().map(|(name, mut cells)| {
        cells.resize(count, None);
        let (unit, about) = notes
            .get(&name)
            .map_or(("", ""), |(unit, about)| (unit, about));
        Column::new(&name, unit, about, data(&cells))
    });
    Ok(columns.collect())
}

/// The members of an object, in their order.
type Members = Vec<(String, Node)>;

/// A value whose objects keep the order of their members.
enum Node {
    Leaf(Value),
    Object(Members),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Node::Leaf(Value::Array(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(Node::Object(all))
    }
}

fn rows(text: &str) -> PyResult<Vec<Members>> {
    let nodes: Vec<Node> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text).map_err(said)?,
        false => {
            let lines = serde_json::Deserializer::from_str(text).into_iter();
            lines.collect::<Result<_, _>>().map_err(said)?
        }
    };
    let rows = nodes.into_iter().enumerate().map(|(at, node)| match node {
        Node::Object(members) => Ok(members),
        Node::Leaf(_) => Err(said(anyhow::anyhow!(
            "row {at} is no object; a table is made of objects"
        ))),
    });
    rows.collect()
}

fn flatten(prefix: String, row: Members, cell: &mut impl FnMut(String, Value)) {
    for (key, value) in row {
        let name = format!("{prefix}{key}");
        match value {
            Node::Object(inner) => flatten(name + ".", inner, cell),
            Node::Leaf(Value::Null) => {}
            Node::Leaf(value) => cell(name, value),
        }
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
