//! A profile with names: what every exporter of [`formats`](crate::formats) takes.
//!
//! A [`SymbolizedProfile`] knows neither a simulator nor native counters. Whoever has a profile and
//! a program's symbols fills a [`Builder`]; the exporters only read. Values are exact integers:
//! a [`Column`] may count in parts of its unit, as time-proportional attribution does, which gives
//! a cycle in equal parts to all instructions that commit in it.
//!
//! ```
//! use hps_profile::symbolized::{Builder, Column, Frame, Function, Header};
//!
//! let mut builder = Builder::new(Header::default(), vec![Column::new("cycles", "cycles")]);
//! let main = builder.function(Function { name: "main".into(), ..Function::default() });
//! let place = builder.location(0x10a4, 0, &[Frame::new(main, 7)]);
//! builder.add(None, &[place], &[12]);
//! assert_eq!(builder.build().total(0), 12);
//! ```

use serde::{Deserialize, Serialize};

mod builder;
mod rounding;

/// The name of the function that stands for calls that a stack leaves out.
pub const DEEPER: &str = "(deeper calls)";

pub use builder::Builder;
pub use rounding::RoundedValues;

/// Where a profile comes from. Unknown texts are empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the program.
    pub program: String,
    /// Hash of the program's image.
    pub program_hash: String,
    /// Version of HPS Lab.
    pub version: String,
    /// Name of the machine.
    pub machine: String,
    /// Name of the core model, or of the processor.
    pub core: String,
    /// The command that made the profile.
    pub command: String,
    /// The clock in MHz, to turn cycles into time. Without it, formats that want time take a
    /// cycle for a nanosecond.
    pub clock_mhz: Option<f64>,
}

/// Meaning of one value of every sample. The first column is the main one: formats that hold one value per sample hold
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name, such as `cycles` or `l1d_miss_cycles`.
    pub name: String,
    /// Unit: `cycles`, `count`, `nanoseconds`, `bytes`.
    pub unit: String,
    /// Values of the column are integers in units of `1 / denominator`; at least 1.
    pub denominator: u32,
}

impl Column {
    /// A column of whole units.
    #[must_use]
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            denominator: 1,
        }
    }

    /// The column with values in units of `1 / denominator`; 0 is taken for 1.
    #[must_use]
    pub fn in_parts_of(mut self, denominator: u32) -> Self {
        self.denominator = denominator.max(1);
        self
    }
}

/// A function of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Name for people, demangled. Empty if unknown: the entry's address stands in.
    pub name: String,
    /// Name in the symbol table; empty if unknown.
    pub linkage_name: String,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line of the declaration, from 1; 0 if unknown.
    pub line: u32,
    /// Address of the first instruction; 0 if unknown.
    pub entry: u64,
    /// Bytes from the entry on; 0 if unknown.
    pub size: u64,
    /// The file that holds the code, where it is not the program: a shared library.
    pub module: String,
}

impl Function {
    /// The name, or the entry's address where there is no name.
    #[must_use]
    pub fn label(&self) -> String {
        if self.name.is_empty() {
            format!("{:#x}", self.entry)
        } else {
            self.name.clone()
        }
    }

    /// The name that a linker knows: the linkage name, else the name, else the entry's address.
    #[must_use]
    pub fn linkage_label(&self) -> String {
        if self.linkage_name.is_empty() {
            self.label()
        } else {
            self.linkage_name.clone()
        }
    }
}

/// A file that holds code of a program beside its own: a library, the loader, what a compiler has made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file, as the program sees it.
    pub name: String,
    /// The linker's name for its bytes, in hexadecimal; empty if unknown.
    pub build_id: String,
}

/// A function of a [`Builder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u32);

impl FunctionId {
    /// The place in [`SymbolizedProfile::functions`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A location of a [`Builder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationId(u32);

impl LocationId {
    /// The place in [`SymbolizedProfile::locations`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A thread, core or hardware context of a [`Builder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(u32);

impl ThreadId {
    /// The place in [`SymbolizedProfile::threads`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function that is active at a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// The line in the function's file, from 1; 0 if unknown.
    pub line: u32,
    /// Which code of the line it is, as DWARF's discriminator has it; 0 if unknown.
    pub discriminator: u32,
}

impl Frame {
    /// A frame without discriminator.
    #[must_use]
    pub const fn new(function: FunctionId, line: u32) -> Self {
        Self {
            function,
            line,
            discriminator: 0,
        }
    }
}

/// A place in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Address of the instruction.
    pub address: u64,
    /// Place in DISE's replacement sequence; 0 for the program's own instruction.
    pub disepc: u32,
    /// The functions, innermost first: the inlined ones, and last the one that the symbol table
    /// knows. Empty if nothing is known.
    pub frames: Vec<Frame>,
}

impl Location {
    /// The address as [`Instruction`](crate::Instruction) writes it: `0x10a4` or `0x10a4+2`.
    #[must_use]
    pub fn label(&self) -> String {
        let instruction = crate::key::Instruction {
            pc: self.address,
            disepc: self.disepc,
        };
        instruction.to_string()
    }
}

/// A stack and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The thread, if threads are told apart.
    pub thread: Option<ThreadId>,
    /// Innermost location first; the others are call sites.
    pub stack: Vec<LocationId>,
    /// One value for each column, in the column's parts.
    pub values: Vec<u64>,
}

/// A thread, core or hardware context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Thread {
    /// Number for people, such as the thread's id.
    pub id: u64,
    /// Name; empty if unknown.
    pub name: String,
}

/// A value over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name, such as `instructions per cycle`.
    pub name: String,
    /// Unit of the values; empty for a ratio.
    pub unit: String,
    /// Cycles and the values from then on, in order of cycles.
    pub points: Vec<(u64, f64)>,
}

/// A span of time with a name, such as a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Name.
    pub name: String,
    /// First cycle.
    pub start: u64,
    /// The cycle after the last one.
    pub end: u64,
}

/// A profile with names. All ids in it are valid; see the module.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolizedProfile {
    header: Header,
    columns: Vec<Column>,
    modules: Vec<Module>,
    functions: Vec<Function>,
    locations: Vec<Location>,
    threads: Vec<Thread>,
    samples: Vec<Sample>,
    series: Vec<Series>,
    markers: Vec<Marker>,
    notes: Vec<String>,
}

impl SymbolizedProfile {
    /// Where the profile comes from.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The columns; there is at least one, the main one.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The main column.
    #[must_use]
    pub fn main_column(&self) -> &Column {
        &self.columns[0]
    }

    /// The files that are known to hold code of functions, without the program.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// All functions.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// All locations.
    #[must_use]
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// All threads.
    #[must_use]
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// All samples, in the order in which their stacks were first added.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Values over time.
    #[must_use]
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Spans of time.
    #[must_use]
    pub fn markers(&self) -> &[Marker] {
        &self.markers
    }

    /// Sentences that tell the reader of a file what the profile leaves out.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A function by its id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    /// A location by its id.
    #[must_use]
    pub fn location(&self, id: LocationId) -> &Location {
        &self.locations[id.index()]
    }

    /// The sum of a column in its parts: divide by the column's denominator for its unit.
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn total(&self, column: usize) -> u128 {
        assert!(column < self.columns.len(), "there is no column {column}");
        let values = self.samples.iter().map(|sample| sample.values[column]);
        values.map(u128::from).sum()
    }

    /// The place of a column by its name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The profile with another main column, which formats of one value hold. The other columns
    /// keep their order behind it.
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn with_main_column(mut self, column: usize) -> Self {
        self.columns[..=column].rotate_right(1);
        for sample in &mut self.samples {
            sample.values[..=column].rotate_right(1);
        }
        self
    }

    /// All columns in whole units, as the formats hold them.
    #[must_use]
    pub fn rounded(&self) -> RoundedValues {
        RoundedValues::new(self)
    }
}

#[cfg(test)]
mod tests;
