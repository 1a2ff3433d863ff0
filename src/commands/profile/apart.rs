//! Exact profiles of all programs that processes of a run begin, together and apart.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use anyhow::bail;
use hps_lab::{Lab, Program, Timed, Truth, VERSION};
use hps_profilers::views::{
    Function, FunctionMap, FunctionTime, InstructionTime, Named, Stack, functions, instructions,
    objects,
};
use hps_profilers::{Detail, ExactProfile};
use hps_sim_core::editor::NoEditor;
use hps_sim_core::image::ProgramImage;
use hps_sim_core::symbols::Symbols;
use serde_json::{Value, json};

use super::exact::{self, Shown, mostly};
use super::{export, interpreted, json, save, tables};
use crate::cli::{FrameKind, ProfileArgs};
use crate::commands::contention;
use crate::export::Export;
use crate::text::{Align, Table, grouped};

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
        if args.json.json.is_some() {
            documents.push(json!({
                "number": part.number,
                "pid": part.pid,
                "file": part.image.name,
                "profile": json::document(&shown, &part.times, (&[], &[])),
            }));
        }
        if let Some(folder) = &args.out {
            save::write(&shown, &folder.join(part.number.to_string()))?;
        }
        std::mem::swap(&mut truth.exact, &mut part.exact);
    }
    if args.json.json.is_some() {
        let mut document = head_document(&truth, &parts, &places);
        document["programs"] = json!(documents);
        if !executed.is_empty() {
            document["interpreted_functions"] = interpreted::together_document(&executed);
        }
        if !contended.is_empty() {
            document["contended_lines"] = json!(contended);
        }
        args.json.write(&document)?;
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

/// The run, and functions and objects of all programs.
fn head_document(
    truth: &Truth<NoEditor>,
    parts: &[Part],
    [by_function, by_object]: &[Vec<(Place, Shared)>; 2],
) -> Value {
    let from = &truth.ran.provenance;
    let machine = from.machine.as_ref();
    let functions = by_function.iter().map(|((object, name), shared)| {
        json!({
            "name": name,
            "object": object,
            "instructions": shared.instructions,
            "in_programs": shared.programs,
            "own": json::stack(&shared.stack),
        })
    });
    let objects = by_object.iter().map(|((object, _), shared)| {
        json!({
            "name": object,
            "instructions": shared.instructions,
            "in_programs": shared.programs,
            "own": json::stack(&shared.stack),
        })
    });
    json!({
        "format": "hps-exact-profiles",
        "format_version": 1,
        "version": VERSION,
        "program": from.program,
        "arguments": from.args,
        "program_hash": from.program_hash,
        "root_hash": from.root_hash,
        "isa": from.isa.name(),
        "seed": from.seed,
        "machine": machine.map(|m| &m.config.name),
        "machine_fingerprint": machine.map(|m| &m.fingerprint),
        "core_driven_by": machine.map(|m| m.core.name()),
        "cycles": parts.iter().map(|part| part.exact.cycles).sum::<u64>(),
        "idle_cycles": truth.exact.idle_cycles,
        "units_per_cycle": truth.exact.units_per_cycle,
        "objects": objects.collect::<Vec<_>>(),
        "functions": functions.collect::<Vec<_>>(),
    })
}
