//! Each format read back by a small reader, on a sample whose numbers are known, and on profiles
//! that nobody would want. Readers of other projects are in `scripts/check-formats.sh`.

use std::io::Read;

use proptest::prelude::*;
use prost::Message;
use serde_json::Value;

use super::*;
use crate::symbolized::{Builder, Column, Frame, Function, Header, Marker, Module, Series, Thread};

#[path = "../../examples/formats/sample.rs"]
mod sample;

fn bytes(profile: &SymbolizedProfile, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(profile, format, &mut bytes).unwrap();
    bytes
}

fn text(profile: &SymbolizedProfile, format: Format) -> String {
    String::from_utf8(bytes(profile, format)).unwrap()
}

fn json(profile: &SymbolizedProfile, format: Format) -> Value {
    serde_json::from_slice(&bytes(profile, format)).unwrap()
}

fn pprof(profile: &SymbolizedProfile) -> pprof::proto::Profile {
    let mut plain = Vec::new();
    let zipped = bytes(profile, Format::Pprof);
    flate2::read::GzDecoder::new(&zipped[..])
        .read_to_end(&mut plain)
        .unwrap();
    pprof::proto::Profile::decode(&plain[..]).unwrap()
}

fn sum(value: &Value) -> u128 {
    let values = value.as_array().unwrap().iter();
    values
        .map(|value| u128::from(value.as_u64().unwrap()))
        .sum()
}

/// The length of a profile of opened and closed frames, which nest.
fn evented(profile: &Value) -> u128 {
    let (mut open, mut last) = (Vec::new(), 0);
    for event in profile["events"].as_array().unwrap() {
        let at = event["at"].as_u64().unwrap();
        assert!(at >= last, "time goes on");
        last = at;
        match event["type"].as_str().unwrap() {
            "O" => open.push(&event["frame"]),
            _ => assert_eq!(open.pop(), Some(&event["frame"])),
        }
    }
    assert!(open.is_empty() && profile["endValue"] == last);
    u128::from(last)
}

/// The main column's total as a reader of the format finds it.
fn total(profile: &SymbolizedProfile, format: Format) -> u128 {
    match format {
        Format::Pprof => {
            let samples = pprof(profile).sample;
            samples.iter().map(|sample| sample.value[0] as u128).sum()
        }
        Format::Firefox => {
            let read = json(profile, format);
            let threads = read["threads"].as_array().unwrap().iter();
            threads
                .map(|thread| sum(&thread["samples"]["weight"]))
                .sum()
        }
        Format::Speedscope => evented(&json(profile, format)["profiles"][0]),
        Format::Callgrind => {
            let read = text(profile, format);
            let mut own = 0;
            let mut of_call = false;
            for line in read.lines() {
                if line.starts_with("0x") && !of_call {
                    own += line.split(' ').nth(2).unwrap().parse::<u128>().unwrap();
                }
                of_call = line.starts_with("calls=");
            }
            let totals = read.lines().last().unwrap();
            let said: u128 = totals.split(' ').nth(1).unwrap().parse().unwrap();
            assert_eq!(said, own);
            own
        }
        Format::Folded => {
            let read = text(profile, format);
            let values = read.lines().map(|line| line.rsplit_once(' ').unwrap().1);
            values.map(|value| value.parse::<u128>().unwrap()).sum()
        }
        Format::PerfScript | Format::PerfScriptAll => {
            let read = text(profile, format);
            let heads = read.lines().filter(|line| {
                !line.starts_with(['\t', '#']) && line.ends_with(&format!(" {MAIN}: "))
            });
            let period = |line: &str| line.rsplit(' ').nth(2).unwrap().parse::<u128>().unwrap();
            heads.map(period).sum()
        }
        Format::FlameGraph => {
            let read = text(profile, format);
            let line = read
                .lines()
                .find(|line| line.contains(&format!(">{MAIN}: ")));
            let said = line.unwrap().split(&format!(">{MAIN}: ")).nth(1).unwrap();
            said.split(' ').next().unwrap().parse().unwrap()
        }
        Format::LlvmSamples => {
            let read = text(profile, format);
            let tops = read.lines().filter(|line| !line.starts_with(' '));
            let total = |line: &str| line.rsplit(':').nth(1).unwrap().parse::<u128>().unwrap();
            tops.map(total).sum()
        }
    }
}

const MAIN: &str = "cycles";

#[test]
fn formats_are_found_by_name_and_by_path() {
    for (place, format) in Format::ALL.into_iter().enumerate() {
        assert_eq!(format as usize, place);
        assert_eq!(Format::from_name(format.name()), Some(format));
        let path = format!("a/b.c{}", format.extension());
        assert_eq!(Format::from_path(Path::new(&path)), Some(format));
        assert!(!format.description().contains('\n'));
    }
    let by_path = |path: &str| Format::from_path(Path::new(path));
    assert_eq!(by_path("callgrind.out.17"), Some(Format::Callgrind));
    assert_eq!(by_path("X.SVG"), Some(Format::FlameGraph));
    assert_eq!(by_path("profile.json"), None);
    assert_eq!(by_path(".."), None);
    assert_eq!(Format::from_name("svg"), None);
}

#[test]
fn every_format_has_the_profile_s_total() {
    let profile = sample::sample();
    for format in Format::ALL {
        // LLVM's counts are executions: 10 + 10 in main, 10 + 400 in work and add, 12 in fib. The
        // sample without lines and DISE's are left out, and so is line 13 without its own count.
        let expected = match format {
            Format::LlvmSamples => 10 + 10 + 400 + 12,
            _ => 2188,
        };
        assert_eq!(total(&profile, format), expected, "{format}");
    }
}

#[test]
fn folded_stacks_are_lines() {
    // Parts of 12: 1206 is 100.5, 18 is 1.5, 600 is 50, 24006 is 2000.5, 120 is 10, 250 is 20.83
    // and 60 is 5. Rounded down they are 2186; two are rounded up: 20.83, and of the three halves
    // the first one.
    assert_eq!(
        text(&sample::sample(), Format::Folded),
        "main;work<int>(char: \"<&>\");add 2000\n\
         main 102\n\
         main;work<int>(char: \"<&>\") 50\n\
         main;fib;fib;fib 21\n\
         main;fib 10\n\
         0x9000 5\n"
    );
}

#[test]
fn llvm_samples_nest_inlined_functions_and_name_calls() {
    assert_eq!(
        text(&sample::sample(), Format::LlvmSamples),
        "_Z4workIiEvc:410:10\n \
          0: 10\n \
          3: _Z3addi:400\n  \
           1: 400\n\
         fib:12:12\n \
          0: 12\n \
          2: 0 fib:4\n\
         main:10:0\n \
          1: 10\n \
          3: 0 _Z4workIiEvc:10\n \
          4: 0 fib:8\n"
    );
}

#[test]
fn without_executions_llvm_samples_are_sums() {
    let mut builder = Builder::new(Header::default(), vec![Column::new("samples", "count")]);
    let f = builder.function(Function {
        name: "f".into(),
        line: 5,
        entry: 0x10,
        ..Function::default()
    });
    for (address, line, discriminator) in [(0x10, 6, 0), (0x14, 6, 0), (0x18, 6, 4), (0x1c, 4, 0)] {
        let frame = Frame {
            function: f,
            line,
            discriminator,
        };
        let place = builder.location(address, 0, &[frame]);
        builder.add(None, &[place], &[7]);
    }
    // 4 is how clang writes discriminator 2. A line before the first one is 65535 lines behind it, as LLVM counts.
    assert_eq!(
        text(&builder.build(), Format::LlvmSamples),
        "f:28:0\n 1: 14\n 1.2: 7\n 65535: 7\n"
    );
}

#[test]
fn callgrind_counts_recursion_once() {
    let read = text(&sample::sample(), Format::Callgrind);
    // Functions come in the order of the builder. fib's own costs are 10 and 21 cycles at its
    // entry; its call of itself costs 21, although it is on the stack twice.
    let fib = read.split("fl=(3)").last().unwrap();
    assert!(fib.contains("0x1200 1 31 12 0\n"), "{read}");
    assert!(
        fib.contains("calls=4 0x1200 1\n0x1210 3 21 4 0\n"),
        "{read}"
    );
    // Inlined functions are called; misses are 1200 / 12.
    assert!(
        read.contains("calls=1 0x0 5\n0x1120 23 2000 400 100\n"),
        "{read}"
    );
    assert!(read.contains("events: cycles instructions l1d_miss_cycles\n"));
    assert!(read.ends_with("totals: 2188 447 100\n"), "{read}");
}

/// Code of the program lies below and above that of a library.
#[test]
fn pprof_has_a_mapping_with_a_build_id_for_each_module() {
    let mut builder = Builder::new(Header::default(), vec![Column::new(MAIN, "cycles")]);
    let library = Module {
        name: "/lib/libc.so.6".into(),
        build_id: "ab01".into(),
    };
    let modules = [
        String::new(),
        builder.module(library.clone()),
        String::new(),
    ];
    assert_eq!(builder.module(library), modules[1]);
    for (at, module) in (1..).zip(modules) {
        let function = builder.function(Function {
            name: format!("f{at}"),
            module,
            ..Function::default()
        });
        let place = builder.location(at * 0x1000, 0, &[Frame::new(function, 0)]);
        builder.add(None, &[place], &[at]);
    }
    let read = pprof(&builder.build());
    let mappings: Vec<u64> = read.location.iter().map(|place| place.mapping_id).collect();
    assert_eq!(mappings, [1, 2, 1]);
    let texts = read.mapping.iter().map(|mapping| {
        let text = |at: i64| read.string_table[at as usize].as_str();
        (text(mapping.filename), text(mapping.build_id))
    });
    let expected = [("", ""), ("/lib/libc.so.6", "ab01")];
    assert_eq!(texts.collect::<Vec<_>>(), expected);
}

#[test]
fn pprof_keeps_lines_inlined_frames_and_columns() {
    let read = pprof(&sample::sample());
    let name = |place: i64| read.string_table[place as usize].as_str();
    let columns: Vec<&str> = read
        .sample_type
        .iter()
        .map(|kind| name(kind.kind))
        .collect();
    assert_eq!(columns, ["cycles", "instructions", "l1d_miss_cycles"]);
    assert_eq!(read.string_table[0], "");
    let sample = &read.sample[3];
    assert_eq!(sample.value, [2000, 400, 100]);
    let location = &read.location[sample.location_id[0] as usize - 1];
    let lines: Vec<(&str, i64)> = location
        .line
        .iter()
        .map(|line| {
            let function = &read.function[line.function_id as usize - 1];
            (name(function.system_name), line.line)
        })
        .collect();
    assert_eq!(
        (location.address, lines),
        (0x1120, vec![("_Z3addi", 6), ("_Z4workIiEvc", 23)])
    );
    let nowhere = &read.location[read.sample[6].location_id[0] as usize - 1];
    let function = &read.function[nowhere.line[0].function_id as usize - 1];
    assert_eq!(name(function.name), "0x9000");
    assert_eq!(read.duration_nanos, 2188);
    assert_eq!(read.mapping.len(), 1);
    assert!(
        read.location
            .iter()
            .all(|location| location.mapping_id == 1)
    );
}

#[test]
fn perf_script_has_symbols_offsets_and_inlined_frames() {
    let read = text(&sample::sample(), Format::PerfScript);
    let first =
        "sample 1/1 [000] 0.000000000: 101 cycles: \n\t            1004 main+0x4 (sample)\n";
    assert!(read.contains(first), "{read}");
    assert!(read.contains("            1120 add (inlined)\n"), "{read}");
    assert!(
        read.contains("            9000 [unknown] (sample)\n"),
        "{read}"
    );
    assert!(!read.contains("l1d_miss_cycles"), "{read}");
    let all = text(&sample::sample(), Format::PerfScriptAll);
    assert!(all.starts_with(&read), "{all}");
    assert!(all.contains(" 100 l1d_miss_cycles: \n"), "{all}");
}

/// The names of all fields of a document, of the first member of each list, as paths. Data of
/// markers and what is on top of the format's minimum is left out.
fn fields(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields_of) => {
            for (name, value) in fields_of {
                let path = format!("{path}.{name}");
                let optional = [".meta.extra", ".meta.importedFrom", ".meta.markerSchema"];
                if optional.contains(&path.as_str()) || path.ends_with(".threadCPUDelta") {
                    continue;
                }
                fields(value, &path, all);
                all.push(path);
            }
        }
        Value::Array(values) => {
            let of_tables = path.ends_with(".threads") || path.ends_with(".categories");
            if let Some(first) = values.first().filter(|_| of_tables) {
                fields(first, path, all);
            }
        }
        _ => {}
    }
}

#[test]
fn firefox_tables_are_those_of_the_published_crate() {
    use fxprof_processed_profile as fx;
    let start = fx::Timestamp::from_nanos_since_reference(0);
    let epoch = fx::ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let mut theirs = fx::Profile::new("p", epoch, fx::SamplingInterval::from_millis(1));
    let process = theirs.add_process("p", 1, start);
    theirs.add_thread(process, 1, start, true);
    let theirs = serde_json::to_value(&theirs).unwrap();
    let ours = json(&sample::sample(), Format::Firefox);
    let [mut wanted, mut found] = [Vec::new(), Vec::new()];
    fields(&theirs, "", &mut wanted);
    fields(&ours, "", &mut found);
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted);
    assert_eq!(
        ours["meta"]["preprocessedProfileVersion"],
        theirs["meta"]["preprocessedProfileVersion"]
    );
}

#[test]
fn firefox_has_lines_inlined_depths_phases_and_series() {
    let read = json(&sample::sample(), Format::Firefox);
    let thread = &read["threads"][0];
    for table in [
        "frameTable",
        "funcTable",
        "stackTable",
        "samples",
        "markers",
        "resourceTable",
    ] {
        let length = thread[table]["length"].as_u64().unwrap() as usize;
        for (name, column) in thread[table].as_object().unwrap() {
            if let Some(column) = column.as_array() {
                assert_eq!(column.len(), length, "{table}.{name}");
            }
        }
    }
    let stack = thread["samples"]["stack"][3].as_u64().unwrap() as usize;
    let frame = thread["stackTable"]["frame"][stack].as_u64().unwrap() as usize;
    let frames = &thread["frameTable"];
    assert_eq!(frames["line"][frame], 6);
    assert_eq!(frames["inlineDepth"][frame], 1);
    assert_eq!(frames["address"][frame], 0x1120);
    let function = frames["func"][frame].as_u64().unwrap() as usize;
    let name = thread["funcTable"]["name"][function].as_u64().unwrap() as usize;
    assert_eq!(thread["stringArray"][name], "add");
    // 101 + 1 + 50 cycles of a nanosecond go before the fourth sample.
    let deltas = thread["samples"]["timeDeltas"].as_array().unwrap();
    let before: f64 = deltas[..4].iter().filter_map(Value::as_f64).sum();
    assert!((before - 152e-6).abs() < 1e-9, "{before}");
    let markers = &thread["markers"];
    assert_eq!(markers["length"], 5);
    assert_eq!(markers["endTime"][1], 2188.0 / 1e6);
    assert_eq!(markers["data"][3]["value"], 2.25);
    assert_eq!(read["meta"]["markerSchema"][1]["graphs"][0]["key"], "value");
}

#[test]
fn threads_are_told_apart() {
    let mut builder = Builder::new(Header::default(), vec![Column::new("samples", "count")]);
    let place = builder.location(0x10, 0, &[]);
    for (id, value) in [(7, 3), (8, 5)] {
        let thread = builder.thread(Thread {
            id,
            name: format!("t{id}"),
        });
        builder.add(Some(thread), &[place], &[value]);
    }
    let profile = builder.build();
    let speedscope = json(&profile, Format::Speedscope);
    assert_eq!(speedscope["profiles"][2]["name"], "t8 (8)");
    assert_eq!(evented(&speedscope["profiles"][2]), 5);
    let firefox = json(&profile, Format::Firefox);
    assert_eq!(firefox["threads"][1]["name"], "t8");
    assert_eq!(sum(&firefox["threads"][1]["samples"]["weight"]), 5);
    let pprof = pprof(&profile);
    assert_eq!(pprof.sample[1].label[1].num, 8);
    assert!(text(&profile, Format::PerfScript).contains("t8 1/8 [000]"));
}

fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("a;b\nc\"<&>'\u{0}\u{1b}\u{2028}(1) x:3]]>".to_owned()),
        "[ -~\\n\\r\\t;:#()]{0,8}",
        any::<String>(),
    ]
}

fn hostile() -> impl Strategy<Value = SymbolizedProfile> {
    let sample = (
        prop::collection::vec((0u64..4, 0u32..2, 0usize..5), 0..4),
        prop_oneof![Just(0u64), 0u64..100, 0u64..1 << 50],
    );
    (
        prop::collection::vec(hostile_text(), 9),
        prop::collection::vec(sample, 0..12),
        0u32..13,
        prop::option::of(any::<f64>()),
    )
        .prop_map(|(texts, samples, denominator, clock_mhz)| {
            let header = Header {
                program: texts[0].clone(),
                program_hash: texts[1].clone(),
                version: texts[2].clone(),
                command: texts[3].clone(),
                clock_mhz,
                ..Header::default()
            };
            let columns = vec![
                Column::new(MAIN, texts[4].clone()).in_parts_of(denominator),
                Column::new(texts[5].clone(), ""),
            ];
            let mut builder = Builder::new(header, columns);
            let thread = builder.thread(Thread {
                id: 3,
                name: texts[6].clone(),
            });
            for (stack, value) in samples {
                let places: Vec<_> = stack
                    .into_iter()
                    .map(|(address, disepc, kind)| {
                        builder.location_with(address, disepc, |builder| {
                            let function = Function {
                                name: texts[kind].clone(),
                                linkage_name: texts[8].clone(),
                                file: texts[7].clone(),
                                line: kind as u32,
                                entry: address / 2,
                                module: texts[kind / 2].clone(),
                                ..Function::default()
                            };
                            let id = builder.function(function);
                            vec![Frame::new(id, address as u32); kind % 3]
                        })
                    })
                    .collect();
                builder.add((value % 2 == 0).then_some(thread), &places, &[value, 1]);
            }
            builder.marker(Marker {
                name: texts[1].clone(),
                start: 3,
                end: u64::MAX,
            });
            builder.series(Series {
                name: texts[2].clone(),
                unit: texts[3].clone(),
                points: vec![(0, 1.0), (7, f64::NAN)],
            });
            builder.build()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_name_breaks_a_format(profile in hostile()) {
        let wanted = profile.rounded().total(0);
        for format in Format::ALL {
            let found = total(&profile, format);
            // Without lines there is nothing to tell a compiler.
            if format != Format::LlvmSamples {
                prop_assert_eq!(found, wanted, "{}", format);
            }
        }
        let svg = text(&profile, Format::FlameGraph);
        let controls = svg.chars().filter(|&letter| letter.is_control() && letter != '\n').count();
        prop_assert_eq!(controls, 0);
        prop_assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
    }
}

#[test]
fn empty_profiles_are_written() {
    let empty = || Builder::new(Header::default(), vec![Column::new(MAIN, "cycles")]);
    let mut zero = empty();
    zero.add(None, &[], &[0]);
    let mut stackless = empty();
    stackless.add(None, &[], &[5]);
    for (profile, wanted) in [
        (empty().build(), 0),
        (zero.build(), 0),
        (stackless.build(), 5),
    ] {
        for format in Format::ALL {
            let wanted = if format == Format::LlvmSamples {
                0
            } else {
                wanted
            };
            assert_eq!(total(&profile, format), wanted, "{format}");
        }
    }
}
