//! A set of samples as a page: procedures, where the cycles go, and the first procedures by instruction with their graphs.

use std::fmt::Write;

use super::drawing::{drawing, escaped};
use super::{Line, calc, summary};
use crate::analysis::{Procedure, Summary};
use crate::samples::Event;

/// What stands on the page.
pub struct Page<'a> {
    /// What the samples are of: program, machine, version, epochs; a line each.
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
pre{background:#f6f6f6;padding:.8em;overflow-x:auto;font-size:12px;line-height:1.3}\
table{border-collapse:collapse}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #ddd}\
td:last-child,th:last-child{text-align:left}details{margin:.6em 0}summary{cursor:pointer;font-weight:bold}\
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
            let _ = writeln!(out, "<pre>{}</pre>", escaped(&summary(whole)));
        }
        out += "<h2>By instruction</h2>\n";
        for (at, procedure) in self.procedures.iter().enumerate() {
            let _ = writeln!(
                out,
                "<details{}><summary>{}: {} samples</summary>\n<pre>{}</pre>\n{}</details>",
                if at == 0 { " open" } else { "" },
                escaped(&procedure.name),
                procedure.samples,
                escaped(&calc(procedure)),
                drawing(procedure)
            );
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
