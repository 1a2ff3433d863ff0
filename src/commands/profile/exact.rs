//! The exact profile of a program, for people.

use std::cell::OnceCell;
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail};
use hps_isa::editor::NoEditor;
use hps_lab::{EndError, Lab, Program, Truth, Watch};
use hps_pipeline::core::EventSet;
use hps_profilers::oracle::{STATES, Spent};
use hps_profilers::registry::{self, Profiler};
use hps_profilers::views::{
    FunctionMap, InstructionTime, InterpretedLine, InterpretedTime, Level, Levels, Stack,
    functions, instructions,
};
use hps_profilers::{Detail, Key, Period, Sampled, Unit};
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::symbols::Symbols;

use super::charged::{self, Charged};
use super::{annotate, apart, export, json, save, sliced, tables, timeline};
use crate::cli::{FrameKind, ProfileArgs};
use crate::commands::results::profiles;
use crate::commands::{contention, timed_machine};
use crate::program;
use crate::slices::SlicesDocument;
use crate::text::{Align, Table, grouped};

/// Seed of random periods.
const SEED: u64 = 1;
/// Causes of lost cycles that are listed.
const CAUSES: usize = 8;

/// A run with all that is shown of it.
pub(super) struct Shown<'a> {
    pub args: &'a ProfileArgs,
    /// The number of the program that the profile is of.
    pub number: u32,
    pub image: &'a ProgramImage,
    pub symbols: &'a Symbols,
    pub truth: &'a Truth<NoEditor>,
    pub map: &'a FunctionMap,
    pub instructions: &'a [InstructionTime],
    /// Functions and lines of interpreters, once they were asked for.
    pub interpreted: OnceCell<(Vec<InterpretedTime>, Vec<InterpretedLine>)>,
    /// Slices and joints of a run in slices, which has no calling contexts.
    pub slices: Option<SlicesDocument>,
}

impl Shown<'_> {
    /// Units as cycles.
    pub fn cycles(&self, units: u64) -> f64 {
        units as f64 / self.truth.exact.units_per_cycle as f64
    }

    /// Cycles for each of so many instructions, as tables have them.
    pub fn cpi(&self, units: u64, instructions: u64) -> String {
        format!("{:.2}", self.cycles(units) / instructions.max(1) as f64)
    }

    /// Units in percent of the run.
    pub fn percent(&self, units: u64) -> f64 {
        let all = self.truth.exact.cycles * self.truth.exact.units_per_cycle;
        100.0 * units as f64 / all.max(1) as f64
    }

    /// The name of the function of an address, with the offset.
    pub fn place(&self, pc: u64) -> String {
        match self.map.find(pc) {
            Some(at) => {
                let f = &self.map.functions()[at];
                // A part of a function outside of its range, such as a cold part, has a symbol of its own.
                let part = || self.symbols.function_at(pc);
                let (name, begin) = match part().filter(|_| !(f.entry..f.end).contains(&pc)) {
                    Some(part) => (&part.name, part.addr),
                    None => (&f.name, f.entry),
                };
                let place = format!("{name}+{:#x}", pc - begin);
                self.symbols.with_object(pc, &place)
            }
            None => "?".to_string(),
        }
    }

    /// The object that holds an address, as it is shown.
    pub fn object(&self, at: Option<usize>) -> &str {
        at.map_or("(none)", |at| self.symbols.objects()[at].file_name())
    }
}

/// Runs the program under the oracle and prints where its time goes.
pub fn profile(args: &ProfileArgs) -> anyhow::Result<u8> {
    let profilers = chosen(&args.with)?;
    let exports = crate::export::parse_all(&args.export)?;
    let machine = timed_machine(&args.machine, args.core)?;
    let mut guest = program::guest_options(&args.subject.guest)?;
    guest.stdin = program::repeated_stdin(&args.subject)?;
    // The command prints the profile. The program's output is discarded.
    guest.stdout = Output::Discard;
    args.table.check()?;
    let periods = periods(args, &profilers)?;
    let samplers = profilers.iter().zip(&periods);
    let samplers = samplers.map(|(profiler, &period)| ((profiler.policy)(), period));
    let has_one_context = machine.config.chip.processors() == 1;
    if args.timeline && !has_one_context {
        bail!(
            "--timeline: {} has several contexts, whose phases are not told; name a machine with one core of one context",
            machine.config.name
        );
    }
    let is_kept = !exports.is_empty() || args.out.is_some();
    let watch = Watch {
        // Files with call stacks have a row for each instruction in each context; all else does with less.
        contexts: Some(match exports.is_empty() {
            true => Detail::Units,
            false => Detail::Rows,
        }),
        // Exports have phases, too, where one context has them.
        timeline: args.timeline || (is_kept && has_one_context),
        samplers: samplers.collect(),
        program: args.program(),
        interpreted: args.frames != FrameKind::Native,
        ..Watch::default()
    };
    let named = &args.subject;
    let mut subject = program::find(named.program(), named.isa, named.arguments(), &guest)?;
    subject.region = program::region(&args.region.part())?;
    let length = program::region_length(&args.region, &subject)?;
    let most = length.or(args.max_instructions).unwrap_or(u64::MAX);
    let lab = Lab::of(&subject)
        .timed_by(&machine)
        .limit(most)
        .naming_contention(true)
        .warnings_to(|text| say!("hps: warning: {text}"));
    let slicing = sliced::slicing(args, &lab)?;
    let Some(number) = args.program() else {
        return apart::profile((args, &subject), lab, &exports);
    };
    let mut joints = None;
    let run = match &slicing {
        Some(slicing) => {
            let of_slice = |slice: u64| sliced::watch(args, &profilers, &periods, slice);
            let check = args.sliced.slices_check.then(|| lab.clone());
            let Some((truth, document)) = sliced::run(lab, slicing, &of_slice, check)? else {
                return Ok(0);
            };
            joints = Some(document);
            Run::Watched(Box::new(truth))
        }
        None if args.charged => Run::Charged(charged::run(lab, &profilers, &periods, watch)?),
        None => Run::Watched(Box::new(lab.watched(watch)?)),
    };
    let truth = run.truth();
    let (image, symbols) = followed(number, &subject, truth)?;
    if truth.exact.rows.is_empty() {
        bail!("no instruction of the program has committed");
    }
    let map = FunctionMap::new(&symbols, &truth.exact);
    let instructions = instructions(&truth.exact);
    let shown = Shown {
        args,
        number,
        image: &image,
        symbols: &symbols,
        truth,
        map: &map,
        instructions: &instructions,
        interpreted: OnceCell::new(),
        slices: joints,
    };
    let mut out = args.json.text();
    head(&shown, &mut out)?;
    let times = match args.annotate.is_none() || args.json.json.is_some() {
        true => functions(&truth.exact, &instructions, &map),
        false => Vec::new(),
    };
    match &args.annotate {
        Some(name) => annotate::annotate(&shown, name, &mut out)?,
        None => tables::print(&shown, &times, &mut out)?,
    }
    if let Some(series) = truth.timeline.as_ref().filter(|_| args.timeline) {
        timeline::print(series, &mut out)?;
    }
    let ran = &truth.ran;
    let contended = contention::contended(&ran.timing.contended, &ran.process);
    write!(out, "{}", contention::table(&contended, "--json"))?;
    let opinions = opinions(&shown, &run);
    if !opinions.is_empty() {
        opinion_table(&opinions, &mut out)?;
    }
    if let Run::Charged(charged) = &run {
        charged.print(&mut out)?;
    }
    if args.json.json.is_some() || args.table.is_given() {
        let document = json::document(&shown, &times, (&opinions, &contended));
        args.json.write(&json::FORMAT.of(&document))?;
        if args.table.is_given() {
            let profile = serde_json::to_value(&document)?;
            args.table.write(&profiles::instructions(&profile))?;
        }
    }
    if let Some(folder) = &args.out {
        save::write(&shown, folder)?;
    }
    notes(&shown, &mut out)?;
    export::write(&shown, &exports)?;
    Ok(ended(truth))
}

/// The program that the profile is of, and the names of all that it has run.
pub(super) fn followed(
    number: u32,
    subject: &Program,
    truth: &Truth<NoEditor>,
) -> anyhow::Result<(Arc<ProgramImage>, Arc<Symbols>)> {
    let process = &truth.ran.process;
    let later = process.os.later_programs();
    let image = match number {
        1 => Some(&subject.image),
        _ => later.get(number as usize - 2),
    };
    let symbols = process.symbols_of(number);
    match image.zip(symbols) {
        Some((image, symbols)) => Ok((Arc::clone(image), symbols)),
        None => bail!(
            "--process {number}: the processes of the program have begun {} program{} only",
            later.len() + 1,
            if later.is_empty() { "" } else { "s" }
        ),
    }
}

/// Way in which the program was run.
enum Run {
    /// Profilers only watched.
    Watched(Box<Truth<NoEditor>>),
    /// The program paid for the profilers.
    Charged(Box<Charged>),
}

impl Run {
    fn truth(&self) -> &Truth<NoEditor> {
        match self {
            Run::Watched(truth) => truth,
            Run::Charged(charged) => &charged.run.truth,
        }
    }
}

/// The period of each profiler: of what it counts by default, or of the event asked for.
fn periods(args: &ProfileArgs, profilers: &[&Profiler]) -> anyhow::Result<Vec<Period>> {
    let of = |profiler: &&Profiler| profiler.period_of(args.period, SEED);
    let Some(event) = &args.event else {
        return Ok(profilers.iter().map(of).collect());
    };
    let unit = match event.as_str() {
        "cycles" => Unit::Cycles,
        "instructions" => Unit::Instructions,
        name => Unit::Events(EventSet::named(name).with_context(|| {
            let all: Vec<&str> = EventSet::ALL.iter().map(|(_, name)| *name).collect();
            format!(
                "--event {name}: no such event; there are cycles, instructions, {}",
                all.join(", ")
            )
        })?),
    };
    let period = Period {
        unit,
        ..Period::cycles(args.period)
    };
    Ok(vec![period; profilers.len()])
}

/// The profilers of these names.
fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Profiler>> {
    if names.iter().any(|name| name == "all") {
        return Ok(registry::PROFILERS.iter().collect());
    }
    let find = |name: &String| {
        registry::find(name).with_context(|| {
            let all: Vec<&str> = registry::PROFILERS.iter().map(|p| p.name).collect();
            format!(
                "--with {name}: there is no such profiler; there are {}",
                all.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}

/// The exit code of the command: 1 if the run failed.
pub(super) fn ended(truth: &Truth<NoEditor>) -> u8 {
    let ran = &truth.ran;
    match EndError::unless_success(ran.stop, &ran.process) {
        Ok(()) | Err(EndError::Limit) => 0,
        Err(end) => {
            say!("hps: {end}: the profile is of a run that failed; `hps run` shows what it prints");
            1
        }
    }
}

pub(super) fn head(shown: &Shown<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    let (ran, exact) = (&shown.truth.ran, &shown.truth.exact);
    let machine = ran
        .provenance
        .machine
        .as_ref()
        .context("a timed run has a machine")?;
    let by = match shown.args.core {
        crate::cli::CoreKind::Cycle => "",
        crate::cli::CoreKind::Instruction => ", an instruction at a time",
    };
    let programs = ran.process.os.later_programs().len() + 1;
    let instructions = match programs {
        1 => ran.instructions(),
        _ => exact.commits,
    };
    let root = match &ran.provenance.root_hash {
        Some(hash) => format!(" under root {}", &hash[..12]),
        None => String::new(),
    };
    let addresses = match ran.provenance.address_seed {
        Some(seed) => format!(", addresses of seed {seed}"),
        None => String::new(),
    };
    writeln!(
        out,
        "{} ({}{root}, {}{addresses}) on {}{by}: {} instructions in {} cycles, IPC {:.3}{}",
        ran.provenance.program,
        &ran.provenance.program_hash[..12],
        ran.provenance.isa,
        machine.config.name,
        grouped(instructions),
        grouped(exact.cycles),
        instructions as f64 / exact.cycles.max(1) as f64,
        if ran.stop == Stop::Limit {
            ", stopped at the limit"
        } else {
            ""
        },
    )?;
    if let [first, ..] = &ran.timing.contexts[..] {
        let (contexts, cycles) = (ran.timing.contexts.len(), first.stats.cycles);
        let idle = 100.0 * exact.idle_cycles as f64 / (contexts as u64 * cycles).max(1) as f64;
        writeln!(
            out,
            "those are cycles of {contexts} contexts in which a thread ran; the run took {} cycles, in {idle:.1}% of which \
             a context was idle",
            grouped(cycles),
        )?;
    }
    if programs > 1 {
        writeln!(
            out,
            "this is program {} of the {programs} that its processes have begun, {} (--process N follows another one); {} \
             cycles were of others",
            shown.number,
            shown.image.name,
            grouped(exact.other_cycles),
        )?;
    }
    if let Some(slices) = &shown.slices {
        writeln!(out, "timed in {}", slices.sentence())?;
    }
    let mut whole = Stack::default();
    for one in shown.instructions {
        whole.merge(&one.stack);
    }
    let states: Vec<String> = whole
        .states()
        .iter()
        .zip(STATES)
        .map(|(&units, name)| format!("{name} {:.1}%", shown.percent(units)))
        .collect();
    writeln!(out, "each cycle has its owner: {}", states.join(", "))?;
    let mut causes: Vec<(Spent, u64)> = whole
        .spent
        .iter()
        .filter(|(spent, _)| **spent != Spent::Computing)
        .map(|(&spent, &units)| (spent, units))
        .collect();
    causes.sort_by_key(|&(_, units)| std::cmp::Reverse(units));
    let listed: Vec<String> = causes
        .iter()
        .take(CAUSES)
        .filter(|&&(_, units)| shown.percent(units) >= 0.05)
        .map(|&(spent, units)| format!("{} {:.1}%", spent.label(), shown.percent(units)))
        .collect();
    if !listed.is_empty() {
        writeln!(out, "most waits: {}", listed.join(", "))?;
    }
    Ok(())
}

/// The largest use of a stack's units other than commits, if it is at least a hundredth of all units.
pub(super) fn mostly(stack: &Stack) -> String {
    match stack.mostly() {
        Some((spent, units)) if units * 100 >= stack.units() => {
            let share = 100.0 * units as f64 / stack.units().max(1) as f64;
            format!("{} {share:.0}%", spent.label())
        }
        _ => String::new(),
    }
}

/// Shares of a profiler, and their distance from the truth.
pub(super) struct Opinion<'a> {
    pub sampled: &'a Sampled,
    /// The share of time that it gives to the wrong member, by level.
    pub errors: Vec<(Level, f64)>,
}

impl Opinion<'_> {
    /// Unit of the profiler's period.
    pub fn unit(&self) -> &'static str {
        match self.sampled.period.unit {
            Unit::Cycles => "cycles",
            Unit::Instructions => "instructions",
            Unit::Events(_) => "events",
        }
    }
}

/// Distance of each profiler from the truth. The truth for a run that pays for the profiler is the profile of the
/// program's own cycles.
fn opinions<'a>(shown: &Shown<'a>, run: &Run) -> Vec<Opinion<'a>> {
    if shown.truth.sampled.is_empty() {
        return Vec::new();
    }
    let of_program = match run {
        Run::Watched(_) => None,
        Run::Charged(charged) => Some(charged.run.exact_of_program()),
    };
    let exact = of_program.as_ref().unwrap_or(&shown.truth.exact);
    let levels = Levels::new(exact, shown.symbols, shown.map);
    let executed = exact.executed();
    let all = shown.truth.sampled.iter().enumerate();
    all.map(|(at, sampled)| {
        let weights: Vec<(Key, u64)> = match run {
            Run::Watched(_) => sampled.by_instruction(&executed).into_iter().collect(),
            Run::Charged(charged) => charged.run.weights(at),
        };
        Opinion {
            sampled,
            errors: levels.errors(weights.into_iter()),
        }
    })
    .collect()
}

fn opinion_table(opinions: &[Opinion<'_>], out: &mut impl Write) -> anyhow::Result<()> {
    let mut columns = vec![
        ("profiler", Align::Left),
        ("period", Align::Right),
        ("samples", Align::Right),
        ("lost", Align::Right),
    ];
    columns.extend(Level::ALL.iter().map(|level| (level.name(), Align::Right)));
    let mut table = Table::new(&columns);
    for opinion in opinions {
        let credits = &opinion.sampled.credits;
        let head = [
            opinion.sampled.policy.to_string(),
            format!(
                "{} {}",
                grouped(opinion.sampled.period.mean),
                opinion.unit()
            ),
            grouped(credits.credited),
            grouped(credits.lost + credits.collided),
        ];
        let errors = opinion.errors.iter();
        let errors = errors.map(|(_, error)| format!("{:.1}%", 100.0 * error));
        table.row(head.into_iter().chain(errors));
    }
    write!(
        out,
        "\nerror of each profiler on this run: the share of time that it gives to the wrong member\n{}",
        table.render()
    )?;
    Ok(())
}

/// Notes on what is missing in the profile, and why.
pub(super) fn notes(shown: &Shown<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    if shown.map.is_incomplete() {
        writeln!(
            out,
            "\nnote: the program names no function for some of its code; sub_ADDRESS stands for what was called there"
        )?;
    }
    let interpreted = &shown.truth.exact.interpreted;
    for sentence in shown.symbols.notes().iter().chain(&interpreted.notes) {
        writeln!(out, "note: {sentence}")?;
    }
    let has_lines = shown
        .instructions
        .iter()
        .any(|one| shown.symbols.source_line(one.key.pc).is_some());
    let missing = shown.symbols.missing_debug_files();
    for sentence in &missing {
        writeln!(out, "note: {sentence}")?;
    }
    if !has_lines && missing.is_empty() {
        writeln!(
            out,
            "note: the program has no line table; compile it with -g to see source lines"
        )?;
    }
    Ok(())
}
