//! `hps dcpi page`.

use anyhow::Context;
use hps_dcpi::analysis::Summary;
use hps_dcpi::report::{Page, by_procedure};

use super::args::PageArgs;
use super::sets::only;
use super::tools::{events, with_procedures};

/// Writes what the tools know of a set of samples on a page.
pub(super) fn page(args: &PageArgs) -> anyhow::Result<u8> {
    let set = only(&args.set)?;
    let sets = std::slice::from_ref(&set);
    let events = events(sets);
    let stored = &set.stored.header;
    let mut lines = by_procedure(set.image(), set.name(), &set.stored.samples, &events);
    lines.sort_by(|a, b| b.counts.cmp(&a.counts));
    let source = [
        format!(
            "On {}, {}, hps {}.",
            stored.machine_name, stored.isa, stored.version
        ),
        format!("Program {} (SHA-256 {}).", stored.image, stored.image_hash),
        format!("Database {}.", args.set.db.display()),
    ];
    let html = with_procedures(
        &set,
        |_| true,
        |mut procedures| {
            let mut whole = Summary::default();
            for procedure in &procedures {
                whole.add(&Summary::of(procedure));
            }
            procedures.sort_by_key(|p| std::cmp::Reverse(p.samples));
            procedures.truncate(args.top);
            procedures.retain(|p| p.samples > 0);
            Ok(Page {
                title: &format!("DCPI: {}", stored.image),
                source: &source,
                lines: &lines,
                events: &events,
                whole: Some(&whole),
                procedures: &procedures,
            }
            .html())
        },
    )?;
    std::fs::write(&args.out, html).with_context(|| {
        format!(
            "{}: cannot be written; name a file in a folder that exists",
            args.out.display()
        )
    })?;
    say!("hps: {}", args.out.display());
    Ok(0)
}
