//! Readers of the interpreters of all programs that are followed.

use std::fmt;
use std::sync::Arc;

use hps_isa::state::{SaveState, Saved, StateError, save_value};
use hps_system::interpreted::{Interpreted, Names, Reader, Turn};
use rustc_hash::FxHashMap;

/// A turn of an interpreter, with the number of instructions of the group that commit in front of it.
pub type Turned = (usize, Turn);

/// Turns of the interpreters of a program.
#[derive(Clone, Copy, Debug)]
pub struct Turns<'a> {
    /// Turns within the beat, in program order.
    pub of_beat: &'a [Turned],
    /// The names that all turns speak of.
    pub names: &'a Names,
}

/// Makes the reader of the program of a number.
pub(crate) type Make = Arc<dyn Fn(u32) -> Option<Reader> + Send + Sync>;

/// A reader for each program that has stored anything, by the number of the program.
#[derive(Clone, Default)]
pub(crate) struct Readers {
    /// `None`: no program is read.
    pub make: Option<Make>,
    all: FxHashMap<u32, Reader>,
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers")
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}

/// Readers are made again, and take their states.
impl SaveState for Readers {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Readers { make: _, all } = self;
        let mut programs: Vec<u32> = all.keys().copied().collect();
        programs.sort_unstable();
        save_value(&programs, to);
        programs.iter().for_each(|program| all[program].save_to(to));
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let programs: Vec<u32> = from.value()?;
        let mut programs = programs.into_iter();
        programs.try_for_each(|program| self.of(program).restore_from(from))
    }
}

impl Readers {
    /// The reader of a program.
    #[inline]
    pub fn of(&mut self, program: u32) -> &mut Reader {
        let make = || self.make.as_ref().and_then(|make| make(program));
        (self.all.entry(program)).or_insert_with(|| make().unwrap_or_default())
    }

    /// Whether no program has stored anything that is read.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The names of the interpreters of a program, if it has run one.
    pub fn names(&self, program: u32) -> Option<&Names> {
        let names = self.all.get(&program)?.names();
        (!names.functions().is_empty()).then_some(names)
    }

    /// The interpreters of each program of a run that is over.
    pub fn finish(self) -> FxHashMap<u32, Interpreted> {
        let all = self.all.into_iter();
        all.map(|(program, reader)| (program, reader.finish()))
            .collect()
    }
}
