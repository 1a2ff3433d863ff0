//! Tests whose verdicts are published: in the appendix of the RISC-V unprivileged manual that explains RVWMO, and by the
//! public suite of litmus tests for RISC-V; those of total store order in chapter "Ztso" and the literature on x86.
//!
//! A thread is a list of words. `Rx` loads, `Wx1` stores 1, `Sx1` swaps, `Ax1` adds, `Lx` and `Cx1` are `lr` and `sc`.
//! Behind them `:a0` is a dependency of the address on register `a0`, `:d0` of the value, `:aq` and `:rl` are orders.
//! `Frw,w` is a fence, `Ftso` that of total store order, `B0` a branch on `a0`.

use super::machines::outcomes;
use super::model::{Model, allowed, by_orders};
use super::program::{Access, Kind, R, Step, Test, W};

fn location(name: u8) -> usize {
    usize::from(name - b'x')
}

fn step(word: &str) -> Step {
    let mut parts = word.split(':');
    let (name, rest) = parts.next().expect("a word").split_at(1);
    let set = |text: &str| {
        let one = |c: char, is| if text.contains(c) { is } else { 0 };
        one('r', R) | one('w', W)
    };
    let kind = match name {
        "F" if rest == "tso" => return Step::FenceTso,
        "F" => {
            let (before, after) = rest.split_once(',').expect("two sets");
            return Step::Fence(set(before), set(after));
        }
        "B" => return Step::Branch(rest.parse().expect("a register")),
        "R" => Kind::Load,
        "W" => Kind::Store,
        "S" => Kind::Swap,
        "A" => Kind::Add,
        "L" => Kind::Lr,
        "C" => Kind::Sc,
        _ => panic!("{word}"),
    };
    let value = rest[1..].parse().unwrap_or(0);
    let mut access = Access::new(kind, location(rest.as_bytes()[0]), value);
    for part in parts {
        let register = || Some(part[1..].parse().expect("a register"));
        match &part[..1] {
            "a" if part == "aq" => access.acquire = true,
            "a" => access.address = register(),
            "d" => access.data = register(),
            "r" => access.release = true,
            _ => panic!("{word}"),
        }
    }
    Step::Access(access)
}

pub fn test(text: &str) -> Test {
    let thread = |text: &str| text.split_whitespace().map(step).collect();
    Test::new(text.split('|').map(thread).collect())
}

/// Whether an outcome is one that is asked for: `0:1=2` is register `a1` of thread 0, `x=1` a location.
fn matches(test: &Test, outcome: &[u8], asked: &str) -> bool {
    let parts = test.parts();
    asked.split_whitespace().all(|part| {
        let (place, value) = part.split_once('=').expect("a place and a value");
        let at = match place.split_once(':') {
            Some((thread, register)) => {
                let number = |text: &str| text.parse::<usize>().expect("a number");
                parts[number(thread)] + number(register)
            }
            None => parts[parts.len() - 1] + location(place.as_bytes()[0]),
        };
        outcome[at] == value.parse::<u8>().expect("a value")
    })
}

/// Name, threads, the outcome in question, and the strongest model that allows it: `sc`, `tso`, `rvwmo` or
/// `none`.
const CLASSIC: &str = "
MP; Wx1 Wy1 | Ry Rx; 1:0=1 1:1=0; rvwmo
MP+fences; Wx1 Frw,rw Wy1 | Ry Frw,rw Rx; 1:0=1 1:1=0; none
MP+fence.w.w+po; Wx1 Fw,w Wy1 | Ry Rx; 1:0=1 1:1=0; rvwmo
MP+po+fence.r.r; Wx1 Wy1 | Ry Fr,r Rx; 1:0=1 1:1=0; rvwmo
MP+fence.w.w+fence.r.r; Wx1 Fw,w Wy1 | Ry Fr,r Rx; 1:0=1 1:1=0; none
MP+fence.w.w+fence.r.w; Wx1 Fw,w Wy1 | Ry Fr,w Rx; 1:0=1 1:1=0; rvwmo
MP+fence.tsos; Wx1 Ftso Wy1 | Ry Ftso Rx; 1:0=1 1:1=0; none
MP+fence.w.w+addr; Wx1 Fw,w Wy1 | Ry Rx:a0; 1:0=1 1:1=0; none
MP+fence.w.w+ctrl; Wx1 Fw,w Wy1 | Ry B0 Rx; 1:0=1 1:1=0; rvwmo
MP+amoswap.rl+amoadd.aq; Wx1 Sy1:rl | Ay0:aq Rx; 1:0=1 1:1=0; none
MP+amoswap+amoadd; Wx1 Sy1 | Ay0 Rx; 1:0=1 1:1=0; rvwmo
MP+amoswap.aq+amoadd.rl; Wx1 Sy1:aq | Ay0:rl Rx; 1:0=1 1:1=0; rvwmo
MP+fence.w.w+lr.aq; Wx1 Fw,w Wy1 | Ly:aq Rx; 1:0=1 1:1=0; none
SB; Wx1 Ry | Wy1 Rx; 0:0=0 1:0=0; tso
SB+fences; Wx1 Frw,rw Ry | Wy1 Frw,rw Rx; 0:0=0 1:0=0; none
SB+fence.w.rs; Wx1 Fw,r Ry | Wy1 Fw,r Rx; 0:0=0 1:0=0; none
SB+fence+po; Wx1 Frw,rw Ry | Wy1 Rx; 0:0=0 1:0=0; tso
SB+fence.w.w; Wx1 Fw,w Ry | Wy1 Fw,w Rx; 0:0=0 1:0=0; tso
SB+fence.tsos; Wx1 Ftso Ry | Wy1 Ftso Rx; 0:0=0 1:0=0; tso
SB+amoswaps; Sx1 Ry | Sy1 Rx; 0:1=0 1:1=0; rvwmo
SB+amoswap.aqs; Sx1:aq Ry | Sy1:aq Rx; 0:1=0 1:1=0; none
SB+amoswap.rls; Sx1:rl Ry | Sy1:rl Rx; 0:1=0 1:1=0; rvwmo
SB+amoswap.aqrl+amoadd.aqrl; Sx1:aq:rl Ay0:aq:rl | Sy1:aq:rl Ax0:aq:rl; 0:1=0 1:1=0; none
# Stores that are forwarded.
SB+rfi-addrs; Wx1 Rx Ry:a0 | Wy1 Ry Rx:a0; 0:0=1 0:1=0 1:0=1 1:1=0; tso
SB+amoswap-rfi-addrs; Sx1 Rx Ry:a1 | Sy1 Ry Rx:a1; 0:2=0 1:2=0; none
LB; Rx Wy1 | Ry Wx1; 0:0=1 1:0=1; rvwmo
LB+addrs; Rx Wy1:a0 | Ry Wx1:a0; 0:0=1 1:0=1; none
LB+datas; Rx Wy1:d0 | Ry Wx1:d0; 0:0=1 1:0=1; none
LB+ctrls; Rx B0 Wy1 | Ry B0 Wx1; 0:0=1 1:0=1; none
LB+data+po; Rx Wy1:d0 | Ry Wx1; 0:0=1 1:0=1; rvwmo
LB+fence.r.ws; Rx Fr,w Wy1 | Ry Fr,w Wx1; 0:0=1 1:0=1; none
LB+fence.w.ws; Rx Fw,w Wy1 | Ry Fw,w Wx1; 0:0=1 1:0=1; rvwmo
LB+amoadd.aqs; Ax0:aq Wy1 | Ay0:aq Wx1; 0:0=1 1:0=1; none
LB+amoswap.rls; Rx Sy1:rl | Ry Sx1:rl; 0:0=1 1:0=1; none
# An address that is late holds back the stores behind it, not the loads.
LB+addr-pos; Rx Rz:a0 Wy1 | Ry Rz:a0 Wx1; 0:0=1 1:0=1; none
MP+fence.w.w+addr-po; Wx1 Fw,w Wy1 | Ry Rz:a0 Rx; 1:0=1 1:2=0; rvwmo
S; Wx2 Wy1 | Ry Wx1; 1:0=1 x=2; rvwmo
S+fence.w.w+data; Wx2 Fw,w Wy1 | Ry Wx1:d0; 1:0=1 x=2; none
S+fence.w.w+ctrl; Wx2 Fw,w Wy1 | Ry B0 Wx1; 1:0=1 x=2; none
S+fence.w.w+po; Wx2 Fw,w Wy1 | Ry Wx1; 1:0=1 x=2; rvwmo
R; Wx1 Wy1 | Wy2 Rx; 1:0=0 y=2; tso
R+fences; Wx1 Frw,rw Wy1 | Wy2 Frw,rw Rx; 1:0=0 y=2; none
R+fence.w.w+fence.w.r; Wx1 Fw,w Wy1 | Wy2 Fw,r Rx; 1:0=0 y=2; none
2+2W; Wx2 Wy1 | Wy2 Wx1; x=2 y=2; rvwmo
2+2W+fence.w.ws; Wx2 Fw,w Wy1 | Wy2 Fw,w Wx1; x=2 y=2; none
2+2W+amoswap.rls; Wx2 Sy1:rl | Wy2 Sx1:rl; x=2 y=2; none
# Coherence.
CoRR; Wx1 | Rx Rx; 1:0=1 1:1=0; none
CoRR+fri; Wx1 | Rx Wx2 Rx; 1:0=1 1:1=1 x=2; none
CoWW; Wx1 Wx2; x=1; none
CoWR; Wx1 Rx | Wx2; 0:0=0; none
CoRW1; Rx Wx1; 0:0=1; none
CoRW2; Wx1 | Rx Wx2; 1:0=1 x=1; none
CoWR2; Wx1 Rx | Wx2; 0:0=2 x=1; none
# Same values of one location, read in any order: rule 2.
RSW; Wx1 Fw,w Wy1 | Ry Rz:a0 Rz Rx:a2; 1:0=1 1:3=0; rvwmo
RDW; Wx1 Fw,w Wy1 | Ry Rz:a0 Rz Rx:a2 | Wz1; 1:0=1 1:1=0 1:2=1 1:3=0; none
MP+fence.w.w+fri-rfi-addr; Wx1 Fw,w Wy1 | Ry Wy2 Ry Rx:a1; 1:0=1 1:1=2 1:2=0 y=2; rvwmo
# Forwarding of a store whose address or value, or whose branch, is late: rule 12.
PPOAA; Wx1 Fw,w Wy1 | Ry Wz1:a0 Rz Rx:a1; 1:0=1 1:1=1 1:2=0; none
PPODA; Wx1 Fw,w Wy1 | Ry Wz1:d0 Rz Rx:a1; 1:0=1 1:1=1 1:2=0; none
PPOCA; Wx1 Fw,w Wy1 | Ry B0 Wz1 Rz Rx:a1; 1:0=1 1:1=1 1:2=0; rvwmo
# An atomic operation reads and writes at one place of the order.
ISA13+BIS; Ax1:aq Ry | Wy1 Frw,rw Rx; 0:1=0 1:0=0; none
AMOs add up; Ax1 | Ax1; x=1; none
swaps exchange; Sx1 | Sx2; 0:0=0 1:0=0; none
LR/SC, both; Lx Cx1 | Lx Cx2; 0:0=0 0:1=0 1:0=0 1:1=0; none
LR/SC, one after the other; Lx Cx1 | Lx Cx2; 0:1=0 1:0=1 1:1=0 x=2; sc
LR/SC, one fails; Lx Cx1 | Lx Cx2; 0:0=0 0:1=0 1:0=0 1:1=1 x=1; sc
LR/SC, a store between; Lx Cx1 | Wx2; 0:0=0 0:1=0 x=1; none
LR/SC, its own store between; Lx Wx2 Cx1; 0:1=0 x=1; sc
SB+lr-sc; Lx Cx1 Ry | Ly Cy1 Rx; 0:1=0 1:1=0 0:2=0 1:2=0; tso
SB+lr.aq-sc.rl-lr.aq; Lx:aq Cx1:rl Ly:aq | Ly:aq Cy1:rl Lx:aq; 0:1=0 1:1=0 0:2=0 1:2=0; none
# Three threads.
WRC; Wx1 | Rx Wy1 | Ry Rx; 1:0=1 2:0=1 2:1=0; rvwmo
WRC+addrs; Wx1 | Rx Wy1:a0 | Ry Rx:a0; 1:0=1 2:0=1 2:1=0; none
WRC+data+po; Wx1 | Rx Wy1:d0 | Ry Rx; 1:0=1 2:0=1 2:1=0; rvwmo
ISA2+fence.w.w+data+addr; Wx1 Fw,w Wy1 | Ry Wz1:d0 | Rz Rx:a0; 1:0=1 2:0=1 2:1=0; none
ISA2; Wx1 Wy1 | Ry Wz1 | Rz Rx; 1:0=1 2:0=1 2:1=0; rvwmo
RWC; Wx1 | Rx Ry | Wy1 Rx; 1:0=1 1:1=0 2:0=0; tso
RWC+fences; Wx1 | Rx Frw,rw Ry | Wy1 Frw,rw Rx; 1:0=1 1:1=0 2:0=0; none
RWC+addr+fence; Wx1 | Rx Ry:a0 | Wy1 Frw,rw Rx; 1:0=1 1:1=0 2:0=0; none
W+RWC+fences; Wx1 Fw,w Wy1 | Ry Fr,r Rz | Wz1 Fw,r Rx; 1:0=1 1:1=0 2:0=0; none
3.SB; Wx1 Ry | Wy1 Rz | Wz1 Rx; 0:0=0 1:0=0 2:0=0; tso
3.LB+addrs; Rx Wy1:a0 | Ry Wz1:a0 | Rz Wx1:a0; 0:0=1 1:0=1 2:0=1; none
WWC+addrs; Wx2 | Rx Wy1:a0 | Ry Wx1:a0; 1:0=2 2:0=1 x=2; none
Z6.3+fences; Wx1 Frw,rw Wy1 | Wy2 Frw,rw Wz1 | Rz Frw,rw Rx; 2:0=1 2:1=0 y=2; none
Z6.3; Wx1 Wy1 | Wy2 Wz1 | Rz Rx; 2:0=1 2:1=0 y=2; rvwmo
";

/// The rows of [`CLASSIC`].
fn classic() -> impl Iterator<Item = [&'static str; 4]> {
    let rows = CLASSIC.lines().filter(|row| row.contains(';'));
    rows.map(|row| {
        let mut columns = row.split("; ");
        std::array::from_fn(|_| columns.next().unwrap_or_else(|| panic!("{row}")))
    })
}

#[test]
fn classic_tests_have_their_published_verdicts() {
    for [name, threads, asked, strongest] in classic() {
        let test = test(threads);
        let strongest = match strongest {
            "sc" => Some(Model::Sc),
            "tso" => Some(Model::Tso),
            "rvwmo" => Some(Model::Rvwmo),
            "none" => None,
            other => panic!("{name}: {other}"),
        };
        for model in [Model::Sc, Model::Tso, Model::Rvwmo] {
            let mut outcomes = allowed(&test, model).into_iter();
            let is_allowed = outcomes.any(|outcome| matches(&test, &outcome, asked));
            let verdict = strongest.is_some_and(|strongest| strongest <= model);
            assert_eq!(
                is_allowed,
                verdict,
                "{name}, {model:?}:\n{}",
                test.listing()
            );
        }
    }
}

/// Fails unless the models contain each other, and agree with their oracles.
pub fn check_models(test: &Test) {
    let [sc, tso, rvwmo] = [Model::Sc, Model::Tso, Model::Rvwmo].map(|model| allowed(test, model));
    let text = || test.listing();
    assert!(sc.is_subset(&tso) && tso.is_subset(&rvwmo), "{}", text());
    assert_eq!(
        outcomes(test, false),
        sc,
        "sequential consistency:\n{}",
        text()
    );
    let queues = outcomes(test, true);
    // The machine's `sc` waits for its queue, which the axioms do not ask for.
    if test.has(Kind::Sc) {
        assert!(queues.is_subset(&tso), "{}", text());
    } else {
        assert_eq!(queues, tso, "total store order:\n{}", text());
    }
    for (model, outcomes) in [(Model::Sc, sc), (Model::Tso, tso), (Model::Rvwmo, rvwmo)] {
        assert_eq!(by_orders(test, model), outcomes, "{model:?}:\n{}", text());
    }
}

#[test]
fn models_agree_with_their_oracles_on_classic_tests() {
    for [_, threads, ..] in classic() {
        check_models(&test(threads));
    }
}
