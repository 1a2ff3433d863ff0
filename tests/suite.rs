//! The suite of real programs: built from its pinned sources for each instruction set, small runs
//! print the same under QEMU and on the functional machine, and what the manifest says. Then what
//! the command says when something is missing.
//!
//! `hps programs build` checks all programs and the large runs too. Left out here for the time that
//! they take to build: `arachne-pnr` and `sqlite`, and by day `btree`, `graph-walk` and `sparse-solve`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock};

use crate::guest::{Outcome, outcome_of, qemu};
use crate::support::is_night;
use crate::support::json_schema::expect_valid;
use hps_lab::{Lab, Program};
use hps_system::image::Isa;
use hps_workloads::Size;
use hps_workloads::suite::{self, Builder, Made};

/// Makes of each program a test on each instruction set.
macro_rules! programs {
    ($($test:ident $name:literal)*) => {
        $(mod $test {
            #[test]
            fn on_riscv64() {
                super::small_run($name, super::Isa::Riscv64);
            }
            #[test]
            fn on_alpha() {
                super::small_run($name, super::Isa::Alpha);
            }
        })*
    };
}

programs! {
    awk "awk"
    box2d "box2d"
    btree "btree"
    bzip2 "bzip2"
    graph_walk "graph-walk"
    gzip "gzip"
    hash_join "hash-join"
    lemon "lemon"
    lua "lua"
    phalanx "phalanx"
    sparse_solve "sparse-solve"
    tcc "tcc"
    tinyscheme "tinyscheme"
    tree_sitter "tree-sitter"
}

/// Where the tests' programs are kept from one run of the tests to the next.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("suite")
}

/// One builder for all tests: it fetches one source at a time.
fn builder() -> &'static Builder {
    static BUILDER: OnceLock<Builder> = OnceLock::new();
    BUILDER.get_or_init(|| Builder::new(&folder()).unwrap_or_else(|e| panic!("{e}")))
}

/// The executable of a program of the suite, which the first that asks builds.
pub fn executable(name: &str, isa: Isa) -> PathBuf {
    type Once = Arc<OnceLock<PathBuf>>;
    static BUILT: Mutex<BTreeMap<String, Once>> = Mutex::new(BTreeMap::new());
    let key = format!("{name} {isa}");
    let once = Once::clone(BUILT.lock().expect("a map").entry(key).or_default());
    let path = once.get_or_init(|| {
        let program = suite::find(name).unwrap_or_else(|e| panic!("{e}"));
        let made = builder().build(program, isa.name());
        made.unwrap_or_else(|e| panic!("{e}"));
        let built = builder().built(program, isa.name(), Size::Small);
        built.expect("it was built").image
    });
    path.clone()
}

/// Whether a program is built by day: for both instruction sets if other tests run it too or it is quickly built, not at
/// all if it takes long, else for one of both in turn.
fn is_built(name: &str, isa: Isa) -> bool {
    let others = [
        "awk",
        "box2d",
        "lemon",
        "phalanx",
        "tcc",
        "tinyscheme",
        "tree-sitter",
    ];
    let long = ["btree", "graph-walk", "sparse-solve"];
    let other = others.iter().position(|other| *other == name);
    let by_day =
        || !long.contains(&name) && other.is_none_or(|at| Isa::ALL[at % Isa::ALL.len()] == isa);
    is_night() || by_day()
}

fn small_run(name: &str, isa: Isa) {
    if !is_built(name, isa) {
        return;
    }
    executable(name, isa);
    let program = suite::find(name).unwrap_or_else(|e| panic!("{e}"));
    let built = builder()
        .built(program, isa.name(), Size::Small)
        .expect("it was built");
    let stdin = built.stdin.as_ref().map(std::fs::read);
    let stdin = stdin.transpose().expect("its input").unwrap_or_default();
    let args: Vec<&str> = built.args.iter().map(String::as_str).collect();
    let expected = qemu(isa, &built.image, &args, &built.root, &stdin);

    let program = Program::built(&built, "small").unwrap_or_else(|e| panic!("{e}"));
    let ran = Lab::of(&program).run().unwrap_or_else(|e| panic!("{e}"));
    let Outcome { code, stdout } = outcome_of(&ran);
    assert_eq!((code, expected.code), (0, 0), "{name} for {isa}");
    assert!(
        stdout == expected.stdout,
        "{name} for {isa}: QEMU prints something else"
    );
    assert_eq!(
        suite::sha256_hex(&stdout),
        built.expected_stdout_sha256,
        "{name} for {isa}: {}",
        String::from_utf8_lossy(&stdout)
    );
    let instructions = ran.instructions();
    assert!(
        (1_000_000..40_000_000).contains(&instructions),
        "{name} for {isa} takes {instructions} instructions"
    );
}

/// `hps programs` with these arguments and this search path.
fn programs(path: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hps"));
    command.arg("programs").args(args).env_remove("CARGO");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().expect("the command runs")
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A folder of its own with the sources of the program that is built fastest.
fn with_sources() -> tempfile::TempDir {
    let program = suite::find("tinyscheme").unwrap_or_else(|e| panic!("{e}"));
    builder().fetch(program).unwrap_or_else(|e| panic!("{e}"));
    let own = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder().join("sources"), own.path().join("sources"));
    std::fs::create_dir_all(&to).expect("a folder");
    for source in &program.sources {
        let file = source.from.file();
        std::fs::copy(from.join(&file), to.join(&file)).expect("its archive");
    }
    own
}

#[test]
fn what_is_missing_is_named_with_its_package() {
    let own = with_sources();
    let folder = own.path().to_str().expect("a name");
    let build = ["build", "tinyscheme", "--folder", folder];
    let run = programs(Some("/nowhere"), &build);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run));
    for part in [
        "tinyscheme for riscv64: `riscv64-linux-gnu-gcc` is missing; install Debian's packages gcc-riscv64-linux-gnu",
        "tinyscheme for alpha: `alpha-linux-gnu-gcc` is missing; install Debian's packages gcc-alpha-linux-gnu",
    ] {
        assert!(
            text(&run).contains(part),
            "`{part}` is missing: {}",
            text(&run)
        );
    }

    // Without the sources it is what fetches them that is missing, and the others go on.
    std::fs::remove_dir_all(own.path().join("sources")).expect("removed");
    let run = programs(
        Some("/nowhere"),
        &[
            "build",
            "tinyscheme",
            "sqlite",
            "--fetch",
            "--folder",
            folder,
        ],
    );
    assert_eq!(run.status.code(), Some(1), "{}", text(&run));
    for part in [
        "tinyscheme: `apt-get` is missing",
        "sqlite: `cargo` is missing",
    ] {
        assert!(
            text(&run).contains(part),
            "`{part}` is missing: {}",
            text(&run)
        );
    }
}

#[test]
fn a_damaged_source_is_refused() {
    let own = with_sources();
    let archive = own
        .path()
        .join("sources/tinyscheme_1.42.svn.2020.06.04.orig.tar.xz");
    let mut bytes = std::fs::read(&archive).expect("the archive");
    bytes[1000] ^= 1;
    std::fs::write(&archive, bytes).expect("written");
    let run = programs(
        None,
        &[
            "build",
            "tinyscheme",
            "--folder",
            own.path().to_str().expect("a name"),
        ],
    );
    assert_eq!(run.status.code(), Some(1), "{}", text(&run));
    for part in [
        "tinyscheme_1.42.svn.2020.06.04.orig.tar.xz: its SHA-256 is",
        "is pinned; delete the file",
    ] {
        assert!(
            text(&run).contains(part),
            "`{part}` is missing: {}",
            text(&run)
        );
    }
}

#[test]
fn an_unknown_name_is_refused_with_those_that_there_are() {
    let run = programs(None, &["build", "quake"]);
    assert_eq!(run.status.code(), Some(2), "{}", text(&run));
    for part in ["no program `quake`", "bzip2", "tree-sitter"] {
        assert!(
            text(&run).contains(part),
            "`{part}` is missing: {}",
            text(&run)
        );
    }
}

/// A built program is kept, listed, compared and measured.
#[test]
fn a_program_is_built_once_and_listed() {
    let program = suite::find("tinyscheme").unwrap_or_else(|e| panic!("{e}"));
    let own = with_sources();
    let folder = own.path().to_str().expect("a name");
    let order = [
        "build",
        "tinyscheme",
        "--isa",
        "riscv64",
        "--small",
        "--folder",
        folder,
    ];
    for state in ["built", "kept"] {
        let run = programs(None, &order);
        assert_eq!(run.status.code(), Some(0), "{}", text(&run));
        let row = text(&run)
            .lines()
            .find(|l| l.starts_with("tinyscheme"))
            .map(str::to_string);
        assert!(row.is_some_and(|row| row.contains(state)), "{}", text(&run));
    }
    let builder = Builder::new(own.path()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(builder.build(program, "riscv64").ok(), Some(Made::Kept));
    let kept = suite::built(own.path(), Size::Small);
    assert_eq!(kept.len(), 1);
    let instructions = kept[0].instructions.expect("it was compared");

    let list = text(&programs(None, &["--suite", "--folder", folder]));
    let row = list.lines().find(|line| line.starts_with("tinyscheme"));
    assert!(
        row.is_some_and(|row| row.contains("riscv64") && !row.contains("alpha")),
        "{list}"
    );
    let measured = programs(
        None,
        &["--suite", "--measure", "--json", "--folder", folder],
    );
    let all: serde_json::Value = serde_json::from_slice(&measured.stdout).expect("JSON");
    expect_valid("hps-suite", &all);
    let all = all.as_array().expect("a list");
    let row = all
        .iter()
        .find(|p| p["name"] == "tinyscheme" && p["isa"] == "riscv64");
    let row = row.expect("it is listed");
    assert_eq!(row["measured"]["instructions"], instructions);
    assert!(row["measured"]["call_pairs"].as_u64() > row["measured"]["methods"].as_u64());
}
