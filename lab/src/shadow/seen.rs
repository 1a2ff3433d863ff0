//! Runs of shadows, one after the other on the functional machine, into one set of profiles, and their ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use hps_shadow::Graphs;
use hps_shadow::divergence::{Comparison, Course, Divergence, Log};
use hps_shadow::policy::{Action, ShadowGate, Wire};
use hps_shadow::profiles::Profiles;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::os::StopReason;
use hps_system::process::Process;

use super::ShadowOptions;
use super::outcome::End;

/// Profiles and counts of all shadows so far.
pub(super) struct Seen<'a> {
    pub profiles: Profiles<'a>,
    /// End of the last shadow, in instructions of the parent.
    to: u64,
    pub shadows: u64,
    pub covered: u64,
    pub transfers: u64,
    pub diverged_transfers: u64,
    pub ends: BTreeMap<End, u64>,
    pub calls: BTreeMap<(&'static str, Action), u64>,
    pub divergences: Vec<Divergence>,
}

/// A shadow that has run to its end.
pub(super) struct Sample {
    /// Instructions of the program.
    pub instructions: u64,
    /// Why it ended.
    pub end: End,
    /// Course of the shadow: its transfers of control and system calls.
    pub course: Course,
    /// Instructions that its translator came to for the first time.
    pub translated: u64,
}

impl<'a> Seen<'a> {
    pub fn new(graphs: &'a Graphs<'a>, options: &ShadowOptions) -> Seen<'a> {
        Seen {
            profiles: Profiles::new(graphs, options.tables).with_streams(options.streams),
            to: u64::MAX,
            shadows: 0,
            covered: 0,
            transfers: 0,
            diverged_transfers: 0,
            ends: BTreeMap::new(),
            calls: BTreeMap::new(),
            divergences: Vec::new(),
        }
    }

    /// Runs a shadow to its end that begins behind so many instructions of its parent.
    pub fn shadow(&mut self, machine: &mut Machine, from: u64, options: &ShadowOptions) -> Sample {
        let wire = Wire::default();
        let forked_ns = machine.guest_counters().time_ns;
        let policy = Arc::clone(&options.policy);
        let gate = ShadowGate::new(policy, wire.clone(), forked_ns, options.costs.slowdown);
        machine.process.os.set_gate(Some(Box::new(gate)));
        if self.to != from {
            self.profiles.interrupt();
        }
        let keeps_translations = options.costs.keeps_translations;
        self.profiles.paths.begin_sample(keeps_translations);
        let mut probe = (&mut self.profiles, Log::new(wire));
        let stop = machine.run(&mut probe, options.sample);
        let course = probe.1.finish();
        let instructions = machine.retired.program;
        let end = end_of(stop, &machine.process);
        self.to = from + instructions;
        self.shadows += 1;
        self.covered += instructions;
        *self.ends.entry(end).or_default() += 1;
        for call in course.calls() {
            *self.calls.entry((call.name, call.action)).or_default() += 1;
        }
        self.transfers += course.transfers();
        Sample {
            instructions,
            end,
            course,
            translated: self.profiles.paths.translated(),
        }
    }

    /// Counts the divergence of a shadow whose stretch the parent has left.
    pub fn leave(&mut self, comparison: &Comparison) {
        if let Some(divergence) = comparison.divergence {
            self.diverged_transfers += comparison.transfers() - divergence.transfers;
            self.divergences.push(divergence);
        }
    }
}

/// Why a shadow has ended.
pub(super) fn end_of(stop: Stop, process: &Process) -> End {
    match (stop, process.os.stop_reason()) {
        (Stop::Limit, _) => End::Sample,
        (Stop::Exit(_), _) => End::Exit,
        (Stop::Fault(_), Some(StopReason::Gate { call })) => End::Call(call),
        (Stop::Fault(_), _) => End::Fault,
    }
}
