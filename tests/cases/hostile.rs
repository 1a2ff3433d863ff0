//! Programs that mean harm to who looks at them: names with terminal controls, debug information that unpacks to the
//! host's memory.

use std::fs;

use super::build::{Isa, build};
use super::support::Hps;

const NAMES: [(&[u8], &[u8]); 3] = [
    (
        b"Z00QQQQQQQQQQQQQQQQQQQQQQQQ",
        b"\x1b]0;PWNED\x07\x1b[31mred\x1b[2J\xc2\x9bxyz",
    ),
    (b"Z01QQQQQQQQQ", b"new\nl;x,y\tzz"),
    (b"Z02QQQQQQQQQQQ", b"\xe2\x80\xae\r=1+1|\xff.txt"),
];

/// Replaces every occurrence of a placeholder by a name of the same length.
fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut found = 0;
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert!(found > 0, "{}", String::from_utf8_lossy(from));
    bytes
}

#[test]
fn no_name_or_path_of_a_program_acts_on_the_terminal() {
    let program = build(Isa::Riscv64, "hostile_names.c", &["-O1"]);
    let mut bytes = fs::read(program).expect("the program");
    for (from, to) in NAMES {
        bytes = replaced(bytes, from, to);
    }
    let hps = Hps::new();
    let file = hps.path("hostile");
    fs::write(&file, bytes).expect("written");
    let by_function = ["run", "--machine", "hps-4wide", "--by-function", "--stats"];
    for words in [
        &["run"][..],
        &by_function,
        &["profile", "--with", "tip", "--timeline"],
        &["profile", "--annotate", "main"],
        &["collect", "--kind", "call-pair"],
        &["analyze"],
    ] {
        let run = hps.run(&[words, &[&file]].concat());
        let shown = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
        let acted_on = |c: char| (c.is_control() && !"\n\t".contains(c)) || c == '\u{202e}';
        let bad = shown.lines().find(|line| line.contains(acted_on));
        assert!(bad.is_none(), "{words:?}: {bad:?}");
        let names_it = matches!(words, [_, "--with" | "--kind", ..]);
        assert!(
            !names_it || shown.contains(r"\u001b]0;PWNED\u0007"),
            "{words:?}: {shown}"
        );
        // A name cannot pretend to be another line of the table.
        assert!(
            !shown.lines().any(|line| line.starts_with("l;x,y")),
            "{shown}"
        );
    }
}

#[test]
fn debug_information_that_unpacks_to_the_host_s_memory_is_left_out() {
    let hps = Hps::new();
    let source = hps.path("big.s");
    let text = ".globl _start\n_start: li a7, 93\n li a0, 0\n ecall\n\
                .section .debug_str,\"\",@progbits\n.zero 0x4000000\n";
    fs::write(&source, text).expect("written");
    let program = hps.path("big");
    let compiled = std::process::Command::new("riscv64-linux-gnu-gcc")
        .args([
            "-nostdlib",
            "-static",
            "-Wl,--compress-debug-sections=zlib",
            "-o",
            &program,
            &source,
        ])
        .status();
    assert!(compiled.expect("a cross compiler").success());
    assert!(fs::metadata(&program).expect("a program").len() < 1 << 20);
    let run = hps.run(&["run", &program]);
    let said = "debug information is left out: it unpacks to 64 MiB";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    run.expect_code(0);
}

/// Files that the lab wrote are overwritten without `--force`.
#[test]
fn the_lab_recognises_its_own_files() {
    let hps = Hps::new();
    let program = hps.program("prog", &super::support::exit_with(0));
    let formats = "pprof firefox speedscope callgrind folded perf-script flame-graph";
    let exports = formats
        .split(' ')
        .map(|format| format!("--export={format}:{format}"));
    let exports: Vec<String> = exports.collect();
    let mut profile = vec!["profile", "--json=p.json", "--out", "saved"];
    profile.extend(exports.iter().map(String::as_str));
    profile.push(&program);
    let orders: [&[&str]; 7] = [
        &profile,
        &["run", "--json=s.json", &program],
        &[
            "run",
            "--machine",
            "hps-4wide",
            "--trace",
            "t.txt",
            &program,
        ],
        &[
            "run",
            "--machine",
            "hps-4wide",
            "--trace",
            "t.log",
            &program,
        ],
        &["programs", "--extract", "ray=ray"],
        &["teach", "--no-open", "--out", "page.html"],
        &["dev", "man", "pages"],
    ];
    for order in orders {
        let _ = hps.run(order).expect_code(0);
        let _ = hps.run(order).expect_code(0);
    }
    // A text and a program are refused before anything runs; --force is the way.
    fs::write(hps.path("mine.json"), "{}\n").expect("written");
    let order = ["profile", "--json=mine.json", &program];
    let run = hps.run(&order);
    assert!(
        run.stderr
            .contains("mine.json is a file that hps did not write"),
        "{}",
        run.stderr
    );
    run.expect_code(2);
    assert_eq!(fs::read(hps.path("mine.json")).expect("kept"), b"{}\n");
    let victim = hps.run(&["profile", "--json=prog", &program]);
    assert!(
        victim.stderr.contains("prog is a program"),
        "{}",
        victim.stderr
    );
    victim.expect_code(2);
    hps.run(&[&["--force"], &order[..]].concat()).expect_code(0);
}
