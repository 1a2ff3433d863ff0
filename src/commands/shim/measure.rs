//! `hps shim overhead` and `microbench`.

use hps_shim::analysis::Depth;
use hps_shim::clock;
use hps_shim::machine::Machine;
use hps_shim::microbench::{Microbench, Waiter};
use hps_shim::overhead::{Observed, Overhead};
use hps_shim::placement::{Placement, place};
use hps_shim::plan::Mode;
use hps_shim::results::{FORMAT_VERSION, MEASUREMENT_FORMAT, Measurement, MeasurementKind};
use hps_shim::spawn::Start;
use hps_shim::stats::Estimate;

use super::args::{MicrobenchArgs, OutArgs, OverheadArgs};
use super::{observe, wish};
use crate::document::{Described, Format};
use crate::progress;
use crate::text::{Align, Table};

/// A mean and half its confidence interval.
fn interval(estimate: &Estimate, digits: usize) -> String {
    match estimate.half_width {
        Some(half) => format!("{:.digits$} ± {half:.digits$}", estimate.mean),
        None => format!("{:.digits$}", estimate.mean),
    }
}

/// Runs `hps shim overhead`.
pub fn overhead(args: &OverheadArgs) -> anyhow::Result<u8> {
    let machine = Machine::find()?;
    let placement = place(&machine, &wish(&args.place), false)?;
    let (_library, environment) = observe::preloaded(args.preload, &args.command)?;
    let observed = if args.command.is_empty() {
        Observed::Loop {
            steps: args.work,
            tags: args.tags,
        }
    } else {
        Observed::Program(Start {
            command: args.command.clone(),
            environment,
            ..Start::default()
        })
    };
    let mode = if args.kept {
        Mode::Inline(Depth::Full)
    } else {
        Mode::Tally
    };
    let ticks = clock::ticks_per_second();
    let what = Overhead {
        observed,
        mode,
        paces: args.periods.clone(),
        rounds: args.rounds,
    };
    let bar = progress::bar(args.rounds as u64, "rounds");
    let result = what.run(&machine, &placement, ticks, |round| {
        bar.set_position(round as u64);
    })?;
    bar.finish_and_clear();
    let mut table = Table::new(&[
        ("period", Align::Left),
        ("cycles achieved", Align::Right),
        ("overhead, %", Align::Right),
        ("median, %", Align::Right),
        ("kept, %", Align::Right),
        ("observer ran, %", Align::Right),
        ("samples", Align::Right),
    ]);
    for point in &result.points {
        table.row([
            point.pace.clone(),
            interval(&point.period_cycles, 0),
            interval(&point.overhead_percent, 1),
            format!("{:.1}", point.overhead_percent.median),
            interval(&point.kept_percent, 1),
            format!("{:.0}", point.observer_share_percent.mean),
            hps_shim::summary::grouped(point.samples),
        ]);
    }
    let tag = result.tag_cycles.as_ref().map_or(String::new(), |tag| {
        format!("a tag every {:.1} cycles; ", tag.median)
    });
    let change = result.change_cycles.map_or(String::new(), |seen| {
        format!(
            "a reader that does nothing else sees a new tag every {:.0} cycles: a shorter period reads \
             some tags twice\n",
            seen.median
        )
    });
    let text = format!(
        "{placement}; {tag}noise of runs alone {} % (95% of the mean), {} rounds\n{change}{}",
        interval(&result.noise_percent, 2),
        args.rounds,
        table.render()
    );
    let kind = if args.kept {
        MeasurementKind::Dte(result)
    } else {
        MeasurementKind::Overhead(result)
    };
    finish(kind, (&machine, &placement, ticks), &text, &args.output)
}

/// Runs `hps shim microbench`.
pub fn microbench(args: &MicrobenchArgs) -> anyhow::Result<u8> {
    let machine = Machine::find()?;
    let placement = place(&machine, &wish(&args.place), false)?;
    let bench = Microbench {
        writes: args.writes,
        waits: args.waits.clone(),
        rounds: args.rounds,
    };
    let ticks = clock::ticks_per_second();
    let bar = progress::bar(2 * args.waits.len() as u64, "points");
    let points = bench.run(&placement, ticks, |_, _| bar.inc(1))?;
    bar.finish_and_clear();
    let mut table = Table::new(&[
        ("waits", Align::Left),
        ("reads", Align::Right),
        ("producer alone, cycles", Align::Right),
        ("consumer, cycles", Align::Right),
        ("overhead, %", Align::Right),
        ("median, %", Align::Right),
        ("added to a write, cycles", Align::Right),
        ("fresh reads, %", Align::Right),
        ("consumer ran, %", Align::Right),
    ]);
    for point in &points {
        let waiter = match point.waiter {
            Waiter::Producer => "producer",
            Waiter::Consumer => "consumer",
        };
        table.row([
            waiter.to_owned(),
            point.wait.to_string(),
            format!("{:.1}", point.producer_cycles.median),
            format!("{:.1}", point.consumer_cycles.median),
            interval(&point.overhead_percent, 1),
            format!("{:.1}", point.overhead_percent.median),
            interval(&point.added_cycles, 1),
            format!("{:.0}", point.fresh_percent.median),
            format!("{:.0}", point.consumer_share_percent.mean),
        ]);
    }
    let text = format!(
        "{placement}; {} rounds, 95% confidence intervals of the mean\n{}",
        args.rounds,
        table.render()
    );
    let kind = MeasurementKind::Microbench(points);
    finish(kind, (&machine, &placement, ticks), &text, &args.output)
}

fn finish(
    kind: MeasurementKind,
    (machine, placement, ticks): (&Machine, &Placement, f64),
    text: &str,
    output: &OutArgs,
) -> anyhow::Result<u8> {
    output.json.print_text(text)?;
    let result = Measurement::new(machine, placement, ticks, kind);
    output.json.write(&result)?;
    if let Some(folder) = &output.out {
        let value = serde_json::to_value(&result)?;
        let page = hps_plots::write_shim_report(folder, &value, text)?;
        say!("report: {}", page.display());
    }
    Ok(0)
}

/// What the commands write as JSON.
pub fn described() -> Described {
    // A measurement says its format itself.
    Format::new(MEASUREMENT_FORMAT, FORMAT_VERSION)
        .described::<Measurement>(&["shim overhead", "shim microbench"])
}
