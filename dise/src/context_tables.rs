//! Tables of handlers on machines with several hardware contexts.

/// Where the handlers of each hardware context find their tables, on a machine with several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextTables {
    /// The DISE registers, in the machine's numbering, that hold addresses of tables. Those of the first context are set.
    pub registers: Vec<u8>,
    /// How much further on the tables of each next context lie, in bytes; 0: all contexts share them.
    pub stride_bytes: u64,
    /// Contexts that have tables.
    pub contexts: usize,
}
