//! The result as a profile with names, for the formats of other tools.

use std::collections::HashMap;

use hps_profile::symbolized::{
    Builder, Column, Frame, Function, Header, LocationId, SymbolizedProfile, Thread, ThreadId,
};

use crate::results::ShimResult;

/// A function, or whatever a tag names.
struct Named<'a> {
    tag: u64,
    name: &'a str,
    module: Option<&'a str>,
    line: Option<&'a str>,
}

/// Nanoseconds of the run and samples, by stack if stacks were read, else by tag, and by thread where threads were
/// told apart. A tag is the address of a location and its function's entry.
///
/// All samples stand for equal parts of the run.
#[must_use]
pub fn symbolized(result: &ShimResult) -> SymbolizedProfile {
    let header = Header {
        program: result.command.first().cloned().unwrap_or_default(),
        version: result.version.clone(),
        core: result.machine.processor.clone(),
        command: format!(
            "hps shim run --period {} -- {}",
            result.pace,
            result.command.join(" ")
        ),
        ..Header::default()
    };
    let columns = vec![
        Column::new("time", "nanoseconds"),
        Column::new("samples", "count"),
    ];
    let mut writer = Writer {
        builder: Builder::new(header, columns),
        sample_ns: 0.0,
    };
    match &result.stacks {
        Some(_) => writer.stacks(result),
        None => writer.tags(result),
    }
    writer.builder.build()
}

struct Writer {
    builder: Builder,
    sample_ns: f64,
}

impl Writer {
    fn stacks(&mut self, result: &ShimResult) {
        let Some(stacks) = &result.stacks else {
            return;
        };
        let all = stacks.contexts.iter().map(|context| context.own).sum();
        self.share(result, all);
        let places: Vec<LocationId> = (stacks.frames.iter())
            .map(|frame| {
                self.location(&Named {
                    tag: frame.tag,
                    name: &frame.name,
                    module: frame.module.as_deref(),
                    line: frame.line.as_deref(),
                })
            })
            .collect();
        let threads: HashMap<u64, ThreadId> = (result.threads.iter().enumerate())
            .filter_map(|(at, row)| Some((row.thread?, self.thread(result, at))))
            .collect();
        let seen = stacks.contexts.iter().enumerate();
        for (at, context) in seen.filter(|(_, context)| context.own > 0) {
            let stack: Vec<LocationId> = stacks.path(at).map(|frame| places[frame]).collect();
            let thread = threads.get(&context.thread).copied();
            self.add(thread, &stack, context.own);
        }
    }

    fn tags(&mut self, result: &ShimResult) {
        let places: HashMap<u64, LocationId> = (result.tags.iter())
            .map(|row| {
                let place = self.location(&Named {
                    tag: row.tag,
                    name: &row.name,
                    module: row.module.as_deref(),
                    line: row.line.as_deref(),
                });
                (row.tag, place)
            })
            .collect();
        if result.threads.is_empty() {
            self.share(result, result.tags.iter().map(|row| row.samples).sum());
            for row in &result.tags {
                self.add(None, &[places[&row.tag]], row.samples);
            }
            return;
        }
        let all = result.threads.iter().flat_map(|row| &row.tags);
        self.share(result, all.map(|tag| tag.samples).sum());
        for (at, row) in result.threads.iter().enumerate() {
            let thread = self.thread(result, at);
            for tag in &row.tags {
                if let Some(&place) = places.get(&tag.tag) {
                    self.add(Some(thread), &[place], tag.samples);
                }
            }
        }
    }

    /// Sets what a sample stands for.
    fn share(&mut self, result: &ShimResult, samples: u64) {
        self.sample_ns = result.seconds * 1e9 / samples.max(1) as f64;
    }

    fn thread(&mut self, result: &ShimResult, at: usize) -> ThreadId {
        let row = &result.threads[at];
        self.builder.thread(Thread {
            id: row.thread.unwrap_or(0),
            name: match (&row.name, row.thread) {
                (Some(name), _) => name.clone(),
                (None, Some(_)) => String::new(),
                (None, None) => row.label(),
            },
        })
    }

    fn location(&mut self, named: &Named<'_>) -> LocationId {
        let source = named.line.and_then(|text| {
            let (file, line) = text.rsplit_once(':')?;
            Some((file, line.parse().ok()?))
        });
        let (file, line) = source.unwrap_or(("", 0));
        let function = self.builder.function(Function {
            name: named.name.to_owned(),
            file: file.to_owned(),
            line,
            entry: named.tag,
            module: named.module.unwrap_or_default().to_owned(),
            ..Function::default()
        });
        let frame = Frame::new(function, line);
        self.builder.location(named.tag, 0, &[frame])
    }

    fn add(&mut self, thread: Option<ThreadId>, stack: &[LocationId], samples: u64) {
        let time = (samples as f64 * self.sample_ns).round() as u64;
        self.builder.add(thread, stack, &[time, samples]);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::results::tests::example;
    use crate::results::{ThreadRow, ThreadTagRow};

    /// A result with the stacks of two threads, 7 and 8.
    pub(crate) fn stacked() -> ShimResult {
        let thread = |thread, name: Option<&str>, samples| ThreadRow {
            thread: Some(thread),
            name: name.map(str::to_owned),
            samples,
            share: samples as f64 / 100.0,
            tags: Vec::new(),
        };
        ShimResult {
            threads: vec![thread(7, Some("first"), 65), thread(8, None, 35)],
            stacks: Some(crate::stack_results::tests::example()),
            ..example()
        }
    }

    /// A result of tags alone in two threads.
    pub(crate) fn threaded() -> ShimResult {
        let tag = |tag, samples| ThreadTagRow {
            tag,
            samples,
            share: 0.0,
        };
        let mut result = stacked();
        result.stacks = None;
        result.threads[0].tags = vec![tag(0x40_0000, 250), tag(3, 100)];
        result.threads[1].tags = vec![tag(0x40_0000, 50)];
        result
    }

    /// Threads with stacks by name, innermost first, and samples.
    fn read(profile: &SymbolizedProfile) -> Vec<(Option<u64>, String, u64)> {
        let name = |place: &LocationId| {
            let frame = profile.location(*place).frames[0];
            profile.function(frame.function).name.clone()
        };
        let samples = profile.samples().iter().map(|sample| {
            let thread = sample.thread.map(|id| profile.threads()[id.index()].id);
            let stack: Vec<String> = sample.stack.iter().map(name).collect();
            (thread, stack.join("<"), sample.values[1])
        });
        samples.collect()
    }

    fn rows<'a>(all: &[(Option<u64>, &'a str, u64)]) -> Vec<(Option<u64>, String, u64)> {
        let own = |&(thread, stack, samples): &(Option<u64>, &'a str, u64)| {
            (thread, stack.to_owned(), samples)
        };
        all.iter().map(own).collect()
    }

    #[test]
    fn tags_share_the_seconds_of_the_run() {
        let profile = symbolized(&example());
        assert_eq!(
            read(&profile),
            rows(&[(None, "main", 300), (None, "phase", 100)])
        );
        // 2 s: 1.5 and 0.5.
        assert_eq!(profile.total(0), 2_000_000_000);
        assert_eq!(profile.samples()[0].values[0], 1_500_000_000);
        let main = &profile.functions()[0];
        assert_eq!((main.file.as_str(), main.line), ("prog.c", 7));
        assert_eq!((main.module.as_str(), main.entry), ("prog", 0x40_0000));
    }

    #[test]
    fn stacks_are_whole_and_of_their_threads() {
        let expected = [
            (Some(7), "main", 10),
            (Some(7), "f<main", 20),
            (Some(7), "g<f<f<main", 30),
            (Some(7), "g<(frames not known)<main", 5),
            (Some(8), "g<f", 35),
        ];
        assert_eq!(read(&symbolized(&stacked())), rows(&expected));
    }

    #[test]
    fn tags_are_of_their_threads() {
        let expected = [
            (Some(7), "main", 250),
            (Some(7), "phase", 100),
            (Some(8), "main", 50),
        ];
        assert_eq!(read(&symbolized(&threaded())), rows(&expected));
    }
}
