//! The evaluation of TIP and TEA as a report: errors beside the published ones, and what explains the differences.

use std::path::Path;

use hps_experiments::UnitRecord;
use hps_experiments::claims::{Claim, Section};
use hps_experiments::tip::{Data, NARROW, PUBLISHED};

use crate::PlotError;
use crate::answer::{Erring, least};
use crate::axis::Axis;
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;
use crate::figures::{
    BarChart, BarPanel, Curve, HeatMap, Scatter, Whiskers, grouped_bars_with, heat_map, scatter,
};
use crate::html::ReportInfo;
use crate::report::ReportFiles;
use crate::reproduction::parts::over;
use crate::reproduction::{Answered, Words, claims_tables, write_measured};
use crate::style;

const WORDS: Words = Words {
    introduction: "Two studies say how far sampling policies are from the truth: TIP (MICRO 2021) and TEA (ISCA 2023), \
        both on a simulated BOOM core with programs of SPEC. Here the same policies, written from the studies' \
        abstracts and from the manuals of the processors that have them, watch the project's programs or the \
        suite's beside an exact oracle. Policies that share a run change no cycle of it.",
    measure: "Error is 1 - overlap with the exact profile. The overlap of two profiles is the sum, over all members, of \
        the smaller of the two shares: 100% for equal profiles, 0% for profiles without a member in common.",
    files: "claims.csv has every claim, measurements.csv every number, units.jsonl the same with the machine's \
        fingerprint and the program's hash.",
    guide: include_str!("guide.html"),
};

/// Draws what was measured and writes `report.html`, `claims.csv`, `measurements.csv` and the pictures into `dir`. The
/// page comes last. `boards` has the records of each instruction set with its claims.
///
/// # Errors
/// [`PlotError::NoRows`] if nothing was measured, [`PlotError::Write`] naming the file or folder that could not be
/// written, and the errors of drawing.
pub fn write_tip(
    dir: &Path,
    boards: &[(&str, Data<'_>)],
    claims: &[Claim],
    records: &[UnitRecord],
    info: &ReportInfo,
) -> Result<ReportFiles, PlotError> {
    write_measured(dir, records, Some(claims), (info, &WORDS), || {
        let mut chapters = vec![claims_chapter(claims)];
        let mut answers = Vec::new();
        for (isa, data) in boards {
            chapters.extend(of_isa(isa, data)?);
            answers.extend(answer(isa, data));
        }
        Ok(Answered::new(chapters, answers))
    })
}

/// The policy that errs least by instruction.
fn answer(isa: &str, data: &Data<'_>) -> Option<(String, String)> {
    let by_instruction = of_tip().filter(|p| p.policy != "tea");
    let known = by_instruction.filter_map(|published| {
        Some(Erring {
            name: published.policy,
            error: data.mean_error(published.policy)?,
            overhead: None,
        })
    });
    let of = format!("where cycles go ({isa} on {})", data.machine);
    let programs = data.programs().len();
    let text = least(&known.collect::<Vec<_>>(), "policies", " by instruction")?;
    Some((of, format!("{text}; {}", over(programs))))
}

fn claims_chapter(claims: &[Claim]) -> Chapter {
    let of = |explains: bool| -> Vec<Claim> {
        let wanted = claims.iter();
        wanted
            .filter(|c| (c.section == Section::Explained) == explains)
            .cloned()
            .collect()
    };
    let mut tables = claims_tables(&of(false));
    for mut table in claims_tables(&of(true)) {
        table.title = format!("What explains the differences: {}", table.title);
        tables.push(table);
    }
    Chapter {
        id: "claims".to_string(),
        title: "What the studies say, and what is seen here".to_string(),
        text: vec![
            "Each verdict is computed from the numbers of this report by the rule beside it. Programs and machine \
             are others than the studies'."
                .to_string(),
        ],
        figures: Vec::new(),
        tables,
    }
}

fn of_isa(isa: &str, data: &Data<'_>) -> Result<Vec<Chapter>, PlotError> {
    let name = |figure: &str| format!("{isa}-{figure}");
    let mut errors = Chapter {
        id: format!("errors-{isa}"),
        title: format!(
            "Errors beside the published ones: {isa} on {}",
            data.machine
        ),
        figures: vec![
            (name("published"), published(isa, data)?),
            (name("programs"), programs(isa, data)?),
        ],
        ..Chapter::default()
    };
    errors.tables.push(errors_table(data));
    let mut why = Chapter {
        id: format!("why-{isa}"),
        title: format!("What explains the differences: {isa}"),
        text: vec![
            "A policy that blames one of several instructions that commit together errs the more, the more of them \
             there are. So the width of the machine and the parallelism of the program decide the error of NCI, and \
             hardly that of a policy that shares the cycle."
                .to_string(),
        ],
        figures: vec![(name("width"), by_machine(isa, data)?)],
        ..Chapter::default()
    };
    if let Some(figure) = groups(isa, data)? {
        why.figures.push((name("groups"), figure));
    }
    why.tables.push(states_table(data));
    Ok(vec![errors, why])
}

/// The policies of the study with their published errors.
fn of_tip() -> impl Iterator<Item = &'static hps_experiments::tip::Published> {
    let mut seen: Vec<&str> = Vec::new();
    PUBLISHED.iter().filter(move |p| {
        let first = !seen.contains(&p.policy);
        seen.push(p.policy);
        first
    })
}

fn published(isa: &str, data: &Data<'_>) -> Result<Figure, PlotError> {
    let mut whiskers = Whiskers::new();
    let mut values = Vec::new();
    let mut tops = Vec::new();
    let mut groups = Vec::new();
    for (group, published) in of_tip().enumerate() {
        let here = data.mean_error(published.policy);
        if let Some((mean, half)) = here.and_then(|mean| Some((mean.value, mean.half_width?))) {
            let ends = (
                100.0 * (mean - half).max(0.0),
                100.0 * (mean + half).min(1.0),
            );
            whiskers.insert([0, 0, group, 1], ends);
            tops.push(ends.1);
        }
        let bars = vec![
            Some(100.0 * published.mean),
            here.map(|mean| 100.0 * mean.value),
            data.mean_bias(data.machine, published.policy)
                .map(|b| 100.0 * b),
        ];
        tops.extend(bars.iter().flatten());
        values.push(bars);
        groups.push(published.policy.to_string());
    }
    let panel = BarPanel {
        title: String::new(),
        groups,
        group_label: String::new(),
        values,
        y: Axis::numbers("Error: 1 - overlap, %", &tops, true),
    };
    let chart = BarChart {
        title: "What each policy gets wrong, beside the published error".to_string(),
        subtitle: format!(
            "{isa} on {}; mean over {} programs; tea: over event stacks, its bias by instruction",
            data.machine,
            data.programs().len()
        ),
        bars: ["published", "here", "here, every cycle sampled"]
            .iter()
            .enumerate()
            .map(|(at, label)| ((*label).to_string(), style::category(at)))
            .collect(),
        rows: vec![(640.0, vec![panel])],
    };
    grouped_bars_with(&chart, "95% interval of the mean", &whiskers)
}

fn programs(isa: &str, data: &Data<'_>) -> Result<Figure, PlotError> {
    let policies = [
        "software", "ibs", "spe", "lci", "nci", "nci-ilp", "pebs", "tip",
    ];
    let programs = data.programs();
    let row = |policy: &&str| {
        let errors = data.errors(data.machine, policy, "instruction");
        let cell = |program: &&str| errors.get(program).map(|e| 100.0 * e);
        programs.iter().map(cell).collect()
    };
    heat_map(&HeatMap {
        title: "Error by instruction, program by program".to_string(),
        subtitle: format!("{isa} on {}; mean over phases of the period", data.machine),
        rows: policies.map(str::to_string).to_vec(),
        columns: programs.iter().map(ToString::to_string).collect(),
        row_label: String::new(),
        column_label: String::new(),
        values: policies.iter().map(row).collect(),
        colors: style::ORANGES,
        unit: "Error, %".to_string(),
        decimals: 1,
    })
}

fn by_machine(isa: &str, data: &Data<'_>) -> Result<Figure, PlotError> {
    let policies = ["lci", "nci", "nci-ilp", "tip"];
    let machines = data.machines();
    let values: Vec<Vec<Option<f64>>> = machines
        .iter()
        .map(|machine| {
            let of = |policy: &&str| data.mean_bias(machine, policy).map(|b| 100.0 * b);
            policies.iter().map(of).collect()
        })
        .collect();
    let tops: Vec<f64> = values.iter().flatten().flatten().copied().collect();
    let panel = BarPanel {
        title: String::new(),
        groups: machines.iter().map(ToString::to_string).collect(),
        group_label: String::new(),
        y: Axis::numbers("Bias, %", &tops, true),
        values,
    };
    let chart = BarChart {
        title: "Bias of policies at commit, by machine".to_string(),
        subtitle: format!(
            "{isa}; the error with every cycle sampled, mean over {} programs",
            data.programs().len()
        ),
        bars: (policies.iter().enumerate())
            .map(|(at, policy)| ((*policy).to_string(), style::category(at)))
            .collect(),
        rows: vec![(560.0, vec![panel])],
    };
    grouped_bars_with(&chart, "", &Whiskers::new())
}

/// The bias of NCI against the instructions that commit together: a mark for each program on each machine.
fn groups(isa: &str, data: &Data<'_>) -> Result<Option<Figure>, PlotError> {
    let points = data.points("nci");
    if points.is_empty() {
        return Ok(None);
    }
    let curves: Vec<Curve> = (data.machines().iter().enumerate())
        .map(|(category, machine)| {
            let of_machine = points.iter().filter(|p| p.machine == *machine);
            Curve {
                label: machine.to_string(),
                category,
                points: of_machine
                    // Where instructions commit one by one, all marks lie together.
                    .map(|p| match machine.ends_with(NARROW) {
                        true => (p.group, 100.0 * p.bias, String::new()),
                        false => (p.group, 100.0 * p.bias, p.program.clone()),
                    })
                    .collect(),
            }
        })
        .collect();
    let xs: Vec<f64> = points.iter().map(|p| p.group).collect();
    let ys: Vec<f64> = points.iter().map(|p| 100.0 * p.bias).collect();
    let figure = scatter(&Scatter {
        title: "Bias of NCI against instructions that commit together".to_string(),
        subtitle: format!(
            "{isa}; the error with every cycle sampled; a mark for each program on each machine"
        ),
        x: Axis::numbers("Instructions per committing cycle", &xs, false),
        y: Axis::numbers("Bias, %", &ys, true),
        curves,
        joined: false,
        thin: Vec::new(),
        thin_label: String::new(),
    })?;
    Ok(Some(figure))
}

fn errors_table(data: &Data<'_>) -> ChapterTable {
    let head = [
        "Policy",
        "Study",
        "Published",
        "Here",
        "Every cycle sampled",
    ];
    let mut table = ChapterTable::new("Mean errors in percent", 2, &head);
    for published in &PUBLISHED {
        let here = data.mean_error(published.policy);
        let half = here.and_then(|mean| mean.half_width);
        let half = half.map_or_else(String::new, |half| format!(" ± {:.1}", 100.0 * half));
        let here = here.map(|mean| format!("{:.1}{half}", 100.0 * mean.value));
        let bias = data.mean_bias(data.machine, published.policy);
        table.rows.push(vec![
            published.name.to_string(),
            published.study.to_string(),
            format!("{:.1}", 100.0 * published.mean),
            here.unwrap_or_else(|| "–".to_string()),
            bias.map_or_else(|| "–".to_string(), |b| format!("{:.1}", 100.0 * b)),
        ]);
    }
    table
}

fn states_table(data: &Data<'_>) -> ChapterTable {
    let head = [
        "Machine",
        "Program",
        "Computing",
        "Stalled",
        "Flushed",
        "Drained",
        "Instructions per committing cycle",
        "Bias of NCI",
    ];
    let mut table = ChapterTable::new("Cycles by state, in percent", 2, &head);
    table.folded = true;
    for machine in data.machines() {
        let states = ["computing", "stalled", "flushed", "drained"];
        let shares = states.map(|state| data.shares(machine, state));
        let (groups, biases) = (data.groups(machine), data.biases(machine, "nci"));
        for (program, group) in &groups {
            let percent = |share: Option<&f64>| {
                share.map_or_else(|| "–".to_string(), |s| format!("{:.1}", 100.0 * s))
            };
            let mut row = vec![machine.to_string(), (*program).to_string()];
            row.extend(shares.iter().map(|of| percent(of.get(program))));
            row.push(format!("{group:.2}"));
            row.push(percent(biases.get(program)));
            table.rows.push(row);
        }
    }
    table
}
