#![doc = include_str!("../README.md")]

mod csv;
mod frame;
mod json;
mod parquet;
mod schema;
mod table;
mod unit;

pub use frame::{Format, Frame, FrameError, Values};
pub use json::Document;
pub use schema::{ColumnSchema, Kind, Schema};
pub use table::{Column, Table, count, flag, integer, made, real, text};
pub use unit::Unit;
