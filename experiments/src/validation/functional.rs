//! Functional runs: the truth about every call and instruction, and what HPS sees of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use hps_isa::inst::OpClass;
use hps_isa::probe::{Probe, Retired};
use hps_lab::Lab;
use hps_productions::{GridProbe, PointProfiles, SamplePoint};
use hps_profile::Profile;
use hps_system::image::ProgramImage;
use hps_system::process::ProcessConfig;

use super::ValidationError;
use super::functions::{Functions, base_name};
use super::graph::Edges;

/// Frames of the program's own functions that are remembered; deeper ones are forgotten.
const MAX_FRAMES: usize = 1 << 20;

/// Results of the functional machine.
pub struct Functional {
    /// Calls by function, of the observed functions.
    pub calls: BTreeMap<String, u64>,
    /// Calls by caller and callee, of the observed functions; what begins the program has no name.
    pub edges: Edges,
    /// Instructions by observed function; those of other functions are their callers'.
    pub instructions: Profile<String>,
    /// Events of the exhaustive method profile (calls and back-edges), in the same way.
    pub events: Profile<String>,
    /// The exhaustive method profile by function, as HPS would have it with every event.
    pub exhaustive: Profile<String>,
    /// The method profile of HPS.
    pub sampled: Profile<String>,
    /// Instructions of the whole run.
    pub total_instructions: u64,
    /// Standard output of the program.
    pub stdout: Vec<u8>,
}

/// Gives instructions, calls and events to the innermost observed function, as tags that are
/// written at entries and exits do.
struct OwnProbe {
    functions: Functions,
    current: Option<usize>,
    frames: Vec<Option<usize>>,
    instructions: Vec<u64>,
    calls: Vec<u64>,
    edges: HashMap<(Option<usize>, usize), u64>,
    events: Vec<u64>,
}

impl OwnProbe {
    fn new(functions: Functions) -> Self {
        let none = vec![0; functions.names.len()];
        OwnProbe {
            functions,
            current: None,
            frames: Vec::new(),
            instructions: none.clone(),
            calls: none.clone(),
            edges: HashMap::default(),
            events: none,
        }
    }
}

impl Probe for OwnProbe {
    const WANTS_RETIRED: bool = true;

    #[inline]
    fn retired(&mut self, event: &Retired<'_>) {
        if let Some(own) = self.functions.at(event.pc) {
            self.current = Some(own);
        }
        if let Some(current) = self.current {
            self.instructions[current] += 1;
        }
        if event.inst.class.is_call() {
            if self.frames.len() < MAX_FRAMES {
                self.frames.push(self.current);
            }
            let callee = self.functions.at(event.target);
            if let Some(callee) = callee {
                self.calls[callee] += 1;
                *self.edges.entry((self.current, callee)).or_insert(0) += 1;
            }
            if let Some(of) = callee.or(self.current) {
                self.events[of] += 1;
            }
        } else if event.inst.class == OpClass::Return {
            if let Some(caller) = self.frames.pop() {
                self.current = caller;
            }
        } else if event.inst.is_back_edge()
            && let Some(current) = self.current
        {
            self.events[current] += 1;
        }
    }
}

/// Runs a program on the functional machine.
///
/// # Errors
/// The program cannot be run, or does not end well.
pub fn functional(
    image: &Arc<ProgramImage>,
    config: &ProcessConfig,
    observed: &BTreeSet<String>,
    point: SamplePoint,
) -> Result<Functional, ValidationError> {
    let own = OwnProbe::new(Functions::new(image, observed));
    let lab = Lab::image(Arc::clone(image)).configured(config.clone());
    let (mut machine, mut probe) = (lab.open()?, (GridProbe::new(&[point])?, own));
    let stop = machine.run(&mut probe, u64::MAX);
    ValidationError::unless_ended_well(stop, &machine.process)?;
    let total_instructions = machine.retired.program;
    let stdout = machine.process.os.captured_stdout().to_vec();
    let (grid, own) = probe;
    let grid = grid.finish();
    let methods = grid.method_map(&image.symbols);
    let by_name = |profiles: &PointProfiles| -> Profile<String> {
        let methods = profiles.addresses.methods(|address| methods.entry(address));
        let named = methods.iter().map(|(method, weight)| {
            let function = image.symbols.function_at(method.0);
            let name = function.map_or_else(|| format!("{:#x}", method.0), |f| base_name(&f.name));
            (name, weight)
        });
        named.collect()
    };
    let name = |function: usize| own.functions.names[function].clone();
    let edges = own.edges.iter().map(|(&(caller, callee), &count)| {
        let caller = caller.map(name).unwrap_or_default();
        ((caller, name(callee)), count)
    });
    let mut by_edge = Edges::new();
    for (edge, count) in edges {
        *by_edge.entry(edge).or_insert(0) += count;
    }
    let names = own.functions.names.iter().cloned();
    Ok(Functional {
        calls: names.zip(own.calls.iter().copied()).collect(),
        edges: by_edge,
        instructions: own.functions.profile(&own.instructions),
        events: own.functions.profile(&own.events),
        exhaustive: by_name(&grid.exhaustive),
        sampled: grid.points.first().map(by_name).unwrap_or_default(),
        total_instructions,
        stdout,
    })
}
