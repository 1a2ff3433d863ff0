//! pprof's file format.

use std::collections::HashMap;

use super::{Function, Profile};
use crate::results::ShimResult;

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
/// and nanoseconds by stack or tag, labelled with the thread.
#[must_use]
pub fn pprof(result: &ShimResult) -> Vec<u8> {
    let exported = Profile::new(result);
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
    for line in &exported.lines {
        let ids: Vec<u64> = line.stack.iter().map(|&at| at as u64 + 1).collect();
        let mut sample = Message::default();
        sample
            .packed(1, &ids)
            .packed(2, &[line.samples, exported.weight(line) as u64]);
        if let Some(thread) = line.thread.map(|at| &result.threads[at]) {
            let mut name = Message::default();
            name.number(1, strings.place("thread"))
                .number(2, strings.place(&thread.label()));
            sample.message(3, &name);
            if let Some(id) = thread.thread {
                let mut label = Message::default();
                label.number(1, strings.place("thread_id")).number(3, id);
                sample.message(3, &label);
            }
        }
        profile.message(2, &sample);
    }
    for (at, function) in exported.functions.iter().enumerate() {
        add_function(&mut profile, &mut strings, at as u64 + 1, function);
    }
    let comment = strings.place(&format!("hps shim, period {}", result.pace));
    for text in &strings.all {
        profile.bytes(6, text.as_bytes());
    }
    profile.number(10, (result.seconds * 1e9) as u64);
    profile.packed(13, &[comment]);
    profile.0
}

/// A location with its function, both of this number.
fn add_function(profile: &mut Message, strings: &mut Strings, id: u64, function: &Function<'_>) {
    let (file, line) = source(function);
    let mut at = Message::default();
    at.number(1, id).number(2, line);
    let mut location = Message::default();
    location
        .number(1, id)
        .number(3, function.tag)
        .message(4, &at);
    profile.message(4, &location);
    let name = strings.place(function.name);
    let mut text = Message::default();
    text.number(1, id)
        .number(2, name)
        .number(3, name)
        .number(4, strings.place(file));
    profile.message(5, &text);
}

/// File and line of a function, the module and 0 if they are not known.
fn source<'a>(function: &Function<'a>) -> (&'a str, u64) {
    function
        .line
        .and_then(|text| text.rsplit_once(':'))
        .and_then(|(file, line)| Some((file, line.parse().ok()?)))
        .unwrap_or((function.module.unwrap_or(""), 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{stacked, threaded};

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

    fn number(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(bytes.try_into().unwrap())
    }

    fn varints(bytes: &[u8]) -> Vec<u64> {
        let mut all = vec![0];
        let mut shift = 0;
        for byte in bytes {
            *all.last_mut().unwrap() |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                all.push(0);
                shift = 0;
            }
        }
        all.pop();
        all
    }

    /// What a reader finds: stacks by name (innermost first), samples, labels.
    type Read = Vec<(Vec<String>, u64, Vec<(String, String)>)>;

    fn read(result: &ShimResult) -> Read {
        let all = fields(&pprof(result));
        let of = |field| all.iter().filter(move |(f, _)| *f == field);
        let strings: Vec<String> = of(6)
            .map(|(_, text)| String::from_utf8(text.clone()).unwrap())
            .collect();
        assert_eq!(strings[0], "");
        let names: HashMap<u64, String> = of(5)
            .map(|(_, text)| {
                let function = fields(text);
                let name = &strings[number(&function[1].1) as usize];
                (number(&function[0].1), name.clone())
            })
            .collect();
        assert_eq!(of(4).count(), names.len());
        let sample = |(_, text): &(u64, Vec<u8>)| {
            let sample = fields(text);
            let stack = varints(&sample[0].1);
            let labels = sample[2..].iter().map(|(_, label)| {
                let label = fields(label);
                let (field, value) = (label[1].0, number(&label[1].1));
                let value = match field {
                    2 => strings[value as usize].clone(),
                    _ => value.to_string(),
                };
                (strings[number(&label[0].1) as usize].clone(), value)
            });
            (
                stack.iter().map(|id| names[id].clone()).collect(),
                varints(&sample[1].1)[0],
                labels.collect(),
            )
        };
        of(2).map(sample).collect()
    }

    #[test]
    fn each_tag_has_its_samples() {
        let read = read(&crate::results::tests::example());
        let expected = [("main", 300), ("phase", 100)];
        let expected = expected.map(|(name, n)| (vec![name.to_owned()], n, Vec::new()));
        assert_eq!(read, expected);
    }

    fn labels(name: &str, id: &str) -> Vec<(String, String)> {
        vec![
            ("thread".to_owned(), name.to_owned()),
            ("thread_id".to_owned(), id.to_owned()),
        ]
    }

    #[test]
    fn stacks_are_whole_and_labelled_with_their_threads() {
        let read = read(&stacked());
        let on = |stack: &[&str], samples, labels| {
            let stack = stack.iter().map(|name| (*name).to_owned()).collect();
            (stack, samples, labels)
        };
        let first = || labels("first (7)", "7");
        let expected = [
            on(&["main"], 10, first()),
            on(&["f", "main"], 20, first()),
            on(&["g", "f", "f", "main"], 30, first()),
            on(&["g", "(frames not known)", "main"], 5, first()),
            on(&["g", "f"], 35, labels("thread 8", "8")),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn tags_are_labelled_with_their_threads() {
        let read = read(&threaded());
        let seen: Vec<(&str, u64, &str)> = read
            .iter()
            .map(|(stack, samples, labels)| (stack[0].as_str(), *samples, labels[1].1.as_str()))
            .collect();
        assert_eq!(
            seen,
            [("main", 250, "7"), ("phase", 100, "7"), ("main", 50, "8")]
        );
    }
}
