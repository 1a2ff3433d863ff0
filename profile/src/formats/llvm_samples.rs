//! LLVM's sample profile as text, for clang's `-fprofile-sample-use`.
//!
//! ```text
//! main:184019:3
//!  4: 534
//!  5: 1075 leaf:900
//!  6: inlined:1037
//!   2: 1037
//! ```
//!
//! A function has its linkage name, the sum of its counts and the count of its entry; counts stand
//! by the distance in lines from the function's first line, and inlined functions inside their
//! callers at the line of the call. Samples whose function or line is not known are left out, and
//! so are instructions of DISE, which the program's source knows nothing of.
//!
//! **What is counted.** A compiler wants to know how often a line runs. If a column is called
//! `instructions`, it holds executions: a line's count is then the largest count of one of its
//! instructions, as in profiles from branch records, and the number of executions of a function's
//! first instruction is its head count and, on a stack, the count of calls from there. Without such
//! a column, a line's count is the sum of the main column, as in profiles from samples, and there
//! are no counts of calls.
//!
//! **Discriminators** are those of clang with `-fdebug-info-for-profiling`, which packs three numbers into one:
//! the one that tells blocks of a line apart, how often the code was copied by unrolling or vectorizing, and which copy
//! it is (`DILocation::encodeDiscriminator`). The profile holds the first. Executions are multiplied by the second,
//! since each iteration of an unrolled loop stands for several.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::symbolized::{Frame, FunctionId, Location, LocationId, Sample, SymbolizedProfile};

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let tops = Counts::new(profile).tops;
    let mut tops: Vec<(String, Body)> = tops.into_iter().collect();
    // Heaviest first, as LLVM's own writer does it; equal ones by name.
    tops.sort_by_key(|(_, body)| std::cmp::Reverse(body.total()));
    for (name, body) in tops {
        writeln!(output, "{name}:{}:{}", body.total(), body.head)?;
        body.write(output, 1)?;
    }
    Ok(())
}

/// Lines from the function's first one, and the discriminator.
type Offset = (u32, u32);

#[derive(Default)]
struct Body {
    head: u128,
    lines: BTreeMap<Offset, Line>,
    inlined: BTreeMap<(Offset, String), Body>,
}

#[derive(Default)]
struct Line {
    count: u128,
    targets: BTreeMap<String, u128>,
}

impl Body {
    fn total(&self) -> u128 {
        // The depth is that of inlining, which compilers bound.
        let own: u128 = self.lines.values().map(|line| line.count).sum();
        own + self.inlined.values().map(Body::total).sum::<u128>()
    }

    fn write(&self, output: &mut dyn Write, depth: usize) -> io::Result<()> {
        let space = " ".repeat(depth);
        for (offset, line) in &self.lines {
            write!(output, "{space}{}: {}", text(*offset), line.count)?;
            for (name, count) in &line.targets {
                write!(output, " {name}:{count}")?;
            }
            writeln!(output)?;
        }
        for ((offset, name), body) in &self.inlined {
            writeln!(output, "{space}{}: {name}:{}", text(*offset), body.total())?;
            body.write(output, depth + 1)?;
        }
        Ok(())
    }
}

fn text((line, discriminator): Offset) -> String {
    match discriminator {
        0 => line.to_string(),
        discriminator => format!("{line}.{discriminator}"),
    }
}

struct Counts {
    tops: BTreeMap<String, Body>,
}

impl Counts {
    fn new(profile: &SymbolizedProfile) -> Self {
        let executions = profile.column("instructions");
        let rounded = profile.rounded();
        let values = rounded.column(executions.unwrap_or(0));
        let mut of_places: BTreeMap<LocationId, u128> = BTreeMap::new();
        let mut calls: BTreeMap<(LocationId, FunctionId), u128> = BTreeMap::new();
        for (sample, &value) in profile.samples().iter().zip(values) {
            let Some(&place) = sample.stack.first() else {
                continue;
            };
            *of_places.entry(place).or_insert(0) += u128::from(value);
            if let Some(call) = call(profile, sample) {
                *calls.entry(call).or_insert(0) += u128::from(value);
            }
        }
        let mut counts = Self {
            tops: BTreeMap::new(),
        };
        let mut names = FxHashMap::default();
        for (place, count) in of_places {
            let copies = profile.location(place).frames.first().map_or(1, copies);
            let count = match executions {
                Some(_) => count * copies,
                None => count,
            };
            counts.count(profile, &mut names, place, count, executions.is_some());
        }
        if executions.is_some() {
            for ((site, callee), count) in calls {
                let target = name(profile, &mut names, callee);
                if let Some((body, offset)) = counts.place(profile, &mut names, site) {
                    let line = body.lines.entry(offset).or_default();
                    *line.targets.entry(target).or_insert(0) += count;
                }
            }
        }
        counts
    }

    fn count(
        &mut self,
        profile: &SymbolizedProfile,
        names: &mut FxHashMap<FunctionId, String>,
        place: LocationId,
        count: u128,
        executions: bool,
    ) {
        let location = profile.location(place);
        let Some((body, offset)) = self.place(profile, names, place) else {
            return;
        };
        if count > 0 {
            let line = body.lines.entry(offset).or_default();
            line.count = if executions {
                line.count.max(count)
            } else {
                line.count + count
            };
        }
        let Some(outer) = location.frames.last() else {
            return;
        };
        if executions && location.address == profile.function(outer.function).entry {
            let top = name(profile, names, outer.function);
            if let Some(body) = self.tops.get_mut(&top) {
                body.head = body.head.max(count);
            }
        }
    }

    /// The body of the innermost function at a location, and the line in it.
    fn place(
        &mut self,
        profile: &SymbolizedProfile,
        names: &mut FxHashMap<FunctionId, String>,
        place: LocationId,
    ) -> Option<(&mut Body, Offset)> {
        let location = profile.location(place);
        if !has_lines(profile, location) {
            return None;
        }
        let (outer, inlined) = location.frames.split_last()?;
        let top = name(profile, names, outer.function);
        let mut body = self.tops.entry(top).or_default();
        let mut offset = offset(profile, outer);
        for frame in inlined.iter().rev() {
            let callee = name(profile, names, frame.function);
            body = body.inlined.entry((offset, callee)).or_default();
            offset = self::offset(profile, frame);
        }
        Some((body, offset))
    }
}

/// Whether all frames have names and lines, and the instruction is the program's own.
fn has_lines(profile: &SymbolizedProfile, location: &Location) -> bool {
    let known = |frame: &Frame| {
        let function = profile.function(frame.function);
        let named = !function.name.is_empty() || !function.linkage_name.is_empty();
        named && frame.line > 0 && function.line > 0
    };
    location.disepc == 0 && location.frames.iter().all(known)
}

/// LLVM keeps 16 bits of the distance, also of a line before the function's first one.
fn offset(profile: &SymbolizedProfile, frame: &Frame) -> Offset {
    let first = profile.function(frame.function).line;
    (
        frame.line.wrapping_sub(first) & 0xffff,
        component(frame.discriminator),
    )
}

/// The first number that a discriminator packs: seven bits or fourteen with a mark in the lowest, or a one for 0.
fn component(packed: u32) -> u32 {
    if packed & 1 == 1 {
        return 0;
    }
    let bits = packed >> 1;
    match bits & 0x20 {
        0 => bits & 0x1f,
        _ => (bits >> 1) & 0xfe0 | bits & 0x1f,
    }
}

/// How often the code of a frame was copied: the second number of its discriminator.
fn copies(frame: &Frame) -> u128 {
    let packed = frame.discriminator;
    let rest = match (packed & 1, packed & 0x40) {
        (1, _) => packed >> 1,
        (_, 0) => packed >> 7,
        _ => packed >> 14,
    };
    u128::from(component(rest)).max(1)
}

/// Call site and callee of a sample at a function's first instruction.
fn call(profile: &SymbolizedProfile, sample: &Sample) -> Option<(LocationId, FunctionId)> {
    let (&place, &site) = (sample.stack.first()?, sample.stack.get(1)?);
    let location = profile.location(place);
    let outer = location.frames.last()?;
    let entry = profile.function(outer.function).entry;
    (location.disepc == 0 && location.address == entry).then_some((site, outer.function))
}

/// The linkage name. What would break the line becomes `_`: white space, control characters, and a
/// first character that the reader takes for a number, a comment or metadata.
fn name(
    profile: &SymbolizedProfile,
    names: &mut FxHashMap<FunctionId, String>,
    id: FunctionId,
) -> String {
    let make = || {
        let name = profile.function(id).linkage_label();
        let breaks = |letter: char| letter.is_control() || letter.is_whitespace();
        let name: String = name
            .chars()
            .map(|letter| if breaks(letter) { '_' } else { letter })
            .collect();
        match name.starts_with(|first: char| first.is_ascii_digit() || "#!:[".contains(first)) {
            true => format!("_{name}"),
            false => name,
        }
    };
    names.entry(id).or_insert_with(make).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolized::{Builder, Column, Function, Header};

    #[test]
    fn discriminators_unpack_as_llvm_packs_them() {
        // By hand, from LLVM's `encodeComponent`: 0 is the bit 1; n below 32 is n << 1 in 7 bits; a greater n has its
        // upper bits above a 1 in bit 5. Base 2, no factor: 2 << 1.
        assert_eq!(component(4), 2);
        // Base 33 = 1 * 32 + 1: 1 | 0x20 | 1 << 6 is 0x61, shifted by one 0xc2.
        assert_eq!(component(0xc2), 33);
        // Base 0, factor 4: a 1, then 4 << 1.
        assert_eq!(component(0b10001), 0);
        let mut builder = Builder::new(Header::default(), vec![Column::new("samples", "count")]);
        let function = builder.function(Function::default());
        let frame = |discriminator| Frame {
            discriminator,
            ..Frame::new(function, 1)
        };
        assert_eq!(copies(&frame(0b10001)), 4);
        // Base 2 takes seven bits; behind them factor 3.
        assert_eq!(copies(&frame(4 | 6 << 7)), 3);
        // Base 33 takes fourteen.
        assert_eq!(copies(&frame(0xc2 | 6 << 14)), 3);
        assert_eq!(copies(&frame(0)), 1);
    }
}
