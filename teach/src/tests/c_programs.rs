//! Programs in C: those of the page, and what the compiler refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hps_lab::{Isa, host};

use super::*;
use crate::c::{RUNTIME, compile, translate};

/// The programs of the page: the names of their texts in C.
fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/c");
    let entries = fs::read_dir(&folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut names: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|of| of == "c"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 20);
    names
}

fn read(name: &Path) -> String {
    fs::read_to_string(name).unwrap_or_else(|e| panic!("{}: {e}", name.display()))
}

fn output(text: &str) -> String {
    let (_, summary) = started(assembly(text));
    assert_eq!(summary.end, "exit", "{}", summary.said);
    summary.output
}

#[test]
fn programs_in_c_print_what_they_say_and_name_their_lines() {
    for name in programs() {
        let c = read(&name);
        let said = c.lines().nth(1);
        let said = said.and_then(|line| line.strip_prefix("// Prints: "));
        let said = said.unwrap_or_else(|| panic!("{}: what it prints", name.display()));
        let text = read(&name.with_extension("s"));
        for line in text.lines().filter_map(|line| line.rsplit_once("# ")) {
            let Ok(number) = line.1.parse::<usize>() else {
                continue;
            };
            let of = c.lines().nth(number - 1);
            assert!(
                of.is_some_and(|of| !of.trim().is_empty()),
                "{}: line {number}",
                name.display()
            );
        }
        let printed = output(&(text + RUNTIME));
        let printed: Vec<&str> = printed.split_whitespace().collect();
        let said: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(printed, said, "{}", name.display());
    }
}

/// What QEMU prints when it runs a program of the assembler.
fn by_qemu(text: &str) -> String {
    let assembled = hps_isa::asm::program::assemble(Isa::Riscv64, text).expect("a program");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program");
    host::write_executable(&file, &assembled.file).expect("the file can be written");
    let qemu = host::qemu(Isa::Riscv64).expect("install Debian's qemu-user");
    let ran = Command::new(qemu).arg(&file).stdin(Stdio::null()).output();
    String::from_utf8(ran.expect("QEMU runs").stdout).expect("text")
}

/// The assembly of the page is what the compiler makes today, or does the same: compilers differ. With UPDATE_C=1 it is
/// written anew.
#[test]
fn the_compiler_makes_the_same_programs_anew() {
    for name in programs() {
        let assembly = name.with_extension("s");
        let text = translate(&read(&name)).unwrap_or_else(|e| panic!("{}: {e:?}", name.display()));
        if std::env::var_os("UPDATE_C").is_some() {
            fs::write(&assembly, &text).expect("the file can be written");
        }
        let anew = text + RUNTIME;
        let printed = output(&anew);
        assert_eq!(
            printed,
            output(&(read(&assembly) + RUNTIME)),
            "{}",
            name.display()
        );
        assert_eq!(printed, by_qemu(&anew), "{}", name.display());
    }
}

/// A program with what the twenty do not have: a jump table, initializers and copies of structures, static data, text with
/// bytes in octal, floating point, atomics, and names that GCC makes up.
const MANY: &str = r#"
struct many { long all[40]; };
void print(long);
long write(long file, const char *text, long length);
static long counts[20];
static const char *const names[] = {"one\n", "tw\303\266 .L5\n"};
struct many more(struct many one) { one.all[3]++; return one; }
int of(int x) {
  switch (x) { case 0: return 5; case 1: return 9; case 2: return 77; case 3: return 1; case 4: return 12; case 5: return 8; }
  return 0;
}
int main(void) {
  struct many one = {0};
  static int calls;
  for (int i = 0; i < 20; i++) counts[i] = of(i);
  one = more(one);
  print(one.all[3] + counts[4] * 100);
  write(1, names[counts[3]], 9);
  double half = counts[0] / 2.0;
  print((long)(half * 10));
  __atomic_fetch_add(&calls, 7, __ATOMIC_SEQ_CST);
  print(++calls);
  return 0;
}
"#;

#[test]
fn a_program_with_most_forms_of_c_prints_what_it_should() {
    let text = compile(MANY).expect("a program");
    assert_eq!(output(&text), "1201\ntwö .L5\n25\n8\n");
    assert_eq!(output(&text), by_qemu(&text));
    let line = text.lines().find(|line| line.contains("amoadd"));
    assert!(line.is_some_and(|line| line.ends_with("# 21")), "{line:?}");
}

#[test]
fn what_cannot_be_compiled_says_where_and_why() {
    let cases = [
        (
            "int main(void) {\n  return x;\n}\n",
            "undeclared",
            Some(2),
            Some(10),
        ),
        (
            "int helper(void) { return 1; }\n",
            "no function `main`",
            None,
            None,
        ),
        (
            "int printf(const char *, ...);\nint main(void) {\n  return printf(\"%d\", 3);\n}\n",
            "no function `printf`",
            Some(3),
            None,
        ),
        (
            "#include <missing.h>\nint main(void) { return 0; }\n",
            "missing.h",
            Some(1),
            Some(10),
        ),
        (
            "void print(long n) {}\nint main(void) { return 0; }\n",
            "`print` is there already",
            None,
            None,
        ),
        (
            "__thread int own;\nint main(void) {\n  return own;\n}\n",
            "is refused",
            Some(3),
            None,
        ),
    ];
    for (c, says, line, column) in cases {
        let problem = compile(c).expect_err(c);
        assert!(problem.message.contains(says), "{c}: {problem:?}");
        assert_eq!(problem.place.as_deref(), Some("c"), "{c}");
        assert_eq!(
            (problem.line, problem.column),
            (line, column),
            "{c}: {problem:?}"
        );
    }
    // Each macro is twice the one before: the compiler runs out of memory or time.
    let twice = |at: u32| format!("#define A{} A{at} A{at}\n", at + 1);
    let doubled: String = (0..40).map(twice).collect();
    let bomb = format!("#define A0 1+\n{doubled}int main(void) {{ return A40 0; }}\n");
    let problem = compile(&bomb).expect_err("too much");
    assert!(problem.message.contains("10 seconds"), "{problem:?}");
    // A text that would become more than the page takes ends the compiler.
    let large = "long all[] = {1";
    let large = large.to_owned() + &",1".repeat(600_000) + "};\nint main(void) { return 0; }\n";
    let problem = compile(&large).expect_err("too much");
    assert!(problem.message.contains("4 MiB"), "{problem:?}");
}

#[test]
fn a_session_compiles_if_it_has_a_compiler() {
    let c = "void print(long);\nint main(void) { print(42); return 0; }\n".to_owned();
    let request = Request::Compile { c: c.clone() };
    let problem = ask!(Session::new(), request.clone(), Answer::Problem);
    assert!(problem.message.contains("hps teach --serve"), "{problem:?}");
    let mut session = Session::serving(None, compile);
    assert!(ask!(session, Request::Catalog, Answer::Catalog).compiles);
    let Answer::Compiled { text } = session.answer(request) else {
        panic!("a program");
    };
    let mut setup = assembly("");
    setup.program = ProgramChoice::Assembly {
        isa: "riscv64".to_owned(),
        text,
        c: Some(c),
    };
    assert_eq!(
        ask!(session, Request::Run { setup }, Answer::Run).output,
        "42\n"
    );
}
