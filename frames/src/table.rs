//! Columns with the functions that read them from a record.

use crate::Unit;
use crate::frame::{Frame, Values};
use crate::schema::{ColumnSchema, Kind, Schema};

/// How a column reads a record of type `R`. Each function gives `None` for a missing value.
enum Get<R> {
    Text(fn(&R) -> Option<&str>),
    Made(fn(&R) -> Option<String>),
    Count(fn(&R) -> Option<u64>),
    Integer(fn(&R) -> Option<i64>),
    Real(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> Option<bool>),
}

/// A column of records of type `R`.
pub struct Column<R> {
    name: &'static str,
    unit: Unit,
    description: &'static str,
    get: Get<R>,
}

macro_rules! constructor {
    ($(#[$about:meta])* $name:ident, $get:ident, $value:ty) => {
        $(#[$about])*
        pub fn $name<R>(
            name: &'static str,
            unit: Unit,
            description: &'static str,
            get: fn(&R) -> Option<$value>,
        ) -> Column<R> {
            Column { name, unit, description, get: Get::$get(get) }
        }
    };
}

constructor! {
    /// A column of texts that the record holds.
    text, Text, &str
}
constructor! {
    /// A column of texts that are made of the record.
    made, Made, String
}
constructor! {
    /// A column of whole numbers that are not negative.
    count, Count, u64
}
constructor! {
    /// A column of whole numbers.
    integer, Integer, i64
}
constructor! {
    /// A column of numbers in double precision.
    real, Real, f64
}
constructor! {
    /// A column of true or false.
    flag, Flag, bool
}

impl<R> Column<R> {
    fn schema(&self) -> ColumnSchema {
        let kind = match self.get {
            Get::Text(_) | Get::Made(_) => Kind::Text,
            Get::Count(_) => Kind::Count,
            Get::Integer(_) => Kind::Integer,
            Get::Real(_) => Kind::Real,
            Get::Flag(_) => Kind::Flag,
        };
        ColumnSchema {
            name: self.name,
            kind,
            unit: self.unit,
            description: self.description,
        }
    }

    fn read(&self, records: &[R]) -> Values {
        let records = records.iter();
        match self.get {
            Get::Text(get) => Values::Text(records.map(|r| get(r).map(str::to_string)).collect()),
            Get::Made(get) => Values::Text(records.map(get).collect()),
            Get::Count(get) => Values::Count(records.map(get).collect()),
            Get::Integer(get) => Values::Integer(records.map(get).collect()),
            Get::Real(get) => Values::Real(records.map(get).collect()),
            Get::Flag(get) => Values::Flag(records.map(get).collect()),
        }
    }
}

/// The columns of one kind of record.
pub struct Table<R> {
    name: &'static str,
    version: u32,
    row: &'static str,
    columns: Vec<Column<R>>,
}

impl<R> Table<R> {
    /// A table. `row` says what a row is, without a full stop.
    #[must_use]
    pub fn new(
        name: &'static str,
        version: u32,
        row: &'static str,
        columns: impl Into<Vec<Column<R>>>,
    ) -> Self {
        Table {
            name,
            version,
            row,
            columns: columns.into(),
        }
    }

    /// The declaration of the table.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema {
            name: self.name,
            version: self.version,
            row: self.row,
            columns: self.columns.iter().map(Column::schema).collect(),
        }
    }

    /// The records as columns, in their order.
    #[must_use]
    pub fn frame(&self, records: &[R]) -> Frame {
        let columns = self.columns.iter().map(|column| column.read(records));
        Frame::new(self.schema(), columns.collect(), records.len())
    }
}
