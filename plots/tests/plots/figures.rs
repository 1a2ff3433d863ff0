//! The diagrams other callers use.

use hps_plots::figures::{Axis, LineChart, Panel, Series};
use hps_plots::{Figure, PlotError, cpi_stack_figure, lines, stacked_bars};

fn bars() -> Vec<(String, Vec<(String, f64)>)> {
    let bar = |name: &str, parts: &[(&str, f64)]| {
        (
            name.to_string(),
            parts.iter().map(|(p, v)| ((*p).to_string(), *v)).collect(),
        )
    };
    vec![
        bar(
            "whole run",
            &[("base", 0.25), ("L1D miss", 0.5), ("branch", 0.125)],
        ),
        bar("f<T>", &[("base", 0.3), ("branch", 0.7)]),
    ]
}

fn widths(figure: &Figure, colour: &str) -> Vec<f64> {
    let document = roxmltree::Document::parse(figure.svg()).expect("well-formed");
    let rects = document
        .descendants()
        .filter(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "rect")));
    rects
        .filter(|n| n.attribute("fill") == Some(colour))
        .map(|n| n.attribute("width").unwrap().parse().unwrap())
        .collect()
}

#[test]
fn a_cpi_stack_names_its_parts_and_draws_them_to_scale() {
    let figure = cpi_stack_figure("CPI of <x>", &bars()).unwrap();
    let document = roxmltree::Document::parse(figure.svg()).unwrap();
    let text: String = document.descendants().filter_map(|n| n.text()).collect();
    for label in [
        "CPI of <x>",
        "whole run",
        "f<T>",
        "base",
        "L1D miss",
        "branch",
        "0.875",
        "1.000",
    ] {
        assert!(text.contains(label), "no {label}");
    }
    // The first part's rectangles: the legend's, then one for each bar.
    let base = widths(&figure, "#0072B2");
    assert_eq!(base.len(), 3);
    assert!((base[2] / base[1] - 0.3 / 0.25).abs() < 0.05, "{base:?}");
    assert!(figure.png().unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn impossible_stacks_are_refused() {
    assert!(matches!(
        cpi_stack_figure("none", &[]),
        Err(PlotError::BadFigure { .. })
    ));
    for bad in [-0.1, f64::NAN, f64::INFINITY] {
        let mut bars = bars();
        bars[1].1[0].1 = bad;
        let fault = stacked_bars("s", "", "v", &bars).unwrap_err().to_string();
        assert!(fault.contains("base") && fault.contains("f<T>"), "{fault}");
    }
}

#[test]
fn lines_refuse_nothing_and_not_numbers() {
    let chart = |points: Vec<(f64, f64)>| LineChart {
        title: "speed".into(),
        subtitle: String::new(),
        panels: vec![Panel {
            title: String::new(),
            x: Axis::numbers("x", &[0.0, 10.0], false),
            y: Axis::log("y", &[1.0, 900.0]),
            series: vec![Series {
                label: "a & b".into(),
                points,
            }],
        }],
    };
    assert!(matches!(
        lines(&chart(vec![])),
        Err(PlotError::BadFigure { .. })
    ));
    assert!(matches!(
        lines(&chart(vec![(0.0, f64::NAN)])),
        Err(PlotError::BadFigure { .. })
    ));
    let figure = lines(&chart(vec![(0.0, 1.0), (10.0, 900.0)])).unwrap();
    assert!(figure.svg().contains("a &amp; b") && figure.svg().contains("1000"));
    roxmltree::Document::parse(figure.svg()).unwrap();
}
