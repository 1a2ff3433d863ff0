//! Programs compiled with profiles by clang.

use hps_system::image::{ProgramImage, SourceFrame};
use hps_workloads::clang::{Clang, ClangError, Profiled};
use serde_json::Value;

use crate::support::{Hps, left_out};

/// clang, which `test.sh` installs. None, with a word, where Debian has another version than the one that is known.
fn clang() -> Option<Clang> {
    match Clang::find() {
        Ok(clang) => Some(clang),
        Err(other @ ClangError::Version { .. }) => {
            left_out("programs compiled with profiles", &other.to_string());
            None
        }
        Err(missing) => panic!("{missing}"),
    }
}

/// The first line of a text in a source file behind another line, from 1.
fn line_behind(line: u32, file: &str, text: &str) -> u32 {
    let sources = hps_workloads::sources::of_program("netsimplex").expect("a program");
    let (_, source) = (sources.iter())
        .find(|(path, _)| *path == file)
        .expect("a file");
    let behind = (1..).zip(source.lines()).filter(|(at, _)| *at > line);
    let mut found = behind.filter(|(_, here)| here.contains(text));
    found.next().expect("a line").0
}

#[test]
fn frames_have_declarations_discriminators_and_places_of_inlined_calls() {
    let Some(clang) = clang() else {
        return;
    };
    let objects = clang.compile("netsimplex", Profiled::No).expect("compiled");
    let bytes = clang.link(&objects, None).expect("linked");
    let image = ProgramImage::parse(&bytes, "netsimplex").expect("a program");
    let outer = image
        .symbols
        .function_named("price_block")
        .expect("it is there");
    let addresses = (outer.addr..outer.addr + outer.size).step_by(2);
    let stacks: Vec<Vec<SourceFrame>> = addresses
        .map(|pc| image.symbols.source_frames(pc))
        .collect();
    let pricing = "src-guest/netsimplex/pricing.c";
    let declared = line_behind(0, pricing, "NOINLINE struct arc *price_block");
    let own = || stacks.iter().filter_map(|frames| frames.last());
    assert!(own().count() > 10);
    assert!(
        own().all(|frame| frame.declared == Some(declared)),
        "{stacks:?}"
    );
    // The parts of a `for` share a line and differ in their discriminators.
    let head = line_behind(
        declared,
        pricing,
        "for (int i = 0; i < p->network->arc_count; i++) {",
    );
    assert!(
        own().any(|f| f.line == Some(head) && f.discriminator > 0),
        "{stacks:?}"
    );
    // `next_arc` is inlined where it is called.
    let call = line_behind(declared, pricing, "struct arc *a = next_arc(p);");
    let inlined = stacks
        .iter()
        .find(|frames| frames.len() == 2 && frames[0].function.as_deref() == Some("next_arc"));
    let inlined = inlined.expect("it is inlined");
    let declared = line_behind(0, pricing, "next_arc(struct pricer *p)");
    assert_eq!(
        (inlined[0].declared, inlined[1].line),
        (Some(declared), Some(call))
    );
}

#[test]
fn orders_of_functions_change_places_and_nothing_else() {
    let Some(clang) = clang() else {
        return;
    };
    let objects = clang.compile("lz", Profiled::No).expect("compiled");
    let link = |order| clang.link(&objects, order).expect("linked");
    assert_eq!(link(Some(1)), link(Some(1)));
    assert_ne!(link(Some(1)), link(Some(2)));
    let names = |bytes: &[u8]| {
        let image = ProgramImage::parse(bytes, "lz").expect("a program");
        let functions = image.symbols.functions().iter();
        let mut all: Vec<(String, u64)> = functions.map(|f| (f.name.clone(), f.size)).collect();
        all.sort();
        all
    };
    assert_eq!(names(&link(Some(1))), names(&link(None)));
}

#[test]
#[ignore = "takes more than a minute: scripts/nightly.sh"]
fn each_profile_gives_a_program_that_prints_what_it_must() {
    if clang().is_none() {
        return;
    }
    let hps = Hps::new();
    let out = hps.path("board");
    let args = "leaderboard netsimplex --kind time --with tip,lbr --phases 1 --core instruction --compile --orders 2 \
                --json --out";
    let mut args: Vec<&str> = args.split_whitespace().collect();
    args.push(&out);
    let run = hps.run(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let profiles = value["compiled"][0]["profiles"].as_array().expect("a list");
    let of = |name: &str| {
        let found = profiles.iter().find(|p| p["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {value}"))
    };
    for name in [
        "tip",
        "lbr",
        "lbr-counts",
        "exact-counts",
        "exact-cycles",
        "coverage",
        "instrumentation",
    ] {
        let gain = &of(name)["mean"]["gain"];
        assert!(
            gain["mean"].as_f64().is_some_and(|g| g.abs() < 0.5),
            "{name}: {gain}"
        );
        assert!(gain["half_width"].as_f64().is_some(), "{name}: {gain}");
    }
    let error = |name: &str, which: &str| of(name)["mean"][which]["mean"].as_f64();
    assert_eq!(error("exact-cycles", "error"), Some(0.0));
    assert_eq!(error("exact-counts", "count_error"), Some(0.0));
    assert!(error("tip", "error").is_some_and(|e| e > 0.0 && e < 0.2));
    assert_eq!(error("instrumentation", "error"), None);
}

#[test]
fn what_cannot_be_compiled_is_refused_with_what_to_do() {
    let hps = Hps::new();
    let run = hps.run(&["leaderboard", "bwt", "--compile", "--isa", "alpha"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--isa riscv64"), "{}", run.stderr);
}
