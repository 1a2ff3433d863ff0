//! The page: chapters one below the other, without any outside reference.

use std::fmt::Write as _;

use super::{ChapterReport, Conditions};
use crate::chapter::{Chapter, ChapterTable};
use crate::html::{ReportInfo, escape};
use crate::page::{self, foot, head};
use crate::remarks::{OVERLAP, notes};

/// Texts of a page.
pub(crate) struct Words {
    /// Below the title.
    pub introduction: &'static str,
    /// Meaning of accuracies or errors, below the introduction; empty for none.
    pub measure: &'static str,
    /// Which files hold the numbers.
    pub files: &'static str,
    /// How to read it, as HTML: a section `guide`.
    pub guide: &'static str,
}

/// The words of the HPS report's evaluation.
pub(super) const HPS_2005: Words = Words {
    introduction: "The HPS report (Mousa and Krintz, UCSB technical report 2005-08) samples in bursts with a DISE \
        engine in the decode stage whose counters decide by themselves when to sample. Its case is a comparison: HPS \
        against the same sampling done with plain DISE and in software, over a suite of programs and three kinds of \
        profile. This page makes its Figures 6 to 10 again, holds its claims against them, and goes on where it \
        stopped.",
    measure: OVERLAP,
    files: "The numbers are in results.csv (the sweep of Figures 8 to 10), figure7.csv, measurements.csv (everything \
        else) and claims.csv.",
    guide: include_str!("../guide.html"),
};

/// The whole page.
pub(super) fn page(report: &ChapterReport<'_>) -> String {
    let &ChapterReport {
        answered,
        claims,
        conditions,
        failures,
        info,
        words,
    } = report;
    let chapters = &answered.chapters;
    let picture = answered.picture();
    let mut page = head(&info.title);
    page += "<nav>";
    for chapter in chapters {
        let name = chapter.title.split(':').next().unwrap_or_default();
        let _ = write!(
            page,
            "<a href=\"#{}\">{}</a> ",
            escape(&chapter.id),
            escape(name)
        );
    }
    page +=
        "<a href=\"#conditions\">Conditions</a> <a href=\"#guide\">How to read this</a></nav>\n";
    page += &page::tally(claims);
    page += &page::top(&answered.answers, picture);
    paragraph(&mut page, words.introduction);
    if !words.measure.is_empty() {
        paragraph(&mut page, words.measure);
    }
    for chapter in chapters {
        write_chapter(&mut page, chapter, picture.map(|(name, _)| name));
    }
    page += &notes(&info.notes);
    write_failures(&mut page, failures);
    write_conditions(&mut page, conditions, info, words);
    page += words.guide;
    page += &foot();
    page
}

fn paragraph(page: &mut String, text: &str) {
    let _ = writeln!(page, "<p>{}</p>", escape(text));
}

/// Writes a chapter. The picture `shown` stands at the top of the page.
fn write_chapter(page: &mut String, chapter: &Chapter, shown: Option<&str>) {
    let _ = writeln!(
        page,
        "<section id=\"{}\">\n<h2>{}</h2>",
        escape(&chapter.id),
        escape(&chapter.title)
    );
    for text in &chapter.text {
        paragraph(page, text);
    }
    if !chapter.figures.is_empty() {
        *page += "<div class=\"figures\">\n";
        for (name, figure) in &chapter.figures {
            *page += &match shown {
                Some(shown) if shown == name => page::at_the_top(figure),
                _ => page::figure(name, figure.svg()),
            };
        }
        *page += "</div>\n";
    }
    for table in chapter.tables.iter().filter(|t| !t.rows.is_empty()) {
        write_table(page, table);
    }
    *page += "</section>\n";
}

fn write_table(page: &mut String, table: &ChapterTable) {
    let title = escape(&table.title);
    if table.folded {
        let _ = writeln!(page, "<details><summary>{title}</summary>");
    } else if !title.is_empty() {
        let _ = writeln!(page, "<h3>{title}</h3>");
    }
    *page += "<div class=\"wide\" tabindex=\"0\"><table class=\"points\"><thead><tr>";
    let class = |column: usize| {
        if column < table.words {
            ""
        } else {
            " class=\"n\""
        }
    };
    for (column, name) in table.head.iter().enumerate() {
        debug_assert!(!name.is_empty(), "{title}: a column without a heading");
        let _ = write!(page, "<th{}>{}</th>", class(column), escape(name));
    }
    *page += "</tr></thead><tbody>\n";
    for (at, row) in table.rows.iter().enumerate() {
        match table.classes.get(at) {
            Some(class) => *page += &format!("<tr class=\"verdict {class}\">"),
            None => *page += "<tr>",
        }
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(page, "<td{}>{}</td>", class(column), escape(cell));
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table></div>\n";
    if table.folded {
        *page += "</details>\n";
    }
}

fn write_failures(page: &mut String, failures: &[(String, &str)]) {
    *page += "<section id=\"failures\">\n<h2>Failures</h2>\n";
    if failures.is_empty() {
        *page += "<p>Nothing failed.</p>\n";
    } else {
        *page += "<ul>\n";
        for (what, why) in failures {
            let _ = writeln!(page, "<li>{}: {}</li>", escape(what), escape(why));
        }
        *page += "</ul>\n";
    }
    *page += "</section>\n";
}

fn write_conditions(page: &mut String, conditions: &Conditions, info: &ReportInfo, words: &Words) {
    *page += "<section id=\"conditions\">\n<h2>Conditions</h2>\n";
    write_table(page, &conditions.machines);
    write_table(page, &conditions.programs);
    if !info.machine_text.is_empty() {
        let _ = writeln!(
            page,
            "<details><summary>The machine in full</summary>\n<pre tabindex=\"0\">{}</pre></details>",
            escape(&info.machine_text)
        );
    }
    let _ = writeln!(
        page,
        "<h3>Run it again</h3>\n<p>hps {}; the same command, programs and machine give the same numbers.</p>\n\
         <pre tabindex=\"0\">{}</pre>\n<p>{}</p>\n</section>",
        escape(&info.version),
        escape(&info.command),
        escape(words.files)
    );
}
