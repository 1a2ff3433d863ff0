//! Coherence, message by message: the parts of each request with the cycles that the model gives them.

use std::collections::{BTreeMap, BTreeSet};

use hps_isa::said;
use hps_isa::said::Said;
use hps_pipeline::config::{Coherence, MachineConfig};
use hps_pipeline::memsys::{CoreId, Level, Transaction, TransactionKind};

use crate::protocol::{CoherenceView, CoherentLine, Message, Problem, Sentence, address_of, hex};
use crate::rerun::transactions;
use crate::session::Session;
use crate::setup::{AssemblyText, Ready};

/// Most messages that are told at once.
const MOST_MESSAGES: usize = 20_000;

/// The messages of a run about lines that several cores asked for.
pub(crate) struct Messages {
    lines: Vec<CoherentLine>,
    all: Vec<Message>,
    left_out: u64,
}

impl Session {
    /// Messages about a line, or about all lines.
    pub(crate) fn coherence(&mut self, line: Option<&str>) -> Result<CoherenceView, Problem> {
        let (ready, cycles, kept) = self.messages()?;
        let chip = &ready.machine.chip;
        let mut view = CoherenceView {
            missing: String::new(),
            protocol: match chip.coherence {
                Coherence::Directory => "directory",
                Coherence::Snooping => "snooping",
            }
            .to_owned(),
            cores: u64::from(chip.cores),
            lines: Vec::new(),
            messages: Vec::new(),
            left_out: 0,
        };
        if chip.cores < 2 {
            view.missing = "This machine has one core: nobody has to agree with it.".to_owned();
            return Ok(view);
        }
        let messages = match kept {
            Some(messages) => messages,
            None => kept.insert(Messages::of(ready, cycles)?),
        };
        let line = line.map(address_of).transpose()?.map(hex);
        let is_asked = |message: &&Message| line.as_ref().is_none_or(|line| *line == message.line);
        let mut asked = messages.all.iter().filter(is_asked);
        view.messages = asked.by_ref().take(MOST_MESSAGES).cloned().collect();
        view.left_out = asked.count() as u64 + messages.left_out;
        view.lines.clone_from(&messages.lines);
        if view.lines.is_empty() {
            view.missing = "No two cores ask for the same line in this run.".to_owned();
        }
        Ok(view)
    }
}

impl Messages {
    fn of(ready: &Ready, cycles: u64) -> Result<Messages, Problem> {
        let (noted, left_out) = transactions(ready, cycles)?;
        let mut cores: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for one in noted.iter().filter(|one| is_request(one.kind)) {
            cores
                .entry(one.address)
                .or_default()
                .insert(u64::from(one.core.0));
        }
        cores.retain(|_, cores| cores.len() > 1);
        let mut parts = Vec::new();
        let names = Names::of(&ready.machine);
        for (number, one) in noted.iter().enumerate() {
            if cores.contains_key(&one.address) {
                names.parts(number as u64, one, &mut parts);
            }
        }
        // Requests for one line stand in their order, and parts of a request in theirs: the sort is stable.
        parts.sort_by_key(|part: &Part| part.cycle);
        let mut states: BTreeMap<u64, Vec<char>> = BTreeMap::new();
        let all: Vec<Message> = parts
            .into_iter()
            .map(|part| {
                let of_line = states
                    .entry(part.line)
                    .or_insert_with(|| vec!['I'; ready.machine.chip.cores as usize]);
                part.message(of_line)
            })
            .collect();
        let mut lines: Vec<CoherentLine> = cores
            .into_iter()
            .map(|(line, cores)| {
                let address = hex(line);
                CoherentLine {
                    place: place(&ready.text, line, &ready.machine),
                    cores: cores.into_iter().collect(),
                    messages: all.iter().filter(|one| one.line == address).count() as u64,
                    address,
                }
            })
            .collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.messages));
        Ok(Messages {
            lines,
            all,
            left_out,
        })
    }
}

fn is_request(kind: TransactionKind) -> bool {
    !matches!(kind, TransactionKind::Change | TransactionKind::Drop)
}

/// Labels of a program in a line.
fn place(text: &AssemblyText, line: u64, machine: &MachineConfig) -> String {
    let end = line + u64::from(machine.memory.l2.line_bytes);
    let inside = text
        .labels
        .iter()
        .filter(|(at, _)| (line..end).contains(at));
    let names: Vec<&str> = inside.map(|(_, name)| name.as_str()).collect();
    names.join(", ")
}

/// A message before the states around it are known.
struct Part {
    cycle: u64,
    line: u64,
    request: u64,
    kind: &'static str,
    from: String,
    to: String,
    /// The core whose state it changes, and the state.
    changes: Option<(CoreId, char)>,
    said: Vec<Said>,
}

impl Part {
    fn message(self, states: &mut [char]) -> Message {
        let before: String = states.iter().collect();
        if let Some((core, letter)) = self.changes
            && let Some(state) = states.get_mut(usize::from(core.0))
        {
            *state = letter;
        }
        Message {
            cycle: self.cycle,
            line: hex(self.line),
            kind: self.kind.to_owned(),
            from: self.from,
            to: self.to,
            request: self.request,
            before,
            after: states.iter().collect(),
            said: self.said.iter().filter_map(Sentence::of).collect(),
        }
    }
}

fn name(core: CoreId) -> String {
    format!("core {}", core.0)
}

/// The cores of a set of bits.
fn cores_of(bits: u64) -> impl Iterator<Item = CoreId> {
    (0..64)
        .filter(move |core| bits >> core & 1 == 1)
        .map(CoreId)
}

/// Who sends and receives on a machine.
struct Names {
    /// Who decides.
    home: &'static str,
    /// The first level that all cores share.
    shared: &'static str,
}

impl Names {
    fn of(machine: &MachineConfig) -> Names {
        let has_l3 = machine.memory.l3.size_bytes > 0;
        Names {
            home: match machine.chip.coherence {
                Coherence::Directory => "directory",
                Coherence::Snooping => "bus",
            },
            shared: match machine.chip.l2 {
                hps_pipeline::config::L2Place::Shared => "level 2",
                _ if has_l3 => "level 3",
                _ => "memory",
            },
        }
    }

    /// The parts of a transaction, in their order.
    fn parts(&self, request: u64, one: &Transaction, out: &mut Vec<Part>) {
        let core = name(one.core);
        let mut part = |cycle, kind, from: &str, to: &str, changes, said: Vec<Said>| {
            out.push(Part {
                cycle,
                line: one.address,
                request,
                kind,
                from: from.to_owned(),
                to: to.to_owned(),
                changes,
                said,
            });
        };
        let state = one.after.letter(one.core);
        let own = Some((one.core, state));
        match one.kind {
            TransactionKind::Change => {
                let said = said!(
                    "{core} writes the line that it has alone; nobody is told",
                    core = core
                );
                return part(one.asked_cycle, "change", &core, &core, own, vec![said]);
            }
            TransactionKind::Drop => {
                let said = said!("{core} drops the line for another one", core = core);
                return part(one.asked_cycle, "drop", &core, self.home, own, vec![said]);
            }
            _ => {}
        }
        let had = one.before.letter(one.core) != 'I';
        let mut said = vec![match (one.kind, had) {
            (TransactionKind::Write, true) => {
                said!("{core} wants the right to write its copy", core = core)
            }
            (TransactionKind::Write, false) => {
                said!("{core} wants the line, to write it", core = core)
            }
            (TransactionKind::Fetch, _) => {
                said!("{core} wants the line, for its instructions", core = core)
            }
            _ => said!("{core} wants the line, to read it", core = core),
        }];
        let wait = one.granted_cycle - one.asked_cycle;
        if wait > 0 {
            said.push(said!("it has the bus {cycles} cycles later", cycles = wait));
        }
        let wait = one.started_cycle - one.granted_cycle;
        if wait > 0 {
            said.push(said!(
                "the transfer before lasts {cycles} cycles more",
                cycles = wait
            ));
        }
        part(one.asked_cycle, "request", &core, self.home, None, said);
        let is_write = one.kind == TransactionKind::Write;
        for loser in cores_of(one.losers) {
            let other = name(loser);
            let (kind, said) = match one.owner == Some(loser) {
                true => (
                    "forward",
                    said!(
                        "{other} sends the line to {core} and loses it; it may still store into it up to cycle {cycle}",
                        other = other,
                        core = core,
                        cycle = one.kept_until_cycle
                    ),
                ),
                false => ("invalidation", said!("{core} loses its copy", core = other)),
            };
            let (begin, changes) = (one.started_cycle, Some((loser, 'I')));
            part(begin, kind, self.home, &other, changes, vec![said]);
        }
        if let Some(owner) = one.owner.filter(|_| !is_write) {
            let other = name(owner);
            let said = said!(
                "{other} sends the line to {core} and keeps it for reading",
                other = other,
                core = core
            );
            let changes = Some((owner, one.after.letter(owner)));
            part(
                one.started_cycle,
                "forward",
                self.home,
                &other,
                changes,
                vec![said],
            );
        }
        for loser in cores_of(one.losers).filter(|loser| one.owner != Some(*loser)) {
            let other = name(loser);
            let said = said!("{core} has given its copy up", core = other);
            part(
                one.answered_cycle,
                "acknowledgement",
                &other,
                self.home,
                None,
                vec![said],
            );
        }
        if let Some(owner) = one.owner.filter(|_| one.is_written_back) {
            let said = said!("the changed line goes to what all cores share, too");
            part(
                one.answered_cycle,
                "write_back",
                &name(owner),
                self.shared,
                None,
                vec![said],
            );
        }
        let there = one.arrived_cycle.unwrap_or(one.answered_cycle);
        let (kind, from, said) = match (one.owner, one.source) {
            (Some(owner), _) => {
                let sent = one.answered_cycle;
                (
                    "data",
                    name(owner),
                    said!(
                        "sent in cycle {cycle}; the whole line is at {core} now",
                        cycle = sent,
                        core = core
                    ),
                )
            }
            (None, Some(level)) => {
                let level = match level {
                    Level::Memory => "memory",
                    Level::L3 => "level 3",
                    _ => self.shared,
                };
                (
                    "data",
                    level.to_owned(),
                    said!("the whole line is at {core} now", core = core),
                )
            }
            (None, None) => (
                "right",
                self.home.to_owned(),
                said!("{core} may write its copy now", core = core),
            ),
        };
        part(there, kind, &from, &core, own, vec![said]);
    }
}
