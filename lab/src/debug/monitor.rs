//! The commands behind gdb's `monitor`: what the machine knows and gdb does not ask for.

use std::fmt::Write;

use hps_pipeline::contents::{Contents, Held, Selector};
use hps_pipeline::core::{Cause, CpiStack, Flight, InFlight};
use hps_pipeline::memsys::{CacheStats, TlbStats};
use hps_system::process::Process;

use super::machine::Debugged;
use super::stops::instruction;
use super::{DebugError, Debugger};
use crate::end::place;

const HELP: &str = "\
where        instructions so far, the thread that runs, its next instruction
cycle        cycles, instructions and IPC so far, and to whom commit slots went
pipeline     instructions in flight, the oldest first, and how far each has come
caches [A]   accesses and misses of caches and TLBs; with an address, which of them hold it
dise         productions and counters of the DISE engine
why          what the next instruction waits for until it commits, and what parked threads wait for
checkpoints  positions from which the run goes back
";

/// Instructions in flight that are listed.
const MOST_LISTED: usize = 64;

impl Debugger<'_> {
    /// Answers a command.
    ///
    /// # Errors
    /// A checkpoint cannot be restored.
    pub fn monitor(&mut self, command: &str) -> Result<String, DebugError> {
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or("help");
        let argument = words.next();
        Ok(match (name, argument) {
            ("help", _) => HELP.to_owned(),
            ("where", None) => self.place_of_run(),
            ("cycle", None) => self.cycle(),
            ("pipeline", None) => self.pipeline(),
            ("caches", None) => self.caches(),
            ("caches", Some(text)) => match address(text) {
                Some(addr) => self.holders(addr),
                None => format!("caches: {text} is no address; write it as 0x10000\n"),
            },
            ("dise", None) => self.dise(),
            ("why", None) => self.why()?,
            ("checkpoints", None) => self.checkpoints(),
            _ => format!("there is no command `{command}`:\n{HELP}"),
        })
    }

    fn machine(&self) -> &dyn Debugged {
        self.history.machine()
    }

    fn place_of_run(&self) -> String {
        let (process, position) = (self.process(), self.position());
        let farthest = self.history.farthest();
        let mut text = format!("{position} instructions since the beginning");
        if position < farthest {
            _ = write!(text, ", {} before the farthest place", farthest - position);
        }
        let views = process.thread_views();
        match views.iter().find(|view| view.runs) {
            Some(view) => {
                let (pid, tid, name) = (view.pid, view.tid, &view.name);
                _ = writeln!(text, "\nthread {tid} ({name}) of process {pid} runs");
            }
            None => text += "\nno thread runs\n",
        }
        _ = writeln!(text, "next: {}", next(self.machine()));
        text
    }

    fn cycle(&self) -> String {
        let position = self.position();
        let Some((stats, cpi, _)) = self.machine().timing() else {
            return format!(
                "{position} instructions; a functional run has no cycles (hps run --machine)\n"
            );
        };
        let (cycles, done) = (stats.cycles, stats.commit_program_instructions);
        let ipc = done as f64 / cycles.max(1) as f64;
        let mut text = format!("{cycles} cycles, {done} instructions, IPC {ipc:.3}\n");
        text += &slots(&cpi);
        text
    }

    fn pipeline(&self) -> String {
        let machine = self.machine();
        if machine.timing().is_none() {
            return "a functional run has no pipeline (hps run --machine)\n".to_owned();
        }
        let Some(flight) = machine.in_flight() else {
            return "the instruction-driven core has nothing in flight between two instructions (--core cycle does)\n"
                .to_owned();
        };
        let process = machine.process();
        let symbols = process.symbols();
        let mut text = format!("{} instructions in flight\n", flight.len());
        for one in flight.iter().take(MOST_LISTED) {
            let inst = process.image.isa.disassemble(&one.inst, one.pc);
            let origin = if one.is_program { "" } else { " (DISE)" };
            let (pc, at) = (one.pc, place(&symbols, one.pc));
            let state = state(one);
            _ = writeln!(text, "{pc:#x} {inst:<28} {state}{origin}  {at}");
        }
        if flight.len() > MOST_LISTED {
            _ = writeln!(text, "and {} more", flight.len() - MOST_LISTED);
        }
        text
    }

    fn caches(&self) -> String {
        let Some((.., memory)) = self.machine().timing() else {
            return "a functional run has no caches (hps run --machine)\n".to_owned();
        };
        let mut text = String::new();
        let mut cache = |name: &str, stats: &CacheStats| {
            let accesses = stats.read_access_events + stats.write_access_events;
            let misses = stats.read_miss_events + stats.write_miss_events;
            line(&mut text, name, accesses, misses);
        };
        cache("l1i", &memory.l1i);
        cache("l1d", &memory.l1d);
        cache("l2", &memory.l2);
        if memory.l3 != CacheStats::default() {
            cache("l3", &memory.l3);
        }
        let mut tlb = |name: &str, stats: &TlbStats| {
            line(&mut text, name, stats.access_events, stats.miss_events);
        };
        tlb("itlb", &memory.itlb);
        tlb("dtlb", &memory.dtlb);
        text
    }

    fn holders(&mut self, addr: u64) -> String {
        let Some(contents) = self.history.machine_mut().contents() else {
            return "contents of caches are those of a cycle: they need --machine and --core cycle\n"
                .to_owned();
        };
        let mut text = String::new();
        for table in &contents {
            if let Some(holds) = holds(table, addr) {
                _ = writeln!(text, "{:<12} {holds}", table.name);
            }
        }
        text
    }

    fn dise(&self) -> String {
        let Some(engine) = self.machine().engine() else {
            return "the run has no productions (hps run --productions)\n".to_owned();
        };
        let stats = engine.stats();
        let mut text = format!(
            "{} instructions matched a pattern, {} were replaced, {} inserted\n",
            stats.decide_events, stats.expansion_events, stats.inserted_instructions
        );
        for one in &stats.productions {
            _ = writeln!(
                text,
                "production {}: {} matches, {} expansions",
                one.name, one.match_events, one.expansion_events
            );
        }
        let counters = engine.counters().iter().enumerate();
        let counters = counters.map(|(number, value)| format!("{number}: {value}"));
        let counters: Vec<String> = counters.collect();
        _ = writeln!(text, "counters {}", counters.join(", "));
        text
    }

    /// Waits of the next instruction: the run goes on to its commit, and comes back.
    fn why(&mut self) -> Result<String, DebugError> {
        let machine = self.machine();
        let mut text = format!("next: {}\n", next(machine));
        if let Some((before, cpi, _)) = machine.timing() {
            if let Some(flight) = machine.in_flight() {
                let head = flight.first().map(state);
                let head = head.unwrap_or_else(|| "not fetched yet".to_owned());
                _ = writeln!(text, "in the pipeline: {head}");
            }
            let behind = self.history.peek(|machine| {
                machine.go_on(1);
                machine.timing()
            })?;
            if let Some((stats, later, _)) = behind {
                let cycles = stats.cycles - before.cycles;
                _ = match cycles {
                    0 => writeln!(text, "it commits in this cycle, {}", stats.cycles),
                    _ => writeln!(
                        text,
                        "it commits in cycle {}, {cycles} cycles from here",
                        stats.cycles
                    ),
                };
                text += &reasons(&later.since(&cpi));
            }
        } else {
            text += "a functional run executes it at once\n";
        }
        text += &waiting(self.process());
        Ok(text)
    }

    fn checkpoints(&self) -> String {
        let (positions, bytes) = self.history.checkpoints();
        let mut text = format!(
            "{} checkpoints in memory, {} KiB of pages; the run is at {}\n",
            positions.len(),
            bytes >> 10,
            self.position()
        );
        for position in positions {
            _ = writeln!(text, "{position}");
        }
        text
    }
}

/// An address in hexadecimal, with or without 0x.
fn address(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).ok()
}

/// The next instruction, with its place.
fn next(machine: &dyn Debugged) -> String {
    let process = machine.process();
    let (pc, _) = machine.next();
    let text = match instruction(process, pc) {
        Some(inst) => process.image.isa.disassemble(&inst, pc),
        None => "nothing that can be executed".to_owned(),
    };
    format!("{pc:#x} {text}, in {}", place(&process.symbols(), pc))
}

fn line(text: &mut String, name: &str, accesses: u64, misses: u64) {
    let rate = 100.0 * misses as f64 / accesses.max(1) as f64;
    _ = writeln!(
        text,
        "{name:<12} {accesses:>12} accesses {misses:>10} misses {rate:>6.2}%"
    );
}

/// Slots by owner, largest first.
fn slots(cpi: &CpiStack) -> String {
    let total = cpi.total().max(1);
    let mut parts: Vec<(Cause, u64)> = Cause::ALL.map(|cause| (cause, cpi.get(cause))).to_vec();
    parts.retain(|(_, slots)| *slots > 0);
    parts.sort_by_key(|(_, slots)| std::cmp::Reverse(*slots));
    let mut text = String::new();
    for (cause, slots) in parts {
        let share = 100.0 * slots as f64 / total as f64;
        _ = writeln!(
            text,
            "{:<14} {share:>5.1}% of commit slots: an instruction {}",
            cause.name(),
            words(cause)
        );
    }
    text
}

/// The wait of a slot, as the end of a sentence that begins with the next instruction.
fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::Base => "commits",
        Cause::DiseInserted => "waits for instructions that DISE has inserted",
        Cause::DiseStall => "waits for expansions in decode",
        Cause::Frontend => "is on its way through fetch and decode",
        Cause::ICache => "waits for the instruction cache",
        Cause::ITlb => "waits for the translation of its address",
        Cause::BtbMiss => "comes late: a taken branch was not in the BTB",
        Cause::Mispredict => "comes late: a branch was mispredicted",
        Cause::Replay => "comes late: a load ran ahead of a store of its bytes",
        Cause::Serialize => "waits until nothing else is in flight, or comes behind what did",
        Cause::Execute => "executes, or waits for operands and units",
        Cause::LongLatency => "is a multiplication, a division or floating point under way",
        Cause::LoadL1 => "loads from the first level or from a store in flight",
        Cause::LoadL2 => "loads from the second level",
        Cause::LoadL3 => "loads from the third level",
        Cause::LoadMemory => "loads from memory",
        Cause::DTlb => "is a load that waits for the translation of its address",
        Cause::StoreWait => "waits for an older store",
        Cause::LoadCore => "loads what another core has",
        Cause::Coherence => "waits for a line of another core",
        Cause::Idle => "waits: no thread runs",
        Cause::Sibling => "waits: another context has the core",
    }
}

/// Causes of the slots that were lost before the next instruction committed.
fn reasons(cpi: &CpiStack) -> String {
    let lost = Cause::ALL.into_iter().filter(|cause| *cause != Cause::Base);
    let mut text = String::new();
    for cause in lost.filter(|cause| cpi.get(*cause) > 0) {
        _ = writeln!(
            text,
            "until then it {} ({}, {} commit slots)",
            words(cause),
            cause.name(),
            cpi.get(cause)
        );
    }
    text
}

/// Waits of the threads that do not run.
fn waiting(process: &Process) -> String {
    let mut text = String::new();
    for view in process.thread_views().iter().filter(|view| !view.runs) {
        let what = match &view.waits_for {
            Some(what) => format!("waits for {what}"),
            None => "is ready and waits for its turn".to_owned(),
        };
        _ = writeln!(
            text,
            "thread {} ({}) of process {} {what}",
            view.tid, view.name, view.pid
        );
    }
    text
}

fn state(one: &InFlight) -> String {
    match one.state {
        Flight::Fetched => "fetched".to_owned(),
        Flight::Decoded => "decoded, not dispatched".to_owned(),
        Flight::WaitsForOperands(count) => format!("waits for {count} operands"),
        Flight::Ready => "ready, waits for a unit".to_owned(),
        Flight::WaitsForStore => "waits for an older store".to_owned(),
        Flight::WaitsToBeOldest => "waits to be the oldest".to_owned(),
        Flight::Executes { until_cycle, level } => {
            let where_to = match level {
                Some(level) if level != Cause::Execute => format!("in memory ({})", level.name()),
                _ => "executes".to_owned(),
            };
            match until_cycle {
                Some(cycle) => format!("{where_to} until cycle {cycle}"),
                None => where_to,
            }
        }
        Flight::Complete => "complete".to_owned(),
    }
}

/// Whether a cache or a TLB holds an address; `None` for other tables.
fn holds(table: &Contents, addr: u64) -> Option<String> {
    let Selector::Address { shift } = table.selected_by else {
        return None;
    };
    let first = addr >> shift << shift;
    let set = table.set_of(addr)?;
    let ways = table.entries.chunks(table.ways).nth(set)?;
    let held = ways.iter().find_map(|held| match *held {
        Held::Line {
            address,
            dirty,
            ready_cycle,
            unused,
        } if address == first => Some((dirty, ready_cycle, unused)),
        _ => None,
    });
    Some(match held {
        None => format!("no (set {set})"),
        Some((_, Some(cycle), _)) => format!("on its way until cycle {cycle} (set {set})"),
        Some((true, ..)) => format!("yes, changed (set {set})"),
        Some((.., true)) => format!("yes, prefetched and not used yet (set {set})"),
        Some(_) => format!("yes (set {set})"),
    })
}
