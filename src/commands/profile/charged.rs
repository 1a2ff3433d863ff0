//! A run that pays for the profilers that watch it.

use std::io::Write;

use anyhow::{anyhow, bail};
use hps_isa::editor::NoEditor;
use hps_lab::{Collected, Collecting, Lab, Timed, Watch};
use hps_profilers::Period;
use hps_profilers::registry::Profiler;

use crate::text::grouped;

/// The run, and the cycles of the run without profilers.
pub(super) struct Charged {
    pub run: Collected<NoEditor>,
    undisturbed_cycles: u64,
    records: String,
}

/// Runs the program under profilers whose records cost the same, and once without them.
pub(super) fn run(
    lab: Lab<'_, Timed<'_>>,
    profilers: &[&Profiler],
    periods: &[Period],
    watch: Watch,
) -> anyhow::Result<Box<Charged>> {
    let (Some(first), Some(&period)) = (profilers.first(), periods.first()) else {
        bail!("--charged: name the profiler by --with");
    };
    let alike = |p: &&&Profiler| (p.records, p.counts) == (first.records, first.counts);
    if let Some(other) = profilers.iter().find(|p| !alike(p)) {
        bail!(
            "--charged: {} and {} cannot share a run; name one of them, or profilers that count the same and have \
             equal records (hps leaderboard --list)",
            described(first),
            described(other)
        );
    }
    if !first.records.cost() {
        bail!(
            "--charged: {} costs the program nothing here ({})",
            first.name,
            first.records.describe()
        );
    }
    let undisturbed = lab.clone().run()?;
    let run = lab
        .collected(&Collecting::new(first.records, period), watch)
        .map_err(|cause| anyhow!("--charged: {cause}"))?;
    Ok(Box::new(Charged {
        run,
        undisturbed_cycles: undisturbed.cycles(),
        records: first.records.describe(),
    }))
}

/// A profiler with what decides its cost.
fn described(profiler: &Profiler) -> String {
    format!(
        "{} ({}; counts {})",
        profiler.name,
        profiler.records.describe(),
        profiler.counts.describe()
    )
}

impl Charged {
    /// Says what the profilers cost.
    pub fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let run = &self.run;
        let cycles = run.truth.ran.cycles();
        let taken = run.interrupts.taken_events;
        writeln!(
            out,
            "\nat their cost ({}): {} interrupts, {} cycles instead of {}: {:+.2}%",
            self.records,
            grouped(taken),
            grouped(cycles),
            grouped(self.undisturbed_cycles),
            100.0 * (cycles as f64 / self.undisturbed_cycles.max(1) as f64 - 1.0)
        )?;
        writeln!(
            out,
            "handlers, with their entries and returns, took {:.0} cycles each; errors are of the program's own cycles",
            run.handler_cycles() / taken.max(1) as f64
        )?;
        let lost = run.overflows_lost + run.stored.lost;
        if lost > 0 {
            writeln!(
                out,
                "{} samples were lost: the one before was still being handled, or the reader's file was full",
                grouped(lost)
            )?;
        }
        Ok(())
    }
}
