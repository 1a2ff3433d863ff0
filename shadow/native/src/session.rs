//! One run of a program with its shadows, from start to end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hps_shadow::policy::CompiledPolicy;
use hps_shim::ShimError;
use hps_shim::session::IgnoreInterrupt;
use hps_shim::symbols::Symbolizer;
use rustix::process::{Pid, PidfdFlags};

use crate::calls;
use crate::follow::{Watch, endings, has_ended_within};
use crate::form::Form;
use crate::found::{Found, Thread, View};
use crate::inject::Injected;
use crate::layout::{CALL_VALUES, MAGIC, Region, SLOTS};
use crate::memory;
use crate::outcome::{Monitor, Shadow};
use crate::profiles::Profiles;
use crate::start::{With, ended, inject_behind_runtime, on_a_thread, start};

/// Mode of profiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Shadows that a timer forks.
    Sample,
    /// The whole run: the program itself runs instrumented.
    Whole,
    /// The whole run, and shadows that begin where the one before ended.
    EndToEnd,
}

/// How a program is profiled.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Mode of profiling.
    pub mode: Mode,
    /// Shadows that are alive on average.
    pub load: f64,
    /// Share of the program's processor time, 0 to 1, that monitor, forks and copies of pages may take; `None` for no
    /// limit.
    pub most_overhead: Option<f64>,
    /// The program's threads are forked in turn, instead of each as often as the timer expires in it.
    pub by_turn: bool,
    /// Values of all registers that have arguments, and of results, are noted, not first arguments alone: shadows are half
    /// as fast where there are many calls.
    pub all_values: bool,
    /// Called each second while the session runs.
    pub view: View<'a>,
    /// Instructions of a shadow; with a limit of overhead, at least so many.
    pub sample: u64,
    /// Processor time of the program between two signals of the monitor. The kernel rounds it up to its tick.
    pub period: Duration,
    /// Policy for system calls of shadows.
    pub policy: &'a CompiledPolicy,
    /// Shadows that live longer are killed.
    pub longest: Duration,
    /// The program's output goes nowhere.
    pub is_quiet: bool,
}

/// Results of a session.
pub struct Session {
    /// How the program ended, in words.
    pub status: String,
    /// Exit code of the program; 128 + signal if a signal ended it.
    pub code: u8,
    /// From its start to its end.
    pub wall: Duration,
    /// Processor time of the program, without its shadows and children.
    pub cpu: Duration,
    /// Counts of the monitor.
    pub monitor: Monitor,
    /// The shadows, in the order in which they were forked.
    pub shadows: Vec<Shadow>,
    /// Shadows by why they ended.
    pub endings: BTreeMap<String, u64>,
    /// System calls of shadows (in a whole run, of the program): name, action, how often.
    pub calls: Vec<(String, &'static str, u64)>,
    /// Profiles of the code that shadows executed.
    pub profiles: Profiles,
    /// The program's threads, by number and name.
    pub threads: Vec<Thread>,
    /// The limit of overhead, as in the request.
    pub most_overhead: Option<f64>,
    /// Profiles of a whole run of the program, and the end of its instrumentation.
    pub whole: Option<(Profiles, Shadow)>,
    /// Names for addresses.
    pub symbols: Symbolizer,
    /// Numbers in the shared memory that cannot be: the program wrote into it.
    pub damaged: u64,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Something that observing needs as well.
    #[error(transparent)]
    Shim(#[from] ShimError),
    /// The library never ran in the program.
    #[error(
        "{program} ({status}) ran without the library that forks shadows: its loader did not preload it (the program \
         is set-uid or has capabilities, or makes an environment of its own)"
    )]
    NotLoaded {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
    },
    /// The library could not be put into a process.
    #[error("process {process} cannot be profiled: {why}")]
    NotInjected {
        /// The process.
        process: i32,
        /// The reason and the remedy.
        why: String,
    },
    /// The whole run of a program into which nothing can be preloaded.
    #[error(
        "{program} is {form}, of which shadows see samples alone: the whole run (--full, --end-to-end, --perfect) \
         needs a dynamically linked program whose loader preloads a library"
    )]
    NotWhole {
        /// The program.
        program: String,
        /// Why nothing is preloaded into it.
        form: &'static str,
    },
}

impl Request<'_> {
    /// Runs the program to its end. No shadow is left when this returns.
    ///
    /// Shadows become children of the calling process, and are waited for by their numbers.
    ///
    /// # Errors
    /// [`SessionError`] if the program cannot be started, or the library did not run in it.
    pub fn run(&self, library: &Path) -> Result<Session, SessionError> {
        let form = self.form(self.mode != Mode::Sample)?;
        let region = Region::create()?;
        self.fill(&region, false);
        let _interrupts = IgnoreInterrupt::new();
        let began = Instant::now();
        let child = match form {
            Form::Dynamic => start(
                &self.command,
                With::Library(library, &region),
                self.is_quiet,
            )?,
            Form::Static => on_a_thread(|| self.start_injected(library, &region))?,
            Form::Go => start(&self.command, With::Nothing, self.is_quiet)?,
        };
        self.follow(&region, true, began, || {
            let process = child.id() as i32;
            let why_not = match form {
                Form::Go => inject_behind_runtime(process, library, &region).err(),
                _ => None,
            };
            let ended = wait(child).map_err(waiting)?;
            let header = region.header();
            if header.pid.load(Ordering::Relaxed) == 0 {
                return Err(match why_not {
                    Some(why) => SessionError::NotInjected { process, why },
                    None => SessionError::NotLoaded {
                        program: self.program(),
                        status: Ended::from(ended).status,
                    },
                });
            }
            Ok(ended.into())
        })
    }

    /// Profiles a running process of the same user, until it ends, `limit` has passed, or `stop` is set. The process
    /// goes on as before then; its command and output in the request have no meaning.
    ///
    /// Shadows are orphans, which end with the process, at the end of the session, or seconds after this process has
    /// ended.
    ///
    /// # Errors
    /// [`SessionError::NotInjected`] with the reason; the process goes on as before.
    pub fn attach(
        &self,
        library: &Path,
        process: i32,
        limit: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<Session, SessionError> {
        let not_injected = |why| SessionError::NotInjected { process, why };
        if self.mode != Mode::Sample {
            return Err(not_injected(
                "the whole run has begun already: shadows see samples of the rest".to_owned(),
            ));
        }
        let region = Region::create()?;
        self.fill(&region, true);
        let began = Instant::now();
        self.follow(&region, false, began, || {
            let header = region.header();
            let show_life = || {
                header
                    .alive_ns
                    .store(clock_ns(libc::CLOCK_MONOTONIC), Ordering::Relaxed)
            };
            show_life();
            let path = region.path();
            let injected = on_a_thread(|| Injected::into_process(process, library, &path))
                .map_err(not_injected)?;
            let ends = Pid::from_raw(process)
                .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
            let time_before = processor_time(process);
            let mut cpu = Duration::ZERO;
            let status = loop {
                show_life();
                let has_ended = |within| {
                    let ends = ends.as_ref();
                    ends.is_none_or(|ends| has_ended_within(ends, within))
                };
                // A process loses its memory before it has ended.
                match (has_ended(SIGN_OF_LIFE), injected.is_there()) {
                    (false, true) => {}
                    (false, false) if !has_ended(LONGEST_END) => {
                        break "it executed another program meanwhile";
                    }
                    _ => break "it ended meanwhile",
                }
                cpu = processor_time(process).saturating_sub(time_before);
                if header.closing.load(Ordering::Relaxed) != 0 {
                    break "it ended the monitor, since hps gave no sign of life for seconds";
                }
                if stop.load(Ordering::Relaxed)
                    || limit.is_some_and(|limit| began.elapsed() >= limit)
                {
                    break "it goes on";
                }
            };
            header.closing.store(1, Ordering::SeqCst);
            let mut status = status.to_owned();
            if let Err(why) = on_a_thread(|| injected.remove()) {
                status += &format!("; the library stays in it without a timer: {why}");
            }
            Ok(Ended {
                status,
                code: 0,
                cpu,
            })
        })
    }

    /// How the library comes into the program.
    ///
    /// # Errors
    /// [`SessionError::NotWhole`] if the whole run is wanted, of a program that is not linked dynamically.
    pub fn form(&self, wants_whole: bool) -> Result<Form, SessionError> {
        let program = self.command.first();
        let form = program.map_or(Form::Dynamic, |program| Form::of(program));
        let in_words = match form {
            Form::Static if wants_whole => "linked statically",
            Form::Go if wants_whole => "a Go program",
            _ => return Ok(form),
        };
        Err(SessionError::NotWhole {
            program: self.program(),
            form: in_words,
        })
    }

    /// Starts a program that waits for its tracer, the calling thread, and puts the library into it.
    fn start_injected(&self, library: &Path, region: &Region) -> Result<Child, SessionError> {
        let mut child = start(&self.command, With::Tracer, self.is_quiet)?;
        let process = child.id() as i32;
        match Injected::into_child(process, library, &region.path()) {
            Ok(_) => Ok(child),
            Err(why) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(SessionError::NotInjected { process, why })
            }
        }
    }

    fn program(&self) -> String {
        let first = self.command.first();
        first.map_or(String::new(), |program| {
            program.to_string_lossy().into_owned()
        })
    }

    /// Follows shadows until `wait` returns. `is_parent`: shadows are children of this process.
    fn follow(
        &self,
        region: &Region,
        is_parent: bool,
        began: Instant,
        wait: impl FnOnce() -> Result<Ended, SessionError>,
    ) -> Result<Session, SessionError> {
        let over = AtomicBool::new(false);
        let found = Mutex::default();
        let watch = Watch {
            region,
            over: &over,
            longest: match self.mode {
                Mode::Sample => self.longest,
                // Shadows in these modes wait for each other.
                _ => Duration::MAX,
            },
            all_values: self.all_values,
            found: &found,
            lets_finish: self.mode == Mode::EndToEnd,
            is_parent,
        };
        let (ended_as, wall, whole) = std::thread::scope(|scope| {
            let watch = &watch;
            if self.most_overhead.is_some() && self.mode == Mode::Sample {
                scope.spawn(|| memory::watch(region.header(), &over));
            }
            if let Some(view) = self.view.0 {
                scope.spawn(move || watch.show(began, view));
            }
            let whole = (self.mode != Mode::Sample).then(|| scope.spawn(|| watch.follow_program()));
            match self.mode {
                Mode::Sample => {
                    for slot in 1..SLOTS {
                        scope.spawn(move || watch.follow(slot));
                    }
                }
                Mode::Whole => {}
                Mode::EndToEnd => {
                    scope.spawn(|| watch.follow_in_order());
                }
            }
            let ended_as = wait();
            let wall = began.elapsed();
            if self.mode != Mode::EndToEnd {
                region.header().closing.store(1, Ordering::SeqCst);
            }
            over.store(true, Ordering::Release);
            (ended_as, wall, whole.and_then(joined))
        });
        let Ended { status, code, cpu } = ended_as?;
        let header = region.header();
        let found: Found = found
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut session = Session {
            status,
            code,
            wall,
            cpu,
            monitor: Monitor::of(region),
            endings: endings(&found.shadows),
            shadows: found.shadows,
            calls: calls::counted(header),
            profiles: found.profiles,
            threads: found.threads.into_values().collect(),
            most_overhead: self.most_overhead,
            whole: None,
            symbols: found.symbols,
            damaged: found.damaged,
        };
        if let Some(mut followed) = whole {
            let mut profiles = Profiles::default();
            profiles.add(&followed.walk);
            session.symbols.add(followed.symbols);
            session.damaged += followed.damaged;
            session.whole = followed.shadows.pop().map(|shadow| (profiles, shadow));
        }
        session.shadows.sort_by_key(|shadow| shadow.sequence);
        Ok(session)
    }

    fn fill(&self, region: &Region, is_attached: bool) {
        let header = region.header();
        let mode = match self.mode {
            Mode::Sample => 0,
            Mode::Whole => 1,
            Mode::EndToEnd => 2,
        };
        header.mode.store(mode, Ordering::Relaxed);
        header
            .supervisor
            .store(std::process::id() as i32, Ordering::Relaxed);
        header
            .is_attached
            .store(is_attached.into(), Ordering::Relaxed);
        header.sample.store(self.sample, Ordering::Relaxed);
        let period = u64::try_from(self.period.as_nanos())
            .unwrap_or(u64::MAX)
            .max(1);
        header.period_ns.store(period, Ordering::Relaxed);
        header
            .load_millionths
            .store((self.load * 1e6) as u64, Ordering::Relaxed);
        let most = self.most_overhead.map_or(0, |share| (share * 1e6) as u64);
        header
            .most_overhead_millionths
            .store(most, Ordering::Relaxed);
        header.by_turn.store(self.by_turn.into(), Ordering::Relaxed);
        let values = if self.all_values {
            CALL_VALUES as u32
        } else {
            1
        };
        header.call_values.store(values, Ordering::Relaxed);
        calls::write(self.policy, header);
        header.magic.store(MAGIC, Ordering::Release);
    }
}

/// How often an attached supervisor shows that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_millis(50);
/// How long a process may take to end once its memory is gone.
const LONGEST_END: Duration = Duration::from_secs(2);

/// How a program ended, or how it was left.
struct Ended {
    status: String,
    code: u8,
    cpu: Duration,
}

impl From<(std::process::ExitStatus, Duration)> for Ended {
    fn from((status, cpu): (std::process::ExitStatus, Duration)) -> Ended {
        let (status, code) = ended(status);
        Ended { status, code, cpu }
    }
}

fn waiting(source: std::io::Error) -> SessionError {
    let what = "waiting for the program".to_owned();
    ShimError::System { what, source }.into()
}

/// Processor time of a process so far; 0 if it has ended.
fn processor_time(process: i32) -> Duration {
    let mut clock = 0;
    // SAFETY: a valid place for the answer.
    let got = unsafe { libc::clock_getcpuclockid(process, &mut clock) };
    Duration::from_nanos(if got == 0 { clock_ns(clock) } else { 0 })
}

/// Time of a clock, in nanoseconds; 0 if there is no such clock.
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the answer.
    let got = unsafe { libc::clock_gettime(clock, &mut time) };
    if got == 0 {
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    } else {
        0
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> Option<T> {
    thread.join().ok()
}

/// Waits for the program, and says how it ended and the processor time that it took.
pub(crate) fn wait(child: Child) -> std::io::Result<(std::process::ExitStatus, Duration)> {
    use std::os::unix::process::ExitStatusExt;
    let pid = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: plain data that the call fills; zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: valid places for the answers.
        let got = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
        if got == pid {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    let cpu = time(usage.ru_utime) + time(usage.ru_stime);
    Ok((std::process::ExitStatus::from_raw(status), cpu))
}
