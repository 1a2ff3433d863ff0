//! Small programs in which the order of accesses in time differs most from program order.

use hps_isa::isa::Isa;

use crate::common::assemble::DATA;
use crate::common::random::Random;
use crate::common::{Program, repeat};

/// A program of the set.
pub struct Kernel {
    pub name: String,
    pub program: Program,
}

/// Distance that falls into one set of every level 1 cache of the presets.
const APART: u64 = 32 << 10;

/// Bytes of data of every kernel.
const BYTES: u64 = 1 << 20;

/// Registers for addresses, and for values.
const POINTERS: [&str; 8] = ["t0", "t1", "t2", "t3", "t4", "t5", "s4", "s5"];
const VALUES: [&str; 6] = ["a1", "a2", "a3", "a4", "a5", "a6"];

const EXIT: &str = "li a0, 0\nli a7, 93\necall\n";

fn kernel(name: impl Into<String>, text: &str) -> Kernel {
    Kernel {
        name: name.into(),
        program: Program::new(text, BYTES),
    }
}

/// `body` for `times` iterations in each of `passes`, before each of which `setup` runs. The loop counts are `s1`
/// and `s2`.
fn passes(passes: u64, setup: &str, times: u64, body: &str) -> String {
    format!(
        "li s2, {passes}\npass:\n{setup}\nli s1, {times}\nmain:\n{body}\naddi s1, s1, -1\nbnez s1, main\n\
         addi s2, s2, -1\nbnez s2, pass\n{EXIT}"
    )
}

/// Starts `count` streams, `apart` bytes from each other.
fn start_streams(count: usize, apart: u64) -> String {
    repeat(count, |k| {
        format!("li {}, {}", POINTERS[k], DATA + k as u64 * apart)
    })
}

/// `count` read streams whose lines fall into the same sets, `step` bytes an iteration, and `work` sums beside each
/// load.
fn streams(count: usize, apart: u64, step: u64, work: usize) -> String {
    let loads = repeat(count, |k| {
        let value = VALUES[k % VALUES.len()];
        let sums = repeat(work, |_| format!("add {value}, {value}, s1"));
        format!(
            "ld {value}, 0({p})\n{sums}xor s3, s3, {value}\naddi {p}, {p}, {step}",
            p = POINTERS[k]
        )
    });
    passes(3, &start_streams(count, apart), 2048 / step, &loads)
}

/// Streams whose lines fall into the same sets, on Alpha.
fn streams_on_alpha(count: usize) -> Program {
    let start = repeat(count, |k| {
        format!("li {}, {}", POINTERS[k], DATA + k as u64 * APART)
    });
    let loads = repeat(count, |k| {
        let (value, p) = (VALUES[k % VALUES.len()], POINTERS[k]);
        format!(
            "ldq {value}, 0({p})\naddq {value}, s1, {value}\nxor s3, {value}, s3\nlda {p}, 8({p})"
        )
    });
    let text = format!(
        "li s2, 3\npass:\n{start}\nli s1, 256\nmain:\n{loads}\nsubq s1, 1, s1\nbne s1, main\n\
         subq s2, 1, s2\nbne s2, pass\nli a0, 0\nli v0, 1\ncallsys\n"
    );
    Program::of(Isa::Alpha, &text, BYTES)
}

/// Streams that are read, and one that is written beside them.
fn copies(sources: usize) -> String {
    let loads = repeat(sources, |k| {
        format!(
            "ld a1, 0({p})\nadd a2, a2, a1\naddi {p}, {p}, 8",
            p = POINTERS[k]
        )
    });
    let body = format!(
        "{loads}sd a2, 0({p})\naddi {p}, {p}, 8",
        p = POINTERS[sources]
    );
    passes(3, &start_streams(sources + 1, APART), 256, &body)
}

/// A ring of pointers through `nodes` places, `step` bytes apart, in random order.
fn ring(nodes: u64, step: u64, at: u64) -> Vec<(u64, u64)> {
    let mut random = Random(nodes ^ step);
    let mut order: Vec<u64> = (0..nodes).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    let place = |i: usize| at + order[i % order.len()] * step;
    (0..order.len())
        .map(|i| (place(i), DATA + place(i + 1)))
        .collect()
}

/// Chases a ring, `beside` it something else in each iteration.
fn chase(name: &str, nodes: u64, step: u64, setup: &str, beside: &str) -> Kernel {
    let setup = format!("li s0, {}\n{setup}", DATA + (256 << 10));
    let (at, words) = (256 << 10, ring(nodes, step, 256 << 10));
    let first = words.iter().find(|(place, _)| *place == at);
    assert!(first.is_some(), "the ring goes through its beginning");
    let text = passes(2, &setup, 700, &format!("ld s0, 0(s0)\n{beside}"));
    Kernel {
        name: name.into(),
        program: Program::new(&text, BYTES).with_words(words),
    }
}

/// Random indices, 8 bytes each, below `below`, times 8.
fn indices(count: u64, below: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut random = Random(below);
    (0..count).map(move |i| (i * 8, random.below(below) * 8))
}

/// Reads indices, and at each index a table of `entries` words; `then` goes on with the value in `a2` and its address
/// in `a1`.
fn gather(name: &str, entries: u64, then: &str) -> Kernel {
    let setup = format!("li t0, {DATA}\nli s4, {}", DATA + (128 << 10));
    let body = format!("ld a1, 0(t0)\naddi t0, t0, 8\nadd a1, a1, s4\nld a2, 0(a1)\n{then}");
    let text = passes(2, &setup, 800, &body);
    Kernel {
        name: name.into(),
        program: Program::new(&text, BYTES).with_words(indices(800, entries)),
    }
}

/// Loads whose addresses come late, by a division, beside early ones of the same sets.
fn late_address(early: usize) -> String {
    let setup = format!("{}li s6, 77\nli s7, 7", start_streams(early + 1, APART));
    let loads = repeat(early, |k| {
        let p = POINTERS[k];
        format!("ld a1, 0({p})\nadd a2, a2, a1\naddi {p}, {p}, 8")
    });
    let late = POINTERS[early];
    let body = format!(
        "div a3, s6, s7\nandi a3, a3, 0\nadd a4, {late}, a3\nld a5, 0(a4)\nxor s6, s6, a5\naddi {late}, {late}, 8\n{loads}"
    );
    passes(3, &setup, 256, &body)
}

/// A chain of divisions beside `beside` that depend on nothing.
fn divisions(op: &str, beside: usize, between: usize) -> String {
    let chain = repeat(between, |_| "addi s6, s6, 1".to_string());
    let others = repeat(beside, |k| format!("{op} {}, s7, s8", VALUES[k]));
    let body = format!("{op} s6, s6, s7\n{chain}{others}");
    passes(2, "li s6, 1000000\nli s7, 3\nli s8, 7", 400, &body)
}

/// Branches by loaded random data, with loads on both of their sides.
fn branches(entries: u64) -> Kernel {
    let then = "srli a3, a2, 3\nandi a3, a3, 1\nbeqz a3, even\nld a4, 1024(a1)\nadd a5, a5, a4\nj joined\n\
                even:\nld a4, 2000(a1)\nxor a5, a5, a4\njoined:";
    let mut k = gather("random branches and loads", entries, then);
    let mut random = Random(entries);
    let table = (0..entries).map(|i| ((128 << 10) + i * 8, random.next()));
    k.program = k.program.with_words(table);
    k
}

/// All programs of the set.
pub fn all() -> Vec<Kernel> {
    let mut all = Vec::new();
    for count in [2, 3, 4, 5, 6, 8] {
        let name = format!("{count} conflicting streams");
        all.push(kernel(name, &streams(count, APART, 8, 2)));
    }
    all.push(kernel(
        "4 conflicting streams, much work",
        &streams(4, APART, 8, 8),
    ));
    all.push(kernel(
        "4 conflicting streams, lines",
        &streams(4, APART, 64, 2),
    ));
    all.push(kernel("4 streams apart", &streams(4, APART + 256, 8, 2)));
    all.push(kernel("8 streams, lines", &streams(8, APART + 512, 64, 0)));
    all.push(kernel("a stream of pages", &streams(2, 4096, 1024, 1)));
    for count in [3, 4] {
        all.push(Kernel {
            name: format!("{count} conflicting streams, Alpha"),
            program: streams_on_alpha(count),
        });
    }
    for sources in [1, 2, 3] {
        let name = format!("copies of {sources} conflicting streams");
        all.push(kernel(name, &copies(sources)));
    }
    all.push(chase("a chase, level 1", 64, 64, "", "add a1, a1, s0"));
    all.push(chase("a chase, level 2", 1500, 64, "", "add a1, a1, s0"));
    all.push(chase("a chase in one set", 12, APART, "", "add a1, a1, s0"));
    let early = start_streams(3, APART);
    let loads = repeat(3, |k| {
        let p = POINTERS[k];
        format!("ld a1, 0({p})\nadd a2, a2, a1\naddi {p}, {p}, 8")
    });
    all.push(chase("a chase beside 3 streams", 1500, 64, &early, &loads));
    let stores = format!("{loads}sd a2, 0(t0)\nsd a1, 512(t1)");
    all.push(chase(
        "a chase beside streams and stores",
        200,
        192,
        &early,
        &stores,
    ));
    let follows = "andi a1, s0, 0x7c0\nli a2, 0\nadd a1, a1, s7\nld a3, 0(a1)\nld a4, 1024(s0)\nadd a5, a3, a4";
    all.push(chase(
        "a chase and what it finds",
        300,
        64,
        &format!("li s7, {DATA}"),
        follows,
    ));
    all.push(gather("a gather, 16 KiB", 2048, "add a3, a3, a2"));
    all.push(gather("a gather, 64 KiB", 8192, "add a3, a3, a2"));
    all.push(gather("a histogram", 4096, "addi a2, a2, 1\nsd a2, 0(a1)"));
    all.push(branches(4096));
    for early in [1, 2, 3] {
        let name = format!("a late load beside {early} early ones");
        all.push(kernel(name, &late_address(early)));
    }
    for (beside, between) in [(1, 0), (1, 5), (3, 2)] {
        let name = format!("divisions, {beside} beside a chain of 1+{between}");
        all.push(kernel(name, &divisions("div", beside, between)));
    }
    all
}
