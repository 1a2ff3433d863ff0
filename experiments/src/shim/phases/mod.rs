//! Clocks and prefetchers by phase (SHIM, section 7, Figures 14 to 19): what an observer sees of a program with a phase of
//! poor locality and one of good locality, at each operating point; and a processor that is switched by what it sees.

mod claims;
mod guest;
mod policy;

use std::collections::{BTreeMap, HashMap};

use hps_lab::observer::{Observer, Operating, Placement, Reads, Sample, Signals, Throttle};
use hps_lab::{Lab, LabError, Productions, Program, TimedMachine};
use hps_pipeline::config::{L1dPrefetch, MachineConfig, NextLineConfig, SelectedEvents};
use hps_pipeline::core::OperatingPoint;
use hps_shim::Dte;
use rayon::prelude::*;

pub(super) use claims::{are_measured, statements};
pub use guest::{Extent, PHASES, program};
pub use policy::{Energy, Goal, Work};

use self::policy::{ByPhase, nanoseconds};
use super::intervals::stamps;
use crate::correlation::correlation;
use crate::measurement::Measurement;

/// A setting of clock and prefetchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Divisor of the machine's clock.
    pub divisor: u32,
    /// Whether prefetchers bring lines.
    pub prefetches: bool,
}

impl Setting {
    /// All of them; the first one is what the machine has. Clocks of 3.4, 1.7 and 0.85 GHz on the paper's machine, whose
    /// lowest is 0.8.
    pub const ALL: [Setting; 6] = [
        Setting::of(1, true),
        Setting::of(1, false),
        Setting::of(2, true),
        Setting::of(2, false),
        Setting::of(4, true),
        Setting::of(4, false),
    ];

    pub(super) const fn of(divisor: u32, prefetches: bool) -> Setting {
        Setting {
            divisor,
            prefetches,
        }
    }

    /// Name of the setting's scheme.
    #[must_use]
    pub fn name(self) -> String {
        let prefetches = if self.prefetches { "on" } else { "off" };
        format!("clock-by-{}-prefetch-{prefetches}", self.divisor)
    }

    /// Description in words.
    #[must_use]
    pub fn title(self) -> String {
        let clock = match self.divisor {
            1 => "full clock",
            2 => "half clock",
            _ => "quarter clock",
        };
        let prefetches = if self.prefetches { "with" } else { "without" };
        format!("{clock}, {prefetches} prefetcher")
    }

    fn point(self, machine: &MachineConfig) -> OperatingPoint {
        OperatingPoint {
            clock_mhz: machine.clock_mhz / self.divisor,
            prefetches: self.prefetches,
        }
    }
}

/// Cycles that the observer sleeps between two samples.
pub const SLEEP: u64 = 3_000;

/// Measure of reads of memory.
pub const REQUESTS: &str = "requests_per_100_cycles";

/// The width of a class of instructions a cycle.
pub const CLASS: f64 = 0.1;

/// How many samples a timeline has.
const TIMELINE: usize = 400;

/// A change of clocks stops the cores so long, in nanoseconds. Chosen, not measured.
const SWITCH_NS: u64 = 500;

/// The machine of the study: memory keeps its time whatever the clock, lines are prefetched, and the counters are those of
/// the paper, instructions of the program and reads of memory.
fn operated(machine: &MachineConfig) -> MachineConfig {
    let mut machine = machine.clone();
    machine.memory.clock_mhz = machine.clock_mhz;
    machine.memory.l1d_prefetch = L1dPrefetch::NextLine(NextLineConfig { degree: 2 });
    let events = ["instructions of processor 0", "l3.read_miss_events"];
    machine.counters.selected = SelectedEvents(events.map(String::from).to_vec());
    machine
}

/// A machine that has a point from the beginning.
fn fixed(machine: &MachineConfig, point: OperatingPoint) -> MachineConfig {
    let mut machine = machine.clone();
    machine.clock_mhz = point.clock_mhz;
    if !point.prefetches {
        machine.memory.l1d_prefetch = L1dPrefetch::Off;
    }
    machine
}

/// From one sample to the next.
struct Interval {
    /// The function whose tag was read.
    phase: String,
    /// Cycle of the start stamp that ends it.
    end: u64,
    work: Work,
}

/// Samples become intervals.
struct Sampling<'a> {
    program: &'a Program,
    last: Option<Sample>,
}

impl Sampling<'_> {
    /// The interval that a sample ends, if it is kept and its tag is that of a function.
    fn next(&mut self, sample: &Sample) -> Option<Interval> {
        let last = self.last.replace(*sample)?;
        if !Dte::default().keeps(stamps(&last), stamps(sample)) {
            return None;
        }
        let function = self.program.image.symbols.function_at(sample.tag)?;
        let counted = |n: usize| sample.counters[n].wrapping_sub(last.counters[n]) as f64;
        Some(Interval {
            phase: function.name.clone(),
            end: sample.start,
            work: Work {
                instructions: counted(0),
                cycles: (sample.start - last.start) as f64,
                requests: counted(1),
            },
        })
    }
}

/// Measures the program at each point, and switched by phase.
pub(super) fn measure(
    program: &Program,
    machine: &TimedMachine,
) -> Result<Vec<Measurement>, String> {
    let config = operated(&machine.config);
    let tags = ["shim_tag".to_string()];
    let tags = Productions::load(program.image.isa, &tags, HashMap::new())
        .and_then(|tags| tags.on(&config))
        .map_err(|e| e.to_string())?;
    let study = Study {
        program,
        tags: &tags,
        energy: Energy::of(config.clock_mhz),
    };
    let fixed = Setting::ALL.map(Run::Fixed).into_iter();
    let runs: Vec<Run> = fixed.chain(Goal::ALL.map(Run::ByPhase)).collect();
    let measured: Result<Vec<Vec<Measurement>>, LabError> = runs
        .into_par_iter()
        .with_max_len(1)
        .map(|run| match run {
            Run::Fixed(setting) => study.at(&config, setting),
            Run::ByPhase(goal) => study.by_phase(&config, goal),
        })
        .collect();
    let measured = measured.map_err(|e| e.to_string())?;
    Ok(measured.into_iter().flatten().collect())
}

/// A run of the program.
enum Run {
    Fixed(Setting),
    ByPhase(Goal),
}

const OBSERVER: Observer = Observer {
    placement: Placement::Cmp,
    signals: Signals::Samples { counters: 2 },
    throttle: Throttle::Sleep(SLEEP),
};

struct Study<'a> {
    program: &'a Program,
    tags: &'a Productions,
    energy: Energy,
}

impl Study<'_> {
    fn number(&self, scheme: &str, setting: &str, measure: &str, value: f64) -> Measurement {
        Measurement {
            setting: setting.to_string(),
            ..Measurement::new(self.program, scheme, measure, value)
        }
    }

    fn at(&self, machine: &MachineConfig, setting: Setting) -> Result<Vec<Measurement>, LabError> {
        let point = setting.point(machine);
        let machine = &fixed(machine, point);
        let mut sampling = Sampling {
            program: self.program,
            last: None,
        };
        let mut seen = Vec::new();
        let lab = Lab::of(self.program).on_machine(machine);
        let lab = lab.edited_by(self.tags);
        let observed = lab.observe(&OBSERVER, |sample, _, _| seen.extend(sampling.next(sample)))?;
        let observed = observed.unless_cut()?;
        let work = Work {
            instructions: observed.instructions as f64,
            cycles: observed.cycles as f64,
            requests: observed.contexts[0].memory.l3.read_miss_events as f64,
        };
        let scheme = setting.name();
        let time = nanoseconds(work.cycles, point.clock_mhz);
        let mut out = self.totals(&scheme, time, self.energy.of_work(work, point.clock_mhz));
        for phase in PHASES {
            out.extend(self.of_phase(&scheme, phase, &seen, point));
        }
        if setting == Setting::ALL[0] {
            out.extend(self.timeline(&scheme, &seen, point));
        }
        Ok(out)
    }

    fn totals(&self, scheme: &str, time: f64, energy: f64) -> Vec<Measurement> {
        let number = |measure, value| self.number(scheme, "all", measure, value);
        let goals = Goal::ALL.map(|goal| number(goal.name(), goal.of(energy, time)));
        let both = [number("time_ns", time), number("energy_cycles", energy)];
        both.into_iter().chain(goals).collect()
    }

    /// Observations of a phase: means, and how often and with how many requests each class of IPC came.
    fn of_phase(
        &self,
        scheme: &str,
        phase: &str,
        seen: &[Interval],
        point: OperatingPoint,
    ) -> Vec<Measurement> {
        let mut sum = Work::default();
        let mut classes: BTreeMap<u32, (f64, Work)> = BTreeMap::new();
        for interval in seen.iter().filter(|i| i.phase == phase) {
            sum.add(interval.work);
            let class = (interval.work.ipc() / CLASS) as u32;
            let class = classes.entry(class).or_default();
            class.0 += 1.0;
            class.1.add(interval.work);
        }
        let samples: f64 = classes.values().map(|(samples, _)| samples).sum();
        if samples == 0.0 {
            return Vec::new();
        }
        let energy = self.energy.of_work(sum, point.clock_mhz) / sum.instructions;
        let time = nanoseconds(sum.cycles, point.clock_mhz) / sum.instructions;
        let mut out = vec![
            self.number(scheme, phase, "samples", samples),
            self.number(scheme, phase, "ipc", sum.ipc()),
            self.number(scheme, phase, REQUESTS, sum.requests_per_100_cycles()),
            self.number(scheme, phase, "ns_per_instruction", time),
            self.number(scheme, phase, "energy_per_instruction", energy),
        ];
        for (class, (count, work)) in classes {
            let at = |measure: &str, value: f64| Measurement {
                x: Some((f64::from(class) + 0.5) * CLASS),
                ..self.number(scheme, &format!("{phase},class"), measure, value)
            };
            out.push(at("share_ratio", count / samples));
            out.push(at(REQUESTS, work.requests_per_100_cycles()));
        }
        out
    }

    /// IPC and requests by time, and how they go together.
    fn timeline(&self, scheme: &str, seen: &[Interval], point: OperatingPoint) -> Vec<Measurement> {
        let mut out = Vec::new();
        let is_of_phases = |i: &&Interval| PHASES.contains(&i.phase.as_str());
        let seen: Vec<&Interval> = seen.iter().filter(is_of_phases).collect();
        let first = seen.first().map_or(0, |i| i.end);
        for interval in seen.iter().take(TIMELINE) {
            let at = |measure: &str, value: f64| Measurement {
                x: Some(nanoseconds((interval.end - first) as f64, point.clock_mhz) / 1000.0),
                ..self.number(scheme, "timeline", measure, value)
            };
            out.push(at("ipc", interval.work.ipc()));
            out.push(at(REQUESTS, interval.work.requests_per_100_cycles()));
        }
        let both: Vec<(f64, f64)> = seen
            .iter()
            .map(|i| (i.work.ipc(), i.work.requests_per_100_cycles()))
            .collect();
        let correlation = correlation(&both)
            .map(|value| self.number(scheme, "timeline", "ipc_requests_correlation_ratio", value));
        out.extend(correlation);
        out
    }

    /// The processor goes by what the observer samples.
    fn by_phase(&self, machine: &MachineConfig, goal: Goal) -> Result<Vec<Measurement>, LabError> {
        let points = Setting::ALL.map(|setting| setting.point(machine));
        let mut policy = ByPhase::new(goal, &points, self.energy);
        let mut sampling = Sampling {
            program: self.program,
            last: None,
        };
        let operating = Operating {
            clock_switch_ns: SWITCH_NS,
        };
        let lab = Lab::of(self.program).on_machine(machine);
        let lab = lab.edited_by(self.tags);
        let decide = |sample: &Sample, _: &Reads, _: &_| {
            let interval = sampling.next(sample)?;
            Some(policy.next(&interval.phase, interval.work))
        };
        let observed = lab.observe_and_operate(&OBSERVER, operating, decide)?;
        let observed = observed.unless_cut()?;
        // Requests cost the same at every point.
        let requests = observed.contexts[0].memory.l3.read_miss_events as f64;
        let (mut time, mut energy) = (0.0, self.energy.request * requests);
        let mut time_at = vec![0.0; points.len()];
        let (mut since, mut now) = (0, points[0]);
        let switches = observed.switches.iter().map(|s| (s.cycle, s.point));
        for (cycle, next) in switches.chain([(observed.cycles, now)]) {
            let work = Work {
                cycles: (cycle - since) as f64,
                ..Work::default()
            };
            let taken = nanoseconds(work.cycles, now.clock_mhz);
            time += taken;
            energy += self.energy.of_work(work, now.clock_mhz);
            if let Some(at) = points.iter().position(|point| *point == now) {
                time_at[at] += taken;
            }
            (since, now) = (cycle, next);
        }
        let scheme = goal.scheme();
        let mut out = self.totals(&scheme, time, energy);
        let switches = observed.switches.len() as f64;
        out.push(self.number(&scheme, "all", "switches", switches));
        for (setting, taken) in Setting::ALL.into_iter().zip(time_at) {
            out.push(self.number(&scheme, &setting.name(), "time_ratio", taken / time));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::claims::statement::of_all;
    use crate::measurement::UnitRecord;
    use crate::table::Table;
    use hps_pipeline::core::CoreKind;

    /// The paper's machine with caches as small as the program.
    fn small_machine() -> TimedMachine {
        let mut config = MachineConfig::preset("shim-haswell-like").expect("it is a preset");
        config.memory.l1d.size_bytes = 4096;
        config.memory.l2.size_bytes = 16_384;
        config.memory.l3.size_bytes = 65_536;
        config.name = "small".to_string();
        TimedMachine {
            config,
            core: CoreKind::Cycle,
        }
    }

    #[test]
    fn what_phases_gain_by_clock_and_prefetcher_is_seen() {
        let extent = Extent {
            scattered: 1 << 12,
            in_order: 1 << 9,
            visits: [500, 3_000],
            rounds: 12,
        };
        let program = program(extent).expect("it is assembled");
        let machine = small_machine();
        let measured = measure(&program, &machine).expect("it runs");
        let record = UnitRecord {
            id: String::new(),
            version: String::new(),
            study: "phases".to_string(),
            program: program.name.clone(),
            program_hash: String::new(),
            isa: "riscv64".to_string(),
            input: String::new(),
            machine: machine.config.name.clone(),
            machine_fingerprint: String::new(),
            core: CoreKind::Cycle,
            measurements: measured,
            failure: None,
        };
        let records = [record];
        let found = Table::of(&records, "riscv64");
        let at = |setting: Setting, phase: &str, measure: &str| {
            found
                .mean(&setting.name(), phase, measure)
                .expect("it was measured")
        };
        let [full, full_off, ..] = Setting::ALL;
        let quarter = Setting::of(4, true);
        let ipc = |setting, phase| at(setting, phase, "ipc");
        assert!(ipc(quarter, "stacks") > 1.5 * ipc(full, "stacks"));
        assert!(ipc(full, "globals") > 2.0 * ipc(full, "stacks"));
        assert!(ipc(full, "globals") > 1.1 * ipc(full_off, "globals"));
        let requests = |setting| at(setting, "stacks", REQUESTS);
        assert!(requests(full) > 1.2 * requests(full_off));
        for scheme in Goal::ALL.map(Goal::scheme) {
            let share = |setting: &Setting| found.mean(&scheme, &setting.name(), "time_ratio");
            let shares: f64 = Setting::ALL.iter().filter_map(share).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{scheme}: {shares}");
            assert!(found.mean(&scheme, "all", "switches") > Some(4.0));
        }
        let claims = of_all(super::statements(&found), "riscv64");
        assert!(
            claims
                .iter()
                .all(|claim| claim.verdict != Verdict::NotMeasured)
        );
    }
}
