//! A counter that overflows after random periods, and whose interrupt finds the head of the issue queue.

use std::collections::VecDeque;

use hps_isa::random::Random;
use hps_pipeline::pmu::Turns;

use crate::samples::{Counts, Event, Range};

/// A sample of cycles may tell where the program goes on (section 7 of the paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// Nothing.
    #[default]
    Nothing,
    /// Where the program goes on behind it, if it is a transfer of control: the handler decodes it and reads its
    /// registers (interpretation).
    Transfer,
    /// Which instructions run next, so many of them: each is found by a further interrupt (double sampling).
    Next(u32),
}

impl Follow {
    /// Instructions that are followed behind a sample.
    fn steps(self, samples_transfer: bool) -> u64 {
        match self {
            Follow::Nothing => 0,
            Follow::Transfer => u64::from(samples_transfer),
            Follow::Next(steps) => steps.into(),
        }
    }

    /// Interrupts that a sample takes.
    #[must_use]
    pub fn interrupts(self) -> u64 {
        match self {
            Follow::Nothing | Follow::Transfer => 1,
            Follow::Next(steps) => 1 + u64::from(steps),
        }
    }
}

/// The event that a sampler counts, and when it takes samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Event of the counter.
    pub event: Event,
    /// Range of the periods.
    pub period: Range,
    /// Seed of the periods.
    pub seed: u64,
    /// The counter is shared with other events, which count in turns (section 4.1.1 of the paper); `None`: it has a counter
    /// of its own.
    pub turns: Option<Turns>,
    /// Facts that samples record beside their addresses. Samples of other events than cycles record none.
    pub follow: Follow,
}

impl Plan {
    /// Events of the whole run between two samples: where events take turns, those of the turns of others too.
    #[must_use]
    pub fn whole_period(&self) -> Range {
        let turns = self.turns.map_or(1, |turns| turns.of);
        Range {
            least: self.period.least * turns,
            most: self.period.most * turns,
        }
    }
}

/// Cycles from the overflow of a counter to the delivery of its interrupt (21164; section 4.1.2 of the paper).
pub const DELIVERY_CYCLES: u64 = 6;

/// A counter under way.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    pub plan: Plan,
    pub counts: Counts,
    /// The sampled addresses in their order, if they are kept.
    pub trace: Option<Vec<u64>>,
    random: Random,
    /// Of cycles, the cycle in which the next interrupt is delivered; of other events, how many are left.
    left: u64,
    /// Cycles in which interrupts are delivered that have found nothing yet, in ascending order.
    deliveries: Vec<u64>,
    chains: Chains,
}

/// Samples behind which instructions are followed.
#[derive(Clone, Debug, Default)]
struct Chains {
    /// By the instruction up to which they are, in ascending order: how many.
    open: VecDeque<(u64, u64)>,
    /// All of them.
    samples: u64,
    /// Instructions of the run so far.
    instructions: u64,
}

impl Chains {
    fn begin(&mut self, samples: u64, steps: u64) {
        if steps > 0 {
            self.open.push_back((self.instructions + steps, samples));
            self.samples += samples;
        }
    }

    /// The next instruction runs. Gives the samples behind which it is.
    fn step(&mut self) -> u64 {
        let samples = self.samples;
        self.instructions += 1;
        while let Some(&(until, ended)) = self.open.front()
            && until <= self.instructions
        {
            self.open.pop_front();
            self.samples -= ended;
        }
        samples
    }
}

impl Sampler {
    pub fn new(plan: Plan) -> Sampler {
        let mut sampler = Sampler {
            counts: Counts::new(plan.whole_period()),
            trace: None,
            random: Random::new(plan.seed),
            left: 0,
            deliveries: Vec::new(),
            chains: Chains::default(),
            plan,
        };
        sampler.left = sampler.draw();
        if plan.event == Event::Cycles {
            sampler.left += DELIVERY_CYCLES;
        }
        sampler
    }

    fn draw(&mut self) -> u64 {
        let Range { least, most } = self.plan.period;
        least + self.random.below(most - least + 1)
    }

    /// Forgets the samples so far.
    pub fn forget(&mut self) {
        self.counts.by_pc.clear();
        self.counts.by_edge.clear();
    }

    /// An instruction of the program runs; behind a transfer of control that has an address.
    pub fn runs(&mut self, pc: u64, transfer: Option<u64>) {
        let samples = self.chains.step();
        if let Some(from) = transfer
            && samples > 0
        {
            *self.counts.by_edge.entry((from, pc)).or_default() += samples;
        }
    }

    /// An instruction is at the head up to a cycle, from the last such cycle on. Of the one that runs last it is known
    /// whether it transfers control.
    pub fn head(&mut self, pc: u64, until: u64, transfers: bool) {
        let mut samples = 0;
        if self.plan.event == Event::Cycles {
            while self.left <= until {
                self.left += self.draw();
                samples += 1;
            }
        } else {
            let before = self.deliveries.len();
            self.deliveries.retain(|cycle| *cycle > until);
            samples += (before - self.deliveries.len()) as u64;
        }
        if samples > 0 {
            *self.counts.by_pc.entry(pc).or_default() += samples;
            if self.plan.event == Event::Cycles {
                self.chains
                    .begin(samples, self.plan.follow.steps(transfers));
            }
            if let Some(trace) = &mut self.trace {
                trace.extend((0..samples).map(|_| pc));
            }
        }
    }

    /// An event happens whose interrupt, if it is one, is delivered in a cycle.
    pub fn event(&mut self, delivered: u64) {
        let happened = delivered.saturating_sub(DELIVERY_CYCLES);
        if self
            .plan
            .turns
            .is_some_and(|turns| !turns.counts_in(happened))
        {
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.draw();
            self.deliveries.push(delivered);
        }
    }
}
