//! Results for other tools: pprof and speedscope.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::results::{ShimResult, TagRow};

/// Nanoseconds of so many cycles.
fn nanoseconds(result: &ShimResult, cycles: f64) -> f64 {
    cycles * 1e9 / result.ticks_per_second.max(1.0)
}

/// The seconds of the run that a tag's share stands for, in nanoseconds.
fn weight(result: &ShimResult, row: &TagRow) -> f64 {
    row.share * result.seconds * 1e9
}

/// A file for speedscope: the whole run by tag, and the excerpt sample by sample in its order.
#[must_use]
pub fn speedscope(result: &ShimResult) -> Value {
    let frames: Vec<Value> = result
        .tags
        .iter()
        .map(|row| json!({ "name": row.name, "file": row.module }))
        .collect();
    let place: HashMap<u64, usize> = result
        .tags
        .iter()
        .enumerate()
        .map(|(i, row)| (row.tag, i))
        .collect();
    let whole: Vec<f64> = result.tags.iter().map(|row| weight(result, row)).collect();
    let stacks: Vec<Vec<usize>> = (0..result.tags.len()).map(|i| vec![i]).collect();
    let mut profiles = vec![sampled("whole run, by tag", stacks, whole)];
    if let Some(analysis) = &result.analysis {
        let moments = &analysis.timeline.excerpt;
        let known = moments.iter().filter_map(|m| {
            Some((
                vec![*place.get(&m.tag)?],
                nanoseconds(result, m.period as f64),
            ))
        });
        let (stacks, weights) = known.unzip();
        profiles.push(sampled("excerpt, sample by sample", stacks, weights));
    }
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": result.command.join(" "),
        "exporter": format!("hps {}", result.version),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    })
}

fn sampled(name: &str, samples: Vec<Vec<usize>>, weights: Vec<f64>) -> Value {
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

/// Protocol Buffers' wire format, as much of it as a profile needs.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(&mut self, field: u64, inner: &Message) -> &mut Self {
        self.bytes(field, &inner.0)
    }

    fn packed(&mut self, field: u64, values: &[u64]) -> &mut Self {
        let mut inner = Message::default();
        for &value in values {
            inner.varint(value);
        }
        self.message(field, &inner)
    }
}

/// Each text once, by number; number 0 is the empty one.
struct Strings {
    all: Vec<String>,
    places: HashMap<String, u64>,
}

impl Strings {
    fn place(&mut self, text: &str) -> u64 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// A profile in pprof's format (`profile.proto`), not compressed, which pprof reads as well: samples
/// and nanoseconds by tag.
#[must_use]
pub fn pprof(result: &ShimResult) -> Vec<u8> {
    let mut strings = Strings {
        all: vec![String::new()],
        places: HashMap::from([(String::new(), 0)]),
    };
    let mut profile = Message::default();
    for (kind, unit) in [("samples", "count"), ("time", "nanoseconds")] {
        let mut value_type = Message::default();
        value_type
            .number(1, strings.place(kind))
            .number(2, strings.place(unit));
        profile.message(1, &value_type);
    }
    for (i, row) in result.tags.iter().enumerate() {
        let id = i as u64 + 1;
        let mut sample = Message::default();
        sample
            .packed(1, &[id])
            .packed(2, &[row.samples, weight(result, row) as u64]);
        profile.message(2, &sample);
        let (file, line) = source(row);
        let mut at = Message::default();
        at.number(1, id).number(2, line);
        let mut location = Message::default();
        location.number(1, id).number(3, row.tag).message(4, &at);
        profile.message(4, &location);
        let name = strings.place(&row.name);
        let mut function = Message::default();
        function
            .number(1, id)
            .number(2, name)
            .number(3, name)
            .number(4, strings.place(file));
        profile.message(5, &function);
    }
    let comment = strings.place(&format!("hps shim, period {}", result.pace));
    for text in &strings.all {
        profile.bytes(6, text.as_bytes());
    }
    profile.number(10, (result.seconds * 1e9) as u64);
    profile.packed(13, &[comment]);
    profile.0
}

/// File and line of a tag, empty and 0 if they are not known.
fn source(row: &TagRow) -> (&str, u64) {
    row.line
        .as_deref()
        .and_then(|text| text.rsplit_once(':'))
        .and_then(|(file, line)| Some((file, line.parse().ok()?)))
        .unwrap_or((row.module.as_deref().unwrap_or(""), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a message: number and payload, a number's being its bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let varint = |bytes: &mut &[u8]| {
            let mut value = 0_u64;
            for shift in (0..).step_by(7) {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            value
        };
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let payload = if key & 7 == 2 {
                let length = varint(&mut bytes) as usize;
                let payload = bytes[..length].to_vec();
                bytes = &bytes[length..];
                payload
            } else {
                assert_eq!(key & 7, 0);
                varint(&mut bytes).to_le_bytes().to_vec()
            };
            all.push((key >> 3, payload));
        }
        all
    }

    fn result() -> ShimResult {
        crate::results::tests::example()
    }

    #[test]
    fn pprof_files_hold_each_tag_with_its_samples() {
        let bytes = pprof(&result());
        let all = fields(&bytes);
        let of = |field| all.iter().filter(move |(f, _)| *f == field);
        assert_eq!((of(2).count(), of(4).count(), of(5).count()), (2, 2, 2));
        let strings: Vec<String> = of(6)
            .map(|(_, text)| String::from_utf8(text.clone()).unwrap())
            .collect();
        assert_eq!(strings[0], "");
        assert!(strings.contains(&"main".to_owned()));
        let sample = fields(&of(2).next().unwrap().1);
        // 300 as a varint, then its nanoseconds.
        assert_eq!(sample[1].1[..2], [0xac, 0x02]);
        let function = fields(&of(5).next().unwrap().1);
        let name = u64::from_le_bytes(function[1].1.clone().try_into().unwrap());
        assert_eq!(strings[name as usize], "main");
    }

    #[test]
    fn speedscope_weights_are_the_run() {
        let value = speedscope(&result());
        let profile = &value["profiles"][0];
        let weights = profile["weights"].as_array().unwrap();
        let sum: f64 = weights.iter().filter_map(Value::as_f64).sum();
        assert!((sum - 2e9).abs() < 1.0);
        assert_eq!(profile["samples"].as_array().unwrap().len(), weights.len());
        assert_eq!(value["shared"]["frames"][0]["name"], "main");
    }
}
