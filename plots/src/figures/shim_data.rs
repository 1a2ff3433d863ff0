//! Data of a result file that the pictures of SHIM's results need.

use serde_json::Value;

/// Points `(x, y, half the interval around y)`.
pub(crate) type Points = Vec<(f64, f64, f64)>;

/// A distribution: middle of each bucket and share of the values in it, in percent.
pub(crate) fn distribution(value: &Value) -> Points {
    let count = number(value, "count");
    let buckets = value["buckets"].as_array();
    let buckets = buckets.map_or(&[][..], Vec::as_slice);
    buckets
        .iter()
        .map(|bucket| {
            let middle = (number(bucket, "from") + number(bucket, "to")) / 2.0;
            (
                middle,
                100.0 * number(bucket, "count") / count.max(1.0),
                0.0,
            )
        })
        .collect()
}

/// A number, 0 if there is none.
pub(crate) fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(0.0)
}

/// A text, empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

/// A list, empty if there is none.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// An estimate's mean and half its interval.
pub(crate) fn estimate(value: &Value) -> (f64, f64) {
    (number(value, "mean"), number(value, "half_width"))
}

/// The columns of points.
pub(crate) fn xs(points: &[(f64, f64, f64)]) -> impl Iterator<Item = f64> {
    points.iter().map(|p| p.0)
}

/// The values of points with both ends of their intervals.
pub(crate) fn ys(points: &[(f64, f64, f64)]) -> impl Iterator<Item = f64> {
    points.iter().flat_map(|p| [p.1, p.1 - p.2, p.1 + p.2])
}

/// Who ran where, in few words.
pub(crate) fn placement(value: &Value) -> &'static str {
    let smt = text(&value["placement"], "seat") == "smt";
    match (smt, value["machine"]["virtualized"] == true) {
        (true, true) => "observer on the same core (SMT), virtual machine",
        (true, false) => "observer on the same core (SMT)",
        (false, true) => "observer on another core (CMP), virtual machine",
        (false, false) => "observer on another core (CMP)",
    }
}
