//! Litmus tests from cycles of relaxations: accesses of a thread that program order, a fence, an order or a dependency
//! relates, and from each thread to the next one a value that is read, overwritten, or read before it is overwritten.
//! Such a cycle is an outcome that some model forbids (Alglave and others, "Fences in weak memory models", CAV 2010).

use hps_isa::random::Random;

use super::program::{Access, Kind, R, Step, Test, W, registers};

/// Most memory operations of a test.
const MOST_EVENTS: usize = 7;

/// Relation of an access to the next one of its thread.
#[derive(Clone, Copy)]
enum Edge {
    Order,
    Fence(u8, u8),
    FenceTso,
    Address,
    Data,
    Control,
}

/// One in so many.
fn one_in(random: &mut Random, many: u64) -> bool {
    random.below(many) == 0
}

fn pick<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

/// An access of the cycle: whether it writes, and whether the next one of its thread is of another location.
struct Event {
    writes: bool,
    moves: bool,
}

/// The directions of a thread's accesses.
fn events(random: &mut Random) -> Vec<Event> {
    let count = pick(random, &[1, 2, 2, 2, 2, 3, 3]);
    (0..count)
        .map(|at| Event {
            writes: one_in(random, 2),
            moves: at + 1 < count && !one_in(random, 5),
        })
        .collect()
}

/// Threads whose accesses form a cycle, if chance gives one.
fn cycle(random: &mut Random, threads: usize) -> Option<Vec<Vec<Event>>> {
    let all: Vec<_> = (0..threads).map(|_| events(random)).collect();
    // A value goes from a thread to the next one only if one of both accesses writes.
    let meets = |at: usize| {
        let (last, first) = (all[at].last(), all[(at + 1) % threads].first());
        last.is_some_and(|e| e.writes) || first.is_some_and(|e| e.writes)
    };
    let moves = all.iter().flatten().filter(|event| event.moves).count();
    let count = all.iter().flatten().count();
    // One move does not come back.
    let closed = moves != 1 && count > threads && count <= MOST_EVENTS;
    (closed && (0..threads).all(meets)).then_some(all)
}

/// Instructions of the threads, as they are written.
struct Writer<'r> {
    random: &'r mut Random,
    /// Of each location, the next value that is written.
    values: Vec<u8>,
}

impl Writer<'_> {
    fn edge(&mut self, has_source: bool, writes: bool) -> Edge {
        let random = &mut *self.random;
        loop {
            match random.below(8) {
                0 | 1 => return Edge::Order,
                2 => return Edge::Fence(R | W, R | W),
                3 => {
                    return Edge::Fence(pick(random, &[R, W, R | W]), pick(random, &[R, W, R | W]));
                }
                4 => return Edge::FenceTso,
                5 if has_source => return Edge::Address,
                6 if has_source && writes => return Edge::Data,
                7 if has_source => return Edge::Control,
                _ => {}
            }
        }
    }

    fn access(&mut self, kind: Kind, location: usize) -> Access {
        let is_write = !matches!(kind, Kind::Load | Kind::Lr);
        if is_write {
            self.values[location] += 1;
        }
        let mut access = Access::new(kind, location, self.values[location] * u8::from(is_write));
        if !matches!(kind, Kind::Load | Kind::Store) {
            access.acquire = one_in(self.random, 3) && kind != Kind::Sc;
            access.release = one_in(self.random, 3) && kind != Kind::Lr;
        }
        access
    }

    /// An event of the cycle behind an edge that comes from a register, if it is a dependency.
    fn event(
        &mut self,
        writes: bool,
        location: usize,
        edge: Edge,
        source: usize,
        steps: &mut Vec<Step>,
    ) {
        let plain = !one_in(self.random, 3);
        let kind = match (writes, plain) {
            (true, true) => Kind::Store,
            (false, true) => Kind::Load,
            (true, false) => pick(self.random, &[Kind::Swap, Kind::Add, Kind::Sc]),
            (false, false) => pick(self.random, &[Kind::Lr, Kind::Add]),
        };
        match edge {
            Edge::Fence(before, after) => steps.push(Step::Fence(before, after)),
            Edge::FenceTso => steps.push(Step::FenceTso),
            Edge::Control => steps.push(Step::Branch(source)),
            _ => {}
        }
        let address = matches!(edge, Edge::Address).then_some(source);
        if kind == Kind::Sc {
            let mut first = self.access(Kind::Lr, location);
            first.address = address;
            steps.push(Step::Access(first));
        }
        let mut access = self.access(kind, location);
        access.address = address;
        access.data = matches!(edge, Edge::Data).then_some(source);
        steps.push(Step::Access(access));
    }
}

/// A test with so many threads.
pub fn generate(random: &mut Random, threads: usize) -> Test {
    loop {
        let Some(cycle) = cycle(random, threads) else {
            continue;
        };
        let moves = cycle.iter().flatten().filter(|event| event.moves).count();
        let locations = if moves % 2 == 0 && moves > 0 && one_in(random, 2) {
            2
        } else {
            moves.max(1)
        };
        let mut writer = Writer {
            random: &mut *random,
            values: vec![0; locations],
        };
        let mut location = 0;
        let mut all = Vec::new();
        for thread in &cycle {
            let mut steps = Vec::new();
            for (at, event) in thread.iter().enumerate() {
                let known = registers(&steps);
                let edge = match at {
                    0 => Edge::Order,
                    _ => writer.edge(known > 0, event.writes),
                };
                writer.event(
                    event.writes,
                    location,
                    edge,
                    known.wrapping_sub(1),
                    &mut steps,
                );
                location = (location + usize::from(event.moves)) % locations;
            }
            all.push(steps);
        }
        let test = Test::new(all);
        let count = |test: &Test| {
            test.threads
                .iter()
                .flatten()
                .filter(|s| matches!(s, Step::Access(_)))
                .count()
        };
        if test.locations <= 4 && count(&test) <= MOST_EVENTS {
            return test;
        }
    }
}
