//! Real programs, built from Debian's sources against glibc, and a C++ program that throws: on each
//! instruction set they do the same under QEMU, on the functional machine and on the pipeline.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::guest::{Outcome, Random, captured, machine, outcome_of, qemu};
use hps_lab::Lab;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::Stdin;
use hps_system::process::ProcessConfig;
use tempfile::TempDir;

/// The executable of that name for an instruction set, from the suite if it is there.
pub fn program(name: &str, isa: Isa) -> PathBuf {
    if hps_workloads::suite::find(name).is_ok() {
        return crate::suite::executable(name, isa);
    }
    let file = match isa {
        Isa::Riscv64 => name.to_owned(),
        Isa::Alpha => format!("{name}-alpha"),
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/real-programs")
        .join(file);
    assert!(
        path.exists(),
        "{} is missing: run scripts/real-programs.sh",
        path.display()
    );
    path
}

/// A folder with these files, which the guest sees as `/` and where QEMU starts.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("a file");
    }
    folder
}

fn lab(name: &str, isa: Isa, args: &[&str], root: &Path, stdin: &[u8]) -> Lab<'static> {
    let image = ProgramImage::load(&program(name, isa)).unwrap_or_else(|e| panic!("{e}"));
    let config = ProcessConfig {
        root: Some(root.to_path_buf()),
        writable: true,
        stdin: Stdin::Bytes(stdin.to_vec()),
        ..captured(&[&[name], args].concat())
    };
    Lab::image(Arc::new(image)).configured(config)
}

/// Runs a program three times, each in a fresh folder with these files, and compares what it
/// prints, its exit code, and the files that it leaves.
fn same_everywhere(
    (name, isa): (&str, Isa),
    args: &[&str],
    files: &[(&str, &[u8])],
    stdin: &[u8],
) -> Outcome {
    let what = format!("{name} {args:?} for {isa}");
    let [of_qemu, of_functional, of_pipeline] = [(); 3].map(|()| folder(files));
    let expected = qemu(isa, &program(name, isa), args, of_qemu.path(), stdin);

    let functional = lab(name, isa, args, of_functional.path(), stdin).run();
    let functional = functional.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        outcome_of(&functional),
        expected,
        "{what} on the functional machine"
    );
    // Small inputs are the point: the pipeline runs them in a test.
    let instructions = functional.instructions();
    assert!(
        instructions < 12_000_000,
        "{what} takes {instructions} instructions"
    );

    let timed = lab(name, isa, args, of_pipeline.path(), stdin);
    let timed = timed.on_machine(&machine()).run();
    let timed = timed.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome_of(&timed), expected, "{what} on the pipeline");
    let left = files_of(of_qemu.path());
    assert_eq!(
        files_of(of_functional.path()),
        left,
        "{what}: files of the functional machine"
    );
    assert_eq!(
        files_of(of_pipeline.path()),
        left,
        "{what}: files of the pipeline"
    );
    expected
}

fn files_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("a file");
            let bytes = std::fs::read(entry.path()).expect("a file");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    files.sort();
    files
}

/// Text with repetitions at many distances, and a stretch of noise.
fn input(bytes: usize) -> Vec<u8> {
    let mut random = Random(7);
    let words = [
        "burst",
        "sparsity",
        "profile",
        "of a",
        "replaces",
        "the",
        "\n",
        "pipeline",
        "0123456789",
    ];
    let mut text = Vec::new();
    while text.len() < bytes * 7 / 8 {
        text.extend(words[random.below(words.len())].bytes());
        text.push(b' ');
    }
    while text.len() < bytes {
        text.push(random.next() as u8);
    }
    text
}

/// Makes of each function, which takes an instruction set, a test on each of them. Attributes are of the test on Alpha.
macro_rules! on_both {
    ($($(#[$of_alpha:meta])* $name:ident)*) => {
        $(mod $name {
            use hps_system::image::Isa;
            #[test]
            fn on_riscv64() {
                super::$name(Isa::Riscv64);
            }
            #[test]
            $(#[$of_alpha])*
            fn on_alpha() {
                super::$name(Isa::Alpha);
            }
        })*
    };
}

on_both! {
    #[ignore = "compressors take long: scripts/nightly.sh"]
    bzip2_compresses_and_decompresses
    #[ignore = "compressors take long: scripts/nightly.sh"]
    gzip_compresses_and_decompresses
    lua_runs_a_script
    lua_reports_an_error_that_nobody_catches
    exceptions_pass_through_frames
}

fn bzip2_compresses_and_decompresses(isa: Isa) {
    let text = input(5_000);
    let packed = same_everywhere(
        ("bzip2", isa),
        &["-c", "-9", "input"],
        &[("input", &text)],
        b"",
    );
    assert_eq!(packed.code, 0);
    assert!(packed.stdout.starts_with(b"BZh9") && packed.stdout.len() < text.len() / 2);
    let unpacked = same_everywhere(("bzip2", isa), &["-d", "-c"], &[], &packed.stdout);
    assert!(
        unpacked
            == Outcome {
                code: 0,
                stdout: text.clone()
            },
        "{} bytes came back",
        unpacked.stdout.len()
    );

    // In place: the guest creates one file and removes the other.
    same_everywhere(("bzip2", isa), &["input"], &[("input", &text[..2000])], b"");
    let mut damaged = packed.stdout;
    damaged[100] ^= 1;
    let refused = same_everywhere(("bzip2", isa), &["-d", "-c"], &[], &damaged);
    assert_eq!(refused.code, 2, "{refused:?}");
}

fn gzip_compresses_and_decompresses(isa: Isa) {
    let text = input(6_000);
    let program = ("gzip", isa);
    let packed = same_everywhere(program, &["-c", "-9", "-n"], &[], &text);
    assert_eq!(packed.code, 0);
    assert!(packed.stdout.starts_with(b"\x1f\x8b") && packed.stdout.len() < text.len() / 2);
    let unpacked = same_everywhere(program, &["-d", "-c"], &[], &packed.stdout);
    assert!(unpacked.code == 0 && unpacked.stdout == text);

    let mut damaged = packed.stdout;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let refused = same_everywhere(program, &["-d", "-c"], &[], &damaged);
    assert_eq!(refused.code, 1, "{refused:?}");
}

const SCRIPT: &str = r##"
-- Closures and upvalues.
local function counter(step)
  local n = 0
  return function() n = n + step; return n end
end
local a, b = counter(1), counter(10)
for _ = 1, 5 do a(); b() end
print(a(), b())

-- Numbers and their texts.
print(string.format("%5.2f|%-8s|%08x|%q|%g|%e", math.pi, "ab", 48879, "x\ny", 1e100, 1 / 3))
print(7 // 2, -7 // 2, 7 % -3, 2 ^ 0.5, 10 / 4, 1 << 40, 5 // 0.0, -(0 / 0) ~= 0)
print(math.sin(1), math.exp(2.5), math.log(10), math.floor(-3.5), math.maxinteger, math.tointeger(3.0))
print(math.fmod(-7, 3), math.sqrt(2), 0.1 + 0.2, 1e15, 2^53, math.huge, tostring(3) == "3")

-- Tables, sorting, iterators, metatables, coroutines, garbage.
local t = {}
for i = 1, 200 do t[i] = (i * 7919) % 211 end
table.sort(t, function(x, y) return x > y end)
print(t[1], t[100], #t, table.concat(t, ",", 1, 10), select("#", table.unpack(t, 1, 20)))
local v = setmetatable({}, { __index = function(_, k) return k .. "!" end, __call = function(_, x) return x * 2 end })
print(v.missing, v(21))
local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i * i) end end)
print(co(), co(), co())
for i = 1, 300 do t[i % 50] = { i, tostring(i) } end
collectgarbage()
local words = {}
for w in ("the quick brown fox jumps over the lazy dog"):gmatch("%a+") do words[#words + 1] = w:upper():reverse() end
print(table.concat(words, " "), ("x=1, y=2"):gsub("(%w)=(%w)", "%2=%1"))

-- Errors.
print(pcall(error, { code = 1 }) == false, select(2, pcall(function() local x = nil; return x.y end)))
print(xpcall(function() error("deep", 0) end, function(m) return "handled " .. m end))
print(pcall(string.rep, "x", -1), select(2, load("x = = 1")))

-- Input, output, files.
for line in io.lines() do io.write("[", line, "]") end
local out = assert(io.open("out.txt", "w"))
out:write("line 1\n", 2, "\n"); out:close()
local back = assert(io.open("out.txt")); print(back:read("l"), back:read("n"), back:seek("end")); back:close()
print(io.open("missing.txt"))
print(arg[0], arg[1], #arg, os.getenv("HOME"))
assert(os.remove("gone.txt"))
os.exit(42)
"##;

fn lua_runs_a_script(isa: Isa) {
    let files = [("script.lua", SCRIPT.as_bytes()), ("gone.txt", b"x")];
    let run = same_everywhere(
        ("lua", isa),
        &["script.lua", "argument"],
        &files,
        b"first\nsecond",
    );
    let text = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.code, 42, "{text}");
    for part in [
        "6\t60",
        " 3.14|ab      |0000beef|",
        "handled deep",
        "[first][second]",
        "1\t4\t9",
        "script.lua\targument\t1",
    ] {
        assert!(text.contains(part), "`{part}` is missing in {text}");
    }
}

fn lua_reports_an_error_that_nobody_catches(isa: Isa) {
    let run = same_everywhere(
        ("lua", isa),
        &["-e", "print('before'); error('no')"],
        &[],
        b"",
    );
    assert_eq!((run.code, run.stdout.as_slice()), (1, &b"before\n"[..]));
}

/// Through several frames, with destructors on the way; run-time types; the library's own.
fn exceptions_pass_through_frames(isa: Isa) {
    let run = same_everywhere(("exceptions", isa), &["1"], &[], b"");
    let text = String::from_utf8_lossy(&run.stdout);
    for part in [
        "unwound 0\nunwound 1\nunwound 2\nunwound 3\nunwound 4\noverflow 7\nmiddle 0\nouter 0\n",
        "exact, in eighths 1",
        "a negative radius 5",
        "bad alloc 3",
        "inside it 9",
        "alive 0",
    ] {
        assert!(text.contains(part), "`{part}` is missing in {text}");
    }
    assert!(run.code > 0, "{run:?}");
}
