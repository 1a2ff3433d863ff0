//! Kernels that sampled timing is judged by: each does one thing that programs do, and little else.
//!
//! | kernel | what it does |
//! | --- | --- |
//! | `tlb` | touches a word on each of more pages than the TLB has entries |
//! | `stream` | adds two arrays of a megabyte into a third one |
//! | `chase` | follows pointers in an order that no cache line foretells, over 2 MB |
//! | `branchy` | branches on random bits that are set with several chances |
//! | `calls` | calls eight functions through a table, at random |
//! | `table` | reads, changes and writes random words of half a megabyte |
//! | `phases` | all of these in turn, for uneven times |
//! | `rare` | counts, and now and then walks through 120 KB that it has not touched for long |
//!
//! No constant of sampled timing was set by them.

mod portable;

use std::sync::{Arc, OnceLock};

use hps_isa::asm::program::assemble;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::{Output, Stdin};
use hps_system::process::ProcessConfig;

use hps_lab::Program;

/// The names of all kernels.
pub const NAMES: [&str; 8] = [
    "tlb", "stream", "chase", "branchy", "calls", "table", "phases", "rare",
];

/// The kernels for an instruction set, in the order of [`NAMES`].
///
/// # Errors
/// A defect of their text.
pub fn programs(isa: Isa) -> Result<&'static [Program], String> {
    static PROGRAMS: [OnceLock<Result<Vec<Program>, String>>; 2] =
        [OnceLock::new(), OnceLock::new()];
    let of_isa = &PROGRAMS[usize::from(isa == Isa::Alpha)];
    let made = of_isa.get_or_init(|| NAMES.iter().map(|name| program(isa, name)).collect());
    made.as_deref().map_err(Clone::clone)
}

fn program(isa: Isa, name: &str) -> Result<Program, String> {
    let text = portable::text_for(isa, &text(name))?;
    let assembled = assemble(isa, &text).map_err(|e| format!("{name}: {e}"))?;
    let image = ProgramImage::parse(&assembled.file, name).map_err(|e| e.to_string())?;
    Ok(Program {
        name: name.to_string(),
        image: Arc::new(image),
        input: "kernel".to_string(),
        process: ProcessConfig {
            args: vec![name.to_string()],
            stdin: Stdin::Empty,
            stdout: Output::Capture,
            ..ProcessConfig::default()
        },
        expected: None,
        region: None,
        root_contents: None,
        is_interpreted: false,
    })
}

/// A main program that runs parts of the kernels, so many turns of each.
fn text(name: &str) -> String {
    // Turns that give 2 to 4 million instructions.
    let parts: &[(&str, u64)] = match name {
        "tlb" => &[("tlb", 400)],
        "stream" => &[("stream", 24)],
        "chase" => &[("link", 1), ("chase", 220)],
        "branchy" => &[("branchy", 120)],
        "calls" => &[("calls", 150)],
        "table" => &[("table", 200)],
        "rare" => &[("rare", 24)],
        _ => &[
            ("link", 1),
            ("tlb", 30),
            ("branchy", 14),
            ("stream", 3),
            ("calls", 8),
            ("chase", 21),
            ("table", 35),
            ("rare", 3),
            ("branchy", 31),
            ("stream", 1),
            ("tlb", 9),
            ("chase", 4),
            ("calls", 44),
            ("table", 5),
            ("stream", 7),
            ("rare", 5),
            ("tlb", 77),
        ],
    };
    // s0: turns. s1: random bits.
    let mut text = ".globl _start\n_start: li s1, 0x9e3779b97f4a7c15\n".to_string();
    for (place, (part, turns)) in parts.iter().enumerate() {
        text += &format!(
            "li s0, {turns}\nturn{place}: call {part}\naddi s0, s0, -1\nbnez s0, turn{place}\n"
        );
    }
    text += "exit\n";
    text += PARTS;
    text += DATA;
    text
}

/// One function for a turn of each part. The parts call nothing that returns through `ra` but `calls`, which keeps it in `s5`.
const PARTS: &str = "\
.globl tlb
tlb: la t0, space
li t1, 500
li t2, 8256
touch: ld t3, 0(t0)
add t4, t4, t3
xor t5, t5, t4
addi t6, t4, 3
add t5, t5, t6
slli t6, t5, 1
xor t4, t4, t6
srli t6, t4, 3
add t5, t5, t6
addi t4, t4, 1
add t0, t0, t2
addi t1, t1, -1
bnez t1, touch
ret
.globl stream
stream: la t0, space
la t1, space + 0x100000
la t2, space + 0x200000
slli s3, s0, 15
li s2, 0x78000
and s3, s3, s2
add t0, t0, s3
add t1, t1, s3
add t2, t2, s3
li t3, 0x3000
triad: ld t4, 0(t0)
ld t5, 0(t1)
slli t6, t5, 1
add t5, t5, t6
add t4, t4, t5
sd t4, 0(t2)
addi t0, t0, 8
addi t1, t1, 8
addi t2, t2, 8
addi t3, t3, -1
bnez t3, triad
ret
.globl link
link: li t0, 0x8000
li t1, 0x7fff
li t2, 13837
li t3, 0
la t4, space
join: mul t5, t3, t2
li t6, 7919
add t5, t5, t6
and t5, t5, t1
slli t6, t3, 6
add t6, t4, t6
slli s2, t5, 6
add s2, t4, s2
sd s2, 0(t6)
mv t3, t5
addi t0, t0, -1
bnez t0, join
la s4, space
ret
.globl chase
chase: li t1, 2000
follow: ld s4, 0(s4)
addi t2, t2, 1
xor t3, t3, t2
slli t4, t3, 2
add t2, t2, t4
addi t1, t1, -1
bnez t1, follow
ret
.globl branchy
branchy: li t0, 1000
again: slli t1, s1, 13
xor s1, s1, t1
srli t1, s1, 7
xor s1, s1, t1
slli t1, s1, 17
xor s1, s1, t1
andi t2, s1, 1
beqz t2, even
addi t3, t3, 5
xor t4, t4, t3
even: andi t2, s1, 96
bnez t2, likely
mul t4, t4, t3
addi t4, t4, 7
likely: srli t2, s1, 20
andi t2, t2, 7
beqz t2, seldom
addi t5, t5, 1
j merged
seldom: mul t5, t5, t3
addi t3, t3, 9
merged: add t3, t3, t5
addi t0, t0, -1
bnez t0, again
ret
.globl calls
calls: mv s5, ra
li s2, 1000
each: slli t1, s1, 13
xor s1, s1, t1
srli t1, s1, 7
xor s1, s1, t1
slli t1, s1, 17
xor s1, s1, t1
andi t2, s1, 56
la t0, targets
add t0, t0, t2
ld t0, 0(t0)
jalr t0
addi s2, s2, -1
bnez s2, each
mv ra, s5
ret
.globl table
table: li t0, 1000
la t5, space + 0x300000
li t6, 0x7fff8
word: slli t1, s1, 13
xor s1, s1, t1
srli t1, s1, 7
xor s1, s1, t1
slli t1, s1, 17
xor s1, s1, t1
and t2, s1, t6
add t2, t5, t2
ld t3, 0(t2)
add t3, t3, s1
sd t3, 0(t2)
addi t0, t0, -1
bnez t0, word
ret
.globl rare
rare: li t0, 40000
count: addi t1, t1, 3
xor t2, t2, t1
addi t0, t0, -1
bnez t0, count
slli t1, s0, 17
li t3, 0x1e0000
and t1, t1, t3
la t0, space + 0x1c0000
add t0, t0, t1
li t1, 0x780
walk: ld t3, 0(t0)
add t2, t2, t3
addi t0, t0, 64
addi t1, t1, -1
bnez t1, walk
ret
.globl f0
f0: addi t3, t3, 1
ret
.globl f1
f1: slli t3, t3, 1
addi t3, t3, 1
ret
.globl f2
f2: mul t3, t3, t3
ret
.globl f3
f3: xor t3, t3, s1
addi t4, t4, 1
ret
.globl f4
f4: mv t4, t3
ret
.globl f5
f5: add t4, t4, t3
mul t4, t4, t3
ret
.globl f6
f6: srli t3, t3, 1
ret
.globl f7
f7: xor t4, t4, t3
xor t3, t3, t4
xor t4, t4, t3
ret
";

const DATA: &str = "\
.data
targets: .dword f0, f1, f2, f3, f4, f5, f6, f7
.balign 8192
space: .zero 0x3fc000
";

#[cfg(test)]
mod tests {
    use hps_lab::Lab;
    use hps_sim_core::machine::Stop;
    use hps_system::image::Isa;

    use super::*;

    #[test]
    fn kernels_run_to_their_end_and_are_as_long_on_both_instruction_sets() {
        let lengths = Isa::ALL.map(|isa| {
            let programs = programs(isa).expect("assembled");
            let length = |program: &Program| {
                let run = Lab::of(program).run().expect("a run");
                assert_eq!(run.stop, Stop::Exit(0), "{} on {isa}", program.name);
                run.instructions()
            };
            programs.iter().map(length).collect::<Vec<_>>()
        });
        for ((first, second), name) in lengths[0].iter().zip(&lengths[1]).zip(NAMES) {
            assert!((2_000_000..7_000_000).contains(first), "{name}: {first}");
            // The two instruction sets differ in how constants are loaded.
            let ratio = *first as f64 / *second as f64;
            assert!(
                (0.98..1.02).contains(&ratio),
                "{name}: {first} and {second}"
            );
        }
    }
}
