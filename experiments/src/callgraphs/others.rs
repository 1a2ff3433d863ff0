//! Methods that the collectors are compared with: calls at yield points that a timer asks for (the thesis's baseline),
//! HPS, and last branch records. All run on one context, with the rest of the chip idle.

use std::collections::HashMap;

use hps_dise::DiseConfig;
use hps_lab::{Collecting, Lab, Productions, Watch, dise_config};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::pmu::CounterConfig;
use hps_productions::{CollectedProfile, Collector, CollectorOptions, SamplePoint};
use hps_profile::{CallPair, Profile, ProfileKind};
use hps_profilers::{Period, registry};

use super::graph::Found;
use super::measure::{Study, text};
use crate::measurement::Measurement;

/// Another profiler of calls, at one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Yield points that nobody asks for anything.
    YieldIdle,
    /// Yield points: a burst of so many calls in so many cycles.
    Yield {
        /// Calls of a burst.
        burst: u32,
        /// Cycles from burst to burst.
        period: u64,
    },
    /// HPS: a burst of so many events in so many.
    Hps {
        /// Events of a burst.
        burst: u64,
        /// Events from burst to burst.
        one_in: u64,
    },
    /// Last branch records, read every so many cycles.
    Lbr(u64),
}

/// All of them.
pub const OTHERS: [Other; 14] = [
    Other::YieldIdle,
    Other::Yield {
        burst: 1,
        period: 1_000,
    },
    Other::Yield {
        burst: 8,
        period: 1_000,
    },
    Other::Yield {
        burst: 1,
        period: 10_000,
    },
    Other::Yield {
        burst: 8,
        period: 10_000,
    },
    Other::Yield {
        burst: 1,
        period: 100_000,
    },
    Other::Yield {
        burst: 8,
        period: 100_000,
    },
    Other::Hps {
        burst: 1,
        one_in: 10,
    },
    Other::Hps {
        burst: 8,
        one_in: 80,
    },
    Other::Hps {
        burst: 1,
        one_in: 100,
    },
    Other::Hps {
        burst: 8,
        one_in: 800,
    },
    Other::Hps {
        burst: 8,
        one_in: 8,
    },
    Other::Lbr(1_000),
    Other::Lbr(10_000),
];

impl Other {
    /// The name in measurements.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Other::YieldIdle => "yield".to_string(),
            Other::Yield { burst, .. } => format!("yield-{burst}"),
            Other::Hps { burst, .. } => format!("hps-{burst}"),
            Other::Lbr(_) => "lbr".to_string(),
        }
    }

    /// Description in words.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Other::YieldIdle => "yield points".to_string(),
            Other::Yield { burst: 1, .. } => "yield points, one call".to_string(),
            Other::Yield { burst, .. } => format!("yield points, bursts of {burst}"),
            Other::Hps {
                burst: 8,
                one_in: 8,
            } => "DISE, every call".to_string(),
            Other::Hps { burst: 1, .. } => "HPS, one event".to_string(),
            Other::Hps { burst, .. } => format!("HPS, bursts of {burst}"),
            Other::Lbr(_) => "last branch records".to_string(),
        }
    }

    /// Setting in measurements.
    #[must_use]
    pub fn setting(self) -> String {
        match self {
            Other::YieldIdle => "alone".to_string(),
            Other::Yield { period, .. } | Other::Lbr(period) => format!("wait={period}"),
            Other::Hps { one_in, .. } => format!("one_in={one_in}"),
        }
    }
}

impl Study<'_> {
    /// Runs the program under another profiler.
    pub(super) fn other(&self, other: Other) -> Result<Vec<Measurement>, String> {
        let machine = alone(&self.machine.config);
        let (cycles, pairs) = match other {
            Other::YieldIdle => self.yielding(&machine, None, 1)?,
            Other::Yield { burst, period } => {
                self.yielding(&machine, Some(CounterConfig::timer(period)), burst)?
            }
            Other::Hps { burst, one_in } => self.hps(&machine, burst, one_in)?,
            Other::Lbr(period) => self.lbr(&machine, period)?,
        };
        let number = |measure: &str, value: f64| Measurement {
            setting: other.setting(),
            ..Measurement::new(self.program, &other.name(), measure, value)
        };
        let total = pairs.total() as f64;
        let overhead = cycles as f64 / self.cycles_alone as f64 - 1.0;
        let mut out = vec![number("overhead_ratio", overhead)];
        if other != Other::YieldIdle {
            let (by_function, by_site) =
                Found::by_site(self.functions, pairs).accuracy(&self.complete);
            out.push(number("accuracy_ratio", by_function));
            out.extend(by_site.map(|accuracy| number("site_accuracy_ratio", accuracy)));
            out.push(number("calls_found", total));
            out.push(number("found_ratio", total / self.complete.calls() as f64));
        }
        Ok(out)
    }

    fn yielding(
        &self,
        machine: &MachineConfig,
        timer: Option<CounterConfig>,
        burst: u32,
    ) -> Result<(u64, Profile<CallPair>), String> {
        let names = ["yield_points".to_string()];
        let productions = Productions::load(self.program.image.isa, &names, HashMap::new());
        let productions = productions.and_then(|p| p.on(machine)).map_err(text)?;
        let lab = Lab::of(self.program).on_machine(machine);
        let lab = lab.edited_by(&productions).limit(self.limit);
        let run = lab.yielding(&productions, timer, burst).map_err(text)?;
        Ok((run.ran.cycles(), run.calls))
    }

    fn hps(
        &self,
        machine: &MachineConfig,
        burst: u64,
        one_in: u64,
    ) -> Result<(u64, Profile<CallPair>), String> {
        let at = SamplePoint {
            burst,
            sparsity: one_in - burst,
        };
        let dise: DiseConfig = dise_config(machine);
        let options = CollectorOptions {
            dise,
            ..CollectorOptions::default()
        };
        let collector = Collector::new(ProfileKind::CallPair, at, &options).map_err(text)?;
        let lab = Lab::of(self.program).on_machine(machine);
        let ran = lab.edited_by(&collector).limit(self.limit).run();
        let ran = ran.map_err(text)?;
        match collector.read(&ran.process).map_err(text)? {
            CollectedProfile::CallPair { call_pairs, .. } => Ok((ran.cycles(), call_pairs)),
            _ => Err("internal error: no call pairs".to_string()),
        }
    }

    /// Calls among the branches that samples read.
    fn lbr(
        &self,
        machine: &MachineConfig,
        period: u64,
    ) -> Result<(u64, Profile<CallPair>), String> {
        let profiler = registry::find("lbr").ok_or("no last branch records")?;
        let period = Period::cycles(Period::prime_from(period));
        let watch = Watch {
            samplers: vec![((profiler.policy)(), period)],
            ..Watch::default()
        };
        let lab = Lab::of(self.program).on_machine(machine).limit(self.limit);
        let how = Collecting::new(profiler.records, period);
        let run = lab.collected(&how, watch).map_err(text)?;
        let branches = run.truth.sampled.first().and_then(|s| s.branches.as_ref());
        let branches = branches.ok_or("no last branch records")?;
        let calls = branches
            .edges
            .iter()
            .filter_map(|(&(site, target), count)| {
                let pair = CallPair { site, target };
                (self.complete.by_site.weight(&pair) > 0).then_some((pair, *count))
            });
        Ok((run.truth.ran.cycles(), calls.collect()))
    }
}

/// The machine with one context.
pub(super) fn alone(machine: &MachineConfig) -> MachineConfig {
    let mut machine = machine.clone();
    machine.chip.cores = 1;
    machine.chip.contexts = 1;
    machine
}
