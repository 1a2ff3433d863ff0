//! DISE registers that belong to threads instead of hardware contexts: those by which handlers find tables that each thread
//! has of its own. The kernel gives a new thread its tables, and a context the tables of the thread that comes to it, as it
//! would for any register that it switches.

use hps_isa::hart::Hart;
use serde::{Deserialize, Serialize};

use crate::os::Linux;

/// Where the tables of threads lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTables {
    /// The DISE registers, in the machine's numbering, that hold addresses of tables. Those of the first thread are set.
    pub registers: Vec<u8>,
    /// How much further on the tables of each next thread lie, in bytes.
    pub stride_bytes: u64,
    /// Tables, at least one; all threads behind the last one share the last.
    pub count: usize,
}

/// The tables of threads, and who has which.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Given {
    tables: Option<ThreadTables>,
    /// Numbers of the threads in the order of their tables.
    owners: Vec<u32>,
    /// Values of the registers for the first thread.
    first: Vec<u64>,
}

impl Given {
    /// The registers that stay with their thread.
    pub fn registers(&self) -> &[u8] {
        self.tables.as_ref().map_or(&[], |tables| &tables.registers)
    }

    /// Gives a new thread its tables.
    pub(super) fn give(&mut self, tid: u32, hart: &mut Hart) {
        let Some(tables) = &self.tables else {
            return;
        };
        let number = self.owners.len().min(tables.count - 1);
        if self.owners.len() < tables.count {
            self.owners.push(tid);
        }
        for (&register, first) in tables.registers.iter().zip(&self.first) {
            hart.r[usize::from(register)] = first + number as u64 * tables.stride_bytes;
        }
    }
}

impl Linux {
    /// Gives each thread tables of its own from now on. `hart` and `tid` are those of the first thread, which has the
    /// first tables.
    ///
    /// # Panics
    /// Without any tables.
    pub fn set_thread_tables(&mut self, tables: ThreadTables, tid: u32, hart: &Hart) {
        assert!(tables.count > 0, "the first thread has tables");
        let value = |&register: &u8| hart.r[usize::from(register)];
        self.threads.tables = Given {
            first: tables.registers.iter().map(value).collect(),
            owners: vec![tid],
            tables: Some(tables),
        };
    }

    /// The numbers of the threads that have had tables, in the order of these; the last table may have had more.
    #[must_use]
    pub fn thread_table_owners(&self) -> &[u32] {
        &self.threads.tables.owners
    }
}
