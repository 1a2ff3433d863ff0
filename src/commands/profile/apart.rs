//! Exact profiles of all programs that processes of a run begin, together and apart.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use anyhow::bail;
use hps_isa::editor::NoEditor;
use hps_lab::{Lab, Program, Timed, Truth};
use hps_profilers::views::{
    Function, FunctionMap, FunctionTime, InstructionTime, Named, Stack, functions, instructions,
    objects,
};
use hps_profilers::{Detail, ExactProfile};
use hps_system::image::ProgramImage;
use hps_system::symbols::Symbols;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::exact::{self, Shown, mostly};
use super::interpreted::SharedDocument;
use super::json::{ExactDocument, RunDocument, StackDocument};
use super::{export, interpreted, json, save, tables};
use crate::cli::{FrameKind, ProfileArgs};
use crate::commands::contention::{self, LineDocument};
use crate::commands::results::profiles;
use crate::document::{Described, Document, Format};
use crate::export::Export;
use crate::text::{Align, Table, grouped};

/// Format of the exact profiles of a run's programs.
pub const FORMAT: Format = Format::new("hps-exact-profiles", 1);

/// A program of the run, by its number.
struct Part {
    number: u32,
    /// The number of its process.
    pid: u32,
    image: Arc<ProgramImage>,
    exact: ExactProfile,
    symbols: Arc<Symbols>,
    map: FunctionMap,
    instructions: Vec<InstructionTime>,
    times: Vec<FunctionTime>,
}

/// Time of something that several programs may have: a function of a library, an object.
#[derive(Default)]
struct Shared {
    stack: Stack,
    instructions: u64,
    /// The numbers of the programs that have spent it.
    programs: Vec<u32>,
}

impl Shared {
    fn add(&mut self, stack: &Stack, instructions: u64, program: u32) {
        self.stack.merge(stack);
        self.instructions += instructions;
        if self.programs.last() != Some(&program) {
            self.programs.push(program);
        }
    }
}

/// An object's path, and the name of a function in it; of an object as a whole the empty name.
type Place = (Option<String>, String);

/// Runs the program and shows the profiles of all programs of the run.
pub(super) fn profile(
    (args, subject): (&ProfileArgs, &Program),
    lab: Lab<'_, Timed<'_>>,
    exports: &[Export],
) -> anyhow::Result<u8> {
    for (is_given, option) in [
        (!args.with.is_empty(), "--with"),
        (args.timeline, "--timeline"),
        (args.annotate.is_some(), "--annotate"),
    ] {
        if is_given {
            bail!("--process all and {option} do not go together; name one program: --process N");
        }
    }
    let detail = match exports.is_empty() && args.out.is_none() {
        true => Detail::Units,
        false => Detail::Rows,
    };
    let is_read = args.frames != FrameKind::Native;
    let (ran, exacts) = lab.watched_apart(detail, is_read)?;
    let Some(first) = exacts.iter().flatten().next().cloned() else {
        bail!("no instruction of the program has committed");
    };
    let mut truth = Truth {
        ran,
        exact: first,
        timeline: None,
        sampled: Vec::new(),
    };
    let mut parts = parts(subject, &truth, exacts)?;
    let mut out = args.json.text();
    let ran = &truth.ran;
    let contended = contention::contended(&ran.timing.contended, &ran.process);
    let places = places(&parts);
    together((args, &truth), &parts, &places, &mut out)?;
    let executed = interpreted::together(parts.iter().map(|part| (part.number, &part.exact)));
    let cycles = parts.iter().map(|part| part.exact.cycles).sum();
    let units = truth.exact.units_per_cycle;
    interpreted::print_together(&executed, (args.top, cycles, units), &mut out)?;
    write!(out, "{}", contention::table(&contended, "--json"))?;
    let is_document = args.json.json.is_some() || args.table.is_given();
    let mut documents = Vec::new();
    for part in &mut parts {
        // What is shown is of the truth: its profile changes places with that of the program meanwhile.
        std::mem::swap(&mut truth.exact, &mut part.exact);
        let shown = shown(args, &truth, part);
        writeln!(
            out,
            "\nprogram {}: {} of process {}",
            part.number, part.image.name, part.pid
        )?;
        exact::head(&shown, &mut out)?;
        interpreted::print_functions(&shown, &mut out)?;
        let most = args.top.min(part.times.len());
        tables::function_table(&shown, &part.times[..most], part.times.len(), &mut out)?;
        exact::notes(&shown, &mut out)?;
        if is_document {
            let profile = json::document(&shown, &part.times, (&[], &[]));
            documents.push(ProgramDocument {
                number: part.number,
                pid: part.pid,
                file: part.image.name.clone(),
                profile: serde_json::to_value(json::FORMAT.of(&profile))?,
            });
        }
        if let Some(folder) = &args.out {
            save::write(&shown, &folder.join(part.number.to_string()))?;
        }
        std::mem::swap(&mut truth.exact, &mut part.exact);
    }
    if is_document {
        let document = TogetherDocument {
            interpreted_functions: interpreted::together_document(&executed),
            contended_lines: &contended,
            ..document(&truth, &parts, &places, documents)
        };
        args.json.write(&FORMAT.of(&document))?;
        args.table
            .write(&profiles::instructions(&serde_json::to_value(&document)?))?;
    }
    let named: Vec<Named<'_>> = parts.iter().map(named).collect();
    export::write_programs((args, &truth), &named, exports)?;
    Ok(exact::ended(&truth))
}

fn parts(
    subject: &Program,
    truth: &Truth<NoEditor>,
    exacts: Vec<Option<ExactProfile>>,
) -> anyhow::Result<Vec<Part>> {
    let process = &truth.ran.process;
    let usage = process.usage(process.thread.hart.counters);
    let mut parts = Vec::new();
    for (number, exact) in (1..).zip(exacts) {
        let Some(exact) = exact.filter(|exact| !exact.rows.is_empty()) else {
            continue;
        };
        let (image, symbols) = exact::followed(number, subject, truth)?;
        let map = FunctionMap::new(&symbols, &exact);
        let instructions = instructions(&exact);
        parts.push(Part {
            number,
            pid: usage.get(number as usize - 1).map_or(0, |one| one.pid),
            image,
            times: functions(&exact, &instructions, &map),
            exact,
            symbols,
            map,
            instructions,
        });
    }
    Ok(parts)
}

fn shown<'a>(args: &'a ProfileArgs, truth: &'a Truth<NoEditor>, part: &'a Part) -> Shown<'a> {
    Shown {
        args,
        number: part.number,
        image: &part.image,
        symbols: &part.symbols,
        truth,
        map: &part.map,
        instructions: &part.instructions,
        interpreted: OnceCell::new(),
        slices: None,
    }
}

fn named(part: &Part) -> Named<'_> {
    Named {
        exact: &part.exact,
        symbols: &part.symbols,
        map: &part.map,
        process: Some((&part.image.name, part.pid)),
    }
}

/// Functions and objects of all programs, by path and name, most time first.
fn places(parts: &[Part]) -> [Vec<(Place, Shared)>; 2] {
    let mut by_function: BTreeMap<Place, Shared> = BTreeMap::new();
    let mut by_object: BTreeMap<Place, Shared> = BTreeMap::new();
    for part in parts {
        for time in &part.times {
            let function = &part.map.functions()[time.function];
            let object = part.symbols.object_at(function.entry);
            let place = (object.map(|o| o.name().to_owned()), name(part, function));
            let shared = by_function.entry(place).or_default();
            shared.add(&time.own, time.commits, part.number);
        }
        for time in objects(&part.instructions, &part.symbols, &part.map) {
            let object = time.object.map(|at| part.symbols.objects()[at].name());
            let place = (object.map(str::to_owned), String::new());
            let shared = by_object.entry(place).or_default();
            shared.add(&time.stack, time.commits, part.number);
        }
    }
    [by_function, by_object].map(|places| {
        let mut places: Vec<(Place, Shared)> = places.into_iter().collect();
        places.sort_by_key(|(_, shared)| std::cmp::Reverse(shared.stack.units()));
        places
    })
}

/// The name of a function in all programs: one that no symbol names lies at an offset in its file.
fn name(part: &Part, function: &Function) -> String {
    let object = part.symbols.object_at(function.entry);
    match object.filter(|_| part.symbols.function_at(function.entry).is_none()) {
        Some(object) => format!("sub+{:#x}", function.entry - object.load_bias()),
        None => function.name.clone(),
    }
}

/// Tables of programs, and of functions and objects of all of them.
fn together(
    (args, truth): (&ProfileArgs, &Truth<NoEditor>),
    parts: &[Part],
    [by_function, by_object]: &[Vec<(Place, Shared)>; 2],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let cycles: u64 = parts.iter().map(|part| part.exact.cycles).sum();
    let units = truth.exact.units_per_cycle;
    let percent = |part: u64, all: u64| format!("{:.2}%", 100.0 * part as f64 / all.max(1) as f64);
    writeln!(
        out,
        "{} programs of {} processes: {} cycles, {} of contexts without a thread",
        parts.len(),
        truth.ran.process.os.processes_made(),
        grouped(cycles),
        grouped(truth.exact.idle_cycles),
    )?;
    let columns = [
        ("program", Align::Right),
        ("process", Align::Right),
        ("share", Align::Right),
        ("cycles", Align::Right),
        ("instructions", Align::Right),
        ("IPC", Align::Right),
        ("file", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for part in parts {
        table.row([
            part.number.to_string(),
            part.pid.to_string(),
            percent(part.exact.cycles, cycles),
            grouped(part.exact.cycles),
            grouped(part.exact.commits),
            format!(
                "{:.3}",
                part.exact.commits as f64 / part.exact.cycles.max(1) as f64
            ),
            part.image.name.clone(),
        ]);
    }
    write!(out, "\nprograms\n{}", table.render())?;
    for (title, places) in [("functions", by_function), ("objects", by_object)] {
        let columns = [
            ("own", Align::Right),
            ("cycles", Align::Right),
            ("instructions", Align::Right),
            ("mostly", Align::Left),
            ("programs", Align::Left),
            ("function", Align::Left),
            ("object", Align::Left),
        ];
        let columns: Vec<_> = columns
            .into_iter()
            .filter(|(name, _)| title == "functions" || *name != "function")
            .collect();
        let mut table = Table::new(&columns);
        for ((object, function), shared) in places.iter().take(args.top) {
            let own = shared.stack.units();
            let mut row = vec![
                percent(own, cycles * units),
                grouped((own as f64 / units as f64).round() as u64),
                grouped(shared.instructions),
                mostly(&shared.stack),
                numbers(&shared.programs),
            ];
            if title == "functions" {
                row.push(function.clone());
            }
            row.push(object.as_deref().unwrap_or("(none)").to_string());
            table.row(row);
        }
        let most = args.top.min(places.len());
        write!(
            out,
            "\n{title} of all programs, {most} of {}\n{}",
            places.len(),
            table.render()
        )?;
    }
    Ok(())
}

/// Numbers of programs in words: the first ones.
pub(super) fn numbers(programs: &[u32]) -> String {
    const MOST: usize = 6;
    let first = programs.iter().take(MOST).map(u32::to_string);
    let mut text = first.collect::<Vec<_>>().join(",");
    if programs.len() > MOST {
        text += &format!(" and {} more", programs.len() - MOST);
    }
    text
}

/// Exact profiles of all programs of a run, together and apart. Times are in equal parts of a cycle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TogetherDocument<'a> {
    #[serde(flatten)]
    run: RunDocument<'a>,
    /// Cycles with an owner, of all programs.
    cycles: u64,
    /// Cycles of contexts without a thread.
    idle_cycles: u64,
    /// Parts of a cycle: units by them are cycles.
    units_per_cycle: u64,
    /// Objects of all programs, by path, most time first.
    objects: Vec<SharedObject<'a>>,
    /// Functions of all programs, by path and name, most time first.
    functions: Vec<SharedFunction<'a>>,
    /// Each program.
    programs: Vec<ProgramDocument>,
    /// Functions that interpreters of all programs executed; only where one was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interpreted_functions: Vec<SharedDocument<'a>>,
    /// The lines that cores took from each other; only where they did.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    contended_lines: &'a [LineDocument],
}

/// A program of the run.
#[derive(Debug, Serialize, JsonSchema)]
struct ProgramDocument {
    /// Number of the program, as `--process` takes it.
    number: u32,
    /// Number of its process.
    pid: u32,
    /// Path of its file.
    file: String,
    /// The exact profile, as `--process NUMBER` writes it, without `contended_lines`.
    #[schemars(with = "Document<'static, ExactDocument<'static>>")]
    profile: Value,
}

/// A function of all programs.
#[derive(Debug, Serialize, JsonSchema)]
struct SharedFunction<'a> {
    /// Name of the function; of one that no symbol names its offset in the object.
    name: &'a str,
    /// Path of the object that holds it, as programs see it.
    object: Option<&'a str>,
    /// Instructions that committed in it.
    instructions: u64,
    /// Numbers of the programs that have spent time in it.
    in_programs: &'a [u32],
    /// Its own time.
    own: StackDocument,
}

/// An object of all programs.
#[derive(Debug, Serialize, JsonSchema)]
struct SharedObject<'a> {
    /// Path of the object, as programs see it; null: code outside of all files.
    name: Option<&'a str>,
    /// Instructions that committed in it.
    instructions: u64,
    /// Numbers of the programs that have spent time in it.
    in_programs: &'a [u32],
    /// Its own time.
    own: StackDocument,
}

/// The run, and functions and objects of all programs.
fn document<'a>(
    truth: &'a Truth<NoEditor>,
    parts: &[Part],
    [by_function, by_object]: &'a [Vec<(Place, Shared)>; 2],
    programs: Vec<ProgramDocument>,
) -> TogetherDocument<'a> {
    let function = |((object, name), shared): &'a (Place, Shared)| SharedFunction {
        name,
        object: object.as_deref(),
        instructions: shared.instructions,
        in_programs: &shared.programs,
        own: StackDocument::new(&shared.stack),
    };
    let object = |((name, _), shared): &'a (Place, Shared)| SharedObject {
        name: name.as_deref(),
        instructions: shared.instructions,
        in_programs: &shared.programs,
        own: StackDocument::new(&shared.stack),
    };
    TogetherDocument {
        run: RunDocument::new(&truth.ran.provenance),
        cycles: parts.iter().map(|part| part.exact.cycles).sum(),
        idle_cycles: truth.exact.idle_cycles,
        units_per_cycle: truth.exact.units_per_cycle,
        objects: by_object.iter().map(object).collect(),
        functions: by_function.iter().map(function).collect(),
        programs,
        interpreted_functions: Vec::new(),
        contended_lines: &[],
    }
}

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<TogetherDocument<'_>>(&["profile --process all"])
}
