//! Random blocks and register sets.

use hps_isa::alpha::decode;
use hps_isa::inst::{Inst, Op, reg};

use super::FPCR_REGISTER;
use super::qemu::{is_arithmetic, is_floating};

pub type Block = Vec<Inst>;

/// State with which a block starts.
pub struct Set {
    /// The software control word.
    pub control: u64,
    pub fpcr: u64,
    /// `f0` to `f30`.
    pub registers: [u64; 31],
}

/// Registers that hold finite normal numbers, three of them S_floating ones.
const TAME: u64 = 6;
/// Registers that hold anything.
const WILD: std::ops::Range<u64> = TAME..14;
/// Registers that hold values for `mt_fpcr`.
const FPCRS: [u8; 2] = [14, 15];
/// Registers that are written.
const WRITTEN: std::ops::Range<u64> = 16..FPCR_REGISTER as u64;

/// `mt_fpcr` and `mf_fpcr` of register 0.
const MT_FPCR: u32 = 0x5c00_0480;
const MF_FPCR: u32 = 0x5c00_04a0;

/// A small deterministic generator (splitmix64).
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    fn sign(&mut self) -> u64 {
        self.next() & 1 << 63
    }

    /// T_floating with a biased exponent from a range, its fraction random, sparse or dense.
    fn double(&mut self, exponents: std::ops::Range<u64>) -> u64 {
        let fraction = match self.below(4) {
            0 => 0,
            1 => 1 << self.below(52) | 1 << self.below(52),
            2 => !(1 << self.below(52)),
            _ => self.next(),
        };
        self.sign() | self.within(exponents) << 52 | fraction & ((1 << 52) - 1)
    }

    /// Any T_floating value.
    fn wild_double(&mut self) -> u64 {
        const SPECIAL: [u64; 14] = [
            0,
            0x7ff0_0000_0000_0000, // infinity
            0x7ff8_0000_0000_0000, // quiet NaN
            0x7ff8_1234_5678_9abc, // quiet NaN with a payload
            0x7ff0_0000_0000_0001, // signalling NaN whose payload S_floating has no room for
            0x7ff4_0000_2000_0000, // signalling NaN
            0x0010_0000_0000_0000, // least normal
            0x000f_ffff_ffff_ffff, // greatest denormal
            1,                     // least denormal
            0x7fef_ffff_ffff_ffff, // greatest
            0x3ff0_0000_0000_0000, // 1
            0x47ef_ffff_f000_0000, // halfway above the greatest S_floating
            0x380f_ffff_f000_0000, // halfway below the least normal S_floating
            0x3690_0000_0000_0000, // half the least S_floating denormal
        ];
        match self.below(9) {
            0 | 1 => self.sign() | self.pick(&SPECIAL),
            2 => self.sign() | self.next() >> self.within(12..63),
            3 => self.double(1..60),
            4 => self.double(1990..2047),
            5 => self.double(1013..1090),
            6 => self.double(896 - 30..900),
            7 => self.double(1140..1155),
            _ => self.next(),
        }
    }

    /// Any S_floating value, in a register.
    fn wild_single(&mut self) -> u64 {
        const SPECIAL: [u32; 9] = [
            0,
            0x7f80_0000, // infinity
            0x7fc0_0000, // quiet NaN
            0x7f80_0001, // signalling NaN
            0x0080_0000, // least normal
            0x007f_ffff, // greatest denormal
            1,           // least denormal
            0x7f7f_ffff, // greatest
            0x3f80_0000, // 1
        ];
        let noise = self.next() as u32;
        let magnitude = match self.below(6) {
            0 | 1 => self.pick(&SPECIAL),
            2 => noise >> self.within(9..31) as u32,
            3 => (self.within(1..30) as u32) << 23 | noise >> 9,
            4 => (self.within(225..255) as u32) << 23 | noise >> 9,
            _ => noise & 0x7fff_ffff,
        };
        self.sign() | widened(magnitude)
    }

    /// An integer: edges of 32 and 64 bits, halfway cases of both formats, noise.
    fn integer(&mut self) -> u64 {
        let near = |n: u64, random: &mut Self| n.wrapping_add(random.below(5)).wrapping_sub(2);
        match self.below(6) {
            0 => near(1 << 31, self),
            1 => near(1 << 63, self),
            2 => near(1 << self.below(64), self).wrapping_neg(),
            3 => near(3 << self.below(62), self),
            4 => self.below(100),
            _ => (self.next() as i64 >> self.below(64)) as u64,
        }
    }
}

/// A magnitude of S_floating as a register holds it: numbers, not infinities and NaNs, through the host.
fn widened(magnitude: u32) -> u64 {
    match magnitude >> 23 {
        0 => u64::from(magnitude) << 29,
        0xff => 0x7ff << 52 | u64::from(magnitude & 0x7f_ffff) << 29,
        _ => f64::from(f32::from_bits(magnitude)).to_bits(),
    }
}

/// A control word, and the FPCR bits that belong to it.
fn control(random: &mut Random) -> (u64, u64) {
    let mut word = if random.chance(75) {
        0
    } else {
        random.below(32) << 1
    };
    if random.chance(15) {
        word |= 1 << 12;
    }
    if random.chance(15) {
        word |= 1 << 13;
    }
    let disables = (!word & 0xe) << 48 | (!word & 0x30) << 57 | 1 << 47;
    let maps = (word & 1 << 12) << 36 | if word & 1 << 13 == 0 { 0 } else { 3 << 60 };
    (word, disables | maps)
}

fn set(random: &mut Random) -> Set {
    let (control, bits) = control(random);
    let value = |random: &mut Random| {
        let mut value = bits | random.below(4) << 58;
        if random.chance(20) {
            value |= random.below(64) << 52;
        }
        // Hardware may treat denormal operands as zero where the kernel is not asked to.
        if random.chance(10) {
            value |= 1 << 48;
        }
        value
    };
    let fpcr = value(random);
    let mut registers = [0; 31];
    for (i, register) in registers.iter_mut().enumerate() {
        *register = match i as u64 {
            0..3 => random.double(1003..1043) & !0x1fff_ffff,
            3..TAME => random.double(1003..1043),
            i if i % 3 == 0 => random.wild_single(),
            i if i == WILD.end - 1 => random.integer(),
            _ => random.wild_double(),
        };
    }
    for register in FPCRS {
        registers[register as usize] = value(random);
    }
    registers[FPCR_REGISTER as usize] = 0;
    Set {
        control,
        fpcr,
        registers,
    }
}

/// Every word of floating-point operations with registers 0, but for those of FPCR.
fn words() -> Vec<u32> {
    let mut words = Vec::new();
    for opcode in [0x14u32, 0x16, 0x17, 0x1c] {
        for function in 0..1 << 11 {
            // The first operand of those that have only one must be register 31.
            for fa in [0u32, 31] {
                for fb in [0u32, 31] {
                    let word = opcode << 26 | fa << 21 | fb << 16 | function << 5;
                    let inst = decode(word);
                    let known = words.iter().any(|&w| {
                        let other: Inst = decode(w);
                        other.op == inst.op && other.imm == inst.imm
                    });
                    if is_floating(inst.op) && !known {
                        words.push(word);
                    }
                }
            }
        }
    }
    words
}

/// A random instruction.
fn instruction(random: &mut Random, words: &[u32]) -> Inst {
    match random.below(100) {
        0..2 => return decode(MT_FPCR | same_registers(random.pick(&FPCRS))),
        2..4 => return decode(MF_FPCR | same_registers(FPCR_REGISTER)),
        _ => {}
    }
    let word = random.pick(words);
    let mut inst = decode(word);
    let completion = inst.imm >> 4 & 1 != 0;
    let source = |random: &mut Random| {
        let choice = random.below(100);
        let number = if is_arithmetic(inst.op) && !completion && choice < 85 {
            random.below(TAME)
        } else if choice < 70 {
            random.within(0..WILD.end)
        } else if choice < 98 {
            random.within(WRITTEN)
        } else {
            return reg::ZERO;
        };
        reg::FP + number as u8
    };
    let (a, b) = (source(random), source(random));
    let destination = if random.chance(2) {
        reg::SINK
    } else {
        reg::FP + random.within(WRITTEN) as u8
    };
    // What the word with registers 0 reads and writes is what is random.
    if inst.rs1 != reg::ZERO {
        inst.rs1 = a;
    }
    if inst.rs2 != reg::ZERO {
        inst.rs2 = b;
    }
    if inst.rs3 != reg::ZERO {
        inst.rs3 = if destination == reg::SINK {
            reg::ZERO
        } else {
            destination
        };
    }
    inst.rd = destination;
    inst
}

/// Register fields of `mt_fpcr` and `mf_fpcr`, all of which name the same register.
fn same_registers(number: u8) -> u32 {
    let number = u32::from(number);
    number << 21 | number << 16 | number
}

/// `count` blocks of `items` instructions, and `sets` register sets.
pub fn stream(seed: u64, count: usize, items: usize, sets: usize) -> (Vec<Block>, Vec<Set>) {
    let mut random = Random(seed);
    let words = words();
    let blocks = (0..count)
        .map(|_| {
            (0..items)
                .map(|_| instruction(&mut random, &words))
                .collect()
        })
        .collect();
    let sets = (0..sets).map(|_| set(&mut random)).collect();
    (blocks, sets)
}

/// The operations that the stream must hold.
#[test]
fn every_operation_with_every_qualifier_is_generated() {
    let words = words();
    let operations = Op::ALL.iter().filter(|&&op| is_floating(op)).count();
    let mut found: Vec<Op> = words.iter().map(|&word| decode(word).op).collect();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), operations);
    let of = |op| words.iter().filter(|&&word| decode(word).op == op).count();
    assert_eq!(
        of(Op::AlphaAddt),
        16,
        "four trap qualifiers, four roundings"
    );
    assert_eq!(of(Op::AlphaCvttq), 16);
    assert_eq!(of(Op::AlphaCvtqs), 8);
    assert_eq!(of(Op::AlphaCvtql), 3);
    assert_eq!(of(Op::AlphaCmptlt), 2);
    assert_eq!(of(Op::AlphaCvtst), 2);
}
