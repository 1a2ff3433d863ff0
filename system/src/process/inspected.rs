//! The threads of all processes of a run, as a debugger shows them between two instructions.

use hps_isa::hart::Hart;

use super::{Guest, Process, Thread};

/// A thread of a process.
#[derive(Clone, Debug)]
pub struct ThreadView<'a> {
    /// Number of its process.
    pub pid: u32,
    /// Number of the thread, which no other thread of the run has.
    pub tid: u32,
    /// Name of the thread (`PR_SET_NAME`); at first that of the program.
    pub name: String,
    /// Registers of a thread that no context runs. The registers of the thread on the context are those of the machine,
    /// which may have more in flight than has committed.
    pub hart: &'a Hart,
    /// The thread is on the context.
    pub runs: bool,
    /// The wait of the thread, if it does not go on.
    pub waits_for: Option<String>,
}

impl Process {
    /// All threads of all processes: those of the process whose turn it is first, and by their numbers in each.
    #[must_use]
    pub fn thread_views(&self) -> Vec<ThreadView<'_>> {
        let mut all = views(&self.guest, Some(&self.thread));
        for guest in self.guest.os.family.parked_guests() {
            all.extend(views(guest, None));
        }
        all
    }

    /// The guest that a thread belongs to.
    #[must_use]
    pub fn guest_of(&self, tid: u32) -> Option<&Guest> {
        if self.thread.tid == tid || self.guest.os.threads.parked(tid).is_some() {
            return Some(&self.guest);
        }
        let mut others = self.guest.os.family.parked_guests();
        others.find(|guest| guest.os.threads.parked(tid).is_some())
    }

    /// The guest that a thread belongs to, to be changed between two runs.
    pub fn guest_of_mut(&mut self, tid: u32) -> Option<&mut Guest> {
        if self.thread.tid == tid || self.guest.os.threads.parked(tid).is_some() {
            return Some(&mut self.guest);
        }
        let family = &mut self.guest.os.family;
        family.parked_guest_mut(|guest| guest.os.threads.parked(tid).is_some())
    }
}

fn views<'a>(guest: &'a Guest, on_context: Option<&'a Thread>) -> Vec<ThreadView<'a>> {
    let pid = guest.os.pid();
    let view = |thread: &'a Thread, runs: bool| ThreadView {
        pid,
        tid: thread.tid,
        name: Thread::readable_name(&thread.name),
        hart: &thread.hart,
        runs,
        waits_for: thread
            .blocked
            .as_ref()
            .filter(|_| !runs)
            .map(|blocked| blocked.described()),
    };
    let running = on_context.filter(|thread| !thread.is_idle() && !thread.is_observer());
    let mut all: Vec<_> = running
        .map(|thread| view(thread, true))
        .into_iter()
        .collect();
    let parked = guest.os.threads.all_parked();
    // The thread that ends stays in its place until another one takes it.
    let parked = parked.filter(|one| running.is_none_or(|thread| thread.tid != one.tid));
    all.extend(parked.map(|thread| view(thread, false)));
    all.sort_by_key(|one| one.tid);
    all
}
