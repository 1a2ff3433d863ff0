//! `hps sweep`: burst length against frequency, swept and drawn.

use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hps_experiments::cluster::ClusterError;
use hps_experiments::{
    InputSize, Observer, Plan, Row, SweepSpec, Timing, answers, answers_text, frames,
};
use hps_lab::host::{path_word, shell_word};
use hps_plots::ReportInfo;
use indicatif::ProgressBar;

use crate::cli::{CoreKind, Size, SweepArgs};
use crate::commands::cluster::parts;
use crate::document::{Described, Format};
use crate::text::print;
use crate::{program, progress};

/// Runs a sweep; the exit code is 1 if any point failed.
pub fn sweep(args: &SweepArgs) -> anyhow::Result<u8> {
    let (spec, folder) = definition(args)?;
    if args.print_spec {
        let text = ron::ser::to_string_pretty(&spec, ron::ser::PrettyConfig::default())?;
        print(&format!("{text}\n"))?;
        return Ok(0);
    }
    args.table.check()?;
    args.jobs.apply()?;
    let plan = Plan::new(&spec, &folder)?;
    progress::when_interrupted(format!(
        "stopped; the points that are done are kept in {}: the same command goes on with the others",
        args.out.display()
    ));
    let progress = Progress {
        bar: progress::bar(0, "sweep"),
        said: Mutex::new(Said {
            rows: Vec::new(),
            last: Instant::now(),
        }),
    };
    let done = parts::carry_out(&args.parts, &args.out, |keep| {
        Ok::<_, ClusterError>(hps_experiments::run_plan(&plan, keep, &progress)?)
    })?;
    progress.bar.finish_and_clear();
    let rows = match done {
        Ok(rows) => rows,
        Err(code) => return Ok(code),
    };
    report(args, &plan, &rows)?;
    let failed = rows.iter().filter(|row| row.failure.is_some()).count();
    if failed > 0 {
        say!(
            "hps: {failed} of {} points failed; the report says why",
            rows.len()
        );
    }
    Ok(u8::from(failed > 0))
}

/// The definition that file and options together ask for, and the folder that its paths are
/// relative to.
fn definition(args: &SweepArgs) -> anyhow::Result<(SweepSpec, std::path::PathBuf)> {
    let mut folder = std::path::PathBuf::from(".");
    let mut name = "the options".to_string();
    let mut spec = match &args.spec {
        None => SweepSpec::default(),
        Some(path) => {
            let text = hps_system::host::read_text(path)
                .with_context(|| format!("{}: cannot read the sweep definition", path.display()))?;
            if let Some(parent) = path.parent() {
                folder = parent.to_path_buf();
            }
            name = path.display().to_string();
            SweepSpec::from_ron(&text, &name)?
        }
    };
    if !args.programs.program.is_empty() {
        let (names, paths) = args.programs.names_and_paths();
        spec.programs = names;
        spec.own_programs = program::own_programs(&paths, &[], (None, args.stdin.as_deref()))?;
        for own in &mut spec.own_programs {
            own.expect_exit = args.expect_exit;
        }
    }
    if !args.isa.is_empty() {
        spec.isas.clone_from(&args.isa);
    }
    match args.size {
        Some(Size::Small) => spec.size = InputSize::Small,
        Some(Size::Large) => spec.size = InputSize::Large,
        None => {}
    }
    if !args.address_seed.is_empty() {
        spec.address_seeds.clone_from(&args.address_seed);
    }
    if args.all_timed {
        spec.timing = Timing::All;
    }
    if args.no_timing {
        spec.timing = Timing::Off;
    }
    spec.phases = args.phases.unwrap_or(spec.phases);
    spec.set_ups = args.set_ups.unwrap_or(spec.set_ups);
    if !args.machine.is_empty() {
        spec.machines.clone_from(&args.machine);
    }
    if let Some(core) = args.core {
        spec.core = core.into();
    }
    if args.sample {
        spec.sample.get_or_insert_default();
    }
    set_units(&mut spec, args)?;
    spec.check(&name)?;
    Ok((spec, folder))
}

/// Changes where units of sampled timing lie, as the options say.
fn set_units(spec: &mut SweepSpec, args: &SweepArgs) -> anyhow::Result<()> {
    let options = [
        ("--sample-period", args.sample_period),
        ("--sample-unit", args.sample_unit),
        ("--sample-warm-up", args.sample_warm_up),
    ];
    let Some(plan) = &mut spec.sample else {
        if let Some((option, _)) = options.iter().find(|(_, value)| value.is_some()) {
            bail!(
                "{option} says where timed units lie, but this sweep times whole runs: give --sample too, or a \
                 definition with `sample: (...)`"
            );
        }
        return Ok(());
    };
    plan.period = args.sample_period.unwrap_or(plan.period);
    plan.unit = args.sample_unit.unwrap_or(plan.unit);
    plan.warm_up = args.sample_warm_up.unwrap_or(plan.warm_up);
    Ok(())
}

/// Rows that are told at once, so that a first number is there early.
const FIRST_ROWS: usize = 4;

/// Time between two answers of what is measured so far.
const BETWEEN_ANSWERS: Duration = Duration::from_secs(10);

struct Progress {
    bar: ProgressBar,
    said: Mutex<Said>,
}

struct Said {
    rows: Vec<Row>,
    last: Instant,
}

impl Observer for Progress {
    fn planned(&self, units: u64) {
        self.bar.set_length(units);
    }
    fn done(&self, what: &str) {
        self.bar.set_message(what.to_string());
        self.bar.inc(1);
    }
    /// Tells the first rows, and from time to time the answer of all so far.
    fn kept(&self, row: &Row) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.rows.push(row.clone());
        let text = if said.rows.len() <= FIRST_ROWS {
            let Some(answer) = answers([row]).pop() else {
                return;
            };
            let kind = row.profile.title();
            format!(
                "hps: {} ({}), {kind}: {}",
                row.program,
                row.isa,
                answer.point()
            )
        } else if said.last.elapsed() >= BETWEEN_ANSWERS {
            format!(
                "hps: so far, of {} points:\n{}",
                said.rows.len(),
                answers_text(&said.rows)
            )
        } else {
            return;
        };
        said.last = Instant::now();
        self.bar.suspend(|| say!("{}", text.trim_end()));
    }
}

fn report(args: &SweepArgs, plan: &Plan, rows: &[Row]) -> anyhow::Result<()> {
    if rows.is_empty() {
        bail!("the sweep has no points: name programs and profiles");
    }
    let info = ReportInfo {
        title: "Burst length against sparsity".to_string(),
        command: command_line(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(rows),
        machine_text: plan
            .machines
            .iter()
            .map(|m| m.to_ron())
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let files = hps_plots::write_report(&args.out, rows, &info)?;
    args.json.write(&rows)?;
    args.table.write(&frames::points(rows))?;
    let mut out = args.json.text();
    writeln!(out, "{}", answers_text(rows))?;
    writeln!(out, "{}", hps_plots::summary_table(rows))?;
    if let Some(table) = hps_plots::isa_table(rows) {
        writeln!(out, "{table}")?;
    }
    for note in &info.notes {
        writeln!(out, "{note}")?;
    }
    writeln!(out, "report   {}", shown(&files.html))?;
    writeln!(
        out,
        "pictures {} as SVG and PNG in {}",
        files.figures.len() / 2,
        shown(&args.out.join("figures"))
    )?;
    writeln!(
        out,
        "rows     {} and {}",
        shown(&args.out.join("results.jsonl")),
        shown(&files.csv)
    )?;
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The command that gives the same results, without what only concerns this host.
fn command_line(args: &SweepArgs) -> String {
    let mut words = vec!["hps sweep".to_string()];
    words.extend(args.spec.iter().map(|p| path_word(p)));
    words.extend(args.programs.words());
    words.extend(
        args.stdin
            .iter()
            .map(|f| format!("--stdin {}", path_word(f))),
    );
    if args.expect_exit != 0 {
        words.push(format!("--expect-exit {}", args.expect_exit));
    }
    words.extend(args.isa.iter().map(|isa| format!("--isa {isa}")));
    if let Some(size) = args.size {
        words.push(format!(
            "--size {}",
            if size == Size::Large {
                "large"
            } else {
                "small"
            }
        ));
    }
    words.extend(
        args.address_seed
            .iter()
            .map(|n| format!("--address-seed {n}")),
    );
    words.extend((args.machine.iter()).map(|m| format!("--machine {}", shell_word(m))));
    if args.core == Some(CoreKind::Instruction) {
        words.push("--core instruction".to_string());
    }
    if args.all_timed {
        words.push("--all-timed".to_string());
    }
    if args.no_timing {
        words.push("--no-timing".to_string());
    }
    words.extend(args.phases.map(|n| format!("--phases {n}")));
    words.extend(args.set_ups.map(|n| format!("--set-ups {n}")));
    if args.sample {
        words.push("--sample".to_string());
    }
    for (option, value) in [
        ("period", args.sample_period),
        ("unit", args.sample_unit),
        ("warm-up", args.sample_warm_up),
    ] {
        words.extend(value.map(|n| format!("--sample-{option} {n}")));
    }
    words.join(" ")
}

/// Findings of these rows about the paper's claims on burst lengths: programs for which they hold, and programs for
/// which they do not.
fn notes(rows: &[Row]) -> Vec<String> {
    hps_experiments::findings(rows)
}

/// Format of the rows of a sweep.
const FORMAT: Format = Format::new("hps-sweep", 1);

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<Vec<Row>>(&["sweep"])
}
