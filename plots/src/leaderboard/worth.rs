//! Worth of profiles to a compiler: gain against error, and program by program.

use hps_experiments::leaderboard::compiled::{Figures, INSTRUMENTATION, ProfileWorth, Worth};
use hps_experiments::leaderboard::{Mean, ProfilerInfo, all, in_percent};

use crate::PlotError;
use crate::axis::{Axis, Frame};
use crate::canvas::Canvas;
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;
use crate::figures::layout::{self, Entry as Legend, Swatch};
use crate::figures::{HeatMap, heat_map, place_names, trace};
use crate::style;

use super::file_name;

/// The chapter of a machine.
pub(super) fn chapter(worth: &Worth) -> Result<Chapter, PlotError> {
    let on = format!("{} on {}", worth.isa, worth.machine);
    let name = |figure: &str| format!("{}-{}-{figure}", worth.isa, file_name(&worth.machine));
    let mut figures = Vec::new();
    for (id, title, x, of) in [
        (
            "gain-cycles",
            "Gain against error of cycles",
            "Error by instruction against cycles, %",
            (|f| f.error) as fn(&Figures) -> Option<Mean>,
        ),
        (
            "gain-counts",
            "Gain against error of executions",
            "Error by instruction against executions, %",
            |f| f.count_error,
        ),
    ] {
        figures.push((name(id), scatter(worth, title, x, of)?));
    }
    figures.push((name("gain-programs"), programs(worth)?));
    Ok(Chapter {
        id: name("compiled"),
        title: format!("What a profile is worth to a compiler: {on}"),
        text: vec![
            "clang compiles each program with each profile, and the result runs on this machine with its functions in \
             several orders. The gain is the number of cycles without a profile for each cycle with it, less one. The \
             interval of a program is over orders of its functions, that of a mean over programs. The profile is of \
             the run with the same input."
                .to_string(),
        ],
        figures,
        tables: tables(worth),
    })
}

fn is_profiler(name: &str) -> bool {
    all().iter().any(|p: &ProfilerInfo| p.name == name)
}

fn percent(mean: &Mean) -> f64 {
    100.0 * mean.mean
}

/// Ends of an interval in percent.
fn ends(mean: &Mean) -> (f64, f64) {
    let (low, high) = mean.interval.unwrap_or((mean.mean, mean.mean));
    (100.0 * low, 100.0 * high)
}

fn scatter(
    worth: &Worth,
    title: &str,
    x: &str,
    of: impl Fn(&Figures) -> Option<Mean>,
) -> Result<Figure, PlotError> {
    type Spot<'a> = (f64, Mean, &'a str);
    let spots: Vec<Spot<'_>> = (worth.profiles.iter())
        .filter_map(|p| Some((percent(&of(&p.mean)?), p.mean.gain?, p.name.as_str())))
        .collect();
    if spots.is_empty() {
        return Err(PlotError::bad(title, "no profile has an error"));
    }
    let of_counters = worth.profiles.iter().find(|p| p.name == INSTRUMENTATION);
    let counters = of_counters.and_then(|p| Some(percent(&p.mean.gain?)));
    let xs: Vec<f64> = spots.iter().map(|s| s.0).collect();
    let ys = spots.iter().flat_map(|s| {
        let (low, high) = ends(&s.1);
        [low, high]
    });
    let ys: Vec<f64> = ys.chain(counters).chain([0.0]).collect();
    let (x, y) = (
        Axis::numbers(x, &xs, true),
        Axis::numbers("Cycles gained, %", &ys, true),
    );
    let dot = |label: &str, category| Legend {
        label: label.to_string(),
        color: style::category(category),
        swatch: Swatch::Line(style::marker(category)),
    };
    let mut entries = vec![
        dot("profilers", 0),
        dot("made of what the machine knows", 1),
        Legend {
            label: "95% interval of the mean over programs".to_string(),
            color: style::MUTED,
            swatch: Swatch::Thin,
        },
    ];
    if counters.is_some() {
        entries.push(Legend {
            label: "line across: instrumentation".to_string(),
            color: style::category(2),
            swatch: Swatch::Thin,
        });
    }
    let subtitle = format!(
        "{} on {}; mean over {} programs",
        worth.isa,
        worth.machine,
        worth.programs.len()
    );
    layout::Chart {
        title,
        subtitle: &subtitle,
        legend: &entries,
        width: style::WIDTH,
        height: 820.0,
        x: &x,
        y: &y,
    }
    .figure(|canvas, frame| draw(canvas, frame, &spots, counters))
}

fn draw(
    canvas: &mut Canvas<'_>,
    frame: &Frame,
    spots: &[(f64, Mean, &str)],
    counters: Option<f64>,
) {
    let mut ink = Vec::new();
    if let Some(gain) = counters {
        let y = frame.at(0.0, gain).1;
        let line = [(frame.area.left, y), (frame.area.right, y)];
        canvas.path(&line, style::category(2), 3);
        trace(&line, 8.0, &mut ink);
    }
    for (x, gain, _) in spots {
        let (low, high) = ends(gain);
        let line = [frame.at(*x, low), frame.at(*x, high)];
        canvas.path(&line, style::MUTED, 2);
        trace(&line, 4.0, &mut ink);
    }
    let mut names = Vec::new();
    for (x, gain, name) in spots {
        let at = frame.at(*x, percent(gain));
        let category = usize::from(!is_profiler(name));
        let says = format!("{name}: {}", frame.words(*x, percent(gain)));
        let look = (11.0, style::category(category));
        canvas.point(style::marker(category), at, look, &says);
        ink.push((at, 80.0));
        names.push((at, *name));
    }
    place_names(canvas, frame.area, &names, &ink);
}

fn programs(worth: &Worth) -> Result<Figure, PlotError> {
    let value = |profile: &ProfileWorth, program: &String| {
        let gain = profile.by_program.get(program)?.gain?;
        Some(percent(&gain))
    };
    let row = |profile: &ProfileWorth| worth.programs.iter().map(|p| value(profile, p)).collect();
    heat_map(&HeatMap {
        title: "Cycles gained, program by program".to_string(),
        subtitle: format!("{} on {}", worth.isa, worth.machine),
        row_label: String::new(),
        column_label: String::new(),
        rows: worth.profiles.iter().map(|p| p.name.clone()).collect(),
        columns: worth.programs.clone(),
        values: worth.profiles.iter().map(row).collect(),
        colors: style::BLUES,
        unit: "Gain, %".to_string(),
        decimals: 1,
    })
}

fn tables(worth: &Worth) -> Vec<ChapterTable> {
    let noise = format!("Noise, of {}", worth.programs.len());
    let head = [
        "Profile",
        "Gain",
        "Error of cycles",
        "Error of executions",
        &noise,
    ];
    let mut mean = ChapterTable::new(
        "In percent; noise: programs in which the interval of the gain holds 0",
        1,
        &head,
    );
    for profile in &worth.profiles {
        let figures = &profile.mean;
        let noise = profile.by_program.values().filter(|f| f.is_noise()).count();
        mean.rows.push(vec![
            profile.name.clone(),
            in_percent(figures.gain.as_ref()),
            in_percent(figures.error.as_ref()),
            in_percent(figures.count_error.as_ref()),
            noise.to_string(),
        ]);
    }
    let mut head = vec!["Profile"];
    head.extend(worth.programs.iter().map(String::as_str));
    let mut each = ChapterTable::new("Gain by program, with its interval, in percent", 1, &head);
    each.folded = true;
    for profile in &worth.profiles {
        let gains = worth.programs.iter().map(|program| {
            let of_program = profile.by_program.get(program);
            in_percent(of_program.and_then(|f| f.gain.as_ref()))
        });
        let name = [profile.name.clone()];
        each.rows.push(name.into_iter().chain(gains).collect());
    }
    vec![mean, each]
}
