//! The package in Python: its tests and its notebooks, run by the host's interpreter with the module and the command of
//! this build.

use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../tests/support/left_out.rs"]
mod left_out;

/// The oldest interpreter that the module is for.
const OLDEST: &str = "3.11";

/// An interpreter that is new enough.
fn interpreter() -> Option<PathBuf> {
    let is_new = format!(
        "import sys; sys.exit(sys.version_info < ({}))",
        OLDEST.replace('.', ",")
    );
    let names = ["/usr/bin/python3", "python3"].map(PathBuf::from);
    names.into_iter().find(|name| {
        let run = Command::new(name).args(["-c", &is_new]).output();
        run.is_ok_and(|ended| ended.status.success())
    })
}

/// The package as an installation has it: its Python, and the module beside it.
fn package(folder: &Path) -> PathBuf {
    let test = std::env::current_exe().expect("this test's file");
    let deps = test.parent().expect("its folder");
    let module = deps.join("lib_hps.so");
    assert!(
        module.is_file(),
        "{}: the module is built before its tests",
        module.display()
    );
    let package = folder.join("hps");
    std::fs::create_dir(&package).expect("a new folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("hps");
    for entry in std::fs::read_dir(sources).expect("the package's Python") {
        let file = entry.expect("an entry").path();
        if file.is_file() {
            std::os::unix::fs::symlink(&file, package.join(file.file_name().expect("a name")))
                .expect("a link");
        }
    }
    std::os::unix::fs::symlink(module, package.join("_hps.abi3.so")).expect("a link");
    deps.parent().expect("the profile's folder").join("hps")
}

/// Runs a file of Python with the package; gives whether it passed, and what it printed. None where the host cannot.
fn ran(file: &str) -> Option<(bool, String)> {
    let Some(python) = interpreter() else {
        left_out::left_out(
            "the package in Python",
            &format!("python3 {OLDEST} or newer is missing"),
        );
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let command = package(folder.path());
    if !command.is_file() {
        // Cargo builds the command for tests of the whole workspace.
        left_out::left_out(
            "the package in Python",
            "the command hps is not built; test the workspace",
        );
        return None;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(file);
    let ended = Command::new(python)
        .arg("-B")
        .arg(&file)
        .env("PYTHONPATH", folder.path())
        .env("HPS_COMMAND", command)
        .env("XDG_CACHE_HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .expect("the interpreter runs");
    let printed = [ended.stdout, ended.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    Some((ended.status.success(), printed))
}

#[test]
fn the_package_does_what_the_command_does() {
    if let Some((passed, printed)) = ran("test_package.py") {
        assert!(passed && printed.contains("\nOK"), "{printed}");
    }
}

#[test]
fn notebooks_run_from_beginning_to_end() {
    if let Some((passed, printed)) = ran("notebooks.py") {
        let count = printed.matches(".ipynb: ran in ").count();
        assert!(passed && count == 3, "{printed}");
    }
}
