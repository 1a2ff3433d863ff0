//! Profiles of shadows with names, for the formats of other tools.

use std::collections::HashMap;

use hps_profile::symbolized::{
    self as profile, Builder, Column, Frame, Function, FunctionId, Header, Module,
    SymbolizedProfile,
};
use hps_shim::symbols::Symbolizer;

use crate::found::Thread;
use crate::profiles::Profiles;

/// Instructions executed, by block of code and thread: a block stands at its first instruction, with that one's line.
/// Without `threads`, threads are not told apart.
#[must_use]
pub fn symbolized(
    profiles: &Profiles,
    threads: &[Thread],
    symbols: &mut Symbolizer,
    header: Header,
) -> SymbolizedProfile {
    let columns = vec![
        Column::new("executed", "instructions"),
        Column::new("blocks", "count"),
    ];
    let mut builder = Builder::new(header, columns);
    let mut functions: HashMap<u64, FunctionId> = HashMap::new();
    let mut blocks: Vec<_> = match threads {
        [] => profiles.blocks.iter().map(|block| (None, block)).collect(),
        _ => Vec::new(),
    };
    for thread in threads {
        let id = builder.thread(profile::Thread {
            id: thread.number.into(),
            name: thread.name.clone(),
        });
        blocks.extend(thread.blocks.iter().map(|block| (Some(id), block)));
    }
    blocks.sort_unstable_by_key(|(_, (place, _))| **place);
    for (thread, (&(start, _), entered)) in blocks {
        let place = symbols.resolve(start);
        let line = place.line.as_ref().map_or(0, |(_, line)| *line);
        let function = *functions.entry(place.entry).or_insert_with(|| {
            let module = place.module.as_ref().map(|path| {
                builder.module(Module {
                    name: path.clone(),
                    build_id: place.build_id.clone().unwrap_or_default(),
                })
            });
            let code = symbols.code(place.entry);
            let (file, line) = symbols.resolve(place.entry).line.unwrap_or_default();
            builder.function(Function {
                name: place.to_string(),
                linkage_name: code.map(|code| code.linkage_name).unwrap_or_default(),
                file,
                line,
                entry: place.entry,
                module: module.unwrap_or_default(),
                ..Function::default()
            })
        });
        let location = builder.location(start, 0, &[Frame::new(function, line)]);
        let instructions = entered.count * u64::from(entered.instructions);
        builder.add(thread, &[location], &[instructions, entered.count]);
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::Entered;

    #[inline(never)]
    fn busy() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn blocks_are_instructions_of_their_functions() {
        let entry = busy as fn() -> u64 as usize as u64;
        let mut profiles = Profiles::default();
        // Two blocks of the function, 3 and 2 instructions long, and one of no file.
        for (start, count, instructions) in [(entry, 10, 3), (entry + 1, 4, 2), (16, 5, 1)] {
            let entered = Entered {
                count,
                instructions,
            };
            profiles.blocks.insert((start, start), entered);
        }
        let mut symbols = Symbolizer::of_process(std::process::id()).unwrap();
        let profile = symbolized(&profiles, &[], &mut symbols, Header::default());
        assert_eq!(profile.total(0), 10 * 3 + 4 * 2 + 5);
        assert_eq!(profile.total(1), 10 + 4 + 5);
        let names: Vec<_> = profile
            .functions()
            .iter()
            .map(|function| (function.name.as_str(), function.entry))
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(names[0], ("0x10", 16));
        assert!(
            names[1].0.ends_with("busy") && names[1].1 == entry,
            "{names:?}"
        );
        assert!(!profile.functions()[1].module.is_empty());
        let thread = Thread {
            number: 7,
            name: "worker".to_owned(),
            blocks: profiles.blocks.clone(),
            ..Thread::default()
        };
        let profile = symbolized(&profiles, &[thread], &mut symbols, Header::default());
        assert_eq!(profile.total(0), 10 * 3 + 4 * 2 + 5);
        assert_eq!(profile.threads()[0].name, "worker");
    }
}
