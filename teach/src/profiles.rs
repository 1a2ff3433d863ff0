//! The exact profile, and what HPS and sampling profilers say of the same run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hps_isa::said;
use hps_lab::{Truth, Watch, dise_config};
use hps_productions::{
    CollectedProfile, Collector, CollectorOptions, GridProbe, SamplePoint, Scheme,
};
use hps_profile::{Fraction, Profile, ProfileKind, accuracy, error_without_cut};
use hps_profilers::beat::{Beat, Key};
use hps_profilers::oracle::{Charge, STATES};
use hps_profilers::policy::{BranchRecords, Moment, Policy};
use hps_profilers::registry;
use hps_profilers::sampler::Credits;
use hps_profilers::views::{FunctionMap, Level, Member as MemberId, Members};
use hps_profilers::{ExactProfile, Sampled, Spread};
use rustc_hash::FxHashMap;

use crate::protocol::{
    HpsOrder, HpsResult, Mark, Member, Opinion, Problem, ProfileOrder, ProfilerOrder, Profiles, hex,
};
use crate::session::Session;

/// Note that a machine with several contexts has an exact profile only.
const SEVERAL: &str = "Sampling profilers and HPS watch machines with one context; this one has several, and only the \
    truth is shown.";
/// Most samples of a profiler that are shown one by one.
const MOST_MARKS: usize = 5000;

impl Session {
    /// The run once more under the oracle.
    pub(crate) fn truth(&self, watch: Watch) -> Result<(ExactProfile, Vec<Sampled>), Problem> {
        let ready = self.ready();
        let lab = ready.timed();
        Ok(match &ready.productions {
            None => apart(lab.watched(watch)?),
            Some(productions) => apart(lab.edited_by(productions).watched(watch)?),
        })
    }

    /// Profiles of the run at a level.
    pub(crate) fn profiles(&self, order: &ProfileOrder) -> Result<Profiles, Problem> {
        let level = Level::ALL
            .into_iter()
            .find(|level| level.name() == order.level)
            .ok_or_else(|| Problem::new(said!("there is no level `{name}`", name = order.level)))?;
        let mut marks = Vec::new();
        let mut samplers = Vec::new();
        let is_alone = !self.has_peers();
        for one in order.profilers.iter().filter(|_| is_alone) {
            let (policy, period, seen) = sampler(one)?;
            samplers.push((policy, period));
            marks.push(seen);
        }
        let (exact, sampled) = self.truth(Watch {
            charge: Charge::Own,
            samplers,
            ..Watch::default()
        })?;
        let exact = &exact;
        let image = self.image();
        let functions = FunctionMap::new(&image.symbols, exact);
        let members = Members::new(level, exact, &image.symbols, &functions);
        let profile = members.profile(exact.weights());
        let top: Vec<(MemberId, u64)> = profile
            .listing()
            .into_iter()
            .take(order.top.clamp(1, 1000) as usize)
            .map(|(member, units)| (*member, units))
            .collect();
        let described = self.describe(exact, &members, &functions, level);
        let whole = profile.total().max(1) as f64;
        let executed = exact.executed();
        let opinions = sampled
            .iter()
            .zip(marks)
            .map(|(sampled, seen)| {
                let weights = sampled.by_instruction(&executed);
                let found = members.profile(weights.into_iter());
                let all = found.total().max(1) as f64;
                Opinion {
                    profiler: sampled.policy.to_owned(),
                    samples: sampled.credits.credited,
                    lost: sampled.credits.lost + sampled.credits.collided,
                    error: error_without_cut(&found, &profile),
                    shares: top
                        .iter()
                        .map(|(member, _)| found.weight(member) as f64 / all)
                        .collect(),
                    marks: seen
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .drain(..)
                        .map(|(cycle, pc)| Mark { cycle, pc: hex(pc) })
                        .collect(),
                }
            })
            .collect();
        let members = top.iter().map(|(id, units)| {
            let empty = Described::default();
            let one = described.get(id).unwrap_or(&empty);
            let part = |(name, units): (&String, &u64)| (name.clone(), *units as f64 / whole);
            Member {
                name: one.name.clone(),
                pc: hex(one.pc),
                share: *units as f64 / whole,
                parts: one.parts.iter().map(part).collect(),
            }
        });
        let mut states = [0u64; STATES.len()];
        for row in &exact.rows {
            for &(spent, _, units) in &row.cells {
                states[spent.state()] += units;
            }
        }
        let named = STATES.iter().zip(states);
        Ok(Profiles {
            cycles: exact.cycles,
            truth: members.collect(),
            opinions,
            hps: match &order.hps {
                Some(hps) if is_alone => Some(self.hps(hps)?),
                _ => None,
            },
            missing: match is_alone {
                true => String::new(),
                false => SEVERAL.to_owned(),
            },
            states: named
                .map(|(name, units)| ((*name).to_owned(), units as f64 / whole))
                .collect(),
        })
    }

    /// Names and parts of members.
    fn describe(
        &self,
        exact: &ExactProfile,
        members: &Members,
        functions: &FunctionMap,
        level: Level,
    ) -> FxHashMap<MemberId, Described> {
        let image = self.image();
        let function = |pc: u64| match functions.find(pc) {
            Some(at) => {
                let f = &functions.functions()[at];
                (f.name.clone(), f.entry)
            }
            None => (hex(pc), pc),
        };
        let mut all: FxHashMap<MemberId, Described> = FxHashMap::default();
        let mut rows: Vec<_> = exact.rows.iter().collect();
        rows.sort_by_key(|row| row.of);
        for row in rows {
            let pc = row.of.key.pc;
            let one = all.entry(members.of(row.of.key)).or_insert_with(|| {
                let (name, entry) = function(pc);
                let name = match level {
                    Level::Function => name,
                    Level::Line => image.symbols.source_line(pc).unwrap_or(name),
                    Level::Block => format!("{name}+{:#x}", pc - entry.min(pc)),
                    Level::Instruction => {
                        let text = self
                            .inst_at(pc)
                            .map(|inst| image.isa.disassemble(&inst, pc));
                        let text = text.unwrap_or_default();
                        match row.of.key.disepc.production() {
                            None => format!("{pc:x}  {text}"),
                            Some(number) => format!(
                                "{pc:x}  {text} [{} {}]",
                                self.production_name(number),
                                row.of.key.disepc.index()
                            ),
                        }
                    }
                };
                Described {
                    name,
                    pc,
                    parts: BTreeMap::new(),
                }
            });
            for &(spent, _, units) in &row.cells {
                *one.parts.entry(spent.label()).or_default() += units;
            }
        }
        all
    }

    fn production_name(&self, number: u8) -> String {
        let productions = self.ready().productions.as_ref();
        let all = productions.map(|p| &p.set.tables().productions);
        let one = all.and_then(|all| all.get(usize::from(number)));
        one.map_or_else(|| number.to_string(), |production| production.name.clone())
    }

    /// The profile that HPS collects of the run, beside all events, and its cost.
    fn hps(&self, order: &HpsOrder) -> Result<HpsResult, Problem> {
        let ready = self.ready();
        let kind = match order.kind.as_str() {
            "method" => ProfileKind::Method,
            "call_pair" => ProfileKind::CallPair,
            other => {
                return Err(Problem::new(said!(
                    "HPS collects `method` or `call_pair` here, not `{name}`",
                    name = other
                )));
            }
        };
        let point = SamplePoint::new(order.burst, order.sparsity).map_err(Problem::english)?;
        let scheme = match order.random_period {
            true => Scheme::Randomized,
            false => Scheme::Hps,
        };
        let options = CollectorOptions {
            dise: dise_config(&ready.machine),
            streams: None,
            ..CollectorOptions::default()
        };
        let collector =
            Collector::of(scheme, &[kind], point, &options).map_err(Problem::english)?;
        let grid = GridProbe::new(&[]).map_err(Problem::english)?;
        let exact = ready.lab().watched_by(grid).run()?.probe.finish();
        let ran = ready.timed().edited_by(&collector).run()?;
        let collected = collector.read(&ran.process).map_err(Problem::english)?;
        let image = self.image();
        let name = |pc: u64| {
            let function = image.symbols.function_at(pc);
            function.map_or_else(|| hex(pc), |f| f.name.clone())
        };
        let baseline = self.plain_cycles()?;
        let cycles = ran.cycles();
        let result = |accuracy: f64, sampled: u64, exact: u64, members| HpsResult {
            cycles,
            overhead: cycles as f64 / baseline.max(1) as f64 - 1.0,
            accuracy,
            sampled_events: sampled,
            exact_events: exact,
            members,
        };
        let methods = exact.method_map(&image.symbols);
        Ok(match collected {
            CollectedProfile::Method { addresses, .. } => {
                let entry = |address| methods.entry(address);
                let sampled = addresses.methods(entry);
                let exact = exact.exhaustive.addresses.methods(entry);
                let members = beside(&sampled, &exact, |method| name(method.0));
                let accuracy = accuracy(&sampled, &exact, Fraction::NINETY_PERCENT);
                result(
                    accuracy.renormalized,
                    sampled.total(),
                    exact.total(),
                    members,
                )
            }
            CollectedProfile::CallPair { call_pairs, .. } => {
                let exact = &exact.exhaustive.call_pairs;
                let members = beside(&call_pairs, exact, |pair| {
                    format!("{} calls {}", name(pair.site), name(pair.target))
                });
                let accuracy = accuracy(&call_pairs, exact, Fraction::NINETY_PERCENT);
                result(
                    accuracy.renormalized,
                    call_pairs.total(),
                    exact.total(),
                    members,
                )
            }
            _ => return Err(Problem::new(said!("nothing was collected"))),
        })
    }

    /// Cycles without any productions.
    fn plain_cycles(&self) -> Result<u64, Problem> {
        let ready = self.ready();
        if ready.productions.is_none() {
            return Ok(self.cycles());
        }
        Ok(ready.timed().run()?.cycles())
    }
}

fn apart<E>(truth: Truth<E>) -> (ExactProfile, Vec<Sampled>) {
    (truth.exact, truth.sampled)
}

/// A member while it is put together.
#[derive(Default)]
struct Described {
    name: String,
    pc: u64,
    parts: BTreeMap<String, u64>,
}

/// The members of an exact profile with their shares in both.
fn beside<K: hps_profile::ProfileKey>(
    sampled: &Profile<K>,
    exact: &Profile<K>,
    name: impl Fn(&K) -> String,
) -> Vec<(String, f64, f64)> {
    let share = |weight: u64, total: u64| weight as f64 / total.max(1) as f64;
    let all = exact.listing().into_iter().take(20);
    all.map(|(member, weight)| {
        let found = sampled.weight(member);
        (
            name(member),
            share(weight, exact.total()),
            share(found, sampled.total()),
        )
    })
    .collect()
}

type Marks = Arc<Mutex<Vec<(u64, u64)>>>;
type Sampler = (Box<dyn Policy>, hps_profilers::Period, Marks);

fn sampler(order: &ProfilerOrder) -> Result<Sampler, Problem> {
    let profiler = registry::find(&order.name)
        .ok_or_else(|| Problem::new(said!("there is no profiler `{name}`", name = order.name)))?;
    if order.period == 0 {
        return Err(Problem::new(said!("a period is at least 1")));
    }
    let mut period = profiler.period_of(order.period, order.seed);
    if order.random_percent > 0 {
        period.spread = Spread::Random {
            percent: order.random_percent.min(100) as u8,
            seed: order.seed,
        };
    }
    let marks = Marks::default();
    let policy = Noting {
        policy: (profiler.policy)(),
        marks: Arc::clone(&marks),
        due: 0,
    };
    Ok((Box::new(policy), period, marks))
}

/// A policy that also notes the cycles of its samples and the addresses that they were credited to.
#[derive(Clone)]
struct Noting {
    policy: Box<dyn Policy>,
    marks: Marks,
    due: u64,
}

hps_isa::save_state! { Noting { policy, marks: skip, due } }

impl Noting {
    /// Lets the policy credit, and notes what it credited.
    fn note<T>(
        &mut self,
        credits: &mut Credits,
        call: impl FnOnce(&mut dyn Policy, &mut Credits) -> T,
    ) -> T {
        let mut own = Credits {
            units_per_sample: credits.units_per_sample,
            ..Credits::default()
        };
        let result = call(&mut *self.policy, &mut own);
        credits.credited += own.credited;
        credits.lost += own.lost;
        credits.collided += own.collided;
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys: Vec<Key> = own.weights.keys().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        if let Some(key) = keys.first().filter(|_| marks.len() < MOST_MARKS) {
            marks.push((self.due, key.pc));
        }
        for (cell, units) in own.weights {
            *credits.weights.entry(cell).or_insert(0) += units;
        }
        result
    }
}

impl Policy for Noting {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        self.due = moment.cycle;
        self.note(credits, |policy, credits| policy.sample(moment, credits))
    }

    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        self.note(credits, |policy, credits| policy.resume(beat, credits))
    }

    fn finish(&mut self, credits: &mut Credits) {
        self.policy.finish(credits);
    }

    fn has_one_tag(&self) -> bool {
        self.policy.has_one_tag()
    }

    fn tells_events(&self) -> bool {
        self.policy.tells_events()
    }

    fn watches(&self) -> bool {
        self.policy.watches()
    }

    fn watch(&mut self, beat: &Beat<'_>) {
        self.policy.watch(beat);
    }

    fn branches(&self) -> Option<&BranchRecords> {
        self.policy.branches()
    }
}
