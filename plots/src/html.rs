//! The report as one HTML page without any outside reference.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hps_experiments::{Row, answer_lines, grouped};

use crate::axis::frequency;
use crate::dataset::{DataSet, KindData, Metric, half_width, half_width_of_accuracy};
use crate::figure::Figure;
use crate::figures::SweepFigure;
use crate::isas::comparisons;
use crate::page::{self, foot, head};
use crate::remarks::{OVERLAP, notes};
use crate::table::{SummaryLine, failures, percent, percent_within, place, summary_lines, within};

const GUIDE: &str = include_str!("guide.html");
/// Bytes of per-program pictures kept inside the page; further ones are linked.
const INLINE_LIMIT: usize = 2_500_000;

/// Texts of a report beside the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportInfo {
    /// Heading of the page.
    pub title: String,
    /// The command that makes the same results again.
    pub command: String,
    /// Version of the lab that writes the report.
    pub version: String,
    /// Remarks such as warnings of the run, folded below the pictures.
    pub notes: Vec<String>,
    /// The machine's resolved configuration as text; empty for none.
    pub machine_text: String,
}

/// Text made safe for elements and quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Characters a page may not hold.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// One set of rows with the figures of each kind of profile.
pub(crate) struct Section<'a> {
    pub set: &'a DataSet<'a>,
    pub kinds: Vec<(KindData<'a>, Vec<SweepFigure>)>,
}

/// The whole page, with a named picture at the top.
pub(crate) fn page(
    sections: &[Section<'_>],
    picture: Option<(&str, &Figure)>,
    info: &ReportInfo,
) -> String {
    let mut page = Page {
        html: head(&info.title),
        inline_left: INLINE_LIMIT,
    };
    page.contents(sections);
    page.first_words(sections, picture);
    for (index, section) in sections.iter().enumerate() {
        page.figures(section, index, sections.len());
    }
    page.summary(sections);
    page.instruction_sets(sections);
    page.points(sections);
    page.add(notes(&info.notes));
    page.failures(sections);
    page.overview(sections, info);
    page.reproduce(info);
    page.add(GUIDE);
    page.add(foot());
    page.html
}

struct Page {
    html: String,
    inline_left: usize,
}

impl Page {
    fn add(&mut self, html: impl AsRef<str>) {
        self.html.push_str(html.as_ref());
    }

    fn contents(&mut self, sections: &[Section<'_>]) {
        self.add("<nav><a href=\"#figures\">Figures</a> <a href=\"#summary\">Summary</a> ");
        if !comparisons(sections.iter().map(|s| s.set)).is_empty() {
            self.add("<a href=\"#isas\">Instruction sets side by side</a> ");
        }
        self.add(
            "<a href=\"#points\">Every point</a> <a href=\"#notes\">Notes</a> \
             <a href=\"#failures\">Failures</a> <a href=\"#run\">What was run</a> \
             <a href=\"#again\">Run it again</a> <a href=\"#guide\">How to read this</a></nav>\n",
        );
    }

    /// Writes which programs and machines the pictures show, what to take, and how many points failed.
    fn first_words(&mut self, sections: &[Section<'_>], picture: Option<(&str, &Figure)>) {
        let rows = || sections.iter().flat_map(|s| &s.set.rows);
        let programs: BTreeSet<&str> = rows().map(|r| r.program.as_str()).collect();
        let machines: BTreeSet<&str> = rows().map(|r| r.machine.as_str()).collect();
        let names = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
        let what = match programs.len() {
            0..=4 => names(&programs),
            count => format!("{count} programs"),
        };
        self.add(format!(
            "<p>{} on {}. {OVERLAP}</p>\n",
            escape(&what),
            escape(&names(&machines))
        ));
        let answers = answer_lines(&hps_experiments::answers(rows().copied()));
        self.add(page::top(&answers, picture));
        match rows().filter(|r| r.failure.is_some()).count() {
            0 => {}
            1 => self.add("<p class=\"note\">1 point <a href=\"#failures\">failed</a>.</p>\n"),
            count => self.add(format!(
                "<p class=\"note\">{count} points <a href=\"#failures\">failed</a>.</p>\n"
            )),
        }
    }

    fn overview(&mut self, sections: &[Section<'_>], info: &ReportInfo) {
        self.add("<section id=\"run\">\n<h2>What was run</h2>\n");
        let head = [
            "Machine",
            "Fingerprint of its configuration",
            "ISA",
            "Version",
            "Points",
            "Timed",
            "Failed",
        ];
        let rows: Vec<Vec<Cell>> = sections.iter().map(|s| machine_cells(s.set)).collect();
        self.table("", &head, &rows);
        let head = [
            "Program",
            "Input",
            "ISA",
            "SHA-256 of its image",
            "Instructions",
            "Cycles unprofiled",
        ];
        self.table("", &head, &program_cells(sections));
        if !info.machine_text.is_empty() {
            self.add("<details><summary>The machine in full</summary>\n<pre tabindex=\"0\">");
            self.add(escape(&info.machine_text));
            self.add("</pre></details>\n");
        }
        self.add("</section>\n");
    }

    fn summary(&mut self, sections: &[Section<'_>]) {
        self.add(
            "<section id=\"summary\">\n<h2>Summary</h2>\n<p>Means over programs at the burst lengths of \
             the paper's Figure 8: 100 for data streams, 1 for the others, or the nearest that was run. \
             <em>Accuracy</em> is renormalized, <em>capped</em> is the stricter reading whose best value \
             is about 90%.</p>\n",
        );
        for section in sections {
            if sections.len() > 1 {
                self.add(format!("<h3>{}</h3>\n", escape(&section.set.origin())));
            }
            let mut rows = Vec::new();
            self.add("<ul>\n");
            for (data, _) in &section.kinds {
                let lines = summary_lines(data);
                self.add(format!("<li>{}</li>\n", escape(&sentence(&lines))));
                rows.extend(lines.iter().map(summary_cells));
            }
            self.add("</ul>\n");
            let head = [
                "Profile",
                "Burst",
                "Frequency",
                "Programs",
                "Accuracy %",
                "Capped %",
                "Overhead %",
            ];
            self.table("", &head, &rows);
            for how in (section.set.phase_notes().into_iter()).chain(section.set.timing_notes()) {
                let capital = how[..1].to_uppercase();
                let text = format!("{capital}{}", &how[1..]);
                self.add(format!("<p class=\"note\">{}.</p>\n", escape(&text)));
            }
        }
        self.add("</section>\n");
    }

    /// Tables of what ran on several instruction sets.
    fn instruction_sets(&mut self, sections: &[Section<'_>]) {
        let comparisons = comparisons(sections.iter().map(|s| s.set));
        if comparisons.is_empty() {
            return;
        }
        self.add("<section id=\"isas\">\n<h2>Instruction sets side by side</h2>\n");
        for comparison in comparisons {
            self.add(format!("<p>{}.</p>\n", escape(&comparison.title())));
            for table in comparison.tables() {
                let head: Vec<&str> = table.head.iter().map(String::as_str).collect();
                let cells = |row: Vec<String>| {
                    let mut cells: Vec<Cell> = row.into_iter().map(Cell::Number).collect();
                    if let Some(Cell::Number(name)) = cells.first_mut() {
                        cells[0] = Cell::Words(std::mem::take(name));
                    }
                    cells
                };
                let rows: Vec<Vec<Cell>> = table.rows.into_iter().map(cells).collect();
                let title = escape(&table.title);
                self.add(format!(
                    "<h3>{}{}</h3>\n",
                    title[..1].to_uppercase(),
                    &title[1..]
                ));
                self.table("points", &head, &rows);
            }
        }
        self.add("</section>\n");
    }

    fn figures(&mut self, section: &Section<'_>, index: usize, of: usize) {
        if index == 0 {
            self.add("<section id=\"figures\">\n<h2>Figures</h2>\n");
        }
        if of > 1 {
            self.add(format!("<h3>{}</h3>\n", escape(&section.set.origin())));
        }
        for (data, figures) in &section.kinds {
            let title = data.kind.title();
            self.add(format!(
                "<h3>{}{}</h3>\n",
                title[..1].to_uppercase(),
                &title[1..]
            ));
            if figures.is_empty() {
                self.add("<p>No point succeeded, so there is nothing to draw.</p>\n");
                continue;
            }
            self.add("<div class=\"figures\">\n");
            for figure in figures.iter().filter(|f| !f.per_program) {
                self.figure(figure);
            }
            self.add("</div>\n");
            let (programs, count) = (
                figures.iter().filter(|f| f.per_program),
                data.programs.len(),
            );
            self.add(format!(
                "<details><summary>Each program by itself ({count})</summary>\n<div class=\"figures\">\n"
            ));
            for figure in programs {
                match self.inline_left.checked_sub(figure.figure.svg().len()) {
                    Some(left) => {
                        self.inline_left = left;
                        self.figure(figure);
                    }
                    None => self.link(figure),
                }
            }
            self.add("</div></details>\n");
        }
        if index + 1 == of {
            self.add("</section>\n");
        }
    }

    fn figure(&mut self, figure: &SweepFigure) {
        self.add(page::figure(&figure.name, figure.figure.svg()));
    }

    fn link(&mut self, figure: &SweepFigure) {
        let (name, title) = (escape(&figure.name), escape(figure.figure.title()));
        self.add(format!(
            "<p><a href=\"figures/{name}.svg\">{title}</a> (kept beside this page)</p>\n"
        ));
    }

    fn points(&mut self, sections: &[Section<'_>]) {
        self.add("<section id=\"points\">\n<h2>Every point</h2>\n");
        for section in sections {
            if sections.len() > 1 {
                self.add(format!("<h3>{}</h3>\n", escape(&section.set.origin())));
            }
            for (data, _) in &section.kinds {
                for (program, name) in data.names.iter().enumerate() {
                    let title = format!("{name}, {}", data.kind.title());
                    let rows = point_cells(data, program);
                    self.add(format!(
                        "<details><summary>{} ({})</summary>\n",
                        escape(&title),
                        rows.len()
                    ));
                    self.table("points", &POINT_HEAD, &rows);
                    self.add("</details>\n");
                }
            }
        }
        self.add("</section>\n");
    }

    fn failures(&mut self, sections: &[Section<'_>]) {
        self.add("<section id=\"failures\">\n<h2>Failures</h2>\n");
        let mut any = false;
        for section in sections {
            for (reason, rows) in failures(section.set) {
                any = true;
                let noun = if rows.len() == 1 { "point" } else { "points" };
                self.add(format!(
                    "<details><summary>{} {noun}: {}</summary>\n<ul>\n",
                    rows.len(),
                    escape(reason)
                ));
                for row in rows {
                    self.add(format!("<li>{}</li>\n", escape(&place(row))));
                }
                self.add("</ul></details>\n");
            }
        }
        if !any {
            self.add("<p>No point failed.</p>\n");
        }
        self.add("</section>\n");
    }

    fn reproduce(&mut self, info: &ReportInfo) {
        self.add(format!(
            "<section id=\"again\">\n<h2>Run it again</h2>\n<p>hps {}; the same command, programs and \
             machine give the same numbers.</p>\n<pre tabindex=\"0\">{}</pre>\n<p>The rows of this page are in \
             <code>results.csv</code>, its pictures in <code>figures/</code>.</p>\n</section>\n",
            escape(&info.version),
            escape(&info.command)
        ));
    }

    fn table(&mut self, class: &str, head: &[&str], rows: &[Vec<Cell>]) {
        let _ = write!(
            self.html,
            "<div class=\"wide\" tabindex=\"0\"><table class=\"{class}\"><thead><tr>"
        );
        let first = rows.first();
        for (column, name) in head.iter().enumerate() {
            debug_assert!(!name.is_empty(), "a column without a heading");
            let class = first.map_or("", |r| r[column].class());
            let _ = write!(self.html, "<th{class}>{}</th>", escape(name));
        }
        self.add("</tr></thead><tbody>\n");
        for row in rows {
            self.add("<tr>");
            for cell in row {
                let _ = write!(
                    self.html,
                    "<td{}>{}</td>",
                    cell.class(),
                    escape(cell.text())
                );
            }
            self.add("</tr>\n");
        }
        self.add("</tbody></table></div>\n");
    }
}

/// A cell of a table, and how it is set.
enum Cell {
    Words(String),
    Number(String),
    Hash(String),
}

impl Cell {
    fn text(&self) -> &str {
        match self {
            Cell::Words(t) | Cell::Number(t) | Cell::Hash(t) => t,
        }
    }
    fn class(&self) -> &'static str {
        match self {
            Cell::Words(_) => "",
            Cell::Number(_) => " class=\"n\"",
            Cell::Hash(_) => " class=\"h\"",
        }
    }
}

fn words(text: &str) -> Cell {
    Cell::Words(text.to_string())
}

fn count(value: Option<u64>) -> Cell {
    Cell::Number(value.map_or_else(|| "–".to_string(), grouped))
}

fn machine_cells(set: &DataSet<'_>) -> Vec<Cell> {
    let number =
        |of: fn(&Row) -> bool| count(Some(set.rows.iter().filter(|r| of(r)).count() as u64));
    vec![
        words(set.machine),
        Cell::Hash(set.fingerprint.to_string()),
        words(set.isa),
        words(set.version),
        number(|_| true),
        number(|r| r.timing.is_some()),
        number(|r| r.failure.is_some()),
    ]
}

fn program_cells(sections: &[Section<'_>]) -> Vec<Vec<Cell>> {
    let mut rows: Vec<&Row> = sections.iter().flat_map(|s| &s.set.rows).copied().collect();
    rows.sort_by_key(|r| {
        (
            &r.program,
            &r.input,
            &r.isa,
            &r.program_hash,
            r.timing.is_none(),
        )
    });
    rows.dedup_by_key(|r| (&r.program, &r.input, &r.isa, &r.program_hash));
    rows.iter()
        .map(|r| {
            vec![
                words(&r.program),
                words(&r.input),
                words(&r.isa),
                Cell::Hash(r.program_hash.clone()),
                count(r.timing.map(|t| t.instructions)),
                count(r.timing.map(|t| t.baseline_cycles)),
            ]
        })
        .collect()
}

fn summary_cells(line: &SummaryLine) -> Vec<Cell> {
    vec![
        words(line.kind.title()),
        Cell::Number(line.burst.to_string()),
        Cell::Number(frequency(line.one_in)),
        Cell::Number(format!("{} of {}", line.programs.0, line.programs.1)),
        Cell::Number(within(line.renormalized, line.accuracy_half_width, 2)),
        Cell::Number(percent(line.capped, 2)),
        Cell::Number(percent_within(line.overhead, line.half_width)),
    ]
}

/// The summary of one kind in words: its most and its least frequent point.
fn sentence(lines: &[SummaryLine]) -> String {
    let known: Vec<_> = lines.iter().filter(|l| l.renormalized.is_some()).collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else {
        return match lines.first() {
            Some(line) => format!(
                "The {} profile has no accuracy: every point failed.",
                line.kind.title()
            ),
            None => "No points.".to_string(),
        };
    };
    let point = |line: &SummaryLine| {
        let cost = match line.overhead {
            Some(o) => match line.half_width {
                Some(h) => format!("at an overhead of {o:.3} ± {h:.3}%"),
                None => format!("at an overhead of {o:.3}%"),
            },
            None => "(not timed)".to_string(),
        };
        format!(
            "{}% ({}% capped) {cost} when 1 event in {} is sampled",
            percent(line.renormalized, 1),
            percent(line.capped, 1),
            grouped(line.one_in)
        )
    };
    let title = first.kind.title();
    let mut text = format!(
        "The {title} profile at burst {} is accurate to {}",
        first.burst,
        point(first)
    );
    if first.one_in != last.one_in {
        let _ = write!(text, ", and to {}", point(last));
    }
    text + "."
}

const POINT_HEAD: [&str; 15] = [
    "Burst",
    "Sparsity",
    "Frequency",
    "Accuracy %",
    "one phase ±",
    "Capped %",
    "Members exact",
    "Members sampled",
    "Samples",
    "Population",
    "Overhead %",
    "Cycles",
    "Inserted instr.",
    "Handler instr.",
    "State",
];

/// The standard deviation of a row's accuracy over phases, in percent: how far a single phase may be from the mean.
fn deviation(row: &Row) -> Option<f64> {
    row.mean_accuracy()?;
    Some(100.0 * row.phases.as_ref()?.deviation)
}

fn point_cells(data: &KindData<'_>, program: usize) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for &burst in &data.bursts {
        for &one_in in &data.frequencies {
            let Some(row) = data.row(program, burst, one_in) else {
                continue;
            };
            let (a, t) = (row.accuracy, row.timing);
            let state = match (&row.failure, t) {
                (Some(reason), _) => format!("failed: {reason}"),
                (None, Some(t)) => t.sampled.map_or_else(
                    || "timed".to_string(),
                    |s| {
                        format!(
                            "{} units, {} with insertions",
                            s.units, s.units_with_insertions
                        )
                    },
                ),
                (None, None) => "accuracy only".to_string(),
            };
            rows.push(vec![
                Cell::Number(burst.to_string()),
                Cell::Number(grouped(row.sparsity)),
                Cell::Number(frequency(one_in)),
                Cell::Number(within(
                    Metric::Renormalized.of(row),
                    half_width_of_accuracy(row),
                    2,
                )),
                Cell::Number(percent(deviation(row), 1)),
                Cell::Number(percent(Metric::Capped.of(row), 2)),
                count(a.map(|a| a.members_exact)),
                count(a.map(|a| a.members_sampled)),
                count(a.map(|a| a.samples)),
                count(a.map(|a| a.population)),
                Cell::Number(percent_within(Metric::Overhead.of(row), half_width(row))),
                count(t.map(|t| t.cycles)),
                count(t.map(|t| t.inserted_instructions)),
                count(t.map(|t| t.handler_instructions)),
                Cell::Words(state),
            ]);
        }
    }
    rows
}
