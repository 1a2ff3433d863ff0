//! Random small programs that always end: loops with bounded counts around blocks of everything
//! that user-level RISC-V has, on a small piece of memory, so that stores and loads overlap.

use hps_isa::isa::Isa;

use super::assemble::Program;

/// Bytes of data that programs touch.
pub const DATA_BYTES: u64 = 4096;

/// A generator with a seed (splitmix64).
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Registers that blocks compute with. `s0` to `s3` hold addresses and loop counts, `t5` and `t6`
/// are for addresses, `sp` and `ra` do what they always do.
const INTEGER: [&str; 12] = [
    "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3",
];
const FLOAT: [&str; 8] = ["ft0", "ft1", "ft2", "ft3", "fa0", "fa1", "fa2", "fa3"];

/// Contents that a program may have.
#[derive(Clone, Copy)]
pub struct Mix {
    /// Iterations of the outer loop.
    pub iterations: u64,
    /// Statements in the body.
    pub statements: u64,
    /// Reads and writes of control registers (they serialize, so they make a run slow).
    pub csr: bool,
    /// Instruction-stream synchronisations.
    pub sync: bool,
    /// Loads, stores and atomics.
    pub memory: bool,
    /// Atomics, if there is memory.
    pub atomics: bool,
    /// Division and square roots, which hold their units.
    pub divide: bool,
}

impl Default for Mix {
    fn default() -> Self {
        Mix {
            iterations: 24,
            statements: 60,
            csr: true,
            sync: false,
            memory: true,
            atomics: true,
            divide: true,
        }
    }
}

struct Writer {
    text: String,
    random: Random,
    labels: usize,
    functions: u64,
    mix: Mix,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn int(&mut self) -> &'static str {
        self.random.pick(&INTEGER)
    }

    fn float(&mut self) -> &'static str {
        self.random.pick(&FLOAT)
    }

    fn alu(&mut self) {
        let (d, a, b) = (self.int(), self.int(), self.int());
        let line = match self.random.below(5) {
            0 => {
                let op = self
                    .random
                    .pick(&["addi", "xori", "ori", "andi", "slti", "addiw"]);
                format!("{op} {d}, {a}, {}", self.random.below(4096) as i64 - 2048)
            }
            1 => {
                let op = self.random.pick(&["slli", "srli", "srai"]);
                format!("{op} {d}, {a}, {}", self.random.below(64))
            }
            2 => {
                let all = ["mul", "mulh", "mulhu", "mulw", "div", "rem", "divu", "remw"];
                let op = self
                    .random
                    .pick(&all[..if self.mix.divide { 8 } else { 4 }]);
                format!("{op} {d}, {a}, {b}")
            }
            _ => {
                let op = self.random.pick(&[
                    "add", "sub", "xor", "or", "and", "sltu", "addw", "sll", "subw",
                ]);
                format!("{op} {d}, {a}, {b}")
            }
        };
        self.line(&line);
    }

    /// An address into the data: fixed, or one that depends on a register. Returns base and offset.
    fn address(&mut self, align: u64) -> (String, u64) {
        let span = 96;
        let offset = self.random.below(span) / align * align;
        if self.random.below(2) == 0 {
            return ("s0".to_string(), offset);
        }
        let r = self.int();
        self.line(&format!("andi t5, {r}, {}", 63 / align * align));
        self.line("add t5, t5, s0");
        ("t5".to_string(), offset)
    }

    fn memory(&mut self) {
        if !self.mix.memory {
            return self.alu();
        }
        let (base, offset) = self.address(1);
        let line = match self.random.below(8) {
            0..=3 => {
                let op = self
                    .random
                    .pick(&["lb", "lbu", "lh", "lhu", "lw", "lwu", "ld", "ld"]);
                format!("{op} {}, {offset}({base})", self.int())
            }
            4..=6 => {
                let op = self.random.pick(&["sb", "sh", "sw", "sd", "sd"]);
                format!("{op} {}, {offset}({base})", self.int())
            }
            _ => {
                let op = self.random.pick(&["fld", "fsd", "flw", "fsw"]);
                format!("{op} {}, {offset}({base})", self.float())
            }
        };
        self.line(&line);
    }

    fn atomic(&mut self) {
        if !self.mix.atomics {
            return self.memory();
        }
        let (base, offset) = self.address(8);
        self.line(&format!("addi t6, {base}, {offset}"));
        let (d, s) = (self.int(), self.int());
        if self.random.below(3) > 0 {
            let op =
                self.random
                    .pick(&["amoadd.d", "amoswap.w", "amoxor.d", "amomax.w", "amominu.d"]);
            self.line(&format!("{op} {d}, {s}, (t6)"));
            return;
        }
        self.line(&format!("lr.d {d}, (t6)"));
        if self.random.below(2) == 0 {
            self.alu();
        }
        self.line(&format!("sc.d {d}, {s}, (t6)"));
    }

    fn float_operation(&mut self) {
        let (d, a, b, c) = (self.float(), self.float(), self.float(), self.float());
        let (x, y) = (self.int(), self.int());
        let line = match self.random.below(8) {
            0 => format!("fmadd.d {d}, {a}, {b}, {c}"),
            1 if self.mix.divide => format!("fdiv.d {d}, {a}, {b}"),
            2 if self.mix.divide => format!("fsqrt.d {d}, {a}"),
            3 => format!("fcvt.d.l {d}, {x}"),
            4 => format!("fcvt.l.d {y}, {a}, rtz"),
            5 => format!("feq.d {y}, {a}, {b}"),
            6 => format!("fcvt.s.d {d}, {a}"),
            _ => {
                let op = self
                    .random
                    .pick(&["fadd.d", "fsub.d", "fmul.d", "fmin.d", "fsgnj.d", "fadd.s"]);
                format!("{op} {d}, {a}, {b}")
            }
        };
        self.line(&line);
    }

    fn csr(&mut self, sync: bool) {
        let (d, a) = (self.int(), self.int());
        let line = match self.random.below(5) {
            0 => format!("rdinstret {d}"),
            1 => format!("fsflags {d}, {a}"),
            2 if sync => "fence.i".to_string(),
            _ => format!("frflags {d}"),
        };
        self.line(&line);
    }

    /// A branch over a few statements, its direction in the data.
    fn branch(&mut self, depth: u64) {
        let over = self.label();
        let (a, b) = (self.int(), self.int());
        match self.random.below(3) {
            0 => {
                self.line(&format!(
                    "andi t6, {a}, {}",
                    1u64 << self.random.clone().below(6)
                ));
                self.line(&format!("bnez t6, {over}"));
            }
            1 => {
                let op = self.random.pick(&["beq", "bne", "blt", "bgeu"]);
                self.line(&format!("{op} {a}, {b}, {over}"));
            }
            _ => {
                // Both sides: an if with an else.
                let end = self.label();
                self.line(&format!("bltz {a}, {over}"));
                self.block(1 + depth, 2);
                self.line(&format!("j {end}"));
                self.line(&format!("{over}:"));
                self.block(1 + depth, 2);
                self.line(&format!("{end}:"));
                return;
            }
        }
        let count = 1 + self.random.below(3);
        self.block(depth + 1, count);
        self.line(&format!("{over}:"));
    }

    fn call(&mut self) {
        let n = self.random.below(self.functions);
        match self.random.below(3) {
            0 => {
                self.line(&format!("la t5, F{n}"));
                self.line("jalr t5");
            }
            1 if self.functions > 1 => {
                // One of two, by the data.
                let (m, r) = (self.random.below(self.functions), self.int());
                let (odd, go) = (self.label(), self.label());
                self.line(&format!("andi t6, {r}, 4"));
                self.line(&format!("bnez t6, {odd}"));
                self.line(&format!("la t5, F{n}"));
                self.line(&format!("j {go}"));
                self.line(&format!("{odd}:"));
                self.line(&format!("la t5, F{m}"));
                self.line(&format!("{go}:"));
                self.line("jalr t5");
            }
            _ => self.line(&format!("call F{n}")),
        }
    }

    fn statement(&mut self, depth: u64, mix: Option<Mix>) {
        match self.random.below(20) {
            0..=4 => self.alu(),
            5..=10 => self.memory(),
            11..=12 => self.float_operation(),
            13..=15 if depth < 3 => self.branch(depth),
            16 => self.atomic(),
            17..=18 if mix.is_some() => self.call(),
            19 if mix.is_some_and(|m| m.csr) && self.random.below(3) == 0 => {
                self.csr(mix.is_some_and(|m| m.sync))
            }
            _ => self.memory(),
        }
    }

    fn block(&mut self, depth: u64, count: u64) {
        for _ in 0..count {
            self.statement(depth, None);
        }
    }
}

/// A program of its own for every seed. It ends with a breakpoint.
pub fn program(seed: u64, mix: Mix) -> Program {
    Program::new(&text(seed, mix), DATA_BYTES)
}

/// The text of the program.
pub fn text(seed: u64, mix: Mix) -> String {
    let mut w = Writer {
        text: String::new(),
        random: Random(seed),
        labels: 0,
        functions: 4,
        mix,
    };
    for r in INTEGER {
        let value = w.random.next() as i64 >> w.random.below(60);
        w.line(&format!("li {r}, {value}"));
    }
    for (i, r) in FLOAT.iter().enumerate() {
        w.line(&format!("fcvt.d.l {r}, {}", INTEGER[i]));
    }
    w.line("la s0, data");
    w.line(&format!("li s1, {}", mix.iterations));
    w.line("main:");
    for _ in 0..mix.statements {
        w.statement(0, Some(mix));
    }
    w.line("addi s1, s1, -1");
    // The body may be longer than a branch reaches.
    w.line("beqz s1, end");
    w.line("j main");
    w.line("end:");
    w.line("ebreak");
    for f in 0..w.functions {
        w.line(&format!("F{f}:"));
        // The return address goes to memory.
        let nested = f + 1 < w.functions && w.random.below(2) == 0 && mix.memory;
        if nested {
            w.line("addi sp, sp, -16");
            w.line("sd ra, 0(sp)");
        }
        let count = 2 + w.random.below(4);
        w.block(1, count);
        if nested {
            w.line(&format!("call F{}", f + 1));
            w.line("ld ra, 0(sp)");
            w.line("addi sp, sp, 16");
        }
        w.line("ret");
    }
    w.text
}

/// Lines that random blocks are made of, with the registers left open: `D` is a destination, `S` a source, `F` and `G`
/// are of floating point, `L` and `M` displacements of loads and stores.
const RISCV_LINES: [&str; 26] = [
    "add D, S, S",
    "addi D, S, 5",
    "sub D, S, S",
    "sll D, S, S",
    "srli D, S, 3",
    "xor D, S, S",
    "sltu D, S, S",
    "mul D, S, S",
    "mulw D, S, S",
    "mulhu D, S, S",
    "div D, S, S",
    "ld D, L(s0)",
    "lw D, L(s0)",
    "ld D, L(s0)",
    "sd S, M(s0)",
    "sw S, M(s0)",
    "fadd.d F, G, G",
    "fsub.d F, G, G",
    "fmul.d F, G, G",
    "fdiv.d F, G, G",
    "fdiv.s F, G, G",
    "fsgnj.d F, G, G",
    "fcvt.d.l F, S",
    "fmadd.d F, G, G, G",
    "fld F, L(s0)",
    "fsd G, M(s0)",
];

const ALPHA_LINES: [&str; 24] = [
    "addq S, S, D",
    "addl S, 5, D",
    "subq S, S, D",
    "sll S, 3, D",
    "extbl S, S, D",
    "xor S, S, D",
    "cmpult S, S, D",
    "mulq S, S, D",
    "mull S, S, D",
    "umulh S, S, D",
    "cmoveq S, S, D",
    "s4addq S, S, D",
    "ldq D, L(s0)",
    "ldl D, L(s0)",
    "ldq D, L(s0)",
    "stq S, M(s0)",
    "stl S, M(s0)",
    "addt/su G, G, F",
    "subt/su G, G, F",
    "mult/su G, G, F",
    "divt/su G, G, F",
    "cpys G, G, F",
    "ldt F, L(s0)",
    "stt G, M(s0)",
];

/// A random line of a block: arithmetic, loads and stores behind `s0`, floating point, without a transfer of control.
pub fn line(isa: Isa, random: &mut Random) -> String {
    let (lines, integer, float): (&[&str], _, _) = match isa {
        Isa::Riscv64 => (
            &RISCV_LINES,
            ["a0", "a1", "a2", "a3", "a4"],
            ["fa0", "fa1", "fa2", "fa3"],
        ),
        Isa::Alpha => (
            &ALPHA_LINES,
            ["t0", "t1", "t2", "t3", "t4"],
            ["$f1", "$f2", "$f3", "$f4"],
        ),
    };
    let shape = random.pick(lines);
    shape
        .split_inclusive(|c: char| !c.is_ascii_uppercase())
        .map(|part| {
            let Some(place) = part.chars().next().filter(char::is_ascii_uppercase) else {
                return part.to_string();
            };
            let text = match place {
                'D' | 'S' => random.pick(&integer).to_string(),
                'F' | 'G' => random.pick(&float).to_string(),
                'L' => (8 * random.below(32)).to_string(),
                // Stores write elsewhere, so that no load waits for one.
                _ => (1024 + 8 * random.below(32)).to_string(),
            };
            part.replacen(place, &text, 1)
        })
        .collect()
}
