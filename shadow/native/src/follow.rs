//! Reads what a shadow writes until it ends, and buries it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hps_shim::symbols::{ProcessMaps, Symbolizer};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::found::{Found, Now};
use crate::layout::{
    BREAK, CALL_VALUES, CHUNK_EVENTS, CHUNKS, ENDED, FREE, RUNNING, Region, SLOTS, STARTING, Slot,
    UNITS,
};
use crate::outcome::{Ending, Monitor, Shadow};
use crate::walk::{Block, Kind, Walk};

/// How long a slot that nobody writes into is waited for at a time.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a shadow may take to begin once its program has ended.
const LONGEST_START: Duration = Duration::from_millis(500);

/// Time between two calls of a view.
const BETWEEN_VIEWS: Duration = Duration::from_secs(1);

/// State that followers share.
pub struct Watch<'a> {
    /// The memory.
    pub region: &'a Region,
    /// The program has ended.
    pub over: &'a AtomicBool,
    /// Shadows that live longer are killed.
    pub longest: Duration,
    /// Shadows may go on when the program has ended.
    pub lets_finish: bool,
    /// Shadows are children of this process.
    pub is_parent: bool,
    /// Values of all registers are noted, not first arguments alone.
    pub all_values: bool,
    /// Findings of the shadows that have ended.
    pub found: &'a Mutex<Found>,
}

/// Results of a follower.
#[derive(Default)]
pub struct Followed {
    /// Walk over the code that the shadows executed.
    pub walk: Walk,
    /// Shadows that were followed.
    pub shadows: Vec<Shadow>,
    /// Names for their addresses.
    pub symbols: Symbolizer,
    /// Numbers in the memory that cannot be.
    pub damaged: u64,
}

impl Watch<'_> {
    /// Follows the shadows of one slot, one after the other, until the program has ended.
    pub fn follow(&self, slot: usize) {
        while self.wait_for_shadow(slot) {
            let mut followed = self.followed();
            let shadow = self.follow_one(slot, &mut followed);
            followed.shadows.push(shadow);
            self.add(followed);
        }
    }

    /// Calls `view` each second until the program has ended.
    pub fn show(&self, began: Instant, view: &(dyn Fn(&mut Now<'_>) + Sync)) {
        let mut next = BETWEEN_VIEWS;
        while !self.over.load(Ordering::Acquire) {
            std::thread::sleep(PAUSE);
            if began.elapsed() < next {
                continue;
            }
            next = began.elapsed() + BETWEEN_VIEWS;
            let layout = self.region.layout();
            let lives =
                |slot: &&Slot| matches!(slot.state.load(Ordering::Relaxed), STARTING | RUNNING);
            let found = self.found.lock();
            view(&mut Now {
                elapsed: began.elapsed(),
                cpu: Duration::from_nanos(layout.header.cpu_ns.load(Ordering::Relaxed)),
                alive: layout.slots[1..].iter().filter(lives).count(),
                monitor: Monitor::of(self.region),
                found: &mut found.unwrap_or_else(std::sync::PoisonError::into_inner),
            });
        }
    }

    fn followed(&self) -> Followed {
        Followed {
            walk: match self.all_values {
                true => Walk::with_all_values(),
                false => Walk::default(),
            },
            ..Followed::default()
        }
    }

    fn add(&self, followed: Followed) {
        let found = self.found.lock();
        found
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .add(followed);
    }

    /// Follows shadows in the order of their forks: each begins where the one before ended.
    pub fn follow_in_order(&self) {
        let mut followed = self.followed();
        let mut next = 1;
        let mut last = Instant::now();
        loop {
            let over = self.over.load(Ordering::Acquire);
            let slots = &self.region.layout().slots;
            let taken = (1..SLOTS).filter(|i| slots[*i].state.load(Ordering::Acquire) != FREE);
            let taken: Vec<usize> = taken.collect();
            let turn = taken.iter().find(|i| {
                let slot = &slots[**i];
                slot.state.load(Ordering::Acquire) != STARTING
                    && slot.sequence.load(Ordering::Acquire) == next
            });
            match turn {
                Some(slot) => {
                    let shadow = self.follow_one(*slot, &mut followed);
                    if shadow.ending != Ending::Budget {
                        followed.walk.interrupt();
                    }
                    followed.shadows.push(shadow);
                    next += 1;
                    last = Instant::now();
                }
                // One that never began belongs to a program that was killed before it could fork.
                None if over && (taken.is_empty() || last.elapsed() > LONGEST_START) => {
                    return self.add(followed);
                }
                None => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    }

    /// Follows the program itself, which runs instrumented in slot 0.
    pub fn follow_program(&self) -> Followed {
        let mut followed = self.followed();
        let slot = &self.region.layout().slots[0];
        while slot.state.load(Ordering::Acquire) == FREE {
            if self.over.load(Ordering::Acquire) {
                return followed;
            }
            wait_for_chunk(slot, 0);
        }
        let mut units = Units::default();
        loop {
            let over = self.over.load(Ordering::Acquire);
            let state = slot.state.load(Ordering::Acquire);
            if !units.read(slot, &mut followed) {
                if state == ENDED || over {
                    break;
                }
                wait_for_chunk(slot, units.read);
            }
        }
        read_names(slot, &mut followed.symbols);
        let ending = match Ending::of(slot.ending.load(Ordering::Relaxed)) {
            Ending::None => Ending::Killed,
            ending => ending,
        };
        followed.shadows.push(shadow_of(slot, ending));
        followed
    }

    /// Waits until a shadow runs in a slot; `false` if the program has ended and none will.
    fn wait_for_shadow(&self, at: usize) -> bool {
        let slot = &self.region.layout().slots[at];
        let mut starting_since = None;
        loop {
            let over = self.over.load(Ordering::Acquire);
            match slot.state.load(Ordering::Acquire) {
                FREE if over => return false,
                STARTING if over => {
                    let since = *starting_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > LONGEST_START {
                        // The program was killed before it could fork.
                        return false;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                FREE | STARTING => wait_for_chunk(slot, slot.head.load(Ordering::Acquire)),
                _ => return true,
            }
        }
    }

    /// Follows the shadow in a slot to its end, and frees the slot.
    fn follow_one(&self, at: usize, followed: &mut Followed) -> Shadow {
        let slot = &self.region.layout().slots[at];
        let began = Instant::now();
        let in_call = (slot.in_call.load(Ordering::Acquire) as usize).min(CALL_VALUES);
        let mut units = Units {
            skipped_values: if followed.walk.awaited().is_empty() {
                in_call
            } else {
                0
            },
            ..Units::default()
        };
        let process = Process::of(slot, self.is_parent);
        let mut ending = None;
        let mut is_gone = false;
        loop {
            let state = slot.state.load(Ordering::Acquire);
            if units.read(slot, followed) {
                continue;
            }
            if state == ENDED || is_gone {
                break;
            }
            if self.over.load(Ordering::Acquire) && !self.lets_finish && ending.is_none() {
                ending = Some(Ending::Closed);
                process.kill();
            }
            if began.elapsed() > self.longest && ending.is_none() {
                ending = Some(Ending::Overdue);
                process.kill();
            }
            if process.has_ended(false) {
                // The shadow's last output is read before the shadow is forgotten.
                is_gone = true;
                ending = ending.or(Some(Ending::Killed));
                continue;
            }
            wait_for_chunk(slot, units.read);
        }
        if !is_gone {
            process.has_ended(true);
        }
        read_names(slot, &mut followed.symbols);
        let said = Ending::of(slot.ending.load(Ordering::Relaxed));
        let shadow = shadow_of(
            slot,
            if is_gone {
                ending.unwrap_or(said)
            } else {
                said
            },
        );
        slot.pid.store(0, Ordering::Relaxed);
        slot.state.store(FREE, Ordering::Release);
        // The program waits for shadows that have ended before they were apart.
        wake(&slot.is_apart);
        shadow
    }
}

fn shadow_of(slot: &Slot, ending: Ending) -> Shadow {
    let name: Vec<u8> = slot
        .name
        .iter()
        .map(|byte| byte.load(Ordering::Relaxed))
        .take_while(|byte| *byte != 0)
        .collect();
    Shadow {
        thread: slot.thread.load(Ordering::Relaxed),
        thread_name: String::from_utf8_lossy(&name).into_owned(),
        sample: slot.sample.load(Ordering::Relaxed),
        ending,
        detail: slot.detail.load(Ordering::Relaxed),
        sequence: slot.sequence.load(Ordering::Relaxed),
        instructions: slot.instructions.load(Ordering::Relaxed),
        events: slot.events.load(Ordering::Relaxed),
        units: slot.units.load(Ordering::Relaxed),
        flushes: slot.flushes.load(Ordering::Relaxed),
        start_ns: slot.start_ns.load(Ordering::Relaxed),
        life_ns: slot.life_ns.load(Ordering::Relaxed),
        held_ns: slot.held_ns.load(Ordering::Relaxed),
    }
}

/// Numbers of units of the shadow that is being followed, as places of blocks.
#[derive(Default)]
struct Units {
    places: Vec<u32>,
    read: u32,
    /// Values at the begin that belong to a call or return that another shadow would have shown.
    skipped_values: usize,
}

impl Units {
    /// Reads one chunk, if there is one.
    fn read(&mut self, slot: &Slot, followed: &mut Followed) -> bool {
        let head = slot.head.load(Ordering::Acquire);
        if head == self.read {
            return false;
        }
        let at = self.read as usize % CHUNKS;
        let first = slot.first[at].load(Ordering::Relaxed) as usize;
        let count = slot.count[at].load(Ordering::Relaxed) as usize;
        match slot.ring[at].get(first..first.saturating_add(count)) {
            Some(events) if head.wrapping_sub(self.read) as usize <= CHUNKS => {
                let skipped = std::mem::take(&mut self.skipped_values);
                let mut values = slot.value[at].iter().skip(skipped);
                for event in events {
                    let unit = event.load(Ordering::Relaxed);
                    // Values of a call or return are written before the code that it leads to is entered.
                    for register in followed.walk.awaited() {
                        let value = values.next().map_or(0, |a| a.load(Ordering::Relaxed));
                        followed.walk.pass(register, value);
                    }
                    self.enter(unit, slot, followed);
                }
            }
            _ => followed.damaged += 1,
        }
        self.read = self.read.wrapping_add(1);
        slot.tail.store(self.read, Ordering::Release);
        wake(&slot.tail);
        true
    }

    #[inline]
    fn enter(&mut self, unit: u32, slot: &Slot, followed: &mut Followed) {
        let place = match self.places.get(unit as usize) {
            Some(place) => *place,
            None if unit == BREAK => BREAK,
            None => self.learn(unit, slot, followed),
        };
        followed.walk.enter(place);
    }

    /// Learns the units that the shadow has made since it was asked last.
    #[cold]
    fn learn(&mut self, unit: u32, slot: &Slot, followed: &mut Followed) -> u32 {
        let made = (slot.units.load(Ordering::Acquire) as usize).min(UNITS);
        for unit in &slot.unit[self.places.len().min(made)..made] {
            let end = unit.end.load(Ordering::Relaxed);
            let last = unit.last.load(Ordering::Relaxed);
            let block = Block {
                start: unit.start.load(Ordering::Relaxed),
                last,
                behind: last.wrapping_add(u64::from(end & 0xffff)),
                instructions: unit.instructions.load(Ordering::Relaxed),
                kind: Kind::of(end >> 16),
            };
            self.places.push(followed.walk.place(block));
        }
        self.places.get(unit as usize).copied().unwrap_or_else(|| {
            followed.damaged += 1;
            BREAK
        })
    }
}

const _: () = assert!(CHUNK_EVENTS * 4 == 65536);

/// Waits until more chunks are written than were read, or for a while.
fn wait_for_chunk(slot: &Slot, read: u32) {
    let timeout = libc::timespec {
        tv_sec: 0,
        tv_nsec: i64::from(PAUSE.subsec_nanos()),
    };
    // SAFETY: a word of mapped memory and a valid time; the kernel changes neither.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            slot.head.as_ptr(),
            libc::FUTEX_WAIT,
            read,
            &raw const timeout,
        )
    };
}

fn wake(word: &std::sync::atomic::AtomicU32) {
    // SAFETY: a word of mapped memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// The process of a shadow.
enum Process {
    /// A child of this process. It is waited for once, so that its number is its own until then.
    Child(i32),
    /// An orphan that `init` waits for; `None` if it has ended.
    Orphan(Option<OwnedFd>),
}

impl Process {
    /// The process that runs in a slot.
    fn of(slot: &Slot, is_child: bool) -> Process {
        let pid = slot.pid.load(Ordering::Acquire);
        if is_child {
            return Process::Child(pid);
        }
        let process = Pid::from_raw(pid)
            .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        // A shadow that still runs behind this call has kept its number, so that the descriptor is its own.
        let runs = slot.state.load(Ordering::Acquire) == RUNNING;
        Process::Orphan(process.filter(|_| runs))
    }

    fn kill(&self) {
        match self {
            Process::Child(pid) if *pid > 0 => {
                // SAFETY: no memory is involved.
                unsafe { libc::kill(*pid, libc::SIGKILL) };
            }
            Process::Orphan(Some(process)) => {
                let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
            }
            Process::Child(_) | Process::Orphan(None) => {}
        }
    }

    /// Whether the shadow has ended and, if it is a child, was waited for. `waits`: until it has.
    fn has_ended(&self, waits: bool) -> bool {
        let pid = match self {
            Process::Child(pid) => *pid,
            Process::Orphan(None) => return true,
            Process::Orphan(Some(process)) => {
                let wait = if waits { PAUSE } else { Duration::ZERO };
                return has_ended_within(process, wait);
            }
        };
        let mut status = 0;
        loop {
            let flags = if waits { 0 } else { libc::WNOHANG };
            // SAFETY: a valid place for the answer.
            let got = unsafe { libc::waitpid(pid, &mut status, flags) };
            let error = std::io::Error::last_os_error().raw_os_error();
            if got == -1 && error == Some(libc::EINTR) {
                continue;
            }
            return pid > 0 && got == pid || got == -1 && error == Some(libc::ECHILD);
        }
    }
}

/// Whether a process ends within this time.
pub(crate) fn has_ended_within(process: &OwnedFd, time: Duration) -> bool {
    let time = rustix::event::Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&time)).is_ok_and(|ready| ready > 0)
}

/// Takes the shadow's map: its program may have loaded libraries.
fn read_names(slot: &Slot, symbols: &mut Symbolizer) {
    let bytes = slot.maps_bytes.load(Ordering::Acquire) as usize;
    let text: Vec<u8> = slot.maps[..bytes.min(slot.maps.len())]
        .iter()
        .map(|byte| byte.load(Ordering::Relaxed))
        .collect();
    symbols.update(&ProcessMaps::parse(&String::from_utf8_lossy(&text)));
}

/// Shadows by why they ended.
pub fn endings(shadows: &[Shadow]) -> BTreeMap<String, u64> {
    let mut endings = BTreeMap::new();
    for shadow in shadows {
        *endings.entry(shadow.end()).or_default() += 1;
    }
    endings
}
