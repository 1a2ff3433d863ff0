//! The run that nothing disturbs: its cycles, and the exact profile that profilers are held against.

use std::sync::OnceLock;

use hps_lab::{Lab, Program, TimedMachine, Truth, Watch};
use hps_pipeline::core::{EventSet, Origin};
use hps_profile::Profile;
use hps_profilers::views::{FunctionMap, Levels};
use hps_profilers::{ExactProfile, Key};

use super::states::States;

/// A program and what its undisturbed run says, which is made when it is first asked for.
pub(super) struct Undisturbed<'a> {
    pub program: &'a Program,
    pub machine: &'a TimedMachine,
    found: OnceLock<Result<Found, String>>,
}

/// Results of an undisturbed run: its cycles, and its exact profile in the forms that are compared.
pub(super) struct Found {
    pub cycles: u64,
    pub instructions: u64,
    /// The exact profile at each level.
    pub levels: Levels,
    /// Units by instruction and by the events of its execution.
    pub cells: Profile<Cell>,
    /// Addresses of all instructions that ran, in ascending order.
    pub executed: Vec<u64>,
    /// States on which the run's cycles were spent.
    pub states: States,
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

    /// Results of the run.
    ///
    /// # Errors
    /// How the program ended, if not well.
    pub fn found(&self) -> Result<&Found, String> {
        let found = self.found.get_or_init(|| {
            let lab = Lab::of(self.program).timed_by(self.machine);
            let truth = lab.watched(Watch::default()).map_err(|e| e.to_string())?;
            Found::new(truth)
        });
        found.as_ref().map_err(Clone::clone)
    }
}

impl Found {
    fn new<E>(truth: Truth<E>) -> Result<Found, String> {
        let Truth { ran, exact, .. } = truth;
        let ran = ran.successful().map_err(|e| e.to_string())?;
        let symbols = ran.process.symbols();
        let functions = FunctionMap::new(&symbols, &exact);
        Ok(Found {
            cycles: ran.cycles(),
            instructions: ran.instructions(),
            levels: Levels::new(&exact, &symbols, &functions),
            cells: cells(&exact),
            executed: exact.executed(),
            states: States::of(&exact),
            by_function: by_function(&exact, &functions, |pc| pc),
            functions,
        })
    }

    /// Perturbation of a disturbed run: `1 - overlap` by function of its exact profile with the undisturbed one.
    /// Instructions that the profiler put in stand in rows of their own. `original` gives the program's address of an
    /// instruction that ran elsewhere.
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
