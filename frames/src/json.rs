//! Frames as JSON: one object that names its format, with a list of rows.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::frame::{Frame, Values};

/// A frame as a JSON document. Missing values and numbers that are not finite are `null`.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) version: &'a str,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schema = self.frame.schema();
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("format", schema.name)?;
        map.serialize_entry("format_version", &schema.version)?;
        map.serialize_entry("version", self.version)?;
        map.serialize_entry("rows", &Rows(self.frame))?;
        map.end()
    }
}

/// All rows of a frame.
struct Rows<'a>(&'a Frame);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.rows()))?;
        for row in 0..self.0.rows() {
            list.serialize_element(&Row { frame: self.0, row })?;
        }
        list.end()
    }
}

/// A row of a frame.
struct Row<'a> {
    frame: &'a Frame,
    row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = &self.frame.schema().columns;
        let mut map = serializer.serialize_map(Some(columns.len()))?;
        for (column, values) in columns.iter().zip(self.frame.columns()) {
            map.serialize_key(column.name)?;
            match values {
                Values::Text(all) => map.serialize_value(&all[self.row])?,
                Values::Count(all) => map.serialize_value(&all[self.row])?,
                Values::Integer(all) => map.serialize_value(&all[self.row])?,
                Values::Real(all) => map.serialize_value(&all[self.row])?,
                Values::Flag(all) => map.serialize_value(&all[self.row])?,
            }
        }
        map.end()
    }
}
