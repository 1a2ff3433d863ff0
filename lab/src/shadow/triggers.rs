//! Decisions at which signals shadows begin.

use hps_profile::{Edge, Profile};
use hps_shadow::accuracy::overlap;
use hps_shadow::profiles::Profiles;

use super::When;

/// Condition for a shadow, beside the load.
pub(super) enum Trigger {
    /// No condition.
    Always,
    /// The program is in a phase that shadows have not seen often enough.
    Phase(Phases),
    /// Shadows still see edges that earlier shadows have not seen.
    Convergence(Convergence),
}

impl Trigger {
    /// The load, the time between two signals in nanoseconds, and the condition at them; `None`: shadows begin at no
    /// signals.
    pub fn of(when: When) -> Option<(f64, f64, Trigger)> {
        Some(match when {
            When::Load { load, period_ns } => (load, period_ns, Trigger::Always),
            When::Phase { load, period_ns } => (load, period_ns, Trigger::Phase(Phases::default())),
            When::Convergence { load, period_ns } => {
                let trigger = Trigger::Convergence(Convergence::default());
                (load, period_ns, trigger)
            }
            When::EndToEnd => return None,
        })
    }

    /// Whether a shadow begins at this signal: the program has executed `instructions` in `ns` nanoseconds.
    pub fn wants(&mut self, instructions: u64, ns: f64) -> bool {
        match self {
            Trigger::Always => true,
            Trigger::Phase(phases) => phases.is_new(instructions, ns),
            Trigger::Convergence(convergence) => convergence.wants(),
        }
    }

    /// Notes the profiles of all shadows so far, when a shadow has ended.
    pub fn saw(&mut self, profiles: &Profiles<'_>) {
        if let Trigger::Convergence(convergence) = self {
            convergence.saw(profiles);
        }
    }
}

/// Phases that shadows have seen: by the time that an instruction took between two signals.
#[derive(Default)]
pub(super) struct Phases {
    before: (u64, f64),
    /// The time of an instruction in each phase, and shadows in it.
    seen: Vec<(f64, u64)>,
}

/// Times that differ by less than this share are of one phase.
const PHASE_SHARE: f64 = 0.1;

impl Phases {
    /// Whether a shadow here sees a new phase: the phase since the last signal has had at most the mean number of
    /// shadows of all phases.
    fn is_new(&mut self, instructions: u64, ns: f64) -> bool {
        let (from, from_ns) = std::mem::replace(&mut self.before, (instructions, ns));
        let executed = instructions.saturating_sub(from).max(1);
        let here = (ns - from_ns) / executed as f64;
        let close = |known: f64| (known - here).abs() <= PHASE_SHARE * known;
        let mean =
            self.seen.iter().map(|(_, n)| *n as f64).sum::<f64>() / self.seen.len().max(1) as f64;
        match self.seen.iter_mut().find(|(known, _)| close(*known)) {
            Some((_, count)) => {
                let is_new = *count as f64 <= mean;
                *count += u64::from(is_new);
                is_new
            }
            None => {
                self.seen.push((here, 1));
                true
            }
        }
    }
}

/// Test of whether shadows still see new edges. While the last shadow's edges are like those of all shadows before it,
/// signals are passed over, twice as many each time. When they are not alike, all signals count again.
#[derive(Default)]
pub(super) struct Convergence {
    seen: Profile<Edge>,
    /// Signals to be passed over behind the last shadow.
    gap: u64,
    left: u64,
}

/// Least overlap of one shadow's edges with those of all shadows before it at which the shadow has seen nothing new.
const ALIKE: f64 = 0.8;
/// Signals that are passed over at first, and at most: the lives of one shadow and of eight.
const GAPS: (u64, u64) = (20, 160);

impl Convergence {
    fn wants(&mut self) -> bool {
        let wants = self.left == 0;
        self.left = self.left.saturating_sub(1);
        wants
    }

    fn saw(&mut self, profiles: &Profiles<'_>) {
        let all = profiles.by_edge();
        let mut last = Profile::new();
        for (edge, count) in all.iter() {
            last.add(*edge, count - self.seen.weight(edge));
        }
        let is_alike = overlap(&self.seen, &last).is_some_and(|overlap| overlap >= ALIKE);
        self.gap = match is_alike {
            true => (2 * self.gap).clamp(GAPS.0, GAPS.1),
            false => 0,
        };
        self.left = self.gap;
        self.seen = all;
    }
}
