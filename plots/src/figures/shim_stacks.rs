//! Calling contexts as an icicle: each row a depth of the stack, widths the shares of samples.

use serde_json::Value;

use super::layout;
use super::shim::ShimFigure;
use super::shim_data::{list, number, text};
use super::shim_observed::thread_label;
use crate::PlotError;
use crate::canvas::{Canvas, Type, fit, text_width};
use crate::figure::Figure;
use crate::style::{self, Rgb};

/// Rows at most; deeper frames are left out, and said to be.
const ROWS: usize = 40;
const ROW: f64 = 40.0;
/// Boxes narrower than this many units are left out.
const NARROWEST: f64 = 1.5;

/// A box: its place in the list of contexts, or a thread.
struct Cell {
    label: String,
    color: Rgb,
    share: f64,
    left: f64,
    row: usize,
}

/// The tree of a result, with what drawing needs of it.
struct Tree<'a> {
    contexts: &'a [Value],
    frames: &'a [Value],
    children: Vec<Vec<usize>>,
    /// Outermost frames by thread.
    threads: Vec<(u64, Vec<usize>)>,
    all: f64,
}

impl<'a> Tree<'a> {
    fn new(stacks: &'a Value) -> Self {
        let contexts = list(stacks, "contexts");
        let mut children = vec![Vec::new(); contexts.len()];
        let mut threads: Vec<(u64, Vec<usize>)> = Vec::new();
        for (at, context) in contexts.iter().enumerate() {
            let parent = context["parent"].as_u64().map(|p| p as usize);
            match parent.and_then(|p| children.get_mut(p)) {
                Some(siblings) => siblings.push(at),
                None => {
                    let thread = context["thread"].as_u64().unwrap_or(0);
                    match threads.iter_mut().find(|(t, _)| *t == thread) {
                        Some((_, outermost)) => outermost.push(at),
                        None => threads.push((thread, vec![at])),
                    }
                }
            }
        }
        let total = |at: &usize| number(&contexts[*at], "total");
        let largest_first = |places: &mut Vec<usize>| {
            places.sort_by(|a, b| total(b).total_cmp(&total(a)));
        };
        children.iter_mut().for_each(largest_first);
        threads
            .iter_mut()
            .for_each(|(_, outermost)| largest_first(outermost));
        let all = threads.iter().flat_map(|(_, outermost)| outermost);
        let all = all.map(total).sum();
        Self {
            contexts,
            frames: list(stacks, "frames"),
            children,
            threads,
            all,
        }
    }

    fn share(&self, at: usize) -> f64 {
        number(&self.contexts[at], "total") / self.all
    }

    /// Boxes of these contexts and of all below, from `left` on. Not recursive: stacks are deep.
    fn place(&self, outermost: &[usize], left: f64, row: usize, cells: &mut Vec<Cell>) {
        let mut open = Vec::new();
        let queue = |places: &[usize], mut left: f64, row: usize, open: &mut Vec<_>| {
            for &at in places {
                open.push((at, left, row));
                left += self.share(at);
            }
        };
        queue(outermost, left, row, &mut open);
        while let Some((at, left, row)) = open.pop() {
            let frame = self.contexts[at]["frame"].as_u64().unwrap_or(0) as usize;
            let frame_of = self.frames.get(frame);
            let name = frame_of.map_or("", |f| text(f, "name"));
            // Marks for unknown frames stay in the background.
            let unknown = frame_of.is_some_and(|f| text(f, "tag").starts_with("0xfffffffffffffff"));
            cells.push(Cell {
                label: name.to_owned(),
                color: if unknown {
                    style::GRID
                } else {
                    style::category(frame)
                },
                share: self.share(at),
                left,
                row,
            });
            queue(&self.children[at], left, row + 1, &mut open);
        }
    }

    fn cells(&self, result: &Value) -> Vec<Cell> {
        let mut cells = Vec::new();
        let mut left = 0.0;
        let several = self.threads.len() > 1;
        let mut threads: Vec<(f64, &(u64, Vec<usize>))> = self
            .threads
            .iter()
            .map(|thread| (thread.1.iter().map(|&at| self.share(at)).sum(), thread))
            .collect();
        threads.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (share, (thread, outermost)) in threads {
            if several {
                cells.push(Cell {
                    label: thread_name(result, *thread),
                    color: style::FAINT,
                    share,
                    left,
                    row: 0,
                });
            }
            self.place(outermost, left, usize::from(several), &mut cells);
            left += share;
        }
        cells
    }
}

fn thread_name(result: &Value, thread: u64) -> String {
    let rows = list(result, "threads");
    let row = rows
        .iter()
        .find(|row| row["thread"].as_u64() == Some(thread));
    row.map_or_else(|| format!("thread {thread}"), thread_label)
}

/// The picture of a result's stacks; `title` and `sampling` say whose they are.
pub(super) fn icicle(result: &Value, title: &str, sampling: &str) -> Result<ShimFigure, PlotError> {
    let stacks = &result["stacks"];
    let tree = Tree::new(stacks);
    if tree.all <= 0.0 {
        return Err(PlotError::bad(title, "there are no stacks to draw"));
    }
    let width = style::WIDTH;
    let room = width - 2.0 * style::MARGIN;
    let mut cells = tree.cells(result);
    cells.retain(|cell| cell.share * room >= NARROWEST);
    let deepest = cells.iter().map(|cell| cell.row + 1).max().unwrap_or(1);
    let cut = deepest > ROWS;
    cells.retain(|cell| cell.row < ROWS);
    let torn = 100.0 * number(stacks, "torn") / number(stacks, "sampled").max(1.0);
    let subtitle = format!(
        "{sampling}; {torn:.1}% of stacks changed while they were read{}",
        if cut {
            format!("; {} deeper rows left out", deepest - ROWS)
        } else {
            String::new()
        }
    );
    let top = layout::header_height(&subtitle) + 10.0;
    let height = top + deepest.min(ROWS) as f64 * ROW + style::MARGIN;
    let figure = Figure::draw(title, width, height, |canvas| {
        layout::header(canvas, width, title, &subtitle);
        for cell in &cells {
            draw(canvas, cell, (top, room));
        }
    })?;
    Ok(ShimFigure::new("shim-stacks", figure))
}

fn draw(canvas: &mut Canvas<'_>, cell: &Cell, (top, room): (f64, f64)) {
    let left = style::MARGIN + cell.left * room;
    let right = left + cell.share * room;
    let upper = top + cell.row as f64 * ROW;
    let gap = if right - left > 6.0 { 2.0 } else { 0.0 };
    canvas.rect((left, upper), (right - gap, upper + ROW - 2.0), cell.color);
    let within = right - left - gap - 16.0;
    let size = style::TICK * 0.85;
    if within < text_width("mm", size, false) {
        return;
    }
    let label = format!("{} {:.1}%", cell.label, 100.0 * cell.share);
    let label = fit(&label, size, false, within);
    let set = Type::new(size).color(style::text_on(cell.color));
    canvas.text(&label, (left + 8.0, upper + ROW / 2.0 - 1.0), set);
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// Thread 7: main calls hot; thread 8: work.
    pub(crate) fn stacks() -> Value {
        let context = |thread: u64, parent: Option<u64>, frame: u64, own: u64, total: u64| json!({ "thread": thread, "parent": parent, "frame": frame, "own": own, "total": total });
        json!({
            "sampled": 100, "whole": 95, "torn": 5,
            "frames": [
                { "tag": "0x1", "name": "main" }, { "tag": "0x2", "name": "hot<T>" },
                { "tag": "0xffffffffffffffff", "name": "(frames not known)" },
            ],
            "contexts": [
                context(7, None, 0, 10, 75), context(7, Some(0), 1, 60, 60),
                context(7, Some(0), 2, 0, 5), context(7, Some(2), 1, 5, 5),
                context(8, None, 1, 25, 25),
            ],
        })
    }

    #[test]
    fn boxes_are_as_wide_as_their_totals_and_stand_below_their_callers() {
        let result = json!({
            "stacks": stacks(),
            "threads": [{ "thread": 7, "name": "first" }, { "thread": 8, "name": null }],
        });
        let cells = Tree::new(&result["stacks"]).cells(&result);
        let seen: Vec<(&str, usize, u32, u32)> = cells
            .iter()
            .map(|c| {
                let points = |share: f64| (share * 100.0).round() as u32;
                (c.label.as_str(), c.row, points(c.left), points(c.share))
            })
            .collect();
        let has =
            |cell: (&str, usize, u32, u32)| assert!(seen.contains(&cell), "{cell:?}: {seen:?}");
        has(("first (7)", 0, 0, 75));
        has(("main", 1, 0, 75));
        has(("hot<T>", 2, 0, 60));
        has(("(frames not known)", 2, 60, 5));
        has(("hot<T>", 3, 60, 5));
        has(("thread 8", 0, 75, 25));
        has(("hot<T>", 1, 75, 25));
        assert_eq!(seen.len(), 7);
        let figure = icicle(&result, "t", "s").unwrap().figure;
        assert!(figure.svg().contains("hot&lt;T&gt;"));
    }

    #[test]
    fn a_stack_beyond_all_rows_is_cut_and_nothing_is_an_error() {
        let contexts: Vec<Value> = (0..226_u64)
            .map(|i| {
                let parent = i.checked_sub(1);
                json!({ "thread": 1, "parent": parent, "frame": 0, "own": 1, "total": 226 - i })
            })
            .collect();
        let deep = json!({
            "stacks": { "frames": [{ "tag": "0x1", "name": "f" }], "contexts": contexts },
        });
        let figure = icicle(&deep, "t", "s").unwrap().figure;
        assert!(figure.svg().contains("186 deeper rows left out"));
        let none = json!({ "stacks": { "frames": [], "contexts": [] } });
        assert!(icicle(&none, "t", "s").is_err());
    }
}
