//! Programs to profile: workloads, and assembly written in a test.
#![allow(dead_code)] // each test file uses its part

use std::collections::HashMap;
use std::sync::Arc;

use hps_isa::asm::OperandHook;
use hps_isa::editor::DecodeEditor;
use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Memory, Perm};
use hps_productions::{CollectedProfile, GridProbe, GridResult, PointProfiles, SamplePoint};
use hps_profile::{ProfileKind, StreamConfig};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};

/// A fresh process of a small run of a workload.
pub fn workload(isa: Isa, name: &str) -> Process {
    let workload = hps_workloads::find(name).unwrap();
    let image = Arc::new(ProgramImage::parse(workload.image(isa.name()).unwrap(), name).unwrap());
    let config = ProcessConfig {
        args: vec![name.to_owned(), "small".to_owned()],
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    Process::new(image, &config).unwrap()
}

/// Where [`assembly`] puts its code and its data.
pub const CODE: u64 = 0x5000_0000;
pub const DATA: u64 = 0x5001_0000;

struct Labels(HashMap<String, u64>);

impl OperandHook for Labels {
    fn register(&self, _: &str) -> Option<u8> {
        None
    }
    fn immediate(&self, token: &str) -> Option<i64> {
        self.0.get(token).map(|&address| address as i64)
    }
}

/// A process that runs this assembly, one instruction or label in a line, with a page of data at
/// [`DATA`] (in `s1`) and distinct values in all other registers.
pub fn assembly(isa: Isa, text: &str) -> Process {
    let mut labels = Labels(HashMap::new());
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_suffix(':') {
            Some(label) => {
                labels
                    .0
                    .insert(label.to_owned(), CODE + 4 * lines.len() as u64);
            }
            None => lines.push(line),
        }
    }
    let mut process = workload(isa, "lz");
    process.mem.map(CODE, 4096, Perm::RX).unwrap();
    process.mem.map(DATA, 4096, Perm::RW).unwrap();
    for (index, line) in lines.iter().enumerate() {
        let pc = CODE + 4 * index as u64;
        let inst = isa
            .assemble(line, pc, &labels)
            .unwrap_or_else(|e| panic!("{line}: {e}"));
        let word = isa.encode(&inst).unwrap_or_else(|| panic!("{line}"));
        process
            .mem
            .write_bytes_forced(pc, &word.to_le_bytes())
            .unwrap();
    }
    for register in 1..reg::DISE {
        process.thread.hart.r[usize::from(register)] = 0x0101_0101_0101_0101 * u64::from(register);
    }
    for (name, value) in [("sp", DATA + 4096), ("s1", DATA)] {
        process.thread.hart.r[usize::from(isa.parse_register(name).unwrap())] = value;
    }
    process.thread.hart.pc = CODE;
    process
}

/// Calls, direct and indirect (to `target` and `second`), through both link registers; loops of one instruction; forward and
/// backward jumps; every class of memory reference. It ends with exit code 7.
pub fn mixed(isa: Isa) -> &'static str {
    match isa {
        Isa::Riscv64 => MIXED_RISCV,
        Isa::Alpha => MIXED_ALPHA,
    }
}

const MIXED_RISCV: &str = "
    addi s2, zero, 400
    auipc s3, 0
    addi s3, s3, 117
outer:
    jal ra, leaf
    jal t0, millicode
    jalr ra, 0(s3)
    andi t1, s2, 3
    beqz t1, skip
    jalr t0, 7(s3)
skip:
    addi t3, zero, 3
inner:
    ld t4, 0(s1)
    addi t3, t3, -1
    bnez t3, inner
self:
    bne zero, zero, self
    amoadd.d t4, s2, (s1)
    lr.d t5, (s1)
    sc.d t5, s2, (s1)
    fsd fs0, 64(s1)
    flw ft0, 68(s1)
    addi s2, s2, -1
    bgtz s2, outer
    addi a0, zero, 7
    addi a7, zero, 93
    ecall
leaf:
    sb s2, 16(s1)
    ret
millicode:
    j ahead
back:
    sd s2, 24(s1)
    jr t0
ahead:
    j back
target:
    sh s2, 32(s1)
    ret
second:
    lwu t6, 32(s1)
    jr t0
";

/// The mixed program for Alpha: as many calls, loops and references. Any register may link; `target` is 64 bytes
/// behind `leaf`.
const MIXED_ALPHA: &str = "
    lda s2, 400
    br s3, here
here:
    lda s3, 128(s3)
outer:
    bsr ra, leaf
    bsr t12, millicode
    jsr ra, (s3)
    and s2, 3, t1
    beq t1, skip
    lda t2, 11(s3)
    jsr t12, (t2)
skip:
    lda t3, 3
inner:
    ldq t4, 0(s1)
    lda t3, -1(t3)
    bne t3, inner
self:
    bne zero, self
    stl s2, 4(s1)
    ldq_l t5, 8(s1)
    mov s2, t5
    stq_c t5, 8(s1)
    stt $f2, 64(s1)
    lds $f3, 68(s1)
    unop
    ldq zero, 0(zero)
    lda s2, -1(s2)
    bgt s2, outer
    lda a0, 7
    lda v0, 1
    callsys
leaf:
    stb s2, 16(s1)
    ret
millicode:
    br ahead
back:
    stq_u s2, 29(s1)
    ret zero, (t12)
ahead:
    br back
target:
    stw s2, 32(s1)
    ret
second:
    ldq_u t6, 35(s1)
    ret zero, (t12)
";

/// Code for the end of a program: exit with this code.
pub fn exit(isa: Isa, code: u8) -> String {
    match isa {
        Isa::Riscv64 => format!("addi a0, zero, {code}\naddi a7, zero, 93\necall\n"),
        Isa::Alpha => format!("lda a0, {code}\nlda v0, 1\ncallsys\n"),
    }
}

/// A direct call through the usual link register.
pub fn call(isa: Isa, label: &str) -> String {
    match isa {
        Isa::Riscv64 => format!("jal ra, {label}\n"),
        Isa::Alpha => format!("bsr ra, {label}\n"),
    }
}

/// `rounds` rounds of `body`, counted in `s2`.
pub fn repeat(isa: Isa, rounds: u64, body: &str) -> String {
    match isa {
        Isa::Riscv64 => {
            format!("addi s2, zero, {rounds}\nround:\n{body}addi s2, s2, -1\nbgtz s2, round\n")
        }
        Isa::Alpha => {
            format!("lda s2, {rounds}\nround:\n{body}lda s2, -1(s2)\nbgt s2, round\n")
        }
    }
}

/// Runs to the end and checks that it exits with this code.
pub fn finish<E: DecodeEditor>(machine: &mut Machine<E>, code: i32) {
    assert_eq!(machine.run_to_end(), Stop::Exit(code));
}

/// Registers of the program at its end: everything but DISE registers.
pub fn program_registers(process: &Process) -> (Vec<u64>, u64, u8, u64) {
    let hart = &process.thread.hart;
    (
        hart.r[..usize::from(reg::DISE)].to_vec(),
        hart.pc,
        hart.fcsr,
        hart.reservation,
    )
}

/// Fails at the first byte in which two memories differ outside the handlers' region.
pub fn assert_same_memory(a: &Memory, b: &Memory) {
    let program = |mem: &Memory| -> Vec<_> {
        let handlers = layout::HANDLER_BASE..layout::HANDLER_END;
        mem.mapped_ranges()
            .filter(|range| !handlers.contains(&range.start))
            .collect()
    };
    assert_eq!(program(a), program(b));
    for range in program(a) {
        let mut bytes = [
            vec![0; (range.end - range.start) as usize],
            vec![0; (range.end - range.start) as usize],
        ];
        a.read_bytes_forced(range.start, &mut bytes[0]).unwrap();
        b.read_bytes_forced(range.start, &mut bytes[1]).unwrap();
        let differs = bytes[0].iter().zip(&bytes[1]).position(|(x, y)| x != y);
        assert_eq!(
            differs.map(|at| range.start + at as u64),
            None,
            "memory differs"
        );
    }
}

/// Every profile type.
pub const KINDS: [ProfileKind; 3] = [
    ProfileKind::Method,
    ProfileKind::CallPair,
    ProfileKind::DataStream,
];

/// Points of bursts and sparsities.
pub fn points(list: &[(u64, u64)]) -> Vec<SamplePoint> {
    list.iter()
        .map(|&(burst, sparsity)| SamplePoint::new(burst, sparsity).unwrap())
        .collect()
}

/// Result of one functional pass for the points.
pub fn grid(process: Process, points: &[SamplePoint], limit: u64) -> GridResult {
    let mut probe = GridProbe::with_memory(points, Some(&StreamConfig::default())).unwrap();
    Machine::new(process).run(&mut probe, limit);
    probe.finish()
}

/// Compares a collected profile with the grid's; how many events or references it holds.
pub fn assert_equal(collected: CollectedProfile, expected: &PointProfiles) -> u64 {
    let point = expected.point;
    match collected {
        CollectedProfile::Nothing => panic!("{point}: nothing collected"),
        CollectedProfile::Method { addresses, lost } => {
            assert_eq!(lost, 0);
            assert_eq!(addresses, expected.addresses, "{point}");
            addresses.total()
        }
        CollectedProfile::CallPair { call_pairs, lost } => {
            assert_eq!(lost, 0);
            assert_eq!(call_pairs, expected.call_pairs, "{point}");
            call_pairs.total()
        }
        CollectedProfile::DataStream(recorder) => {
            let stream = expected.stream.clone().unwrap();
            assert_eq!(recorder.references(), stream.references(), "{point}");
            assert_eq!(recorder.bursts(), stream.bursts(), "{point}");
            assert_eq!(recorder.digest(), stream.digest(), "{point}");
            let references = recorder.references();
            assert_eq!(recorder.finish(), stream.finish(), "{point}");
            references
        }
    }
}
