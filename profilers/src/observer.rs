//! Observers of beats.

use hps_pipeline::core::TrapTaken;

use crate::beat::Beat;

/// Watches beats.
pub trait Observer {
    /// The next beat. Every cycle of the run lies in exactly one.
    fn beat(&mut self, beat: &Beat<'_>);

    /// A beat of another program than the one that is followed.
    fn elsewhere(&mut self, beat: &Beat<'_>) {
        let _ = beat;
    }

    /// The instruction that owns the last beat traps: it does not commit.
    fn trap(&mut self, trap: &TrapTaken) {
        let _ = trap;
    }

    /// Switches to another program, the one with this number. Told where all programs are followed, in front of each beat.
    fn turn_to_program(&mut self, program: u32) {
        let _ = program;
    }

    /// Switches to another hardware context, the one with this number.
    fn turn_to(&mut self, context: usize) {
        let _ = context;
    }

    /// Stand-in for this observer where it is lent to another context; it receives no events. `None`: the observer can
    /// watch one context only.
    fn stand_in(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn beat(&mut self, beat: &Beat<'_>) {
        self.0.beat(beat);
        self.1.beat(beat);
    }
    fn elsewhere(&mut self, beat: &Beat<'_>) {
        self.0.elsewhere(beat);
        self.1.elsewhere(beat);
    }
    fn trap(&mut self, trap: &TrapTaken) {
        self.0.trap(trap);
        self.1.trap(trap);
    }
    fn turn_to(&mut self, context: usize) {
        self.0.turn_to(context);
        self.1.turn_to(context);
    }
    fn stand_in(&self) -> Option<Self> {
        Some((self.0.stand_in()?, self.1.stand_in()?))
    }
}

impl<O: Observer> Observer for Option<O> {
    #[inline]
    fn beat(&mut self, beat: &Beat<'_>) {
        if let Some(observer) = self {
            observer.beat(beat);
        }
    }
    fn elsewhere(&mut self, beat: &Beat<'_>) {
        if let Some(observer) = self {
            observer.elsewhere(beat);
        }
    }
    fn trap(&mut self, trap: &TrapTaken) {
        if let Some(observer) = self {
            observer.trap(trap);
        }
    }
    fn turn_to(&mut self, context: usize) {
        if let Some(observer) = self {
            observer.turn_to(context);
        }
    }
    fn stand_in(&self) -> Option<Self> {
        self.as_ref()
            .map_or(Some(None), |o| Some(Some(o.stand_in()?)))
    }
}
