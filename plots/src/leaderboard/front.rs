//! Accuracy against overhead: every profiler as a point, and for each kind of profile the front of those that no
//! other one beats in both.

use hps_experiments::ProfileKind;
use hps_experiments::leaderboard::{Board, Entry, Form};

use super::over;
use crate::PlotError;
use crate::axis::{Axis, Frame};
use crate::canvas::Canvas;
use crate::figure::Figure;
use crate::figures::layout::{self, Entry as Legend, Swatch};
use crate::figures::{place_names, trace};
use crate::style;

/// A profiler: overhead and error in percent.
struct Spot {
    name: String,
    x: f64,
    y: f64,
}

/// The profilers of one kind of profile.
struct Group {
    label: String,
    spots: Vec<Spot>,
}

/// The picture; none if no profiler has a run that costs anything: then all have no overhead.
pub(super) fn figure(board: &Board) -> Result<Option<Figure>, PlotError> {
    let title = "Error against overhead";
    let points = |form| {
        let of_form = board.entries.iter().filter(move |e| e.form == form);
        let mut points: Vec<u64> = of_form.filter_map(|e| Some(e.point?.1)).collect();
        points.sort_unstable();
        points.dedup();
        points
    };
    let (periods, frequencies) = (points(Form::Collected), points(Form::Bursts));
    let mut parts = vec![(Form::Watching, None), (Form::Collected, None)];
    parts.extend(ProfileKind::ALL.map(|kind| (Form::Bursts, Some(kind))));
    let groups: Vec<Group> = (parts.into_iter())
        .filter_map(|(form, kind)| {
            let differ = points(form).len() > 1;
            group(board, form, kind, differ)
        })
        .collect();
    if groups.is_empty() {
        return Err(PlotError::bad(title, "no profiler has an error"));
    }
    let all = || groups.iter().flat_map(|g| &g.spots);
    if all().all(|spot| spot.x == 0.0) {
        return Ok(None);
    }
    let xs: Vec<f64> = all().map(|s| s.x).chain([0.0]).collect();
    let ys: Vec<f64> = all().map(|s| s.y).collect();
    let mut entries: Vec<Legend> = (groups.iter().enumerate())
        .map(|(at, group)| Legend {
            label: group.label.clone(),
            color: style::category(at),
            swatch: Swatch::Line(style::marker(at)),
        })
        .collect();
    entries.push(Legend {
        label: "line: no other profiler of the kind beats these in both".to_string(),
        color: style::MUTED,
        swatch: Swatch::Thin,
    });
    let mut sampling = String::new();
    if let [period] = periods.as_slice() {
        sampling += &format!("; at its cost: a sample in {period} cycles");
    }
    if let [one_in] = frequencies.as_slice() {
        sampling += &format!("; bursts at 1/{one_in}");
    }
    let subtitle = format!(
        "{} on {}; {}{sampling}",
        board.isa,
        board.machine,
        over(board)
    );
    let (x, y) = (
        Axis::overhead("Overhead, %", &xs),
        Axis::numbers("Error: 1 - overlap, %", &ys, true),
    );
    layout::Chart {
        title,
        subtitle: &subtitle,
        legend: &entries,
        width: style::WIDTH,
        height: 980.0,
        x: &x,
        y: &y,
    }
    .figure(|canvas, frame| draw(canvas, frame, &groups))
    .map(Some)
}

/// The profilers of a form and a kind; their frequencies or periods are named if they differ.
fn group(board: &Board, form: Form, kind: Option<ProfileKind>, differ: bool) -> Option<Group> {
    let level = kind.map_or("instruction", ProfileKind::name);
    let spot = |entry: &Entry| {
        Some(Spot {
            name: match entry.point {
                Some((_, n)) if differ => format!("{} 1/{n}", entry.name),
                _ => entry.name.clone(),
            },
            x: 100.0 * entry.mean.overhead.map_or(0.0, |m| m.mean),
            y: 100.0 * entry.mean.errors.get(level)?.mean,
        })
    };
    let entries = board.entries.iter();
    let spots: Vec<Spot> = entries
        .filter(|e| (e.form, e.kind) == (form, kind))
        .filter_map(spot)
        .collect();
    let label = match (form, kind) {
        (_, Some(kind)) => kind.title(),
        (Form::Collected, None) => "where cycles go, at its cost",
        (_, None) => "where cycles go, watching (by instruction)",
    };
    (!spots.is_empty()).then_some(Group {
        label: label.to_string(),
        spots,
    })
}

/// The places of the spots that no other one beats in both, by overhead. Of equal ones the first.
fn front(spots: &[Spot]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spots.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&spots[a], &spots[b]);
        a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y))
    });
    let mut least = f64::INFINITY;
    order.retain(|&at| {
        let beats = spots[at].y < least;
        least = least.min(spots[at].y);
        beats
    });
    order
}

fn draw(canvas: &mut Canvas<'_>, frame: &Frame, groups: &[Group]) {
    let mut ink = Vec::new();
    for (category, group) in groups.iter().enumerate() {
        // A step from each to the next: between them there is no profiler.
        let mut line: Vec<(f64, f64)> = Vec::new();
        for at in front(&group.spots) {
            let spot = &group.spots[at];
            let to = frame.at(spot.x, spot.y);
            if let Some(&from) = line.last() {
                line.push((to.0, from.1));
            }
            line.push(to);
        }
        canvas.path(&line, style::category(category), 3);
        trace(&line, 8.0, &mut ink);
    }
    let mut names = Vec::new();
    for (category, group) in groups.iter().enumerate() {
        for spot in &group.spots {
            let at = frame.at(spot.x, spot.y);
            let says = format!(
                "{}, {}: {}",
                spot.name,
                group.label,
                frame.words(spot.x, spot.y)
            );
            let look = (11.0, style::category(category));
            canvas.point(style::marker(category), at, look, &says);
            ink.push((at, 80.0));
            names.push((at, spot.name.as_str()));
        }
    }
    place_names(canvas, frame.area, &names, &ink);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_holds_what_nothing_beats_in_both() {
        let spot = |x: f64, y: f64| Spot {
            name: String::new(),
            x,
            y,
        };
        // (2, 5) costs more than (1, 5) and is no better; (0, 9) and (0, 8) cost the same.
        let spots = [
            spot(0.0, 9.0),
            spot(2.0, 5.0),
            spot(1.0, 5.0),
            spot(0.0, 8.0),
            spot(7.0, 1.0),
        ];
        assert_eq!(front(&spots), [3, 2, 4]);
    }
}
