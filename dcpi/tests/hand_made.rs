//! Programs with one known cause of stalls each: the analysis names it, and its range holds the true cycles.

use hps_dcpi::accuracy::dynamic_stalls;
use hps_dcpi::analysis::{Analyst, Kind, Procedure};
use hps_dcpi::collect::truth::{Spent, Truth};
use hps_dcpi::collect::{Follow, Observer, Plan};
use hps_dcpi::samples::{Event, Range, Samples};
use hps_isa::editor::NoEditor;
use hps_isa::isa::Isa;
use hps_pipeline::core::Chip;
use hps_system::cfg::Code;
use hps_system::symbols::Function;

use crate::common::{DCPI_COPY_LOOP, Program, preset, repeat};

/// Mean cycles between samples.
const PERIOD: u64 = 32;

/// A program on `ev5`: its samples, its truth and the analysis of its code as one procedure.
fn analyze(program: &Program) -> (Samples, Truth, Procedure) {
    let machine = preset("ev5");
    let plans = Event::ALL.map(|event| Plan {
        event,
        period: match event {
            Event::Cycles => Range::new(PERIOD - 8, PERIOD + 8).expect("a range"),
            _ => Range::fixed(1),
        },
        seed: 3,
        turns: None,
        follow: Follow::Nothing,
    });
    let observer = Observer::new(&machine, &plans);
    let mut core = Chip::with(&machine, program.process(), NoEditor, observer);
    core.run(1_200_000);
    let (samples, truth) = core.finish().probe.finish_samples();
    let image = program.image();
    let code = Code::new(&image);
    let segment = &image.segments[0];
    let whole = Function {
        name: "whole".to_string(),
        linkage_name: "whole".to_string(),
        addr: image.entry,
        size: segment.end() - image.entry,
    };
    let analyst = Analyst::new(&code, &machine).expect("ev5 is in order");
    let procedure = analyst.procedure(&whole, &samples);
    (samples, truth, procedure)
}

/// A loop of so many iterations around a body.
fn looped(prologue: &str, times: u64, body: &str) -> String {
    format!(
        "la s0, data\n{prologue}\nli s1, {times}\n.align 64\nmain:\n{body}\nsubq s1, 1, s1\nbne s1, main\nbpt\n"
    )
}

/// Asserts that the instruction at a label stalls for a cause, that the analysis names it, and that its range holds
/// the cycles that were spent so.
fn assert_stall(what: &str, text: &str, label: &str, spent: Spent, kind: Kind) {
    let program = Program::of(Isa::Alpha, text, 1 << 22);
    let (_, truth, procedure) = analyze(&program);
    let pc = program.address(label);
    let row = procedure.rows.iter().find(|r| r.pc == pc);
    let row = row.unwrap_or_else(|| panic!("{what}: no row"));
    let real = truth.rows[&pc];
    let stalls = dynamic_stalls(row, &real);
    let cycles = stalls.iter().find(|(what, _)| *what == spent);
    let cycles = cycles.map_or(0.0, |(_, cycles)| *cycles);
    assert!(
        cycles > 0.5 * real.head_cycles() as f64,
        "{what}: it stalls for its cause: {real:?}"
    );
    let named = row.culprits.iter().find(|c| c.kind == kind);
    let culprit = named.unwrap_or_else(|| panic!("{what}: not named: {row:?}"));
    let period = PERIOD as f64;
    let (least, most) = (culprit.least * period, culprit.most * period);
    // Three standard deviations for the error of sampling.
    let slack = 3.0 * (row.samples as f64).sqrt() * period;
    assert!(
        least - slack <= cycles && cycles <= most + slack,
        "{what}: {cycles} cycles in {least}..{most}: {row:?}"
    );
}

#[test]
fn a_load_that_misses_the_data_cache() {
    // A line each time, in a region that level 2 holds.
    let body =
        "ldq t0, 0(t1)\naddq t1, 32, t1\nuse:\naddq t0, t2, t2\nand t1, t4, t1\naddq t1, s0, t1";
    // The pointer is an offset that wraps at 64 KiB, plus the address of the data.
    let body = body.replace(
        "and t1, t4, t1\naddq t1, s0, t1",
        "subq t1, s0, t5\nand t5, t4, t5\naddq t5, s0, t1",
    );
    let text = looped("bis s0, s0, t1\nli t4, 65535", 20_000, &body);
    assert_stall("D-cache", &text, "use", Spent::DCache, Kind::DCache);
}

#[test]
fn a_load_that_misses_the_data_tlb() {
    // A page each time, 128 of them; the TLB holds 64.
    let body = "ldq t0, 0(t1)\naddq t1, t3, t1\nuse:\naddq t0, t2, t2\nsubq t1, s0, t5\nand t5, t4, t5\naddq t5, s0, t1";
    let text = looped("bis s0, s0, t1\nli t4, 1048575\nli t3, 8224", 20_000, body);
    assert_stall("DTB", &text, "use", Spent::Dtb, Kind::Dtb);
}

#[test]
fn stores_that_the_write_buffer_refuses() {
    let body =
        "use:\nstq t2, 0(t1)\naddq t1, 32, t1\nsubq t1, s0, t5\nand t5, t4, t5\naddq t5, s0, t1";
    let text = looped("bis s0, s0, t1\nli t4, 1048575", 20_000, body);
    assert_stall(
        "write buffer",
        &text,
        "use",
        Spent::WriteBuffer,
        Kind::WriteBuffer,
    );
}

#[test]
fn code_that_does_not_fit_into_the_instruction_cache() {
    // 16 KiB of code, of which no line survives.
    let before = repeat(2096, |i| format!("addq t0, 1, t{}", 1 + i % 4));
    let after = repeat(2096, |i| format!("addq t0, 2, t{}", 1 + i % 4));
    // The label begins a line.
    let text = looped("", 400, &format!("{before}use:\n{after}"))
        .replace("bne s1, main", "beq s1, end\nbr main\nend:");
    assert_stall("I-cache", &text, "use", Spent::ICache, Kind::ICache);
}

#[test]
fn jumps_over_more_pages_than_the_instruction_tlb_holds() {
    // One line in each of 64 pages, in different lines of the cache.
    let pages = repeat(64, |i| {
        let pad = repeat(8 * i, |_| "nop".to_string());
        let label = if i == 40 { "use:\n" } else { "" };
        format!(
            ".align 8192\np{i}:\n{pad}q{i}:\n{label}addq t0, 1, t1\nbr r{}\n",
            i + 1
        )
    });
    let jumps = repeat(64, |i| format!(".align 16\nr{i}:\nbr q{i}"));
    // Instructions that never stall show how often the loop runs.
    let free = repeat(400, |i| format!("addq t0, 1, t{}", 1 + i % 4));
    let text = format!(
        "la s0, data\nli s1, 300\n.align 64\nmain:\nbr r0\n{jumps}\n.align 16\nr64:\n{free}subq s1, 1, s1\nbne s1, main\nbpt\n{pages}"
    );
    assert_stall("ITB", &text, "use", Spent::Itb, Kind::Itb);
}

#[test]
fn branches_that_nobody_can_predict() {
    // A multiplicative generator; its upper bit decides. The sum behind the branch is reached both ways.
    let body = "mulq t0, t1, t0\naddq t0, t2, t0\nsrl t0, 40, t3\nand t3, 1, t3\n\
                bis t3, t3, t5\nbis t3, t3, t6\nbeq t3, use\naddq t4, 1, t4\nuse:\naddq t4, 2, t4";
    let text = looped(
        "li t0, 12345\nli t1, 1103515245\nli t2, 12345",
        20_000,
        body,
    );
    assert_stall(
        "misprediction",
        &text,
        "use",
        Spent::Mispredict,
        Kind::Mispredict,
    );
}

#[test]
fn a_division_of_an_earlier_block() {
    let body = "divt/su $f1, $f2, $f3\nbeq s1, on\non:\nuse:\naddt/su $f3, $f2, $f4";
    let prologue = "li t0, 3\nstq t0, 0(s0)\nldt $f1, 0(s0)\ncvtqt $f1, $f1\ncpys $f1, $f1, $f2";
    let text = looped(prologue, 4000, body);
    assert_stall("divider", &text, "use", Spent::MulDiv, Kind::Fdiv);
}

#[test]
fn stores_one_behind_the_other_wait_for_their_pipe() {
    let body = "stq t2, 0(s0)\nuse:\nstq t2, 8(s0)\nstq t2, 16(s0)\nstq t2, 24(s0)";
    let program = Program::of(Isa::Alpha, &looped("", 20_000, body), 4096);
    let (_, truth, procedure) = analyze(&program);
    let pc = program.address("use");
    let row = procedure.rows.iter().find(|r| r.pc == pc).expect("a row");
    assert_eq!(row.static_stalls, [('s', None)]);
    assert!(row.culprits.is_empty(), "{row:?}");
    let real = truth.rows[&pc];
    assert_eq!(real.head_cycles(), real.executions);
}

/// The copy loop of the paper, over arrays of two million words in its case.
#[test]
fn the_copy_loop_gives_its_true_frequency_within_five_percent() {
    let text = format!(
        "la t1, data\nli t2, 0x1200000\nli t0, 0\nli v0, 160000\n.align 16\nmain:{DCPI_COPY_LOOP}\nbpt"
    );
    let program = Program::of(Isa::Alpha, &text, 1 << 22);
    let (_, truth, procedure) = analyze(&program);
    let pc = program.address("main");
    let executions = truth.executions(pc) as f64;
    let row = procedure.rows.iter().find(|r| r.pc == pc).expect("a row");
    let estimate = row.frequency.expect("samples").frequency * PERIOD as f64;
    assert!(
        (estimate / executions - 1.0).abs() < 0.05,
        "{estimate} against {executions}"
    );
    // The store of the first loaded word stalls, for the causes that figure 2 names.
    let store = procedure
        .rows
        .iter()
        .find(|r| r.pc == pc + 24)
        .expect("a row");
    let letters: String = store.culprits.iter().map(|c| c.kind.letter()).collect();
    assert!(letters.contains('d') && letters.contains('w'), "{letters}");
    let from = &store.culprits[0].from;
    assert_eq!(from, &[pc], "the load that provides its data");
}
