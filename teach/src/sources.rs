//! Dependences between instructions of the time line.

use hps_isa::inst::reg;

use crate::protocol::SourceView;
use crate::recorder::{Kept, NEVER, Recorded};
use crate::session::Session;
use crate::step::Step;

/// Rows that are searched for the producer of a value. Windows of the machines have fewer entries.
const REACH: usize = 4096;

impl Session {
    /// Older instructions in flight whose results a row reads: the last writer of each source register on the row's
    /// path, and the store that a load gets its value from.
    pub(crate) fn sources(&self, recorded: &Recorded, at: usize) -> Vec<SourceView> {
        let row = &recorded.rows[at];
        let mut wanted: Vec<u8> = [row.inst.rs1, row.inst.rs2, row.inst.rs3].to_vec();
        wanted.retain(|&register| register != reg::ZERO);
        wanted.sort_unstable();
        wanted.dedup();
        let mut cell = recorded.forwarded_from(row);
        let mut found = Vec::new();
        for older in (at.saturating_sub(REACH)..at).rev() {
            if (wanted.is_empty() && cell.is_none()) || recorded.last_end(older) < row.fetch {
                break;
            }
            let one = &recorded.rows[older];
            if !is_before(one, row) {
                continue;
            }
            if let Some(place) = wanted.iter().position(|&register| register == one.inst.rd) {
                let register = wanted.swap_remove(place);
                if one.end >= row.fetch {
                    found.push(self.source(recorded, older, self.isa().register_name(register)));
                }
            }
            if cell.is_some_and(|cell| recorded.writes(one, cell)) {
                cell = None;
                if one.end >= row.fetch {
                    found.push(self.source(recorded, older, "memory"));
                }
            }
        }
        found.sort_by_key(|source| source.row);
        found
    }

    fn source(&self, recorded: &Recorded, at: usize, register: &str) -> SourceView {
        let row = &recorded.rows[at];
        SourceView {
            row: at as u64,
            register: register.to_owned(),
            text: self.isa().disassemble(&row.inst, row.pc),
            ready: match Step::of(&self.ready().machine) {
                Some(step) => step.ready(recorded, at),
                None => (row.complete != NEVER && row.issue != NEVER).then_some(row.complete),
            },
        }
    }
}

/// Whether `one` is an older instruction on the path of `row`: a wrong path is on the path of what was fetched before
/// it was squashed.
fn is_before(one: &Kept, row: &Kept) -> bool {
    one.context == row.context
        && one.seq < row.seq
        && one.dispatch != NEVER
        && (!one.squashed || (row.squashed && one.end >= row.fetch))
}
