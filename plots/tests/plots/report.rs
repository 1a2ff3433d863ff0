//! Whole reports from rows made by a formula.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Timed, failed, grid, grid_of, row, sampled};
use hps_experiments::{ProfileKind, Row, frames};
use hps_plots::{PlotError, ReportFiles, ReportInfo, isa_table, summary_table, write_report};

fn info() -> ReportInfo {
    ReportInfo {
        title: "Sweep <one>".into(),
        command: "hps sweep --out a&b".into(),
        version: "0.1.0".into(),
        notes: vec!["line 7 was \"unfinished\"".into()],
        machine_text: "(rob_entries: 128)".into(),
    }
}

fn report(dir: &Path, rows: &[Row]) -> (ReportFiles, String) {
    let files = write_report(dir, rows, &info()).expect("report is written");
    let html = fs::read_to_string(&files.html).expect("page is text");
    (files, html)
}

fn names(files: &ReportFiles) -> Vec<String> {
    let name = |p: &std::path::PathBuf| p.file_name().unwrap().to_string_lossy().into_owned();
    files.figures.iter().map(name).collect()
}

fn svg(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join("figures").join(format!("{name}.svg"))).expect(name)
}

/// All text of an SVG, one line for each element, after checking that it is well-formed.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).expect("well-formed SVG");
    let texts = document
        .descendants()
        .filter(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "text")));
    texts
        .map(|n| {
            assert_eq!(n.attribute("font-family"), Some("sans-serif"));
            n.text().unwrap_or_default().trim().to_string()
        })
        .collect()
}

/// Decodes a bitmap and counts its distinct colours.
fn colours(path: &Path) -> (u32, u32, usize) {
    let file = std::io::BufReader::new(fs::File::open(path).expect("picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    let seen: std::collections::HashSet<&[u8]> = pixels.chunks(info.color_type.samples()).collect();
    (info.width, info.height, seen.len())
}

#[test]
fn a_full_grid_makes_every_figure() {
    let dir = tempfile::tempdir().unwrap();
    let (files, html) = report(dir.path(), &grid(&["alpha", "beta"], Timed::All));
    let names = names(&files);
    for kind in ["data-stream", "call-pair", "method"] {
        for what in [
            "accuracy-frequency",
            "overhead-frequency",
            "accuracy-overhead",
            "accuracy-heatmap",
            "overhead-heatmap",
            "bursts",
            "programs",
            "program-alpha",
            "program-beta",
        ] {
            for ending in ["svg", "png"] {
                let name = format!("{kind}-{what}.{ending}");
                assert!(names.contains(&name), "{name} is missing from {names:?}");
            }
        }
    }
    assert!(files.figures.iter().all(|file| file.exists()));
    // To look at each pixel takes long: every fourth bitmap, among which is one of each form.
    let is_bitmap = |file: &&PathBuf| file.extension().is_some_and(|e| e == "png");
    for file in files.figures.iter().filter(is_bitmap).step_by(4) {
        let (width, height, colours) = colours(file);
        assert!(width >= 1400 && height >= 500, "{file:?}: {width}x{height}");
        assert!(colours > 20, "{file:?} has {colours} colours");
    }
    assert_eq!(html.matches("<svg").count(), 1 + 3 * 9);
    assert!(html.len() < 5_000_000);
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .chain(fs::read_dir(dir.path().join("figures")).unwrap())
        .filter(|e| {
            e.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .ends_with(".part")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn figures_carry_their_labels() {
    let dir = tempfile::tempdir().unwrap();
    report(
        dir.path(),
        &grid(&["alpha", "beta", "gamma"], Timed::PaperPoints),
    );
    let all = texts(&svg(dir.path(), "method-accuracy-frequency"));
    for label in [
        "Hot method profile: accuracy against sampling frequency",
        "mean of 3 programs · hps-4wide · riscv64 · hps 0.1.0",
        "burst 1",
        "burst 100",
        "1/100",
        "1/10000",
        "Sampling frequency",
        "Accuracy (overlap, %)",
    ] {
        assert!(all.iter().any(|t| t == label), "no `{label}` in {all:?}");
    }
    let points = texts(&svg(dir.path(), "call-pair-accuracy-overhead"));
    for label in [
        "1/100",
        "1/500",
        "1/1000",
        "1/5000",
        "1/10000",
        "burst 1, mean",
        "each program, burst 1",
    ] {
        assert!(
            points.iter().any(|t| t == label),
            "no `{label}` in {points:?}"
        );
    }
    let bars = texts(&svg(dir.path(), "method-programs"));
    for label in ["alpha", "beta", "gamma", "Accuracy", "Overhead"] {
        assert!(bars.iter().any(|t| t == label), "no `{label}` in {bars:?}");
    }
}

#[test]
fn heat_map_cells_are_the_means_of_the_rows() {
    let dir = tempfile::tempdir().unwrap();
    let rows = grid_of(ProfileKind::DataStream, &["alpha", "beta"], Timed::None);
    report(dir.path(), &rows);
    let cells = texts(&svg(dir.path(), "data-stream-accuracy-heatmap"));
    for burst in crate::support::BURSTS {
        for one_in in crate::support::ONE_IN {
            let values: Vec<f64> = rows
                .iter()
                .filter(|r| {
                    (r.profile, r.burst, r.one_in) == (ProfileKind::DataStream, burst, one_in)
                })
                .map(|r| r.accuracy.unwrap().renormalized)
                .collect();
            let cell = format!(
                "{:.1}",
                values.iter().sum::<f64>() / values.len() as f64 * 100.0
            );
            assert!(
                cells.contains(&cell),
                "{burst} 1/{one_in}: no {cell} in {cells:?}"
            );
        }
    }
}

#[test]
fn partly_timed_rows_leave_out_only_what_needs_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = grid_of(ProfileKind::Method, &["alpha", "beta"], Timed::PaperPoints);
    let (files, html) = report(dir.path(), &rows);
    let some = names(&files);
    assert!(some.contains(&"method-overhead-frequency.svg".to_string()));
    assert!(!some.contains(&"method-overhead-heatmap.svg".to_string()));
    assert!(html.contains("accuracy only") && html.contains("<td>timed</td>"));
    let lines = texts(&svg(dir.path(), "method-overhead-frequency"));
    assert!(lines.contains(&"burst 1".to_string()) && !lines.contains(&"burst 10".to_string()));

    rows.iter_mut().for_each(|r| r.timing = None);
    let other = tempfile::tempdir().unwrap();
    let (files, html) = report(other.path(), &rows);
    let names = names(&files);
    assert!(!names.iter().any(|n| n.contains("overhead")), "{names:?}");
    assert!(html.contains("(not timed)"));
}

#[test]
fn failures_are_listed_and_left_out_of_means() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = grid_of(ProfileKind::Method, &["alpha", "beta"], Timed::PaperPoints);
    for row in rows
        .iter_mut()
        .filter(|r| r.program == "beta" && r.one_in == 500)
    {
        *row = failed(row.clone(), "guest fault at 0x10: <bad>");
    }
    let (_, html) = report(dir.path(), &rows);
    assert!(html.contains("4 points: guest fault at 0x10: &lt;bad&gt;"));
    assert!(html.contains("hot method of beta (small) at burst 1, 1/500"));
    assert!(html.contains("<td class=\"n\">1 of 2</td>"));
    let title = texts(&svg(dir.path(), "method-accuracy-frequency"));
    assert!(
        title.iter().any(|t| t.starts_with("mean of 1–2 programs")),
        "{title:?}"
    );
    let table = summary_table(&rows);
    assert!(
        table.contains("4 points failed: guest fault at 0x10: <bad>"),
        "{table}"
    );
    assert!(table.contains("  and 1 more"), "{table}");
}

#[test]
fn rows_that_all_failed_still_make_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let rows: Vec<Row> = grid(&["alpha"], Timed::All)
        .into_iter()
        .map(|r| failed(r, "no such file"))
        .collect();
    let (files, html) = report(dir.path(), &rows);
    assert!(files.figures.is_empty());
    assert!(html.contains("60 points: no such file") && html.contains("every point failed"));
}

#[test]
fn a_point_that_failed_and_was_run_again_counts_once() {
    let good = row("alpha", 0, ProfileKind::Method, 1, 100);
    let bad = failed(good.clone(), "out of memory");
    for rows in [[bad.clone(), good.clone()], [good, bad]] {
        let table = summary_table(&rows);
        assert!(
            table.contains("1/1") && !table.contains("failed"),
            "{table}"
        );
    }
}

#[test]
fn hostile_names_are_escaped_and_cannot_leave_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let name = "../<script>alert('x')</script>\u{1}&\u{1b}[31m";
    let (files, html) = report(
        dir.path(),
        &grid_of(ProfileKind::Method, &[name, "plain"], Timed::PaperPoints),
    );
    assert_eq!(html.matches("<script").count(), 1, "the page's own");
    assert!(html.contains("&lt;script&gt;"));
    assert!(html.contains("Sweep &lt;one&gt;") && html.contains("hps sweep --out a&amp;b"));
    assert!(!html.contains('\u{1}') && !html.contains('\u{1b}'));
    for file in &files.figures {
        assert_eq!(file.parent(), Some(dir.path().join("figures").as_path()));
        if file.extension().is_some_and(|e| e == "svg") {
            texts(&fs::read_to_string(file).unwrap());
        }
    }
    assert!(!summary_table(&grid(&[name], Timed::None)).contains('\u{1b}'));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let dir = tempfile::tempdir().unwrap();
    let (_, html) = report(
        dir.path(),
        &grid_of(ProfileKind::CallPair, &["alpha"], Timed::PaperPoints),
    );
    let outside = html.replace("http://www.w3.org/2000/svg", "");
    for word in [
        "http:", "https:", "src=", "@import", "url(", "fetch", "import(", "<link",
    ] {
        assert!(!outside.contains(word), "{word}");
    }
    assert_eq!(html.matches("<script>").count(), 1);
    for part in [
        "<ul class=\"answer\">\n<li><strong>hot call pair</strong>: burst ",
        "<title>",
        "prefers-color-scheme: dark",
        "(rob_entries: 128)",
        "fedcba9876543210",
        "How to read this",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // Every element the page opens is closed: only void elements stand alone.
    let body = html.strip_prefix("<!DOCTYPE html>").unwrap();
    let of_head = |line: &&str| !line.starts_with("<meta ");
    let xml: Vec<&str> = body.lines().filter(of_head).collect();
    let xml = xml.join("\n");
    roxmltree::Document::parse(&xml).expect("well-formed page");
}

#[test]
fn different_machines_and_inputs_are_kept_apart() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = grid_of(ProfileKind::Method, &["alpha"], Timed::PaperPoints);
    rows.extend(
        grid_of(ProfileKind::Method, &["alpha"], Timed::PaperPoints)
            .into_iter()
            .map(|mut r| {
                r.id += "-large";
                r.input = "large".into();
                r
            }),
    );
    let (files, html) = report(dir.path(), &rows);
    let names = names(&files);
    assert!(
        names.contains(&"set1-method-bursts.svg".to_string()),
        "{names:?}"
    );
    assert!(
        names.contains(&"set2-method-bursts.svg".to_string()),
        "{names:?}"
    );
    assert!(html.contains("input large") && html.contains("input small"));
}

#[test]
fn the_same_rows_in_any_order_make_the_same_files() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut rows = grid_of(ProfileKind::Method, &["alpha", "beta"], Timed::PaperPoints);
    let (_, first) = report(a.path(), &rows);
    rows.reverse();
    let (files, second) = report(b.path(), &rows);
    assert_eq!(first, second);
    let png = &files.figures[1];
    let twin = a.path().join("figures").join(png.file_name().unwrap());
    assert_eq!(fs::read(png).unwrap(), fs::read(twin).unwrap());
}

#[test]
fn pictures_come_first_and_notes_are_folded_below_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let (_, html) = report(dir.path(), &grid(&["alpha"], Timed::All));
    let at = |text: &str| {
        html.find(text)
            .unwrap_or_else(|| panic!("{text}: not on the page"))
    };
    assert!(at("Accuracy is overlap") < at("<svg"));
    assert!(at("<svg") < at("<table"));
    let above = &html[..at("line 7 was")];
    assert!(above.contains("id=\"points\""));
    assert!(above.rfind("<details>") > above.rfind("</details>"));
}

#[test]
fn no_rows_and_unwritable_folders_are_clear_errors() {
    let dir = tempfile::tempdir().unwrap();
    let none = write_report(dir.path(), &[], &info()).unwrap_err();
    assert!(matches!(none, PlotError::NoRows) && none.to_string().contains("run a sweep"));
    assert!(summary_table(&[]).contains("no result rows"));
    let file = dir.path().join("taken");
    fs::write(&file, "a file, not a folder").unwrap();
    let rows = [row("alpha", 0, ProfileKind::Method, 1, 100)];
    let fault = write_report(&file, &rows, &info()).unwrap_err();
    assert!(
        fault.to_string().contains(&file.display().to_string()),
        "{fault}"
    );
    fs::create_dir_all(dir.path().join("busy/report.html")).unwrap();
    let fault = write_report(&dir.path().join("busy"), &rows, &info()).unwrap_err();
    assert!(fault.to_string().contains("report.html"), "{fault}");
}

#[test]
fn summary_table_shows_the_papers_points_in_aligned_columns() {
    let rows = grid(&["alpha", "beta"], Timed::PaperPoints);
    let table = summary_table(&rows);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "hps-4wide · riscv64 · hps 0.1.0");
    assert_eq!(lines.len(), 2 + 3 * 5);
    let widths: Vec<usize> = lines[1..].iter().map(|l| l.chars().count()).collect();
    assert!(widths.iter().all(|w| *w == widths[0]), "{table}");
    let stream = lines[2].split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        stream[..6],
        ["hot", "data", "stream", "100", "1/100", "2/2"]
    );
    let wanted: Vec<&Row> = rows
        .iter()
        .filter(|r| (r.profile, r.burst, r.one_in) == (ProfileKind::DataStream, 100, 100))
        .collect();
    let mean = wanted
        .iter()
        .map(|r| r.timing.unwrap().overhead)
        .sum::<f64>()
        / 2.0
        * 100.0;
    assert_eq!(stream[8], format!("{mean:.3}"));
}

#[test]
fn csv_round_trips_awkward_text() {
    let mut rows = grid(&["a,\"b\"\nc"], Timed::PaperPoints);
    rows[0] = failed(rows[0].clone(), "reason, with comma");
    let csv = frames::points(&rows).to_csv().unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|h| h == name).expect(name);
    let read: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(read.len(), rows.len());
    let machines = frames::machines(&rows).to_csv().unwrap();
    for (record, row) in read.iter().zip(&rows) {
        let line = format!("{},{},", &record[column("machine_id")], row.machine);
        let line = machines.lines().find(|of| of.starts_with(&line)).unwrap();
        assert!(line.ends_with(&row.machine_fingerprint), "{line}");
    }
    for (record, row) in read.iter().zip(&rows) {
        assert_eq!(&record[column("program")], row.program);
        assert_eq!(
            &record[column("failure")],
            row.failure.as_deref().unwrap_or("")
        );
        let accuracy = record[column("accuracy_renormalized")].parse::<f64>().ok();
        assert_eq!(accuracy, row.accuracy.map(|a| a.renormalized));
        let cycles = record[column("cycles")].parse::<u64>().ok();
        assert_eq!(cycles, row.timing.map(|t| t.cycles));
    }
}

#[test]
fn instruction_sets_stand_side_by_side() {
    let mut rows = grid_of(ProfileKind::Method, &["ray", "bwt"], Timed::PaperPoints);
    assert_eq!(isa_table(&rows), None);
    let mut others: Vec<Row> = grid_of(ProfileKind::Method, &["ray", "bwt"], Timed::PaperPoints);
    for row in &mut others {
        row.isa = "alpha".into();
        row.id += "alpha";
        row.program_hash += "a";
        if let Some(timing) = &mut row.timing {
            timing.instructions = 15_000_000;
            timing.overhead *= 2.0;
        }
    }
    // One program failed on one of them at one point: the means leave it out on both.
    let broken = others
        .iter_mut()
        .find(|r| (r.program.as_str(), r.burst, r.one_in) == ("bwt", 1, 100))
        .expect("the point");
    *broken = failed(broken.clone(), "broken");
    rows.extend(others);

    let text = isa_table(&rows).expect("two instruction sets");
    let line = |start: &str| {
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        let line = text.lines().find(|line| line.starts_with(start));
        words(line.unwrap_or_else(|| panic!("no `{start}` in {text}")))
    };
    // Instructions and their ratio, cycles and theirs, CPI and theirs. RISC-V comes first.
    assert_eq!(
        line("ray"),
        "ray 12000000 15000000 1.250 10000000 10000000 1.000 0.833 0.667 0.800"
            .split(' ')
            .collect::<Vec<_>>()
    );
    // Accuracy on both, overhead on both, in percent: of one program, then of two.
    let means = |one_in: u64, programs: &[usize]| {
        let rows = programs
            .iter()
            .map(|&p| row("x", p, ProfileKind::Method, 1, one_in));
        let (mut accuracy, mut overhead) = (0.0, 0.0);
        for row in rows {
            accuracy += 100.0 * row.accuracy.expect("accurate").renormalized;
            overhead += 100.0 * row.timing.expect("timed").overhead;
        }
        let n = programs.len() as f64;
        let accuracy = format!("{:.2}", accuracy / n);
        let doubled = format!("{:.3}", 2.0 * overhead / n);
        [
            accuracy.clone(),
            accuracy,
            format!("{:.3}", overhead / n),
            doubled,
        ]
    };
    let of_line = |frequency: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with("hot method") && line.contains(frequency));
        let words = line.expect("the point").split_whitespace().skip(4);
        words.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of_line(" 1/100 "), means(100, &[0]), "{text}");
    assert_eq!(of_line(" 1/500 "), means(500, &[0, 1]), "{text}");

    let folder = tempfile::tempdir().expect("a folder");
    let (_, html) = report(folder.path(), &rows);
    for part in [
        "<a href=\"#isas\">",
        "Hot method, burst 1: accuracy in %",
        "Hot method, burst 1: overhead in %",
        "mean of those on all",
    ] {
        assert!(html.contains(part), "`{part}` is missing");
    }
    let (_, html) = report(folder.path(), &rows[..5]);
    assert!(!html.contains("id=\"isas\""));
}

#[test]
fn sampled_timing_is_said_wherever_its_numbers_are() {
    let dir = tempfile::tempdir().unwrap();
    let exact = grid_of(ProfileKind::Method, &["alpha", "beta"], Timed::PaperPoints);
    assert!(!summary_table(&exact).contains('±'));
    let rows: Vec<Row> = exact
        .iter()
        .map(|row| match (row.timing, row.one_in) {
            (None, _) => row.clone(),
            (_, 10_000) => sampled(row.clone(), 120, 3, 0.0006),
            _ => sampled(row.clone(), 80, 40, 0.0003),
        })
        .collect();
    let table = summary_table(&rows);
    // Of two programs, each uncertain by 0.03.
    let within = |half: f64| format!(" ± {:.3}", half * 2f64.sqrt() / 2.0);
    assert!(
        table.contains(&within(0.03)) && table.contains(&within(0.06)),
        "{table}"
    );
    for part in [
        "timing sampled: 80 to 120 units a run, each of 1000 instructions behind 2000 of warm-up, one in 200000",
        "2 of 10 points met insertions in fewer than 10 units",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let (_, html) = report(dir.path(), &rows);
    for part in [
        "± 0.030",
        "Timing sampled: 80",
        "120 units, 3 with insertions",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let said = |name: &str, part: &str| {
        texts(&svg(dir.path(), name))
            .iter()
            .any(|t| t.contains(part))
    };
    assert!(said("method-programs", "95% interval of sampled timing"));
    assert!(said(
        "method-overhead-frequency",
        "timing sampled, overhead ±"
    ));
    assert!(said("method-program-alpha", "timing sampled, overhead ±"));
    assert!(!said("method-accuracy-frequency", "sampled,"));

    let csv = frames::points(&rows).to_csv().unwrap();
    let head = csv.lines().next().unwrap();
    assert!(
        head.contains("sampling_period,sampling_warm_up,sampling_unit,core,phases,"),
        "{head}"
    );
    // Behind them the fourteen columns of phases, set-ups, misses and the root, of which these rows have none.
    let ends = |end: &str| {
        let end = format!("{end}{}", ",".repeat(14));
        csv.lines().filter(|line| line.ends_with(&end)).count()
    };
    assert_eq!(ends(",0.0003,80,40,200000,2000,1000,cycle"), 8);
    assert_eq!(ends(",ok,,,,,,,,"), 30, "not timed");

    // Beside exact rows of the same points, those are shown, in any order.
    for both in [
        [&exact[..], &rows[..]].concat(),
        [&rows[..], &exact[..]].concat(),
    ] {
        let lines = |rows: &[Row]| -> Vec<String> {
            let numbers = summary_table(rows);
            numbers
                .lines()
                .filter(|l| l.starts_with("hot"))
                .map(str::to_string)
                .collect()
        };
        assert_eq!(lines(&both), lines(&exact));
    }
}
