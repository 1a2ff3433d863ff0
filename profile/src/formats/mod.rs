//! The formats that other tools open. Each is a file of this folder.
//!
//! All of them write [`RoundedValues`](crate::symbolized::RoundedValues), so that their totals
//! agree with each other and with the profile. Readers limit them further: pprof holds signed 64-bit
//! integers (larger values are written as the largest one), and programs that read JSON round
//! integers above 2^53.
//!
//! Names may hold anything. Each format escapes what would break it; a control character becomes
//! `?` where the format has no escape for it. Frames without a name are written as their addresses.

mod callgrind;
mod firefox;
mod flame_graph;
mod folded;
mod llvm_samples;
mod perf_script;
mod pprof;
mod speedscope;
mod stack;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use crate::symbolized::SymbolizedProfile;

pub use pprof::is_of_lab as is_pprof_of_lab;

/// A format that other tools open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// pprof's `profile.proto`, compressed.
    Pprof,
    /// Firefox Profiler's processed format.
    Firefox,
    /// Speedscope's JSON.
    Speedscope,
    /// Callgrind's profile.
    Callgrind,
    /// Folded stacks.
    Folded,
    /// The text that `perf script` prints: the main column.
    PerfScript,
    /// The text that `perf script` prints, with an event for each column.
    PerfScriptAll,
    /// A flame graph.
    FlameGraph,
    /// LLVM's sample profile as text.
    LlvmSamples,
}

/// Description of a format.
struct Entry {
    format: Format,
    name: &'static str,
    description: &'static str,
    /// Ends of file names, the usual one first.
    ends: &'static [&'static str],
    write: fn(&SymbolizedProfile, &mut dyn Write) -> io::Result<()>,
}

/// The registry: one entry for each format, in the order of [`Format`].
const ENTRIES: [Entry; 9] = [
    Entry {
        format: Format::Pprof,
        name: "pprof",
        description: "pprof's protobuf, compressed: all columns, lines, inlined frames",
        ends: &[".pb.gz", ".pprof"],
        write: pprof::write,
    },
    Entry {
        format: Format::Firefox,
        name: "firefox",
        description: "Firefox Profiler: stacks, phases as markers, values over time",
        ends: &[".firefox.json", ".profile.json"],
        write: firefox::write,
    },
    Entry {
        format: Format::Speedscope,
        name: "speedscope",
        description: "speedscope: one flame graph for each column and each thread",
        ends: &[".speedscope.json", ".speedscope"],
        write: speedscope::write,
    },
    Entry {
        format: Format::Callgrind,
        name: "callgrind",
        description: "callgrind: columns as events, by instruction and line, for KCachegrind",
        ends: &[".callgrind", ".cachegrind"],
        write: callgrind::write,
    },
    Entry {
        format: Format::Folded,
        name: "folded",
        description: "folded stacks, a line for each: text for flame graph tools",
        ends: &[".folded", ".collapsed"],
        write: folded::write,
    },
    Entry {
        format: Format::PerfScript,
        name: "perf-script",
        description: "the text of `perf script`, which many viewers import: the main column",
        ends: &[".perf", ".perf.txt"],
        write: perf_script::write,
    },
    Entry {
        format: Format::PerfScriptAll,
        name: "perf-script-all",
        description: "the text of `perf script` with an event for each column: many times as long",
        ends: &[".all.perf"],
        write: perf_script::write_all,
    },
    Entry {
        format: Format::FlameGraph,
        name: "flame-graph",
        description: "a flame graph as one SVG file for a browser",
        ends: &[".svg"],
        write: flame_graph::write,
    },
    Entry {
        format: Format::LlvmSamples,
        name: "llvm-samples",
        description: "LLVM's sample profile as text, for clang's -fprofile-sample-use",
        ends: &[".afdo", ".prof"],
        write: llvm_samples::write,
    },
];

impl Format {
    /// All formats.
    pub const ALL: [Format; 9] = {
        let mut all = [Format::Pprof; 9];
        let mut place = 0;
        while place < all.len() {
            all[place] = ENTRIES[place].format;
            place += 1;
        }
        all
    };

    fn entry(self) -> &'static Entry {
        // `ENTRIES` has the order of the variants; a test holds it.
        &ENTRIES[self as usize]
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// One line that says what the format holds.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.entry().description
    }

    /// The usual end of a file's name, with its dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        self.entry().ends[0]
    }

    /// The format of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let entry = ENTRIES.iter().find(|entry| entry.name == name);
        entry.map(|entry| entry.format)
    }

    /// The format that the end of a file's name asks for; `None` if no format or several would do,
    /// as for a plain `.json`. Names that begin with `callgrind.out` are callgrind's.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        if name.starts_with("callgrind.out") {
            return Some(Self::Callgrind);
        }
        let ends = ENTRIES
            .iter()
            .flat_map(|entry| entry.ends.iter().map(move |end| (end, entry)));
        let fitting = ends.filter(|(end, _)| name.ends_with(**end));
        // The longest end says most.
        let (_, entry) = fitting.max_by_key(|(end, _)| end.len())?;
        Some(entry.format)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Writes a profile in a format.
///
/// # Errors
/// When the output fails.
pub fn write(
    profile: &SymbolizedProfile,
    format: Format,
    output: &mut dyn Write,
) -> io::Result<()> {
    (format.entry().write)(profile, output)
}

#[cfg(test)]
mod tests;
