//! The functional pass over the program, and the slices that are timed beside it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hps_isa::editor::NoEditor;
use hps_isa::probe::{NoProbe, Probe};
use hps_isa::state::SaveState;
use hps_sim_core::machine::Stop;
use hps_system::os::ProcessRule;
use hps_system::process::Process;
use serde_json::Value;

use super::account::Account;
use super::folder::Folder;
use super::slice::{SliceResult, Subject};
use super::{Progress, Slicing};
use crate::checkpoint::Checkpoints;
use crate::checkpoint::run::{Stepped, Watched};
use crate::error::LabError;
use crate::lab::Lab;
use crate::loops::{Attach, FunctionalLoop, TimedLoop};
use crate::mode::{Timed, functional_machine};
use crate::ran::Ran;
use crate::region::WARM_BY_ALL;
use crate::stopwatch::Stopwatch;

/// A run whose slices are timed.
pub(super) struct Done<F> {
    /// The run of the pass.
    pub pass: Ran<NoEditor, ()>,
    /// Results of slices, in their order.
    pub results: Vec<SliceResult<F>>,
    /// Slices that were timed here.
    pub timed: u64,
}

/// A slice, and the checkpoint that it begins from.
struct Task {
    slice: u64,
    from: Option<PathBuf>,
}

/// State that the pass and the slices share.
struct Shared<'a, A: Account> {
    subject: &'a Subject<'a>,
    folder: &'a Folder,
    account: &'a A,
    tasks: Mutex<Receiver<Task>>,
    outcome: Mutex<Outcome<A::Found>>,
    progress: Mutex<Progress>,
    tell: fn(&Progress),
    has_failed: AtomicBool,
}

struct Outcome<F> {
    results: Vec<SliceResult<F>>,
    timed: u64,
    problem: Option<LabError>,
}

/// Runs the pass, and times slices beside it and behind it.
pub(super) fn run<A: Account>(
    lab: Lab<'_, Timed<'_>, NoEditor, NoProbe>,
    (slicing, folder): (&Slicing, &Folder),
    subject: &Subject<'_>,
    account: &A,
) -> Result<Done<A::Found>, LabError>
where
    NoEditor: TimedLoop<<A::Probe as Attach>::Loops>,
{
    let (send, tasks) = mpsc::channel();
    let shared = Shared {
        subject,
        folder,
        account,
        tasks: Mutex::new(tasks),
        outcome: Mutex::new(Outcome {
            results: Vec::new(),
            timed: 0,
            problem: None,
        }),
        progress: Mutex::new(Progress {
            passed: 0,
            has_passed: false,
            slices: 0,
            timed: 0,
        }),
        tell: slicing.progress,
        has_failed: AtomicBool::new(false),
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = match slicing.jobs {
        0 => processors,
        jobs => jobs,
    };
    let start = Stopwatch::start();
    // Slices need the folder, which is this command's as long as these are there.
    let mut kept = Checkpoints::in_folder(&folder.checkpoints, slicing.length, Value::Null)?
        .ahead(slicing.ahead());
    let passed = std::thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(|| shared.work());
        }
        let pass = Pass {
            slicing,
            shared: &shared,
            kept: &mut kept,
            send,
        };
        let passed = pass.over(lab);
        shared.tell(|progress| progress.has_passed = true);
        shared.work();
        passed
    });
    let pass = passed?;
    let Outcome {
        mut results,
        timed,
        problem,
    } = into_inner(shared.outcome);
    if let Some(problem) = problem {
        return Err(problem);
    }
    results.sort_unstable_by_key(|result| result.slice);
    Ok(Done {
        pass: Ran {
            host_seconds: start.seconds(),
            ..pass
        },
        results,
        timed,
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl<A: Account> Shared<'_, A>
where
    NoEditor: TimedLoop<<A::Probe as Attach>::Loops>,
{
    /// Times slices until there are no more.
    fn work(&self) {
        loop {
            let task = locked(&self.tasks).recv();
            let Ok(task) = task else {
                return;
            };
            if self.has_failed.load(Ordering::Relaxed) {
                continue;
            }
            match self.time(&task) {
                Ok(Some(result)) => locked(&self.outcome).results.push(result),
                Ok(None) => {}
                Err(problem) => self.fail(problem),
            }
            self.tell(|progress| progress.timed += 1);
        }
    }

    fn time(&self, task: &Task) -> Result<Option<SliceResult<A::Found>>, LabError> {
        if let Some(result) = self.folder.read(task.slice)? {
            return Ok(Some(result));
        }
        let result = self
            .subject
            .time(task.slice, task.from.as_deref(), self.account)?;
        if let Some(result) = &result {
            self.folder.write(task.slice, result)?;
            locked(&self.outcome).timed += 1;
        }
        Ok(result)
    }

    fn fail(&self, problem: LabError) {
        self.has_failed.store(true, Ordering::Relaxed);
        locked(&self.outcome).problem.get_or_insert(problem);
    }
}

impl<A: Account> Shared<'_, A> {
    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = locked(&self.progress);
        change(&mut progress);
        (self.tell)(&progress);
    }
}

/// The pass, which hands out slices.
struct Pass<'a, A: Account> {
    slicing: &'a Slicing,
    shared: &'a Shared<'a, A>,
    kept: &'a mut Checkpoints,
    send: Sender<Task>,
}

impl<A: Account> Pass<'_, A> {
    /// Passes over the program, with warm caches and predictors if checkpoints are to have them.
    fn over(
        self,
        lab: Lab<'_, Timed<'_>, NoEditor, NoProbe>,
    ) -> Result<Ran<NoEditor, ()>, LabError> {
        match self.slicing.warm {
            WARM_BY_ALL => {
                let (core, machine) = (lab.core_kind(), lab.machine().clone());
                self.run(lab, |process| {
                    core.warm(&machine, process.image.isa, process.thread.hart.pc)
                })
            }
            _ => self.run(lab, |_| NoProbe),
        }
    }

    /// Runs the program, and keeps a checkpoint ahead of each slice that is timed here.
    fn run<P: Probe + SaveState>(
        self,
        lab: Lab<'_, Timed<'_>, NoEditor, NoProbe>,
        probe: impl FnOnce(&Process) -> P,
    ) -> Result<Ran<NoEditor, ()>, LabError>
    where
        NoEditor: FunctionalLoop<P>,
    {
        let (provenance, limit) = (lab.provenance(), lab.limit);
        let expected = lab.program.expected.clone();
        let (folder, warn) = (self.shared.folder, lab.warn);
        let ahead = self.slicing.ahead();
        let is_interpreted = lab.program.is_interpreted;
        let (process, NoEditor, NoProbe, _) = lab.prepare()?;
        let probe = probe(&process);
        let machine = functional_machine(process, NoEditor, is_interpreted);
        let mut watched = Watched { machine, probe };
        let rule = ProcessRule::Refused("a run in slices");
        watched.first().os.set_process_rule(rule);
        self.kept.try_out(&watched.processes())?;
        let start = Stopwatch::start();
        // The last checkpoint that was written.
        let mut last = None;
        let mut slice = 0;
        let stop = loop {
            let now = watched.instructions();
            // All slices whose instructions ahead begin here or lie behind.
            while let Some(begin) = self.shared.subject.begin(slice)
                && begin <= now.saturating_add(ahead)
            {
                self.hand_out(slice, last.clone());
                slice += 1;
            }
            let until = self.kept.next(now).min(limit);
            let stop = Stepped::run(&mut watched, until.saturating_sub(now));
            let now = watched.instructions();
            self.shared.tell(|progress| progress.passed = now);
            if stop != Stop::Limit || now >= limit {
                break stop;
            }
            if self.is_here(slice) && !folder.has(slice) {
                let written = self.kept.write(&folder.settings, &mut watched);
                let failed = written.is_err();
                self.kept.settled(written, warn);
                if !failed {
                    last = Some(folder.checkpoint(now));
                }
            }
        };
        let ended = (stop, start);
        Ok(Ran::of_machine(
            watched.machine,
            (),
            ended,
            provenance,
            expected,
        ))
    }

    /// Whether a slice is timed by this command.
    fn is_here(&self, slice: u64) -> bool {
        let is_of_part = match self.slicing.part {
            None => true,
            Some((part, of)) => slice % of == part - 1,
        };
        is_of_part && self.slicing.chooses(slice)
    }

    fn hand_out(&self, slice: u64, from: Option<PathBuf>) {
        if !self.is_here(slice) {
            return;
        }
        self.shared.tell(|progress| progress.slices += 1);
        // The receiver is there as long as the pass is.
        let _ = self.send.send(Task { slice, from });
    }
}
