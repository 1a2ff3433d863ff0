//! The disassembler against GNU `objdump` for Alpha: every instruction of every image in
//! `workloads/images/alpha`, of a static program with the C library, of whole shared libraries, and
//! random words over all opcodes.

use std::path::{Path, PathBuf};
use std::process::Command;

use hps_isa::alpha::{decode, disassemble, disassemble_word};
use hps_isa::inst::Op;

/// A small deterministic generator (splitmix64).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }
}

/// Output of a tool of Debian's cross compiler for Alpha.
fn output(program: &str, arguments: &[&str]) -> String {
    let result = Command::new(program).args(arguments).output();
    let result = result.unwrap_or_else(|error| {
        panic!("{program} does not run ({error}); install gcc-alpha-linux-gnu and binutils-alpha-linux-gnu")
    });
    let message = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{program}: {message}");
    String::from_utf8(result.stdout).expect("text")
}

/// One line of `objdump`: address, word, text in our form.
fn parse(line: &str) -> Option<(u64, u32, String)> {
    let mut fields = line.splitn(3, '\t');
    let address = fields.next()?.trim().strip_suffix(':')?;
    let bytes = fields.next()?.trim();
    let text = fields.next()?.trim_end().replace('\t', " ");
    let address = u64::from_str_radix(address, 16).ok()?;
    let bytes: Vec<u8> = bytes
        .split(' ')
        .map_while(|byte| u8::from_str_radix(byte, 16).ok())
        .collect();
    let word = u32::from_le_bytes(bytes.try_into().ok()?);
    // Symbols are put aside; where there is one, the target has no `0x`.
    let text = match text.split_once(" <") {
        Some((plain, _)) => {
            let start = plain.rfind([',', ' ']).map_or(0, |at| at + 1);
            format!("{}0x{}", &plain[..start], &plain[start..])
        }
        None => text,
    };
    Some((address, word, text))
}

/// `objdump` names what is no instruction of a user program on an EV6: VAX floating point, PALcode of
/// the operating system, opcodes reserved for PALcode.
fn is_beyond(word: u32, text: &str) -> bool {
    let vax = |name: &str| {
        ["f", "g"]
            .iter()
            .any(|t| name.starts_with(&format!("sqrt{t}")))
    };
    match word >> 26 {
        0x00 | 0x15 | 0x19 | 0x1b | 0x1d..=0x1f | 0x20 | 0x21 | 0x24 | 0x25 => true,
        0x14 => vax(text) || text.starts_with("itoff"),
        _ => false,
    }
}

/// `objdump` does not know the literals of `sextb` and `sextw`, which the manual has, nor DISE.
fn is_unknown_there(word: u32) -> bool {
    let literal = word & 1 << 12 != 0;
    word >> 26 == 1 || literal && matches!(decode(word).op, Op::AlphaSextb | Op::AlphaSextw)
}

/// How many words were compared, and how many of them were instructions.
#[derive(Default)]
struct Count {
    words: usize,
    instructions: usize,
}

/// Compares every line.
fn compare(listing: &str) -> Count {
    let mut count = Count::default();
    for (address, word, theirs) in listing.lines().filter_map(parse) {
        count.words += 1;
        let ours = disassemble_word(word, address);
        let inst = decode(word);
        if inst.op == Op::Illegal {
            if !is_beyond(word, &theirs) {
                assert_eq!(ours, theirs, "{word:#010x} at {address:#x}");
            }
            continue;
        }
        count.instructions += 1;
        assert_eq!(ours, disassemble(&inst, address));
        if theirs.starts_with(".long") && is_unknown_there(word) {
            continue;
        }
        assert_eq!(ours, theirs, "{word:#010x} at {address:#x}");
    }
    count
}

fn compare_file(path: &Path) -> Count {
    let path = path.to_str().expect("a path of ASCII characters");
    let count = compare(&output("alpha-linux-gnu-objdump", &["-d", "-z", path]));
    let data = count.words - count.instructions;
    assert!(count.instructions > 1000, "{path}: {}", count.words);
    assert!(
        data * 100 < count.words,
        "{path}: {data} words are no instructions"
    );
    count
}

#[test]
fn every_workload_image_agrees() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/images/alpha");
    let images: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}; workloads/build.sh makes it", folder.display()))
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    assert!(images.len() >= 10, "{images:?}");
    for image in &images {
        compare_file(image);
    }
}

#[test]
fn the_c_library_agrees() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let source = folder.path().join("program.c");
    let program = folder.path().join("program");
    let text = "#include <math.h>\n#include <stdio.h>\n\
        int main(int n, char **v) { return printf(\"%g %s\\n\", pow(n, 1.5), v[0]) < 0; }\n";
    std::fs::write(&source, text).expect("a source file");
    let name = |path: &Path| {
        path.to_str()
            .expect("a path of ASCII characters")
            .to_owned()
    };
    let arguments = [
        "-O2",
        "-static",
        "-o",
        &name(&program),
        &name(&source),
        "-lm",
    ];
    output("alpha-linux-gnu-gcc", &arguments);
    let mut instructions = compare_file(&program).instructions;
    for library in ["libc.so.6.1", "libm.so.6.1"] {
        let found = output(
            "alpha-linux-gnu-gcc",
            &[&format!("-print-file-name={library}")],
        );
        instructions += compare_file(Path::new(found.trim())).instructions;
    }
    assert!(instructions > 300_000, "{instructions}");
}

#[test]
fn random_words_agree() {
    let mut random = Random(1);
    let mut words = Vec::new();
    for opcode in 0..64 {
        words.extend((0..1500).map(|_| opcode << 26 | random.word() >> 6));
    }
    // Functions with register 31 in any field, as aliases have, and equal registers.
    for opcode in [0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a, 0x1c] {
        for function in 0..2048 {
            let fields = random.word();
            let pick = |value: u32, bit: u32| {
                if fields >> bit & 1 == 0 {
                    31
                } else {
                    value & 31
                }
            };
            let ra = pick(random.word(), 0);
            let rb = if fields & 8 == 0 {
                ra
            } else {
                pick(random.word(), 1)
            };
            let rc = pick(random.word(), 2);
            words.push(opcode << 26 | ra << 21 | rb << 16 | function << 5 | rc);
            words.push(opcode << 26 | 31 << 21 | 31 << 16 | function << 5 | rc);
        }
    }
    for word in [0x1a_u32 << 26 | 0x3fa_0000 | 1, 0x17 << 26 | 0x3ff_041f] {
        words.extend((0..64).map(|bit| word ^ 1 << (bit % 26) ^ 1 << (bit / 4)));
    }
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(file.path(), bytes).expect("a file of words");
    let path = file.path().to_str().expect("a path of ASCII characters");
    let listing = output(
        "alpha-linux-gnu-objdump",
        &["-D", "-z", "-b", "binary", "-m", "alpha", path],
    );
    let count = compare(&listing);
    assert_eq!(count.words, words.len());
    assert!(count.instructions > 60_000, "{}", count.instructions);
}
