//! Sampling of calls at yield points: a timer's handler asks for a burst of calls, which productions count in the table of
//! hot call pairs. The texts are `productions/yield_points.dise` and `productions/handlers/yield.dise`.

use hps_dise::{DataArea, ProductionSet};
use hps_profile::{CallPair, Profile};
use hps_system::process::Process;

use crate::collector::{CollectorError, call_pairs};
use crate::files;
use crate::interrupt_handlers::{InterruptHandlers, WORD, read_words};

/// The timer's handler.
#[derive(Clone, Debug)]
pub struct YieldHandler {
    handlers: InterruptHandlers,
}

impl YieldHandler {
    /// A handler that asks for `burst` calls of a program with these productions
    /// ([`YIELD_POINTS`](files::YIELD_POINTS)).
    ///
    /// # Errors
    /// [`CollectorError::NotInstalled`] for other productions.
    pub fn new(productions: &ProductionSet, burst: u32) -> Result<Self, CollectorError> {
        let wanted = area(productions, "Yield_wanted")?.address;
        let params = [("wanted", wanted as i64), ("burst", i64::from(burst))];
        Ok(YieldHandler {
            handlers: InterruptHandlers::load(files::YIELD_HANDLER, &params)?,
        })
    }

    /// Maps the handler into a process, and gives its address.
    ///
    /// # Errors
    /// [`CollectorError::Map`] if there is no memory for it.
    pub fn install(&self, process: &mut Process) -> Result<u64, CollectorError> {
        self.handlers.map_code(process, "Yield_handler")
    }
}

/// The calls that productions with the table of hot call pairs have counted, and those for which there was no room.
///
/// # Errors
/// [`CollectorError::NotInstalled`]: the productions have no such table, or it is not in the process.
pub fn counted_calls(
    productions: &ProductionSet,
    process: &Process,
) -> Result<(Profile<CallPair>, u64), CollectorError> {
    let table = area(productions, "CallPair_table")?;
    let words = read_words(&process.mem, table.address, table.size / WORD)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Ok(call_pairs(&bytes, None))
}

fn area<'a>(productions: &'a ProductionSet, name: &str) -> Result<&'a DataArea, CollectorError> {
    let found = productions.data_areas().iter().find(|a| a.name == name);
    found.ok_or(CollectorError::NotInstalled { addr: 0 })
}
