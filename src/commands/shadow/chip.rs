//! `hps shadow simulate --shadows-on chip`: what shadows on other contexts of the chip cost their parent.

use hps_lab::shadow::{Alone, ChipRun, OnChip, ShadowOutcome};
use hps_pipeline::core::Cause;

use crate::text::{Align, Table, grouped};

/// A table of costs: of a run with shadows on the chip, beside the costs that keys charge for shadows on the host.
pub(super) fn costs(
    (outcome, chip): (&ShadowOutcome<'_>, &OnChip),
    alone: &Alone,
    charged: &ShadowOutcome<'_>,
) -> Table {
    let mut table = Table::new(&[
        ("what the parent pays", Align::Left),
        ("on the chip", Align::Right),
        ("by keys", Align::Right),
    ]);
    let cycles = alone.run.cycles.max(1) as f64;
    let percent = |share: f64| format!("{:.2}%", 100.0 * share);
    let of = |part: f64| percent(part / cycles);
    let mut row = |what: &str, on_chip: String, by_keys: String| {
        table.row([what.to_string(), on_chip, by_keys]);
    };
    row(
        "overhead",
        percent(outcome.overhead()),
        percent(charged.overhead()),
    );
    row("  signals", of(chip.signal_cycles as f64), String::new());
    row("  forks", of(chip.fork_cycles as f64), String::new());
    row(
        "  page faults",
        of(chip.faults.cycles as f64),
        String::new(),
    );
    if chip.waiting_cycles > 0 {
        row(
            "  waits for a context",
            of(chip.waiting_cycles as f64),
            String::new(),
        );
    }
    let beside = chip.idle_beside_cycles(&alone.run) as f64;
    row(
        "  idle beside, less what coincides",
        of(beside),
        String::new(),
    );
    let lost = chip.lost_cycles(&alone.run) as f64;
    row("  the rest: shared parts of the chip", of(lost), "–".into());
    row(
        "shadows",
        grouped(outcome.shadows),
        grouped(charged.shadows),
    );
    row(
        "pages copied",
        grouped(outcome.copied_pages),
        grouped(charged.copied_pages),
    );
    row(
        "faults on pages no longer shared",
        grouped(outcome.reused_pages),
        grouped(charged.reused_pages),
    );
    row(
        "cycles of a fault, mean",
        mean(
            chip.faults.cycles,
            outcome.copied_pages + outcome.reused_pages,
        ),
        String::new(),
    );
    row(
        "pages copied by shadows",
        grouped(chip.shadow_faults.copied_pages),
        String::new(),
    );
    row(
        "shadows that ended before the program",
        grouped(chip.ended),
        String::new(),
    );
    row("unlike their twins", grouped(chip.apart), String::new());
    table
}

fn mean(sum: u64, count: u64) -> String {
    match count {
        0 => "–".to_string(),
        count => grouped(sum / count),
    }
}

/// A table of the parent's cycles by cause, and of the counters of its core and the shared levels, without shadows and
/// with them.
pub(super) fn causes(alone: &ChipRun, with: &ChipRun) -> Table {
    let mut table = Table::new(&[
        ("of the parent's core", Align::Left),
        ("alone", Align::Right),
        ("with shadows", Align::Right),
        ("more", Align::Right),
    ]);
    let mut row = |what: String, alone: u64, with: u64| {
        if alone > 0 || with > 0 {
            let more = i128::from(with) - i128::from(alone);
            let sign = if more < 0 { "-" } else { "+" };
            let more = format!("{sign}{}", grouped(more.unsigned_abs() as u64));
            table.row([what, grouped(alone), grouped(with), more]);
        }
    };
    row("cycles".to_string(), alone.cycles, with.cycles);
    let width = (with.cpi.total() / with.cycles.max(1)).max(1);
    for cause in Cause::ALL {
        let cycles = |run: &ChipRun| run.cpi.get(cause) / width;
        row(format!("  {}", cause.name()), cycles(alone), cycles(with));
    }
    for (what, of) in EVENTS {
        row((*what).to_string(), of(alone), of(with));
    }
    table
}

/// A counter: its name, and its value in a run.
type Event = (&'static str, fn(&ChipRun) -> u64);

const EVENTS: &[Event] = &[
    ("level 1 instruction misses", |run| {
        run.memory.l1i.read_miss_events
    }),
    ("level 1 data misses", |run| {
        run.memory.l1d.read_miss_events + run.memory.l1d.write_miss_events
    }),
    ("data TLB misses", |run| run.memory.dtlb.miss_events),
    ("level 2 misses", |run| run.memory.l2.read_miss_events),
    ("level 3 misses, of all cores", |run| {
        run.memory.l3.read_miss_events
    }),
    ("bytes over the memory bus", |run| {
        run.memory.memory_bus.data_bytes
    }),
    ("lines that another core sent", |run| {
        run.memory.coherence.transfer_events
    }),
    ("writes to shared lines", |run| {
        run.memory.coherence.upgrade_events
    }),
    ("lines lost to writes of another core", |run| {
        run.memory.coherence.invalidation_events
    }),
    ("lines that another core reads, too", |run| {
        run.memory.coherence.downgrade_events
    }),
];
