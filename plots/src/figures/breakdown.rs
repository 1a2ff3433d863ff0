//! The paper's Figure 7: stacked overheads, schemes beside each other, program by program.

use hps_experiments::ProfileKind;
use hps_experiments::figure7::Bar;
use hps_experiments::schemes::{Part, Scheme};

use super::layout::{self, Entry, Swatch};
use crate::PlotError;
use crate::axis::{Axis, Frame};
use crate::canvas::{Canvas, Type};
use crate::dataset::Spread;
use crate::figure::Figure;
use crate::style;

const OVERHEAD: &str = "Overhead (% of cycles without DISE)";
const MEAN: &str = "mean";
/// The widest bar, in units.
const WIDEST: f64 = 110.0;

/// One bar as it is drawn.
struct Stack {
    letter: char,
    /// Parts in percent, from the axis outwards.
    parts: Vec<(Part, f64)>,
    /// Quartiles of the whole over programs, for means.
    whiskers: Option<(f64, f64)>,
}

impl Stack {
    fn of(bar: &Bar) -> Stack {
        Stack {
            letter: letter(bar.scheme),
            parts: Part::ALL
                .map(|part| (part, 100.0 * bar.share(part)))
                .to_vec(),
            whiskers: None,
        }
    }

    fn mean(bars: &[&Bar], scheme: Scheme) -> Option<Stack> {
        let bars: Vec<&&Bar> = bars.iter().filter(|bar| bar.scheme == scheme).collect();
        let whole = Spread::of(bars.iter().map(|bar| 100.0 * bar.overhead()))?;
        let mean =
            |part| 100.0 * bars.iter().map(|b| b.share(part)).sum::<f64>() / bars.len() as f64;
        Some(Stack {
            letter: letter(scheme),
            parts: Part::ALL.map(|part| (part, mean(part))).to_vec(),
            whiskers: whole.middle,
        })
    }

    /// From where to where it reaches above and below zero.
    fn ends(&self) -> (f64, f64) {
        let sum = |wanted: fn(&f64) -> bool| -> f64 {
            self.parts.iter().map(|p| p.1).filter(wanted).sum()
        };
        (sum(|v| *v < 0.0), sum(|v| *v > 0.0))
    }
}

/// The letter above the bars of a scheme.
fn letter(scheme: Scheme) -> char {
    match scheme {
        Scheme::Hps => 'H',
        Scheme::PlainDise => 'P',
        Scheme::Software => 'S',
        Scheme::SoftwareReduced => 'R',
    }
}

/// The colour of a part, the same in every picture.
fn color(part: Part) -> style::Rgb {
    style::category(Part::ALL.iter().position(|p| *p == part).unwrap_or(0))
}

/// Stacked bars of one kind of profile: the schemes side by side for each program, and their means
/// over programs with the middle half of the programs.
///
/// # Errors
/// [`PlotError::BadFigure`] without bars.
pub(crate) fn breakdown(
    kind: ProfileKind,
    bars: &[&Bar],
    origin: &str,
) -> Result<Figure, PlotError> {
    let title = format!("What a {} profile costs, and for what", kind.title());
    if bars.is_empty() {
        return Err(PlotError::bad(&title, "there are no bars to draw"));
    }
    let mut programs: Vec<&str> = bars.iter().map(|bar| bar.program.as_str()).collect();
    programs.dedup();
    let schemes: Vec<Scheme> = Scheme::ALL
        .into_iter()
        .filter(|s| bars.iter().any(|bar| bar.scheme == *s))
        .collect();
    let of_program = |name: &&str| -> Vec<Option<Stack>> {
        let find = |s: &Scheme| bars.iter().find(|b| b.program == **name && b.scheme == *s);
        schemes
            .iter()
            .map(|s| find(s).map(|bar| Stack::of(bar)))
            .collect()
    };
    let mut groups: Vec<(String, Vec<Option<Stack>>)> = programs
        .iter()
        .map(|name| (name.to_string(), of_program(name)))
        .collect();
    if programs.len() > 1 {
        let means = schemes.iter().map(|s| Stack::mean(bars, *s)).collect();
        groups.push((MEAN.to_string(), means));
    }
    let letters: Vec<String> = schemes
        .iter()
        .map(|s| format!("{}: {}", letter(*s), s.title()))
        .collect();
    draw(
        &title,
        &format!("{} · {origin}", letters.join(", ")),
        &groups,
    )
}

fn draw(
    title: &str,
    subtitle: &str,
    groups: &[(String, Vec<Option<Stack>>)],
) -> Result<Figure, PlotError> {
    let stacks = || groups.iter().flat_map(|(_, stacks)| stacks).flatten();
    let used = |part: &Part| stacks().any(|s| s.parts.iter().any(|p| p.0 == *part && p.1 != 0.0));
    let mut entries: Vec<Entry> = Part::ALL
        .into_iter()
        .filter(used)
        .map(|part| Entry {
            label: part.title().to_string(),
            color: color(part),
            swatch: Swatch::Box,
        })
        .collect();
    if stacks().any(|s| s.whiskers.is_some()) {
        entries.push(Entry {
            label: "middle half of programs".to_string(),
            color: style::INK,
            swatch: Swatch::Thin,
        });
    }
    let mut values: Vec<f64> = Vec::new();
    for stack in stacks() {
        let (low, high) = stack.ends();
        // Room for the letter above.
        values.extend([low, high * 1.05]);
        values.extend(stack.whiskers.into_iter().flat_map(|(l, h)| [l, h]));
    }
    let y = Axis::numbers(OVERHEAD, &values, true);
    let names: Vec<String> = groups.iter().map(|(name, _)| name.clone()).collect();
    let bars = groups.iter().map(|(_, stacks)| stacks.len()).sum::<usize>();
    let width = (bars as f64 * 26.0 + 200.0).clamp(style::WIDTH, 2.0 * style::WIDTH);
    layout::Chart {
        title,
        subtitle,
        legend: &entries,
        width,
        height: 640.0,
        x: &Axis::groups("", &names),
        y: &y,
    }
    .figure(|canvas, frame| {
        for (at, (_, stacks)) in groups.iter().enumerate() {
            let one = frame.at(1.0, 0.0).0 - frame.at(0.0, 0.0).0;
            // Few bars do not become walls.
            let slot = (0.8 / stacks.len().max(1) as f64).min(WIDEST / one);
            let first = at as f64 + 0.5 - slot * stacks.len() as f64 / 2.0;
            for (bar, stack) in stacks.iter().enumerate() {
                let start = first + bar as f64 * slot;
                if let Some(stack) = stack {
                    draw_stack(canvas, frame, (start, start + slot), stack);
                }
            }
        }
    })
}

fn draw_stack(canvas: &mut Canvas<'_>, frame: &Frame, (start, end): (f64, f64), stack: &Stack) {
    let (left, zero) = frame.at(start, 0.0);
    let (right, _) = frame.at(end, 0.0);
    let air = ((right - left) * 0.08).min(3.0);
    let (mut above, mut below) = (0.0, 0.0);
    for &(part, value) in &stack.parts {
        let from = if value < 0.0 { &mut below } else { &mut above };
        let ends = [*from, *from + value].map(|v| frame.at(start, v).1);
        *from += value;
        if (ends[0] - ends[1]).abs() >= 0.5 {
            let (upper, lower) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            canvas.rect((left + air, upper), (right - air, lower), color(part));
        }
    }
    let mut top = frame.at(start, above).1;
    let middle = (left + right) / 2.0;
    if let Some((low, high)) = stack.whiskers {
        let [low, high] = [low, high].map(|v| frame.at(start, v).1);
        canvas.line((middle, low), (middle, high), style::INK, 3);
        let half = (right - left) * 0.2;
        for y in [low, high] {
            canvas.line((middle - half, y), (middle + half, y), style::INK, 3);
        }
        top = top.min(high);
    }
    // A bar of no height still shows where it stands.
    if above == 0.0 && below == 0.0 {
        canvas.line((left + air, zero), (right - air, zero), style::INK, 3);
    }
    let set = Type::new(style::TICK * 0.85).color(style::MUTED).centered();
    canvas.text(&stack.letter.to_string(), (middle, top - 15.0), set);
}
