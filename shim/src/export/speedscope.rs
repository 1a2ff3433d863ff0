//! Speedscope's file format.

use serde_json::{Value, json};

use super::{Line, Profile, places};
use crate::results::ShimResult;

/// Cycles in nanoseconds.
fn nanoseconds(result: &ShimResult, cycles: f64) -> f64 {
    cycles * 1e9 / result.ticks_per_second.max(1.0)
}

/// A file for speedscope: the whole run by stack or tag, each thread if there are several, and the
/// excerpt sample by sample in its order.
#[must_use]
pub fn speedscope(result: &ShimResult) -> Value {
    let profile = Profile::new(result);
    let frames: Vec<Value> = profile
        .functions
        .iter()
        .map(|function| json!({ "name": function.name, "file": function.module }))
        .collect();
    let what = if result.stacks.is_some() {
        "stack"
    } else {
        "tag"
    };
    let mut profiles = vec![sampled(
        &format!("whole run, by {what}"),
        &profile,
        &mut profile.lines.iter(),
    )];
    if result.threads.len() > 1 {
        for (at, thread) in result.threads.iter().enumerate() {
            let mut own = profile.lines.iter().filter(|line| line.thread == Some(at));
            profiles.push(sampled(&thread.label(), &profile, &mut own));
        }
    }
    profiles.extend(excerpt(result, &profile));
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": result.command.join(" "),
        "exporter": format!("hps {}", result.version),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    })
}

fn sampled(name: &str, profile: &Profile<'_>, lines: &mut dyn Iterator<Item = &Line>) -> Value {
    // Speedscope wants the outermost frame first.
    let outermost = |line: &Line| line.stack.iter().rev().copied().collect();
    let all = lines.map(|line| (outermost(line), profile.weight(line)));
    let (stacks, weights) = all.unzip();
    document(name, stacks, weights)
}

fn excerpt(result: &ShimResult, profile: &Profile<'_>) -> Option<Value> {
    let places = places(&profile.functions);
    let moments = &result.analysis.as_ref()?.timeline.excerpt;
    let known = moments.iter().filter_map(|moment| {
        let place = *places.get(&moment.tag)?;
        Some((vec![place], nanoseconds(result, moment.period as f64)))
    });
    let (stacks, weights) = known.unzip();
    Some(document("excerpt, sample by sample", stacks, weights))
}

fn document(name: &str, samples: Vec<Vec<usize>>, weights: Vec<f64>) -> Value {
    json!({
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": weights.iter().sum::<f64>(),
        "samples": samples,
        "weights": weights,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{stacked, threaded};

    fn sum(profile: &Value) -> f64 {
        let weights = profile["weights"].as_array().unwrap();
        assert_eq!(profile["samples"].as_array().unwrap().len(), weights.len());
        weights.iter().filter_map(Value::as_f64).sum()
    }

    #[test]
    fn weights_are_the_run() {
        let value = speedscope(&crate::results::tests::example());
        assert!((sum(&value["profiles"][0]) - 2e9).abs() < 1.0);
        assert_eq!(value["shared"]["frames"][0]["name"], "main");
    }

    #[test]
    fn stacks_are_whole_and_threads_have_profiles_of_their_own() {
        let value = speedscope(&stacked());
        let [whole, first, second] = value["profiles"].as_array().unwrap().as_slice() else {
            panic!("{value}");
        };
        assert_eq!(whole["name"], "whole run, by stack");
        assert_eq!(
            (&first["name"], &second["name"]),
            (&json!("first (7)"), &json!("thread 8"))
        );
        assert!((sum(whole) - 2e9).abs() < 1.0);
        assert!((sum(first) - 1.3e9).abs() < 1.0 && (sum(second) - 0.7e9).abs() < 1.0);
        let names: Vec<&str> = second["samples"][0]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| {
                let frame = &value["shared"]["frames"][at.as_u64().unwrap() as usize];
                frame["name"].as_str().unwrap()
            })
            .collect();
        assert_eq!(names, ["f", "g"]);
    }

    #[test]
    fn threads_are_apart_without_stacks_too() {
        let value = speedscope(&threaded());
        let profiles = value["profiles"].as_array().unwrap();
        assert_eq!(profiles.len(), 3);
        assert!((sum(&profiles[1]) - 2e9 * 350.0 / 400.0).abs() < 1.0);
        assert!((sum(&profiles[2]) - 2e9 * 50.0 / 400.0).abs() < 1.0);
    }
}
