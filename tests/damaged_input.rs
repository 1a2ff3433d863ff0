//! Hostile guests: damaged executables, faults, endless loops, endless allocation, random code.
//! Nothing panics, limits hold, and both machines agree about where it ends.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::guest::{Random, assembled, captured, image, in_parallel, lab, machine};
use hps_isa::editor::NoEditor;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::memory::{PAGE_SIZE, Perm};
use hps_isa::probe::NoProbe;
use hps_isa::riscv;
use hps_isa::trap::TrapCause;
use hps_lab::{Core, Lab, Ran};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_sim_core::machine::Stop;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::{Output, StopReason};
use hps_system::process::{Process, ProcessConfig};
use hps_workloads::Size;

/// Fate of a damaged executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Refused,
    Ran,
}

/// Loads and runs a damaged executable for a bounded time on both machines.
fn try_image(bytes: &[u8]) -> Fate {
    let Ok(image) = ProgramImage::parse(bytes, "damaged") else {
        return Fate::Refused;
    };
    let lab = Lab::image(Arc::new(image)).configured(captured(&["damaged", "small"]));
    let lab = lab.limit(30_000);
    let config = machine();
    let (Ok(functional), Ok(timed)) = (lab.clone().run(), lab.on_machine(&config).run()) else {
        return Fate::Refused;
    };
    // A program that reads the time may see another one; this one does not.
    assert_eq!(timed.stop, functional.stop);
    assert_eq!(timed.instructions(), functional.instructions());
    Fate::Ran
}

#[track_caller]
fn no_panic<T>(what: &str, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| panic!("{what} panicked (see above)"))
}

#[test]
fn truncated_executables() {
    for isa in Isa::ALL {
        truncated(image("netsimplex", isa));
    }
}

fn truncated(image: &[u8]) {
    let mut random = Random(1);
    let mut lengths: Vec<usize> = (0..130).chain([image.len() - 1, image.len()]).collect();
    lengths.extend((0..60).map(|_| random.below(image.len())));
    let fates = in_parallel(&lengths, |&n| {
        no_panic(&format!("{n} bytes"), || try_image(&image[..n]))
    });
    assert!(
        fates[..64].iter().all(|&fate| fate == Fate::Refused),
        "no header, no program"
    );
    assert_eq!(fates[131], Fate::Ran);
}

#[test]
fn executables_with_flipped_bits() {
    for isa in Isa::ALL {
        flipped_bits(image("netsimplex", isa));
    }
}

fn flipped_bits(image: &[u8]) {
    let mut random = Random(2);
    let flips: Vec<Vec<(usize, u8)>> = (0..300)
        .map(|case| {
            // Half of the cases in the headers; some with several flips.
            let within = if case % 2 == 0 {
                64 + 6 * 56
            } else {
                image.len()
            };
            let count = 1 + random.below(3);
            (0..count)
                .map(|_| (random.below(within), 1 << random.below(8)))
                .collect()
        })
        .collect();
    let fates = in_parallel(&flips, |flips| {
        let mut bytes = image.to_vec();
        flips.iter().for_each(|&(at, bit)| bytes[at] ^= bit);
        no_panic(&format!("{flips:?}"), || try_image(&bytes))
    });
    let refused = fates.iter().filter(|&&fate| fate == Fate::Refused).count();
    assert!(
        (10..290).contains(&refused),
        "{refused} of 300 were refused: both must happen"
    );
}

/// The stop of a program in assembly on both machines, which must agree, with its warnings.
fn both(text: &str, config: &ProcessConfig, limit: u64) -> (Stop, Ran) {
    let lab = assembled(text, config).limit(limit);
    let functional = lab.clone().run().unwrap_or_else(|e| panic!("{e}"));
    let timed = lab.on_machine(&machine()).run();
    let timed = timed.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(timed.stop, functional.stop, "the pipeline ends otherwise");
    assert_eq!(
        timed.process.os.stop_reason(),
        functional.process.os.stop_reason()
    );
    (functional.stop, functional)
}

#[test]
fn faults_end_a_program_with_their_cause() {
    let cases = [
        ("ld a0, 0(zero)", TrapCause::LoadFault { addr: 0 }, 139),
        (
            "li t0, -8\nsd a0, 0(t0)",
            TrapCause::StoreFault {
                addr: 8_u64.wrapping_neg(),
            },
            139,
        ),
        (
            "auipc t0, 0\nsd a0, 0(t0)",
            TrapCause::StoreFault {
                addr: crate::guest::ENTRY,
            },
            139,
        ),
        ("jr zero", TrapCause::FetchFault, 139),
        ("jr sp", TrapCause::FetchFault, 139),
        ("ebreak", TrapCause::Breakpoint, 133),
        (
            "addi t0, sp, 1\nlr.d a0, (t0)",
            TrapCause::MisalignedAtomic { addr: 1 },
            135,
        ),
        // A stack that grows without end.
        (
            "down:\naddi sp, sp, -2048\nsd zero, 0(sp)\nj down",
            TrapCause::StoreFault { addr: 0 },
            139,
        ),
    ];
    for (text, cause, code) in cases {
        let (stop, _) = both(text, &captured(&["x"]), 1_000_000);
        let Stop::Fault(trap) = stop else {
            panic!("{text}: {stop:?}")
        };
        assert_eq!(
            std::mem::discriminant(&trap.cause),
            std::mem::discriminant(&cause),
            "{text}: {trap}"
        );
        if let (TrapCause::LoadFault { addr: a }, TrapCause::LoadFault { addr: b }) =
            (trap.cause, cause)
        {
            assert_eq!(a, b, "{text}");
        }
        assert_eq!(stop.exit_code(Isa::Riscv64), code, "{text}");
    }
}

#[test]
fn endless_programs_end_at_their_limits() {
    let config = captured(&["x"]);
    assert_eq!(both("here:\nj here", &config, 10_000).0, Stop::Limit);
    // Waits for a signal that nobody sends: pause is ppoll without a time limit.
    let wait = "li a0, 0\nli a1, 0\nli a2, 0\nli a3, 0\nli a7, 73\necall\nj wait\nwait:\nj wait";
    let (stop, machine) = both(wait, &config, 10_000);
    match stop {
        Stop::Limit => {}
        Stop::Fault(trap) => {
            assert_eq!(trap.cause, TrapCause::Stopped);
            assert!(matches!(
                machine.process.os.stop_reason(),
                Some(StopReason::Deadlock { .. })
            ));
        }
        Stop::Exit(code) => panic!("exit code {code}"),
    }
    // Writes without end.
    let write = "again:\nli a0, 1\naddi a1, sp, -2000\nli a2, 1000\nli a7, 64\necall\nj again";
    let limited = ProcessConfig {
        output_limit_bytes: Some(50_000),
        ..config
    };
    let (stop, machine) = both(write, &limited, 1_000_000);
    assert!(
        matches!(stop, Stop::Fault(trap) if trap.cause == TrapCause::Stopped),
        "{stop:?}"
    );
    assert_eq!(
        machine.process.os.stop_reason(),
        Some(&StopReason::OutputLimit { bytes: 50_000 })
    );
    assert!(machine.process.os.captured_stdout().len() <= 50_000);
}

#[test]
fn memory_without_end_is_refused_to_the_guest() {
    const LIMIT: u64 = 64 << 20;
    let config = ProcessConfig {
        memory_limit_bytes: LIMIT,
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    // brk(0), then a MiB more and its last word written, until brk stays where it is.
    let brk = "
        li a0, 0
        li a7, 214
        ecall
        lui s1, 256
        more:
        mv s0, a0
        add a0, a0, s1
        mv s2, a0
        li a7, 214
        ecall
        bne a0, s2, full
        sd s0, -8(a0)
        j more
        full:
        bne a0, s0, wrong
        li a0, 12
        li a7, 93
        ecall
        wrong:
        ebreak
    ";
    // mmap(0, 1 MiB, RW, private anonymous) and a word written, until it fails; exit with the error.
    let mmap = "
        more:
        li a0, 0
        lui a1, 256
        li a2, 3
        li a3, 34
        li a4, -1
        li a5, 0
        li a7, 222
        ecall
        bltz a0, full
        sd a0, 0(a0)
        j more
        full:
        neg a0, a0
        li a7, 93
        ecall
    ";
    for text in [brk, mmap] {
        let (stop, machine) = both(text, &config, 1_000_000);
        assert_eq!(stop, Stop::Exit(12), "ENOMEM");
        let mapped = machine.process.mem.mapped_bytes();
        assert!((LIMIT / 2..=LIMIT).contains(&mapped), "{mapped} bytes");
    }
}

/// Where random code lies, with nothing behind it.
const CODE: u64 = 0x5000_0000;
/// Where most registers point, two pages.
const DATA: u64 = 0x6000_0000;
/// Instructions on the page.
const WORDS: usize = 200;

/// Registers that point into the data and that tame code leaves alone.
const BASES: [u8; 4] = [2, 8, 9, 20];
/// Registers that point into the code and that tame code leaves alone.
const TARGETS: [u8; 2] = [21, 22];

/// Whether an instruction means the same on both machines: everything but what reads time, and
/// system calls, which might wait for it.
fn is_timeless(inst: &Inst) -> bool {
    let counter = inst.op == Op::AlphaRpcc
        || inst.op.isa() == Some(Isa::Riscv64) && (0xc00..0xc20).contains(&(inst.imm & 0xfff));
    !(inst.class == OpClass::Syscall || inst.class == OpClass::Csr && counter)
}

/// Whether an instruction is likely to go on to another one of the random code.
fn is_tame(inst: &Inst) -> bool {
    let near = (-120..=120).contains(&inst.imm);
    let alpha = inst.op.isa() == Some(Isa::Alpha);
    let goes_on = match inst.class {
        OpClass::Load | OpClass::Store | OpClass::Atomic => {
            BASES.contains(&inst.rs1) && (-2048..2048).contains(&inst.imm)
        }
        OpClass::Branch | OpClass::Jump | OpClass::Call => near,
        OpClass::JumpIndirect | OpClass::CallIndirect | OpClass::Return => {
            TARGETS.contains(&inst.rs1) && (alpha || near)
        }
        OpClass::Csr => alpha || (1..=3).contains(&(inst.imm & 0xfff)),
        OpClass::DiseBranch | OpClass::DiseCall | OpClass::DiseReturn | OpClass::DiseDrain => false,
        OpClass::Break => false,
        _ => true,
    };
    goes_on && inst.op != Op::Illegal && !BASES.contains(&inst.rd) && !TARGETS.contains(&inst.rd)
}

/// Makes operations that are rare among random words less so.
fn biased(isa: Isa, word: u32, random: &mut Random) -> u32 {
    match isa {
        // Most of these seven bits choose an operation of register format.
        Isa::Riscv64 => {
            const FUNCT7: [u32; 10] = [0x00, 0x01, 0x04, 0x05, 0x10, 0x20, 0x24, 0x30, 0x68, 0x69];
            word & 0x01ff_ffff | FUNCT7[random.below(FUNCT7.len())] << 25
        }
        // Branches that stay near, operations (four opcodes of integers, three of floating point), and
        // the instructions without operands.
        Isa::Alpha => match random.below(4) {
            0 => 0xc000_0000 | word & 0x3fe0_001f | if word & 32 == 0 { 0 } else { 0x1f_ffe0 },
            1 => 0x4000_0000 | word & 0x0fff_ffff,
            2 => 0x5000_0000 | word & 0x0fff_ffff,
            _ => {
                [0, 0x400, 0x4000, 0x4400, 0xe000, 0xf000, 0x9e, 0x9f][random.below(8)]
                    | if word & 1 == 0 { 0x6000_0000 } else { 0 }
            }
        },
    }
}

/// A word and, of two compressed instructions, the second, decoded.
fn decoded(isa: Isa, word: u32) -> (Inst, Option<Inst>) {
    let inst = isa.decode(word);
    let behind = (inst.len == 2).then(|| isa.decode(word >> 16));
    (inst, behind)
}

/// Tame words by operation: one instruction, or two compressed ones.
fn tame_words(isa: Isa) -> Vec<Vec<u32>> {
    let mut random = Random(0);
    let mut by_op: HashMap<Op, Vec<u32>> = HashMap::new();
    for round in 0..3_000_000 {
        let mut word = random.next() as u32;
        if round % 2 == 0 {
            word = biased(isa, word, &mut random);
        }
        let (inst, behind) = decoded(isa, word);
        let tame = |inst: &Inst| is_timeless(inst) && is_tame(inst);
        if tame(&inst) && behind.is_none_or(|b| b.len == 2 && tame(&b)) {
            let words = by_op.entry(inst.op).or_default();
            if words.len() < 500 {
                words.push(word);
            }
        }
    }
    let mut all: Vec<_> = by_op.into_values().collect();
    all.sort_unstable();
    all
}

/// Any word that does not tell the time.
fn wild_word(isa: Isa, random: &mut Random) -> u32 {
    loop {
        let word = random.next() as u32;
        let also = isa == Isa::Alpha || is_timeless(&isa.decode(word >> 16));
        if is_timeless(&isa.decode(word)) && also {
            return word;
        }
    }
}

/// Puts random code and registers into a process.
fn randomize(process: &mut Process, isa: Isa, seed: u64, tame: &[Vec<u32>]) {
    let mut random = Random(seed);
    process.mem.map(CODE, PAGE_SIZE, Perm::RX).expect("free");
    process
        .mem
        .map(DATA, 2 * PAGE_SIZE, Perm::RW)
        .expect("free");
    let mut word = || {
        if seed.is_multiple_of(8) || random.below(150) == 0 {
            return wild_word(isa, &mut random);
        }
        let of_one_op = &tame[random.below(tame.len())];
        of_one_op[random.below(of_one_op.len())]
    };
    let code: Vec<u8> = (0..WORDS).flat_map(|_| word().to_le_bytes()).collect();
    process.mem.write_bytes_forced(CODE, &code).expect("mapped");
    let data: Vec<u8> = (0..2 * PAGE_SIZE).map(|_| random.next() as u8).collect();
    process.mem.write_bytes(DATA, &data).expect("mapped");
    for register in 1..reg::DISE {
        // Offsets of loads and stores reach 2 KiB to both sides.
        process.thread.hart.r[usize::from(register)] = match random.below(4) {
            _ if BASES.contains(&register) => DATA + PAGE_SIZE + 8 * random.below(16) as u64,
            _ if TARGETS.contains(&register) => CODE + 4 * random.below(WORDS) as u64,
            0 => random.next() >> random.below(64),
            1 => DATA + random.below(2 * PAGE_SIZE as usize) as u64,
            _ => random.next(),
        };
    }
    process.thread.hart.pc = CODE + 4 * (WORDS as u64 / 4);
}

/// Everything that a program can see: registers, and memory where it can have written.
fn state(process: &Process) -> (Vec<u64>, u8, u64, Vec<u8>) {
    let hart = &process.thread.hart;
    let mut data = vec![0; 2 * PAGE_SIZE as usize];
    process.mem.read_bytes(DATA, &mut data).expect("mapped");
    (
        // Without what lies between: nobody but DISE has it.
        [
            &hart.r[..usize::from(reg::DISE)],
            &hart.r[usize::from(reg::UNIQUE)..=usize::from(reg::UNALIGNED)],
        ]
        .concat(),
        hart.fcsr,
        hart.reservation,
        data,
    )
}

/// Instructions of random code.
const RANDOM: u64 = 1000;

/// Runs random code on all machines and compares. How many instructions it was.
fn run_random(isa: Isa, seed: u64, tame: &[Vec<u32>], config: &MachineConfig) -> u64 {
    let lab = || {
        lab("netsimplex", isa, Size::Small).edited(|process| {
            randomize(process, isa, seed, tame);
            Ok::<_, String>(NoEditor)
        })
    };
    let functional = lab().limit(RANDOM).run();
    let functional = functional.unwrap_or_else(|e| panic!("{e}"));
    for kind in [CoreKind::Cycle, CoreKind::Instruction] {
        if kind.check(config).is_ok() {
            let core = lab().on_machine(config).core(kind).open();
            let core = core.unwrap_or_else(|e| panic!("{e}"));
            compare_random(isa, core, &functional, &format!("seed {seed}, {kind:?}"));
        }
    }
    functional.instructions()
}

fn compare_random(isa: Isa, mut core: Core<NoEditor, NoProbe>, functional: &Ran, what: &str) {
    let stop = core.run(RANDOM);
    core.drain_to_boundary();
    assert_eq!(stop, functional.stop, "{what}");
    assert_eq!(
        core.stats().commit_program_instructions,
        functional.retired.program,
        "{what}"
    );
    let (got, wanted) = (state(core.process()), state(&functional.process));
    for (number, (a, b)) in got.0.iter().zip(&wanted.0).enumerate() {
        let name = isa.register_name(number as u8);
        assert_eq!(
            a, b,
            "{what}: {name} on the core and on the functional machine after {stop:?}"
        );
    }
    assert_eq!(
        (got.1, got.2),
        (wanted.1, wanted.2),
        "{what}: fcsr and reservation"
    );
    assert!(got.3 == wanted.3, "{what}: memory");
    if let Stop::Fault(trap) = stop {
        assert_eq!(
            (
                core.process().thread.hart.pc,
                functional.process.thread.hart.pc
            ),
            (trap.pc, trap.pc),
            "{what}"
        );
    }
}

#[test]
fn random_code_does_the_same_on_both_machines() {
    for isa in Isa::ALL {
        random_code(isa);
    }
}

fn random_code(isa: Isa) {
    let machines = ["hps-4wide", "tiny-2wide", "wide-8", "ev6", "ev5"]
        .map(|name| MachineConfig::preset(name).unwrap_or_else(|e| panic!("{e}")));
    let tame = tame_words(isa);
    assert!(tame.len() > 150, "{isa}: only {} operations", tame.len());
    let seeds: Vec<u64> = (0..400).collect();
    let lengths = in_parallel(&seeds, |&seed| {
        no_panic(&format!("seed {seed} on {isa}"), || {
            run_random(isa, seed, &tame, &machines[seed as usize % 5])
        })
    });
    let total: u64 = lengths.iter().sum();
    let long = lengths.iter().filter(|&&n| n >= 50).count();
    // Alpha's floating point traps at most random operands, unless it is completed in software.
    let enough = match isa {
        Isa::Riscv64 => 150,
        Isa::Alpha => 60,
    };
    assert!(
        total > 50_000 && long > enough,
        "{isa}: {total} instructions, {long} runs of 50 and more: too easy"
    );
}

#[test]
fn random_words_decode() {
    let mut random = Random(3);
    let mut legal = 0;
    for _ in 0..2_000_000 {
        let word = random.next() as u32;
        let inst = riscv::decode(word);
        assert_eq!(inst.len, if word & 3 == 3 { 4 } else { 2 }, "{word:#010x}");
        legal += u32::from(inst.op != Op::Illegal);
        if word.is_multiple_of(64) {
            assert!(!riscv::disassemble(&inst, CODE).is_empty(), "{word:#010x}");
        }
    }
    assert!(legal > 1000);
}
