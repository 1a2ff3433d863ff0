//! Pipeline logs as `hps run --trace` writes them.

use crate::support::{Hps, exit_with, write_text};

#[test]
fn the_pipeline_log_is_in_the_kanata_format() {
    let hps = Hps::new();
    let program = hps.program("greet", &[write_text(), exit_with(0)].concat());
    let file = hps.path("log.kanata");
    let args = [
        "run",
        "--machine",
        "tiny-2wide",
        "--trace",
        &file,
        "--trace-cycles",
        "0..500",
        &program,
    ];
    hps.run(&args).expect_code(0);
    let text = std::fs::read_to_string(&file).expect("a log");
    assert!(text.starts_with("Kanata\t0004\n"));
    assert!(text.contains("ecall"), "{text}");
    hps.run(&[
        "run",
        "--machine",
        "tiny-2wide",
        "--trace",
        &file,
        "--trace-cycles",
        "9..9",
        &program,
    ])
    .expect_code(2);
}

#[test]
fn a_text_log_says_what_issued_together_and_what_waited_for_what() {
    let hps = Hps::new();
    let file = hps.path("log.txt");
    let run = hps.run(&[
        "run",
        "--isa",
        "alpha",
        "--machine",
        "ev5",
        "--trace",
        &file,
        "--trace-cycles",
        "3000..5000",
        "--max-instructions",
        "20000",
        "bwt",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(&file).expect("the log was written");
    for part in [
        "address",
        " E0 ",
        " E1 ",
        "(together with the one before)",
        "(operand)",
        "(block)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
