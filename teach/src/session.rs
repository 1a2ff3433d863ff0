//! A session: the run that the page looks at, and answers to its questions.

use std::sync::Arc;

use hps_lab::{Ran, Timing};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::EventSet;
use hps_productions::files;
use hps_profilers::registry::PROFILERS;
use hps_sim_core::image::ProgramImage;

use crate::analyze::analyze_run;
use crate::dise;
use crate::find::find;
use crate::protocol::{Answer, Catalog, Named, Problem, ProfilerInfo, Request, Setup, TextFile};
use crate::recorder::{Recorded, Recorder};
use crate::setup::{Ready, isa_of, production_set};
use crate::state::Replay;
use crate::summary::summary;

/// What is kept between questions.
#[derive(Default)]
pub struct Session {
    run: Option<Run>,
}

/// A run with its records.
struct Run {
    ready: Ready,
    recorded: Recorded,
    cycles: u64,
    replay: Option<Replay>,
}

impl Session {
    /// Without a run yet.
    #[must_use]
    pub fn new() -> Session {
        Session::default()
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
            Err(e) => Answer::Problem(Problem::new(format!("this is no question: {e}"))),
        };
        serde_json::to_string(&answer).unwrap_or_else(|e| {
            format!("{{\"answer\":\"problem\",\"message\":\"{e}\",\"place\":null,\"line\":null,\"column\":null}}")
        })
    }

    fn try_answer(&mut self, request: Request) -> Result<Answer, Problem> {
        Ok(match request {
            Request::Catalog => Answer::Catalog(catalog()),
            Request::Run { setup } => self.start(&setup)?,
            Request::Rows { first, count } => Answer::Rows {
                rows: self.rows(self.recorded()?, first, count),
            },
            Request::Cycle { cycle } => Answer::Cycle(self.cycle_view(self.recorded()?, cycle)),
            Request::State { cycle } => Answer::State(self.state(cycle)?),
            Request::Memory {
                cycle,
                address,
                bytes,
            } => Answer::Memory {
                bytes: self.memory(cycle, &address, bytes)?,
            },
            Request::Find {
                cycle,
                backwards,
                what,
            } => Answer::Found {
                cycle: find(self.recorded()?, cycle, backwards, &what)?,
            },
            Request::Listing { address } => Answer::Listing(self.listing(&address)?),
            Request::Profiles { order } => {
                self.recorded()?;
                Answer::Profiles(self.profiles(&order)?)
            }
            Request::Productions { isa, files, params } => {
                let set = production_set(isa_of(&isa)?, &files, &params)?;
                Answer::Productions(dise::tables(&set)?)
            }
            Request::Analyze => {
                let recorded = self.recorded()?;
                Answer::Analysis(analyze_run(
                    &self.ready().program,
                    &self.ready().machine,
                    recorded,
                )?)
            }
        })
    }

    /// Runs a program and keeps what happened. A run that fails leaves none.
    fn start(&mut self, setup: &Setup) -> Result<Answer, Problem> {
        self.run = None;
        let ready = Ready::new(setup)?;
        let (recorded, told) = match &ready.productions {
            None => record(&ready, ready.lab().on_machine(&ready.machine))?,
            Some(productions) => record(
                &ready,
                ready
                    .lab()
                    .on_machine(&ready.machine)
                    .edited_by(productions),
            )?,
        };
        self.run = Some(Run {
            cycles: told.cycles,
            ready,
            recorded,
            replay: None,
        });
        Ok(Answer::Run(told))
    }

    fn run(&self) -> Result<&Run, Problem> {
        self.run
            .as_ref()
            .ok_or_else(|| Problem::new("nothing has run yet"))
    }

    pub(crate) fn recorded(&self) -> Result<&Recorded, Problem> {
        Ok(&self.run()?.recorded)
    }

    /// What the run was made of. There is one where there is a record.
    pub(crate) fn ready(&self) -> &Ready {
        match &self.run {
            Some(run) => &run.ready,
            None => unreachable!("whoever asks has the record of the run"),
        }
    }

    pub(crate) fn image(&self) -> &Arc<ProgramImage> {
        &self.ready().program.image
    }

    /// Cycles of the run.
    pub(crate) fn cycles(&self) -> u64 {
        self.run.as_ref().map_or(0, |run| run.cycles)
    }

    /// The run, its record, and the functional machine that replays it.
    pub(crate) fn replayed(&mut self) -> Result<(&Ready, &Recorded, &mut Option<Replay>), Problem> {
        match &mut self.run {
            Some(run) => Ok((&run.ready, &run.recorded, &mut run.replay)),
            None => Err(Problem::new("nothing has run yet")),
        }
    }
}

/// A run under the recorder.
fn record<I: hps_lab::Install>(
    ready: &Ready,
    lab: hps_lab::Lab<'_, hps_lab::Timed<'_>, I>,
) -> Result<(Recorded, crate::protocol::Summary), Problem> {
    let mut ran: Ran<_, Recorder, Timing> = lab.watched_by(Recorder::default()).run()?;
    let recorded = Recorded::new(std::mem::take(&mut ran.probe));
    let told = summary(ready, &ran, &recorded);
    Ok((recorded, told))
}

fn catalog() -> Catalog {
    let named = |name: &str, about: &str| Named {
        name: name.to_owned(),
        about: about.to_owned(),
    };
    let machine = |name: &'static str| {
        let about = MachineConfig::preset(name).map(|m| m.description);
        named(name, &about.unwrap_or_default())
    };
    // The record is of one core.
    let is_single = |name: &&str| MachineConfig::preset(name).is_ok_and(|m| !m.chip.has_company());
    Catalog {
        version: hps_lab::VERSION.to_owned(),
        programs: hps_workloads::all()
            .iter()
            .map(|w| named(w.name, w.description))
            .collect(),
        machines: MachineConfig::presets()
            .into_iter()
            .filter(is_single)
            .map(machine)
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
    }
}
