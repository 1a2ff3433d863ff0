//! Observers and shadows of dynamic programs: names and paths of code of all objects.

use std::fs;

use hps_profile::AnyProfileDocument;
use serde_json::Value;

use super::build::Isa;
use super::symbols::{readelf, root};

/// The words of the rows of a table that begin with a name.
fn rows<'a>(text: &'a str, name: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().map(|line| line.split_whitespace().collect());
    let all: Vec<Vec<&str>> = lines.collect();
    all.into_iter()
        .filter(|words| words.first() == Some(&name))
        .collect()
}

#[test]
fn observers_name_functions_of_libraries() {
    let (hps, root) = root(Isa::Riscv64);
    let program = ["--root", &root, "--", "/bin/symbols", "often"];
    let text = hps
        .run(&[&["shim", "simulate"][..], &program].concat())
        .expect_code(0);
    for name in ["libnames.so!shared_outer", "libnames.so!shared_leaf@plt"] {
        assert_eq!(rows(&text, name).len(), 1, "{name}: {text}");
    }
    let calls = ["shim", "simulate", "--calls", "pairs-8k"];
    let text = hps.run(&[&calls[..], &program].concat()).expect_code(0);
    let called = rows(&text, "libnames.so!shared_outer");
    let called: Vec<&str> = called.iter().map(|words| words[1]).collect();
    assert!(
        called.contains(&"libnames.so!hidden_helper"),
        "{called:?} {text}"
    );
}

/// `shared_outer` has a loop of 3000 turns: each is a path within a function of a library.
#[test]
fn shadows_number_paths_of_libraries() {
    for isa in Isa::BOTH {
        let (hps, root) = root(isa);
        let out = hps.path("shadows");
        let begin = ["shadow", "simulate", "--end-to-end", "--length", "100000"];
        let program = [
            "--out",
            &out,
            "--root",
            &root,
            "--",
            "/bin/symbols",
            "often",
        ];
        hps.run(&[&begin[..], &program].concat()).expect_code(0);
        let text = fs::read(format!("{out}/perfect/path.json")).expect("a profile");
        let document = AnyProfileDocument::read(&text[..]).expect("a document");
        let objects = &document.header().objects;
        let library = objects.iter().find(|o| o.name == "/lib/libnames.so");
        let bias = library.expect("the library").load_bias;
        let symbols = readelf(isa, &format!("{root}/lib/libnames.so"));
        let outer = symbols
            .iter()
            .find(|s| s.2 == "shared_outer")
            .expect("it")
            .0;
        let text: Value = serde_json::from_slice(&text).expect("JSON");
        let members = text["members"].as_array().expect("members").iter();
        let of_outer = members.filter(|m| {
            let from = m["member"]["from"].as_str().expect("an address");
            let from = u64::from_str_radix(from.trim_start_matches("0x"), 16);
            from.expect("an address") == bias + outer
        });
        let mut weights: Vec<u64> = of_outer
            .map(|m| m["weight"].as_u64().expect("it"))
            .collect();
        weights.sort_unstable();
        // Into the loop and out of it once, and 2999 turns of more than four instructions.
        assert!(weights.len() >= 2, "{isa:?}: {weights:?}");
        assert!(
            weights[weights.len() - 1] > 4 * 2999,
            "{isa:?}: {weights:?}"
        );
        assert!(weights[0] < 40, "{isa:?}: {weights:?}");
    }
}
