//! Units of columns.

/// Unit of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A name or a sentence.
    Text,
    /// One of a few words, which the meaning lists.
    Word,
    /// A hash that names something, as hexadecimal digits.
    Hash,
    /// SHA-256 as hexadecimal digits.
    Sha256,
    /// A description in Rusty Object Notation.
    Ron,
    /// An address as hexadecimal text.
    Address,
    /// Occurrences of what a profile counts.
    Events,
    /// Clock cycles of the simulated machine. Parts of a cycle are fractions.
    Cycles,
    /// Instructions.
    Instructions,
    /// Misses of a cache.
    Misses,
    /// Members of a profile.
    Members,
    /// Calls of functions.
    Calls,
    /// A fraction of a whole: 0.01 is 1%.
    Share,
    /// Bytes of memory.
    Bytes,
    /// Nanoseconds of simulated time.
    Nanoseconds,
    /// A number without a unit.
    Number,
    /// The unit that the column `measure` names.
    OfMeasure,
    /// Events, or cycles where a profiler samples by time.
    EventsOrCycles,
    /// The unit that the column `unit` names.
    OfProfile,
}

impl Unit {
    /// The unit as pages and files name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Text => "text",
            Unit::Word => "word",
            Unit::Hash => "hexadecimal",
            Unit::Sha256 => "SHA-256",
            Unit::Ron => "RON",
            Unit::Address => "address",
            Unit::Events => "events",
            Unit::Cycles => "cycles",
            Unit::Instructions => "instructions",
            Unit::Misses => "misses",
            Unit::Members => "members",
            Unit::Calls => "calls",
            Unit::Share => "share",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Number => "number",
            Unit::OfMeasure => "as `measure` says",
            Unit::EventsOrCycles => "events or cycles",
            Unit::OfProfile => "as `unit` says",
        }
    }
}
