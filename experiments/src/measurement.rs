//! Measurements of studies, and the runner that does their units of work one by one and keeps each.

use std::sync::{Mutex, PoisonError};

use hps_pipeline::core::CoreKind;
use hps_profile::ProfileKind;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cluster::agenda::{Effort, Offer, State};
use crate::plan::hexadecimal;
use crate::row::is_cycle;
use crate::runner::Observer;
use crate::store::{Origin, Record, Records, StoreError};
use crate::timed::guarded;
use hps_lab::TimedMachine;
use hps_lab::{Program, VERSION};

/// One number that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Program.
    pub program: String,
    /// Instruction set.
    pub isa: String,
    /// Kind of profile, if one was collected.
    pub profile: Option<ProfileKind>,
    /// Scheme that collected it: `hps`, `plain_dise`, `software`, `software_reduced`, `exhaustive`,
    /// `randomized`, `baseline`, ...
    pub scheme: String,
    /// Burst length in events, if there was one.
    pub burst: Option<u64>,
    /// The frequency as 1 in n, if there was one.
    pub one_in: Option<u64>,
    /// Other parameters that were varied, for instance `pt_entries=8`; empty if none.
    pub setting: String,
    /// Position of the setting on an axis, if it is a number.
    pub x: Option<f64>,
    /// Name of the measured quantity, with its unit: `cycles`, `overhead_ratio`,
    /// `accuracy_renormalized_ratio`, `samples`, ...
    pub measure: String,
    /// The number.
    pub value: f64,
    /// Half the width of its 95% confidence interval, where sampled timing was used.
    pub interval: Option<f64>,
    /// Which of several runs, each with another phase or seed, from 0; `None` where there is one, or for what is said of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
}

impl Measurement {
    /// A number about a program, with nothing varied.
    #[must_use]
    pub fn new(program: &Program, scheme: &str, measure: &str, value: f64) -> Measurement {
        Measurement {
            program: program.name.clone(),
            isa: program.image.isa.name().to_string(),
            profile: None,
            scheme: scheme.to_string(),
            burst: None,
            one_in: None,
            setting: String::new(),
            x: None,
            measure: measure.to_string(),
            value,
            interval: None,
            run: None,
        }
    }
}

/// Stored record of one unit of work: one JSON line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitRecord {
    /// Made from everything that determines the unit (SHA-256, hexadecimal).
    pub id: String,
    /// Version of the lab that made it.
    pub version: String,
    /// The study it belongs to.
    pub study: String,
    /// Program.
    pub program: String,
    /// SHA-256 of its image.
    pub program_hash: String,
    /// Instruction set.
    pub isa: String,
    /// Input of the program (`small`, `large`, or the arguments).
    pub input: String,
    /// Machine.
    pub machine: String,
    /// Fingerprint of the machine's resolved configuration.
    pub machine_fingerprint: String,
    /// How the machine was simulated.
    #[serde(default, skip_serializing_if = "is_cycle")]
    pub core: CoreKind,
    /// Measurements of the unit; empty if it failed.
    pub measurements: Vec<Measurement>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

impl UnitRecord {
    /// Name of the unit and the reason, if it failed.
    #[must_use]
    pub fn failed_unit(&self) -> Option<(String, &str)> {
        let what = format!("{} ({}): {}", self.program, self.isa, self.study);
        Some((what, self.failure.as_deref()?))
    }
}

impl Record for UnitRecord {
    fn id(&self) -> &str {
        &self.id
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn origin(&self) -> Origin<'_> {
        Origin {
            version: &self.version,
            program: &self.program,
            isa: &self.isa,
            input: &self.input,
            program_hash: &self.program_hash,
            machine: &self.machine,
            machine_text: &self.machine_fingerprint,
        }
    }

    fn place(&self) -> (&str, u64, u64) {
        (&self.study, 0, 0)
    }
}

/// Work of a unit.
pub type Work<'a> = Box<dyn Fn() -> Result<Vec<Measurement>, String> + Send + Sync + 'a>;

/// A unit of work of a study: what a killed run may lose, and no more.
pub struct Unit<'a> {
    /// The study it belongs to.
    pub study: &'static str,
    /// For the progress bar and messages.
    pub title: String,
    /// Everything that determines the unit besides program and machine.
    pub key: serde_json::Value,
    /// The program.
    pub program: &'a Program,
    /// Time that the unit takes.
    pub effort: Effort,
    /// Does it.
    pub run: Work<'a>,
}

impl Unit<'_> {
    /// Made from everything that determines what the unit measures.
    #[must_use]
    pub fn id(&self, machine: &TimedMachine) -> String {
        self.id_on(machine, &machine.fingerprint())
    }

    /// The id on a machine whose fingerprint is known.
    fn id_on(&self, machine: &TimedMachine, fingerprint: &str) -> String {
        let mut description = serde_json::json!({
            "version": VERSION,
            "study": self.study,
            "key": self.key,
            "program": self.program.determined_by(),
            "machine": fingerprint,
        });
        if machine.core != CoreKind::Cycle {
            description["core"] = serde_json::json!(machine.core);
        }
        hexadecimal(&Sha256::digest(description.to_string().as_bytes())[..16])
    }

    fn record(
        &self,
        machine: &TimedMachine,
        measured: Result<Vec<Measurement>, String>,
    ) -> UnitRecord {
        let unusable =
            |m: &&Measurement| !m.value.is_finite() || m.interval.is_some_and(|i| !i.is_finite());
        let measured = measured.and_then(|all| match all.iter().find(unusable) {
            Some(m) => Err(format!("{} of {} is not a number", m.measure, m.scheme)),
            None => Ok(all),
        });
        let (measurements, failure) = match measured {
            Ok(measurements) => (measurements, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        UnitRecord {
            id: self.id(machine),
            version: VERSION.to_string(),
            study: self.study.to_string(),
            program: self.program.name.clone(),
            program_hash: self.program.image.hash.clone(),
            isa: self.program.image.isa.name().to_string(),
            input: self.program.input.clone(),
            machine: machine.name.clone(),
            machine_fingerprint: machine.fingerprint(),
            core: machine.core,
            measurements,
            failure,
        }
    }
}

/// Runs every unit that the store wants (see [`Records::wants`]), in parallel, and returns the records of all that the
/// store then has, in their order. A unit that fails, or panics, is a record that says why; it runs again next time.
///
/// # Errors
/// [`StoreError`] if records cannot be written; what was written stays.
pub fn run_units(
    units: &[Unit<'_>],
    machine: &TimedMachine,
    store: &Mutex<Records<UnitRecord>>,
    observer: &dyn Observer,
) -> Result<Vec<UnitRecord>, StoreError> {
    let lock = || store.lock().unwrap_or_else(PoisonError::into_inner);
    let fingerprint = machine.fingerprint();
    let ids: Vec<String> = units
        .iter()
        .map(|unit| unit.id_on(machine, &fingerprint))
        .collect();
    offer(units, &ids, machine, &lock());
    let wanted = ids.iter().filter(|id| lock().wants(id)).count();
    observer.planned(wanted as u64);
    // One piece a unit: neighbours are of similar length, and a long one must not hold up others.
    let pieces = units.par_iter().zip(&ids).with_max_len(1);
    let records = pieces.map(|(unit, id)| {
        {
            let mut store = lock();
            if !store.wants(id) {
                return Ok(store.outcome(id).cloned());
            }
            store.begin(id);
        }
        let record = unit.record(machine, guarded(|| (unit.run)()));
        let mut store = lock();
        store.append(&record)?;
        store.sync()?;
        drop(store);
        observer.done(&unit.title);
        Ok(Some(record))
    });
    let records: Vec<Option<UnitRecord>> = records.collect::<Result<_, StoreError>>()?;
    Ok(records.into_iter().flatten().collect())
}

/// Tells the agenda of all units, if there is one.
fn offer(units: &[Unit<'_>], ids: &[String], machine: &TimedMachine, store: &Records<UnitRecord>) {
    let Some(mut agenda) = store.scope().agenda() else {
        return;
    };
    let of_machine = agenda.machine(&machine.name, machine.fingerprint());
    for (unit, id) in units.iter().zip(ids) {
        let program = agenda.program(unit.program);
        agenda.offer(Offer {
            id,
            name: format!("{} ({}) on {}", unit.title, unit.study, machine.name),
            program,
            machine: of_machine,
            effort: unit.effort,
            state: State::of(store.outcome(id)),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Plan;
    use crate::spec::SweepSpec;

    fn program() -> Program {
        let spec = SweepSpec {
            programs: vec!["bwt".to_string()],
            ..SweepSpec::default()
        };
        let plan = Plan::new(&spec, std::path::Path::new(".")).expect("a program of the project");
        plan.programs[0].clone()
    }

    fn unit<'a>(program: &'a Program, key: u32, runs: &'a AtomicUsize) -> Unit<'a> {
        Unit {
            study: "test",
            title: format!("unit {key}"),
            key: serde_json::json!({ "key": key }),
            program,
            effort: Effort::default(),
            run: Box::new(move || {
                runs.fetch_add(1, Ordering::Relaxed);
                match key {
                    7 => panic!("seven"),
                    8 => Ok(vec![Measurement::new(program, "hps", "cycles", f64::NAN)]),
                    _ => Ok(vec![Measurement::new(
                        program,
                        "hps",
                        "cycles",
                        0.1 + f64::from(key),
                    )]),
                }
            }),
        }
    }

    #[test]
    fn units_are_kept_and_failed_ones_run_again() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("units.jsonl");
        let (program, runs) = (program(), AtomicUsize::new(0));
        let units: Vec<_> = [1, 7, 8, 2].map(|key| unit(&program, key, &runs)).into();
        let machine = TimedMachine::default();
        let run = || {
            let store = Mutex::new(Records::open(&path).expect("store"));
            run_units(&units, &machine, &store, &()).expect("written")
        };
        let first = run();
        assert_eq!(runs.load(Ordering::Relaxed), 4);
        let failures: Vec<_> = first.iter().map(|r| r.failure.as_deref()).collect();
        assert_eq!(failures[0], None);
        assert!(
            failures[1].is_some_and(|why| why.contains("seven")),
            "{failures:?}"
        );
        assert!(
            failures[2].is_some_and(|why| why.contains("cycles of hps")),
            "{failures:?}"
        );
        assert_eq!(first[3].measurements[0].value, 0.1 + 2.0);
        assert_eq!(run(), first);
        assert_eq!(runs.load(Ordering::Relaxed), 6);
        // A killed write costs its own unit.
        let text = std::fs::read(&path).expect("read");
        let end = text.len() - 3;
        std::fs::write(&path, &text[..end]).expect("cut");
        assert_eq!(run(), first);
    }

    #[test]
    fn ids_hold_what_determines_a_unit() {
        let (program, runs) = (program(), AtomicUsize::new(0));
        let machine = TimedMachine::default();
        let id = |key| unit(&program, key, &runs).id(&machine);
        assert_eq!(id(1), id(1));
        assert_ne!(id(1), id(2));
        let mut other = machine.clone();
        other.config.window.rob_entries += 1;
        assert_ne!(unit(&program, 1, &runs).id(&other), id(1));
        let otherwise = TimedMachine {
            core: CoreKind::Instruction,
            ..machine.clone()
        };
        assert_ne!(unit(&program, 1, &runs).id(&otherwise), id(1));
        let record = |machine| unit(&program, 1, &runs).record(machine, Ok(Vec::new()));
        assert_eq!(record(&otherwise).core, CoreKind::Instruction);
        let text = serde_json::to_string(&record(&machine)).expect("text");
        assert!(!text.contains("core"), "the reference is not mentioned");
    }
}
