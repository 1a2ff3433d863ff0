//! Messages about a plan, a part, and a run in parts.

use std::io::Write;
use std::path::Path;

use hps_experiments::cluster::{Came, ClusterError, Head, Keep, PartDone, Status};

use crate::cli::PartArgs;
use crate::text;

/// Most names of each kind that are printed.
const NAMES: usize = 20;

/// Does what the options ask for. Gives the results to be reported, or the exit code if there is nothing to report.
pub fn carry_out<T, E>(
    args: &PartArgs,
    folder: &Path,
    run: impl Fn(&Keep) -> Result<T, E>,
) -> anyhow::Result<Result<T, u8>>
where
    E: From<ClusterError> + Into<anyhow::Error>,
{
    let came = args.order().carry_out(folder, run);
    let code = match came.map_err(Into::into)? {
        Came::Results(results) => return Ok(Ok(results)),
        Came::Plan(head, path) => plan(&head, &path)?,
        Came::Part(done) => part(&done),
        Came::Status(how) => status(&how)?,
    };
    Ok(Err(code))
}

fn plan(head: &Head, path: &Path) -> anyhow::Result<u8> {
    let mut out = text::out();
    writeln!(out, "pieces   {}", head.pieces)?;
    writeln!(
        out,
        "cost     {} of one processor, about",
        time(head.seconds)
    )?;
    writeln!(out, "plan     {}", path.display())?;
    Ok(0)
}

fn part(done: &PartDone) -> u8 {
    let failed = match done.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    say!(
        "hps: part {} of {}: {} pieces{failed}, in {}",
        done.part.number,
        done.part.of,
        done.pieces,
        done.folder.display()
    );
    u8::from(done.failed > 0)
}

/// The exit code is 1 unless everything is done.
fn status(status: &Status) -> anyhow::Result<u8> {
    let mut out = text::out();
    writeln!(out, "done     {}", status.done)?;
    writeln!(out, "failed   {}", status.failed.len())?;
    writeln!(out, "running  {}", status.running.len())?;
    writeln!(out, "missing  {}", status.missing.len())?;
    for part in &status.parts {
        let of = part.pieces.map(|n| format!(" of {n}")).unwrap_or_default();
        let state = if part.is_running { ", running" } else { "" };
        let (name, done, failed) = (&part.name, part.done, part.failed);
        writeln!(
            out,
            "part     {name}: {done}{of} done, {failed} failed{state}"
        )?;
    }
    for (name, why) in status.failed.iter().take(NAMES) {
        writeln!(out, "failed   {name}: {why}")?;
    }
    for name in status.running.iter().take(NAMES) {
        writeln!(out, "running  {name}")?;
    }
    for name in status.missing.iter().take(NAMES) {
        writeln!(out, "missing  {name}")?;
    }
    let listed = [
        status.failed.len(),
        status.running.len(),
        status.missing.len(),
    ];
    let more: usize = listed.iter().map(|n| n.saturating_sub(NAMES)).sum();
    if more > 0 {
        writeln!(out, "and {more} more")?;
    }
    Ok(u8::from(!status.is_done()))
}

/// A time in the unit that suits it.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.1} s"),
        s if s < 6000.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
