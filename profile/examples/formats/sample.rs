//! A small profile that has everything a format must cope with.

use hps_profile::symbolized::{
    Builder, Column, Frame, Function, Header, Marker, Series, SymbolizedProfile,
};

/// Inlined functions, recursion, an instruction of DISE, an address without symbol, names that
/// formats must escape, parts of cycles, phases and a value over time.
///
/// Cycles, in parts of 12, by stack (innermost first), instructions and cycles of misses:
///
/// | stack | cycles | instructions | misses |
/// | --- | --- | --- | --- |
/// | main | 1206 | 10 | 0 |
/// | main's call of work, DISE's second instruction there | 18 | 10 | 0 |
/// | work, first instruction | 600 | 10 | 0 |
/// | work with add inlined | 24006 | 400 | 1200 |
/// | fib | 120 | 8 | 0 |
/// | fib in fib | 250 | 4 | 0 |
/// | 0x9000 | 60 | 5 | 0 |
///
/// Together 26260 parts, which are 2188.33 cycles and round to 2188.
pub fn sample() -> SymbolizedProfile {
    let header = Header {
        program: "sample".into(),
        program_hash: "00ff".into(),
        version: "0.1.0".into(),
        machine: "hps-4wide".into(),
        core: "cycle".into(),
        command: "hps profile sample \"a b\"".into(),
        clock_mhz: Some(1000.0),
    };
    let columns = vec![
        Column::new("cycles", "cycles").in_parts_of(12),
        Column::new("instructions", "count"),
        Column::new("l1d_miss_cycles", "cycles").in_parts_of(12),
    ];
    let mut builder = Builder::new(header, columns);
    let mut function = |name: &str, linkage_name: &str, file: &str, line, entry, size| {
        builder.function(Function {
            name: name.into(),
            linkage_name: linkage_name.into(),
            file: file.into(),
            line,
            entry,
            size,
            module: String::new(),
        })
    };
    let main = function("main", "main", "main.c", 10, 0x1000, 0x40);
    let work = function(
        "work<int>(char; \"<&>\")",
        "_Z4workIiEvc",
        "src/work.cpp",
        20,
        0x1100,
        0x80,
    );
    let add = function("add", "_Z3addi", "src/work.cpp", 5, 0, 0);
    let fib = function("fib", "fib", "fib.c", 1, 0x1200, 0x40);
    let in_main = builder.location(0x1004, 0, &[Frame::new(main, 11)]);
    let call = builder.location(0x1010, 0, &[Frame::new(main, 13)]);
    let dise = builder.location(0x1010, 2, &[Frame::new(main, 13)]);
    let call_fib = builder.location(0x1018, 0, &[Frame::new(main, 14)]);
    let enter = builder.location(0x1100, 0, &[Frame::new(work, 20)]);
    let inlined = builder.location(0x1120, 0, &[Frame::new(add, 6), Frame::new(work, 23)]);
    let in_fib = builder.location(0x1200, 0, &[Frame::new(fib, 1)]);
    let again = builder.location(0x1210, 0, &[Frame::new(fib, 3)]);
    let nowhere = builder.location(0x9000, 0, &[]);
    builder.add(None, &[in_main], &[1206, 10, 0]);
    builder.add(None, &[dise], &[18, 10, 0]);
    builder.add(None, &[enter, call], &[600, 10, 0]);
    builder.add(None, &[inlined, call], &[24006, 400, 1200]);
    builder.add(None, &[in_fib, call_fib], &[120, 8, 0]);
    builder.add(None, &[in_fib, again, again, call_fib], &[250, 4, 0]);
    builder.add(None, &[nowhere], &[60, 5, 0]);
    for (name, start, end) in [("warm-up", 0, 500), ("steady", 500, 2188)] {
        builder.marker(Marker {
            name: name.into(),
            start,
            end,
        });
    }
    builder.series(Series {
        name: "instructions per cycle".into(),
        unit: String::new(),
        points: vec![(0, 0.5), (500, 2.25), (2188, 1.0)],
    });
    builder.build()
}
