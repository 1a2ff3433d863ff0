//! How finely a program can be observed at which cost, and what the samples are worth.

use hps_experiments::shim::Kind;
use hps_experiments::{Cells, Mean, Table};

use super::wait;
use crate::reproduction::parts::over;

/// Overhead that is little.
const LITTLE: f64 = 0.02;

/// An observer at one of its waits.
struct Point {
    title: &'static str,
    period: f64,
    overhead: Mean,
}

impl Point {
    fn text(&self) -> String {
        let Point {
            title,
            period,
            overhead,
        } = self;
        format!(
            "a sample in {period:.0} cycles at {} overhead ({title})",
            overhead.percent(1)
        )
    }
}

/// The answers of an instruction set: of what, and the answer.
pub(super) fn of(isa: &str, found: &Table<'_>) -> Vec<(String, String)> {
    let on = format!("({isa} on {})", found.machine);
    let today = [
        ("one tag", [Kind::TagSmt, Kind::TagCmp]),
        ("IPC and tag", [Kind::IpcSmt, Kind::IpcCmp]),
    ];
    let finest = today.into_iter().filter_map(|(of, kinds)| {
        let answer = finest(found, &kinds)?;
        Some((format!("{of} {on}"), answer))
    });
    let kept = worth(found).map(|answer| (format!("what samples are worth {on}"), answer));
    finest.chain(kept).collect()
}

/// The finest sampling of all, and the finest one that costs little.
fn finest(found: &Table<'_>, kinds: &[Kind]) -> Option<String> {
    let point = |kind: Kind, turns: u64| {
        let (scheme, setting) = (kind.name(), wait(turns));
        Some(Point {
            title: kind.title(),
            period: found.mean(scheme, &setting, "period_cycles")?,
            overhead: found.mean_excess(scheme, &setting, "alone", "cycles")?,
        })
    };
    let mut all: Vec<Point> = (kinds.iter())
        .flat_map(|&kind| {
            kind.waits()
                .iter()
                .filter_map(move |&turns| point(kind, turns))
        })
        .collect();
    all.sort_by(|a, b| a.period.total_cmp(&b.period));
    let first = all.first()?;
    let programs = over(first.overhead.count);
    let little = 100.0 * LITTLE;
    let text = match all.iter().find(|p| p.overhead.value <= LITTLE) {
        Some(point) if std::ptr::eq(point, first) => {
            return Some(format!("{}; {programs}", first.text()));
        }
        Some(point) => format!(
            "{}, the finest that costs at most {little:.0}%",
            point.text()
        ),
        None => format!("none of {} points costs at most {little:.0}%", all.len()),
    };
    Some(format!(
        "{text}; at full speed {}; {programs}",
        first.text()
    ))
}

/// Worth of correction for samples at full speed on the same core.
fn worth(found: &Table<'_>) -> Option<String> {
    let setting = wait(0);
    let scheme = Kind::IpcSmt.name();
    let of = |measure| found.mean_of(Cells::of(measure).scheme(scheme).setting(&setting));
    let (kept, before, after) = (
        of("kept_ratio")?,
        of("damaged_ratio")?,
        of("damaged_kept_ratio")?,
    );
    Some(format!(
        "at full speed on the same core, double-time error correction keeps {} of samples; of all {} are damaged, of the \
         kept ones {}; {}",
        kept.percent(1),
        before.percent(1),
        after.percent(1),
        over(kept.count)
    ))
}
