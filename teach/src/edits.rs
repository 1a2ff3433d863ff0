//! Edits of registers and memory, as the lab makes them.

use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::said;
use hps_lab::{Edit as Change, PlacedEdit};

use crate::protocol::{Edit, Problem, address_of};
use crate::recorder::Recorded;
use crate::setup::bytes_of;

/// Most bytes of an edit.
const MOST_BYTES: usize = 4096;

/// Edits in the order of their places in the run.
pub(crate) fn placed(edits: &[Edit], isa: Isa) -> Result<Vec<PlacedEdit>, Problem> {
    let all = edits.iter().map(|edit| {
        Ok(PlacedEdit {
            position: edit.instructions,
            context: edit.context as usize,
            edit: change(edit, isa)?,
        })
    });
    let mut all: Vec<PlacedEdit> = all.collect::<Result<_, Problem>>()?;
    all.sort_by_key(|one| one.position);
    Ok(all)
}

fn change(edit: &Edit, isa: Isa) -> Result<Change, Problem> {
    let place = &edit.place;
    let bytes = bytes_of(&edit.bytes)
        .filter(|bytes| (1..=MOST_BYTES).contains(&bytes.len()))
        .ok_or_else(|| {
            Problem::new(said!(
                "{place}: an edit has 1 to {most} bytes, two hexadecimal digits each",
                place = place,
                most = MOST_BYTES
            ))
        })?;
    if place.starts_with("0x") {
        let addr = address_of(place)?;
        return Ok(Change::Memory {
            tid: None,
            addr,
            bytes,
        });
    }
    let number = isa.parse_register(place);
    let number = number.filter(|number| (reg::ZERO + 1..reg::DISE).contains(number));
    let number = number.ok_or_else(|| {
        Problem::new(said!(
            "`{place}` is no register that can be edited",
            place = place
        ))
    })?;
    let value = <[u8; 8]>::try_from(bytes)
        .map_err(|_| Problem::new(said!("{place}: a register has 8 bytes", place = place)))?;
    Ok(Change::Register {
        number,
        value: u64::from_le_bytes(value),
    })
}

impl Recorded {
    /// The cycle in which so many instructions of the program have committed: that of an edit behind them. `None` if the
    /// run has no further instruction.
    pub(crate) fn cycle_of_edit(&self, instructions: u64) -> Option<u64> {
        let mut program = self.commits.iter().filter(|commit| commit.is_program);
        let cycle = match instructions {
            0 => 0,
            _ => program.nth(instructions as usize - 1)?.cycle,
        };
        program.next().map(|_| cycle)
    }
}
