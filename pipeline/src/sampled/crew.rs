//! The threads that time units, and what lies between them and the functional pass.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hps_isa::editor::DecodeEditor;

use super::SamplingPlan;
use super::lane::{Lane, Unit};

/// A timed unit, or the panic that timing it ended in.
type Outcome = Result<Unit, Box<dyn Any + Send>>;

struct Desk<E: DecodeEditor> {
    waiting: VecDeque<Lane<E>>,
    done: Vec<(Lane<E>, Outcome)>,
    closed: bool,
}

/// Units to be timed and timed ones.
pub(super) struct Crew<E: DecodeEditor> {
    plan: SamplingPlan,
    desk: Mutex<Desk<E>>,
    changed: Condvar,
}

impl<E: DecodeEditor + Clone> Crew<E> {
    pub fn new(plan: SamplingPlan) -> Self {
        Crew {
            plan,
            desk: Mutex::new(Desk {
                waiting: VecDeque::new(),
                done: Vec::new(),
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk<E>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a lane that is ready to whoever is free.
    pub fn put(&self, lane: Lane<E>) {
        self.desk().waiting.push_back(lane);
        self.changed.notify_all();
    }

    /// The units timed since the last call, and their lanes. Waits for one if asked to, and times one
    /// itself rather than wait for others.
    pub fn take(&self, wait: bool) -> Vec<(Lane<E>, Unit)> {
        let mut desk = self.desk();
        while wait && desk.done.is_empty() {
            if let Some(lane) = desk.waiting.pop_front() {
                drop(desk);
                let done = self.time(lane);
                desk = self.desk();
                desk.done.push(done);
            } else {
                desk = self
                    .changed
                    .wait(desk)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
        let done = std::mem::take(&mut desk.done);
        drop(desk);
        done.into_iter()
            .map(|(lane, outcome)| match outcome {
                Ok(unit) => (lane, unit),
                Err(panic) => resume_unwind(panic),
            })
            .collect()
    }

    /// Times units until the crew is closed: the work of a thread.
    pub fn work(&self) {
        let mut desk = self.desk();
        loop {
            if let Some(lane) = desk.waiting.pop_front() {
                drop(desk);
                let done = self.time(lane);
                desk = self.desk();
                desk.done.push(done);
                self.changed.notify_all();
            } else if desk.closed {
                return;
            } else {
                desk = self
                    .changed
                    .wait(desk)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn time(&self, mut lane: Lane<E>) -> (Lane<E>, Outcome) {
        // A panic is a defect of the lab; it goes on in the thread that asked for the run.
        let outcome = catch_unwind(AssertUnwindSafe(|| lane.time(&self.plan)));
        (lane, outcome)
    }
}

/// Closes the crew when it is dropped, also by a panic, so that no thread waits for ever.
pub(super) struct Shift<'a, E: DecodeEditor + Clone>(pub &'a Crew<E>);

impl<E: DecodeEditor + Clone> Drop for Shift<'_, E> {
    fn drop(&mut self) {
        self.0.desk().closed = true;
        self.0.changed.notify_all();
    }
}
