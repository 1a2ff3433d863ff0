//! Names of all code of dynamic programs: libraries, stubs, opened and closed objects, code that was made, and other
//! programs of a run; beside what binutils say of the same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::build::{Isa, build_dynamic};
use super::dynamic::root_of_libraries;
use super::support::Hps;

/// A root folder with the program `/bin/symbols` and its libraries.
pub(super) fn root(isa: Isa) -> (Hps, String) {
    let (hps, root) = root_of_libraries(isa);
    let library = |source: &str, name: &str, flags: &[&str]| {
        let soname = format!("-Wl,-soname,{name}");
        let own = ["-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id", &soname];
        let built = build_dynamic(isa, source, &[&own, flags].concat());
        fs::copy(&built, format!("{root}/lib/{name}")).unwrap();
        built
    };
    let names = library("symbols_names.c", "libnames.so", &[]);
    library("symbols_opened.c", "libfirst.so", &["-DNAME=first_opened"]);
    library("symbols_opened.c", "libother.so", &["-DNAME=other_opened"]);
    // GCC takes a file for its input whose name ends as this one does.
    let names = format!("-Wl,{names}");
    let flags = ["-g", "-O1", "-pie", "-fPIE", &names, "-ldl"];
    let program = build_dynamic(isa, "symbols.c", &flags);
    fs::copy(program, format!("{root}/bin/symbols")).unwrap();
    (hps, root)
}

/// The profile of the program as JSON, and what is printed for people.
fn profile(hps: &Hps, root: &str, options: &[&str], arguments: &[&str]) -> (Value, String) {
    let file = hps.path("profile.json");
    let json = format!("--json={file}");
    let begin = ["profile", "--top", "1000", "--root", root, &json];
    let run = hps.run(&[&begin[..], options, &["--", "/bin/symbols"], arguments].concat());
    let printed = run.expect_code(0);
    let text = fs::read(&file).expect("a profile");
    (serde_json::from_slice(&text).expect("JSON"), printed)
}

fn functions(document: &Value) -> &Vec<Value> {
    document["functions"].as_array().expect("functions")
}

/// How often each function of a name was called, by the file that holds it.
fn calls(document: &Value, name: &str) -> BTreeMap<String, u64> {
    let named = functions(document).iter().filter(|f| f["name"] == name);
    let of = |f: &Value| {
        let object = f["object"].as_str().unwrap_or("");
        (object.to_owned(), f["calls"].as_u64().expect("a number"))
    };
    named.map(of).collect()
}

fn called(document: &Value, name: &str, object: &str, times: u64) {
    let expected = BTreeMap::from([(object.to_owned(), times)]);
    assert_eq!(calls(document, name), expected, "{name}");
}

fn tool(isa: Isa, name: &str, arguments: &[&str]) -> String {
    let tool = format!("{}-{name}", isa.prefix());
    let output = Command::new(&tool).args(arguments).output();
    let output = output.unwrap_or_else(|cause| panic!("{tool}: {cause}; ./test.sh installs it"));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Address, size and name of each function and label that `readelf` knows.
pub(super) fn readelf(isa: Isa, file: &str) -> Vec<(u64, u64, String)> {
    let text = tool(isa, "readelf", &["-sW", file]);
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, addr, size, kind, .., place, name] = words[..] else {
            return None;
        };
        // Code in assembly may be a label without type and size.
        let is_function = matches!(kind, "FUNC" | "IFUNC" | "NOTYPE") && place != "UND";
        let size = match size.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => size.parse(),
        };
        let name = name.split('@').next().unwrap_or(name).to_owned();
        let addr = u64::from_str_radix(addr, 16).ok()?;
        is_function.then_some((addr, size.ok()?, name))
    };
    text.lines().filter_map(row).collect()
}

/// The program calls `shared_leaf` 100 times and `shared_outer` once, which calls it 50 times and its helper as often;
/// and `a64l`, which nothing else calls, 30 times.
#[test]
fn functions_of_libraries_have_their_names_and_calls() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        for options in [&["--core", "instruction"][..], &[]] {
            let (document, text) = profile(&hps, &root, options, &[]);
            called(&document, "shared_leaf", "/lib/libnames.so", 150);
            called(&document, "shared_outer", "/lib/libnames.so", 1);
            called(&document, "hidden_helper", "/lib/libnames.so", 50);
            let libc = calls(&document, "a64l");
            let libc: Vec<(&String, &u64)> = libc.iter().collect();
            assert!(
                matches!(libc[..], [(object, 30)] if object.starts_with("/lib/libc.so.6")),
                "{libc:?}"
            );
            if isa == Isa::Riscv64 {
                // Each call of another object goes through a stub of the own one.
                let stubs = calls(&document, "shared_leaf@plt");
                let expected = [("/bin/symbols", 100), ("/lib/libnames.so", 50)];
                let expected = expected.map(|(object, times)| (object.to_owned(), times));
                assert_eq!(stubs, BTreeMap::from(expected));
            }
            let has_row = |name: &str, object: &str| {
                let mut lines = text.lines();
                lines.any(|line| line.ends_with(object) && line.contains(&format!(" {name} ")))
            };
            assert!(has_row("shared_leaf", "libnames.so"), "{text}");
            assert!(text.contains("\nobjects, of "), "{text}");
            assert!(text.contains("symbols_names.c:2"), "{text}");
        }
    }
}

/// Each name is one that `readelf` has at the address, and what has no name has no symbol.
#[test]
fn names_are_those_of_readelf() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let (document, _) = profile(&hps, &root, &["--core", "instruction"], &[]);
        let objects = document["objects"].as_array().expect("objects");
        let mut seen = 0;
        for object in objects {
            let Some(path) = object["name"].as_str() else {
                continue;
            };
            let file = format!("{root}{path}");
            let bias = object["load_bias"].as_str().expect("a number");
            let bias = u64::from_str_radix(bias.trim_start_matches("0x"), 16).unwrap();
            let symbols = readelf(isa, &file);
            let notes = tool(isa, "readelf", &["-nW", &file]);
            if let Some(id) = object["build_id"].as_str() {
                assert!(notes.contains(id), "{path}: {id}: {notes}");
            }
            let own = functions(&document).iter();
            for function in own.filter(|f| f["object"] == path) {
                let name = function["name"].as_str().expect("a name");
                let entry = function["entry"].as_str().expect("an address");
                let entry = u64::from_str_radix(entry.trim_start_matches("0x"), 16).unwrap();
                let entry = entry - bias;
                seen += 1;
                if name.starts_with("sub_") {
                    let holds = |(addr, size, _): &&(u64, u64, String)| {
                        entry.wrapping_sub(*addr) < (*size).max(1)
                    };
                    assert_eq!(symbols.iter().find(holds), None, "{path}: {name}");
                } else if !name.ends_with("@plt") {
                    let mut at = symbols.iter().filter(|symbol| symbol.0 == entry);
                    assert!(
                        at.any(|symbol| symbol.2 == name),
                        "{path}: {name} at {entry:#x}"
                    );
                }
            }
        }
        assert!(seen > 40, "{seen} functions");
    }
}

/// Without its symbol table a library has the names that the loader needs; with the debug information of its build below
/// the root, all names and lines.
#[test]
fn separate_debug_information_under_the_root_is_found() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let library = format!("{root}/lib/libnames.so");
        let debug = hps.path("libnames.debug");
        tool(isa, "objcopy", &["--only-keep-debug", &library, &debug]);
        tool(isa, "strip", &["--strip-all", &library]);
        let quick = ["--core", "instruction"];
        let (document, _) = profile(&hps, &root, &quick, &[]);
        called(&document, "shared_leaf", "/lib/libnames.so", 150);
        assert_eq!(calls(&document, "hidden_helper"), BTreeMap::new());
        let object = |document: &Value| {
            let objects = document["objects"].as_array().expect("objects").iter();
            let mut own = objects.filter(|o| o["name"] == "/lib/libnames.so");
            own.next().cloned().expect("the library")
        };
        let bare = object(&document);
        assert!(bare["nameless_instructions"].as_u64() > Some(0), "{bare}");
        let id = bare["build_id"].as_str().expect("an id");
        let folder = format!("{root}/usr/lib/debug/.build-id/{}", &id[..2]);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(&debug, format!("{folder}/{}.debug", &id[2..])).unwrap();
        let (document, text) = profile(&hps, &root, &quick, &[]);
        called(&document, "hidden_helper", "/lib/libnames.so", 50);
        assert_eq!(object(&document)["nameless_instructions"], 0);
        assert!(text.contains("symbols_names.c:"), "{text}");
    }
}

/// The library `libother.so` comes where `libfirst.so` was: the later one has the names, and a note says so.
#[test]
fn objects_that_are_opened_and_closed_have_names() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let quick = ["--core", "instruction"];
        let (document, text) = profile(&hps, &root, &quick, &["close"]);
        called(&document, "first_opened", "/lib/libfirst.so", 7);
        assert!(!text.contains(" lay before"), "{text}");
        let (document, text) = profile(&hps, &root, &quick, &["open"]);
        called(&document, "other_opened", "/lib/libother.so", 7 + 5);
        assert!(
            text.contains("note: /lib/libother.so lay where /lib/libfirst.so lay before"),
            "{text}"
        );
    }
}

#[test]
fn code_that_a_program_makes_has_the_names_that_it_tells() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let options = ["--core", "instruction", "--writable=scratch"];
        let (document, _) = profile(&hps, &root, &options, &["make"]);
        called(&document, "made by a compiler", "/tmp/perf-1000.map", 9);
        called(&document, "dumped_function", "/tmp/jit-1000.dump", 11);
        assert!(!Path::new(&format!("{root}/tmp/perf-1000.map")).exists());
    }
}

/// The second program is the child that `fork` makes, the third one what it executes.
#[test]
fn each_program_of_a_run_has_its_objects() {
    let (hps, root) = root(Isa::Riscv64);
    let (first, _) = profile(&hps, &root, &[], &["fork"]);
    assert_eq!(calls(&first, "shared_leaf"), BTreeMap::new());
    called(&first, "main", "/bin/symbols", 1);
    let (third, text) = profile(&hps, &root, &["--process", "3"], &["fork"]);
    called(&third, "shared_leaf", "/lib/libnames.so", 150);
    assert!(text.contains("this is program 3 of the 3"), "{text}");
}

#[test]
fn exports_tell_objects() {
    let (hps, root) = root(Isa::Riscv64);
    let files = ["callgrind.out", "perf.txt"].map(|name| hps.path(name));
    let exports = [
        format!("--export=callgrind:{}", files[0]),
        format!("--export=perf-script:{}", files[1]),
    ];
    let options = ["--core", "instruction", &exports[0], &exports[1]];
    profile(&hps, &root, &options, &[]);
    let [callgrind, perf] = files.map(|file| fs::read_to_string(file).expect("a file"));
    assert!(callgrind.contains(") /lib/libnames.so\n"), "no object");
    let line = perf.lines().find(|line| line.contains(" shared_leaf+"));
    let line = line.expect("the function");
    assert!(line.ends_with("(/lib/libnames.so)"), "{line}");
}
