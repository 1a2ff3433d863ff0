//! Events of the counters that programs read (`hpmcounter`), and whose events they are.

use crate::config::MachineConfig;
use crate::memsys::MemoryStats;

use super::{Event, UnknownEvent};

/// The counters that a machine selects for programs.
///
/// # Errors
/// The first one that is wrong, and why.
pub(crate) fn selected(machine: &MachineConfig) -> Result<Box<[Selection]>, String> {
    let processors = machine.chip.processors() as usize;
    let parsed = machine.counters.selected.0.iter().map(|text| {
        let why = match Selection::parse(text) {
            Ok(Selection::Processor(_, number)) if number >= processors => {
                format!(
                    "there is no processor {number}; allowed: up to {}",
                    processors - 1
                )
            }
            Ok(selection) => return Ok(selection),
            Err(why) => why,
        };
        Err(format!("`counters.selected` has `{text}`: {why}"))
    });
    parsed.collect()
}

/// Event of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// An event of the context that reads.
    Own(Event),
    /// An event of all contexts of its core.
    Core(Event),
    /// An event of a processor of the chip.
    Processor(Event, usize),
    /// An event of the memory system of its core: its name among [`MemoryStats::entries`].
    Memory(&'static str),
}

impl Selection {
    /// Reads `EVENT`, `EVENT of core` or `EVENT of processor N`.
    ///
    /// # Errors
    /// The problem, in words.
    pub fn parse(text: &str) -> Result<Selection, String> {
        let (name, of) = match text.split_once(" of ") {
            None => (text, None),
            Some((name, of)) => (name, Some(of)),
        };
        let known = MemoryStats::names()
            .into_iter()
            .find(|known| *known == name);
        if let Some(name) = known {
            return match of {
                None | Some("core") => Ok(Selection::Memory(name)),
                Some(other) => Err(format!("`{name}` is an event of a core, not of `{other}`")),
            };
        }
        let event = Event::named(name).map_err(|UnknownEvent { name }| {
            format!(
                "no event is called `{name}`; `cycles`, `instructions` and every counter of a timed run are events"
            )
        })?;
        match of {
            None => Ok(Selection::Own(event)),
            Some("core") => Ok(Selection::Core(event)),
            Some(of) => match of.strip_prefix("processor ").map(str::parse) {
                Some(Ok(number)) => Ok(Selection::Processor(event, number)),
                _ => Err(format!(
                    "`{of}` is nobody's; allowed: `core`, `processor N`, or nothing for the context that reads"
                )),
            },
        }
    }
}
