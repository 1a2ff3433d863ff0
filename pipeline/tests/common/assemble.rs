//! Assembly text to a program: labels, `li` and `la` of any value, a static ELF file in memory.

use std::collections::HashMap;
use std::sync::Arc;

use hps_isa::isa::Isa;
use hps_isa::riscv::asm::OperandHook;
use hps_isa::{alpha, riscv};
use hps_system::image::ProgramImage;
use hps_system::process::{Process, ProcessConfig};

/// Where the code lies; it is the entry.
pub const CODE: u64 = 0x1_0000;
/// Where the data lie: initialized bytes, then zeros.
pub const DATA: u64 = 0x100_0000;

/// A program with its labels and what is in its memory.
#[derive(Clone)]
pub struct Program {
    image: Arc<ProgramImage>,
    labels: HashMap<String, u64>,
    words: Vec<(u64, u64)>,
}

struct Labels<'a>(&'a HashMap<String, u64>);

impl OperandHook for Labels<'_> {
    fn register(&self, _: &str) -> Option<u8> {
        None
    }
    fn immediate(&self, token: &str) -> Option<i64> {
        self.0.get(token).map(|&address| address as i64)
    }
}

impl Program {
    /// A program of RISC-V. See [`Program::of`].
    pub fn new(text: &str, data_bytes: u64) -> Program {
        Program::of(Isa::Riscv64, text, data_bytes)
    }

    /// Assembles one instruction or `label:` a line. `#` starts a comment, `.align N` pads with
    /// `nop` to a multiple of N bytes, `data` is the address of the data. `li` and `la` take any value
    /// on RISC-V, and up to 32 bits on Alpha.
    pub fn of(isa: Isa, text: &str, data_bytes: u64) -> Program {
        let mut labels = HashMap::from([("data".to_string(), DATA)]);
        // The first pass places labels with every name at zero, which does not change a length:
        // `la` always takes two instructions.
        let mut pc = CODE;
        for line in lines(text) {
            if let Some(label) = line.strip_suffix(':') {
                let known = labels.insert(label.to_string(), pc);
                assert!(known.is_none(), "label `{label}` is defined twice");
            } else {
                pc += 4 * expand(isa, line, pc).len() as u64;
            }
        }
        let mut code = Vec::new();
        let mut pc = CODE;
        for line in lines(text).filter(|line| !line.ends_with(':')) {
            for one in expand(isa, line, pc) {
                let one = resolve(&one, &labels);
                let inst = match isa {
                    Isa::Riscv64 => riscv::asm::assemble(&one, pc, &Labels(&labels)),
                    Isa::Alpha => alpha::asm::assemble(&one, pc, &Labels(&labels)),
                }
                .unwrap_or_else(|e| panic!("`{one}` (from `{line}`): {e}"));
                let word = isa
                    .encode(&inst)
                    .unwrap_or_else(|| panic!("`{one}` has no encoding"));
                code.extend_from_slice(&word.to_le_bytes());
                pc += 4;
            }
        }
        let file = elf(isa, &code, data_bytes);
        let image = ProgramImage::parse(&file, "test").expect("the image is a program");
        Program {
            image: Arc::new(image),
            labels,
            words: Vec::new(),
        }
    }

    /// Puts 64-bit words into the data, at byte offsets from their start.
    pub fn with_words(mut self, words: impl IntoIterator<Item = (u64, u64)>) -> Program {
        self.words.extend(words);
        self
    }

    /// A fresh process.
    pub fn process(&self) -> Process {
        let mut process = Process::new(self.image.clone(), &ProcessConfig::default())
            .expect("the program fits into memory");
        for &(offset, word) in &self.words {
            process
                .mem
                .write_bytes(DATA + offset, &word.to_le_bytes())
                .expect("the word lies in the data");
        }
        process
    }

    /// The image.
    pub fn image(&self) -> Arc<ProgramImage> {
        self.image.clone()
    }

    /// Address of a label.
    pub fn address(&self, label: &str) -> u64 {
        *self
            .labels
            .get(label)
            .unwrap_or_else(|| panic!("no label `{label}`"))
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|l| l.split('#').next().unwrap_or("").trim())
        .filter(|l| !l.is_empty())
}

/// The instructions that a line stands for.
fn expand(isa: Isa, line: &str, pc: u64) -> Vec<String> {
    let (mnemonic, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match mnemonic {
        ".align" => {
            let to: u64 = rest.trim().parse().expect("a number of bytes");
            vec!["nop".to_string(); ((to - pc % to) % to / 4) as usize]
        }
        "li" | "la" if isa == Isa::Alpha => {
            let (rd, value) = rest.split_once(',').expect("`li rd, value`");
            let (rd, value) = (rd.trim(), value.trim());
            let value = if value == "data" {
                DATA as i64
            } else {
                number(value)
            };
            let low = i64::from(value as i16);
            vec![
                format!("ldah {rd}, {}(zero)", (value - low) >> 16),
                format!("lda {rd}, {low}({rd})"),
            ]
        }
        "li" => {
            let (rd, value) = rest.split_once(',').expect("`li rd, value`");
            load_immediate(rd.trim(), number(value.trim()))
        }
        "la" => {
            let (rd, name) = rest.split_once(',').expect("`la rd, name`");
            let (rd, name) = (rd.trim(), name.trim());
            vec![
                format!("lui {rd}, %hi({name})"),
                format!("addi {rd}, {rd}, %lo({name})"),
            ]
        }
        _ => vec![line.to_string()],
    }
}

fn number(text: &str) -> i64 {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).map(|v| v as i64),
        None => digits.parse(),
    };
    sign * value.unwrap_or_else(|_| panic!("`{text}` is no number"))
}

fn load_immediate(rd: &str, value: i64) -> Vec<String> {
    let low = value << 52 >> 52;
    if value == low {
        return vec![format!("addi {rd}, zero, {value}")];
    }
    if i64::from(value as i32) == value {
        let upper = (value.wrapping_add(0x800) >> 12) & 0xf_ffff;
        return vec![
            format!("lui {rd}, {upper}"),
            format!("addiw {rd}, {rd}, {low}"),
        ];
    }
    let mut out = load_immediate(rd, value.wrapping_sub(low) >> 12);
    out.push(format!("slli {rd}, {rd}, 12"));
    out.push(format!("addi {rd}, {rd}, {low}"));
    out
}

/// Replaces `%hi(name)` and `%lo(name)`.
fn resolve(line: &str, labels: &HashMap<String, u64>) -> String {
    let mut out = line.to_string();
    for part in ["%hi(", "%lo("] {
        if let Some(at) = out.find(part) {
            let end = at + out[at..].find(')').expect("`)` behind the name");
            let name = &out[at + part.len()..end];
            let address = *labels
                .get(name)
                .unwrap_or_else(|| panic!("no label `{name}`")) as i64;
            let low = address << 52 >> 52;
            let value = if part == "%hi(" {
                (address - low) >> 12
            } else {
                low
            };
            out.replace_range(at..=end, &value.to_string());
        }
    }
    out
}

/// A static ELF file: code readable and executable, data readable and writable.
fn elf(isa: Isa, code: &[u8], data_bytes: u64) -> Vec<u8> {
    const HEADERS: u64 = 64 + 2 * 56;
    const OFFSET: u64 = 0x1000;
    let mut file = Vec::new();
    file.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let half = |v: u16, file: &mut Vec<u8>| file.extend_from_slice(&v.to_le_bytes());
    let word = |v: u32, file: &mut Vec<u8>| file.extend_from_slice(&v.to_le_bytes());
    let long = |v: u64, file: &mut Vec<u8>| file.extend_from_slice(&v.to_le_bytes());
    half(2, &mut file); // ET_EXEC
    // EM_RISCV and EM_ALPHA, EF_RISCV_FLOAT_ABI_DOUBLE.
    let (machine, flags) = match isa {
        Isa::Riscv64 => (243, 4),
        Isa::Alpha => (0x9026, 0),
    };
    half(machine, &mut file);
    word(1, &mut file);
    long(CODE, &mut file);
    long(64, &mut file); // program headers
    long(0, &mut file); // no section headers
    word(flags, &mut file);
    for v in [64, 56, 2, 64, 0, 0] {
        half(v, &mut file);
    }
    let code_bytes = code.len() as u64;
    for (flags, offset, address, in_file, in_memory) in [
        (5, OFFSET, CODE, code_bytes, code_bytes),
        (6, 0, DATA, 0, data_bytes.max(8)),
    ] {
        word(1, &mut file); // PT_LOAD
        word(flags, &mut file);
        for v in [offset, address, address, in_file, in_memory, 0x1000] {
            long(v, &mut file);
        }
    }
    assert_eq!(file.len() as u64, HEADERS);
    file.resize(OFFSET as usize, 0);
    file.extend_from_slice(code);
    file
}
