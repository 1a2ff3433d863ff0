//! Findings of shadows so far, while the program runs and at its end.

use std::collections::BTreeMap;
use std::time::Duration;

use hps_shim::symbols::Symbolizer;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::follow::Followed;
use crate::outcome::{Monitor, Shadow};
use crate::profiles::{Entered, Profiles};

/// Threads that are told apart; the shadows of others are one more entry.
pub const MOST_THREADS: usize = 256;

/// Code that the shadows of one thread executed, by blocks.
pub type Blocks = FxHashMap<(u64, u64), Entered>;

/// A thread of the program, by what its shadows executed.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Its number; 0 of threads that are not told apart.
    pub number: u32,
    /// Its name when the shadows were forked.
    pub name: String,
    /// Its shadows.
    pub shadows: u64,
    /// Instructions that they executed.
    pub instructions: u64,
    /// The blocks of code that they executed, as in [`Profiles::blocks`].
    pub blocks: Blocks,
}

/// Instructions of a function, of those of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunctionOfThread {
    /// The function.
    pub function: String,
    /// Instructions executed in it.
    pub instructions: u64,
}

/// A thread with its hottest functions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadRow {
    /// Number of the thread; 0 of threads that are not told apart.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// Its shadows.
    pub shadows: u64,
    /// Instructions that they executed.
    pub instructions: u64,
    /// Its hottest functions, the hottest first.
    pub functions: Vec<FunctionOfThread>,
}

/// Everything that shadows have shown so far.
#[derive(Default)]
pub struct Found {
    /// Profiles of their code.
    pub profiles: Profiles,
    /// The program's threads by number and name.
    pub threads: BTreeMap<(u32, String), Thread>,
    /// Shadows that have ended.
    pub shadows: Vec<Shadow>,
    /// Names for addresses.
    pub symbols: Symbolizer,
    /// Numbers in the shared memory that cannot be.
    pub damaged: u64,
}

impl Found {
    /// Adds shadows that were followed to their ends, all of one thread.
    pub(crate) fn add(&mut self, followed: Followed) {
        self.profiles.add(&followed.walk);
        self.symbols.add(followed.symbols);
        self.damaged += followed.damaged;
        if let Some(shadow) = followed.shadows.first() {
            let mut key = (shadow.thread, shadow.thread_name.clone());
            if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&key) {
                key = (0, "others".to_owned());
            }
            let thread = self.threads.entry(key.clone()).or_default();
            (thread.number, thread.name) = key;
            for shadow in &followed.shadows {
                thread.shadows += 1;
                thread.instructions += shadow.instructions;
            }
            for (block, count) in followed.walk.found().blocks {
                let entered = thread.blocks.entry((block.start, block.last)).or_default();
                entered.count += count;
                entered.instructions = block.instructions;
            }
        }
        self.shadows.extend(followed.shadows);
    }
}

/// A session while it runs.
pub struct Now<'a> {
    /// Time since its start.
    pub elapsed: Duration,
    /// Processor time of the program at the monitor's last signal; 0 without a budget.
    pub cpu: Duration,
    /// Shadows that are alive.
    pub alive: usize,
    /// Counts of the monitor.
    pub monitor: Monitor,
    /// What shadows that have ended have shown.
    pub found: &'a mut Found,
}

/// Called each second while a session runs.
#[derive(Clone, Copy, Default)]
pub struct View<'a>(pub Option<&'a (dyn Fn(&mut Now<'_>) + Sync)>);

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() {
            "a view"
        } else {
            "no view"
        })
    }
}

/// Instructions by function, the most first.
#[must_use]
pub fn by_function(blocks: &Blocks, symbols: &mut Symbolizer) -> Vec<(String, u64)> {
    let mut entries: FxHashMap<u64, u64> = FxHashMap::default();
    let mut names = BTreeMap::new();
    for ((start, _), entered) in blocks {
        *entries.entry(*start).or_insert(0) += entered.count * u64::from(entered.instructions);
    }
    for (start, instructions) in entries {
        *names.entry(function(symbols, start)).or_insert(0) += instructions;
    }
    let mut all: Vec<(String, u64)> = names.into_iter().collect();
    all.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    all
}

/// The function at an address; its file, if that names none.
#[must_use]
pub fn function(symbols: &mut Symbolizer, address: u64) -> String {
    let place = symbols.resolve(address);
    match (&place.function, &place.module) {
        (None, Some(module)) => {
            let file = module.rsplit('/').next().unwrap_or(module);
            format!("{file} (no symbols)")
        }
        _ => place.to_string(),
    }
}

/// Threads with their `top` hottest functions each, by the instructions of their shadows, the most first.
#[must_use]
pub fn rows(threads: &[Thread], symbols: &mut Symbolizer, top: usize) -> Vec<ThreadRow> {
    let row = |thread: &Thread| ThreadRow {
        thread: thread.number,
        name: thread.name.clone(),
        shadows: thread.shadows,
        instructions: thread.instructions,
        functions: by_function(&thread.blocks, symbols)
            .into_iter()
            .take(top)
            .map(|(function, instructions)| FunctionOfThread {
                function,
                instructions,
            })
            .collect(),
    };
    let mut rows: Vec<ThreadRow> = threads.iter().map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.instructions), row.thread));
    rows
}
