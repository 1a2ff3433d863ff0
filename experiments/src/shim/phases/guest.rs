//! A program of two phases that do the same to other objects, after the two phases of garbage collection that SHIM's authors
//! look into (section 7): `stacks` follows pointers across a large heap, `globals` through objects that lie in the order in
//! which they are visited.

use std::sync::Arc;

use hps_isa::asm::program::assemble;
use hps_lab::{Isa, LabError, Program};
use hps_system::image::ProgramImage;

/// The phases, by the names of their functions.
pub const PHASES: [&str; 2] = ["stacks", "globals"];

/// How large the program is.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Objects of 64 bytes whose order in memory is not that of visits; a power of two.
    pub scattered: u64,
    /// Objects that lie in the order of visits; a power of two.
    pub in_order: u64,
    /// Pairs of objects that are visited in a phase of each kind.
    pub visits: [u64; 2],
    /// How often both phases come.
    pub rounds: u64,
}

impl Extent {
    /// For the paper's machine: 16 MB, twice the last cache, and 1 MB, more than a second-level cache; phases of some
    /// 400,000 cycles.
    #[must_use]
    pub fn of(rounds: u64) -> Extent {
        Extent {
            scattered: 1 << 18,
            in_order: 1 << 14,
            visits: [1_500, 10_000],
            rounds,
        }
    }
}

/// The program, on RISC-V.
///
/// # Errors
/// [`LabError`]: it cannot be assembled.
pub fn program(extent: Extent) -> Result<Program, LabError> {
    let assembled = assemble(Isa::Riscv64, &text(extent));
    let assembled = assembled.map_err(|error| LabError::Observer(error.to_string()))?;
    let image = ProgramImage::parse(&assembled.file, "phases")?;
    Ok(Program::of_image("phases", Arc::new(image)))
}

/// Two chains are followed at once. The visit of an object reads its fields, marks it and goes on to the next one.
fn text(extent: Extent) -> String {
    let Extent {
        scattered,
        in_order,
        visits: [stacks, globals],
        rounds,
    } = extent;
    let bytes = (scattered + in_order) * 64;
    format!(
        "
.globl _start
_start:
    li a0, 0
    li a1, {bytes}
    li a2, 3            # PROT_READ | PROT_WRITE
    li a3, 34           # MAP_PRIVATE | MAP_ANONYMOUS
    li a4, -1
    li a5, 0
    li a7, 222          # mmap
    ecall
    mv s0, a0
    li a1, {scattered}
    li a2, 1103515245   # a full period: 1 more than a multiple of 4
    li a3, 12345
    jal ra, prepare
    mv s2, s0
    li t0, {half}
    add s3, s0, t0
    li t0, {scattered_bytes}
    add s0, s0, t0
    mv a0, s0
    li a1, {in_order}
    li a2, 1
    li a3, 1
    jal ra, prepare
    mv s4, s0
    li t0, {half_in_order}
    add s5, s0, t0
    li s1, {rounds}
round:
    mv a6, s2
    mv a7, s3
    li t0, {stacks}
    jal ra, stacks
    mv s2, a6
    mv s3, a7
    mv a6, s4
    mv a7, s5
    li t0, {globals}
    jal ra, globals
    mv s4, a6
    mv s5, a7
    addi s1, s1, -1
    bnez s1, round
    li a0, 0
    li a7, 94           # exit_group
    ecall

# a1 objects at a0: object i points to object (a2 * i + a3) mod a1.
.globl prepare
prepare:
    li t0, 0
    addi t1, a1, -1
    mv t6, a0
object:
    mul t2, t0, a2
    add t2, t2, a3
    and t2, t2, t1
    slli t2, t2, 6
    add t2, t2, a0
    sd t2, 0(t6)
    sd t0, 16(t6)
    addi t6, t6, 64
    addi t0, t0, 1
    bne t0, a1, object
    ret

.globl stacks
stacks:
{stacks_loop}
.globl globals
globals:
{globals_loop}",
        half = scattered / 2 * 64,
        scattered_bytes = scattered * 64,
        half_in_order = in_order / 2 * 64,
        stacks_loop = visits("trace"),
        globals_loop = visits("scan"),
    )
}

/// The loop of a phase, from objects `a6` and `a7` on.
fn visits(label: &str) -> String {
    let visit = |object: &str, next: &str| {
        format!(
            "    ld {next}, 0({object})
    ld a0, 16({object})
    ld a1, 24({object})
    ld a2, 32({object})
    xor a3, a0, a1
    srli a4, a0, 3
    add a5, a2, a4
    and a3, a3, a5
    or a1, a1, a3
    add a2, a2, a1
    srli a3, a2, 7
    xor a4, a4, a3
    ld a0, 8({object})
    addi a0, a0, 1
    sd a0, 8({object})
    sd a4, 40({object})
"
        )
    };
    format!(
        "{label}:
{}{}    mv a6, t1
    mv a7, t2
    addi t0, t0, -1
    bnez t0, {label}
    ret
",
        visit("a6", "t1"),
        visit("a7", "t2")
    )
}
