//! The pieces of work of a run, in the order in which it does them.

use std::collections::HashMap;

use hps_lab::Program;
use hps_pipeline::core::CoreKind;

use super::cost;

/// A piece of work, as the run that does it tells of it.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// Id of its record.
    pub id: &'a str,
    /// Name of the piece, for people.
    pub name: String,
    /// Program of the piece: the index that [`Agenda::program`] gave.
    pub program: u32,
    /// Machine of the piece: the index that [`Agenda::machine`] gave.
    pub machine: u32,
    /// Time that the piece takes.
    pub effort: Effort,
    /// State of the piece.
    pub state: State,
}

/// State of a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The piece has not been tried, or its result was lost.
    Missing,
    /// The piece is done.
    Done,
    /// The piece failed, for this reason.
    Failed(Box<str>),
}

impl State {
    /// Of a piece with this record, if there is one.
    pub(crate) fn of<R: crate::store::Record>(record: Option<&R>) -> State {
        match record.map(|record| record.failure()) {
            None => State::Missing,
            Some(None) => State::Done,
            Some(Some(why)) => State::Failed(why.into()),
        }
    }
}

/// The time that a piece of work takes, in nanoseconds of one processor for each instruction of its program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// By itself.
    pub own: f64,
    /// Beside that, for instructions at the beginning only: how many, and their nanoseconds.
    pub first: Option<(u64, f64)>,
    /// For what all pieces need that have the same program; 0 if nothing.
    pub of_program: f64,
    /// For what all pieces need that have the same program and machine; 0 if nothing.
    pub on_machine: f64,
}

impl Effort {
    /// Functional passes with samplers and exact counts, and timed runs on a core.
    #[must_use]
    pub fn runs(passes: f64, timed: f64, core: CoreKind) -> Effort {
        Effort {
            own: passes * cost::PASS + timed * cost::timed(core),
            ..Effort::default()
        }
    }

    /// Also times so many instructions from the beginning, in so many runs.
    #[must_use]
    pub fn and_first(self, instructions: u64, runs: f64, core: CoreKind) -> Effort {
        Effort {
            first: Some((instructions, runs * cost::timed(core))),
            ..self
        }
    }

    /// Also needs exact counts of the whole program, like other pieces.
    #[must_use]
    pub fn beside_exact(self) -> Effort {
        Effort {
            of_program: cost::PASS,
            ..self
        }
    }

    /// Also needs the run of its program that nothing disturbs, like other pieces.
    #[must_use]
    pub fn beside_undisturbed(self, core: CoreKind) -> Effort {
        Effort {
            on_machine: cost::timed(core),
            ..self
        }
    }
}

/// A piece of work on the agenda.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Id of its record.
    pub id: Box<str>,
    /// Name of the piece, for people.
    pub name: Box<str>,
    /// Index into [`Agenda::programs`].
    pub program: u32,
    /// Nanoseconds of one processor for each instruction of the program.
    pub nanoseconds: f64,
    /// Beside that, for instructions at the beginning only: how many, and their nanoseconds.
    pub first: Option<(u64, f64)>,
    /// Indices into [`Agenda::shared`].
    pub needs: [Option<u32>; 2],
    /// State of the piece.
    pub state: State,
}

/// Work that several pieces need, and that each part of a run does once if it has one of these pieces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// Index into [`Agenda::programs`].
    pub program: u32,
    /// Nanoseconds of one processor for each instruction of the program.
    pub nanoseconds: f64,
}

/// All pieces of work of a run, done or not.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// The pieces, in the order in which the run does them.
    pub pieces: Vec<Piece>,
    /// The programs.
    pub programs: Vec<Program>,
    /// Names of machines with their descriptions in RON, which leave the name out.
    pub machines: Vec<(String, String)>,
    /// Work that several pieces need.
    pub shared: Vec<Shared>,
    known_programs: HashMap<String, u32>,
    known_shared: HashMap<(u32, Option<u32>), u32>,
}

impl Agenda {
    /// The index of a program, which is added if it is new.
    pub fn program(&mut self, program: &Program) -> u32 {
        let key = format!("{} {}", program.name, program.determined_by());
        let next = self.programs.len() as u32;
        let programs = &mut self.programs;
        *self.known_programs.entry(key).or_insert_with(|| {
            programs.push(program.clone());
            next
        })
    }

    /// The index of a machine, which is added if it is new.
    pub fn machine(&mut self, name: &str, text: String) -> u32 {
        let known = |(n, t): &(String, String)| n == name && *t == text;
        let at = self.machines.iter().position(known).unwrap_or_else(|| {
            self.machines.push((name.to_string(), text));
            self.machines.len() - 1
        });
        at as u32
    }

    /// Adds a piece of work.
    pub fn offer(&mut self, offer: Offer<'_>) {
        let effort = offer.effort;
        let of_program = self.shared(offer.program, None, effort.of_program);
        let on_machine = self.shared(offer.program, Some(offer.machine), effort.on_machine);
        self.pieces.push(Piece {
            id: offer.id.into(),
            name: offer.name.into(),
            program: offer.program,
            nanoseconds: effort.own,
            first: effort.first,
            needs: [of_program, on_machine],
            state: offer.state,
        });
    }

    fn shared(&mut self, program: u32, machine: Option<u32>, nanoseconds: f64) -> Option<u32> {
        if nanoseconds == 0.0 {
            return None;
        }
        let next = self.shared.len() as u32;
        let at = *self.known_shared.entry((program, machine)).or_insert(next);
        if at == next {
            self.shared.push(Shared {
                program,
                nanoseconds,
            });
        }
        Some(at)
    }

    /// Pieces that are not done: missing and failed ones.
    pub fn open(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(|p| p.state != State::Done)
    }

    /// Whether nothing is missing; what failed is not.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.pieces.iter().all(|p| p.state != State::Missing)
    }
}
