//! Memory models as axioms: which outcomes of a litmus test they allow.
//!
//! After the RISC-V unprivileged manual, chapters "RVWMO" and "Ztso": an execution is allowed if its memory operations
//! have a global order that keeps preserved program order and gives each load its value. [`allowed`] looks for one by
//! what it implies: which store each load reads, the order of stores to each location, and no cycle. [`by_orders`] is
//! the slow oracle: it tries the global orders themselves.

use std::collections::BTreeSet;

use super::program::{Access, Kind, Outcome, R, Step, Test, W, registers};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// Sequential consistency: all of program order is preserved.
    Sc,
    /// Total store order, by the extension Ztso.
    Tso,
    Rvwmo,
}

/// A set of events, by their numbers.
type Set = u16;

/// A memory operation. An atomic memory operation is one that reads and writes.
struct Event {
    thread: usize,
    access: Access,
    /// Place of the register in an outcome.
    register: Option<usize>,
    /// Accesses before it in program order.
    before: Set,
    /// Accesses whose values its address, its data, and the branches before it depend on.
    address: Set,
    data: Set,
    control: Set,
    /// The `Lr` that it is paired with, if it is an `Sc`.
    pair: Option<usize>,
}

/// The memory operations of a test in which some `Sc` have failed: a failed one is no operation.
struct Events {
    all: Vec<Event>,
    /// Of each event, those after it that preserved program order keeps there in every execution.
    kept: Vec<Set>,
    /// Known part of the outcome: 1 for an `Sc` that has failed.
    outcome: Outcome,
    /// Of each location, the events that write it.
    writers: Vec<Vec<usize>>,
}

fn bit(event: usize) -> Set {
    1 << event
}

fn has(set: Set, event: usize) -> bool {
    set & bit(event) != 0
}

impl Events {
    /// `failed` has a bit for each `Sc`, in order of threads.
    fn of(test: &Test, model: Model, failed: u32) -> Events {
        let parts = test.parts();
        let mut events = Events {
            all: Vec::new(),
            kept: Vec::new(),
            outcome: vec![0; parts[parts.len() - 1] + test.locations],
            writers: vec![Vec::new(); test.locations],
        };
        let mut fences = Vec::new();
        let mut conditional = 0;
        for (thread, steps) in test.threads.iter().enumerate() {
            let first = events.all.len();
            let mut sources = vec![None; registers(steps)];
            let mut register = 0;
            let (mut control, mut reserved) = (0, None);
            let set = |from: Option<usize>| from.map_or(0, bit);
            for step in steps {
                let number = events.all.len();
                match *step {
                    Step::Access(access) => {
                        let mine = access.has_register().then_some(register);
                        register += usize::from(access.has_register());
                        if access.kind == Kind::Sc {
                            conditional += 1;
                            if failed & 1 << (conditional - 1) != 0 {
                                events.outcome[parts[thread] + register - 1] = 1;
                                reserved = None;
                                continue;
                            }
                        }
                        if let Some(mine) = mine {
                            sources[mine] = Some(number);
                        }
                        let dependency = |of: Option<usize>| set(of.and_then(|r| sources[r]));
                        events.all.push(Event {
                            thread,
                            access,
                            register: mine.map(|mine| parts[thread] + mine),
                            before: (first..number).map(bit).sum(),
                            address: dependency(access.address),
                            data: dependency(access.data),
                            control,
                            pair: (access.kind == Kind::Sc).then_some(reserved).flatten(),
                        });
                        match access.kind {
                            Kind::Lr => reserved = Some(number),
                            Kind::Sc => reserved = None,
                            _ => {}
                        }
                        if access.writes() {
                            events.writers[access.location].push(number);
                        }
                    }
                    Step::Fence(..) | Step::FenceTso => fences.push((first, number, *step)),
                    Step::Branch(on) => control |= set(sources[on]),
                }
            }
        }
        events.kept = (0..events.all.len())
            .map(|a| {
                let behind = (a + 1..events.all.len()).filter(|&b| has(events.all[b].before, a));
                let kept = behind.filter(|&b| events.keeps(model, a, b, &fences));
                kept.map(bit).sum()
            })
            .collect();
        events
    }

    /// Whether preserved program order has `a`, which is before `b` in program order, before it whatever is read.
    fn keeps(&self, model: Model, a: usize, b: usize, fences: &[(usize, usize, Step)]) -> bool {
        let (first, second) = (&self.all[a], &self.all[b]);
        let (x, y) = (&first.access, &second.access);
        match model {
            Model::Sc => return true,
            // Each load is an acquire, each store a release.
            Model::Tso if x.reads() || y.writes() => return true,
            _ => {}
        }
        let fenced = fences.iter().any(|&(begin, at, fence)| {
            let between = begin <= a && a < at && at <= b;
            between
                && match fence {
                    Step::Fence(before, after) => {
                        let is_in = |access: &Access, set| {
                            access.reads() && set & R != 0 || access.writes() && set & W != 0
                        };
                        is_in(x, before) && is_in(y, after)
                    }
                    _ => x.reads() || y.writes(),
                }
        });
        // An acquire annotation is that of an `Lr` or an atomic operation, or of an `Sc` that has both.
        let acquires = |e: &Access| e.acquire && (e.kind != Kind::Sc || e.release);
        let releases = |e: &Access| e.release && (e.kind != Kind::Lr || e.acquire);
        let annotated = |e: &Access| acquires(e) || releases(e);
        let carries_address =
            (a + 1..b).any(|m| has(second.before, m) && has(self.all[m].address, a));
        y.writes() && x.location == y.location // rule 1
            || fenced // 4
            || acquires(x) // 5
            || releases(y) // 6
            || annotated(x) && annotated(y) // 7
            || second.pair == Some(a) // 8
            || has(second.address, a) // 9
            || y.writes() && has(second.data, a) // 10
            || y.writes() && has(second.control, a) // 11
            || y.writes() && carries_address // 13
    }

    /// Whether preserved program order has `a` before the load `b`, given which stores loads read.
    fn keeps_as_read(&self, a: usize, b: usize, read: &[Option<usize>]) -> bool {
        let (x, y) = (&self.all[a].access, &self.all[b].access);
        if !has(self.all[b].before, a) || !y.reads() {
            return false;
        }
        let mut between = (a + 1..b).map(|m| (m, &self.all[m]));
        let rule_2 = || {
            x.reads()
                && x.location == y.location
                && read[a] != read[b]
                && (a + 1..b).all(|m| {
                    let m = &self.all[m].access;
                    !m.writes() || m.location != x.location
                })
        };
        let rule_3 = (x.is_amo() || x.kind == Kind::Sc) && read[b] == Some(a);
        let rule_12 = between.any(|(number, m)| {
            m.access.writes() && has(m.address | m.data, a) && read[b] == Some(number)
        });
        rule_3 || rule_12 || rule_2()
    }

    /// Whether no other thread writes between what the `Lr` of each `Sc` reads and the `Sc`.
    fn is_atomic(&self, read: &[Option<usize>], order: &[Vec<usize>]) -> bool {
        self.all.iter().enumerate().all(|(w, event)| {
            let Some(lr) = event.pair else { return true };
            let order = &order[event.access.location];
            let place = |of: usize| order.iter().position(|&other| other == of);
            let from = read[lr].and_then(place).map_or(0, |at| at + 1);
            let to = place(w).unwrap_or(0);
            from <= to
                && order[from..to]
                    .iter()
                    .all(|&s| self.all[s].thread == event.thread)
        })
    }

    /// The outcome of which stores are read and the order of stores.
    fn outcome(&self, read: &[Option<usize>], order: &[Vec<usize>]) -> Outcome {
        let mut outcome = self.outcome.clone();
        let mut written = vec![0; self.all.len()];
        let locations = outcome.len() - order.len();
        for (location, order) in order.iter().enumerate() {
            for &store in order {
                let access = self.all[store].access;
                let old = match access.kind {
                    Kind::Add => read[store].map_or(0, |from| written[from]),
                    _ => 0,
                };
                written[store] = old + access.value;
                outcome[locations + location] = written[store];
            }
        }
        for (event, from) in self.all.iter().zip(read) {
            if let Some(register) = event.register.filter(|_| event.access.reads()) {
                outcome[register] = from.map_or(0, |from| written[from]);
            }
        }
        outcome
    }

    /// Whether a global order fits to which stores are read and to the order of stores.
    fn fits(&self, model: Model, read: &[Option<usize>], order: &[Vec<usize>]) -> bool {
        let count = self.all.len();
        let mut after = self.kept.clone();
        for order in order {
            for pair in order.windows(2) {
                after[pair[0]] |= bit(pair[1]);
            }
        }
        for (r, event) in self
            .all
            .iter()
            .enumerate()
            .filter(|(_, e)| e.access.reads())
        {
            let order = &order[event.access.location];
            let mut later = 0;
            if let Some(w) = read[r] {
                if !has(event.before, w) {
                    after[w] |= bit(r);
                }
                later = order.iter().position(|&s| s == w).map_or(0, |at| at + 1);
            }
            for &s in &order[later..] {
                // A store before the load in program order is seen, whenever it becomes global.
                if has(event.before, s) {
                    return false;
                }
                if s != r {
                    after[r] |= bit(s);
                }
            }
            if model != Model::Sc {
                for a in (0..count).filter(|&a| self.keeps_as_read(a, r, read)) {
                    after[a] |= bit(r);
                }
            }
        }
        let mut left: Set = (0..count).map(bit).sum();
        while left != 0 {
            let behind = (0..count).filter(|&e| has(left, e));
            let behind = behind.fold(0, |all, e| all | after[e]);
            let free = left & !behind;
            if free == 0 {
                return false;
            }
            left &= !free;
        }
        true
    }

    /// Goes through which store each load from number `next` on reads.
    fn each_reading(
        &self,
        order: &[Vec<usize>],
        read: &mut Vec<Option<usize>>,
        found: &mut dyn FnMut(&[Option<usize>]),
    ) {
        let next = read.len();
        if next == self.all.len() {
            found(read);
            return;
        }
        let access = &self.all[next].access;
        let order_here = &order[access.location];
        let mut options = vec![None];
        if access.is_amo() {
            // An atomic memory operation reads the store that it overwrites.
            let at = order_here.iter().position(|&s| s == next).unwrap_or(0);
            options[0] = at.checked_sub(1).map(|at| order_here[at]);
        } else if access.reads() {
            options.extend(order_here.iter().map(|&s| Some(s)));
        }
        for from in options {
            read.push(from);
            self.each_reading(order, read, found);
            read.pop();
        }
    }
}

/// Each order of some stores.
fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    let Some((&last, others)) = of.split_last() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for shorter in permutations(others) {
        for at in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(at, last);
            all.push(longer);
        }
    }
    all
}

/// The number of ways in which the `Sc` of a test fail.
fn failures(test: &Test) -> u32 {
    let all = test.threads.iter().flatten();
    let is_sc = |step: &&Step| matches!(step, Step::Access(access) if access.kind == Kind::Sc);
    1 << all.filter(is_sc).count()
}

/// The outcomes that a model allows.
pub fn allowed(test: &Test, model: Model) -> BTreeSet<Outcome> {
    let mut outcomes = BTreeSet::new();
    for failed in 0..failures(test) {
        let events = Events::of(test, model, failed);
        let mut orders = vec![Vec::new()];
        for writers in &events.writers {
            let here = permutations(writers);
            let longer = |order: &Vec<Vec<usize>>| {
                let each = here
                    .iter()
                    .map(|one| [&order[..], std::slice::from_ref(one)].concat());
                each.collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        for order in &orders {
            events.each_reading(order, &mut Vec::new(), &mut |read| {
                if events.is_atomic(read, order) && events.fits(model, read, order) {
                    outcomes.insert(events.outcome(read, order));
                }
            });
        }
    }
    outcomes
}

/// The outcomes that a model allows, by each global order in turn.
pub fn by_orders(test: &Test, model: Model) -> BTreeSet<Outcome> {
    let mut outcomes = BTreeSet::new();
    for failed in 0..failures(test) {
        let events = Events::of(test, model, failed);
        events.each_order(model, &mut Vec::new(), &mut outcomes);
    }
    outcomes
}

impl Events {
    /// Goes through the global orders that begin like `global`.
    fn each_order(&self, model: Model, global: &mut Vec<usize>, outcomes: &mut BTreeSet<Outcome>) {
        if global.len() == self.all.len() {
            outcomes.extend(self.outcome_of_order(model, global));
            return;
        }
        for next in 0..self.all.len() {
            let waits = (0..self.all.len())
                .any(|other| !global.contains(&other) && has(self.kept[other], next));
            if !waits && !global.contains(&next) {
                global.push(next);
                self.each_order(model, global, outcomes);
                global.pop();
            }
        }
    }

    fn outcome_of_order(&self, model: Model, global: &[usize]) -> Option<Outcome> {
        let place = |of: usize| global.iter().position(|&e| e == of).unwrap_or(0);
        // The load value axiom.
        let source = |load: usize| {
            let event = &self.all[load];
            let seen = global.iter().rev().copied().filter(|&store| {
                store != load
                    && self.all[store].access.writes()
                    && self.all[store].access.location == event.access.location
            });
            let mut seen =
                seen.filter(|&store| place(store) < place(load) || has(event.before, store));
            seen.next()
        };
        let read: Vec<Option<usize>> = (0..self.all.len())
            .map(|e| self.all[e].access.reads().then(|| source(e)).flatten())
            .collect();
        for load in 0..self.all.len() {
            for a in 0..load {
                let kept = model != Model::Sc && self.keeps_as_read(a, load, &read);
                if kept && place(a) > place(load) {
                    return None;
                }
            }
        }
        // The atomicity axiom.
        for (w, event) in self.all.iter().enumerate() {
            let Some(lr) = event.pair else { continue };
            let from = read[lr].map_or(0, |s| place(s) + 1);
            if from > place(w) {
                return None;
            }
            for &store in &global[from..place(w)] {
                let other = &self.all[store];
                if other.access.writes()
                    && other.access.location == event.access.location
                    && other.thread != event.thread
                {
                    return None;
                }
            }
        }
        let order: Vec<Vec<usize>> = (0..self.writers.len())
            .map(|location| {
                let writes = |&e: &usize| self.writers[location].contains(&e);
                global.iter().copied().filter(writes).collect()
            })
            .collect();
        Some(self.outcome(&read, &order))
    }
}
