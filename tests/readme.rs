//! The picture in README.md is one of today's first command.

use std::fs;
use std::path::Path;

use crate::support::Hps;

/// Where numbers of an axis stand: the two outermost.
struct Axis {
    low: (f64, f64),
    high: (f64, f64),
}

impl Axis {
    /// Of the numbers on a picture whose other coordinate lies on the axis.
    fn of(numbers: &[(f64, f64)]) -> Axis {
        let by_number = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
        let low = numbers.iter().min_by(by_number).expect("a number");
        let high = numbers.iter().max_by(by_number).expect("a number");
        Axis {
            low: *low,
            high: *high,
        }
    }

    fn place(&self, number: f64) -> f64 {
        let share = (number - self.low.0) / (self.high.0 - self.low.0);
        self.low.1 + share * (self.high.1 - self.low.1)
    }
}

fn attribute(element: &str, name: &str) -> f64 {
    let (_, rest) = element.split_once(&format!(" {name}=\"")).expect(name);
    let (text, _) = rest.split_once('"').expect("a quote");
    text.parse().expect("a number")
}

/// Accuracy and overhead in percent of a program at each frequency, as a sweep finds them.
fn swept(program: &str) -> Vec<(f64, f64)> {
    let hps = Hps::new();
    let definition = format!("(programs: [\"{program}\"], profiles: [method], bursts: [1])");
    fs::write(hps.path("one.ron"), definition).expect("a definition");
    hps.run(&["sweep", "one.ron", "--out", "out"])
        .expect_code(0);
    let rows = fs::read_to_string(hps.path("out/results.csv")).expect("rows");
    let mut rows = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let names = rows.next().expect("names");
    let column = |name: &str| names.iter().position(|n| *n == name).expect("a column");
    let (accuracy, overhead) = (column("phases_mean"), column("overhead"));
    let percent = |text: &str| 100.0 * text.parse::<f64>().expect("a number");
    rows.map(|row| (percent(row[accuracy]), percent(row[overhead])))
        .collect()
}

#[test]
fn the_picture_is_what_the_first_command_draws() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("README.md");
    let (_, rest) = readme.split_once("](docs/pictures/").expect("a picture");
    let (name, _) = rest.split_once(')').expect("its name");
    let picture = fs::read_to_string(root.join("docs/pictures").join(name)).expect("the picture");
    let made_of = concat!(
        "mean of 10 programs · hps-4wide · riscv64 · hps ",
        env!("CARGO_PKG_VERSION")
    );
    assert!(picture.contains(made_of), "{made_of}");

    let texts = picture.split("<text").skip(1).filter_map(|text| {
        let (element, rest) = text.split_once('>')?;
        let (number, _) = rest.split_once('<')?;
        Some((element, number.trim().parse::<f64>().ok()?))
    });
    let (across, up): (Vec<_>, Vec<_>) =
        texts.partition(|(element, _)| element.contains("text-anchor=\"middle\""));
    let places = |texts: &[(&str, f64)], scale: fn(f64) -> f64, name: &str| {
        let place = |(element, number): &(&str, f64)| (scale(*number), attribute(element, name));
        texts.iter().map(place).collect::<Vec<_>>()
    };
    let overheads = Axis::of(&places(&across, f64::log10, "x"));
    let accuracies = Axis::of(&places(&up, |number| number, "y"));
    let lines: Vec<Vec<(f64, f64)>> = picture
        .split(" points=\"")
        .skip(1)
        .map(|rest| {
            let (points, _) = rest.split_once('"').expect("points");
            let points = points.split_whitespace().map(|point| {
                let (x, y) = point.split_once(',').expect("two numbers");
                (x.parse().expect("a number"), y.parse().expect("a number"))
            });
            points.collect()
        })
        .collect();
    let expected = swept("lz");
    let is_drawn = |line: &Vec<(f64, f64)>| {
        line.len() == expected.len()
            && line
                .iter()
                .zip(&expected)
                .all(|((x, y), (accuracy, overhead))| {
                    let off_across = x - overheads.place(overhead.log10());
                    let off_up = y - accuracies.place(*accuracy);
                    off_across.abs() <= 1.5 && off_up.abs() <= 1.5
                })
    };
    assert!(
        lines.iter().any(is_drawn),
        "draw docs/pictures/{name} anew by `hps sweep`: no line of {lines:?} shows {expected:?}"
    );
}
