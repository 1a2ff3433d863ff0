//! A parent and its shadows, from event to event: signals, and ends of shadows.

use hps_isa::memory::{MemoryError, PAGE_SIZE};
use hps_isa::probe::NoProbe;
use hps_shadow::Graphs;
use hps_shadow::control::LoadController;
use hps_shadow::divergence::{Comparison, Comparisons};
use hps_sim_core::machine::{Fork, Machine, Stop};
use hps_system::process::Process;

use super::outcome::ShadowOutcome;
use super::seen::Seen;
use super::triggers::Trigger;
use super::{ShadowOptions, Timeline};

/// A run with shadows.
pub(super) struct Run<'a, 'b> {
    parent: Machine,
    fork: Option<Fork>,
    timeline: &'b Timeline,
    options: &'b ShadowOptions,
    seen: Seen<'a>,
    /// Simulated times at which live shadows end, in nanoseconds.
    live: Vec<f64>,
    /// Shadows whose stretch the parent has not left yet, and the instruction at which it does.
    followed: Comparisons,
    ends_at: Vec<u64>,
    /// Pages written since the last fork that have been charged.
    charged_pages: u64,
    out: Sums,
}

/// Sums over the run.
#[derive(Default)]
struct Sums {
    charged_ns: f64,
    signals: u64,
    copied_pages: u64,
    reused_pages: u64,
    shadow_pages: u64,
}

impl<'a, 'b> Run<'a, 'b> {
    pub(super) fn new(
        process: Process,
        graphs: &'a Graphs<'a>,
        timeline: &'b Timeline,
        options: &'b ShadowOptions,
    ) -> Self {
        Run {
            parent: Machine::new(process),
            fork: None,
            timeline,
            options,
            seen: Seen::new(graphs, options),
            live: Vec::new(),
            followed: Comparisons::default(),
            ends_at: Vec::new(),
            charged_pages: 0,
            out: Sums::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<ShadowOutcome<'a>, MemoryError> {
        let (stop, average_live) = match Trigger::of(self.options.when) {
            Some((load, period_ns, trigger)) => self.at_signals(load, period_ns, trigger)?,
            None => (self.end_to_end()?, 1.0),
        };
        self.leave_stretches(u64::MAX);
        let (out, seen) = (self.out, self.seen);
        Ok(ShadowOutcome {
            profiles: seen.profiles,
            stop,
            instructions: self.parent.retired.program,
            native_ns: self.timeline.end_ns(),
            charged_ns: out.charged_ns,
            signals: out.signals,
            shadows: seen.shadows,
            average_live,
            covered: seen.covered,
            copied_pages: out.copied_pages,
            reused_pages: out.reused_pages,
            shadow_pages: out.shadow_pages,
            resident_pages: self.parent.process.mem.peak_resident_bytes() / PAGE_SIZE,
            ends: seen.ends,
            calls: seen.calls,
            divergences: seen.divergences,
            transfers: seen.transfers,
            diverged_transfers: seen.diverged_transfers,
            process: self.parent.process,
        })
    }

    /// Shadows at signals. Gives why the parent ended, and the average number of live shadows.
    fn at_signals(
        &mut self,
        load: f64,
        period_ns: f64,
        mut trigger: Trigger,
    ) -> Result<(Stop, f64), MemoryError> {
        let mut controller = LoadController::new(load);
        let mut next_signal = period_ns;
        loop {
            let event = self.live.iter().copied().fold(next_signal, f64::min);
            let own_ns = event - self.out.charged_ns;
            let until = self.timeline.instruction_at(own_ns);
            let now = self.parent.retired.program;
            let stop = self.advance(until.saturating_sub(now));
            self.charge_faults();
            if stop != Stop::Limit {
                return Ok((stop, controller.average()));
            }
            // Costs move the clock, also past the ends of shadows and past signals: these are one signal then.
            let now_ns = event.max(self.now_ns());
            self.live.retain(|end| *end > now_ns);
            if now_ns < next_signal {
                continue;
            }
            self.out.signals += 1;
            self.out.charged_ns += self.options.costs.signal_ns;
            let at = self.parent.retired.program;
            let is_wanted = trigger.wants(at, self.timeline.ns_at(at));
            if is_wanted && controller.signal(self.live.len() as u64) {
                self.charge_fork();
                let lives_ns = self.shadow()?;
                self.live.push(self.now_ns() + lives_ns);
                trigger.saw(&self.seen.profiles);
            } else if !is_wanted {
                controller.pass(self.live.len() as u64);
            }
            // The program goes on before the next signal, also if a signal takes longer than a period.
            let now_ns = self.now_ns();
            next_signal +=
                period_ns * (((now_ns - next_signal) / period_ns).floor().max(0.0) + 1.0);
        }
    }

    /// Shadows one behind the other.
    fn end_to_end(&mut self) -> Result<Stop, MemoryError> {
        loop {
            let before = self.seen.covered;
            self.shadow()?;
            let stop = self.advance((self.seen.covered - before).max(1));
            if stop != Stop::Limit {
                return Ok(stop);
            }
        }
    }

    /// The simulated time of the parent, in nanoseconds.
    fn now_ns(&self) -> f64 {
        self.timeline.ns_at(self.parent.retired.program) + self.out.charged_ns
    }

    /// Lets the parent run, compared with the shadows whose stretches it is in.
    fn advance(&mut self, instructions: u64) -> Stop {
        let end = self.parent.retired.program.saturating_add(instructions);
        loop {
            let now = self.parent.retired.program;
            self.leave_stretches(now);
            if now >= end {
                return Stop::Limit;
            }
            let border = self.ends_at.iter().copied().fold(end, u64::min);
            let stop = if self.ends_at.is_empty() {
                self.parent.run(&mut NoProbe, end - now)
            } else {
                self.parent.run(&mut self.followed, border - now)
            };
            if stop != Stop::Limit {
                return stop;
            }
        }
    }

    /// Compares shadows whose stretches end here or before with the parent.
    fn leave_stretches(&mut self, now: u64) {
        for at in (0..self.ends_at.len()).rev() {
            if self.ends_at[at] > now && !self.followed.0[at].is_done() {
                continue;
            }
            self.ends_at.swap_remove(at);
            let comparison = self.followed.0.swap_remove(at);
            self.seen.leave(&comparison);
        }
    }

    /// Charges pages that the parent has written for the first time since the last fork.
    fn charge_faults(&mut self) {
        if self.seen.shadows == 0 {
            return;
        }
        let written = self.parent.process.mem.dirty_pages().count() as u64;
        let new = written - self.charged_pages;
        self.charged_pages = written;
        let costs = &self.options.costs;
        if self.live.is_empty() {
            self.out.reused_pages += new;
            self.out.charged_ns += new as f64 * costs.fault_ns;
        } else {
            self.out.copied_pages += new;
            self.out.charged_ns += new as f64 * costs.copy_ns;
        }
    }

    fn charge_fork(&mut self) {
        let costs = &self.options.costs;
        let pages = self.parent.process.mem.resident_bytes() / PAGE_SIZE;
        let others = self.parent.process.os.thread_count().saturating_sub(1);
        self.out.charged_ns +=
            costs.fork_ns + costs.fork_page_ns * pages as f64 + costs.thread_ns * others as f64;
    }

    /// Forks a shadow here and runs it to its end. Gives its life in nanoseconds.
    fn shadow(&mut self) -> Result<f64, MemoryError> {
        let mem = &mut self.parent.process.mem;
        let pages: Vec<u64> = mem.dirty_pages().collect();
        mem.clear_dirty();
        self.charged_pages = 0;
        let fork = match self.fork.take() {
            Some(mut fork) => {
                fork.note(&pages);
                fork.begin(&mut self.parent)?;
                fork
            }
            None => Fork::of(&mut self.parent)?,
        };
        let fork = self.fork.insert(fork);
        let from = self.parent.retired.program;
        let sample = self.seen.shadow(fork.machine(), from, self.options);
        self.out.shadow_pages += fork.written_pages();
        self.followed.0.push(Comparison::new(sample.course));
        let to = from + sample.instructions;
        self.ends_at.push(to);
        let own_ns = self.timeline.ns_at(to) - self.timeline.ns_at(from);
        let costs = &self.options.costs;
        Ok(own_ns * costs.slowdown + sample.translated as f64 * costs.translate_ns)
    }
}
