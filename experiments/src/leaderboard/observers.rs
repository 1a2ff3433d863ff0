//! SHIM: an observer on a second core reads tags that productions write at the program's calls and returns.

use std::borrow::Cow;
use std::collections::HashMap;

use hps_lab::observer::{Observer, Placement, Signals, Throttle};
use hps_lab::{CoreKind, EndError, Lab, Productions, TimedMachine};
use hps_pipeline::config::MachineConfig;
use hps_profilers::Key;
use hps_profilers::views::Level;
use hps_sim_core::machine::Stop;

use super::board::Form;
use super::collected::STUDY;
use super::contender::{At, Contender};
use super::exact::Exact;
use super::profilers::{Cost, How, ProfilerInfo};
use super::undisturbed::Undisturbed;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};

/// SHIM.
pub(super) const PROFILER: ProfilerInfo = ProfilerInfo {
    name: NAME,
    about: "SHIM: an observer on another core reads tags that the program writes at calls and returns",
    takes: "a second core, DISE that writes tags",
    counts: "cycles",
    records: Cow::Borrowed("the observer keeps samples"),
    cost: Cost::Executed,
    how: How::Runs(|board| {
        let can_run = with_observer(&board.machine).is_some();
        match can_run && board.charged {
            true => vec![Contender::new(NAME, None, Form::Collected, unit)],
            false => Vec::new(),
        }
    }),
};

const NAME: &str = "shim";

/// Bytes of the observer's ring of samples, and of what the program signals to it.
const MEMORY_BYTES: f64 = (16 << 10) as f64 + 4096.0;

/// The machine with a second core for the observer; none if it cannot have one.
pub(super) fn with_observer(machine: &TimedMachine) -> Option<MachineConfig> {
    let mut config = machine.config.clone();
    config.chip.cores = 2;
    (machine.core == CoreKind::Cycle && config.check().is_ok()).then_some(config)
}

/// The unit that observes a program every `period_cycles`.
fn unit<'a>(undisturbed: &'a Undisturbed<'a>, _: &'a Exact<'a>, at: At) -> Unit<'a> {
    let period_cycles = at.point;
    Unit {
        study: STUDY,
        title: format!(
            "{}: {NAME}, a sample in {period_cycles} cycles",
            undisturbed.program.title()
        ),
        key: serde_json::json!({ "profiler": NAME, "period_cycles": period_cycles, "run": at.run }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 2.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core),
        run: Box::new(move || measured(undisturbed, at)),
    }
}

fn measured(undisturbed: &Undisturbed<'_>, at: At) -> Result<Vec<Measurement>, String> {
    let found = undisturbed.found()?;
    let program = undisturbed.program;
    let machine = with_observer(undisturbed.machine).ok_or("the machine has no second core")?;
    let tags = Productions::load(program.image.isa, &["shim_tag".to_string()], HashMap::new());
    let tags = tags
        .and_then(|tags| tags.on(&machine))
        .map_err(|e| e.to_string())?;
    let observer = Observer {
        placement: Placement::Cmp,
        signals: Signals::Samples { counters: 0 },
        throttle: Throttle::Sleep(at.shifted(at.point)),
    };
    // By where the last call or return went: only its function counts.
    let mut sampled: HashMap<u64, u64> = HashMap::new();
    let lab = Lab::of(program).on_machine(&machine).edited_by(&tags);
    let observed = lab.observe(&observer, |sample, _, _| {
        *sampled.entry(sample.tag).or_default() += 1;
    });
    let observed = observed.map_err(|e| e.to_string())?;
    if !matches!(observed.stop, Stop::Exit(_)) {
        return Err(format!(
            "the observed program ended otherwise than alone: {}",
            EndError::of(observed.stop, &observed.process)
        ));
    }
    let weights = sampled
        .iter()
        .map(|(place, count)| (Key::of_program(*place), *count));
    let errors = found.levels.errors(weights);
    let error = errors.iter().find(|(level, _)| *level == Level::Function);
    let numbers = [
        (
            "error_ratio",
            Level::Function.name(),
            error.map(|(_, error)| *error),
        ),
        (
            "overhead_ratio",
            "",
            Some(observed.cycles as f64 / found.cycles as f64 - 1.0),
        ),
        ("memory_bytes", "", Some(MEMORY_BYTES)),
        ("samples", "", Some(observed.samples as f64)),
        ("baseline_cycles", "", Some(found.cycles as f64)),
        ("cycles", "", Some(observed.cycles as f64)),
    ];
    let measured = numbers.into_iter().filter_map(|(measure, setting, value)| {
        Some(Measurement {
            one_in: Some(at.point),
            run: Some(at.run),
            setting: setting.to_string(),
            ..Measurement::new(program, NAME, measure, value?)
        })
    });
    Ok(measured.collect())
}
