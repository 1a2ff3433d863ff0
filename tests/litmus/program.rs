//! Litmus tests: a few threads, each a few memory accesses with fences and dependencies between them.

use std::fmt::Write as _;

/// How an access touches memory. `Swap` and `Add` are atomic memory operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    Store,
    Swap,
    Add,
    Lr,
    Sc,
}

/// One access to a location, a doubleword. A register is named by its place among those that the thread reads into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub kind: Kind,
    pub location: usize,
    /// Written, or added.
    pub value: u8,
    pub acquire: bool,
    pub release: bool,
    /// The register that the address depends on.
    pub address: Option<usize>,
    /// The register that the written value depends on.
    pub data: Option<usize>,
}

impl Access {
    pub fn new(kind: Kind, location: usize, value: u8) -> Access {
        Access {
            kind,
            location,
            value,
            acquire: false,
            release: false,
            address: None,
            data: None,
        }
    }

    pub fn reads(&self) -> bool {
        !matches!(self.kind, Kind::Store | Kind::Sc)
    }

    pub fn writes(&self) -> bool {
        !matches!(self.kind, Kind::Load | Kind::Lr)
    }

    pub fn is_amo(&self) -> bool {
        matches!(self.kind, Kind::Swap | Kind::Add)
    }

    /// Whether it leaves something in a register: what it has read, or for `Sc` 0 or 1.
    pub fn has_register(&self) -> bool {
        self.kind != Kind::Store
    }
}

/// Reads, in a set of a fence.
pub const R: u8 = 2;
/// Writes, in a set of a fence.
pub const W: u8 = 1;

/// One instruction, or one with those that make its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Access(Access),
    /// `fence` with the sets before and after it.
    Fence(u8, u8),
    FenceTso,
    /// A branch to the next instruction, on a register.
    Branch(usize),
}

/// Several threads. Locations are 0 at the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    pub threads: Vec<Vec<Step>>,
    pub locations: usize,
}

/// Outcome of a run: the registers of each thread, thread by thread, and the locations.
pub type Outcome = Vec<u8>;

pub fn accesses(thread: &[Step]) -> impl Iterator<Item = Access> {
    thread.iter().filter_map(|step| match step {
        Step::Access(access) => Some(*access),
        _ => None,
    })
}

/// How many registers a thread reads into.
pub fn registers(thread: &[Step]) -> usize {
    accesses(thread).filter(Access::has_register).count()
}

impl Test {
    pub fn new(threads: Vec<Vec<Step>>) -> Test {
        let all = threads.iter().flat_map(|thread| accesses(thread));
        let locations = 1 + all.map(|access| access.location).max().unwrap_or(0);
        Test { threads, locations }
    }

    pub fn has(&self, kind: Kind) -> bool {
        let mut all = self.threads.iter().flat_map(|thread| accesses(thread));
        all.any(|access| access.kind == kind)
    }

    /// Where the registers of each thread begin in an outcome, and then the locations.
    pub fn parts(&self) -> Vec<usize> {
        let mut parts = vec![0];
        for thread in &self.threads {
            parts.push(parts[parts.len() - 1] + registers(thread));
        }
        parts
    }

    /// The instructions of a thread. Location `n` is at the address in `s{n + 2}`, register `n` is `a{n}`.
    pub fn assembly(&self, thread: usize) -> String {
        let mut text = String::new();
        let mut next = 0;
        for step in &self.threads[thread] {
            match step {
                Step::Access(access) => {
                    assemble(access, next, &mut text);
                    next += usize::from(access.has_register());
                }
                Step::Fence(before, after) => {
                    let set = |set| ["", "w", "r", "rw"][usize::from(set)];
                    let _ = writeln!(text, "fence {}, {}", set(*before), set(*after));
                }
                Step::FenceTso => text += "fence.tso\n",
                Step::Branch(register) => {
                    let _ = writeln!(text, "bnez a{register}, .+4");
                }
            }
        }
        text
    }

    /// All threads, for messages.
    pub fn listing(&self) -> String {
        let mut text = String::new();
        for thread in 0..self.threads.len() {
            let _ = write!(text, "thread {thread}:\n{}", self.assembly(thread));
        }
        text
    }

    /// An outcome with names, for messages.
    pub fn described(&self, outcome: &[u8]) -> String {
        let parts = self.parts();
        let mut text = String::new();
        for thread in 0..self.threads.len() {
            for (at, value) in outcome[parts[thread]..parts[thread + 1]].iter().enumerate() {
                let _ = write!(text, "{thread}:a{at}={value} ");
            }
        }
        for (at, value) in outcome[parts[parts.len() - 1]..].iter().enumerate() {
            let _ = write!(text, "[s{}]={value} ", at + 2);
        }
        text.trim_end().to_owned()
    }
}

fn assemble(access: &Access, register: usize, text: &mut String) {
    let mut address = format!("s{}", access.location + 2);
    if let Some(source) = access.address {
        let _ = writeln!(text, "xor t0, a{source}, a{source}\nadd t0, t0, {address}");
        "t0".clone_into(&mut address);
    }
    if access.writes() {
        let value = access.value;
        let _ = match access.data {
            None => writeln!(text, "addi t1, zero, {value}"),
            Some(source) => writeln!(text, "xor t1, a{source}, a{source}\naddi t1, t1, {value}"),
        };
    }
    let order = match (access.acquire, access.release) {
        (false, false) => "",
        (true, false) => ".aq",
        (false, true) => ".rl",
        (true, true) => ".aqrl",
    };
    let _ = match access.kind {
        Kind::Load => writeln!(text, "ld a{register}, 0({address})"),
        Kind::Store => writeln!(text, "sd t1, 0({address})"),
        Kind::Swap => writeln!(text, "amoswap.d{order} a{register}, t1, ({address})"),
        Kind::Add => writeln!(text, "amoadd.d{order} a{register}, t1, ({address})"),
        Kind::Lr => writeln!(text, "lr.d{order} a{register}, ({address})"),
        Kind::Sc => writeln!(text, "sc.d{order} a{register}, t1, ({address})"),
    };
}
