//! The measurements of a program.

use hps_dcpi::accuracy::{Accuracy, CAUSES, Histogram};
use hps_dcpi::analysis::{Analyst, Kind, Procedure, Summary};
use hps_dcpi::collect::truth::Truth;
use hps_dcpi::collect::{DELIVERY_CYCLES, Follow, Observer, Plan};
use hps_dcpi::paper::HANDLER_CYCLES;
use hps_dcpi::samples::{Counts, Event, Range, Samples};
use hps_dcpi::table::{Replacement, Table};
use hps_lab::{Lab, Program, TimedMachine};
use hps_pipeline::pmu::{CounterConfig, Event as Counted, Turns};
use hps_productions::TableOptions;
use hps_system::cfg::Code;

use super::figures;
use super::{
    CONFIDENCES, FOLLOWS, MAIN_PERIOD, PERIODS, RUNS, RUNS_PERIOD, SPARSE, SPARSE_SETS,
    blame_setting, follow_setting,
};
use crate::measurement::Measurement;

/// Event that the counter of the charged runs counts.
const CYCLES: Counted = Counted::CYCLES;

/// Events between two samples of an event.
const EVENT_PERIOD: u64 = 8;

/// Periods around a mean, by a sixteenth to both sides: about as wide, for its length, as DCPI's.
pub(super) fn around(mean: u64) -> Range {
    let half = mean / 16;
    Range {
        least: mean - half,
        most: mean + half,
    }
}

/// A counter of cycles.
pub(super) fn cycles(period: Range, seed: u64) -> Plan {
    Plan {
        event: Event::Cycles,
        period,
        seed,
        turns: None,
        follow: Follow::Nothing,
    }
}

/// The counter of cycles of the main results, whose samples tell where the program goes on.
pub(super) fn following(follow: Follow) -> Plan {
    Plan {
        follow,
        ..cycles(around(MAIN_PERIOD), MAIN_PERIOD)
    }
}

/// The counters: each period, a fixed one, edge samples, every other event, and the eighty runs.
fn plans() -> Vec<Plan> {
    let mut plans: Vec<Plan> = PERIODS.map(|p| cycles(around(p), p)).to_vec();
    // The trace of the published period is that of the hash table.
    plans.push(cycles(Range::fixed(MAIN_PERIOD), 0));
    plans.extend(FOLLOWS.map(following));
    plans.extend(sparse());
    let events = Event::ALL.into_iter().filter(|e| *e != Event::Cycles);
    plans.extend(events.map(|event| Plan {
        event,
        period: Range::fixed(EVENT_PERIOD),
        seed: 1,
        turns: None,
        follow: Follow::Nothing,
    }));
    plans.extend((0..RUNS).map(|run| cycles(around(RUNS_PERIOD), 1_000_000 + run)));
    plans
}

/// Further counters of the long periods, with seeds of their own.
fn sparse() -> impl Iterator<Item = Plan> {
    let sets = |period: u64| (1..SPARSE_SETS).map(move |set| (period, set));
    let seeded = |(period, set)| cycles(around(period), 2_000_000 + SPARSE_SETS * period + set);
    SPARSE.into_iter().flat_map(sets).map(seeded)
}

/// Runs a program to its end under an observer, which is given back.
pub(super) fn observed(
    program: &Program,
    machine: &TimedMachine,
    observer: Observer,
) -> Result<Observer, String> {
    let lab = Lab::of(program).timed_by(machine).watched_by(observer);
    let ran = lab.run().map_err(|e| e.to_string())?;
    Ok(ran.successful().map_err(|e| e.to_string())?.probe)
}

/// Measurements of one program: estimates against the truth at all periods, culprits, the hash table.
pub(super) fn estimates(
    program: &Program,
    machine: &TimedMachine,
) -> Result<Vec<Measurement>, String> {
    let plans = plans();
    let main = PERIODS.iter().position(|p| *p == MAIN_PERIOD).unwrap_or(0);
    let observer = Observer::new(&machine.config, &plans).tracing(main);
    let observer = observed(program, machine, observer)?;
    let trace = observer.trace().to_vec();
    let (sampled, truth) = observer.finish();
    let (periods, rest) = sampled.split_at(PERIODS.len());
    let (fixed, rest) = rest.split_at(1);
    let (followed, rest) = rest.split_at(FOLLOWS.len());
    let (sparse, rest) = rest.split_at(sparse().count());
    let events: Vec<(Event, Counts)> = rest
        .iter()
        .filter(|(plan, _)| plan.event != Event::Cycles)
        .map(|(plan, counts)| (plan.event, counts.clone()))
        .collect();
    let runs: Vec<&Counts> = rest
        .iter()
        .filter(|(plan, _)| plan.event == Event::Cycles)
        .map(|(_, counts)| counts)
        .collect();
    let with = |cycles: &Counts| {
        let mut samples = Samples::default();
        samples.events.insert(Event::Cycles, cycles.clone());
        samples.events.extend(events.iter().cloned());
        samples
    };
    let study = Study {
        program,
        machine,
        truth: &truth,
    };
    let mut all = Vec::new();
    for (plan, counts) in periods {
        let period = (plan.period.least + plan.period.most) / 2;
        let setting = format!("period={period}");
        let is_main = period == MAIN_PERIOD;
        all.extend(study.accuracy(&with(counts), &setting, Some(period), is_main)?);
        let more = sparse
            .iter()
            .filter(|(other, _)| other.period == plan.period);
        let sets = std::iter::once(counts).chain(more.map(|(_, counts)| counts));
        all.extend(study.calibration(&setting, sets));
        if is_main {
            let mut alone = Samples::default();
            alone.events.insert(Event::Cycles, counts.clone());
            all.extend(study.accuracy(&alone, "cycles alone", None, true)?);
        }
    }
    all.extend(study.accuracy(&with(&fixed[0].1), "fixed", None, false)?);
    for (plan, counts) in followed {
        let setting = follow_setting(plan.follow);
        all.extend(study.accuracy(&with(counts), &setting, None, false)?);
    }
    all.extend(study.accuracy(&with(runs[0]), "runs=1", Some(1), false)?);
    let listed = figures::variation(program, &runs).into_iter();
    all.extend(listed.map(|(measure, value)| study.measurement("runs=1", Some(1), measure, value)));
    let mut sum = Counts::new(runs[0].period);
    for counts in &runs {
        sum.add(counts);
    }
    // The samples of eighty runs are as dense as those of one run with an eightieth of the period.
    let together = study.merged(&sum);
    all.extend(study.accuracy(&together, "runs=80", Some(RUNS), false)?);
    all.extend(table(program, &trace));
    Ok(all)
}

/// A program, the machine that it ran on, and what really happened there.
pub(super) struct Study<'a> {
    pub program: &'a Program,
    pub machine: &'a TimedMachine,
    pub truth: &'a Truth,
}

impl Study<'_> {
    fn measurement(&self, setting: &str, x: Option<u64>, measure: &str, value: f64) -> Measurement {
        Measurement {
            setting: setting.to_string(),
            x: x.map(|x| x as f64),
            ..Measurement::new(self.program, "dcpi", measure, value)
        }
    }

    /// Samples of all runs. Executions are told per run: the period is that of one run, divided by their number.
    fn merged(&self, sum: &Counts) -> Samples {
        let period = (sum.period.mean() / RUNS as f64).round() as u64;
        let mut samples = Samples::default();
        let mut counts = sum.clone();
        counts.period = Range::fixed(period);
        samples.events.insert(Event::Cycles, counts);
        samples
    }

    /// Estimates from samples against the truth.
    pub(super) fn accuracy(
        &self,
        samples: &Samples,
        setting: &str,
        x: Option<u64>,
        is_main: bool,
    ) -> Result<Vec<Measurement>, String> {
        let code = Code::new(&self.program.image);
        let analyst = Analyst::as_if_in_order(&code, &self.machine.config);
        let mut accuracy = Accuracy::default();
        let mut summary = Summary::default();
        let mut procedures = Vec::new();
        for function in code.functions() {
            let procedure = analyst.procedure(function, samples);
            accuracy.add(&procedure, samples, self.truth);
            let own = Summary::of(&procedure);
            summary.add(&own);
            if is_main {
                procedures.push((procedure, own));
            }
        }
        let m = |measure: &str, value: f64| self.measurement(setting, x, measure, value);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let mut all = vec![m("samples", accuracy.samples as f64)];
        let histograms = [
            ("frequency", &accuracy.frequencies),
            ("edge", &accuracy.edges),
            ("cpi", &accuracy.cycles),
        ];
        for (name, histogram) in histograms {
            for (limit, percent) in [5, 10, 15].iter().zip(histogram.shares()) {
                all.push(m(&format!("{name}_within_{limit}_percent"), percent));
            }
            if is_main || name == "edge" && accuracy.directions.met > 0.0 {
                all.extend(self.buckets(setting, name, histogram));
            }
        }
        let wrong = accuracy.frequencies.total() - accuracy.frequencies.within[2];
        let e = accuracy.explained;
        all.extend([
            m(
                "confident_of_wrong_ratio",
                share(accuracy.frequencies.confident, wrong),
            ),
            m("named_stall_ratio", share(e.named, e.stalls)),
            m("silent_stall_ratio", share(e.silent, e.stalls)),
            m("in_range_stall_ratio", share(e.in_range, e.ranged)),
            m(
                "unexplained_ratio",
                share(summary.unexplained_stall, summary.samples),
            ),
            m(
                "dynamic_stall_ratio",
                share(summary.dynamic_stalls(), summary.samples),
            ),
        ]);
        let d = accuracy.directions;
        if d.met > 0.0 {
            all.extend([
                m("direction_met_ratio", share(d.met, d.executions)),
                m("direction_within_10_ratio", share(d.within_10, d.met)),
            ]);
        }
        if is_main {
            let listings = [
                figures::procedures(self.program, samples),
                figures::cycles(&procedures),
            ];
            let listed = listings.into_iter().flatten();
            all.extend(listed.map(|(measure, value)| m(measure, value)));
            all.extend(self.icache(setting, samples, &procedures));
            all.extend(self.blame(samples, &accuracy));
        }
        Ok(all)
    }

    /// Stalls by cause, with events sampled or without: shares that are true of those that are blamed on the cause, and
    /// that are blamed on it of those that have it.
    fn blame(&self, samples: &Samples, accuracy: &Accuracy) -> Vec<Measurement> {
        let with = if samples.of(Event::Imiss).is_some() {
            ""
        } else {
            "alone_"
        };
        let stalls = accuracy.explained.stalls.max(f64::MIN_POSITIVE);
        let causes = CAUSES.iter().zip(accuracy.blame);
        let all = causes.flat_map(|(cause, blame)| {
            let shares = [
                ("real", Some(blame.real / stalls)),
                ("precision", blame.precision()),
                ("recall", blame.recall()),
            ];
            shares.into_iter().filter_map(move |(share, value)| {
                let (setting, measure) =
                    (blame_setting(*cause), format!("blame_{with}{share}_ratio"));
                Some(self.measurement(&setting, None, &measure, value?))
            })
        });
        all.collect()
    }

    /// Of the samples of each confidence in sets of samples, their share of all and that within 10% of the truth.
    fn calibration<'c>(
        &self,
        setting: &str,
        sets: impl Iterator<Item = &'c Counts>,
    ) -> Vec<Measurement> {
        let code = Code::new(&self.program.image);
        let analyst = Analyst::as_if_in_order(&code, &self.machine.config);
        let mut accuracy = Accuracy::default();
        for counts in sets {
            let mut samples = Samples::default();
            samples.events.insert(Event::Cycles, counts.clone());
            for function in code.functions() {
                accuracy.add(&analyst.procedure(function, &samples), &samples, self.truth);
            }
        }
        let histogram = accuracy.frequencies;
        let total = histogram.total().max(f64::MIN_POSITIVE);
        let all = CONFIDENCES.iter().zip(histogram.calibration);
        let all = all.filter(|(_, [weight, _])| *weight > 0.0);
        let both = all.flat_map(|(name, [weight, near])| {
            let shares = [("share", weight / total), ("within_10", near / weight)];
            shares.map(|(of, value)| {
                self.measurement(setting, None, &format!("{name}_{of}_ratio"), value)
            })
        });
        both.collect()
    }

    fn buckets(&self, setting: &str, name: &str, histogram: &Histogram) -> Vec<Measurement> {
        let total = histogram.total().max(f64::MIN_POSITIVE);
        let buckets = histogram.buckets.iter().enumerate();
        buckets
            .map(|(at, weight)| {
                let measure = format!("{name}_bucket_percent");
                self.measurement(setting, Some(at as u64), &measure, 100.0 * weight / total)
            })
            .collect()
    }

    /// I-cache stalls of procedures against sampled misses, for those that hold 99.9% of the samples.
    fn icache(
        &self,
        setting: &str,
        samples: &Samples,
        procedures: &[(Procedure, Summary)],
    ) -> Vec<Measurement> {
        let mut sorted: Vec<_> = procedures.iter().collect();
        sorted.sort_by_key(|(p, _)| std::cmp::Reverse(p.samples));
        let total: u64 = sorted.iter().map(|(p, _)| p.samples).sum();
        let mut seen = 0;
        let mut all = Vec::new();
        let (Some(cycles), Some(imiss)) = (samples.of(Event::Cycles), samples.of(Event::Imiss))
        else {
            return all;
        };
        for (procedure, summary) in sorted {
            if seen as f64 >= 0.999 * total as f64 {
                break;
            }
            seen += procedure.samples;
            let misses = imiss.within(procedure.cfg.range.clone()) as f64 * imiss.period.mean();
            let range = summary.dynamic[Kind::ICache as usize];
            let scheme = format!("{}::{}", self.program.name, procedure.name);
            for (measure, value) in [
                ("icache_misses", misses),
                ("icache_stall_top_cycles", range.most * cycles.period.mean()),
                (
                    "icache_stall_bottom_cycles",
                    range.least * cycles.period.mean(),
                ),
            ] {
                all.push(Measurement {
                    scheme: scheme.clone(),
                    ..self.measurement(setting, None, measure, value)
                });
            }
        }
        all
    }
}

/// The hash table over the sampled addresses: as published, and small ones in which entries are evicted.
fn table(program: &Program, trace: &[u64]) -> Vec<Measurement> {
    let (hit, miss) = HANDLER_CYCLES;
    let mut all = Vec::new();
    let shapes = [
        ("table=published", Table::published()),
        ("table=4-way", Table::new(64, 4, Replacement::Modulo)),
        ("table=4-way-front", Table::new(64, 4, Replacement::Front)),
        ("table=6-way", Table::new(64, 6, Replacement::Modulo)),
        ("table=6-way-front", Table::new(64, 6, Replacement::Front)),
    ];
    for (setting, mut table) in shapes {
        for &pc in trace {
            table.add(pc);
        }
        let ratio = table.miss_ratio();
        for (measure, value) in [
            ("table_miss_ratio", ratio),
            ("table_handler_cycles", hit + ratio * (miss - hit)),
            ("table_unaccounted_samples", {
                (table.kept() + table.evicted).abs_diff(trace.len() as u64) as f64
            }),
        ] {
            all.push(Measurement {
                setting: setting.to_string(),
                ..Measurement::new(program, "dcpi", measure, value)
            });
        }
    }
    all
}

/// Turns of the daemon's loop for an entry: with its copy about what the paper's daemon takes for one (table 4 has it by
/// sample, of which an entry holds several).
const DAEMON_LOOPS: u32 = 100;

/// Periods of events beside cycles: as many events as make a run of the published programs interrupt rarely.
const EVENTS: Range = Range {
    least: 3840,
    most: 4096,
};

/// Cycles of a turn of events that share a counter.
const TURN_CYCLES: u64 = 16_384;

/// The counters of the paper's three configurations: cycles, cycles and misses of the instruction cache, and cycles with
/// three events that share a counter (table 3). Misses of wrong paths count too.
fn counters(period: Range, events: &[&str]) -> Result<Vec<CounterConfig>, String> {
    let counter = |event, period: Range, seed| CounterConfig {
        spread: period.most - period.least,
        seed,
        skid_cycles: DELIVERY_CYCLES,
        ..CounterConfig::every(event, period.least)
    };
    let mut all = vec![counter(CYCLES, period, 1)];
    for (name, number) in events.iter().zip(0u64..) {
        let event = Counted::named(name).map_err(|e| e.to_string())?;
        let turns = Turns {
            number,
            of: events.len() as u64,
            cycles: TURN_CYCLES,
        };
        all.push(CounterConfig {
            turns: (events.len() > 1).then_some(turns),
            ..counter(event, EVENTS, 2 + number)
        });
    }
    Ok(all)
}

/// The events of the configurations "default" and "mux".
const DEFAULT: &[&str] = &["l1i.read_miss_events"];
const MUX: &[&str] = &[
    "l1i.read_miss_events",
    "l1d.read_miss_events",
    "branch_mispredicted_events",
];

/// Overhead of sampling at the published period: interrupts, the handler with its hash table, the daemon.
pub(super) fn overhead(
    program: &Program,
    machine: &TimedMachine,
) -> Result<Vec<Measurement>, String> {
    let alone = Lab::of(program).timed_by(machine).run();
    let alone = alone.map_err(|e| e.to_string())?;
    let cycles = alone.successful().map_err(|e| e.to_string())?.cycles();
    let mut all = Vec::new();
    // The published period, and one that is short enough for the table to be warm in runs as short as these.
    for (setting, period, events) in [
        ("", Range::PUBLISHED, &[][..]),
        ("period=4096", around(4096), &[]),
        ("events=default", Range::PUBLISHED, DEFAULT),
        ("events=mux", Range::PUBLISHED, MUX),
    ] {
        let counters = counters(period, events)?;
        let options = TableOptions {
            daemon_loops: DAEMON_LOOPS,
            ..TableOptions::default()
        };
        let found = Lab::of(program)
            .timed_by(machine)
            .aggregated(&counters, options)
            .map_err(|e| e.to_string())?;
        let totals: u64 = found.samples.totals().iter().sum();
        let taken = found.interrupts.taken_events;
        let handled = found.interrupts.handled_cycles as f64;
        let missed = found.samples.missed as f64 / taken.max(1) as f64;
        let ran = found.ran.successful().map_err(|e| e.to_string())?;
        for (measure, value) in [
            ("overhead_ratio", ran.cycles() as f64 / cycles as f64 - 1.0),
            ("interrupts", taken as f64),
            ("unaccounted_samples", totals.abs_diff(taken) as f64),
            ("cycles_per_interrupt", handled / taken.max(1) as f64),
            ("handler_miss_ratio", missed),
        ] {
            all.push(Measurement {
                setting: setting.to_string(),
                ..Measurement::new(program, "dcpi-handler", measure, value)
            });
        }
    }
    Ok(all)
}
