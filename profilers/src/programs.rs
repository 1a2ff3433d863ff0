//! The exact profile of each program of a run, of one pass.

use std::fmt;
use std::sync::Arc;

use crate::beat::{Beat, Observer};
use crate::oracle::{ExactProfile, Oracle};
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use hps_pipeline::core::TrapTaken;

/// Makes the oracle of the program of a number.
type Make = Arc<dyn Fn(u32) -> Oracle + Send + Sync>;

/// An oracle for each program of a run, by the number of the program. Each is told what it would be told if
/// [`Beats`](crate::Beats) followed its program alone, but for the cycles elsewhere.
#[derive(Clone)]
pub struct Programs {
    make: Make,
    all: Vec<Option<Box<Oracle>>>,
    /// The place in `all` of the program whose beats come.
    here: usize,
    /// The hardware context of the beats.
    context: usize,
    /// Where each oracle has been told that it is.
    contexts: Vec<usize>,
}

impl SaveState for Programs {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Programs {
            make: _,
            all,
            here,
            context,
            contexts,
        } = self;
        let are_there: Vec<bool> = all.iter().map(Option::is_some).collect();
        save_value(&(here, context, contexts, are_there), to);
        all.iter().flatten().for_each(|oracle| oracle.save_to(to));
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let are_there: Vec<bool>;
        (self.here, self.context, self.contexts, are_there) = from.value()?;
        self.all.clear();
        for (program, is_there) in (1..).zip(are_there) {
            let mut oracle = is_there.then(|| Box::new((self.make)(program)));
            if let Some(oracle) = &mut oracle {
                oracle.restore_from(from)?;
            }
            self.all.push(oracle);
        }
        Ok(())
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Programs")
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}

impl Programs {
    /// Oracles that `make` makes when their programs begin, to be told by
    /// [`Beats::following_all`](crate::Beats::following_all).
    pub fn new(make: impl Fn(u32) -> Oracle + Send + Sync + 'static) -> Programs {
        Programs::of(Arc::new(make))
    }

    fn of(make: Make) -> Programs {
        Programs {
            make,
            all: Vec::new(),
            here: 0,
            context: 0,
            contexts: Vec::new(),
        }
    }

    /// The profiles, by the numbers of the programs from 1 on; `None` of a program of which nothing has committed.
    /// Idle cycles are those of all.
    #[must_use]
    pub fn finish(self) -> Vec<Option<ExactProfile>> {
        let all = self.all.into_iter();
        let mut all: Vec<Option<ExactProfile>> = all.map(|one| Some(one?.finish())).collect();
        let cycles: u64 = all.iter().flatten().map(|one| one.cycles).sum();
        let idle: u64 = all.iter().flatten().map(|one| one.idle_cycles).sum();
        for one in all.iter_mut().flatten() {
            one.other_cycles = cycles - one.cycles;
            one.idle_cycles = idle;
        }
        all
    }

    fn current(&mut self) -> Option<&mut Oracle> {
        self.all.get_mut(self.here)?.as_deref_mut()
    }

    #[cold]
    fn begin(&mut self) {
        let most = self.all.len().max(self.here + 1);
        self.all.resize_with(most, || None);
        self.contexts.resize(most, 0);
        let make = || Box::new((self.make)(self.here as u32 + 1));
        let oracle = self.all[self.here].get_or_insert_with(make);
        if self.contexts[self.here] != self.context {
            self.contexts[self.here] = self.context;
            oracle.turn_to(self.context);
        }
    }
}

impl Observer for Programs {
    #[inline]
    fn beat(&mut self, beat: &Beat<'_>) {
        if let Some(oracle) = self.current() {
            oracle.beat(beat);
        }
    }

    fn trap(&mut self, trap: &TrapTaken) {
        if let Some(oracle) = self.current() {
            oracle.trap(trap);
        }
    }

    #[inline]
    fn turn_to_program(&mut self, program: u32) {
        self.here = program as usize - 1;
        let is_there = self.all.get(self.here).is_some_and(Option::is_some);
        if !is_there || self.contexts[self.here] != self.context {
            self.begin();
        }
    }

    fn turn_to(&mut self, context: usize) {
        self.context = context;
    }

    fn stand_in(&self) -> Option<Self> {
        Some(Programs::of(Arc::clone(&self.make)))
    }
}
