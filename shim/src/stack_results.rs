//! Stacks as results keep them: calling contexts and functions with own and total shares.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::hexadecimal;
use crate::stack_read::{DEEPER, MISSING};
use crate::stacks::Stacks;

/// A function, or whatever a tag names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The tag; hexadecimal text.
    #[serde(with = "hexadecimal")]
    #[schemars(with = "String")]
    pub tag: u64,
    /// Function, given name, or the number.
    pub name: String,
    /// Executable or library of a function.
    pub module: Option<String>,
    /// Source file and line of a function.
    pub line: Option<String>,
}

/// A frame below its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextRow {
    /// The kernel's id of the thread.
    pub thread: u64,
    /// The caller's place in the list, before this one; `None`: a thread's outermost frame.
    pub parent: Option<usize>,
    /// Place of the frame in the list of frames.
    pub frame: usize,
    /// Samples in just this context.
    pub own: u64,
    /// Samples in it and in all that it called.
    pub total: u64,
}

/// A function over all its contexts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionRow {
    /// Place of the frame in the list of frames.
    pub frame: usize,
    /// Samples in it.
    pub own: u64,
    /// Samples in it or in what it called, recursion counted once.
    pub total: u64,
    /// `own` of all samples with a place in the tree, 0 to 1.
    pub own_share: f64,
    /// `total` of these.
    pub total_share: f64,
}

/// Results of the analysis of stacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackResult {
    /// Samples: `whole + torn`, and all that the observer sent.
    pub sampled: u64,
    /// Stacks that stood still while they were read.
    pub whole: u64,
    /// Stacks that changed meanwhile: the frames between the outermost ones, which stayed, and the tag
    /// are not known.
    pub torn: u64,
    /// Stacks deeper than a slot shows.
    pub deeper: u64,
    /// Samples for which the tree had no room; they are in nothing below.
    pub lost: u64,
    /// Frames that were on stacks.
    pub frames: Vec<Frame>,
    /// The tree; callers stand before what they call.
    pub contexts: Vec<ContextRow>,
    /// Functions, the highest total first.
    pub functions: Vec<FunctionRow>,
}

impl StackResult {
    /// Gives names to what was found.
    pub fn new(stacks: &Stacks, mut describe: impl FnMut(u64) -> Frame) -> Self {
        let mut frames = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut contexts: Vec<ContextRow> = Vec::new();
        // Threads stand in the tree as outermost nodes, and are no frames.
        let mut places: Vec<Option<usize>> = Vec::with_capacity(stacks.contexts.len());
        for node in &stacks.contexts {
            let Some(parent) = node.parent else {
                places.push(None);
                continue;
            };
            let frame = *known.entry(node.tag).or_insert_with(|| {
                frames.push(match node.tag {
                    MISSING => mark(MISSING, "(frames not known)"),
                    DEEPER => mark(DEEPER, "(deeper frames not kept)"),
                    tag => describe(tag),
                });
                frames.len() - 1
            });
            let caller = places[parent];
            places.push(Some(contexts.len()));
            contexts.push(ContextRow {
                thread: caller.map_or(stacks.contexts[parent].tag, |c| contexts[c].thread),
                parent: caller,
                frame,
                own: node.samples,
                total: node.samples,
            });
        }
        for at in (0..contexts.len()).rev() {
            if let Some(parent) = contexts[at].parent {
                contexts[parent].total += contexts[at].total;
            }
        }
        Self {
            sampled: stacks.sampled,
            whole: stacks.whole,
            torn: stacks.torn,
            deeper: stacks.deeper,
            lost: stacks.lost,
            functions: functions(&contexts, frames.len()),
            frames,
            contexts,
        }
    }

    /// The frames of a context, its own first and the outermost last.
    pub fn path(&self, context: usize) -> impl Iterator<Item = usize> {
        let first = self.contexts.get(context);
        std::iter::successors(first, |c| self.contexts.get(c.parent?)).map(|c| c.frame)
    }
}

fn mark(tag: u64, name: &str) -> Frame {
    Frame {
        tag,
        name: name.to_owned(),
        module: None,
        line: None,
    }
}

fn functions(contexts: &[ContextRow], frames: usize) -> Vec<FunctionRow> {
    let mut own = vec![0_u64; frames];
    let mut total = vec![0_u64; frames];
    // The context for which a frame was counted last: recursion counts once.
    let mut counted = vec![usize::MAX; frames];
    for (at, context) in contexts.iter().enumerate().filter(|(_, c)| c.own > 0) {
        own[context.frame] += context.own;
        let mut next = Some(at);
        while let Some(here) = next {
            let frame = contexts[here].frame;
            if counted[frame] != at {
                counted[frame] = at;
                total[frame] += context.own;
            }
            next = contexts[here].parent;
        }
    }
    let all = own.iter().sum::<u64>().max(1) as f64;
    let mut rows: Vec<FunctionRow> = (0..frames)
        .map(|frame| FunctionRow {
            frame,
            own: own[frame],
            total: total[frame],
            own_share: own[frame] as f64 / all,
            total_share: total[frame] as f64 / all,
        })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse((row.total, row.own)), row.frame));
    rows
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::contexts::Contexts;

    /// Threads 7 and 8: main (1) calls f (2), which calls itself and g (3).
    pub(crate) fn example() -> StackResult {
        let mut contexts = Contexts::new(64);
        for (thread, path, times) in [
            (7, &[1][..], 10),
            (7, &[1, 2], 20),
            (7, &[1, 2, 2, 3], 30),
            (7, &[1, MISSING, 3], 5),
            (8, &[2, 3], 35),
        ] {
            for _ in 0..times {
                contexts.add(thread, path);
            }
        }
        let stacks = Stacks {
            sampled: 102,
            whole: 97,
            torn: 5,
            deeper: 0,
            lost: 2,
            contexts: contexts.listing(),
        };
        StackResult::new(&stacks, |tag| {
            mark(tag, ["-", "main", "f", "g"][tag as usize])
        })
    }

    #[test]
    fn totals_count_recursion_once_and_threads_are_apart() {
        let result = example();
        let rows: Vec<(&str, u64, u64)> = result
            .functions
            .iter()
            .map(|row| (result.frames[row.frame].name.as_str(), row.own, row.total))
            .collect();
        let expected = [
            ("f", 20, 85),
            ("g", 70, 70),
            ("main", 10, 65),
            ("(frames not known)", 0, 5),
        ];
        assert_eq!(rows, expected);
        let own: f64 = result.functions.iter().map(|row| row.own_share).sum();
        assert!((own - 1.0).abs() < 1e-12);
        let outermost: Vec<(u64, u64)> = result
            .contexts
            .iter()
            .filter(|c| c.parent.is_none())
            .map(|c| (c.thread, c.total))
            .collect();
        assert_eq!(outermost, [(7, 65), (8, 35)]);
        let deepest = result.contexts.iter().position(|c| c.own == 30).unwrap();
        let path: Vec<&str> = result
            .path(deepest)
            .map(|frame| result.frames[frame].name.as_str())
            .collect();
        assert_eq!(path, ["g", "f", "f", "main"]);
    }

    #[test]
    fn results_are_read_back() {
        let text = serde_json::to_string(&example()).unwrap();
        assert!(text.contains("0xffffffffffffffff"));
        assert_eq!(
            serde_json::from_str::<StackResult>(&text).unwrap(),
            example()
        );
    }
}
