//! Roots that stay as they are while programs change their copies.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::build::{Isa, MODES, build};
use super::support::Hps;

/// Fills a folder with what `scratch.c` changes.
fn fill(root: &str) {
    let at = |name: &str| Path::new(root).join(name);
    for folder in ["a/deep/er", "hollow", "many"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for (name, text) in [
        ("a/data", "the data\n"),
        ("a/deep/er/file", "deep\n"),
        ("b", "a longer text\n"),
        ("gone", "old\n"),
        ("empty", ""),
        ("plain", "plain\n"),
        ("over", "to be replaced\n"),
        ("mapped", "to be mapped\n"),
        ("cut", "a text that is cut\n"),
        ("untouched", "nobody opens it\n"),
    ] {
        fs::write(at(name), text).unwrap();
    }
    for i in 0..20 {
        fs::write(at(&format!("many/f{i}")), i.to_string()).unwrap();
    }
    symlink("a/deep", at("short")).unwrap();
}

/// All that is below a folder: names, kinds, permissions, numbers of links, contents; and times if they are asked for.
fn tree(folder: &Path, with_times: bool) -> String {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let mut text = String::new();
    for path in names {
        let found = fs::symlink_metadata(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let mode = found.permissions().mode();
        write!(text, "{name} {mode:o} ").unwrap();
        if with_times {
            let (number, changed, mode_changed) =
                (found.ino(), found.mtime_nsec(), found.ctime_nsec());
            write!(text, "{number} {changed} {mode_changed} ").unwrap();
        }
        if found.is_dir() {
            writeln!(text, "[{}]", tree(&path, with_times)).unwrap();
        } else if found.is_symlink() {
            writeln!(text, "-> {}", fs::read_link(&path).unwrap().display()).unwrap();
        } else {
            let content = fs::read_to_string(&path).unwrap();
            writeln!(text, "{} {content:?}", found.nlink()).unwrap();
        }
    }
    text
}

/// Output and files of a program are those of a native run on a real copy of the folder.
#[test]
fn a_copy_is_changed_as_a_real_one() {
    for (isa, qemu) in [(Isa::Riscv64, "qemu-riscv64"), (Isa::Alpha, "qemu-alpha")] {
        let program = build(isa, "scratch.c", &["-O1"]);
        let hps = Hps::new();
        let (real, root) = (hps.path("real"), hps.path("root"));
        fill(&real);
        fill(&root);
        let before = tree(Path::new(&root), true);
        let native = Command::new(qemu)
            .arg(&program)
            .current_dir(&real)
            .output()
            .expect("QEMU's user mode (./test.sh installs it)");
        assert!(native.status.success(), "{native:?}");
        let expected = String::from_utf8(native.stdout).unwrap();
        assert!(expected.lines().count() > 40, "{expected}");
        for (at, mode) in MODES.iter().enumerate() {
            let kept = hps.path(&format!("kept{at}"));
            let options = [
                "--root",
                &root,
                "--cwd",
                "/",
                "--scratch",
                &kept,
                "--",
                &program,
            ];
            let run = hps.run(&[&["run"], *mode, &options].concat());
            assert_eq!(run.expect_code(0), expected, "{isa:?} {mode:?}");
            let left = tree(Path::new(&kept), false);
            assert_eq!(left, tree(Path::new(&real), false), "{isa:?} {mode:?}");
        }
        assert_eq!(tree(Path::new(&root), true), before, "{isa:?}");
        let others = fs::read_dir(hps.path(".")).unwrap().count();
        assert_eq!(others, 2 + MODES.len(), "nothing else is left");
    }
}

/// A run that keeps nothing leaves nothing, and the next one finds the root as it was.
#[test]
fn a_copy_is_thrown_away() {
    let program = build(Isa::Riscv64, "scratch.c", &["-O1"]);
    let hps = Hps::new();
    let (root, temporary) = (hps.path("root"), hps.path("temporary"));
    fill(&root);
    fs::create_dir(&temporary).unwrap();
    let before = tree(Path::new(&root), true);
    let run = || {
        let output = Command::new(env!("CARGO_BIN_EXE_hps"))
            .args([
                "run",
                "--root",
                &root,
                "--cwd",
                "/",
                "--writable=scratch",
                "--",
                &program,
            ])
            .env("TMPDIR", &temporary)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    // A killed command has left one copy; another one is in use, as its lock says.
    let at = |name: &str| Path::new(&temporary).join(name);
    for name in ["hps-scratch-1-0", "hps-scratch-1-1"] {
        fs::create_dir_all(at(name).join("folder")).unwrap();
    }
    fs::write(at("hps-scratch-1-0.lock"), "").unwrap();
    let in_use = fs::File::create(at("hps-scratch-1-1.lock")).unwrap();
    in_use.lock().unwrap();
    assert_eq!(run(), run());
    assert_eq!(tree(Path::new(&root), true), before);
    let left = fs::read_dir(&temporary).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["hps-scratch-1-1", "hps-scratch-1-1.lock"]);
}

/// A copy that cannot be kept is refused before the run.
#[test]
fn a_copy_needs_a_free_place() {
    let hps = Hps::new();
    fs::create_dir_all(hps.path("full/of")).unwrap();
    for place in ["full", "none/below"] {
        let run = hps.run(&["run", "--root", ".", "--scratch", place, "--", "bwt"]);
        assert!(run.stderr.contains("--scratch"), "{}", run.stderr);
        assert_eq!(run.stdout, b"");
        assert_ne!(run.code, 0, "{place}");
    }
}
