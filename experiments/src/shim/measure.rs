//! Measurements of one program: each kind of observer at each wait, against the program alone.

use std::collections::HashMap;

use hps_lab::observer::{Observed, Observer, Placement, Signals, Throttle};
use hps_lab::{Isa, Lab, Productions, Program, TimedMachine};
use hps_pipeline::config::{LittleConfig, MachineConfig, SmtPolicy};
use hps_pipeline::core::{Cause, CoreStats};
use hps_shim::Dte;
use rayon::prelude::*;

use super::intervals::{Counting, Intervals, percentile};
use super::pair::{WAITS as PAIR_WAITS, pair};
use super::{functions, held};
use crate::measurement::Measurement;

/// Turns of an empty loop between two samples, 0: as fast as the observer can; from [`SLEEPS`] on cycles of sleep.
pub const WAITS: [u64; 6] = [0, 30, 100, 300, 1_000, 10_000];

/// From this wait on the observer sleeps, as the paper's does where it is slow.
pub const SLEEPS: u64 = 10_000;

/// The paper's tolerance and others, in parts per million.
const TOLERANCES: [u32; 7] = [
    1_000,
    3_000,
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000_000,
];

/// A kind of observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One tag, on the second context.
    TagSmt,
    /// One tag, on a second core.
    TagCmp,
    /// Instructions a cycle and the tag, on the second context: the counter of the core less the observer's own.
    IpcSmt,
    /// Instructions a cycle and the tag, on a second core, which reads the counter of the first one (proposed hardware).
    IpcCmp,
    /// Like [`Kind::TagSmt`], in one issue slot and only when the program has nothing ready (proposed hardware).
    TagSmtBackground,
    /// Like [`Kind::IpcSmt`], likewise.
    IpcSmtBackground,
    /// Like [`Kind::TagCmp`], with reads that allocate nothing and take no part in coherence (proposed hardware).
    TagCmpQuiet,
    /// Like [`Kind::TagCmp`], on a small core that issues in order (proposed hardware).
    TagCmpLittle,
    /// Like [`Kind::IpcCmp`], likewise.
    IpcCmpLittle,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 9] = [
        Kind::TagSmt,
        Kind::TagCmp,
        Kind::IpcSmt,
        Kind::IpcCmp,
        Kind::TagSmtBackground,
        Kind::IpcSmtBackground,
        Kind::TagCmpQuiet,
        Kind::TagCmpLittle,
        Kind::IpcCmpLittle,
    ];

    /// The name in measurements.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::TagSmt => "tag-smt",
            Kind::TagCmp => "tag-cmp",
            Kind::IpcSmt => "ipc-smt",
            Kind::IpcCmp => "ipc-cmp",
            Kind::TagSmtBackground => "tag-smt-background",
            Kind::IpcSmtBackground => "ipc-smt-background",
            Kind::TagCmpQuiet => "tag-cmp-quiet",
            Kind::TagCmpLittle => "tag-cmp-little",
            Kind::IpcCmpLittle => "ipc-cmp-little",
        }
    }

    /// Description in words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Kind::TagSmt => "tag, same core",
            Kind::TagCmp => "tag, other core",
            Kind::IpcSmt => "IPC and tag, same core",
            Kind::IpcCmp => "IPC and tag, other core, remote counter",
            Kind::TagSmtBackground => "tag, same core, lowest priority",
            Kind::IpcSmtBackground => "IPC and tag, same core, lowest priority",
            Kind::TagCmpQuiet => "tag, other core, quiet reads",
            Kind::TagCmpLittle => "tag, small in-order core",
            Kind::IpcCmpLittle => "IPC and tag, small in-order core, remote counter",
        }
    }

    /// The waits at which it is run on programs of an instruction set.
    #[must_use]
    pub fn waits(self) -> &'static [u64] {
        match self {
            Kind::TagSmtBackground | Kind::IpcSmtBackground => &WAITS[..4],
            _ => &WAITS,
        }
    }

    pub(super) fn placement(self) -> Placement {
        match self {
            Kind::TagSmt | Kind::IpcSmt | Kind::TagSmtBackground | Kind::IpcSmtBackground => {
                Placement::Smt
            }
            _ => Placement::Cmp,
        }
    }

    pub(super) fn counting(self) -> Counting {
        match self {
            Kind::IpcSmt | Kind::IpcSmtBackground => Counting::CoreLessOwn,
            Kind::IpcCmp | Kind::IpcCmpLittle => Counting::Remote,
            _ => Counting::Nothing,
        }
    }

    pub(super) fn signals(self) -> Signals {
        match self.counting() {
            Counting::CoreLessOwn => Signals::Samples { counters: 2 },
            Counting::Remote => Signals::Samples { counters: 3 },
            Counting::Exact | Counting::Nothing => Signals::Tag,
        }
    }

    /// Alpha has no counters of instructions.
    fn exists_on(self, isa: Isa) -> bool {
        isa == Isa::Riscv64 || self.counting() == Counting::Nothing
    }

    fn machine(self, machine: &MachineConfig) -> MachineConfig {
        let mut machine = machine.clone();
        match self {
            Kind::TagSmtBackground | Kind::IpcSmtBackground => {
                machine.chip.smt_policy = SmtPolicy::Background;
            }
            // A look-up in the other core, without any change there.
            Kind::TagCmpQuiet => {
                machine.chip.quiet_read_cycles = machine.chip.transfer_cycles.max(1)
            }
            // The last core becomes the small one of that preset. Contexts without a thread cost nothing, and small cores
            // have none.
            Kind::TagCmpLittle | Kind::IpcCmpLittle => {
                let preset = MachineConfig::preset("big-little");
                machine.little = preset.map_or_else(|_| LittleConfig::default(), |m| m.little);
                machine.chip.little_cores = 1;
                machine.chip.contexts = 1;
            }
            _ => {}
        }
        machine
    }
}

/// Measures one program.
pub(super) fn measure(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
) -> Result<Vec<Measurement>, String> {
    let isa = program.image.isa;
    let study = Study {
        program,
        limit,
        tags: Productions::load(isa, &["shim_tag".to_string()], HashMap::new())
            .and_then(|tags| tags.on(&machine.config))
            .map_err(|e| e.to_string())?,
    };
    let plain = Lab::of(program).on_machine(&machine.config).limit(limit);
    let plain = plain
        .unobserved(Placement::Smt)
        .and_then(Observed::unless_cut)
        .map_err(|e| e.to_string())?
        .cycles;
    let mut runs: Vec<(Kind, Option<u64>)> = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| kind.exists_on(isa)) {
        runs.push((kind, None));
        runs.extend(kind.waits().iter().map(|wait| (kind, Some(*wait))));
    }
    let measured: Result<Vec<Vec<Measurement>>, String> = runs
        .into_par_iter()
        .with_max_len(1)
        .map(|(kind, wait)| {
            let machine = kind.machine(&machine.config);
            match wait {
                None => study.alone(kind, &machine, plain),
                Some(wait) => study.observed(kind, &machine, wait),
            }
        })
        .collect();
    let held: Result<Vec<Vec<Measurement>>, String> = held::HELD
        .into_par_iter()
        .map(|kind| held::measure(&study, kind, &machine.config))
        .collect();
    let mut all: Vec<Measurement> = measured?.into_iter().chain(held?).flatten().collect();
    if !Kind::IpcSmt.exists_on(isa) {
        all.extend(functions::measure(&study, &machine.config)?);
    }
    Ok(all)
}

/// A program with its tags.
pub(super) struct Study<'a> {
    pub program: &'a Program,
    pub limit: u64,
    pub tags: Productions,
}

impl Study<'_> {
    pub(super) fn lab<'a>(
        &'a self,
        machine: &'a MachineConfig,
    ) -> Lab<'a, hps_lab::Timed<'a>, &'a Productions> {
        let lab = Lab::of(self.program).on_machine(machine);
        lab.edited_by(&self.tags).limit(self.limit)
    }

    fn number(&self, kind: Kind, wait: u64, measure: &str, value: f64) -> Measurement {
        Measurement {
            setting: format!("wait={wait}"),
            x: Some(wait as f64),
            ..Measurement::new(self.program, kind.name(), measure, value)
        }
    }

    /// The program with its tags and without an observer.
    fn alone(
        &self,
        kind: Kind,
        machine: &MachineConfig,
        plain: u64,
    ) -> Result<Vec<Measurement>, String> {
        let alone = self
            .lab(machine)
            .unobserved(kind.placement())
            .and_then(Observed::unless_cut)
            .map_err(|e| e.to_string())?;
        let number = |measure: &str, value: f64| Measurement {
            setting: "alone".to_string(),
            ..Measurement::new(self.program, kind.name(), measure, value)
        };
        let mut all = vec![number("cycles", alone.cycles as f64)];
        if kind == Kind::TagSmt {
            all.push(number(
                "tag_cost_ratio",
                alone.cycles as f64 / plain as f64 - 1.0,
            ));
            all.push(number(
                "true_ipc",
                alone.instructions as f64 / alone.cycles as f64,
            ));
        }
        Ok(all)
    }

    fn observed(
        &self,
        kind: Kind,
        machine: &MachineConfig,
        wait: u64,
    ) -> Result<Vec<Measurement>, String> {
        let observer = Observer {
            placement: kind.placement(),
            signals: kind.signals(),
            throttle: match wait {
                0 => Throttle::None,
                SLEEPS.. => Throttle::Sleep(wait),
                turns => Throttle::Spin(turns),
            },
        };
        let mut intervals = Intervals::new(&self.program.image, kind.counting());
        let lab = self.lab(machine);
        let observed = lab.observe(&observer, |s, r, reckoning| intervals.see(s, r, reckoning));
        let observed = observed
            .and_then(Observed::unless_cut)
            .map_err(|e| e.to_string())?;
        let number = |measure: &str, value: f64| self.number(kind, wait, measure, value);
        let coherence = observed.contexts[0].memory.coherence;
        let kilocycles = observed.cycles as f64 / 1000.0;
        let mut all = vec![
            number("cycles", observed.cycles as f64),
            number("samples", observed.samples as f64),
            number("period_cycles", observed.period()),
            number(
                "observer_ipc",
                observed.observer().commit_program_instructions as f64 / observed.cycles as f64,
            ),
            number(
                "downgrades_per_kilocycle",
                coherence.downgrade_events as f64 / kilocycles,
            ),
            number(
                "upgrades_per_kilocycle",
                coherence.upgrade_events as f64 / kilocycles,
            ),
        ];
        if kind.placement() == Placement::Smt {
            // The observer's share of the core that it has in common with the program.
            let (first, own) = (&observed.contexts[0], observed.observer());
            let share = |of: fn(&CoreStats) -> u64| {
                let (observer, program) = (of(own) as f64, of(&first.stats) as f64);
                observer / (observer + program).max(1.0)
            };
            let lost = first.cpi.get(Cause::Sibling) as f64 / first.cpi.total().max(1) as f64;
            all.extend([
                number("observer_fetch_ratio", share(|s| s.fetch_instructions)),
                number(
                    "observer_dispatch_ratio",
                    share(|s| s.dispatch_instructions),
                ),
                number("slots_to_observer_ratio", lost),
            ]);
        }
        if kind.counting() != Counting::Nothing && !intervals.all.is_empty() {
            all.extend(self.of_intervals(kind, wait, &intervals));
        }
        if kind == Kind::IpcSmt && wait == functions::WAIT {
            all.extend(functions::measurements(self, &intervals));
        }
        Ok(all)
    }

    /// Samples against the truth.
    fn of_intervals(&self, kind: Kind, wait: u64, intervals: &Intervals<'_>) -> Vec<Measurement> {
        let number = |measure: &str, value: f64| self.number(kind, wait, measure, value);
        let (dte, all) = (Dte::default(), &intervals.all);
        let count = all.len() as f64;
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        let mut out = vec![
            number(
                "kept_ratio",
                share(all.iter().filter(|i| i.is_kept(dte)).count(), all.len()),
            ),
            number("tag_overlap_ratio", intervals.overlap()),
            number(
                "purity_ratio",
                all.iter().map(|i| i.purity).sum::<f64>() / count,
            ),
        ];
        // Is what is discarded damaged, and what is damaged discarded?
        let damaged = all.iter().filter(|i| i.is_damaged()).count();
        let discarded = all.iter().filter(|i| !i.is_kept(dte)).count();
        let both = all
            .iter()
            .filter(|i| i.is_damaged() && !i.is_kept(dte))
            .count();
        out.extend([
            number("damaged_ratio", share(damaged, all.len())),
            number("dte_precision_ratio", share(both, discarded)),
            number("dte_recall_ratio", share(both, damaged)),
            number(
                "damaged_kept_ratio",
                share(damaged - both, all.len() - discarded),
            ),
        ]);
        let mean = |of: &dyn Fn(&super::intervals::Interval) -> Option<f64>| {
            let values: Vec<f64> = all.iter().filter_map(of).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        out.extend([
            number("true_ipc_of_all", mean(&|i| Some(i.true_ipc()))),
            number(
                "true_ipc_of_kept",
                mean(&|i| i.is_kept(dte).then(|| i.true_ipc())),
            ),
            number(
                "ipc_error_of_all",
                mean(&|i| Some((i.ipc() - i.true_ipc()).abs())),
            ),
            number(
                "ipc_error_of_kept",
                mean(&|i| i.is_kept(dte).then(|| (i.ipc() - i.true_ipc()).abs())),
            ),
        ]);
        for ppm in TOLERANCES {
            let dte = Dte { tolerance_ppm: ppm };
            let at = |measure: &str, value: f64| Measurement {
                setting: format!("wait={wait},tolerance={ppm}"),
                x: Some(f64::from(ppm) / 1e6),
                ..self.number(kind, wait, measure, value)
            };
            out.push(at(
                "kept_ratio",
                mean(&|i| Some(f64::from(u8::from(i.is_kept(dte))))),
            ));
            out.push(at(
                "ipc_error_of_kept",
                mean(&|i| i.is_kept(dte).then(|| (i.ipc() - i.true_ipc()).abs())),
            ));
        }
        let of_all =
            |of: fn(&super::intervals::Interval) -> f64| all.iter().map(of).collect::<Vec<f64>>();
        let of_kept = |of: fn(&super::intervals::Interval) -> f64| {
            let kept = all.iter().filter(|i| i.is_kept(dte));
            kept.map(of).collect::<Vec<f64>>()
        };
        let mut spreads = vec![
            ("cpc_before", of_all(super::intervals::Interval::cpc)),
            ("cpc_after", of_kept(super::intervals::Interval::cpc)),
            ("ipc_before", of_all(super::intervals::Interval::ipc)),
            ("ipc_after", of_kept(super::intervals::Interval::ipc)),
            ("own_ipc", of_all(|i| i.own / i.cycles())),
        ];
        for factor in [10, 100] {
            let name = if factor == 10 {
                "ipc_every_10"
            } else {
                "ipc_every_100"
            };
            spreads.push((name, intervals.ipc_of_every(factor, dte)));
        }
        for (name, mut values) in spreads {
            for (suffix, at) in [
                ("min", 0.0),
                ("p10", 0.1),
                ("p50", 0.5),
                ("p90", 0.9),
                ("max", 1.0),
            ] {
                if let Some(value) = percentile(&mut values, at) {
                    out.push(number(&format!("{name}_{suffix}"), value));
                }
            }
        }
        out
    }
}

/// Measures the producer of an instruction set beside a consumer, at all waits of both.
pub(super) fn pairs(
    producer: &Program,
    machine: &TimedMachine,
) -> Result<Vec<Measurement>, String> {
    let isa = producer.image.isa;
    let mut settings = Vec::new();
    for placement in [Placement::Smt, Placement::Cmp] {
        for producer_wait in PAIR_WAITS {
            settings
                .extend(PAIR_WAITS.map(|consumer_wait| (placement, producer_wait, consumer_wait)));
        }
    }
    let measured: Result<Vec<Vec<Measurement>>, String> = settings
        .into_par_iter()
        .with_max_len(1)
        .map(|(placement, producer_wait, consumer_wait)| {
            let pair = pair(
                isa,
                &machine.config,
                placement,
                (producer_wait, consumer_wait),
            );
            let pair = pair.map_err(|e| e.to_string())?;
            let scheme = match placement {
                Placement::Smt => "pair-smt",
                Placement::Cmp => "pair-cmp",
            };
            let number = |measure: &str, value: f64| Measurement {
                setting: format!("producer={producer_wait},consumer={consumer_wait}"),
                x: Some(consumer_wait as f64),
                ..Measurement::new(producer, scheme, measure, value)
            };
            Ok(vec![
                number("overhead_ratio", pair.overhead),
                number("added_cycles", pair.added_cycles),
                number("read_period_cycles", pair.read_period),
                number("write_period_cycles", pair.write_period),
                number("invalidations_per_kilocycle", pair.invalidations),
            ])
        })
        .collect();
    Ok(measured?.into_iter().flatten().collect())
}
