//! Who runs where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::affinity::{listed, parse_list};
use crate::error::ShimError;
use crate::machine::Machine;

/// Where the observer sits, seen from the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    /// On another core.
    Cmp,
    /// On another hardware thread of the same core.
    Smt,
}

/// Placement that the user asks for; what is `None` is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wish {
    /// Where the observer sits.
    pub seat: Option<Seat>,
    /// The observer's CPU.
    pub observer: Option<usize>,
    /// The program's CPUs.
    pub program: Vec<usize>,
}

/// Chosen placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Where the observer sits.
    pub seat: Seat,
    /// The observer's CPU.
    pub observer: usize,
    /// The program's CPUs.
    pub program: Vec<usize>,
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seat = match self.seat {
            Seat::Cmp => "another core (CMP)",
            Seat::Smt => "the same core (SMT)",
        };
        let program = listed(&self.program);
        write!(
            f,
            "observer on CPU {}, {seat}; program on {program}",
            self.observer
        )
    }
}

impl Placement {
    /// Refuses to go on when a CPU went offline: the observer's, or all of the program's.
    ///
    /// # Errors
    /// [`ShimError::Offline`].
    pub fn check_online(&self) -> Result<(), ShimError> {
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
        // Without the file nothing can be said.
        match online.and_then(|list| parse_list(&list)) {
            Some(online) => self.check(&online),
            None => Ok(()),
        }
    }

    fn check(&self, online: &[usize]) -> Result<(), ShimError> {
        let offline = |whose, cpus: &[usize]| {
            Err(ShimError::Offline {
                whose,
                cpus: listed(cpus),
            })
        };
        if !online.contains(&self.observer) {
            return offline("observer's", &[self.observer]);
        }
        if !self.program.iter().any(|cpu| online.contains(cpu)) {
            return offline("program's", &self.program);
        }
        Ok(())
    }
}

fn core_of(machine: &Machine, cpu: usize) -> &[usize] {
    machine
        .cores
        .iter()
        .find(|core| core.contains(&cpu))
        .map_or(&[], Vec::as_slice)
}

/// Chooses CPUs. Without a wish the observer sits on another core, on the last CPU; `whole_core`
/// prefers the same core if there is SMT, since hardware counters are seen from there only.
///
/// # Errors
/// [`ShimError::OneCpu`], [`ShimError::CpuNotAllowed`], and [`ShimError::Placement`] for wishes that
/// contradict each other or the machine.
pub fn place(machine: &Machine, wish: &Wish, whole_core: bool) -> Result<Placement, ShimError> {
    let allowed = &machine.allowed;
    for &cpu in wish.observer.iter().chain(&wish.program) {
        if !allowed.contains(&cpu) {
            return Err(ShimError::CpuNotAllowed {
                cpu,
                allowed: listed(allowed),
            });
        }
    }
    if let [cpu] = allowed[..] {
        return Err(ShimError::OneCpu { cpu });
    }
    if let Some(observer) = wish.observer
        && wish.program.contains(&observer)
    {
        return Err(ShimError::Placement(format!(
            "CPU {observer} is asked for the observer and for the program: each needs its own"
        )));
    }
    let seat = match wish.seat {
        Some(seat) => seat,
        None if whole_core && machine.has_smt() && wish.program.len() < 2 => Seat::Smt,
        None => Seat::Cmp,
    };
    match seat {
        Seat::Smt => beside(machine, wish),
        Seat::Cmp => apart(machine, wish),
    }
}

fn beside(machine: &Machine, wish: &Wish) -> Result<Placement, ShimError> {
    if wish.program.len() > 1 {
        return Err(ShimError::Placement(
            "with SMT placement the program has one CPU, the observer's neighbour".to_owned(),
        ));
    }
    let chosen = machine.cores.iter().rev().find_map(|core| {
        let observer = match wish.observer {
            Some(cpu) => core.contains(&cpu).then_some(cpu)?,
            None => *core.iter().rev().find(|cpu| !wish.program.contains(cpu))?,
        };
        let program = match wish.program[..] {
            [cpu] => core.contains(&cpu).then_some(cpu)?,
            _ => *core.iter().find(|&&cpu| cpu != observer)?,
        };
        Some((observer, program))
    });
    let Some((observer, program)) = chosen else {
        return Err(ShimError::Placement(
            "no core has two hardware threads free for this: SMT is off or hidden, or the CPUs asked \
             for are on different cores; use --placement cmp"
                .to_owned(),
        ));
    };
    Ok(Placement {
        seat: Seat::Smt,
        observer,
        program: vec![program],
    })
}

fn apart(machine: &Machine, wish: &Wish) -> Result<Placement, ShimError> {
    let taken = |cpu: usize| wish.program.contains(&cpu);
    let observer = match wish.observer {
        Some(cpu) => cpu,
        None => {
            // A CPU whose core the program does not use, if there is one.
            let lonely = |cpu: &&usize| !core_of(machine, **cpu).iter().any(|&c| taken(c));
            let free = || machine.allowed.iter().rev();
            let found = free()
                .find(lonely)
                .or_else(|| free().find(|&&cpu| !taken(cpu)));
            *found.ok_or_else(|| {
                ShimError::Placement(format!(
                    "the program is given all CPUs ({}): leave one to the observer",
                    listed(&machine.allowed)
                ))
            })?
        }
    };
    let core = core_of(machine, observer);
    let mut program = wish.program.clone();
    if program.is_empty() {
        program.extend(machine.allowed.iter().filter(|cpu| !core.contains(cpu)));
    }
    if program.is_empty() {
        program.extend(machine.allowed.iter().filter(|&&cpu| cpu != observer));
    }
    let shared = program.iter().any(|cpu| core.contains(cpu));
    if wish.seat == Some(Seat::Cmp) && shared {
        return Err(ShimError::Placement(format!(
            "CPU {observer} shares its core with the program's: no CMP placement; use --placement smt"
        )));
    }
    let seat = if shared { Seat::Smt } else { Seat::Cmp };
    Ok(Placement {
        seat,
        observer,
        program,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cores: &[&[usize]]) -> Machine {
        let mut found = Machine::find().unwrap();
        found.cores = cores.iter().map(|core| core.to_vec()).collect();
        found.allowed = cores.iter().flat_map(|c| c.iter().copied()).collect();
        found.allowed.sort_unstable();
        found
    }

    fn placed(m: &Machine, wish: &Wish, whole_core: bool) -> (Seat, usize, Vec<usize>) {
        let p = place(m, wish, whole_core).unwrap();
        (p.seat, p.observer, p.program)
    }

    #[test]
    fn two_cores_get_one_each() {
        let two = machine(&[&[0], &[1]]);
        let wish = Wish::default();
        assert_eq!(placed(&two, &wish, false), (Seat::Cmp, 1, vec![0]));
        let other = Wish {
            observer: Some(0),
            ..Wish::default()
        };
        assert_eq!(placed(&two, &other, true), (Seat::Cmp, 0, vec![1]));
        let smt = Wish {
            seat: Some(Seat::Smt),
            ..Wish::default()
        };
        let said = place(&two, &smt, false).unwrap_err().to_string();
        assert!(said.contains("cmp"), "{said}");
    }

    #[test]
    fn siblings_are_used_for_smt_and_left_free_for_cmp() {
        let smt = machine(&[&[0, 4], &[1, 5]]);
        let wish = Wish::default();
        assert_eq!(placed(&smt, &wish, true), (Seat::Smt, 5, vec![1]));
        assert_eq!(placed(&smt, &wish, false), (Seat::Cmp, 5, vec![0, 4]));
        let program = Wish {
            program: vec![5],
            ..Wish::default()
        };
        assert_eq!(placed(&smt, &program, true), (Seat::Smt, 1, vec![5]));
        assert_eq!(placed(&smt, &program, false), (Seat::Cmp, 4, vec![5]));
    }

    #[test]
    fn a_placement_is_void_without_its_cpus() {
        let placement = Placement {
            seat: Seat::Cmp,
            observer: 3,
            program: vec![0, 1],
        };
        let said = |online: &[usize]| placement.check(online).map_err(|e| e.to_string());
        assert_eq!(said(&[0, 1, 2, 3]), Ok(()));
        // The program has another CPU to run on.
        assert_eq!(said(&[1, 3]), Ok(()));
        assert!(said(&[0, 1, 2]).unwrap_err().contains("observer's CPU 3"));
        assert!(said(&[2, 3]).unwrap_err().contains("program's CPU 0-1"));
    }

    #[test]
    fn impossible_wishes_are_refused_in_words() {
        let one = machine(&[&[3]]);
        let said = place(&one, &Wish::default(), false)
            .unwrap_err()
            .to_string();
        assert!(said.contains("only one CPU (number 3)"), "{said}");
        let two = machine(&[&[0], &[1]]);
        for (observer, program) in [(Some(7), vec![]), (Some(1), vec![1]), (None, vec![0, 1])] {
            let wish = Wish {
                seat: None,
                observer,
                program,
            };
            assert!(place(&two, &wish, false).is_err(), "{wish:?}");
        }
    }
}
