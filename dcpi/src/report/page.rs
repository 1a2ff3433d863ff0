//! A set of samples as a page: procedures, where the cycles go, and the first procedures by instruction with their graphs.

use std::fmt::Write;

use super::Line;
use super::calc::{cycles_per_instruction, figures, parts, sources, static_name};
use super::drawing::{drawing, escaped};
use crate::analysis::{InstructionRow, Procedure, Summary};
use crate::samples::Event;

/// Contents of the page.
pub struct Page<'a> {
    /// Description of the samples: program, machine, version, epochs; a line each.
    pub title: &'a str,
    /// Where they come from, in lines of text.
    pub source: &'a [String],
    /// Samples by procedure, the most first.
    pub lines: &'a [Line],
    /// The events of the lines' counts, in their order.
    pub events: &'a [Event],
    /// Where the cycles of all procedures go; none where the machine has no minimum head times.
    pub whole: Option<&'a Summary>,
    /// Procedures to be shown by instruction, the most samples first.
    pub procedures: &'a [Procedure],
}

/// Procedures that the table lists.
const LISTED: usize = 40;

const STYLE: &str = "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em;line-height:1.45}\
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5em 0}\
td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #ddd}\
td:last-child,th:last-child,.code{text-align:left}.code{font-family:monospace;white-space:pre}\
.next td{border-top:2px solid #999}.hot{background:#fbeed6}caption{text-align:left;color:#555}\
@media(prefers-color-scheme:dark){:root{color-scheme:dark;background:#14181d}body{color:#e9edf1}\
td,th{border-color:#38424d}.hot{background:#3a3020}caption{color:#a3afba}svg{background:#fff}}\
details{margin:.6em 0}summary{cursor:pointer;font-weight:bold}\
.bar{background:#e8a33d;height:.7em;display:inline-block}";

impl Page<'_> {
    /// The page. It needs nothing from elsewhere.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"generator\" content=\"HPS Lab\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
            title = escaped(self.title)
        );
        for line in self.source {
            let _ = writeln!(out, "<p>{}</p>", escaped(line));
        }
        self.procedure_table(&mut out);
        if let Some(whole) = self.whole {
            out += "<h2>Where the cycles go</h2>\n";
            summary_table(whole, &mut out);
        }
        out += "<h2>By instruction</h2>\n";
        for (at, procedure) in self.procedures.iter().enumerate() {
            let _ = writeln!(
                out,
                "<details{}><summary>{}: {} samples</summary>",
                if at == 0 { " open" } else { "" },
                escaped(&procedure.name),
                procedure.samples
            );
            summary_table(&Summary::of(procedure), &mut out);
            instruction_table(procedure, &mut out);
            let _ = writeln!(out, "{}</details>", drawing(procedure));
        }
        out + "</body>\n</html>\n"
    }

    fn procedure_table(&self, out: &mut String) {
        out.push_str("<h2>Procedures</h2>\n<table>\n<tr>");
        for event in self.events {
            let _ = write!(out, "<th>{}</th>", event.name());
        }
        out.push_str("<th>share</th><th>procedure</th></tr>\n");
        let all: u64 = self
            .lines
            .iter()
            .filter_map(|line| line.counts.first())
            .sum();
        for line in self.lines.iter().take(LISTED) {
            out.push_str("<tr>");
            for count in &line.counts {
                let _ = write!(out, "<td>{count}</td>");
            }
            let first = line.counts.first().copied().unwrap_or(0);
            let share = super::percent(first as f64, all as f64);
            let _ = writeln!(
                out,
                "<td>{share:.2}%</td><td><span class=\"bar\" style=\"width:{:.1}em\"></span> {}</td></tr>",
                share / 10.0,
                escaped(&line.procedure)
            );
        }
        out.push_str("</table>\n");
        let more = self.lines.len().saturating_sub(LISTED);
        if more > 0 {
            let _ = writeln!(out, "<p>{more} more procedures.</p>");
        }
    }
}

/// Where cycles go: `dcpicalc`'s summary as a table.
fn summary_table(summary: &Summary, out: &mut String) {
    out.push_str("<table>\n");
    for (name, cycles, each) in cycles_per_instruction(summary) {
        let _ = writeln!(
            out,
            "<tr><td>{each:.2} cycles an instruction</td><td>{name}: {cycles:.0} in {:.0} instructions</td></tr>",
            summary.instructions
        );
    }
    for (name, least, most) in parts(summary) {
        let to = most.map_or_else(String::new, |most| format!(" to {most:.1}%"));
        let _ = writeln!(
            out,
            "<tr><td>{least:.1}%{to}</td><td>{}</td></tr>",
            escaped(&name)
        );
    }
    out.push_str("</table>\n");
}

/// A procedure by instruction. A line above an instruction begins a block; the instructions that are sampled most are
/// marked.
fn instruction_table(procedure: &Procedure, out: &mut String) {
    let graph = match procedure.cfg.missing_edges {
        true => ", edges are missing from its graph",
        false => "",
    };
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table>\n<caption>{} samples, {} blocks, {} classes{graph}</caption>\n\
         <tr><th>address</th><th class=\"code\">instruction</th><th>samples</th><th>frequency</th>\
         <th>confidence</th><th>cycles</th><th>stalls, and the instructions that may be their cause</th></tr>",
        procedure.samples,
        procedure.cfg.blocks.len(),
        procedure.classes.count
    );
    let most = procedure.rows.iter().map(|row| row.samples).max();
    let mut block = None;
    for row in &procedure.rows {
        let (frequency, confidence, cycles) = figures(row);
        let begins = block.is_some_and(|block| block != row.block);
        let is_hot = row.samples > 0 && 2 * row.samples >= most.unwrap_or(0);
        block = Some(row.block);
        let _ = writeln!(
            out,
            "<tr class=\"{}{}\"><td>{:x}</td><td class=\"code\">{}</td><td>{}</td><td>{frequency}</td>\
             <td>{confidence}</td><td>{cycles}</td><td>{}</td></tr>",
            if begins { "next " } else { "" },
            if is_hot { "hot" } else { "" },
            row.pc,
            escaped(&row.text),
            row.samples,
            escaped(&stalls(row))
        );
    }
    out.push_str("</table></div>\n");
}

/// The stalls in front of an instruction: how long those are that a machine's timing does not say, what may be their
/// cause, and from where.
fn stalls(row: &InstructionRow) -> String {
    let mut said = Vec::new();
    let executions = row.frequency.map_or(0.0, |e| e.frequency);
    if !row.culprits.is_empty() && executions > 0.0 && row.dynamic > 0.0 {
        let names: Vec<&str> = row.culprits.iter().map(|c| c.kind.name()).collect();
        said.push(format!(
            "{:.1}cy {}",
            row.dynamic / executions,
            names.join(" or ")
        ));
    }
    let mut fixed: Vec<(char, usize)> = Vec::new();
    for &(letter, _) in &row.static_stalls {
        match fixed.iter_mut().find(|(known, _)| *known == letter) {
            Some((_, count)) => *count += 1,
            None => fixed.push((letter, 1)),
        }
    }
    let fixed = fixed.into_iter();
    said.extend(fixed.map(|(letter, cycles)| format!("{cycles}cy {}", static_name(letter))));
    let from: Vec<String> = sources(row).iter().map(|pc| format!("{pc:x}")).collect();
    if !from.is_empty() {
        said.push(format!("from {}", from.join(", ")));
    }
    said.join("; ")
}
