//! Parts common to all pages: the head with their style, answers and a tally at the top, the script at the end.

use std::fmt::Write as _;

use hps_experiments::claims::{Claim, Verdict};

use crate::figure::Figure;
use crate::html::escape;

const STYLE: &str = include_str!("report.css");
/// Sorts tables and shows what pictures say; a page without it has the same content.
const SCRIPT: &str = include_str!("report.js");

/// The beginning of a page, up to and with its heading.
pub(crate) fn head(title: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"HPS Lab\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    )
}

/// The end of a page.
pub(crate) fn foot() -> String {
    // The page stays well-formed for readers of XML, too.
    format!("</main>\n<script>\n//<![CDATA[\n{SCRIPT}//]]>\n</script>\n</body>\n</html>\n")
}

/// The answers of a page as HTML (of what, and the answer), and the picture that shows them with the name of its files.
/// Nothing of what there is not.
pub(crate) fn top(answers: &[(String, String)], picture: Option<(&str, &Figure)>) -> String {
    let mut html = "<div id=\"answer\">\n".to_string();
    if !answers.is_empty() {
        html += "<ul class=\"answer\">\n";
        for (of, answer) in answers {
            let (of, answer) = (escape(of), escape(answer));
            let _ = writeln!(html, "<li><strong>{of}</strong>: {answer}</li>");
        }
        html += "</ul>\n";
    }
    if let Some((name, picture)) = picture {
        html += &figure(name, picture.svg());
    }
    html + "</div>\n"
}

/// In the place of a picture: that it stands at the top.
pub(crate) fn at_the_top(picture: &Figure) -> String {
    let title = escape(picture.title());
    format!("<p>At the top of this page: <a href=\"#answer\">{title}</a>.</p>\n")
}

/// A picture with the name of its files. A narrow window scrolls through it.
pub(crate) fn figure(name: &str, svg: &str) -> String {
    let name = escape(name);
    format!(
        "<figure>\n<div class=\"wide\" tabindex=\"0\">\n{svg}</div>\n\
         <figcaption>figures/{name}.svg, .png</figcaption>\n</figure>\n"
    )
}

/// How many claims fare how, in colour and in words.
pub(crate) fn tally(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    // In the order of what speaks for the claims.
    const ALL: [(&str, &str); 7] = [
        ("confirmed", "confirmed"),
        ("holds", "checks hold"),
        ("draw", "draws"),
        ("differs", "differ"),
        ("refuted", "not confirmed"),
        ("fails", "checks do not hold"),
        ("unmeasured", "not measured"),
    ];
    let mut html = format!("<p class=\"tally\">{} claims: ", claims.len());
    for (class, words) in ALL {
        let count = claims.iter().filter(|c| class_of(&c.verdict) == class);
        match count.count() {
            0 => {}
            count => {
                let _ = write!(
                    html,
                    "<span class=\"verdict {class}\">{count} {words}</span> "
                );
            }
        }
    }
    html.trim_end().to_string() + "</p>\n"
}

/// The class of a verdict in the page's style.
pub(crate) fn class_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "confirmed",
        Verdict::Differs(_) => "differs",
        Verdict::NotConfirmed => "refuted",
        Verdict::Draw(_) => "draw",
        Verdict::Holds => "holds",
        Verdict::Fails(_) => "fails",
        Verdict::NotMeasured => "unmeasured",
    }
}
