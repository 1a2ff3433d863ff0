//! Requests for lines that several cores keep coherent, one by one, for somebody who watches. Nothing is noted unless
//! [`SharedMemory::record_transactions`] is called.

use super::coherence::Want;
use super::{CoreId, Level, SharedMemory};

/// Most transactions that are kept.
const MOST: usize = 100_000;

/// An action of a core on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionKind {
    /// The core asks for the line to fetch instructions.
    Fetch,
    /// The core asks for the line to read it.
    Read,
    /// The core asks for the line to write it, or for the right to write what it has.
    Write,
    /// The core writes a line that it has alone, for the first time: nobody is asked.
    Change,
    /// The core's caches drop the line.
    Drop,
}

/// Who has a line, as the directory knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// A bit for each core.
    pub cores: u64,
    /// The only core may write it.
    pub is_exclusive: bool,
    /// That core has written it.
    pub is_changed: bool,
}

impl Copies {
    /// The letter of a core's state: modified, exclusive, shared, or invalid.
    #[must_use]
    pub fn letter(self, core: CoreId) -> char {
        match (self.cores >> core.0 & 1, self.is_exclusive, self.is_changed) {
            (0, ..) => 'I',
            (_, true, true) => 'M',
            (_, true, false) => 'E',
            _ => 'S',
        }
    }
}

/// A request with the cycles of its parts, as the model has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The address of the line's first byte.
    pub address: u64,
    /// The core that asks.
    pub core: CoreId,
    /// The action.
    pub kind: TransactionKind,
    /// The cycle in which the request is at the directory, or waits for the snoop bus.
    pub asked_cycle: u64,
    /// The cycle in which it has been on the snoop bus; that of the request where there is none.
    pub granted_cycle: u64,
    /// The cycle in which the line's transfer before it has ended: other cores hear of it.
    pub started_cycle: u64,
    /// The cycle of the answer: other cores have given the line up or away.
    pub answered_cycle: u64,
    /// The cycle in which the whole line, or the right to write it, is at the core.
    pub arrived_cycle: Option<u64>,
    /// Where the line comes from; none of a right to write.
    pub source: Option<Level>,
    /// The core that sends the line.
    pub owner: Option<CoreId>,
    /// The owner's changed line goes to the shared levels, too.
    pub is_written_back: bool,
    /// Cores that lose the line, as bits.
    pub losers: u64,
    /// Up to this cycle an owner that loses the line, or keeps it for reading, may still store into it.
    pub kept_until_cycle: u64,
    /// Holders of the line before.
    pub before: Copies,
    /// Holders of the line behind.
    pub after: Copies,
}

/// Transactions in the order in which the model decides them.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// Addresses here are numbers of lines.
    noted: Vec<Transaction>,
    left_out: u64,
}

impl Journal {
    pub fn note(&mut self, transaction: Transaction) {
        match self.noted.len() < MOST {
            true => self.noted.push(transaction),
            false => self.left_out += 1,
        }
    }

    /// A state that changes without a request.
    pub fn note_quiet(
        &mut self,
        (core, line): (CoreId, u64),
        kind: TransactionKind,
        cycle: u64,
        (before, after): (Copies, Copies),
    ) {
        self.note(Transaction {
            address: line,
            core,
            kind,
            asked_cycle: cycle,
            granted_cycle: cycle,
            started_cycle: cycle,
            answered_cycle: cycle,
            arrived_cycle: None,
            source: None,
            owner: None,
            is_written_back: false,
            losers: 0,
            kept_until_cycle: cycle,
            before,
            after,
        });
    }

    /// A core has fetched from a line and keeps no copy.
    pub fn forgets(&mut self, core: CoreId, line: u64) {
        if let Some(last) = self.noted.last_mut()
            && last.kind == TransactionKind::Fetch
            && (last.core, last.address) == (core, line)
        {
            last.after.cores &= !(1 << core.0);
        }
    }

    /// A core has what it has asked for last.
    pub fn arrives(&mut self, core: CoreId, line: u64, cycle: u64, source: Option<Level>) {
        let own = |one: &&mut Transaction| one.core == core && one.address == line;
        let mut latest = self.noted.iter_mut().rev().take(256);
        if let Some(one) = latest.find(own)
            && one.arrived_cycle.is_none()
            && !matches!(one.kind, TransactionKind::Change | TransactionKind::Drop)
        {
            one.arrived_cycle = Some(cycle);
            one.source = source;
        }
    }
}

impl From<Want> for TransactionKind {
    fn from(want: Want) -> Self {
        match want {
            Want::Fetch => TransactionKind::Fetch,
            Want::Read => TransactionKind::Read,
            Want::Write => TransactionKind::Write,
        }
    }
}

impl SharedMemory {
    /// Notes from now on what cores ask of each other. Nothing on a chip with one core.
    pub fn record_transactions(&mut self) {
        if let Some(coherence) = &mut self.coherence {
            coherence.journal = Some(Box::default());
        }
    }

    /// The transactions in the order in which the model decided them, and the number of those that were too many to be
    /// kept; none unless they were [noted](Self::record_transactions).
    #[must_use]
    pub fn transactions(&self) -> (Vec<Transaction>, u64) {
        let journal = self.coherence.as_ref();
        let Some(journal) = journal.and_then(|coherence| coherence.journal.as_ref()) else {
            return (Vec::new(), 0);
        };
        let noted = journal.noted.iter().map(|one| Transaction {
            address: one.address << self.line_shift,
            ..*one
        });
        (noted.collect(), journal.left_out)
    }
}
