//! Results for other tools: pprof and speedscope.

mod pprof;
mod speedscope;

use std::collections::HashMap;

pub use pprof::pprof;
pub use speedscope::speedscope;

use crate::results::ShimResult;

/// A function as other tools want it.
struct Function<'a> {
    tag: u64,
    name: &'a str,
    module: Option<&'a str>,
    line: Option<&'a str>,
}

/// Samples on one stack of one thread.
struct Line {
    /// Place in the result's list of threads; `None` where threads were not told apart.
    thread: Option<usize>,
    /// Places in the list of functions, the innermost first.
    stack: Vec<usize>,
    samples: u64,
}

/// What is exported: whole stacks if there are any, else tags alone.
struct Profile<'a> {
    functions: Vec<Function<'a>>,
    lines: Vec<Line>,
    /// Nanoseconds of the run that one sample stands for.
    sample_ns: f64,
}

impl<'a> Profile<'a> {
    fn new(result: &'a ShimResult) -> Self {
        let (functions, lines) = match &result.stacks {
            Some(_) => of_stacks(result),
            None => of_tags(result),
        };
        let all: u64 = lines.iter().map(|line| line.samples).sum();
        Self {
            functions,
            lines,
            sample_ns: result.seconds * 1e9 / all.max(1) as f64,
        }
    }

    /// The nanoseconds of the run that a line stands for.
    fn weight(&self, line: &Line) -> f64 {
        line.samples as f64 * self.sample_ns
    }
}

fn of_stacks(result: &ShimResult) -> (Vec<Function<'_>>, Vec<Line>) {
    let Some(stacks) = &result.stacks else {
        return (Vec::new(), Vec::new());
    };
    let functions = stacks.frames.iter().map(|frame| Function {
        tag: frame.tag,
        name: &frame.name,
        module: frame.module.as_deref(),
        line: frame.line.as_deref(),
    });
    let seen = stacks
        .contexts
        .iter()
        .enumerate()
        .filter(|(_, c)| c.own > 0);
    let lines = seen.map(|(at, context)| Line {
        thread: result
            .threads
            .iter()
            .position(|row| row.thread == Some(context.thread)),
        stack: stacks.path(at).collect(),
        samples: context.own,
    });
    (functions.collect(), lines.collect())
}

fn of_tags(result: &ShimResult) -> (Vec<Function<'_>>, Vec<Line>) {
    let functions = result.tags.iter().map(|row| Function {
        tag: row.tag,
        name: &row.name,
        module: row.module.as_deref(),
        line: row.line.as_deref(),
    });
    let functions: Vec<Function<'_>> = functions.collect();
    if result.threads.is_empty() {
        let lines = result.tags.iter().enumerate().map(|(at, row)| Line {
            thread: None,
            stack: vec![at],
            samples: row.samples,
        });
        return (functions, lines.collect());
    }
    let places = places(&functions);
    let lines = result.threads.iter().enumerate().flat_map(|(thread, row)| {
        let places = &places;
        row.tags.iter().filter_map(move |tag| {
            Some(Line {
                thread: Some(thread),
                stack: vec![*places.get(&tag.tag)?],
                samples: tag.samples,
            })
        })
    });
    let lines = lines.collect();
    (functions, lines)
}

/// Where the function of a tag stands.
fn places(functions: &[Function<'_>]) -> HashMap<u64, usize> {
    let all = functions.iter().enumerate();
    all.map(|(at, function)| (function.tag, at)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::results::ShimResult;
    use crate::results::tests::example;
    use crate::results::{ThreadRow, ThreadTagRow};

    /// A result with the stacks of two threads, 7 and 8.
    pub fn stacked() -> ShimResult {
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
    pub fn threaded() -> ShimResult {
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
}
