//! The paper's copy loop (figures 2 and 7), run on the machine of the paper.
//!
//! The figure has cycles at the head of the issue queue by instruction. It does not say where the arrays lie. Words that
//! an allocator hands out are aligned to 16 bytes; of the four ways to place two such arrays beside blocks of 32 bytes,
//! `a` 16 bytes behind a block and `b` at one has both stalls where the figure has them.

use std::sync::Arc;

use hps_dcpi::collect::Observer;
use hps_dcpi::paper;
use hps_isa::asm::program::assemble;
use hps_isa::isa::Isa;
use hps_lab::{Program, TimedMachine};
use hps_system::image::ProgramImage;

use super::measure::{around, cycles, observed};
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{all, is_in};
use crate::claims::statement::{Statement, plain};
use crate::claims::{BAND, Section};
use crate::measurement::Measurement;
use crate::table::{Cells, Table};

/// The machine of figure 2.
pub const MACHINE: &str = "alphastation-500";

/// The name of the program in results.
pub(super) const NAME: &str = "copy";

/// Words that are copied.
const WORDS: u32 = 2_000_000;

/// Bytes of a page.
const PAGE: u64 = 8192;

/// The loop as figure 2 prints it.
const LOOP: [&str; 13] = [
    "ldq t4, 0(t1)",
    "addq t0, 4, t0",
    "ldq t5, 8(t1)",
    "ldq t6, 16(t1)",
    "ldq a0, 24(t1)",
    "lda t1, 32(t1)",
    "stq t4, 0(t2)",
    "cmpult t0, v0, t4",
    "stq t5, 8(t2)",
    "stq t6, 16(t2)",
    "stq a0, 24(t2)",
    "lda t2, 32(t2)",
    "bne t4, copy",
];

/// Places of the two stores that stall.
const STALLED: [usize; 2] = [6, 9];

/// The program: `a` lies 16 bytes behind a block of 32 bytes, `b` at one.
///
/// # Errors
/// In words, if it does not assemble.
pub fn program() -> Result<Program, String> {
    // Memory for both comes from the break, in whole pages.
    let text = format!(
        "_start:\nbis zero, zero, a0\nli v0, 17\ncallsys\nli t3, 8191\naddq v0, t3, t1\nbic t1, t3, t1\nli t3, {array}\n\
         addq t1, t3, t2\naddq t2, t3, a0\nli v0, 17\ncallsys\nlda t1, 16(t1)\nli v0, {WORDS}\nbis zero, zero, t0\nbr copy\n\
         .balign 32\nnop\nnop\nnop\nnop\ncopy:\n{}\nbis zero, zero, a0\nli v0, 1\ncallsys\n",
        LOOP.join("\n"),
        array = (8 * u64::from(WORDS)).next_multiple_of(PAGE) + PAGE,
    );
    let program = assemble(Isa::Alpha, &text).map_err(|e| e.to_string())?;
    let image = ProgramImage::parse(&program.file, NAME).map_err(|e| e.to_string())?;
    Ok(Program::of_image(NAME, Arc::new(image)))
}

/// Cycles at the head of each instruction of the loop, and of the loop by instruction.
pub(super) fn measurements(
    program: &Program,
    machine: &TimedMachine,
) -> Result<Vec<Measurement>, String> {
    let observer = Observer::new(&machine.config, &[cycles(around(64), 64)]);
    let (_, truth) = observed(program, machine, observer)?.finish();
    let runs = u64::from(WORDS) / 4;
    let first = (truth.rows.iter())
        .filter(|(_, row)| row.executions == runs)
        .map(|(pc, _)| *pc)
        .min();
    let first = first.ok_or("the loop did not run")?;
    let heads = (0..).step_by(4).take(LOOP.len()).map(|offset| {
        let row = truth.rows.get(&(first + offset));
        row.map_or(0.0, |row| row.head_cycles() as f64 / runs as f64)
    });
    let measured = heads.enumerate().map(|(at, cycles)| Measurement {
        x: Some(at as f64),
        ..Measurement::new(program, "dcpi", HEAD, cycles)
    });
    Ok(measured.collect())
}

/// The measure of cycles at the head of the queue, by the place of an instruction in the loop.
const HEAD: &str = "copy_head_cycles";

/// Figure 2 beside the loop here.
pub(super) fn statement(table: &Table<'_>) -> Statement {
    let all_heads = table.select(Cells::of(HEAD));
    let heads: Vec<(usize, f64)> = all_heads
        .map(|m| (m.x.map_or(0, |x| x as usize), m.value))
        .collect();
    let at = |place: usize| {
        heads
            .iter()
            .find(|(at, _)| *at == place)
            .map(|(_, cycles)| *cycles)
    };
    let sum = |wanted: &dyn Fn(usize) -> bool| {
        let of = heads.iter().filter(|(at, _)| wanted(*at));
        (!heads.is_empty()).then(|| of.map(|(_, cycles)| cycles).sum::<f64>())
    };
    let cpi = sum(&|_| true).map(|cycles| cycles / LOOP.len() as f64);
    let others = sum(&|at| !STALLED.contains(&at));
    let [t4, t6] = paper::COPY_LOOP_STALLS;
    let near = |place, published| is_in(place, Band::near(published, BAND, Unit::Plain));
    Statement::new(
        Section::Accuracy,
        "cycles an instruction of the copy loop, and those at `stq t4`, at `stq t6` and at all others",
        format!(
            "{}; {t4}, {t6} and {} (figure 2)",
            paper::COPY_LOOP_CPI,
            paper::COPY_LOOP_OTHERS
        ),
    )
    .over(format!(
        "on `{MACHINE}`, of which one beat of the memory's bus is derived from the first number; arrays where both stalls are in their places"
    ))
    .is(plain(2, cpi))
    .number("", plain(1, at(STALLED[0])))
    .number("", plain(1, at(STALLED[1])))
    .number("", plain(1, others))
    .here("{0}; {1}, {2} and {3}")
    .confirmed(all([
        near(0, paper::COPY_LOOP_CPI),
        near(1, t4),
        near(2, t6),
        near(3, paper::COPY_LOOP_OTHERS),
    ]))
    .else_differs("{0}; {1}, {2} and {3}")
}
