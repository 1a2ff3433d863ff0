//! The image map: which object's code lay where when a sample was taken.
//!
//! Samples are resolved before the code of a program changes, by the map up to then. So a library that is opened where
//! another one was closed gets its own samples alone, and each process of a run has a map of its own.

use std::sync::Arc;

use hps_system::symbols::{CodeLog, CodeWatch, Object, Symbols};
use rustc_hash::FxHashMap;

use crate::samples::{Counts, ELSEWHERE};

/// Samples in the code of one object, at the addresses that its file says.
#[derive(Clone, Debug)]
pub struct ObjectSamples {
    /// The object. `None`: code outside of all objects, at addresses of the running program.
    pub object: Option<Arc<Object>>,
    /// Samples, in the order of the plans.
    pub counts: Vec<Counts>,
}

/// Samples by object.
#[derive(Clone, Debug, Default)]
struct ByObject {
    found: Vec<ObjectSamples>,
    /// Place in `found` of each object, by its address in the host's memory; of unknown code at 0.
    places: FxHashMap<usize, usize>,
}

impl ByObject {
    /// Adds samples of a program whose objects lie as its symbols say: one item for each plan.
    fn add(&mut self, symbols: &Symbols, counts: &[&Counts]) {
        for (plan, of_plan) in counts.iter().enumerate() {
            for (&pc, &count) in &of_plan.by_pc {
                let object = symbols.object_at(pc);
                let there = self.counts(object, plan, counts);
                let own = pc.wrapping_sub(bias(object));
                *there.by_pc.entry(own).or_default() += count;
            }
            for (&(from, to), &count) in &of_plan.by_edge {
                let object = symbols.object_index(from);
                let is_inside = symbols.object_index(to) == object;
                let object = object.map(|at| &symbols.objects()[at]);
                let bias = bias(object);
                let to = match is_inside {
                    true => to.wrapping_sub(bias),
                    false => ELSEWHERE,
                };
                let there = self.counts(object, plan, counts);
                let edge = (from.wrapping_sub(bias), to);
                *there.by_edge.entry(edge).or_default() += count;
            }
        }
    }

    fn counts(
        &mut self,
        object: Option<&Arc<Object>>,
        plan: usize,
        all: &[&Counts],
    ) -> &mut Counts {
        let key = object.map_or(0, |object| Arc::as_ptr(object) as usize);
        let found = &mut self.found;
        let place = *self.places.entry(key).or_insert_with(|| {
            found.push(ObjectSamples {
                object: object.cloned(),
                counts: all.iter().map(|c| Counts::new(c.period)).collect(),
            });
            found.len() - 1
        });
        &mut found[place].counts[plan]
    }
}

fn bias(object: Option<&Arc<Object>>) -> u64 {
    object.map_or(0, |object| object.load_bias())
}

/// The maps of all programs of a run.
#[derive(Debug)]
pub(super) struct ImageMap {
    log: CodeLog,
    /// The number of each program that has run, news of its code, and its map.
    programs: Vec<(u32, CodeWatch, Arc<Symbols>)>,
    /// The place in `programs` of the program that runs.
    here: usize,
    by_object: ByObject,
}

impl ImageMap {
    /// Maps of the programs that record their code in `log`.
    pub fn new(log: CodeLog) -> ImageMap {
        ImageMap {
            log,
            programs: Vec::new(),
            here: 0,
            by_object: ByObject::default(),
        }
    }

    /// Whether the map of the samples so far differs from that of an instruction of this program.
    pub fn is_changed(&self, program: u32) -> bool {
        let current = self.programs.get(self.here);
        current.is_none_or(|(number, watch, _)| *number != program || watch.is_changed())
    }

    /// Whether no program has run yet.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Resolves samples by the map up to now, and takes the map of a program.
    pub fn turn_to(&mut self, program: u32, counts: &[&Counts]) {
        self.resolve(counts);
        let known = self
            .programs
            .iter()
            .position(|(number, ..)| *number == program);
        self.here = known.unwrap_or(self.programs.len());
        if known.is_none() {
            let watch = CodeWatch::new(self.log.clone(), program);
            self.programs.push((program, watch, Arc::default()));
        }
        let (_, watch, symbols) = &mut self.programs[self.here];
        if let Some(news) = watch.news() {
            *symbols = news;
        }
    }

    /// Resolves samples by the map up to now.
    pub fn resolve(&mut self, counts: &[&Counts]) {
        // No sample is taken before the first program runs.
        if let Some((.., symbols)) = self.programs.get(self.here) {
            self.by_object.add(symbols, counts);
        }
    }

    /// Takes the samples that were resolved since the last call, by object in the order in which these were sampled first.
    pub fn take(&mut self) -> Vec<ObjectSamples> {
        std::mem::take(&mut self.by_object).found
    }
}
