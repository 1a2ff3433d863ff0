//! Memory models as machines: threads that take turns over one memory, for total store order each with a queue of
//! stores. They know nothing of the axioms, and are their oracle.

use std::collections::{BTreeSet, HashSet};

use super::program::{Kind, Outcome, R, Step, Test, W};

#[derive(Clone, PartialEq, Eq, Hash)]
struct Thread {
    at: usize,
    registers: Vec<u8>,
    /// Stores that have not reached memory, oldest first: locations and values.
    queue: Vec<(usize, u8)>,
    reservation: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    memory: Vec<u8>,
}

impl State {
    /// The value of a location as a thread sees it.
    fn value(&self, thread: usize, location: usize) -> u8 {
        let mut mine = self.threads[thread].queue.iter().rev();
        let mine = mine.find(|(at, _)| *at == location);
        mine.map_or(self.memory[location], |(_, value)| *value)
    }

    fn write(&mut self, thread: usize, location: usize, value: u8) {
        self.memory[location] = value;
        for (other, state) in self.threads.iter_mut().enumerate() {
            if other != thread && state.reservation == Some(location) {
                state.reservation = None;
            }
        }
    }

    /// The states after the next step of a thread.
    fn steps(&self, test: &Test, thread: usize, has_queue: bool) -> Vec<State> {
        let me = &self.threads[thread];
        let Some(step) = test.threads[thread].get(me.at) else {
            return Vec::new();
        };
        let mut next = self.clone();
        next.threads[thread].at += 1;
        let access = match step {
            Step::Fence(before, after) if before & W != 0 && after & R != 0 => {
                return if me.queue.is_empty() {
                    vec![next]
                } else {
                    Vec::new()
                };
            }
            Step::Fence(..) | Step::FenceTso | Step::Branch(_) => return vec![next],
            Step::Access(access) => access,
        };
        let location = access.location;
        let old = self.value(thread, location);
        match access.kind {
            Kind::Load => next.threads[thread].registers.push(old),
            Kind::Lr => {
                next.threads[thread].registers.push(old);
                next.threads[thread].reservation = Some(location);
            }
            Kind::Store if has_queue => {
                next.threads[thread].queue.push((location, access.value));
            }
            Kind::Store => next.write(thread, location, access.value),
            Kind::Swap | Kind::Add if me.queue.is_empty() => {
                next.threads[thread].registers.push(old);
                let kept = if access.kind == Kind::Add { old } else { 0 };
                next.write(thread, location, kept + access.value);
            }
            Kind::Sc if me.queue.is_empty() => {
                let mut failed = next.clone();
                failed.threads[thread].registers.push(1);
                failed.threads[thread].reservation = None;
                if me.reservation != Some(location) {
                    return vec![failed];
                }
                next.threads[thread].registers.push(0);
                next.threads[thread].reservation = None;
                next.write(thread, location, access.value);
                return vec![failed, next];
            }
            Kind::Swap | Kind::Add | Kind::Sc => return Vec::new(),
        }
        vec![next]
    }

    /// The state after the oldest store of a thread has reached memory.
    fn drained(&self, thread: usize) -> Option<State> {
        let &(location, value) = self.threads[thread].queue.first()?;
        let mut next = self.clone();
        next.threads[thread].queue.remove(0);
        next.write(thread, location, value);
        Some(next)
    }
}

/// The outcomes of all interleavings, with queues of stores or without.
pub fn outcomes(test: &Test, has_queues: bool) -> BTreeSet<Outcome> {
    let thread = Thread {
        at: 0,
        registers: Vec::new(),
        queue: Vec::new(),
        reservation: None,
    };
    let first = State {
        threads: vec![thread; test.threads.len()],
        memory: vec![0; test.locations],
    };
    let mut seen = HashSet::from([first.clone()]);
    let mut open = vec![first];
    let mut outcomes = BTreeSet::new();
    while let Some(state) = open.pop() {
        let mut next = Vec::new();
        for thread in 0..test.threads.len() {
            next.extend(state.steps(test, thread, has_queues));
            next.extend(state.drained(thread));
        }
        if next.is_empty() {
            let registers = state.threads.iter().flat_map(|t| t.registers.clone());
            outcomes.insert(registers.chain(state.memory.iter().copied()).collect());
        }
        open.extend(next.into_iter().filter(|state| seen.insert(state.clone())));
    }
    outcomes
}
