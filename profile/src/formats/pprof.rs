//! pprof's `profile.proto`, compressed with gzip.
//!
//! All columns are sample types, the main one the default. A location holds its inlined frames; an
//! instruction of DISE is a location of its own with the address of its trigger. An address of which
//! no function is known has a function of its own that is called by the address, since some readers
//! drop locations without one. Read by `go tool pprof`, and by many viewers.

use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use prost::Message;

use super::stack::{Texts, cycle_ns, origin};
use crate::symbolized::{self, SymbolizedProfile};

pub(super) mod proto;

use proto::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    // Without a time in the header, so that equal profiles are equal files.
    let mut zipped = GzBuilder::new().write(output, Compression::default());
    zipped.write_all(&message(profile).encode_to_vec())?;
    zipped.finish()?;
    Ok(())
}

/// Whether a file is a pprof file that says that the lab wrote it. Reads at most [`MOST_READ`] bytes of it, unpacked.
pub fn is_of_lab(file: impl Read) -> bool {
    let mark = b"hps version: ";
    let mut unpacked = GzDecoder::new(file).take(MOST_READ);
    let mut seen = Vec::new();
    loop {
        let kept = seen.len().saturating_sub(mark.len());
        seen.drain(..kept);
        match unpacked.by_ref().take(1 << 16).read_to_end(&mut seen) {
            Ok(read) if read > 0 => {}
            _ => return false,
        }
        if seen.windows(mark.len()).any(|window| window == mark) {
            return true;
        }
    }
}

/// Bytes that are looked through for the lab's mark.
const MOST_READ: u64 = 256 << 20;

fn message(profile: &SymbolizedProfile) -> Profile {
    // Text 0 is the empty one by definition.
    let mut texts = Texts::default();
    texts.place("");
    let columns = profile.columns().iter();
    let sample_type: Vec<ValueType> = columns
        .map(|column| ValueType {
            kind: text(&mut texts, &column.name),
            unit: text(&mut texts, &column.unit),
        })
        .collect();
    let mut message = Profile {
        sample: samples(profile, &mut texts),
        default_sample_type: sample_type[0].kind,
        period_type: Some(sample_type[0].clone()),
        period: 1,
        sample_type,
        duration_nanos: duration(profile),
        ..Profile::default()
    };
    let names = modules(profile);
    message.location = locations(profile, &names);
    message.mapping = mappings(profile, &names, &mut texts);
    message.function = functions(profile, &mut texts);
    message.comment = origin(profile)
        .iter()
        .map(|line| text(&mut texts, line))
        .collect();
    message.string_table = texts.into_all();
    message
}

fn text(texts: &mut Texts, text: &str) -> i64 {
    texts.place(text) as i64
}

/// Ids count from 1; 0 means none.
fn id(place: usize) -> u64 {
    place as u64 + 1
}

fn samples(profile: &SymbolizedProfile, texts: &mut Texts) -> Vec<Sample> {
    let rounded = profile.rounded();
    let mut samples = Vec::with_capacity(profile.samples().len());
    for (place, sample) in profile.samples().iter().enumerate() {
        let mut label = Vec::new();
        if let Some(thread) = sample.thread {
            let thread = &profile.threads()[thread.index()];
            if !thread.name.is_empty() {
                label.push(Label {
                    key: text(texts, "thread"),
                    str: text(texts, &thread.name),
                    ..Label::default()
                });
            }
            label.push(Label {
                key: text(texts, "thread_id"),
                num: signed(thread.id),
                ..Label::default()
            });
        }
        samples.push(Sample {
            location_id: sample.stack.iter().map(|place| id(place.index())).collect(),
            value: rounded.sample(place).map(signed).collect(),
            label,
        });
    }
    samples
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The program first, then each module.
fn mappings(profile: &SymbolizedProfile, names: &[&str], texts: &mut Texts) -> Vec<Mapping> {
    let build_id = |name: &str| {
        let module = profile.modules().iter().find(|module| module.name == name);
        module.map_or("", |module| &module.build_id)
    };
    let of = |(place, name): (usize, &str)| Mapping {
        id: id(place),
        filename: text(texts, name),
        build_id: match place {
            0 => text(texts, &profile.header().program_hash),
            _ => text(texts, build_id(name)),
        },
        // pprof must not look for the names itself.
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
        has_inline_frames: true,
        ..Mapping::default()
    };
    let mut mappings: Vec<Mapping> = names.iter().copied().enumerate().map(of).collect();
    for location in profile.locations() {
        let place = module_of(profile, location, names);
        let (address, mapping) = (location.address, &mut mappings[place]);
        let empty = mapping.memory_limit == 0;
        mapping.memory_start = if empty {
            address
        } else {
            mapping.memory_start.min(address)
        };
        mapping.memory_limit = mapping.memory_limit.max(address.saturating_add(1));
    }
    mappings
}

/// The program, and each module of a function.
fn modules(profile: &SymbolizedProfile) -> Vec<&str> {
    let mut names = vec![profile.header().program.as_str()];
    for function in profile.functions() {
        if !function.module.is_empty() && !names.contains(&function.module.as_str()) {
            names.push(&function.module);
        }
    }
    names
}

/// The place among the modules of that around a location. Code of one may lie between pieces of another one.
fn module_of(
    profile: &SymbolizedProfile,
    location: &symbolized::Location,
    names: &[&str],
) -> usize {
    let outermost = location.frames.last();
    let module = outermost.map_or("", |frame| profile.function(frame.function).module.as_str());
    names.iter().position(|name| *name == module).unwrap_or(0)
}

fn locations(profile: &SymbolizedProfile, names: &[&str]) -> Vec<Location> {
    let mut nameless = profile.functions().len();
    let mut locations = Vec::with_capacity(profile.locations().len());
    for (place, location) in profile.locations().iter().enumerate() {
        let frames = location.frames.iter();
        let mut line: Vec<Line> = frames
            .map(|frame| Line {
                function_id: id(frame.function.index()),
                line: i64::from(frame.line),
            })
            .collect();
        if line.is_empty() {
            line.push(Line {
                function_id: id(nameless),
                line: 0,
            });
            nameless += 1;
        }
        locations.push(Location {
            id: id(place),
            mapping_id: id(module_of(profile, location, names)),
            address: location.address,
            line,
            is_folded: false,
        });
    }
    locations
}

/// The functions of the profile, then one for each location without functions, in the order in
/// which [`locations`] numbers them.
fn functions(profile: &SymbolizedProfile, texts: &mut Texts) -> Vec<Function> {
    let of = |(place, function): (usize, &symbolized::Function)| Function {
        id: id(place),
        name: text(texts, &function.label()),
        system_name: text(texts, &function.linkage_label()),
        filename: text(texts, &function.file),
        start_line: i64::from(function.line),
    };
    let mut functions: Vec<Function> = profile.functions().iter().enumerate().map(of).collect();
    let locations = profile.locations().iter();
    for location in locations.filter(|location| location.frames.is_empty()) {
        let name = text(texts, &location.label());
        functions.push(Function {
            id: id(functions.len()),
            name,
            system_name: name,
            ..Function::default()
        });
    }
    functions
}

/// The length of the run, if the main column is one of time and the clock is known.
fn duration(profile: &SymbolizedProfile) -> i64 {
    let total = profile.rounded().total(0) as f64;
    match (
        profile.main_column().unit.as_str(),
        profile.header().clock_mhz,
    ) {
        ("nanoseconds", _) => total as i64,
        ("cycles", Some(_)) => (total * cycle_ns(profile)) as i64,
        _ => 0,
    }
}
