//! One observation from start to end: what the paper calls the coordinator.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::ShimError;
use crate::guardian::Guardian;
use crate::keep::Keeper;
use crate::machine::Machine;
use crate::placement::{Placement, Wish, place};
use crate::plan::{Mode, Plan};
use crate::region::{REGION_VARIABLE, Region};
use crate::rings::{RINGS_VARIABLE, Rings};
use crate::spawn::{Start, Waiting};
use crate::symbols::{ProcessMaps, Symbolizer};
use crate::threads::ThreadNames;
use crate::watch::{Task, Watch, Watched};

/// Request for an observation.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// How.
    pub plan: Plan,
    /// Where.
    pub wish: Wish,
    /// A file for raw samples; needs ring mode.
    pub keep: Option<PathBuf>,
}

/// Outcome of an observation.
pub struct Session {
    /// How the program ended, in words; empty if it was left running.
    pub status: String,
    /// Exit code of the program, 128 + signal if a signal ended it, 0 if it was left running.
    pub code: u8,
    /// From its first instruction to its end, or while it was observed.
    pub wall: Duration,
    /// Who ran where.
    pub placement: Placement,
    /// Results of the observer.
    pub watched: Watched,
    /// The region, whose names are still there.
    pub region: Arc<Region>,
    /// The rings of calls, if the program had any.
    pub rings: Option<Arc<Rings>>,
    /// Names for addresses.
    pub symbols: Symbolizer,
    /// Names of threads.
    pub threads: ThreadNames,
}

/// While this lives, interrupts from the terminal go to the program alone; the observer lives on and reports.
pub struct IgnoreInterrupt(libc::sighandler_t);

impl IgnoreInterrupt {
    /// Ignores them from now on.
    #[allow(clippy::new_without_default)] // it acts
    #[must_use]
    pub fn new() -> Self {
        // SAFETY: "ignore" is a valid disposition.
        Self(unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) })
    }
}

impl Drop for IgnoreInterrupt {
    fn drop(&mut self) {
        // SAFETY: the disposition that was there before.
        unsafe { libc::signal(libc::SIGINT, self.0) };
    }
}

impl Request {
    fn keeper(&self) -> Result<Option<Keeper>, ShimError> {
        match &self.keep {
            Some(path) if matches!(self.plan.mode, Mode::Ring { .. }) => {
                Keeper::create(path, self.plan.events.len()).map(Some)
            }
            Some(_) => Err(ShimError::Placement(
                "raw samples are kept in ring mode only: add --ring".to_owned(),
            )),
            None => Ok(None),
        }
    }

    /// Starts a program, observes it to its end and reports.
    ///
    /// The program is bound to its CPUs, waits until the observer samples, and finds the region by
    /// the variable [`REGION_VARIABLE`]. Nothing of the observer is left when this returns.
    ///
    /// # Errors
    /// Failures before the program runs (it then never does), [`ShimError::NotStarted`], [`ShimError::NoTags`] and
    /// [`ShimError::EndedAtOnce`] if there was nothing to sample.
    pub fn run(&self, machine: &Machine, mut start: Start) -> Result<Session, ShimError> {
        self.plan.check()?;
        let placement = place(machine, &self.wish, self.plan.wants_pmu())?;
        let keep = self.keeper()?;
        let region = Arc::new(Region::create()?);
        self.plan.ask(machine, &placement, &region)?;
        let path = region.path().into_os_string();
        start.environment.push((REGION_VARIABLE.into(), path));
        let rings = match self.plan.mode {
            Mode::Calls(collector) => collector.rings()?.map(Arc::new),
            _ => None,
        };
        if let Some(rings) = &rings {
            let path = rings.path().into_os_string();
            start.environment.push((RINGS_VARIABLE.into(), path));
        }
        start.cpus = placement.program.clone();
        let name = start.command.first().cloned().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let _interrupts = IgnoreInterrupt::new();
        let waiting = Waiting::new(&start)?;
        let guardian = match guard(waiting.pid(), &placement, machine) {
            Ok(guardian) => guardian,
            Err(error) => {
                waiting.cancel();
                return Err(error);
            }
        };
        let watch = Watch::start(Task {
            region: Arc::clone(&region),
            rings: rings.clone(),
            plan: self.plan.clone(),
            machine: machine.clone(),
            placement: placement.clone(),
            pid: waiting.pid(),
            keep,
        });
        let watch = match watch {
            Ok(watch) => watch,
            Err(error) => {
                waiting.cancel();
                return Err(error);
            }
        };
        let began = Instant::now();
        let mut child = waiting.go()?;
        let mut names = Names::default();
        let ended = names.follow(&mut child, &region, &watch, &placement);
        if !matches!(ended, Ok(true)) {
            // A counter has failed, or a CPU is gone: what else the program does would not be observed.
            let _ = child.kill();
        }
        let wall = began.elapsed();
        let watched = watch.stop();
        let status = child
            .wait()
            .map_err(|e| ShimError::system("waiting for the program", e))?;
        drop(guardian);
        ended?;
        let session = Session {
            status: in_words(status),
            code: code(status),
            wall,
            placement,
            watched: watched?,
            region,
            rings,
            symbols: names.symbols,
            threads: names.threads,
        };
        session.checked(&name)
    }

    /// Observes a running process that has a region, until it ends or `limit` has passed.
    ///
    /// # Errors
    /// [`ShimError::NoProcess`], [`ShimError::NoRegion`] and others as for [`Request::run`].
    pub fn attach(
        &self,
        machine: &Machine,
        pid: u32,
        limit: Duration,
    ) -> Result<Session, ShimError> {
        self.plan.check()?;
        let region = Arc::new(Region::of_process(pid)?);
        let placement = place(machine, &self.wish, self.plan.wants_pmu())?;
        let keep = self.keeper()?;
        // Threads that have their slots already are not asked any more.
        let plan = Plan {
            at_tags: false,
            ..self.plan.clone()
        };
        let fd = pidfd(pid)?;
        let watch = Watch::start(Task {
            region: Arc::clone(&region),
            rings: None,
            plan,
            machine: machine.clone(),
            placement: placement.clone(),
            pid,
            keep,
        })?;
        let began = Instant::now();
        let mut names = Names::default();
        let mut ended = false;
        while !ended && !watch.ended() && began.elapsed() < limit {
            names.update(&region, pid);
            placement.check_online()?;
            let left = limit.saturating_sub(began.elapsed());
            ended = wait_for(&fd, left.min(Duration::from_millis(200)))?;
        }
        let session = Session {
            status: if ended { "ended" } else { "" }.to_owned(),
            code: 0,
            wall: began.elapsed(),
            placement,
            watched: watch.stop()?,
            region,
            rings: None,
            symbols: names.symbols,
            threads: names.threads,
        };
        session.checked(&format!("process {pid}"))
    }
}

impl Session {
    /// Why none of the program's threads counted the events that it was asked for; `None` if one did, or nothing was asked.
    fn uncounted(&self) -> Option<String> {
        let asked = self
            .region
            .layout()
            .header
            .event_count
            .load(Ordering::Relaxed);
        let mut slots = self.region.used_slots().map(|(_, slot)| {
            let counting = slot.counting.load(Ordering::Relaxed);
            (counting, slot.refused.load(Ordering::Relaxed))
        });
        let mut why = "its tags are written by code that counts nothing: an older hps_shim.h, Rust, or --preload=patch";
        let said;
        if asked == 0 {
            return None;
        }
        for (counting, refused) in slots.by_ref() {
            match refused {
                0 if counting > 0 => return None,
                0 => {}
                errno => {
                    said = std::io::Error::from_raw_os_error(errno as i32).to_string();
                    why = &said;
                    break;
                }
            }
        }
        Some(why.to_owned())
    }

    /// Refuses an observation without samples, saying why there are none.
    fn checked(self, program: &str) -> Result<Self, ShimError> {
        if self.watched.observed.sent > 0 {
            return match self.uncounted() {
                Some(why) => Err(ShimError::NotCounting {
                    program: program.to_owned(),
                    why,
                }),
                None => Ok(self),
            };
        }
        let tagged = match &self.rings {
            Some(rings) => rings.taken() > 0,
            None => self.region.used_slots().next().is_some(),
        };
        let program = program.to_owned();
        let status = if self.status.is_empty() {
            "still running".to_owned()
        } else {
            self.status
        };
        if !tagged {
            return Err(ShimError::NoTags { program, status });
        }
        Err(ShimError::EndedAtOnce {
            program,
            status,
            milliseconds: self.wall.as_millis() as u64,
        })
    }
}

/// A guardian of a program that is bound to its CPUs.
fn guard(pid: u32, placement: &Placement, machine: &Machine) -> Result<Guardian, ShimError> {
    let program = pidfd(pid)?;
    Guardian::new(
        process(pid)?,
        &program,
        &placement.program,
        &machine.allowed,
    )
}

fn process(pid: u32) -> Result<Pid, ShimError> {
    Pid::from_raw(pid as i32).ok_or_else(|| ShimError::NoProcess {
        pid,
        source: std::io::Error::other("0 is no process"),
    })
}

fn pidfd(pid: u32) -> Result<OwnedFd, ShimError> {
    let no_process = |e: std::io::Error| ShimError::NoProcess { pid, source: e };
    let raw = process(pid)?;
    pidfd_open(raw, PidfdFlags::empty()).map_err(|e| no_process(e.into()))
}

/// Waits until the process has ended, true, or the time has passed, false.
fn wait_for(fd: &OwnedFd, time: Duration) -> Result<bool, ShimError> {
    let timeout = Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    match poll(&mut fds, Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(ShimError::system("poll", e)),
    }
}

/// Names that have to be read while the program lives.
#[derive(Default)]
struct Names {
    symbols: Symbolizer,
    threads: ThreadNames,
}

impl Names {
    fn update(&mut self, region: &Region, pid: u32) {
        let mapped = region.layout().header.pid.load(Ordering::Relaxed);
        let of = if mapped == 0 { pid } else { mapped };
        if let Ok(maps) = ProcessMaps::of_process(of) {
            self.symbols.update(&maps);
        }
        self.threads.update(region, of);
    }

    /// Follows a child to its end, `true`, or to that of its observer.
    fn follow(
        &mut self,
        child: &mut Child,
        region: &Region,
        watch: &Watch,
        placement: &Placement,
    ) -> Result<bool, ShimError> {
        const LONGEST: Duration = Duration::from_millis(250);
        // Looking for new threads costs a few loads, so that is done more often.
        const LOOK: Duration = Duration::from_millis(20);
        let pid = child.id();
        let fd = pidfd(pid)?;
        let mut pause = Duration::from_millis(1);
        loop {
            self.update(region, pid);
            placement.check_online()?;
            let mut left = pause;
            while !left.is_zero() {
                let step = left.min(LOOK);
                if wait_for(&fd, step)? {
                    return Ok(true);
                }
                if watch.ended() {
                    return Ok(false);
                }
                left -= step;
                if !self.threads.are_complete(region) {
                    break;
                }
            }
            // Often at first, for programs that end soon, and then less often.
            pause = (pause * 2).min(LONGEST);
        }
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

fn code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128_u8.wrapping_add(signal as u8),
        (None, None) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_not_followed_any_longer_than_its_observer() {
        let region = Region::create().unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let watch = Watch::failed(ShimError::NeverCounted {
            event: "cycles".to_owned(),
        });
        let placement = Placement {
            seat: crate::placement::Seat::Cmp,
            observer: 0,
            program: vec![0],
        };
        let ended = Names::default().follow(&mut child, &region, &watch, &placement);
        assert!(matches!(ended, Ok(false)), "{ended:?}");
        assert!(child.try_wait().unwrap().is_none(), "it still runs");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(watch.stop(), Err(ShimError::NeverCounted { .. })));
    }
}
