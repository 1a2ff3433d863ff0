//! The page that is part of the repository: it is made of the sources beside it, its simulator does what the native
//! one does, and it has all its words and lessons in each of its languages.
//!
//! Node.js runs the simulator of the page. A change of the simulator's crates needs a new page only if an answer
//! changes; a change of the page's own sources always does.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::Cause;
use hps_teach::Session;
use hps_teach::protocol::{
    Edit, HpsOrder, ProfileOrder, ProfilerOrder, ProgramChoice, Request, Setup, TextFile, Wanted,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

const REBUILD: &str = "build it anew by scripts/build-teach-page.sh and commit teach/page.html";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).expect("the page has this part");
    rest.split_once(after).expect("the part has an end").0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The digest of the page's inputs, as `web/build.mjs` computes it.
fn digest() -> String {
    let mut paths = Vec::new();
    for folder in ["src", "lessons", "web"] {
        files(&root().join(folder), &mut paths);
    }
    let mut names: Vec<String> = paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(root()).expect("a file of the crate");
            name.to_str().expect("a name in UTF-8").to_owned()
        })
        .filter(|name| !name.starts_with("web/tests/") && !name.starts_with("src/tests"))
        .collect();
    names.sort();
    let mut all = Sha256::new();
    for name in names {
        let content = std::fs::read(root().join(&name)).expect("a file");
        all.update(format!("{name}\n{}\n", hex(&Sha256::digest(content))));
    }
    hex(&all.finalize())
}

#[test]
fn the_page_is_made_of_the_sources_beside_it() {
    let page = hps_teach::PAGE;
    let recorded = between(page, "<meta name=\"hps-inputs\" content=\"", "\"");
    assert_eq!(
        recorded,
        digest(),
        "the page is of other sources: {REBUILD}"
    );
    assert!(page.len() < 6_000_000, "the page has {} bytes", page.len());
    // The page asks no network: nothing is loaded by address. Only a page that the command serves asks the command.
    for loads in ["<script src=", "<link rel=\"stylesheet\"", "@import"] {
        assert!(!page.contains(loads), "the page has {loads}");
    }
    // A parser inside the page has a method of that name: `fetch(){`, `this.fetch()`.
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '$');
    let calls = page.match_indices("fetch(");
    let calls = calls
        .filter(|(at, _)| !page[..*at].ends_with(is_name) && !page[*at..].starts_with("fetch(){"));
    let asks = page.matches("fetch(\"/ask\"").count();
    assert_eq!((calls.count(), asks), (1, 1));
    for global in [
        "window.fetch",
        "self.fetch",
        "globalThis.fetch",
        "XMLHttpRequest",
        "sendBeacon",
    ] {
        assert!(!page.contains(global), "the page has {global}");
    }
    assert!(page.contains("default-src 'none'") && page.contains("connect-src 'self'"));
}

fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("no base 64: {c}"),
    };
    let digits: Vec<u32> = text
        .trim()
        .bytes()
        .filter(|c| *c != b'=')
        .map(|c| u32::from(value(c)))
        .collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let word = group
            .iter()
            .enumerate()
            .fold(0, |word, (at, digit)| word | digit << (18 - 6 * at));
        let count = group.len() * 6 / 8;
        bytes.extend(&word.to_be_bytes()[1..1 + count]);
    }
    bytes
}

/// Answers of the page's simulator to questions, one a line.
fn answered(questions: &[String]) -> Vec<String> {
    let parts = hps_teach::PAGE.split("<script type=\"text/plain\" class=\"simulator\">");
    let parts = parts.skip(1).map(|part| {
        let (part, _) = part.split_once("</script>").expect("the part has an end");
        part
    });
    let packed = decoded(&parts.collect::<String>());
    let mut module = Vec::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_end(&mut module)
        .expect("the simulator is packed by gzip");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("simulator.wasm");
    std::fs::write(&file, module).expect("the file can be written");
    let mut node = Command::new("node")
        .arg(root().join("web/tests/answer.mjs"))
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node.js is needed: install Debian's nodejs");
    let mut stdin = node.stdin.take().expect("a pipe");
    let text = questions.join("\n");
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = node.wait_with_output().expect("node ends");
    writer.join().expect("it ends").expect("node reads");
    assert!(output.status.success(), "the page's simulator failed");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

fn setup(program: ProgramChoice, machine: &str, limit: u64) -> Setup {
    Setup {
        program,
        arguments: Vec::new(),
        input: String::new(),
        machine: machine.to_owned(),
        keys: BTreeMap::new(),
        productions: Vec::new(),
        params: BTreeMap::new(),
        limit,
        edits: Vec::new(),
    }
}

/// Questions about all programs on several machines, with DISE, profilers and analyses.
fn questions() -> Vec<Request> {
    let mut all = Vec::new();
    let machines = ["hps-4wide", "ev5", "ev6", "wide-8", "tiny-2wide"];
    for (at, workload) in hps_workloads::all().iter().enumerate() {
        let isa = ["riscv64", "alpha"][at % 2];
        let program = ProgramChoice::BuiltIn {
            name: workload.name.to_owned(),
            isa: isa.to_owned(),
            size: "small".to_owned(),
        };
        let mut one = setup(program, machines[at % machines.len()], 20_000);
        if at % 3 == 0 {
            one.keys.insert("memory.l1d.mshrs".into(), "2".into());
        }
        if at % 4 == 1 {
            let name = "hot_method".to_owned();
            let text = String::new();
            one.productions = vec![TextFile { name, text }];
            one.params = BTreeMap::from([("sparsity".into(), 9), ("burst".into(), 1)]);
        }
        all.push(Request::Run { setup: one });
        all.push(Request::Rows {
            first: 7000,
            count: 300,
            only_committed: false,
        });
        for cycle in [0, 500, 5000, 9999, 700] {
            all.push(Request::Cycle { cycle, context: 0 });
            all.push(Request::State { cycle, context: 0 });
            all.push(Request::Inside {
                cycle,
                context: 0,
                tables: ["l1d", "l2", "dtlb", "btb", "returns"]
                    .map(String::from)
                    .into(),
                row: Some(7100),
            });
            all.push(Request::Entries {
                cycle,
                context: 0,
                table: "l1d".to_owned(),
                set: at as u64,
            });
        }
        all.push(Request::States {
            first: 100,
            count: 3000,
            context: 0,
        });
        all.push(Request::Find {
            cycle: 3000,
            backwards: at % 2 == 0,
            what: Wanted::Event {
                name: "mispredicted".to_owned(),
            },
        });
        let profilers = [
            "interrupt",
            "dcpi",
            "ibs",
            "spe",
            "lci",
            "pebs",
            "tip",
            "lbr",
        ];
        let order = ProfileOrder {
            level: ["function", "line", "instruction"][at % 3].to_owned(),
            profilers: profilers
                .map(|name| ProfilerOrder {
                    name: name.to_owned(),
                    period: 97,
                    seed: 3,
                    random_percent: 0,
                })
                .into(),
            hps: (at % 4 != 1).then(|| HpsOrder {
                kind: ["method", "call_pair"][at % 2].to_owned(),
                burst: 2,
                sparsity: 8,
                random_period: at % 3 == 0,
            }),
            top: 50,
        };
        all.push(Request::Profiles { order });
        all.push(Request::Analyze);
    }
    for machine in ["smt-2", "cmp-4"] {
        let program = ProgramChoice::Assembly {
            isa: "riscv64".to_owned(),
            text: include_str!("../web/examples/4-two-threads.s").to_owned(),
            c: None,
        };
        all.push(Request::Run {
            setup: setup(program, machine, 10_000),
        });
        all.push(Request::Rows {
            first: 500,
            count: 1000,
            only_committed: false,
        });
        for (cycle, context) in [(900, 1), (400, 0)] {
            all.push(Request::Cycle { cycle, context });
            all.push(Request::Inside {
                cycle,
                context,
                tables: vec!["l1d".to_owned()],
                row: None,
            });
        }
    }
    all.push(Request::Coherence { line: None });
    let text = "_start: li t0, 64\nloop: addi t0, t0, -1\n bnez t0, loop\n li a7, 93\n ecall\n";
    for (text, keys) in [(text, ""), ("bogus", ""), (text, "0")] {
        let program = ProgramChoice::Assembly {
            isa: "riscv64".to_owned(),
            text: text.to_owned(),
            c: None,
        };
        let mut one = setup(program, "hps-4wide", 1000);
        if !keys.is_empty() {
            one.keys.insert("window.rob_entries".into(), keys.into());
        }
        one.edits = vec![Edit {
            instructions: 33,
            context: 0,
            place: "t0".to_owned(),
            bytes: "0900000000000000".to_owned(),
        }];
        all.push(Request::Run { setup: one });
        all.push(Request::State {
            cycle: 40,
            context: 0,
        });
    }
    all.push(Request::Compile { c: String::new() });
    all
}

#[test]
fn the_page_s_simulator_answers_as_the_native_one() {
    let asked: Vec<String> = questions()
        .iter()
        .map(|request| serde_json::to_string(request).expect("JSON"))
        .collect();
    let found = answered(&asked);
    assert_eq!(found.len(), asked.len());
    let mut session = Session::new();
    for (question, found) in asked.iter().zip(found) {
        let wanted = session.answer_text(question);
        if wanted != found {
            let at = wanted.bytes().zip(found.bytes()).position(|(a, b)| a != b);
            let at = at.unwrap_or(wanted.len().min(found.len()));
            let part = |text: &str| {
                let near: String = text
                    .chars()
                    .skip(at.saturating_sub(100))
                    .take(200)
                    .collect();
                near
            };
            panic!(
                "the page's simulator answers {question:.300} by\n...{}...\ninstead of\n...{}...\n{REBUILD}",
                part(&found),
                part(&wanted)
            );
        }
    }
}

/// Names in answers that no list of the simulator has: stages of slots, states, uses of cycles, levels, results of
/// matches, resources that bound a loop, who decides requests for lines.
const NAMES: &str = "front, waiting, reading, executing, memory, data, done, computing, stalled, flushed, drained, \
    not running, fill, misprediction, serialization, trap, interrupt, l1, l2, l3, core, level 2, level 3, page tables, \
    another core, wins, loses, control only, not now, fetch groups, fetch width, decode width, dispatch width, issue width, \
    commit width, mispredictions, instruction cache misses, level 1 data ports, level 1 misses on their way, \
    level 2 misses on their way, memory bus, chain of results, chain of results with store forwarding, directory, bus";

/// All words of the simulator that the page puts into its language.
fn words_of_the_simulator() -> Vec<String> {
    let mut session = Session::new();
    let mut ask = |request: &Request| -> Value {
        let question = serde_json::to_string(request).expect("JSON");
        serde_json::from_str(&session.answer_text(&question)).expect("JSON")
    };
    let catalog = ask(&Request::Catalog);
    let mut all: Vec<String> = NAMES.split(", ").map(str::to_owned).collect();
    all.extend(Cause::ALL.map(|cause| cause.name().to_owned()));
    for name in MachineConfig::presets() {
        let machine = MachineConfig::preset(name).expect("a preset");
        all.extend(machine.units.pools.0.into_keys());
    }
    let mut take = |value: &Value| all.extend(value.as_str().map(str::to_owned));
    for (list, keys) in [
        ("programs", vec!["about"]),
        ("machines", vec!["about"]),
        ("profilers", vec!["about", "hardware"]),
    ] {
        for one in catalog[list].as_array().expect("a list") {
            keys.iter().for_each(|key| take(&one[*key]));
        }
    }
    catalog["events"]
        .as_array()
        .expect("a list")
        .iter()
        .for_each(&mut take);
    // What a machine with several contexts has no answer to.
    let program = ProgramChoice::Assembly {
        isa: "riscv64".to_owned(),
        text: "li a7, 93\necall\n".to_owned(),
        c: None,
    };
    // What a page says where no lines are shared.
    for machine in ["cmp-4", "smt-2"] {
        ask(&Request::Run {
            setup: setup(program.clone(), machine, 100),
        });
        take(&ask(&Request::Coherence { line: None })["missing"]);
    }
    take(
        &ask(&Request::State {
            cycle: 0,
            context: 1,
        })["missing"],
    );
    let order = ProfileOrder {
        level: "function".to_owned(),
        profilers: Vec::new(),
        hps: None,
        top: 1,
    };
    take(&ask(&Request::Profiles { order })["missing"]);
    all
}

#[test]
fn each_language_has_all_words_and_lessons_of_the_page() {
    let output = Command::new("node")
        .arg(root().join("web/tests/languages.mjs"))
        .args(words_of_the_simulator())
        .output()
        .expect("Node.js is needed: install Debian's nodejs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
