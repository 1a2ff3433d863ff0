//! DCPI's samples of dynamic programs by object, and profiles of one library that lies at different addresses.

use std::collections::BTreeSet;
use std::fs;

use hps_profile::AnyProfileDocument;
use serde_json::Value;

use super::build::Isa;
use super::support::{Hps, Run};
use super::symbols::root;

/// Each cycle is a sample: no function that runs stays without one.
const EACH_CYCLE: [&str; 2] = ["--period", "1"];

fn collect(hps: &Hps, root: &str, options: &[&str], arguments: &[&str]) -> Run {
    let begin = ["dcpi", "collect", "--root", root];
    let words = [
        &begin[..],
        &EACH_CYCLE,
        options,
        &["--", "/bin/symbols"],
        arguments,
    ]
    .concat();
    hps.run(&words)
}

/// Samples of cycles that the collection has taken, as it says itself.
fn taken(run: Run) -> u64 {
    let (_, rest) = run.stderr.split_once("samples: ").expect(&run.stderr);
    let (number, _) = rest.split_once(" cycles").expect(&run.stderr);
    let number = number.replace(',', "").parse().expect("a number");
    run.expect_code(0);
    number
}

fn report(hps: &Hps, options: &[&str]) -> String {
    let begin = ["dcpi", "report", "--top", "100000"];
    hps.run(&[&begin[..], options].concat()).expect_code(0)
}

/// Samples and the rest of each line of a table.
fn rows(text: &str) -> Vec<(u64, String)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let samples = words.next()?.parse().ok()?;
        // Two shares.
        let rest: Vec<&str> = words.skip(2).collect();
        Some((samples, rest.join(" ")))
    };
    text.lines().filter_map(row).collect()
}

fn samples(rows: &[(u64, String)], name: &str) -> u64 {
    let own = rows.iter().filter(|(_, rest)| rest == name);
    own.map(|(samples, _)| samples).sum()
}

fn files(hps: &Hps, part: &str) -> usize {
    let folder = fs::read_dir(hps.path("dcpi-db/epoch-0001")).expect("an epoch");
    let names = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(part)).count()
}

#[test]
fn each_sample_belongs_to_an_object_and_procedures_of_libraries_are_analyzed() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let taken = taken(collect(&hps, &root, &[], &[]));
        let objects = rows(&report(&hps, &["--by-image"]));
        let sum: u64 = objects.iter().map(|(samples, _)| samples).sum();
        assert_eq!(sum, taken);
        for name in ["/bin/symbols", "/lib/libnames.so"] {
            assert!(samples(&objects, name) > 0, "{name}: {objects:?}");
        }
        let procedures = rows(&report(&hps, &[]));
        assert_eq!(procedures.iter().map(|(n, _)| n).sum::<u64>(), taken);
        assert!(samples(&procedures, "shared_leaf /lib/libnames.so") >= 150);
        let text = report(&hps, &["--as", "calc", "shared_outer"]);
        assert!(text.contains("Best-case"), "{text}");
        let text = report(&hps, &["--as", "summary"]);
        assert!(text.contains("Total tallied  100.0%"), "{text}");
        let text = report(&hps, &["--as", "annotate", "--program", "libnames.so"]);
        assert!(text.contains("symbols_names.c:2"), "{text}");
    }
}

/// The library lies elsewhere behind another one that is loaded first: its samples add up in one file, at the addresses
/// that its file says.
#[test]
fn samples_of_a_library_at_several_addresses_add_up() {
    let (hps, root) = root(Isa::Riscv64);
    let moved = ["--env", "LD_PRELOAD=/lib/libother.so"];
    let first = taken(collect(&hps, &root, &[], &[]));
    let leaf = |hps: &Hps| samples(&rows(&report(hps, &[])), "shared_leaf /lib/libnames.so");
    let once = leaf(&hps);
    let second = taken(collect(&hps, &root, &moved, &[]));
    let objects = rows(&report(&hps, &["--by-image"]));
    let sum: u64 = objects.iter().map(|(samples, _)| samples).sum();
    assert_eq!(sum, first + second);
    assert_eq!(files(&hps, "libnames_so-"), 1);
    assert!(leaf(&hps) >= once + 150);
    // A child process runs the program once more.
    let third = taken(collect(&hps, &root, &[], &["fork"]));
    let objects = rows(&report(&hps, &["--by-image"]));
    let sum: u64 = objects.iter().map(|(samples, _)| samples).sum();
    assert_eq!(sum, first + second + third);
    assert!(leaf(&hps) >= once + 300);
    assert_eq!(files(&hps, "symbols-"), 1);
}

/// `libother.so` comes where `libfirst.so` was: each has its own samples. Code that the program makes is unknown.
#[test]
fn samples_are_resolved_by_the_map_of_their_time() {
    let (hps, root) = root(Isa::Riscv64);
    collect(&hps, &root, &[], &["open"]).expect_code(0);
    let procedures = rows(&report(&hps, &[]));
    for name in [
        "first_opened /lib/libfirst.so",
        "other_opened /lib/libother.so",
    ] {
        assert!(samples(&procedures, name) > 0, "{name}: {procedures:?}");
    }
    let made = ["--new-epoch", "--writable=scratch"];
    let run = collect(&hps, &root, &made, &["make"]);
    assert!(
        run.stderr.contains("outside of all objects"),
        "{}",
        run.stderr
    );
    let unknown = report(&hps, &["--program", "unknown"]);
    assert!(
        samples(&rows(&unknown), "(no procedure) unknown") >= 20,
        "{unknown}"
    );
}

/// The table of the handler has no times, and is read where the map changes.
#[test]
fn samples_that_a_handler_counts_are_resolved_by_the_map_of_their_time() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let begin = ["dcpi", "collect", "--root", &root, "--charged"];
        let options = ["--period", "500", "--", "/bin/symbols", "often"];
        let run = hps.run(&[&begin[..], &options].concat());
        let counts = run.stderr.split_once("samples: ").expect(&run.stderr).1;
        let counts = ["kept", "evicted"].map(|what| {
            let words: Vec<&str> = counts.split_whitespace().collect();
            let at = words.iter().position(|word| word.starts_with(what));
            let number = words[at.expect("counts") - 1].replace(',', "");
            number.parse::<u64>().expect("a number")
        });
        run.expect_code(0);
        let procedures = rows(&report(&hps, &[]));
        let sum: u64 = procedures.iter().map(|(samples, _)| samples).sum();
        assert_eq!(sum, counts[0] + counts[1]);
        // 3000 calls of one, 2000 of the other, which lies where the first one was.
        let [first, other] = [
            "first_opened /lib/libfirst.so",
            "other_opened /lib/libother.so",
        ]
        .map(|name| samples(&procedures, name));
        assert!(
            other > 0 && first > other && first < 3 * other,
            "{isa:?}: {first} {other} {procedures:?}"
        );
    }
}

#[test]
fn an_object_that_has_changed_is_refused_by_name() {
    let (hps, root) = root(Isa::Riscv64);
    collect(&hps, &root, &[], &[]).expect_code(0);
    let library = format!("{root}/lib/libnames.so");
    fs::copy(format!("{root}/lib/libother.so"), &library).unwrap();
    let run = hps.run(&["dcpi", "report"]);
    assert_eq!(run.code, 2);
    let line = &run.stderr;
    assert!(
        line.contains("/lib/libnames.so") && line.contains("has changed"),
        "{line}"
    );
    report(&hps, &["--program", "symbols"]);
}

/// Calls of each callee of `hps collect`, by name, and the exhaustive profile.
fn collected(hps: &Hps, root: &str, kind: &str, options: &[&str]) -> (String, Value) {
    let file = hps.path("collected.json");
    let json = format!("--json={file}");
    let begin = [
        "collect", "--kind", kind, "--top", "10000", "--one-in", "1", "--root", root,
    ];
    let words = [&begin[..], &[&json], options, &["--", "/bin/symbols"]].concat();
    let text = hps.run(&words).expect_code(0);
    let document = fs::read(&file).expect("a profile");
    (text, serde_json::from_slice(&document).expect("JSON"))
}

/// A call of another object calls the stub, whose jump is a tail call: `shared_leaf` is called 100 times by a stub of the
/// program and 50 times by one of its own library.
#[test]
fn productions_count_calls_through_stubs() {
    let (hps, root) = root(Isa::Riscv64);
    let (_, document) = collected(&hps, &root, "call-pair", &["--tail-calls=yes"]);
    let members = |which: &str| {
        document[which]["members"]
            .as_array()
            .expect("members")
            .clone()
    };
    assert_eq!(
        members("sampled"),
        members("exhaustive"),
        "one event in one is all"
    );
    let objects = document["exhaustive"]["header"]["objects"]
        .as_array()
        .expect("objects");
    let bias = |name: &str| {
        let mut named = objects.iter().filter(|object| object["name"] == name);
        let object = named
            .next()
            .unwrap_or_else(|| panic!("{name}: {objects:?}"));
        hex(&object["load_bias"])
    };
    let leaf = bias("/lib/libnames.so") + symbol(&root, "shared_leaf");
    let all = members("exhaustive");
    let to_leaf = all.iter().filter(|m| hex(&m["member"]["target"]) == leaf);
    let mut weights: Vec<u64> = to_leaf.map(|m| m["weight"].as_u64().unwrap()).collect();
    weights.sort_unstable();
    // The loader jumps there when each stub is used first.
    assert_eq!(weights.iter().sum::<u64>(), 150, "{weights:?}");
    let (text, _) = collected(&hps, &root, "method", &[]);
    assert!(text.contains("libnames.so!shared_leaf"), "{text}");
}

/// The address of a function in the file of the library.
fn symbol(root: &str, name: &str) -> u64 {
    let file = format!("{root}/lib/libnames.so");
    let all = super::symbols::readelf(Isa::Riscv64, &file);
    all.iter().find(|s| s.2 == name).expect(name).0
}

fn hex(value: &Value) -> u64 {
    let text = value.as_str().expect("an address");
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// Two profiles of one library at different addresses have its members in common, by build id and offset.
#[test]
fn profiles_of_runs_at_different_addresses_compare() {
    let (hps, root) = root(Isa::Riscv64);
    let moved = ["--env", "LD_PRELOAD=/lib/libother.so"];
    let profiles = [&[][..], &moved].map(|options| {
        let (_, document) = collected(&hps, &root, "call-pair", options);
        document["exhaustive"].clone()
    });
    let read = |value: &Value| AnyProfileDocument::read(value.to_string().as_bytes()).unwrap();
    let [here, there] = profiles.each_ref().map(read);
    let own = |document: &AnyProfileDocument| {
        let objects = &document.header().objects;
        let library = objects.iter().find(|o| o.name == "/lib/libnames.so");
        library.expect("the library").load_bias
    };
    assert_ne!(own(&here), own(&there));
    // Calls out of the library, by the offset of the site and the weight: of both runs the same ones.
    let own_members = |value: &Value, bias: u64| {
        let members = value["members"].as_array().expect("members").iter();
        let of = |m: &Value| {
            let offset = hex(&m["member"]["site"]).wrapping_sub(bias);
            (offset < 0x2000).then(|| (offset, m["weight"].as_u64().unwrap()))
        };
        members.filter_map(of).collect::<BTreeSet<_>>()
    };
    let members = own_members(&profiles[0], own(&here));
    assert!(members.len() > 2, "{members:?}");
    assert_eq!(members, own_members(&profiles[1], own(&there)));
    let overlap = here.overlap_without_cut(&there).expect("one kind");
    // Without objects, members of libraries are others. Those of program and loader lie at the same addresses.
    let bare = profiles.each_ref().map(|value| {
        let mut value = value.clone();
        value["header"].as_object_mut().unwrap().remove("objects");
        read(&value)
    });
    let apart = bare[0].overlap_without_cut(&bare[1]).expect("one kind");
    assert!(overlap > apart + 0.1, "{overlap} {apart}");
}

/// A region begins at a function of a library, which is not there before the loader has mapped it.
#[test]
fn regions_begin_at_functions_of_libraries() {
    let (hps, root) = root(Isa::Riscv64);
    let run = |name: &str| {
        let options = ["run", "--root", &root, "--stats", "--from", name];
        hps.run(&[&options[..], &["--", "/bin/symbols"]].concat())
    };
    for name in ["shared_outer", "libnames.so!shared_outer"] {
        let run = run(name);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
    }
    let unknown = run("nowhere");
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    assert!(
        unknown.stderr.contains("or of a library"),
        "{}",
        unknown.stderr
    );
}
