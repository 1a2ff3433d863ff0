//! Beats: the events of a core put together, so that each cycle has an owner.
//!
//! A core tells of stretches without a commit and of commits one by one. Who owns a stretch is known only when
//! the next instruction commits: the oldest instruction of an empty window is the next one to commit, wherever
//! fetch was on its way at the time. A [`Beat`] is therefore the cycles behind one group of commits up to and
//! including the next group.

use std::sync::Arc;

use hps_isa::ids::DisePc;
use hps_isa::inst::OpClass;
use hps_isa::memory::Memory;
use hps_isa::probe::Probe;
use hps_pipeline::core::{
    Cause, Commit, ContextId, EventSet, FlushReason, Origin, PipelineProbe, Squash, State, Stored,
    Stretch, TrapTaken,
};
use hps_system::interpreted::{Interpreted, Reader, Store};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub use crate::observer::Observer;
use crate::readers::Readers;
pub use crate::readers::{Turned, Turns};

/// A static instruction: its address and its position in an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Address, that of the trigger inside an expansion.
    pub pc: u64,
    /// Position in an expansion; [`DisePc::NONE`] for the program's own instruction.
    pub disepc: DisePc,
}

impl Key {
    /// The program's own instruction at an address.
    #[must_use]
    pub fn of_program(pc: u64) -> Key {
        Key {
            pc,
            disepc: DisePc::NONE,
        }
    }
}

/// An instruction that has committed or trapped, and what happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Which.
    pub key: Key,
    /// Origin of the instruction.
    pub origin: Origin,
    /// Events of the instruction.
    pub events: EventSet,
}

hps_isa::save_values!(Key, Past);

/// Consecutive cycles: stretches in which nothing commits, and then one cycle in which a group commits.
#[derive(Clone, Copy, Debug)]
pub struct Beat<'a> {
    /// The stretches in the order of time, without a gap.
    pub idle: &'a [Stretch],
    /// The instructions that commit in the last cycle, in program order. None if the beat ends with a trap or
    /// with the run; the last cycle is then that of the last stretch.
    pub group: &'a [Commit],
    /// The instruction that committed last before the beat, or trapped there.
    pub last: Option<Past>,
    /// The instruction to which stalled and drained cycles belong: the first of the group, or the one that
    /// traps. At the end of a run, the one that the core names as the next.
    pub next: Key,
    /// Events of the next instruction if it does not commit.
    pub trapped: EventSet,
    /// Squashes since the previous beat. The instruction-driven core reports a squash no earlier than the commit of the
    /// instruction in front of the wrong path.
    pub squashes: &'a [Squash],
    /// The last cycle.
    pub end_cycle: u64,
    /// Turns of interpreters, if the program has run one.
    pub turns: Option<Turns<'a>>,
}

impl Beat<'_> {
    /// The first cycle.
    #[must_use]
    pub fn first_cycle(&self) -> u64 {
        self.idle.first().map_or(self.end_cycle, |s| s.first_cycle)
    }

    /// The instruction that a stretch of this beat belongs to, and what happened to it.
    #[inline]
    #[must_use]
    pub fn owner(&self, state: State) -> Past {
        let told = self.told_by(state);
        let owner = match state {
            State::Flushed(FlushReason::Serialization) if self.enters_interrupt() => None,
            State::Flushed(FlushReason::Misprediction | FlushReason::Serialization) => self.last,
            State::Flushed(FlushReason::Replay) | State::Stalled(_) | State::Drained(_) => None,
        };
        let owner = owner.unwrap_or_else(|| Past {
            key: self.next,
            origin: self.next_origin(),
            events: self.next_events(),
        });
        Past {
            events: owner.events.with(told),
            ..owner
        }
    }

    /// Whether an interrupt is taken in front of the group: the handler of an interrupt is the only one that
    /// comes behind an instruction of the program itself. The handler owns the cycles of its entry.
    #[must_use]
    pub fn enters_interrupt(&self) -> bool {
        self.next_origin() == Origin::Handler
            && self.last.is_some_and(|last| last.origin == Origin::Program)
    }

    fn next_origin(&self) -> Origin {
        self.group.first().map_or(Origin::Program, |c| c.origin)
    }

    /// Events of the next instruction: those of its commit, and those that the front-end reports in the stretches in
    /// front of it.
    #[inline]
    #[must_use]
    pub fn next_events(&self) -> EventSet {
        let mut events = self
            .group
            .first()
            .map_or(self.trapped, |first| first.events);
        for stretch in self.idle {
            if !matches!(
                stretch.state,
                State::Flushed(FlushReason::Misprediction | FlushReason::Serialization)
            ) {
                events = events.with(self.told_by(stretch.state));
            }
        }
        events
    }

    /// Events that a stretch implies for the instruction to which its cycles belong. In the cycle in which dispatch
    /// finds a place again, the core does not tell a store that waited from an instruction that serializes.
    fn told_by(&self, state: State) -> EventSet {
        let told = EventSet::of_stretch(state);
        let serializes = || {
            let first = self.group.first();
            first.is_none_or(|c| {
                matches!(
                    c.class,
                    OpClass::Syscall
                        | OpClass::FenceI
                        | OpClass::Csr
                        | OpClass::Atomic
                        | OpClass::DiseDrain
                )
            })
        };
        match state {
            State::Drained(Cause::Serialize) if !serializes() => EventSet::NONE,
            _ => told,
        }
    }

    /// The stretch that holds a cycle of this beat; none holds the cycle in which the group commits.
    #[must_use]
    pub fn stretch_at(&self, cycle: u64) -> Option<&Stretch> {
        let after = self.idle.partition_point(|s| s.first_cycle <= cycle);
        let stretch = &self.idle[after.checked_sub(1)?];
        (cycle < stretch.end_cycle()).then_some(stretch)
    }
}

/// The programs of a run that an observer sees beats of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Followed {
    /// The one with this number.
    One(u32),
    /// All of them.
    All,
}

/// A probe that puts beats together for an observer. It follows one of the programs that processes run, or all.
#[derive(Clone, Debug)]
pub struct Beats<O> {
    observer: O,
    followed: Followed,
    /// By hardware context; they are of one core each.
    contexts: Vec<Parts>,
    /// The context of the last event.
    here: usize,
    readers: Readers,
}

hps_isa::save_state! {
    impl[O: hps_isa::state::SaveState] Beats<O> {
        observer, followed: same, contexts: list, here, readers,
    }
}

/// The parts of the next beat of a context.
#[derive(Clone, Debug, Default)]
struct Parts {
    idle: Vec<Stretch>,
    group: Vec<Commit>,
    squashes: Vec<Squash>,
    turns: Vec<Turned>,
    /// The program of these turns. They wait for its next beat here, or until another program has turns.
    turns_of: u32,
    last: Option<Past>,
    /// The program that committed or trapped last; 0: none yet.
    program: u32,
    /// `last` of other programs that are followed, by their numbers.
    others: FxHashMap<u32, Past>,
}

hps_isa::save_state! {
    Parts { idle, group, squashes, turns, turns_of, last, program, others }
}

impl<O: Observer> Beats<O> {
    /// A probe for an observer, to be attached before the first cycle.
    pub fn new(observer: O) -> Self {
        Beats {
            observer,
            followed: Followed::One(1),
            contexts: vec![Parts::default()],
            here: 0,
            readers: Readers::default(),
        }
    }

    /// Follows the program of this number instead of the first one: see
    /// [`Linux::program_number`](hps_system::os::Linux::program_number).
    #[must_use]
    pub fn following(mut self, program: u32) -> Self {
        self.followed = Followed::One(program);
        self
    }

    /// Follows all programs: the observer is told which one [a beat is of](Observer::turn_to_program).
    #[must_use]
    pub fn following_all(mut self) -> Self {
        self.followed = Followed::All;
        self
    }

    /// Tells the observer of turns of the interpreters that readers find. `make` makes the reader of the program of a
    /// number; `None`: it has no interpreter.
    #[must_use]
    pub fn reading(mut self, make: impl Fn(u32) -> Option<Reader> + Send + Sync + 'static) -> Self {
        self.readers.make = Some(Arc::new(make));
        self
    }

    /// The observer, which has seen all cycles of a run that is over.
    pub fn finish(self) -> O {
        self.finish_reading().0
    }

    /// Shows all cycles so far to an observer that has seen all beats so far, as [`finish`](Self::finish) does in the end:
    /// a copy of this one's, or of a part of it.
    pub fn so_far<Q: Observer>(&self, copy: impl FnOnce(&O) -> Q) -> Q {
        let copied = Beats {
            observer: copy(&self.observer),
            followed: self.followed,
            contexts: self.contexts.clone(),
            here: self.here,
            readers: Readers::default(),
        };
        copied.finish()
    }

    /// The observer, while the run goes on.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, which has seen all cycles of a run that is over, and the interpreters of each program that was read.
    pub fn finish_reading(mut self) -> (O, FxHashMap<u32, Interpreted>) {
        let followed = self.followed;
        for context in 0..self.contexts.len() {
            self.turn_to(context);
            let parts = &mut self.contexts[context];
            parts.end_group(followed, &mut self.observer, &self.readers);
            if let Some(stretch) = parts.idle.last() {
                let next = Key::of_program(stretch.next_pc);
                let program = parts.program.max(1);
                let is_followed = parts.turn_to(program, followed, &mut self.observer);
                parts.end_idle(is_followed, &mut self.observer, next, EventSet::NONE);
            }
        }
        (self.observer, self.readers.finish())
    }

    /// The parts of the context in which something happens.
    #[inline(always)]
    fn at(&mut self, context: ContextId) -> (&mut Parts, &mut O, &Readers) {
        let number = usize::from(context.processor);
        if number != self.here {
            self.turn_to(number);
        }
        let parts = &mut self.contexts[number];
        (parts, &mut self.observer, &self.readers)
    }

    #[cold]
    fn turn_to(&mut self, context: usize) {
        if context >= self.contexts.len() {
            self.contexts.resize_with(context + 1, Parts::default);
        }
        if context != self.here {
            self.here = context;
            self.observer.turn_to(context);
        }
    }
}

impl Parts {
    /// The next beat is of this program. Returns whether it is followed.
    #[inline(always)]
    fn turn_to<O: Observer>(&mut self, program: u32, followed: Followed, observer: &mut O) -> bool {
        match followed {
            Followed::One(one) => {
                self.program = program;
                program == one
            }
            Followed::All => {
                self.turn_to_any(program, observer);
                true
            }
        }
    }

    #[inline(never)]
    fn turn_to_any<O: Observer>(&mut self, program: u32, observer: &mut O) {
        if program != self.program {
            let before = std::mem::replace(&mut self.program, program);
            let last = std::mem::replace(&mut self.last, self.others.remove(&program));
            self.others.extend(last.map(|last| (before, last)));
        }
        observer.turn_to_program(program);
    }

    /// The turns of the next beat, which is of this program.
    #[inline(never)]
    fn turns<'a>(&'a self, program: u32, readers: &'a Readers) -> Option<Turns<'a>> {
        let of_beat = match self.turns_of == program {
            true => &self.turns[..],
            false => &[],
        };
        let names = readers.names(program)?;
        Some(Turns { of_beat, names })
    }

    /// The group that has committed is complete.
    #[inline]
    fn end_group<O: Observer>(&mut self, followed: Followed, observer: &mut O, readers: &Readers) {
        let (Some(first), Some(last)) = (self.group.first(), self.group.last()) else {
            return;
        };
        let past = Past {
            key: key_of(last),
            origin: last.origin,
            events: last.events,
        };
        let (program, end_cycle, next) = (first.program, first.cycle, key_of(first));
        let is_followed = self.turn_to(program, followed, observer);
        let beat = Beat {
            idle: &self.idle,
            group: &self.group,
            last: self.last,
            next,
            trapped: EventSet::NONE,
            squashes: &self.squashes,
            end_cycle,
            turns: match readers.is_empty() {
                true => None,
                false => self.turns(program, readers),
            },
        };
        if is_followed {
            observer.beat(&beat);
            self.last = Some(past);
        } else {
            observer.elsewhere(&beat);
        }
        self.idle.clear();
        if !self.squashes.is_empty() {
            // A core may tell of a squash before it tells of the cycles in front of it.
            self.squashes.retain(|s| s.cycle > end_cycle);
        }
        self.group.clear();
        if !self.turns.is_empty() && self.turns_of == program {
            self.turns.clear();
        }
    }

    /// The stretches behind the last group end without a group.
    fn end_idle<O: Observer>(
        &mut self,
        is_followed: bool,
        observer: &mut O,
        next: Key,
        trapped: EventSet,
    ) {
        let Some(stretch) = self.idle.last() else {
            return;
        };
        let beat = Beat {
            idle: &self.idle,
            group: &[],
            last: self.last,
            next,
            trapped,
            squashes: &self.squashes,
            end_cycle: stretch.end_cycle() - 1,
            turns: None,
        };
        match is_followed {
            true => observer.beat(&beat),
            false => observer.elsewhere(&beat),
        }
        self.idle.clear();
        self.squashes.clear();
    }
}

/// The static instruction that commits.
#[must_use]
#[inline]
pub fn key_of(commit: &Commit) -> Key {
    Key {
        pc: commit.pc,
        disepc: commit.disepc,
    }
}

impl<O: Observer> Probe for Beats<O> {
    const KNOWS_PROGRAMS: bool = true;
}

impl<O: Observer> PipelineProbe for Beats<O> {
    const WANTS_CYCLES: bool = true;
    const WANTS_STORES: bool = true;

    fn wants_stores(&self) -> bool {
        self.readers.make.is_some()
    }

    fn stand_in(&self) -> Option<Self> {
        Some(Beats {
            followed: self.followed,
            ..Beats::new(self.observer.stand_in()?)
        })
    }

    #[inline]
    fn stretch(&mut self, stretch: &Stretch) {
        let followed = self.followed;
        let (parts, observer, readers) = self.at(stretch.context);
        if !parts.group.is_empty() {
            parts.end_group(followed, observer, readers);
        }
        parts.idle.push(*stretch);
    }

    #[inline]
    fn committed(&mut self, commit: &Commit) {
        let followed = self.followed;
        let (parts, observer, readers) = self.at(commit.context);
        if parts
            .group
            .first()
            .is_some_and(|first| first.cycle != commit.cycle)
        {
            parts.end_group(followed, observer, readers);
        }
        parts.group.push(*commit);
    }

    #[inline]
    fn stored(&mut self, stored: &Stored, memory: &Memory) {
        if let Followed::One(one) = self.followed
            && one != stored.program
        {
            return;
        }
        let store = Store {
            addr: stored.addr,
            size: stored.size,
            value: stored.value,
        };
        if let Some(turn) = self.readers.of(stored.program).stored(store, memory) {
            let (parts, ..) = self.at(stored.context);
            if parts.turns_of != stored.program {
                parts.turns_of = stored.program;
                parts.turns.clear();
            }
            parts.turns.push((parts.group.len(), turn));
        }
    }

    fn squashed(&mut self, squash: &Squash) {
        let (parts, ..) = self.at(squash.context);
        parts.squashes.push(*squash);
    }

    fn trapped(&mut self, trap: &TrapTaken) {
        let followed = self.followed;
        let (parts, observer, readers) = self.at(trap.context);
        parts.end_group(followed, observer, readers);
        let is_followed = parts.turn_to(trap.program, followed, observer);
        let key = Key {
            pc: trap.pc,
            disepc: trap.disepc,
        };
        parts.end_idle(is_followed, observer, key, EventSet::TRAPPED);
        if !is_followed {
            return;
        }
        parts.last = Some(Past {
            key,
            origin: Origin::Program,
            events: EventSet::TRAPPED,
        });
        observer.trap(trap);
    }
}
