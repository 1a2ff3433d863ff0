//! Frequencies from precise samples: what a user of PEBS, IBS or SPE learns of how often blocks run, on machines of any order.

use hps_dcpi::accuracy::edge_executions;
use hps_dcpi::analysis::precise::{Interval, frequencies};
use hps_dcpi::samples::Counts;
use hps_system::cfg::Code;

use super::claims::{by_machine, listed};
use super::measure::Study;
use crate::claims::Section;
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{Condition, all, is_in};
use crate::claims::statement::{Statement, percent, ratio};
use crate::measurement::Measurement;
use crate::table::Table;

/// Policies whose samples are of retired instructions, one of each so many: the first of the next group that retires, and
/// an operation that is tagged when it is dispatched (SPE's way, and that of IBS when it counts operations).
pub const PRECISE: [&str; 2] = ["pebs-pdir", "spe"];

/// The measure of frequencies from precise samples of a policy.
#[must_use]
pub fn precise_measure(policy: &str, measure: &str) -> String {
    format!("{policy} {measure}")
}

/// Shares of true frequencies in their 95% intervals that agree with the intervals' name.
const COVERED: (f64, f64) = (0.9, 0.99);

/// Frequencies of blocks and edges from precise samples against exact counts: how many are within 10%, weighted by
/// executions, and how many true ones lie in their intervals.
pub(super) fn measurements(
    study: &Study<'_>,
    setting: &str,
    policy: &str,
    counts: &Counts,
) -> Vec<Measurement> {
    let code = Code::new(&study.program.image);
    // A user counts instructions, too: samples that collide or are lost make the period longer.
    let instructions: u64 = study.truth.rows.values().map(|row| row.executions).sum();
    let period = instructions as f64 / counts.total().max(1) as f64;
    // Of blocks and of edges: executions, those within 10%, those in intervals; blocks that ran, and those in intervals.
    let (mut executed, mut near, mut inside) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    let (mut blocks, mut blocks_inside) = (0.0, 0.0);
    for procedure in frequencies(&code, counts) {
        let cfg = &procedure.cfg;
        let of_blocks = (0..cfg.blocks.len()).map(|block| {
            let insts = cfg.block_insts(block);
            let executions = insts.last().map_or(0, |i| study.truth.executions(i.pc));
            let weight = executions as f64 * insts.len() as f64;
            (0, procedure.block(block), executions as f64, weight)
        });
        let of_edges = (0..cfg.edges.len()).filter_map(|edge| {
            let executions = edge_executions(cfg, edge, study.truth)? as f64;
            Some((1, procedure.edge(edge), executions, executions))
        });
        for (of, found, executions, weight) in of_blocks.chain(of_edges) {
            let holds = |i: &Interval| (i.least..=i.most).contains(&(executions / period));
            let is_near = |i: &Interval| (i.frequency * period / executions - 1.0).abs() <= 0.1;
            executed[of] += weight;
            near[of] += if found.is_some_and(|i| is_near(&i)) {
                weight
            } else {
                0.0
            };
            inside[of] += if found.is_some_and(|i| holds(&i)) {
                weight
            } else {
                0.0
            };
            if of == 0 && executions > 0.0 {
                blocks += 1.0;
                blocks_inside += f64::from(u8::from(found.is_some_and(|i| holds(&i))));
            }
        }
    }
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let numbers = [
        ("samples", counts.total() as f64),
        (
            "frequency_within_10_percent",
            100.0 * share(near[0], executed[0]),
        ),
        (
            "edge_within_10_percent",
            100.0 * share(near[1], executed[1]),
        ),
        ("frequency_covered_ratio", share(inside[0], executed[0])),
        ("edge_covered_ratio", share(inside[1], executed[1])),
        ("block_covered_ratio", share(blocks_inside, blocks)),
    ];
    let all = numbers.map(|(measure, value)| Measurement {
        setting: setting.to_string(),
        ..Measurement::new(
            study.program,
            "dcpi",
            &precise_measure(policy, measure),
            value,
        )
    });
    all.to_vec()
}

/// Claims about frequencies from precise samples, which no paper makes.
pub(super) fn statements(table: &Table<'_>) -> Vec<Statement> {
    let of_policy = |policy| [told(table, policy), covered(table, policy)];
    PRECISE.into_iter().flat_map(of_policy).collect()
}

/// Numbers of machines, without that of the first one, which issues in order: the least and the most.
fn out_of_order(all: Option<&Vec<(&str, f64)>>) -> (Option<f64>, Option<f64>) {
    let others = || {
        all.into_iter()
            .flat_map(|all| &all[1..])
            .map(|(_, value)| *value)
    };
    (others().reduce(f64::min), others().reduce(f64::max))
}

fn told(table: &Table<'_>, policy: &str) -> Statement {
    let of = |measure: &str| by_machine(table, &precise_measure(policy, measure), 1.0);
    let both = of("frequency_within_10_percent").zip(of("edge_within_10_percent"));
    let head = by_machine(table, "frequency_within_10_percent", 1.0);
    let text = both.as_ref().map(|(frequencies, edges)| {
        format!(
            "frequencies: {}; edges: {}",
            listed(frequencies),
            listed(edges)
        )
    });
    Statement::new(
        Section::Explained,
        format!("out of order, samples of retired instructions by `{policy}` tell frequencies that samples of the head do not"),
        "section 7 leaves it open",
    )
    .over("executed instructions whose frequency is within 10%; a sample each 64 instructions")
    .number(
        "the least share on a machine out of order",
        percent(1, out_of_order(both.as_ref().map(|(all, _)| all)).0),
    )
    .number("the largest by samples of the head", percent(1, out_of_order(head.as_ref()).1))
    .here(text.unwrap_or_default())
    .confirmed(Condition::Above(0, 1))
}

fn covered(table: &Table<'_>, policy: &str) -> Statement {
    let of = |measure: &str| by_machine(table, &precise_measure(policy, measure), 100.0);
    let both = of("frequency_covered_ratio").zip(of("block_covered_ratio"));
    let text = both.as_ref().map(|(executed, blocks)| {
        format!(
            "by executed instructions: {}; by blocks: {}",
            listed(executed),
            listed(blocks)
        )
    });
    let (least, most) = out_of_order(both.as_ref().map(|(all, _)| all));
    let band = || Band::between(COVERED.0, COVERED.1, Unit::Ratio);
    let share = |percent: Option<f64>| ratio(percent.map(|percent| percent / 100.0));
    Statement::new(
        Section::Explained,
        format!("95% intervals of frequencies by `{policy}` hold the true ones"),
        "no paper has intervals",
    )
    .over("share of executed instructions, machines out of order")
    .number("the least", share(least))
    .number("the most", share(most))
    .here(text.unwrap_or_default())
    .confirmed(all([is_in(0, band()), is_in(1, band())]))
}
