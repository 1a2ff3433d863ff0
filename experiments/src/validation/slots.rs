//! Timed runs: cycles by function, of a program as it is and of one that writes tags.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use hps_isa::probe::Probe;
use hps_lab::{Attach, Lab};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Cause, PipelineProbe, StagesProbe};
use hps_profile::Profile;
use hps_system::image::ProgramImage;
use hps_system::process::ProcessConfig;

use super::ValidationError;
use super::functions::Functions;

/// Results of the pipeline.
pub struct Timed {
    /// Time by observed function, in commit slots.
    pub slots: Profile<String>,
    /// Cycles of the whole run.
    pub cycles: u64,
    /// Instructions of the program for each cycle.
    pub ipc: f64,
}

/// Gives commit slots to the observed function whose instruction is at the head of the window; those
/// of other functions to the observed function before.
struct OwnSlots {
    functions: Functions,
    current: Option<usize>,
    slots: Vec<u64>,
}

impl OwnSlots {
    fn new(image: &Arc<ProgramImage>, observed: &BTreeSet<String>) -> Self {
        let functions = Functions::new(image, observed);
        OwnSlots {
            slots: vec![0; functions.names.len()],
            current: None,
            functions,
        }
    }

    #[inline]
    fn add(&mut self, slots: u64) {
        if let Some(current) = self.current {
            self.slots[current] += slots;
        }
    }
}

hps_lab::attach! { StagesProbe: OwnSlots, TagSlots }

impl Probe for OwnSlots {}

impl PipelineProbe for OwnSlots {
    const WANTS_SLOTS: bool = true;

    #[inline]
    fn slots(&mut self, pc: u64, _cause: Cause, count: u64) {
        if let Some(own) = self.functions.at(pc) {
            self.current = Some(own);
        }
        self.add(count);
    }
}

/// Gives commit slots to the function that the tag says, in a program that writes tags itself: the
/// time of a hook belongs to whom it belongs natively.
struct TagSlots {
    own: OwnSlots,
    /// The hooks' addresses.
    enter: Range<u64>,
    exit: Range<u64>,
    last: Hook,
    frames: Vec<Option<usize>>,
}

/// Hook that the last committed instruction was part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hook {
    Enter,
    Exit,
    Neither,
}

impl TagSlots {
    fn new(own: OwnSlots, image: &ProgramImage) -> Result<Self, ValidationError> {
        let range = |name: &str| {
            let function = image.symbols.function_named(name);
            function
                .map(|f| f.addr..f.addr + f.size)
                .ok_or_else(|| ValidationError::NoHook {
                    program: image.name.clone(),
                    hook: name.to_owned(),
                })
        };
        Ok(TagSlots {
            own,
            enter: range("__cyg_profile_func_enter")?,
            exit: range("__cyg_profile_func_exit")?,
            last: Hook::Neither,
            frames: Vec::new(),
        })
    }

    /// The tag changes with the last instructions of a hook: the next one commits under the new tag.
    fn committed(&mut self, pc: u64) {
        let hook = if self.enter.contains(&pc) {
            Hook::Enter
        } else if self.exit.contains(&pc) {
            Hook::Exit
        } else {
            Hook::Neither
        };
        if hook == self.last {
            return;
        }
        match (self.last, hook) {
            (Hook::Enter, Hook::Neither) => {
                let function = self.own.functions.at(pc);
                self.frames.push(function);
                self.own.current = function;
            }
            (Hook::Exit, Hook::Neither) => {
                self.frames.pop();
                self.own.current = self.frames.last().copied().flatten();
            }
            _ => {}
        }
        self.last = hook;
    }
}

impl Probe for TagSlots {}

impl PipelineProbe for TagSlots {
    const WANTS_SLOTS: bool = true;

    #[inline]
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        // A slot without a loss is a committed instruction.
        if cause == Cause::Base {
            self.committed(pc);
        }
        self.own.add(count);
    }
}

/// Runs a program on the pipeline.
///
/// # Errors
/// The program cannot be run, or does not end well.
pub fn plain(
    image: &Arc<ProgramImage>,
    config: &ProcessConfig,
    observed: &BTreeSet<String>,
    machine: &MachineConfig,
) -> Result<Timed, ValidationError> {
    let probe = OwnSlots::new(image, observed);
    let (timed, _) = run(image, config, machine, probe, |probe| probe)?;
    Ok(timed)
}

/// Runs an instrumented program on the pipeline: cycles by the tag that it has written. Also gives
/// what it printed.
///
/// # Errors
/// The program has no hooks, cannot be run, or does not end well.
pub fn instrumented(
    image: &Arc<ProgramImage>,
    config: &ProcessConfig,
    observed: &BTreeSet<String>,
    machine: &MachineConfig,
) -> Result<(Timed, Vec<u8>), ValidationError> {
    let probe = TagSlots::new(OwnSlots::new(image, observed), image)?;
    run(image, config, machine, probe, |probe| &probe.own)
}

fn run<P: Attach<Loops = StagesProbe>>(
    image: &Arc<ProgramImage>,
    config: &ProcessConfig,
    machine: &MachineConfig,
    probe: P,
    slots: fn(&P) -> &OwnSlots,
) -> Result<(Timed, Vec<u8>), ValidationError> {
    let lab = Lab::image(Arc::clone(image)).configured(config.clone());
    let ran = lab.on_machine(machine).watched_by(probe).run()?;
    ValidationError::unless_ended_well(ran.stop, &ran.process)?;
    let own = slots(&ran.probe);
    let timed = Timed {
        slots: own.functions.profile(&own.slots),
        cycles: ran.cycles(),
        ipc: ran.instructions() as f64 / ran.cycles().max(1) as f64,
    };
    Ok((timed, ran.stdout().to_vec()))
}
