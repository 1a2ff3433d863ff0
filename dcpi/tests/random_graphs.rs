//! The analysis and a second, plain one agree on random procedures with random samples.

use std::fmt::Write;

use hps_dcpi::analysis::{Analyst, Procedure};
use hps_dcpi::samples::{Counts, Event, Range, Samples};
use hps_isa::isa::Isa;
use hps_system::cfg::{Cfg, Code};
use hps_system::symbols::Function;

use crate::common::random::{Random, line};
use crate::common::{Program, preset};
use crate::second::{self, Findings, schedule};

/// Procedures by day, and by night.
const ROUNDS: (u64, u64) = (300, 6000);

/// A procedure of random blocks: branches, jumps, calls, returns, endless loops.
fn text(isa: Isa, random: &mut Random) -> String {
    let blocks = 2 + random.below(7);
    let mut text = format!(".align {}\nmain:\n", 16);
    for _ in 0..random.below(4) {
        text += "nop\n";
    }
    for block in 0..blocks {
        let _ = writeln!(text, "b{block}:");
        for _ in 0..random.below(7) {
            text += &line(isa, random);
            text += "\n";
        }
        if random.below(24) == 0 {
            text += ["fence\n", "mb\n"][usize::from(isa == Isa::Alpha)];
        }
        let to = random.below(blocks);
        let [branch, jump, call, back] = match isa {
            Isa::Riscv64 => ["bnez a1, b", "j b", "jal ra, far", "ret"],
            Isa::Alpha => ["bne t1, b", "br b", "bsr ra, far", "ret"],
        };
        let _ = match random.below(12) {
            0..=6 => writeln!(text, "{branch}{to}"),
            7 => writeln!(text, "{jump}{to}"),
            8 => writeln!(text, "{call}"),
            9 => writeln!(text, "{back}"),
            _ => Ok(()),
        };
    }
    text + "ret\nend:\nfar:\nret\n"
}

/// Samples of random walks through a graph: some instructions stall, and some counts are small.
fn samples(cfg: &Cfg, random: &mut Random) -> Samples {
    let mut executions = vec![0u64; cfg.blocks.len()];
    let (walks, weight) = (1 + random.below(30), 1 + random.below(40));
    for _ in 0..walks {
        let mut node = cfg.entry();
        for _ in 0..60 {
            let out = cfg.out_of(node);
            if out.is_empty() {
                break;
            }
            node = cfg.edges[random.pick(out)].to;
            if let Some(count) = executions.get_mut(node) {
                *count += weight;
            }
        }
    }
    let machine = preset("ev5");
    let mut all = Samples::default();
    let range = Range::new(60, 68).expect("a range");
    let events = [Event::Cycles, Event::Imiss, Event::Itbmiss, Event::Dtbmiss];
    for event in events {
        if event != Event::Cycles && random.below(2) == 0 {
            continue;
        }
        let mut counts = Counts::new(range);
        for (block, executions) in executions.iter().enumerate() {
            let insts = cfg.block_insts(block);
            let heads = schedule::heads(&machine, &[], false, insts);
            for (placed, (head, _)) in insts.iter().zip(heads) {
                let stall = if random.below(5) == 0 {
                    random.below(40)
                } else {
                    0
                };
                let mean = match event {
                    Event::Cycles => executions * (u64::from(head) + stall),
                    _ => random.below(3) * executions / 16,
                };
                // A sum of many rare events.
                let count = (0..mean.min(4000)).filter(|_| random.below(4) == 0).count() as u64;
                if count > 0 {
                    counts.by_pc.insert(placed.pc, count);
                }
            }
        }
        all.events.insert(event, counts);
    }
    all
}

/// Whether two numbers are equal but for the order of sums.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Asserts that both analyses find the same. Answers how many classes got an estimate from others, how many stalls have
/// culprits, and how many pairs of edges and blocks share a class.
fn agree(what: &str, first: &Procedure, second: &Findings) -> [usize; 3] {
    let of_first: Vec<usize> = [&first.classes.of_block[..], &first.classes.of_edge].concat();
    let mut joined = 0;
    for a in 0..of_first.len() {
        for b in 0..a {
            let same = of_first[a] == of_first[b];
            assert_eq!(
                same,
                second.classes[a] == second.classes[b],
                "{what}: classes of {a} and {b}"
            );
            joined += usize::from(same);
        }
    }
    let mut moved = 0;
    for (at, class) in of_first.iter().enumerate() {
        let (one, other) = (first.estimates[*class], second.known[second.classes[at]]);
        assert_eq!(one.is_some(), other.is_some(), "{what}: {one:?}, {other:?}");
        if let Some((one, other)) = one.zip(other) {
            assert!(
                near(one.frequency, other.frequency) && near(one.deviation, other.deviation),
                "{what}: class of {at}: {one:?}, {other:?}"
            );
            moved += usize::from(at >= first.classes.of_block.len());
        }
    }
    let mut culprits = 0;
    assert_eq!(first.rows.len(), second.rows.len());
    for (one, other) in first.rows.iter().zip(&second.rows) {
        let here = format!("{what}, {:#x} {}", one.pc, one.text);
        assert_eq!(
            (one.pc, one.slotted.head_cycles),
            (other.pc, other.head_cycles),
            "{here}"
        );
        assert!(
            near(one.dynamic, other.dynamic),
            "{here}: {} {}",
            one.dynamic,
            other.dynamic
        );
        assert_eq!(
            one.culprits.len(),
            other.culprits.len(),
            "{here}: {:?} {:?}",
            one.culprits,
            other.culprits
        );
        for culprit in &one.culprits {
            let same = other.culprits.iter().find(|c| c.kind == culprit.kind);
            let same = same.unwrap_or_else(|| panic!("{here}: {culprit:?}: {:?}", other.culprits));
            assert!(
                near(culprit.least, same.least) && near(culprit.most, same.most),
                "{here}: {culprit:?} {same:?}"
            );
            assert_eq!(culprit.from, same.from, "{here}: {:?}", culprit.kind);
            culprits += 1;
        }
    }
    [moved, culprits, joined]
}

#[test]
fn a_second_analysis_agrees_on_random_procedures() {
    let machine = preset("ev5");
    let is_night = std::env::var_os("HPS_NIGHT").is_some();
    let rounds = if is_night { ROUNDS.1 } else { ROUNDS.0 };
    let mut sums = [0; 3];
    for round in 0..rounds {
        let mut random = Random(round);
        let isa = Isa::ALL[(round % 2) as usize];
        let text = text(isa, &mut random);
        let program = Program::of(isa, &text, 64);
        let image = program.image();
        let code = Code::new(&image);
        let function = Function {
            name: "main".to_string(),
            linkage_name: "main".to_string(),
            addr: program.address("main"),
            size: program.address("end") - program.address("main"),
        };
        let cfg = Cfg::of(&code, &function);
        let samples = samples(&cfg, &mut random);
        let analyst = Analyst::new(&code, &machine).expect("ev5 is in order");
        let first = analyst.procedure(&function, &samples);
        let second = second::analyze(&cfg, &machine, &samples);
        let found = agree(&format!("round {round} on {isa}\n{text}"), &first, &second);
        for (sum, found) in sums.iter_mut().zip(found) {
            *sum += found;
        }
    }
    assert!(sums.iter().all(|sum| *sum > 1000), "{sums:?}");
}
