//! All kinds of profile in one picture: accuracy against overhead at the burst of the paper's Figure 8.

use super::{Curve, Scatter, scatter};
use crate::PlotError;
use crate::axis::{Axis, frequency};
use crate::dataset::DataSet;
use crate::figure::Figure;

/// The picture of means over programs; none if nothing was timed. Several sets (instruction sets, machines) have curves of
/// their own.
pub(crate) fn overview(sets: &[DataSet<'_>]) -> Result<Option<Figure>, PlotError> {
    let mut curves = Vec::new();
    for set in sets {
        for data in set.kinds() {
            let burst = data.shown_burst();
            let points = data.frequencies.iter().filter_map(|&f| {
                let (accuracy, overhead) = data.mean_pair(burst, f)?;
                Some((overhead, accuracy, frequency(f)))
            });
            let mut label = format!("{}, burst {burst}", data.kind.title());
            if sets.len() > 1 {
                label += &format!(" ({})", set.origin());
            }
            let curve = Curve {
                label,
                category: curves.len(),
                points: points.collect(),
            };
            curves.extend((!curve.points.is_empty()).then_some(curve));
        }
    }
    if curves.is_empty() {
        return Ok(None);
    }
    let points = || curves.iter().flat_map(|c| &c.points);
    let (xs, ys): (Vec<f64>, Vec<f64>) = points().map(|p| (p.0, p.1)).unzip();
    let subtitle = match sets {
        [set] => format!("means over programs · {}", set.origin()),
        _ => "means over programs".to_string(),
    };
    scatter(&Scatter {
        title: "How accurate each kind of profile is, and what it costs".to_string(),
        subtitle,
        x: Axis::overhead("Overhead (% of cycles)", &xs),
        y: Axis::accuracy("Accuracy (overlap, %)", &ys, false),
        curves,
        joined: true,
        thin: Vec::new(),
        thin_label: String::new(),
    })
    .map(Some)
}
