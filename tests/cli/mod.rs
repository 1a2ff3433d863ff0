//! The `hps` command from outside: exit codes, streams, messages.

mod logs;
mod old;
mod refusals;
mod shadow;

use std::path::Path;

use crate::support::{Hps, elf, exit_with, write_text};
use serde_json::Value;

#[test]
fn output_and_exit_code_are_the_guests() {
    let hps = Hps::new();
    let program = hps.program("greet", &[write_text(), exit_with(42)].concat());
    for mode in [
        &["run"][..],
        &["run", "--machine", "tiny-2wide"],
        &["run", "--machine", "hps-4wide", "--stats"],
    ] {
        let run = hps.run(&[mode, &[&program]].concat());
        assert_eq!(run.code, 42, "{mode:?}: {}", run.stderr);
        assert_eq!(run.stdout, b"hi\n", "{mode:?}");
        assert_eq!(
            run.stderr.contains("CPI stack"),
            mode.contains(&"--stats"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn programs_of_the_project_print_what_they_must() {
    let hps = Hps::new();
    let expected = hps_workloads::find("parse")
        .expect("it comes with the project")
        .expected_small;
    let file = hps.path("stats.json");
    let to_file = format!("--json={file}");
    for isa in [&[][..], &["--isa", "riscv64"], &["--isa", "alpha"]] {
        let order = [&["run", &to_file], isa, &["parse", "small"]].concat();
        let run = hps.run(&order);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{isa:?}");
        assert_eq!(String::from_utf8_lossy(&run.stdout), expected, "{isa:?}");
        let wanted = isa.last().unwrap_or(&"riscv64");
        assert_eq!(json(&file)["isa"], **wanted);
    }
}

#[test]
fn options_behind_the_program_are_its_own() {
    let hps = Hps::new();
    // write(1, argv[1], 7); exit(0)
    let code = [
        0x0101_3583,
        0x0010_0513,
        0x0070_0613,
        0x0400_0893,
        0x0000_0073,
    ];
    let program = hps.program("echo", &[&code[..], &exit_with(0)].concat());
    let run = hps.run(&["run", "--", &program, "--stats", "--machine", "none"]);
    assert_eq!(
        (run.code, run.stdout.as_slice(), run.stderr.as_str()),
        (0, &b"--stats"[..], "")
    );
}

#[test]
fn statistics_of_both_modes() {
    let hps = Hps::new();
    let program = hps.program("greet", &[write_text(), exit_with(3)].concat());
    let file = hps.path("stats.json");
    hps.run(&["run", &format!("--json={file}"), &program, "x"])
        .expect_code(3);
    let functional = json(&file);
    assert_eq!(functional["instructions"], 11);
    assert!(functional["cycles"].is_null() && functional["ipc"].is_null());
    assert!(functional["host_seconds"].as_f64().is_some_and(|s| s > 0.0));
    assert_eq!(
        (&functional["exit_code"], &functional["arguments"][0]),
        (&Value::from(3), &Value::from("x"))
    );

    hps.run(&[
        "run",
        "--machine",
        "hps-4wide",
        "--by-function",
        &format!("--json={file}"),
        &program,
    ])
    .expect_code(3);
    let timed = json(&file);
    assert_eq!(timed["instructions"], 11);
    let cycles = timed["cycles"].as_u64().expect("cycles");
    assert!(cycles > 12, "nothing passes 12 stages in {cycles} cycles");
    assert_eq!(
        timed["machine"]["configuration"]["window"]["rob_entries"],
        128
    );
    assert_eq!(timed["program_hash"], functional["program_hash"]);
    let slots = |stack: &Value| -> u64 {
        let parts = stack["parts"].as_array().expect("parts");
        parts
            .iter()
            .map(|p| p["slots"].as_u64().expect("slots"))
            .sum()
    };
    let stack = &timed["cpi_stack"];
    assert_eq!(stack["total_slots"].as_u64(), Some(slots(stack)));
    assert_eq!(slots(stack), 4 * cycles);
    let functions = timed["by_function"].as_array().expect("functions");
    assert_eq!(
        functions.iter().map(|f| slots(&f["stack"])).sum::<u64>(),
        slots(stack)
    );
}

#[test]
fn either_core_times_a_program_and_is_named() {
    let hps = Hps::new();
    let program = hps.program("greet", &[write_text(), exit_with(3)].concat());
    let file = hps.path("stats.json");
    let timed = |core: &[&str]| {
        let start = ["run", "--machine", "hps-4wide", "--stats", "--by-function"];
        let run = hps.run(&[&start, core, &[&format!("--json={file}"), &program]].concat());
        assert_eq!((run.code, &run.stdout[..]), (3, &b"hi\n"[..]), "{core:?}");
        (run.stderr, json(&file))
    };
    let (text, by_default) = timed(&[]);
    assert!(text.contains("cycle-driven"), "{text}");
    assert_eq!(by_default["core_driven_by"], "cycle");
    let (text, driven) = timed(&["--core", "instruction"]);
    assert!(text.contains("instruction-driven"), "{text}");
    assert_eq!(driven["core_driven_by"], "instruction");
    for name in ["instructions", "cycles", "cpi_stack", "by_function"] {
        assert!(!driven[name].is_null(), "{name}");
        assert_eq!(driven[name], by_default[name], "{name}");
    }
    hps.run(&["run", &format!("--json={file}"), &program])
        .expect_code(3);
    assert!(json(&file)["core_driven_by"].is_null());
}

#[test]
fn a_guest_that_faults_is_described() {
    let hps = Hps::new();
    // ld a0, 0(zero)
    let program = hps.program("fault", &[0x0000_3503]);
    let by_instruction = ["run", "--machine", "tiny-2wide", "--core", "instruction"];
    for mode in [
        &["run"][..],
        &["run", "--machine", "tiny-2wide"],
        &by_instruction,
    ] {
        let run = hps.run(&[mode, &[&program]].concat());
        assert_eq!(run.code, 128 + 11, "{}", run.stderr);
        for part in ["not readable", "pc 0x10078", "0x00003503", "ld a0, 0(zero)"] {
            assert!(
                run.stderr.contains(part),
                "{mode:?}: `{part}` is missing in {}",
                run.stderr
            );
        }
    }
    let illegal = hps.program("illegal", &[0xffff_ffff]);
    let run = hps.run(&["run", &illegal]);
    assert_eq!(run.code, 128 + 4);
    assert!(run.stderr.contains("illegal instruction"), "{}", run.stderr);
}

#[test]
fn a_guest_that_loops_ends_at_its_limit() {
    let hps = Hps::new();
    let program = hps.program("loop", &[0x0000_006f]);
    let file = hps.path("stats.json");
    let to_file = format!("--json={file}");
    for machine in [
        &[][..],
        &["--machine", "tiny-2wide"],
        &["--machine", "tiny-2wide", "--core", "instruction"],
    ] {
        let mut args = vec!["run", "--max-instructions", "1000", &to_file];
        args.extend(machine);
        args.push(&program);
        let run = hps.run(&args);
        assert_eq!(run.code, 0);
        assert!(
            run.stderr.contains("stopped after 1000 instructions"),
            "{}",
            run.stderr
        );
        assert_eq!(
            (&json(&file)["instructions"], &json(&file)["end"]["kind"]),
            (&1000.into(), &"limit".into())
        );
    }
}

#[test]
fn unknown_system_calls_warn_once() {
    let hps = Hps::new();
    // a7 = 1999; ecall; ecall
    let program = hps.program(
        "unknown",
        &[&[0x7cf0_0893, 0x0000_0073, 0x0000_0073][..], &exit_with(0)].concat(),
    );
    let run = hps.run(&["run", &program]);
    assert_eq!(
        (run.code, run.stderr.matches("system call 1999").count()),
        (0, 1),
        "{}",
        run.stderr
    );
}

#[test]
fn productions_leave_the_program_as_it_is() {
    let hps = Hps::new();
    let program = hps.program("greet", &[write_text(), exit_with(5)].concat());
    let file = hps.path("stats.json");
    for mode in [&["run"][..], &["run", "--machine", "hps-4wide"]] {
        for productions in ["identity", "hot_method", "hot_data_stream"] {
            let run = hps.run(
                &[
                    mode,
                    &[
                        &format!("--json={file}"),
                        "--productions",
                        productions,
                        &program,
                    ],
                ]
                .concat(),
            );
            assert_eq!(
                (run.code, run.stdout.as_slice()),
                (5, &b"hi\n"[..]),
                "{productions}: {}",
                run.stderr
            );
            let document = json(&file);
            assert_eq!(document["instructions"], 11, "{productions}");
            assert_eq!(document["dise"]["files"][0], productions);
        }
    }
}

#[test]
fn machines_are_listed_shown_and_checked() {
    let hps = Hps::new();
    let list = hps.run(&["machine", "show"]).expect_code(0);
    assert!(list.contains("hps-4wide") && list.contains("wide-8"));
    let show = hps.run(&["machine", "show", "hps-4wide"]).expect_code(0);
    assert!(
        show.contains("window.rob_entries") && show.contains("paper"),
        "{show}"
    );
    assert!(
        hps.run(&["machine", "keys"])
            .expect_code(0)
            .contains("branch.predictor.Tage.tables")
    );

    // A machine shown as RON is the same machine.
    let ron = hps
        .run(&["machine", "show", "wide-8", "--ron"])
        .expect_code(0);
    let good = hps.path("good.ron");
    std::fs::write(&good, &ron).expect("written");
    assert_eq!(
        hps.run(&["machine", "show", &good, "--ron"]).expect_code(0),
        ron
    );

    let bad = hps.path("bad.ron");
    std::fs::write(&bad, "(\n    window: (rob_entrys: 64),\n)\n").expect("written");
    let text = hps.run(&["machine", "check", &good, &bad]).expect_code(1);
    assert!(text.contains("good.ron: ok"), "{text}");
    assert!(
        text.contains("bad.ron:2:") && text.contains("did you mean `rob_entries`"),
        "{text}"
    );
    let run = hps.run(&["run", "--machine", &bad, "bwt"]);
    assert!(
        run.code == 2 && run.stderr.contains("bad.ron:2:"),
        "{}",
        run.stderr
    );
}

#[test]
fn programs_are_listed_and_extracted() {
    let hps = Hps::new();
    let all: Value =
        serde_json::from_str(&hps.run(&["programs", "--json"]).expect_code(0)).expect("JSON");
    assert!(all.as_array().is_some_and(|all| all.len() >= 20));
    assert!(hps.run(&["programs"]).expect_code(0).contains("256.bzip2"));
    let file = hps.path("ray");
    hps.run(&["programs", "--extract", &format!("ray={file}")])
        .expect_code(0);
    let extracted = |isa| {
        let image = hps_workloads::find("ray").and_then(|w| w.image(isa));
        assert!(std::fs::read(&file).expect("extracted") == image.expect("comes with the project"));
        assert!(is_executable(Path::new(&file)));
    };
    extracted("riscv64");
    let order = format!("ray={file}");
    hps.run(&["programs", "--isa", "alpha", "--extract", &order])
        .expect_code(0);
    extracted("alpha");
    let alpha = hps.run(&["programs", "--isa", "alpha", "--json"]);
    let alpha: Value = serde_json::from_str(&alpha.expect_code(0)).expect("JSON");
    let alpha = alpha.as_array().expect("a list");
    assert!(alpha.len() >= 10 && alpha.iter().all(|p| p["isa"] == "alpha"));
    for wrong in ["ray", "nothing=x", "ray=/no/such/folder/x"] {
        hps.run(&["programs", "--extract", wrong]).expect_code(2);
    }
}

#[test]
fn productions_are_listed_checked_and_explained() {
    let hps = Hps::new();
    assert!(
        hps.run(&["dise", "list"])
            .expect_code(0)
            .contains("hot_call_pair")
    );
    let text = hps.run(&["dise", "list", "framework"]).expect_code(0);
    let file = hps.path("mine.dise");
    std::fs::write(&file, &text).expect("written");
    assert!(
        hps.run(&["dise", "check", &file])
            .expect_code(0)
            .contains("PT entries")
    );
    assert!(
        hps.run(&["dise", "check", "figure4_printed"])
            .expect_code(0)
            .contains("P3 and P5")
    );
    assert!(
        hps.run(&["dise", "explain", "hot_method", "--program", "ray"])
            .expect_code(0)
            .contains("replaces it")
    );

    std::fs::write(&file, "P1: T.OPCLASS == laod => null, inc_1\n").expect("written");
    let run = hps.run(&["dise", "check", &file]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("mine.dise:1:18"), "{}", run.stderr);
    hps.run(&["dise", "list", "nothing"]).expect_code(2);
}

#[test]
fn the_doctor_finds_what_it_needs() {
    let text = Hps::new().run(&["doctor"]).expect_code(0);
    for part in [
        "guest memory",
        "qemu-riscv64",
        "qemu-alpha",
        "riscv64-linux-gnu-gcc",
        "alpha-linux-gnu-gcc",
        "disk space",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn every_command_explains_itself() {
    let hps = Hps::new();
    let commands = [
        "sweep",
        "reproduce",
        "run",
        "profile",
        "collect",
        "leaderboard",
        "dise",
        "machine",
        "programs",
        "doctor",
    ];
    let whole = hps.run(&["--help"]).expect_code(0);
    for command in commands {
        assert!(whole.contains(command));
        let text = hps.run(&[command, "--help"]).expect_code(0);
        assert!(text.contains("Usage: hps"), "{text}");
        assert_eq!(text.contains("Examples:"), command != "doctor", "{command}");
    }
    // What is told at a glance fits a screen.
    let screen = hps.run(&["-h"]).expect_code(0);
    assert!(screen.lines().count() <= 40, "{screen}");
    for old in ["profilers", "bench", "completions"] {
        assert!(!screen.contains(&format!("\n  {old} ")), "{screen}");
    }
    for command in ["run", "profile", "collect", "sweep", "analyze", "teach"] {
        let screen = hps.run(&[command, "-h"]).expect_code(0);
        assert!(screen.lines().count() <= 42, "{screen}");
    }
    for command in [
        ["dev", "bench"],
        ["dcpi", "report"],
        ["machine", "check"],
        ["machine", "show"],
        ["dise", "explain"],
        ["dise", "list"],
    ] {
        hps.run(&[command[0], command[1], "--help"]).expect_code(0);
    }
    hps.run(&["--version"]).expect_code(0);
    hps.run(&["no-such-command"]).expect_code(2);
    hps.run(&["run"]).expect_code(2);
}

fn json(file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(file).expect("a statistics file")).expect("JSON")
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|m| m.permissions().mode() & 0o777 == 0o755)
}

#[test]
fn the_made_up_executables_are_small() {
    assert_eq!(elf(&[0x0000_0073]).len(), 64 + 56 + 4);
}
