//! Pictures and the page of SHIM's results: observations and measurements, read from their files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use hps_experiments::claims::rounded;
use serde_json::Value;

use super::shim_data::{estimate, list, number, text};
use super::{shim_measured, shim_observed};
use crate::PlotError;
use crate::figure::Figure;
use crate::html::escape;
use crate::page::{self, foot, head};
use crate::report::write_whole;

/// A picture with the name of its files.
#[derive(Clone, Debug)]
pub struct ShimFigure {
    /// Name of the files, without an ending.
    pub name: String,
    /// The picture.
    pub figure: Figure,
}

impl ShimFigure {
    pub(super) fn new(name: &str, figure: Figure) -> Self {
        Self {
            name: name.to_owned(),
            figure,
        }
    }
}

/// Draws a result of `hps shim`, as its JSON file holds it.
///
/// # Errors
/// [`PlotError::BadFigure`] if it is no such result, or holds nothing to draw.
pub fn shim_figures(result: &Value) -> Result<Vec<ShimFigure>, PlotError> {
    match (text(result, "format"), text(result, "kind")) {
        ("hps-shim", _) => shim_observed::observed(result),
        ("hps-shim-measurement", "overhead") => Ok(vec![shim_measured::overhead(result, false)?]),
        ("hps-shim-measurement", "dte") => {
            let mut all = shim_measured::kept(result)?;
            all.push(shim_measured::overhead(result, true)?);
            Ok(all)
        }
        ("hps-shim-measurement", "microbench") => shim_measured::microbench(result),
        (format, kind) => Err(PlotError::bad(
            "SHIM",
            format!("`{format}` `{kind}` is no result of `hps shim` that this version draws"),
        )),
    }
}

/// Writes `report.html`, `result.json` and `figures/*.svg` and `*.png` into `dir`, which is created if
/// it is missing; `summary` is the result in words. Returns the page.
///
/// # Errors
/// [`PlotError::Write`] naming what could not be written, and the errors of drawing.
pub fn write_shim_report(dir: &Path, result: &Value, summary: &str) -> Result<PathBuf, PlotError> {
    let figures = shim_figures(result)?;
    write_page(dir, result, (&title(result), summary), &figures)
}

/// Writes a page of a title, a text and pictures, the pictures, and all numbers.
pub(super) fn write_page(
    dir: &Path,
    result: &Value,
    (title, summary): (&str, &str),
    figures: &[ShimFigure],
) -> Result<PathBuf, PlotError> {
    let folder = dir.join("figures");
    fs::create_dir_all(&folder).map_err(|e| PlotError::write(&folder, e))?;
    let json = dir.join("result.json");
    write_whole(&json, format!("{result:#}\n").as_bytes())?;
    for figure in figures {
        let svg = folder.join(format!("{}.svg", figure.name));
        write_whole(&svg, figure.figure.svg().as_bytes())?;
        let png = folder.join(format!("{}.png", figure.name));
        write_whole(&png, &figure.figure.png()?)?;
    }
    let html = dir.join("report.html");
    write_whole(&html, page(result, title, summary, figures).as_bytes())?;
    Ok(html)
}

fn title(result: &Value) -> String {
    let words = list(result, "command").iter().filter_map(Value::as_str);
    match text(result, "kind") {
        "overhead" => "SHIM: what observing costs".to_owned(),
        "dte" => "SHIM: what correction keeps".to_owned(),
        "microbench" => "SHIM: producer and consumer".to_owned(),
        _ => format!("SHIM: {}", words.collect::<Vec<_>>().join(" ")),
    }
}

/// Answer of a result in a sentence: of what, and the answer.
fn answers(result: &Value) -> Vec<(String, String)> {
    let answer = match (text(result, "verdict"), text(result, "kind")) {
        ("", "overhead" | "dte") => overhead(&result["result"]),
        ("", "microbench") => reader(list(result, "result")),
        ("", _) => hottest(result),
        (verdict, _) => Some((text(result, "program"), verdict.to_owned())),
    };
    let answer = answer.map(|(of, answer)| (of.to_owned(), answer));
    answer.into_iter().collect()
}

/// A mean with its interval.
fn within(value: &Value, unit: &str) -> String {
    let (mean, half) = estimate(value);
    let mean = rounded(1, mean);
    match half {
        0.0 => format!("{mean}{unit}"),
        half => format!("{mean} ± {half:.1}{unit}"),
    }
}

/// The cost of the finest and of the cheapest period.
fn overhead(result: &Value) -> Option<(&'static str, String)> {
    let points = || list(result, "points").iter();
    let least = |key: &str| {
        let by = |a: &&Value, b: &&Value| estimate(&a[key]).0.total_cmp(&estimate(&b[key]).0);
        points().min_by(by)
    };
    let says = |point: &Value| {
        let period = estimate(&point["period_cycles"]).0;
        let cost = within(&point["overhead_percent"], "%");
        format!("{cost} at a sample in {period:.0} cycles")
    };
    let (finest, cheapest) = (least("period_cycles")?, least("overhead_percent")?);
    let mut text = says(finest);
    if !std::ptr::eq(finest, cheapest) {
        let _ = write!(text, ", {}", says(cheapest));
    }
    let noise = within(&result["noise_percent"], "%");
    Some((
        "what observing costs",
        format!("{text}; runs alone differ by {noise}"),
    ))
}

/// The most that a reader costs a writer.
fn reader(points: &[Value]) -> Option<(&'static str, String)> {
    let cost = |point: &Value| estimate(&point["overhead_percent"]).0;
    let most = points.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let (waiter, waits) = (text(most, "waiter"), number(most, "wait"));
    let overhead = within(&most["overhead_percent"], "%");
    let added = within(&most["added_cycles"], "");
    Some((
        "what a reader costs a writer",
        format!("at most {overhead}, {added} cycles a write ({waiter} waits {waits:.0} turns)"),
    ))
}

/// The tag that most samples have.
fn hottest(result: &Value) -> Option<(&'static str, String)> {
    let share = |tag: &Value| number(tag, "share");
    let tags = list(result, "tags").iter();
    let most = tags.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let name = match text(most, "name") {
        "" => text(most, "tag"),
        name => name,
    };
    let period = match number(result, "mean_period_running_cycles") {
        0.0 => String::new(),
        period => format!("; a sample in {period:.0} cycles"),
    };
    let share = 100.0 * share(most);
    Some((
        "what runs most",
        format!("{name}, in {share:.1}% of samples{period}"),
    ))
}

fn page(result: &Value, title: &str, summary: &str, figures: &[ShimFigure]) -> String {
    let mut html = head(title);
    let mut figures = figures.iter();
    let picture = figures
        .next()
        .map(|first| (first.name.as_str(), &first.figure));
    html += &page::top(&answers(result), picture);
    for note in list(result, "notes").iter().filter_map(Value::as_str) {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(note));
    }
    let _ = writeln!(
        html,
        "<pre tabindex=\"0\">{}</pre>\n<div class=\"figures\">",
        escape(summary)
    );
    for figure in figures {
        html += &page::figure(&figure.name, figure.figure.svg());
    }
    let version = escape(text(result, "version"));
    let _ = writeln!(
        html,
        "</div>\n<p>All numbers: <a href=\"result.json\">result.json</a>. Written by hps {version}.</p>"
    );
    html + &foot()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn distribution(values: &[(f64, u64)]) -> Value {
        let buckets: Vec<Value> = values
            .iter()
            .map(|&(from, count)| json!({ "from": from, "to": from * 1.015, "count": count }))
            .collect();
        let count: u64 = values.iter().map(|v| v.1).sum();
        json!({ "count": count, "zeros": 0, "buckets": buckets })
    }

    fn observation() -> Value {
        let some = distribution(&[(1000.0, 70), (1015.0, 20), (9000.0, 10)]);
        json!({
            "format": "hps-shim", "version": "0", "command": ["prog", "<arg>"],
            "ticks_per_second": 1e9, "mean_period_running_cycles": 1200.0,
            "account": { "sent": 100, "kept": 99 }, "notes": ["a note & more"],
            "tags": [
                { "tag": "0x7", "name": "hot<T>", "samples": 60, "share": 0.6 },
                { "tag": "0x0", "name": "(nothing)", "samples": 40, "share": 0.4 },
            ],
            "analysis": {
                "period": some, "gap": some, "cpc_before": some, "cpc_after": some,
                "rates": [{
                    "name": "IPC", "before_dte": some,
                    "periods": [{ "mean_cycles": 1200.0, "rates": some }],
                    "by_tag": [[7, some]],
                }],
                "timeline": {
                    "window_cycles": 1_000_000, "rows": [7],
                    "windows": [{ "tags": [5, 0] }, { "tags": [0, 0] }, { "tags": [3, 1] }],
                },
            },
        })
    }

    /// An observation of two threads with their stacks.
    fn stacked() -> Value {
        let mut value = observation();
        value["stacks"] = super::super::shim_stacks::tests::stacks();
        let tags = json!([{ "tag": "0x7", "samples": 30, "share": 0.5 }]);
        value["threads"] = json!([
            { "thread": 7, "name": "first", "samples": 75, "share": 0.75, "tags": tags },
            { "thread": null, "name": null, "samples": 25, "share": 0.25, "tags": tags },
        ]);
        value
    }

    fn measurement(kind: &str) -> Value {
        let about =
            |mean: f64| json!({ "mean": mean, "half_width": 1.0, "median": mean, "runs": 5 });
        let some = distribution(&[(0.99, 10), (1.0, 90)]);
        let point = |period: f64| {
            json!({
                "pace": "fast", "period_cycles": about(period), "overhead_percent": about(9.0),
                "kept_percent": about(95.0), "cpc_before": some, "cpc_after": some,
            })
        };
        let micro = |waiter: &str| {
            json!({
                "waiter": waiter, "wait": 3, "producer_cycles": about(9.0), "consumer_cycles": about(50.0),
                "overhead_percent": about(10.0), "added_cycles": about(2.0),
            })
        };
        let result = match kind {
            "microbench" => json!([micro("producer"), micro("consumer")]),
            _ => json!({ "points": [point(5000.0), point(50.0)], "noise_percent": about(0.1) }),
        };
        json!({
            "format": "hps-shim-measurement", "kind": kind, "version": "0", "result": result,
            "machine": { "virtualized": true }, "placement": { "seat": "cmp" },
        })
    }

    #[test]
    fn each_kind_of_result_has_its_pictures() {
        let names = |value: &Value| -> Vec<String> {
            let figures = shim_figures(value).unwrap();
            for figure in &figures {
                roxmltree::Document::parse(figure.figure.svg()).unwrap();
            }
            figures.into_iter().map(|f| f.name).collect()
        };
        assert_eq!(
            names(&observation()),
            [
                "shim-tags",
                "shim-periods",
                "shim-cpc",
                "shim-rate-0",
                "shim-timeline"
            ]
        );
        let names_of_all = names(&stacked());
        assert_eq!(
            names_of_all[..3],
            ["shim-tags", "shim-threads", "shim-stacks"]
        );
        assert_eq!(names_of_all.len(), 7);
        assert_eq!(names(&measurement("overhead")), ["shim-overhead"]);
        assert_eq!(
            names(&measurement("dte")),
            ["shim-kept", "shim-cpc", "shim-overhead"]
        );
        assert_eq!(
            names(&measurement("microbench")),
            ["shim-microbench", "shim-added"]
        );
        assert!(shim_figures(&json!({ "format": "hps-profile" })).is_err());
    }

    #[test]
    fn measurements_are_answered_in_a_sentence() {
        let answer = |value: &Value| match &answers(value)[..] {
            [(of, answer)] => format!("{of}: {answer}"),
            all => panic!("one answer: {all:?}"),
        };
        assert_eq!(
            answer(&measurement("overhead")),
            "what observing costs: 9.0 ± 1.0% at a sample in 50 cycles, 9.0 ± 1.0% at a sample in 5000 cycles; runs alone \
             differ by 0.1 ± 1.0%"
        );
        assert_eq!(
            answer(&measurement("microbench")),
            "what a reader costs a writer: at most 10.0 ± 1.0%, 2.0 ± 1.0 cycles a write (consumer waits 3 turns)"
        );
        let compared = json!({ "program": "sort", "verdict": "same output" });
        assert_eq!(answer(&compared), "sort: same output");
        assert!(answers(&json!({})).is_empty());
    }

    #[test]
    fn pages_stand_alone_and_are_escaped() {
        let folder = tempfile::tempdir().unwrap();
        let page = write_shim_report(folder.path(), &observation(), "a < b").unwrap();
        let html = fs::read_to_string(page).unwrap();
        let answer = "<strong>what runs most</strong>: hot&lt;T&gt;, in 60.0% of samples; a sample in 1200 cycles";
        assert!(html.contains(answer), "{html}");
        assert!(html.contains("a &lt; b") && html.contains("a note &amp; more"));
        assert!(html.contains("prog &lt;arg&gt;") && !html.contains("http-equiv"));
        assert!(folder.path().join("figures/shim-tags.png").exists());
        let text = fs::read_to_string(folder.path().join("result.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), observation());
    }
}
