//! A session: the run that the page looks at, and answers to its questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use hps_isa::isa::Isa;
use hps_isa::said;
use hps_lab::{Program, Ran, Timing};
use hps_pipeline::config::{CacheConfig, MachineConfig, Scheduling};
use hps_pipeline::core::EventSet;
use hps_productions::files;
use hps_profilers::registry::PROFILERS;
use hps_system::image::ProgramImage;
use hps_workloads::sources;

use crate::analyze::analyze_run;
use crate::coherence::Messages;
use crate::cycle::states;
use crate::dise;
use crate::find::find;
use crate::protocol::{
    Answer, Catalog, Limits, MachineInfo, Named, Problem, ProfilerInfo, Request, Setup, Summary,
    TextFile,
};
use crate::recorder::{Recorded, Recorder};
use crate::rerun::Rerun;
use crate::setup::{Ready, isa_of, production_set};
use crate::state::Replay;
use crate::summary::summary;

/// The widest that a page makes a machine.
const MOST_WIDTH: u64 = 8;
/// Cycles whose states are told at once.
const MOST_STATES: u64 = 100_000;

/// Makes assembly text of a program in C.
pub type Compiler = fn(&str) -> Result<String, Problem>;

/// A run and its records, which are kept from one question to the next.
pub struct Session {
    limits: Limits,
    /// The program of the command that serves the page.
    served: Option<Program>,
    compiler: Option<Compiler>,
    run: Option<Run>,
}

/// A run with its records.
struct Run {
    ready: Ready,
    recorded: Recorded,
    cycles: u64,
    replay: Option<Replay>,
    rerun: Option<Rerun>,
    messages: Option<Messages>,
}

impl Default for Session {
    fn default() -> Self {
        Session::new()
    }
}

impl Session {
    /// A session in a page, without a run yet.
    #[must_use]
    pub fn new() -> Session {
        Session {
            limits: Limits::PAGE,
            served: None,
            compiler: None,
            run: None,
        }
    }

    /// A session beside a page, which has the memory and the compiler of its host, and a program that no page has to hold.
    #[must_use]
    pub fn serving(program: Option<Program>, compiler: Compiler) -> Session {
        Session {
            limits: Limits::SERVED,
            served: program,
            compiler: Some(compiler),
            run: None,
        }
    }

    /// Answers a question.
    pub fn answer(&mut self, request: Request) -> Answer {
        self.try_answer(request).unwrap_or_else(Answer::Problem)
    }

    /// Answers a question as text: JSON in, JSON out.
    #[must_use]
    pub fn answer_text(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str(request) {
            Ok(request) => self.answer(request),
            Err(e) => Answer::Problem(Problem::english(format!("this is no question: {e}"))),
        };
        serde_json::to_string(&answer).unwrap_or_else(|e| {
            format!("{{\"answer\":\"problem\",\"message\":\"{e}\",\"said\":null,\"place\":null,\"line\":null,\"column\":null}}")
        })
    }

    fn try_answer(&mut self, request: Request) -> Result<Answer, Problem> {
        Ok(match request {
            Request::Catalog => Answer::Catalog(self.catalog()),
            Request::Run { setup } => self.start(&setup)?,
            Request::Rows {
                first,
                count,
                only_committed,
            } => Answer::Rows {
                rows: self.rows(self.recorded()?, first, count, only_committed),
            },
            Request::Seek {
                from,
                backwards,
                only_committed,
                what,
            } => {
                let found = self.seek(from, backwards, only_committed, &what)?;
                let recorded = self.recorded()?;
                Answer::Sought {
                    row: found.map(|at| self.row(recorded, at)),
                }
            }
            Request::Overview {
                first,
                end,
                parts,
                context,
            } => Answer::Overview {
                parts: self.overview(first, end, parts, context)?,
            },
            Request::Cycle { cycle, context } => {
                Answer::Cycle(self.cycle_view(self.recorded()?, cycle, context))
            }
            Request::States {
                first,
                count,
                context,
            } => {
                let cycles = first..first.saturating_add(count.min(MOST_STATES));
                Answer::States {
                    states: states(self.recorded()?, cycles, context),
                }
            }
            Request::Inside {
                cycle,
                context,
                tables,
                row,
            } => Answer::Inside(self.inside(cycle, context, &tables, row)?),
            Request::Entries {
                cycle,
                context,
                table,
                set,
            } => Answer::Entries {
                entries: self.entries(cycle, context, &table, set)?,
            },
            Request::State { cycle, context } => Answer::State(self.state(cycle, context)?),
            Request::Memory {
                cycle,
                context,
                address,
                bytes,
            } => {
                let (address, bytes) = self.memory(cycle, context, &address, bytes)?;
                Answer::Memory { address, bytes }
            }
            Request::Find {
                cycle,
                backwards,
                what,
            } => Answer::Found {
                cycle: find(self.recorded()?, cycle, backwards, &what)?,
            },
            Request::Listing { address } => Answer::Listing(self.listing(&address)?),
            Request::Source { file } => Answer::Source {
                text: source(&file),
            },
            Request::Profiles { order } => {
                self.recorded()?;
                Answer::Profiles(self.profiles(&order)?)
            }
            Request::Coherence { line } => Answer::Coherence(self.coherence(line.as_deref())?),
            Request::Compile { c } => Answer::Compiled {
                text: self.compile(&c)?,
            },
            Request::Productions { isa, files, params } => {
                let set = production_set(isa_of(&isa)?, &files, &params)?;
                Answer::Productions(dise::tables(&set)?)
            }
            Request::Analyze => {
                let recorded = self.recorded()?;
                if self.has_peers() {
                    return Err(Problem::new(said!(
                        "loops are analyzed on machines with one context"
                    )));
                }
                Answer::Analysis(analyze_run(
                    &self.ready().program,
                    &self.ready().machine,
                    recorded,
                )?)
            }
        })
    }

    fn compile(&self, c: &str) -> Result<String, Problem> {
        let compiler = self.compiler.ok_or_else(|| {
            Problem::new(said!(
                "a page in a browser alone has no compiler of C: `hps teach --serve 8000` serves one that has"
            ))
            .at("c")
        })?;
        compiler(c)
    }

    /// Runs a program and keeps what happened. A run that fails leaves none.
    fn start(&mut self, setup: &Setup) -> Result<Answer, Problem> {
        self.run = None;
        let ready = Ready::new(setup, &self.limits, self.served.as_ref())?;
        let rows = self.limits.rows;
        let (recorded, told) = match &ready.productions {
            None => record(&ready, rows, ready.timed())?,
            Some(productions) => record(&ready, rows, ready.timed().edited_by(productions))?,
        };
        let edited = setup.edits.iter();
        let edited = edited.map(|edit| recorded.cycle_of_edit(edit.instructions));
        let told = Summary {
            edited: edited.collect(),
            ..told
        };
        self.run = Some(Run {
            cycles: told.cycles,
            ready,
            recorded,
            replay: None,
            rerun: None,
            messages: None,
        });
        Ok(Answer::Run(told))
    }

    fn run(&self) -> Result<&Run, Problem> {
        self.run
            .as_ref()
            .ok_or_else(|| Problem::new(said!("nothing has run yet")))
    }

    pub(crate) fn recorded(&self) -> Result<&Recorded, Problem> {
        Ok(&self.run()?.recorded)
    }

    /// Program, machine and productions of the run. They exist where a record exists.
    pub(crate) fn ready(&self) -> &Ready {
        match &self.run {
            Some(run) => &run.ready,
            None => unreachable!("whoever asks has the record of the run"),
        }
    }

    pub(crate) fn image(&self) -> &Arc<ProgramImage> {
        &self.ready().program.image
    }

    /// The instruction set of the program.
    pub(crate) fn isa(&self) -> Isa {
        self.image().isa
    }

    /// Whether the machine has several contexts.
    pub(crate) fn has_peers(&self) -> bool {
        self.run
            .as_ref()
            .is_some_and(|run| run.ready.machine.chip.has_peers())
    }

    /// Cycles of the run.
    pub(crate) fn cycles(&self) -> u64 {
        self.run.as_ref().map_or(0, |run| run.cycles)
    }

    /// The run, and the machine that runs it again.
    pub(crate) fn rerun(&mut self) -> Result<(&Ready, &mut Rerun), Problem> {
        let Some(run) = &mut self.run else {
            return Err(Problem::new(said!("nothing has run yet")));
        };
        let rerun = match &mut run.rerun {
            Some(rerun) => rerun,
            kept => kept.insert(Rerun::open(&run.ready, &run.recorded, run.cycles)?),
        };
        Ok((&run.ready, rerun))
    }

    /// The run, its cycles, and the messages of its coherent lines.
    pub(crate) fn messages(&mut self) -> Result<(&Ready, u64, &mut Option<Messages>), Problem> {
        match &mut self.run {
            Some(run) => Ok((&run.ready, run.cycles, &mut run.messages)),
            None => Err(Problem::new(said!("nothing has run yet"))),
        }
    }

    /// The run, its record, and the functional machine that replays it.
    pub(crate) fn replayed(&mut self) -> Result<(&Ready, &Recorded, &mut Option<Replay>), Problem> {
        match &mut self.run {
            Some(run) => Ok((&run.ready, &run.recorded, &mut run.replay)),
            None => Err(Problem::new(said!("nothing has run yet"))),
        }
    }
}

/// A run under the recorder.
fn record<I: hps_lab::Install<Editor: hps_lab::TimedLoop<Recorder>>>(
    ready: &Ready,
    rows: u64,
    lab: hps_lab::Lab<'_, hps_lab::Timed<'_>, I>,
) -> Result<(Recorded, Summary), Problem> {
    let mut ran: Ran<_, Recorder, Timing> = lab.watched_by(Recorder::new(rows)).run()?;
    let recorded = Recorded::new(std::mem::take(&mut ran.probe));
    let told = summary(ready, &ran, &recorded);
    Ok((recorded, told))
}

impl Session {
    fn catalog(&self) -> Catalog {
        let served = self.served.as_ref();
        let served =
            served.map(|program| (program.name.clone(), program.image.isa.name().to_owned()));
        Catalog {
            limits: self.limits.clone(),
            served,
            compiles: self.compiler.is_some(),
            ..catalog()
        }
    }
}

/// The text of a source file, as debug information names it: `./src-guest/lz/main.c`.
fn source(file: &str) -> Option<String> {
    let file = file.trim_start_matches("./");
    let programs = hps_workloads::all().iter();
    let own = programs.filter_map(|program| sources::of_program(program.name));
    let mut all = own.chain([sources::runtime()]).flatten();
    all.find(|(path, _)| *path == file)
        .map(|(_, text)| (*text).to_owned())
}

/// Values of the keys that have sliders.
fn slider_values(machine: &MachineConfig) -> BTreeMap<String, u64> {
    let (window, memory) = (&machine.window, &machine.memory);
    let values = [
        ("window.rob_entries", u64::from(window.rob_entries)),
        (
            "window.reservation_stations",
            u64::from(window.reservation_stations),
        ),
        (
            "window.load_queue_entries",
            u64::from(window.load_queue_entries),
        ),
        (
            "window.store_queue_entries",
            u64::from(window.store_queue_entries),
        ),
        ("memory.l1d.size_bytes", u64::from(memory.l1d.size_bytes)),
        ("memory.l1d.mshrs", u64::from(memory.l1d.mshrs)),
        ("memory.l2.size_bytes", u64::from(memory.l2.size_bytes)),
        ("memory.latency_cycles", u64::from(memory.latency_cycles)),
        (
            "fetch.fetch_width_insts",
            u64::from(machine.fetch.fetch_width_insts),
        ),
    ];
    values.map(|(key, value)| (key.to_owned(), value)).into()
}

fn catalog() -> Catalog {
    let named = |name: &str, about: &str| Named {
        name: name.to_owned(),
        about: about.to_owned(),
    };
    let machine = |name: &'static str| {
        let machine = MachineConfig::preset(name).ok()?;
        let window = &machine.window;
        let set_bytes = |cache: &CacheConfig| u64::from(cache.ways) * u64::from(cache.line_bytes);
        Some(MachineInfo {
            name: name.to_owned(),
            contexts: u64::from(machine.chip.processors()),
            fetch_buffer: u64::from(machine.fetch.fetch_buffer_insts),
            most_width: match &machine.issue.scheduling {
                // The pipes of a slotted core are fixed.
                Scheduling::InOrder(_) => u64::from(machine.issue.issue_width),
                _ => MOST_WIDTH,
            },
            l1d_set_bytes: set_bytes(&machine.memory.l1d),
            l2_set_bytes: set_bytes(&machine.memory.l2),
            rob: u64::from(window.rob_entries),
            stations: u64::from(window.reservation_stations),
            load_queue: u64::from(window.load_queue_entries),
            fp_queue: u64::from(window.fp_queue_entries),
            store_queue: u64::from(window.store_queue_entries),
            values: slider_values(&machine),
            about: machine.description,
        })
    };
    Catalog {
        version: hps_lab::VERSION.to_owned(),
        programs: hps_workloads::all()
            .iter()
            .map(|w| named(w.name, w.description))
            .collect(),
        machines: MachineConfig::presets()
            .into_iter()
            .filter_map(machine)
            .collect(),
        profilers: PROFILERS
            .iter()
            .map(|p| ProfilerInfo {
                name: p.name.to_owned(),
                about: p.about.to_owned(),
                hardware: p.hardware.to_owned(),
                counts: p.counts.describe().to_owned(),
            })
            .collect(),
        productions: files::ALL
            .iter()
            .map(|f| TextFile {
                name: f.name.to_owned(),
                text: f.text.to_owned(),
            })
            .collect(),
        events: EventSet::ALL
            .iter()
            .map(|(_, name)| (*name).to_owned())
            .collect(),
        limits: Limits::PAGE,
        served: None,
        compiles: false,
    }
}
