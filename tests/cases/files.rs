//! Paths: the root folder as a boundary, the working folder, files that the lab makes up.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::build::{Isa, MODES, build, prints_in_a_root, run_in_all_modes};
use super::support::{Hps, Run};

/// `hps run MODE OPTIONS -- PROGRAM ARGUMENTS` in a folder that `prepare` fills.
fn run_in(mode: &[&str], options: &[&str], command: &[&str], prepare: impl Fn(&Hps)) -> (Hps, Run) {
    let hps = Hps::new();
    prepare(&hps);
    let run = hps.run(&[&["run"], mode, options, &["--"], command].concat());
    (hps, run)
}

#[test]
fn a_file_of_the_working_folder_is_read() {
    for isa in Isa::BOTH {
        let program = build(isa, "cwd_rel.c", &["-O2"]);
        for mode in MODES {
            let (_hps, run) = run_in(mode, &[], &[&program, "data.txt"], |hps| {
                std::fs::write(hps.path("data.txt"), "first\nsecond\n").unwrap();
            });
            assert_eq!(run.expect_code(0), "cwd /\nfirst\n", "{isa:?} {mode:?}");
        }
    }
}

#[test]
fn files_can_be_shut_and_working_folders_chosen() {
    let program = build(Isa::Riscv64, "cwd_rel.c", &["-O2"]);
    let fill = |hps: &Hps| {
        std::fs::create_dir_all(hps.path("sub/deep")).unwrap();
        std::fs::write(hps.path("data.txt"), "first\n").unwrap();
        std::fs::write(hps.path("sub/data.txt"), "of sub\n").unwrap();
    };
    let (_hps, run) = run_in(&[], &["--no-files"], &[&program, "data.txt"], fill);
    assert!(run.stderr.contains("--no-files"), "{}", run.stderr);
    run.expect_code(1);
    let (_hps, run) = run_in(&[], &["--cwd", "/sub"], &[&program, "data.txt"], fill);
    assert_eq!(run.expect_code(0), "cwd /sub\nof sub\n");
    let (hps, run) = run_in(&[], &["--root", "/"], &[&program, "data.txt"], fill);
    let here = std::fs::canonicalize(hps.path(".")).unwrap();
    assert_eq!(
        run.expect_code(0),
        format!("cwd {}\nfirst\n", here.display())
    );
    let (_hps, run) = run_in(&[], &["--cwd", "/none"], &[&program, "x"], fill);
    assert!(run.stderr.contains("/none"), "{}", run.stderr);
    assert_ne!(run.code, 0);
}

/// The working folder can be read and nothing else: neither changed nor left.
#[test]
fn the_working_folder_is_not_changed() {
    let program = build(Isa::Riscv64, "chmod_keeps_mode.c", &["-O2"]);
    let (hps, run) = run_in(&[], &[], &[&program], |_| ());
    assert!(run.stderr.contains("--writable"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(hps.path(".")).unwrap().count(), 0);
    let program = build(Isa::Riscv64, "cwd_rel.c", &["-O2"]);
    let (_hps, run) = run_in(&[], &[], &[&program, "/etc/passwd"], |_| ());
    assert!(run.stderr.contains("--root DIR"), "{}", run.stderr);
    run.expect_code(1);
}

#[test]
fn modes_are_kept() {
    let expected = "chmod=0 errno=0 mode=600\nfchmod=0 mode=400\numask 0: 666 777\n";
    for isa in Isa::BOTH {
        let program = build(isa, "chmod_keeps_mode.c", &["-O2"]);
        run_in_all_modes(&["--root", ".", "--writable"], &[&program], |mode, run| {
            assert_eq!(run.expect_code(0), expected, "{isa:?} {mode}");
        });
    }
}

/// Two programs in one root: one exchanges a folder and a link to the outside, the other reads.
#[test]
fn a_race_of_two_programs_stays_inside() {
    for isa in Isa::BOTH {
        let program = build(isa, "root_race.c", &["-O2"]);
        let hps = Hps::new();
        std::fs::create_dir_all(hps.path("root/d")).unwrap();
        std::fs::create_dir(hps.path("outside")).unwrap();
        std::fs::write(hps.path("outside/secret"), "TOPSECRET").unwrap();
        std::fs::write(hps.path("root/d/secret"), "mine").unwrap();
        symlink(hps.path("outside"), hps.path("root/lnk")).unwrap();
        let start = |what: &str| {
            Command::new(env!("CARGO_BIN_EXE_hps"))
                .args(["run", "--root", &hps.path("root"), "--writable", "--"])
                .args([program.as_str(), what, "4000"])
                .stdout(Stdio::piped())
                .spawn()
                .expect("hps starts")
        };
        let swaps = start("swap");
        let read = start("read").wait_with_output().expect("hps ends");
        assert_eq!(read.stdout, b"0 escapes\n");
        swaps.wait_with_output().expect("hps ends");
    }
}

/// The programs of a sweep can read their root only: somebody else exchanges the folder and the link meanwhile.
#[test]
fn a_race_with_the_programs_of_a_sweep_stays_inside() {
    let program = build(Isa::Riscv64, "root_race.c", &["-O2"]);
    let hps = Hps::new();
    std::fs::create_dir_all(hps.path("root/d")).unwrap();
    std::fs::create_dir(hps.path("outside")).unwrap();
    std::fs::write(hps.path("outside/secret"), "TOPSECRET").unwrap();
    std::fs::write(hps.path("root/d/secret"), "mine").unwrap();
    symlink(hps.path("outside"), hps.path("root/lnk")).unwrap();
    let one = format!(
        "(path: {program:?}, args: [\"read\", \"2000\"], root: {:?})",
        hps.path("root")
    );
    let sweep = format!(
        "(own_programs: [{one}], profiles: [method], bursts: [1, 10], one_in: [100], timing: Off)"
    );
    std::fs::write(hps.path("race.ron"), sweep).unwrap();
    let mut swaps = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(["run", "--root", &hps.path("root"), "--writable", "--"])
        .args([program.as_str(), "swap", "1000000"])
        .stdout(Stdio::null())
        .spawn()
        .expect("hps starts");
    let run = hps.run(&["sweep", "--out", "out", "race.ron"]);
    let was_swapping = swaps.try_wait().expect("its state").is_none();
    swaps.kill().and_then(|()| swaps.wait()).expect("it ends");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(was_swapping);
}

/// A program that looks at itself, without any file of the host.
#[test]
fn a_program_finds_itself_in_proc() {
    let expected = "open exe ok\nsame file ok\nmap exe ok\nmaps ok ok\nstack bounds ok (0)\ncomm ok\n\
                    st_dev differs over mounts ok\n";
    for isa in Isa::BOTH {
        let program = build(isa, "proc_files.c", &["-O2", "-pthread"]);
        // The first thread's name is the program's, cut to 15 bytes.
        for options in [&[][..], &["--no-files"], &["--root", "/"]] {
            run_in_all_modes(options, &[&program], |mode, run| {
                // Without files there is no `/` whose number could be told.
                let expected = match options {
                    ["--no-files"] => &expected[..expected.find("st_dev").unwrap()],
                    _ => expected,
                };
                assert_eq!(run.expect_code(0), expected, "{isa:?} {mode} {options:?}");
            });
        }
    }
}

/// The host's kernel has said the expected text.
#[test]
fn files_have_no_extended_attributes() {
    let expected = include_str!("guest/extended_attributes.txt");
    prints_in_a_root("extended_attributes.c", expected);
}
