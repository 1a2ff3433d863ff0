//! The operations that the installed QEMU does not know, against a second model written from the
//! specification: Zicond, Zimop, Zabha, Zacas, Zawrs, Zicbom, Zfa, Zcb and Zcmop.

use hps_isa::bus::{Bus, MemFault};
use hps_isa::exec::{Outcome, execute};
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, Op, reg};
use hps_isa::riscv::asm::{NoHook, assemble};
use hps_isa::riscv::{decode, disassemble};
use hps_isa::trap::TrapCause;

const NV: u8 = 16;
const NX: u8 = 1;

/// 32 bytes from address 0.
struct Ram([u8; 32]);

impl Bus for Ram {
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        let bytes = self.0.get(addr as usize..addr as usize + N);
        let bytes = bytes.ok_or(MemFault {
            addr,
            unmapped: true,
        })?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        self.load::<N>(addr)?;
        self.0[addr as usize..addr as usize + N].copy_from_slice(&value.to_le_bytes()[..N]);
        Ok(())
    }
}

/// The generator splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Executes a line on registers and memory.
fn run(text: &str, hart: &mut Hart, ram: &mut Ram) -> Outcome {
    let inst = assemble(text, 0, &NoHook).unwrap_or_else(|e| panic!("{text}: {e}"));
    execute(hart, ram, &inst, 0)
}

/// The result of `OP a0, a1, a2` with these sources.
fn integer(op: &str, a: u64, b: u64) -> u64 {
    let mut hart = Hart::default();
    (hart.r[11], hart.r[12]) = (a, b);
    let outcome = run(&format!("{op} a0, a1, a2"), &mut hart, &mut Ram([0; 32]));
    assert_eq!(outcome, Outcome::Next);
    hart.r[10]
}

#[test]
fn conditional_zero_zeroes_by_its_condition() {
    for (a, b) in [(7, 0), (7, 1), (u64::MAX, 1 << 63), (0, 0), (0, 5)] {
        assert_eq!(integer("czero.eqz", a, b), if b == 0 { 0 } else { a });
        assert_eq!(integer("czero.nez", a, b), if b != 0 { 0 } else { a });
    }
}

#[test]
fn operations_that_may_be_give_zero() {
    for n in 0..32 {
        let word = 0x81c0_4073 | (n & 3) << 20 | (n >> 2 & 3) << 26 | (n >> 4) << 30;
        let inst = decode(word | 10 << 7 | 11 << 15);
        assert_eq!(disassemble(&inst, 0), format!("mop.r.{n} a0, a1"));
        let mut hart = Hart::default();
        hart.r[10] = 9;
        execute(&mut hart, &mut Ram([0; 32]), &inst, 0);
        assert_eq!(hart.r[10], 0);
    }
    for n in 0..8 {
        let word = 0x8200_4073 | (n & 3) << 26 | (n >> 2) << 30;
        let inst = decode(word | 10 << 7 | 11 << 15 | 12 << 20);
        assert_eq!(disassemble(&inst, 0), format!("mop.rr.{n} a0, a1, a2"));
    }
}

#[test]
fn narrow_atomics_change_their_bytes_alone() {
    let mut random = Random(1);
    for (suffix, bytes) in [("b", 1), ("h", 2)] {
        let bits = 8 * bytes;
        // Of values of so many bits: as a signed number, and what is kept of a result.
        let signed = |v: u64| ((v << (64 - bits)) as i64) >> (64 - bits);
        let low = |v: u64| v & (u64::MAX >> (64 - bits));
        for _ in 0..2000 {
            let (memory, operand) = (random.next(), random.next());
            let at = random.next() % 8 / bytes * bytes;
            let old = low(memory >> (8 * at));
            let new = low(operand);
            let expected = [
                ("swap", new),
                ("add", low(old.wrapping_add(new))),
                ("xor", old ^ new),
                ("and", old & new),
                ("or", old | new),
                ("min", low(signed(old).min(signed(new)) as u64)),
                ("max", low(signed(old).max(signed(new)) as u64)),
                ("minu", old.min(new)),
                ("maxu", old.max(new)),
            ];
            for (name, result) in expected {
                let mut ram = Ram([0; 32]);
                ram.store::<8>(8, memory).unwrap();
                let mut hart = Hart::default();
                (hart.r[11], hart.r[12]) = (operand, 8 + at);
                let text = format!("amo{name}.{suffix} a0, a1, (a2)");
                assert_eq!(run(&text, &mut hart, &mut ram), Outcome::Next);
                assert_eq!(hart.r[10], signed(old) as u64, "{text}");
                let kept = memory & !(low(u64::MAX) << (8 * at));
                let behind = ram.load::<8>(8).unwrap();
                assert_eq!(behind, kept | result << (8 * at), "{text}");
            }
        }
    }
}

#[test]
fn compare_and_swap_stores_only_what_was_expected() {
    for (suffix, bytes) in [("b", 1u64), ("h", 2), ("w", 4), ("d", 8)] {
        let mask = u64::MAX >> (64 - 8 * bytes);
        let memory: u64 = 0x8182_8384_8586_8788;
        let old = (((memory & mask) << (64 - 8 * bytes)) as i64 >> (64 - 8 * bytes)) as u64;
        // The upper bits of the expected value do not matter.
        for (expected, swaps) in [(memory, true), (memory & mask, true), (memory ^ 1, false)] {
            let mut ram = Ram([0; 32]);
            ram.store::<8>(16, memory).unwrap();
            let mut hart = Hart::default();
            (hart.r[10], hart.r[11], hart.r[12]) = (expected, 0x1122_3344_5566_7788, 16);
            let text = format!("amocas.{suffix} a0, a1, (a2)");
            assert_eq!(run(&text, &mut hart, &mut ram), Outcome::Next);
            assert_eq!(hart.r[10], old, "{text}");
            let new = if swaps { hart.r[11] } else { memory };
            let behind = ram.load::<8>(16).unwrap();
            assert_eq!(behind, memory & !mask | new & mask, "{text}");
        }
    }
    // With the zero register as what is expected, and the old value thrown away.
    let mut ram = Ram([0; 32]);
    let mut hart = Hart::default();
    hart.r[11] = 5;
    run("amocas.d zero, a1, (a2)", &mut hart, &mut ram);
    assert_eq!(ram.0[0], 5);
    let mut misaligned = Hart::default();
    misaligned.r[12] = 1;
    let trap = run("amocas.h a0, a1, (a2)", &mut misaligned, &mut ram);
    assert_eq!(trap, Outcome::Trap(TrapCause::MisalignedAtomic { addr: 1 }));
}

#[test]
fn waits_end_and_cache_blocks_must_be_accessible() {
    let mut ram = Ram([7; 32]);
    for text in ["wrs.nto", "wrs.sto", "pause", "cbo.clean (a0)"] {
        let mut hart = Hart::default();
        assert_eq!(run(text, &mut hart, &mut ram), Outcome::Next, "{text}");
    }
    let mut hart = Hart::default();
    hart.r[10] = 0x7f;
    // The block of 64 bytes begins at 0x40.
    let fault = Outcome::Trap(TrapCause::StoreFault { addr: 0x40 });
    assert_eq!(run("cbo.flush (a0)", &mut hart, &mut ram), fault);
    let inval = assemble("cbo.inval (a0)", 0, &NoHook).unwrap();
    assert_eq!(inval.data_address(0x7f), 0x40);
    assert_eq!(ram.0, [7; 32]);
}

/// Executes `OP fa0, fa1, fa2` or `OP a0, fa1, fa2`, and gives both destinations and the flags.
fn float(text: &str, a: u64, b: u64, mode: u8) -> (u64, u64, u8) {
    let mut hart = Hart {
        fcsr: mode << 5,
        ..Hart::default()
    };
    (hart.r[32 + 11], hart.r[32 + 12]) = (a, b);
    assert_eq!(
        run(text, &mut hart, &mut Ram([0; 32])),
        Outcome::Next,
        "{text}"
    );
    (hart.r[32 + 10], hart.r[10], hart.fcsr & 31)
}

/// A double of a random kind.
fn double(random: &mut Random) -> u64 {
    const SPECIAL: [f64; 9] = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        f64::INFINITY,
        f64::MAX,
        1e-310,
    ];
    match random.next() % 6 {
        0 => SPECIAL[random.next() as usize % SPECIAL.len()].to_bits(),
        1 => 0x7ff0_0000_0000_0001 | random.next() & 0x8008_0000_0000_0000,
        2 => random.next(),
        3 => ((random.next() as i64 % 1000) as f64 / 4.0).to_bits(),
        // Up to where numbers have no fractions.
        _ => (1023 + random.next() % 56) << 52 | random.next() & 0x800f_ffff_ffff_ffff,
    }
}

fn is_signaling(bits: u64) -> bool {
    f64::from_bits(bits).is_nan() && bits & 1 << 51 == 0
}

fn rounded(x: f64, mode: u8) -> f64 {
    match mode {
        0 => x.round_ties_even(),
        1 => x.trunc(),
        2 => x.floor(),
        3 => x.ceil(),
        _ => x.round(),
    }
}

#[test]
fn doubles_round_to_integers_and_compare_quietly() {
    const CANONICAL: u64 = 0x7ff8_0000_0000_0000;
    let mut random = Random(2);
    for i in 0..20_000u64 {
        let mode = (i % 5) as u8;
        let (a, b) = (double(&mut random), double(&mut random));
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let invalid = |bits: &[u64]| {
            if bits.iter().any(|v| is_signaling(*v)) {
                NV
            } else {
                0
            }
        };
        let whole = rounded(x, mode);
        let (value, inexact) = if x.is_nan() {
            (CANONICAL, invalid(&[a]))
        } else {
            (whole.to_bits(), if whole == x { 0 } else { NX })
        };
        let silent = if x.is_nan() { inexact } else { 0 };
        let got = float("fround.d fa0, fa1", a, 0, mode);
        assert_eq!((got.0, got.2), (value, silent), "fround {a:#x} {mode}");
        let got = float("froundnx.d fa0, fa1", a, 0, mode);
        assert_eq!((got.0, got.2), (value, inexact), "froundnx {a:#x} {mode}");

        let flags = invalid(&[a, b]);
        for (op, holds) in [("fleq.d", x <= y), ("fltq.d", x < y)] {
            let got = float(&format!("{op} a0, fa1, fa2"), a, b, 0);
            assert_eq!((got.1, got.2), (u64::from(holds), flags), "{op}");
        }
        for (op, least) in [("fminm.d", true), ("fmaxm.d", false)] {
            let value = if x.is_nan() || y.is_nan() {
                CANONICAL
            } else if x == y {
                // Zeros of both signs: the negative one is the lesser.
                if least { a.max(b) } else { a.min(b) }
            } else if (x < y) == least {
                a
            } else {
                b
            };
            let got = float(&format!("{op} fa0, fa1, fa2"), a, b, 0);
            assert_eq!((got.0, got.2), (value, flags), "{op} {a:#x} {b:#x}");
        }

        // JavaScript's ToInt32, by exact arithmetic on floating-point numbers.
        let (modular, flags) = if x.is_finite() {
            let whole = x.trunc();
            let fits = (-2_147_483_648.0..=2_147_483_647.0).contains(&whole);
            let flags = match (fits, whole == x) {
                (false, _) => NV,
                (true, false) => NX,
                (true, true) => 0,
            };
            ((whole % 4_294_967_296.0) as i64 as i32, flags)
        } else {
            (0, NV)
        };
        let got = float("fcvtmod.w.d a0, fa1, rtz", a, 0, mode);
        assert_eq!((got.1, got.2), (modular as u64, flags), "fcvtmod {a:#x}");
    }
}

#[test]
fn singles_and_halves_round_to_integers() {
    let mut random = Random(3);
    for i in 0..20_000u64 {
        let mode = (i % 5) as u8;
        // Any half; as a single it is exact.
        let half = random.next() as u16;
        let (single, ..) = float(
            "fcvt.s.h fa0, fa1",
            0xffff_ffff_ffff_0000 | u64::from(half),
            0,
            0,
        );
        let x = f32::from_bits(single as u32);
        if x.is_nan() {
            continue;
        }
        let whole = rounded(f64::from(x), mode);
        let flags = if whole == f64::from(x) { 0 } else { NX };
        let got = float("froundnx.s fa0, fa1", single, 0, mode);
        let expected = 0xffff_ffff_0000_0000 | u64::from((whole as f32).to_bits());
        assert_eq!((got.0, got.2), (expected, flags), "{x} {mode}");
        let boxed = 0xffff_ffff_ffff_0000 | u64::from(half);
        let got = float("froundnx.h fa0, fa1", boxed, 0, mode);
        let (narrow, ..) = float("fcvt.h.s fa0, fa1", expected, 0, 0);
        assert_eq!((got.0, got.2), (narrow, flags), "half {x} {mode}");
    }
    // What is not boxed is NaN.
    assert_eq!(
        float("fround.h fa0, fa1", 0x3c00, 0, 0).0,
        0xffff_ffff_ffff_7e00
    );
}

#[test]
fn constants_are_loaded_by_value() {
    for (text, bits) in [
        ("fli.d fa0, -1.0", (-1.0f64).to_bits()),
        ("fli.d fa0, min", f64::MIN_POSITIVE.to_bits()),
        ("fli.d fa0, 0.3125", 0.3125f64.to_bits()),
        ("fli.d fa0, 65536", 65536f64.to_bits()),
        ("fli.s fa0, nan", 0xffff_ffff_7fc0_0000),
        ("fli.h fa0, 0.75", 0xffff_ffff_ffff_3a00),
        ("fli.h fa0, 65536.0", 0xffff_ffff_ffff_7c00),
        ("fli.h fa0, 1.52587890625e-05", 0xffff_ffff_ffff_0100),
    ] {
        assert_eq!(float(text, 0, 0, 0), (bits, 0, 0), "{text}");
    }
    // From the specification: funct7 1111001, rs2 1, the number in rs1.
    assert_eq!(disassemble(&decode(0xf218_0553), 0), "fli.d fa0, 1.0");
}

#[test]
fn compressed_forms_of_bytes_and_halfwords_expand() {
    // Encodings from the chapter "Zcb": fields by hand, x8 (s0) and x9 (s1), x10 (a0).
    for (half, text) in [
        (0x8004, "lbu s1, 0(s0)"),
        (0x8064, "lbu s1, 3(s0)"),
        (0x8024, "lbu s1, 2(s0)"),
        (0x8424, "lhu s1, 2(s0)"),
        (0x8464, "lh s1, 2(s0)"),
        (0x8844, "sb s1, 1(s0)"),
        (0x8c24, "sh s1, 2(s0)"),
        (0x9c61, "andi s0, s0, 255"),
        (0x9c65, "sext.b s0, s0"),
        (0x9c69, "zext.h s0, s0"),
        (0x9c6d, "sext.h s0, s0"),
        (0x9c71, "add.uw s0, s0, zero"),
        (0x9c75, "xori s0, s0, -1"),
        (0x9c45, "mul s0, s0, s1"),
        (0x6081, "addi zero, zero, 0"), // c.mop.1
        (0x6781, "addi zero, zero, 0"), // c.mop.15
    ] {
        let inst = decode(half);
        assert_eq!(disassemble(&inst, 0), text, "{half:#06x}");
        assert_eq!(inst.len, 2);
    }
    for reserved in [0x8c64, 0x9c79, 0x9c7d, 0x6101, 0x6881] {
        assert_eq!(decode(reserved).op, Op::Illegal, "{reserved:#06x}");
    }
}

#[test]
fn destinations_that_are_kept_are_sources() {
    let inst = decode(0x2ac5_a52f); // amocas.w rd=a0, rs1=a1, rs2=a2
    assert_eq!(inst.op, Op::AmocasW);
    assert_eq!((inst.rd, inst.rs1, inst.rs2, inst.rs3), (10, 11, 12, 10));
    let discarded = decode(0x2ac5_a02f);
    assert_eq!((discarded.rd, discarded.rs3), (reg::SINK, reg::ZERO));
    assert_eq!(inst, Inst { len: 4, ..inst });
}
