//! Frames as Apache Parquet, uncompressed: every reader takes it, and repeated texts stand in dictionaries.
//!
//! The file's key-value metadata holds `hps.schema` (the name of the table), `hps.schema_version`, `hps.version` (of the
//! lab) and `hps.columns`, a JSON object from each column's name to its `unit` and `description`.

use std::sync::Arc;

use parquet::basic::{IntType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Value, json};

use crate::frame::{Frame, FrameError, Values};
use crate::schema::{ColumnSchema, Kind, Schema};

/// Most rows of a row group, so that readers can take a part of a large file.
const ROWS_OF_A_GROUP: usize = 1 << 20;

/// A frame as a Parquet file.
pub(crate) fn bytes(frame: &Frame, version: &str) -> Result<Vec<u8>, FrameError> {
    let properties = WriterProperties::builder()
        .set_created_by(format!("hps version {version}"))
        .set_key_value_metadata(Some(metadata(frame.schema(), version)))
        .build();
    let message = message(frame.schema())?;
    let mut writer = SerializedFileWriter::new(Vec::new(), message, Arc::new(properties))?;
    let mut from = 0;
    while from < frame.rows() {
        let to = frame.rows().min(from + ROWS_OF_A_GROUP);
        let mut group = writer.next_row_group()?;
        for values in frame.columns() {
            write_column(&mut group, values, from, to)?;
        }
        group.close()?;
        from = to;
    }
    Ok(writer.into_inner()?)
}

/// Metadata by which the file describes itself.
fn metadata(schema: &Schema, version: &str) -> Vec<KeyValue> {
    let column = |c: &ColumnSchema| {
        let about = json!({ "unit": c.unit.name(), "description": c.description });
        (c.name.to_string(), about)
    };
    let columns: Map<String, Value> = schema.columns.iter().map(column).collect();
    let pairs = [
        ("hps.schema", schema.name.to_string()),
        ("hps.schema_version", schema.version.to_string()),
        ("hps.version", version.to_string()),
        ("hps.columns", Value::Object(columns).to_string()),
    ];
    pairs
        .map(|(key, value)| KeyValue::new(key.to_string(), value))
        .into()
}

/// The columns as Parquet declares them.
fn message(schema: &Schema) -> Result<TypePtr, ParquetError> {
    let column = |column: &ColumnSchema| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Count => (Physical::INT64, Some(integer(false))),
            Kind::Integer => (Physical::INT64, Some(integer(true))),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Flag => (Physical::BOOLEAN, None),
        };
        let built = Type::primitive_type_builder(column.name, physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL)
            .build()?;
        Ok(Arc::new(built))
    };
    let columns: Result<Vec<TypePtr>, ParquetError> = schema.columns.iter().map(column).collect();
    let name = schema.name.replace('-', "_");
    let message = Type::group_type_builder(&name).with_fields(columns?);
    Ok(Arc::new(message.build()?))
}

fn integer(is_signed: bool) -> LogicalType {
    LogicalType::Integer(IntType {
        bit_width: 64,
        is_signed,
    })
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &Values,
    from: usize,
    to: usize,
) -> Result<(), ParquetError> {
    match values {
        Values::Text(all) => write::<ByteArrayType, _>(group, &all[from..to], |text| {
            ByteArray::from(text.as_bytes().to_vec())
        }),
        // The annotation of the column says that the 64 bits have no sign.
        Values::Count(all) => {
            write::<Int64Type, _>(group, &all[from..to], |count| count.cast_signed())
        }
        Values::Integer(all) => write::<Int64Type, _>(group, &all[from..to], |number| *number),
        Values::Real(all) => write::<DoubleType, _>(group, &all[from..to], |number| *number),
        Values::Flag(all) => write::<BoolType, _>(group, &all[from..to], |flag| *flag),
    }
}

/// Writes the next column of a row group. A value's definition level is 1, that of a missing one 0.
fn write<T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[Option<V>],
    of: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        let missing = "the file has fewer columns than the frame".to_string();
        return Err(ParquetError::General(missing));
    };
    let present: Vec<T::T> = values.iter().flatten().map(of).collect();
    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    (column.typed::<T>()).write_batch(&present, Some(&levels), None)?;
    column.close()
}
