//! Tables of results, which other libraries take over without a copy: through Arrow's C interface, or column by column
//! through the buffer protocol.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyBufferError, PyIndexError, PyKeyError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::error::said;
use crate::records::{Notes, columns, table};

/// Numbers of a column.
macro_rules! from_numbers {
    ($($number:ty => $array:ty),*) => {
        $(impl From<Vec<$number>> for Data {
            fn from(values: Vec<$number>) -> Data {
                Data(Arc::new(<$array>::from(values)))
            }
        })*
    };
}

/// The values of a column.
pub struct Data(pub ArrayRef);

from_numbers! {
    u8 => UInt8Array, u16 => UInt16Array, u32 => UInt32Array, u64 => UInt64Array, i64 => Int64Array,
    f64 => Float64Array, bool => BooleanArray
}

impl<T: AsRef<str>> FromIterator<Option<T>> for Data {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(texts: I) -> Data {
        Data(Arc::new(texts.into_iter().collect::<StringArray>()))
    }
}

/// A column: its name, its unit, its meaning and its values.
pub struct Column {
    field: Field,
    data: Data,
}

impl Column {
    /// A column.
    pub fn new(name: &str, unit: &str, about: &str, data: impl Into<Data>) -> Column {
        let data = data.into();
        let kind = data.0.data_type().clone();
        let notes = [("unit", unit), ("description", about)];
        let notes = notes.map(|(key, text)| (key.to_owned(), text.to_owned()));
        let is_text = kind == DataType::Utf8;
        Column {
            field: Field::new(name, kind, is_text).with_metadata(HashMap::from(notes)),
            data,
        }
    }
}

/// A table of results: columns with names, units and descriptions.
#[pyclass(frozen, module = "hps._hps")]
pub struct Frame {
    batch: RecordBatch,
}

impl Frame {
    /// A table of these columns, which have equally many values.
    pub fn of(columns: Vec<Column>) -> PyResult<Frame> {
        let (fields, data): (Vec<Field>, Vec<ArrayRef>) = columns
            .into_iter()
            .map(|column| (column.field, column.data.0))
            .unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), data).map_err(said)?;
        Ok(Frame { batch })
    }

    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let all: Vec<&str> = self.names().collect();
            PyKeyError::new_err(format!(
                "there is no column {name}; there are {}",
                all.join(", ")
            ))
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let schema = self.batch.schema_ref();
        schema.fields().iter().map(|field| field.name().as_str())
    }
}

#[pymethods]
impl Frame {
    /// The table that JSON makes: a list of objects, or one object a line. Keys inside of objects are joined by dots.
    /// `notes` are units and meanings of columns by their names.
    #[staticmethod]
    #[pyo3(signature = (text, notes=None))]
    fn from_json(py: Python<'_>, text: &str, notes: Option<Notes>) -> PyResult<Frame> {
        let notes = notes.unwrap_or_default();
        py.detach(|| columns(text, &notes)).and_then(Frame::of)
    }

    /// The table of a JSON document that the command has written. `notes` are units and meanings of columns by format and
    /// name.
    #[staticmethod]
    fn from_table(py: Python<'_>, text: &str, notes: BTreeMap<String, Notes>) -> PyResult<Frame> {
        py.detach(|| table(text, &notes)).and_then(Frame::of)
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.names().collect()
    }

    /// Units of the columns.
    #[getter]
    fn units(&self) -> HashMap<&str, &str> {
        self.notes("unit")
    }

    /// Meanings of the columns.
    #[getter]
    fn descriptions(&self) -> HashMap<&str, &str> {
        self.notes("description")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of a column, which lend their memory: `numpy.asarray(frame["cycles"])` copies nothing.
    fn __getitem__(&self, name: &str) -> PyResult<Values> {
        Ok(Values {
            array: self.column(name)?.clone(),
        })
    }

    /// The rows as dictionaries, of which at most `most`.
    #[pyo3(signature = (most=None))]
    fn rows<'py>(&self, py: Python<'py>, most: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for at in 0..self.batch.num_rows().min(most.unwrap_or(usize::MAX)) {
            let row = PyDict::new(py);
            for (name, array) in self.names().zip(self.batch.columns()) {
                row.set_item(name, value(py, array, at)?)?;
            }
            rows.append(row)?;
        }
        Ok(rows)
    }

    /// The table as one of pandas. Numbers are not copied.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "to_pandas")
    }

    /// The table as one of polars, without a copy.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "to_polars")
    }

    /// The table as one of pyarrow, without a copy.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "to_arrow")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "table_html")
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "table_text")
    }

    /// Arrow's C stream interface, by which polars, pyarrow and others take the table over.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer decline another schema than its own.
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Arrow's C interface for the schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(said)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

impl Frame {
    fn notes(&self, kind: &str) -> HashMap<&str, &str> {
        let fields = self.batch.schema_ref().fields();
        fields
            .iter()
            .filter_map(|field| Some((field.name().as_str(), field.metadata().get(kind)?.as_str())))
            .collect()
    }
}

/// Result of a function of the package's own Python for an object.
pub fn shown<'py>(
    object: &Bound<'py, impl pyo3::PyClass>,
    function: &str,
) -> PyResult<Bound<'py, PyAny>> {
    object
        .py()
        .import("hps._show")?
        .call_method1(function, (object,))
}

/// One value as Python has it.
fn value<'py>(py: Python<'py>, array: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! number {
        ($kind:ty) => {
            array
                .as_primitive::<$kind>()
                .value(at)
                .into_pyobject(py)?
                .into_any()
        };
    }
    if array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Int64 => number!(Int64Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Boolean => array
            .as_boolean()
            .value(at)
            .into_pyobject(py)?
            .to_owned()
            .into_any(),
        _ => array
            .as_string::<i32>()
            .value(at)
            .into_pyobject(py)?
            .into_any(),
    })
}

/// The values of a column. Numbers lend their memory by the buffer protocol; texts come one by one.
#[pyclass(frozen, module = "hps._hps")]
pub struct Values {
    array: ArrayRef,
}

impl Values {
    /// Where numbers lie, their size in bytes and their format; none for truth values and texts.
    fn memory(&self) -> Option<(*const u8, usize, &'static CStr)> {
        macro_rules! numbers {
            ($kind:ty, $format:literal) => {{
                let values = self.array.as_primitive::<$kind>().values();
                Some((
                    values.inner().as_ptr(),
                    size_of_val(values.get(0)?),
                    $format,
                ))
            }};
        }
        match self.array.data_type() {
            DataType::UInt8 => numbers!(UInt8Type, c"B"),
            DataType::UInt16 => numbers!(UInt16Type, c"H"),
            DataType::UInt32 => numbers!(UInt32Type, c"I"),
            DataType::UInt64 => numbers!(UInt64Type, c"Q"),
            DataType::Int64 => numbers!(Int64Type, c"q"),
            DataType::Float64 => numbers!(Float64Type, c"d"),
            _ => None,
        }
    }
}

#[pymethods]
impl Values {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: isize) -> PyResult<Bound<'py, PyAny>> {
        let length = self.array.len();
        let place = if at < 0 { at + length as isize } else { at };
        match usize::try_from(place) {
            Ok(place) if place < length => value(py, &self.array, place),
            _ => Err(PyIndexError::new_err(format!("there are {length} values"))),
        }
    }

    /// The values as a list.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all = (0..self.array.len()).map(|at| value(py, &self.array, at));
        PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
    }

    /// Whether the values are numbers, whose memory can be lent.
    #[getter]
    fn is_numeric(&self) -> bool {
        self.array.data_type().is_numeric()
    }

    /// Whether the values are true or false.
    #[getter]
    fn is_boolean(&self) -> bool {
        *self.array.data_type() == DataType::Boolean
    }

    /// Lends the memory of numbers.
    ///
    /// # Safety
    /// The interpreter calls it, with a view that it owns.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("results cannot be written"));
        }
        let values = slf.get();
        let length = values.array.len();
        let (data, size, format) = match values.memory() {
            Some(found) => found,
            None if length == 0 && values.array.data_type().is_numeric() => (
                std::ptr::NonNull::<u64>::dangling()
                    .as_ptr()
                    .cast_const()
                    .cast(),
                8,
                c"Q",
            ),
            None => {
                return Err(PyBufferError::new_err(
                    "only numbers lend their memory; tolist() copies",
                ));
            }
        };
        let bytes = (length * size) as isize;
        // SAFETY: the view is the interpreter's. The array, which the view's owner keeps alive, holds the bytes and never
        // changes.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), data as *mut c_void, bytes, 1, flags)
        };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        // SAFETY: the view has been filled; its shape and strides live as long as `internal`, which
        // `__releasebuffer__` frees.
        unsafe {
            let sizes = Box::into_raw(Box::new([length as isize, size as isize]));
            (*view).itemsize = size as isize;
            (*view).internal = sizes.cast();
            if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                (*view).format = format.as_ptr().cast_mut();
            }
            if flags & ffi::PyBUF_ND == ffi::PyBUF_ND {
                (*view).shape = sizes.cast();
            }
            if flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES {
                (*view).strides = sizes.cast::<isize>().add(1);
            }
        }
        Ok(())
    }

    /// Takes back what `__getbuffer__` has allocated.
    ///
    /// # Safety
    /// The interpreter calls it, once for each view that was filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is what `__getbuffer__` has put there.
        drop(unsafe { Box::from_raw((*view).internal.cast::<[isize; 2]>()) });
    }
}
