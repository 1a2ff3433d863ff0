//! Tables of the cycles that a compiler gains by each profile.

use hps_experiments::leaderboard::compiled::{Figures, Worth};
use hps_experiments::leaderboard::in_percent;

use crate::text::{Align, Table, grouped};

/// The table of a machine: in the mean over programs, and each program by itself if asked for.
pub fn worth(worth: &Worth, by_program: bool) -> String {
    let mut text = format!(
        "what a profile is worth to clang on {}, {} programs: cycles gained over no profile, and errors by instruction, \
         in %\n\n",
        worth.machine,
        worth.programs.len()
    );
    text += &table(worth, |at| Some(&worth.profiles[at].mean));
    text += "noise: in so many programs the 95% interval of the gain over orders of functions holds 0\n";
    if by_program {
        for program in &worth.programs {
            let cycles = worth.plain_cycles.get(program);
            let cycles = cycles.map_or_else(String::new, |mean| {
                format!(
                    ": {} cycles without a profile",
                    grouped(mean.mean.round() as u64)
                )
            });
            text += &format!("\n{program}{cycles}\n\n");
            text += &table(worth, |at| worth.profiles[at].by_program.get(program));
        }
    }
    text
}

fn table<'a>(worth: &'a Worth, of: impl Fn(usize) -> Option<&'a Figures>) -> String {
    let mut table = Table::new(&[
        ("profile", Align::Left),
        ("gain", Align::Right),
        ("error", Align::Right),
        ("error of counts", Align::Right),
        ("noise", Align::Right),
    ]);
    for (at, profile) in worth.profiles.iter().enumerate() {
        let Some(figures) = of(at) else { continue };
        let noise = profile.by_program.values().filter(|f| f.is_noise()).count();
        table.row([
            profile.name.clone(),
            in_percent(figures.gain.as_ref()),
            in_percent(figures.error.as_ref()),
            in_percent(figures.count_error.as_ref()),
            format!("{noise} of {}", worth.programs.len()),
        ]);
    }
    table.render()
}
