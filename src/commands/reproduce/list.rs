//! `hps reproduce --list`: what of each evaluation stands here.

use std::io::Write;

use hps_experiments::evaluations::{EVALUATIONS, Evaluation, Here};

use crate::text::{self, Align, Table};

/// Prints the evaluations, or that of one paper.
pub fn list(paper: Option<&str>) -> anyhow::Result<u8> {
    let mut out = text::out();
    let wanted = |e: &&Evaluation| paper.is_none() || e.name == paper;
    for (at, evaluation) in EVALUATIONS.iter().filter(wanted).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let name = evaluation.name.unwrap_or("not repeated here");
        writeln!(out, "{name}: {}", evaluation.paper)?;
        let mut table = Table::new(&[
            ("part", Align::Left),
            ("shows", Align::Left),
            ("here", Align::Left),
        ]);
        for part in evaluation.parts {
            let here = match part.here {
                Here::Judged => "judged by a claim".to_string(),
                Here::Shown => "in the report".to_string(),
                Here::NotCovered(why) => format!("not covered: {why}"),
            };
            table.row([part.of.to_string(), part.shows.to_string(), here]);
        }
        write!(out, "{}", table.render())?;
    }
    Ok(0)
}
