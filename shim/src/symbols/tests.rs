//! Against real files: this test itself, and programs that the host's compiler makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

#[test]
fn our_own_functions_are_found() {
    let mut symbols = Symbolizer::of_process(std::process::id()).expect("we run");
    let here = our_own_functions_are_found as *const () as usize as u64;
    let found = symbols.resolve(here + 3);
    let function = found.function.as_deref().unwrap_or_default();
    assert!(
        function.ends_with("our_own_functions_are_found"),
        "{found:?}"
    );
    assert_eq!(found.entry, here);
    let (file, line) = found.line.expect("tests have lines");
    assert!(file.ends_with("symbols/tests.rs"), "{file}");
    assert!((5..40).contains(&line), "{line}");
    assert_eq!(symbols.resolve(8).to_string(), "0x8");
}

fn compile(folder: &Path, source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let file = folder.join(format!("{name}.cpp"));
    std::fs::write(&file, source).expect("a source");
    let out = folder.join(name);
    let output = Command::new("c++")
        .args(["-O1", "-g", "-fno-inline", "-o"])
        .arg(&out)
        .arg(&file)
        .args(flags)
        .output()
        .expect("the host's compiler (Debian: build-essential)");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    out
}

const LIBRARY: &str = "\
namespace shapes {
int area(int side) { return side * side; }
}
";
const PROGRAM: &str = "\
#include <cstdio>
#include <cstring>
namespace shapes { int area(int); }
static int twice(int n) { return 2 * n; }
int main() {
  FILE *maps = fopen(\"/proc/self/maps\", \"r\");
  char line[4096];
  printf(\"%p %p\\n\", (void *)twice, (void *)shapes::area);
  while (fgets(line, sizeof line, maps)) fputs(line, stdout);
  return twice(shapes::area(0));
}
";

/// Runs a program of ours, and gives the addresses of `twice` and `shapes::area` and its map.
fn addresses(program: &Path) -> (u64, u64, ProcessMaps) {
    let output = Command::new(program).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let (first, map) = text.split_once('\n').expect("lines");
    let (twice, area) = first.split_once(' ').expect("two addresses");
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hex");
    (number(twice), number(area), ProcessMaps::parse(map))
}

#[test]
fn libraries_and_executables_of_both_kinds_are_resolved() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = compile(
        folder.path(),
        LIBRARY,
        "libshapes.so",
        &["-shared", "-fPIC", "-Wl,--build-id=0x1234abcd"],
    );
    let library = library.to_str().expect("a name");
    let rpath = format!("-Wl,-rpath,{}", folder.path().display());
    for (name, kind) in [
        ("pie", ["-fPIE", "-pie"]),
        ("fixed", ["-fno-pie", "-no-pie"]),
    ] {
        let flags = [kind[0], kind[1], library, &rpath];
        let program = compile(folder.path(), PROGRAM, name, &flags);
        let (twice, area, maps) = addresses(&program);
        let mut symbols = Symbolizer::new(maps);
        let found = symbols.resolve(twice + 1);
        assert_eq!(found.function.as_deref(), Some("twice(int)"), "{name}");
        assert_eq!(found.entry, twice, "{name}");
        let (file, line) = found.line.expect("debug information");
        assert!(file.ends_with(&format!("{name}.cpp")), "{file}");
        assert_eq!(line, 4, "{name}");
        assert_eq!(found.module.as_deref(), program.to_str(), "{name}");
        // A fixed executable takes the address of a library's function from its own stub.
        if name == "pie" {
            let found = symbols.resolve(area);
            assert_eq!(found.function.as_deref(), Some("shapes::area(int)"));
            assert_eq!(found.module.as_deref(), Some(library));
            assert_eq!(found.build_id.as_deref(), Some("1234abcd"));
            assert_eq!(found.line.map(|l| l.1), Some(2));
        }
    }
}

#[test]
fn a_replaced_file_gives_no_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = compile(folder.path(), LIBRARY, "lib.so", &["-shared", "-fPIC"]);
    let flags = [library.to_str().expect("a name"), "-fPIE", "-pie"];
    let rpath = format!("-Wl,-rpath,{}", folder.path().display());
    let program = compile(
        folder.path(),
        PROGRAM,
        "program",
        &[flags[0], flags[1], flags[2], &rpath],
    );
    let (twice, _, maps) = addresses(&program);
    // Another file, with other addresses, under the same name.
    std::fs::rename(&library, folder.path().join("kept")).expect("renamed");
    std::fs::rename(&program, &library).expect("renamed");
    std::fs::copy(folder.path().join("kept"), &program).expect("copied");
    let found = Symbolizer::new(maps.clone()).resolve(twice);
    assert_eq!(found.function, None, "{found:?}");
    assert_eq!(found.module.as_deref(), program.to_str());
    assert!(found.to_string().starts_with("program+0x"), "{found}");

    // A newer map adds and replaces; what it does not speak of stays.
    let mut symbols = Symbolizer::new(maps.clone());
    symbols.update(&ProcessMaps::parse("1000-2000 r-xp 0 00:00 0 [new]"));
    assert_eq!(symbols.resolve(0x1000).module.as_deref(), Some("[new]"));
    assert_eq!(symbols.resolve(twice).module.as_deref(), program.to_str());
}
