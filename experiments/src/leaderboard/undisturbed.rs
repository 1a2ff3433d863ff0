//! The run that nothing disturbs: its cycles, and the exact profile that profilers are held against.

use std::sync::OnceLock;

use hps_lab::{Lab, Program, TimedMachine, Truth, Watch};
use hps_pipeline::core::{EventSet, Origin};
use hps_profile::Profile;
use hps_profilers::views::{FunctionMap, Level, Member, Members, profile_of};
use hps_profilers::{ExactProfile, Key};

/// A program and what its undisturbed run says, which is made when it is first asked for.
pub(super) struct Undisturbed<'a> {
    pub program: &'a Program,
    pub machine: &'a TimedMachine,
    found: OnceLock<Result<Found, String>>,
}

/// What an undisturbed run says.
pub(super) struct Found {
    pub cycles: u64,
    pub instructions: u64,
    /// Units of a cycle in the exact profile.
    pub units_per_cycle: u64,
    /// Members and exact profile of each level, in the order of [`Level::ALL`].
    pub levels: Vec<(Members, Profile<Member>)>,
    /// Units by instruction and by the events of its execution.
    pub cells: Profile<Cell>,
    /// Addresses of all instructions that ran, in ascending order.
    pub executed: Vec<u64>,
    functions: FunctionMap,
    /// Units by function.
    by_function: Profile<Part>,
}

/// An instruction with a set of events.
pub(super) type Cell = (Key, u16);

/// Where cycles go in a run that may be disturbed: a function of the program, by its entry, or what the profiler
/// has put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Function(u64),
    Inserted,
    Handlers,
}

impl<'a> Undisturbed<'a> {
    pub fn new(program: &'a Program, machine: &'a TimedMachine) -> Self {
        Undisturbed {
            program,
            machine,
            found: OnceLock::new(),
        }
    }

    /// What the run says.
    ///
    /// # Errors
    /// How the program ended, if not well.
    pub fn found(&self) -> Result<&Found, String> {
        let found = self.found.get_or_init(|| {
            let lab = Lab::of(self.program).timed_by(self.machine);
            let truth = lab.watched(Watch::default()).map_err(|e| e.to_string())?;
            Found::new(self.program, truth)
        });
        found.as_ref().map_err(Clone::clone)
    }
}

impl Found {
    fn new<E>(program: &Program, truth: Truth<E>) -> Result<Found, String> {
        let Truth { ran, exact, .. } = truth;
        let ran = ran.successful().map_err(|e| e.to_string())?;
        let functions = FunctionMap::new(&program.image, &exact);
        let level = |level| {
            let members = Members::new(level, &exact, &program.image, &functions);
            let profile = profile_of(&exact, &members);
            (members, profile)
        };
        let mut executed: Vec<u64> = exact.rows.iter().map(|row| row.of.key.pc).collect();
        executed.sort_unstable();
        executed.dedup();
        Ok(Found {
            cycles: ran.cycles(),
            instructions: ran.instructions(),
            units_per_cycle: exact.units_per_cycle,
            levels: Level::ALL.map(level).into(),
            cells: cells(&exact),
            executed,
            by_function: by_function(&exact, &functions, |pc| pc),
            functions,
        })
    }

    /// What a profiler has done to where cycles go: `1 - overlap` by function of a disturbed run's exact profile with
    /// the undisturbed one. What the profiler put in stands in rows of its own. `original` gives the program's address
    /// of an instruction that ran elsewhere.
    pub fn perturbation(&self, disturbed: &ExactProfile, original: impl Fn(u64) -> u64) -> f64 {
        let disturbed = by_function(disturbed, &self.functions, original);
        hps_profile::error_without_cut(&disturbed, &self.by_function)
    }
}

fn cells(exact: &ExactProfile) -> Profile<Cell> {
    let cells = exact.rows.iter().flat_map(|row| {
        let of_row = row.cells.iter();
        of_row.map(|&(_, events, units): &(_, EventSet, u64)| ((row.of.key, events.bits()), units))
    });
    cells.collect()
}

fn by_function(
    exact: &ExactProfile,
    functions: &FunctionMap,
    original: impl Fn(u64) -> u64,
) -> Profile<Part> {
    let rows = exact.rows.iter().map(|row| {
        let part = match row.origin {
            Origin::Inserted => Part::Inserted,
            Origin::Handler => Part::Handlers,
            Origin::Program => {
                let pc = original(row.of.key.pc);
                let function = functions.find(pc).map(|at| functions.functions()[at].entry);
                Part::Function(function.unwrap_or(pc))
            }
        };
        (part, row.units())
    });
    rows.collect()
}
