//! Where checks stand, with the published reductions.
//!
//! Bursty tracing checks at method entries and back-edges (Arnold and Ryder 2001; Hirzel and Chilimbi
//! 2001). A back-edge is one as HPS counts it, a direct branch or jump that goes to itself or below.
//! Entries are function symbols and what direct calls lead to. Of two entries that lie around an
//! Alpha `ldgp` (the linker lets BSR enter behind it) only the second is checked: both ways pass it.
//!
//! A back-edge into a checked entry goes behind the entry's check, since it has one of its own.
//!
//! # Reductions
//!
//! After "Bursty Tracing: A Framework for Low-Overhead Temporal Profiling" (Hirzel and Chilimbi 2001),
//! which names them; the details are ours:
//! - **Entries.** Every cycle of calls needs one check. A function keeps its entry check if it calls
//!   itself, directly or around a cycle of direct calls, or if its address is taken: found as a word in
//!   memory, or computed by its code. Of a position-independent program every address counts as taken.
//! - **k-boring loops.** A back-edge gets no check if from its target to itself there are no calls, no
//!   computed jumps, no other back-edges and at most `k` instructions of interest: those that the
//!   profile instruments, or memory references where nothing is collected.

mod taken;

use bitvec::vec::BitVec;
use hps_isa::inst::{Op, OpClass};

use super::code::Code;
use super::{Checks, SoftwareOptions};

/// The sites of a program, by number of instruction.
#[derive(Clone, Debug)]
pub struct Sites {
    /// A check in front of the instruction, which is a method's first.
    pub entry: BitVec,
    /// A check in front of the instruction, behind its instrumentation: a back-edge, or a call.
    pub event: BitVec,
    /// Back-edges that have no check because their loop is boring.
    pub boring: BitVec,
}

impl Sites {
    /// Chooses the sites. `interest`: whether the profile instruments an instruction.
    pub fn choose(
        code: &Code,
        mem: &hps_isa::memory::Memory,
        all_taken: bool,
        options: &SoftwareOptions,
        interest: &dyn Fn(usize) -> bool,
    ) -> Sites {
        let n = code.list.len();
        let mut sites = Sites {
            entry: BitVec::repeat(false, n),
            event: BitVec::repeat(false, n),
            boring: BitVec::repeat(false, n),
        };
        if options.checks == Checks::None {
            return sites;
        }
        for (at, instruction) in code.list.iter().enumerate() {
            let inst = &instruction.inst;
            if inst.is_back_edge() {
                let is_boring =
                    options.reduced_checks && is_boring(code, at, options.boring, interest);
                sites.boring.set(at, is_boring);
                sites.event.set(at, !is_boring);
            } else if options.checks == Checks::CallSites {
                sites.event.set(at, inst.class.is_call());
            }
        }
        if options.checks == Checks::Entries {
            for &start in &code.starts {
                sites.entry.set(start, true);
            }
            for &start in &code.starts {
                if let Some(behind) = behind_ldgp(code, start)
                    && sites.entry[behind]
                {
                    sites.entry.set(start, false);
                }
            }
            if options.reduced_checks {
                let kept = taken::needing_checks(code, mem, all_taken);
                let all: Vec<usize> = sites.entry.iter_ones().collect();
                for entry in all {
                    let function = code.function_of(entry);
                    sites.entry.set(entry, function.is_some_and(|f| kept[f]));
                }
            }
        }
        sites
    }
}

/// The instruction behind the `ldgp` that begins at `start`.
pub fn behind_ldgp(code: &Code, start: usize) -> Option<usize> {
    gp_distance(code, start)?;
    code.behind(code.behind(start)?)
}

/// Distance that the `ldgp` that begins at `start` adds to the procedure's address.
pub fn gp_distance(code: &Code, start: usize) -> Option<i64> {
    use hps_isa::alpha::registers::{GP, PV};
    let high = &code.list[start].inst;
    let low = &code.list[code.behind(start)?].inst;
    let is_ldgp = (high.op, high.rd, high.rs1) == (Op::AlphaLdah, GP, PV)
        && (low.op, low.rd, low.rs1) == (Op::AlphaLda, GP, GP);
    is_ldgp.then_some(high.imm + low.imm)
}

/// From the target of a back-edge to itself: nothing but straight code, forward branches and at most
/// `k` instructions of interest.
fn is_boring(code: &Code, edge: usize, k: u32, interest: &dyn Fn(usize) -> bool) -> bool {
    let Some(head) = code.target(edge) else {
        return false;
    };
    let mut left = k;
    for at in head..=edge {
        let inst = &code.list[at].inst;
        let leaves = matches!(
            inst.class,
            OpClass::Call | OpClass::CallIndirect | OpClass::JumpIndirect | OpClass::Syscall
        );
        if leaves || at != edge && inst.is_back_edge() {
            return false;
        }
        if interest(at) {
            let Some(rest) = left.checked_sub(1) else {
                return false;
            };
            left = rest;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hps_isa::isa::Isa;
    use hps_system::image::ProgramImage;
    use hps_system::process::{Process, ProcessConfig};

    use super::*;

    fn program(isa: Isa, name: &str) -> Process {
        let workload = hps_workloads::find(name).expect("a workload");
        let bytes = workload.image(isa.name()).expect("its image");
        let image = ProgramImage::parse(bytes, name).expect("a program");
        Process::new(Arc::new(image), &ProcessConfig::default()).expect("a process")
    }

    /// Whether direct flow without checked instructions, and without boring back-edges, goes around.
    fn goes_around_unchecked(code: &Code, sites: &Sites) -> Option<u64> {
        let flows = |at: usize| {
            let is_call = code.list[at].inst.class.is_call();
            let next = code.behind(at).filter(|&next| {
                // A call that is the last instruction of a function does not return into it.
                let is_inside = code.function_of(next) == code.function_of(at);
                code.list[at].falls_through() || is_call && is_inside
            });
            let calls = code.target(at).filter(|&to| {
                // A back-edge goes behind the check of an entry.
                !sites.boring[at] && (code.list[at].inst.is_back_edge() || !sites.entry[to])
            });
            next.into_iter().chain(calls)
        };
        // 0: not seen, 1: on the path, 2: done.
        let mut state = vec![0_u8; code.list.len()];
        for root in 0..code.list.len() {
            let mut path = vec![(root, false)];
            while let Some((at, is_done)) = path.pop() {
                if is_done {
                    state[at] = 2;
                    continue;
                }
                if state[at] != 0 || sites.event[at] {
                    continue;
                }
                state[at] = 1;
                path.push((at, true));
                for to in flows(at) {
                    if state[to] == 1 && !sites.event[to] {
                        return Some(code.list[to].addr);
                    }
                    path.push((to, false));
                }
            }
        }
        None
    }

    #[test]
    fn every_way_around_has_a_check_or_is_a_boring_loop() {
        for isa in Isa::ALL {
            for name in ["interp", "chess", "minicc"] {
                let process = program(isa, name);
                let code = Code::find(&process);
                let is_reference = |at: usize| code.list[at].inst.class.is_memory();
                for (checks, reduced_checks) in [
                    (Checks::Entries, false),
                    (Checks::Entries, true),
                    (Checks::CallSites, false),
                    (Checks::CallSites, true),
                ] {
                    let options = SoftwareOptions {
                        checks,
                        reduced_checks,
                        ..SoftwareOptions::default()
                    };
                    let mut sites =
                        Sites::choose(&code, &process.mem, false, &options, &is_reference);
                    let title = format!("{name} on {isa}, {checks:?}, reduced {reduced_checks}");
                    assert_eq!(goes_around_unchecked(&code, &sites), None, "{title}");
                    // Without its checks, the program does go around.
                    sites.event.fill(false);
                    assert!(goes_around_unchecked(&code, &sites).is_some(), "{title}");
                }
            }
        }
    }

    #[test]
    fn only_small_straight_loops_are_boring() {
        for isa in Isa::ALL {
            let process = program(isa, "chess");
            let code = Code::find(&process);
            let is_reference = |at: usize| code.list[at].inst.class.is_memory();
            let boring = |k| {
                let options = SoftwareOptions {
                    reduced_checks: true,
                    boring: k,
                    ..SoftwareOptions::default()
                };
                Sites::choose(&code, &process.mem, false, &options, &is_reference).boring
            };
            let count = |k| boring(k).count_ones();
            assert!(count(0) < count(4) && count(4) < count(1000));
            for at in boring(4).iter_ones() {
                let head = code.target(at).expect("a loop");
                assert!((head..at).all(|i| !code.list[i].inst.is_back_edge()));
                assert!((head..=at).filter(|&i| is_reference(i)).count() <= 4);
            }
        }
    }
}
