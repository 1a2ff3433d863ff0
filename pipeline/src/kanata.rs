//! The pipeline log in the Kanata format (version 0004), which the Konata viewer opens.
//!
//! One row an instruction; lane 0 shows its stages, lane 1 what it waited for:
//!
//! | stage | from | to |
//! | --- | --- | --- |
//! | `F` | fetched | decoded |
//! | `D` | decoded and renamed | dispatched |
//! | `Q` | in a reservation station | issued |
//! | `X` | issued: register read, execution | completed |
//! | `C` | waits for older instructions | committed or squashed |
//!
//! On a core that issues in order, the label ends with the pipe in which the instruction issued, lane
//! 1 names what held it at the head of the issue queue, and the text of a row what issued beside it.
//!
//! Konata shows each hardware context of a chip as a thread, by its number among the processors that the guest sees.
//!
//! An arrow leads from each instruction to those that waited in a reservation station for what it computes.
//!
//! Squashed instructions are flushed rows. Instructions that DISE inserted carry the production
//! and their position in its sequence; those of a handler are marked so.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Write};
use std::ops::Range;

use hps_isa::inst::{OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::probe::Probe;

use crate::model::{ContextId, IssueStall, Pipe, PipelineProbe, StageRecord};

/// Collects the instructions that were in the pipeline during a window of cycles.
#[derive(Debug)]
pub struct KanataLog {
    isa: Isa,
    window: Range<u64>,
    limit: usize,
    records: VecDeque<StageRecord>,
    dropped: u64,
}

impl KanataLog {
    /// Logs instructions of a program of `isa` that are fetched in these cycles, at most `limit` of them.
    #[must_use]
    pub fn new(isa: Isa, window: Range<u64>, limit: usize) -> Self {
        KanataLog {
            isa,
            window,
            limit,
            records: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Instructions collected so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Nothing was in the pipeline during the window.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Instructions of the window that did not fit into the limit.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The records, in the order in which the instructions left the pipeline.
    pub fn records(&self) -> impl Iterator<Item = &StageRecord> {
        self.records.iter()
    }

    /// Schedule of issue as text ([`crate::schedule::listing`]), by hardware context if there are several; squashed
    /// instructions are left out.
    #[must_use]
    pub fn schedule(&self) -> String {
        let kept = self.records.iter().filter(|r| !r.squashed);
        let mut by_context: BTreeMap<u16, Vec<StageRecord>> = BTreeMap::new();
        for record in kept {
            let rows = by_context.entry(record.context.processor).or_default();
            rows.push(*record);
        }
        let is_alone = by_context.keys().all(|&number| number == 0);
        let listing = |(number, mut rows): (u16, Vec<StageRecord>)| {
            rows.sort_by_key(|r| r.seq);
            let title = match is_alone {
                true => String::new(),
                false => format!("context {number}\n"),
            };
            title + &crate::schedule::listing(self.isa, &rows)
        };
        match by_context.is_empty() {
            true => crate::schedule::listing(self.isa, &[]),
            false => by_context.into_iter().map(listing).collect(),
        }
    }

    /// Writes the log. `production` names a production by its number, `symbol` an address.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write(
        &self,
        out: &mut dyn Write,
        production: &dyn Fn(u8) -> String,
        symbol: &dyn Fn(u64) -> Option<String>,
    ) -> io::Result<()> {
        let mut rows: Vec<&StageRecord> = self.records.iter().collect();
        rows.sort_by_key(|r| {
            let place = if r.seq == 0 { u64::MAX } else { r.seq };
            (r.fetch_cycle, r.context.processor, place)
        });
        let mut events: Vec<(u64, usize, u8, String)> = Vec::new();
        let mut in_retire_order: Vec<usize> =
            (0..rows.len()).filter(|&i| !rows[i].squashed).collect();
        in_retire_order
            .sort_by_key(|&i| (rows[i].end_cycle, rows[i].context.processor, rows[i].seq));
        let mut retire_id = vec![0; rows.len()];
        for (order, i) in in_retire_order.into_iter().enumerate() {
            retire_id[i] = order;
        }
        let together = issued_together(&rows);
        for (id, r) in rows.iter().enumerate() {
            let mut add =
                |cycle: u64, order: u8, text: String| events.push((cycle, id, order, text));
            add(
                r.fetch_cycle,
                0,
                format!("I\t{id}\t{}\t{}", r.seq, r.context.processor),
            );
            add(
                r.fetch_cycle,
                1,
                format!("L\t{id}\t0\t{}", label(self.isa, r, production, symbol)),
            );
            let beside = together.get(&(r.context, r.issue_cycle));
            let beside = beside.map_or(&[][..], Vec::as_slice);
            add(
                r.fetch_cycle,
                1,
                format!("L\t{id}\t1\t{}", detail(r, beside)),
            );
            let stages = stages(r);
            for (i, (name, from)) in stages.iter().enumerate() {
                let to = stages.get(i + 1).map_or(r.end_cycle, |s| s.1);
                add(*from, 3, format!("S\t{id}\t0\t{name}"));
                add(to, 2, format!("E\t{id}\t0\t{name}"));
            }
            if let Some((name, from, to)) = stall(r) {
                add(from, 4, format!("S\t{id}\t1\t{name}"));
                add(to, 2, format!("E\t{id}\t1\t{name}"));
            }
            let kind = u8::from(r.squashed);
            add(
                r.end_cycle,
                5,
                format!("R\t{id}\t{}\t{kind}", retire_id[id]),
            );
        }
        for (consumer, producer) in waits(&rows) {
            let cycle = rows[consumer].dispatch_cycle;
            events.push((cycle, consumer, 4, format!("W\t{consumer}\t{producer}\t0")));
        }
        // A row is introduced before anything is said of it, and a stage ends before the next begins.
        events.sort_by_key(|e| (e.0, e.2, e.1));
        writeln!(out, "Kanata\t0004")?;
        let mut now = events.first().map_or(self.window.start, |e| e.0);
        writeln!(out, "C=\t{now}")?;
        for (cycle, _, _, text) in &events {
            if *cycle > now {
                writeln!(out, "C\t{}", cycle - now)?;
                now = *cycle;
            }
            writeln!(out, "{text}")?;
        }
        Ok(())
    }
}

/// Consumers and producers among committed instructions, by their places in `rows`: the producer's result was
/// not there yet when the consumer was dispatched.
fn waits(rows: &[&StageRecord]) -> Vec<(usize, usize)> {
    let mut in_order: Vec<usize> = (0..rows.len()).filter(|&i| !rows[i].squashed).collect();
    in_order.sort_by_key(|&i| rows[i].seq);
    let mut writers: HashMap<(ContextId, u8), usize> = HashMap::new();
    let mut all = Vec::new();
    for consumer in in_order {
        let (inst, context) = (&rows[consumer].inst, rows[consumer].context);
        let mut producers: Vec<usize> = [inst.rs1, inst.rs2, inst.rs3]
            .iter()
            .filter(|&&source| source != reg::ZERO)
            .filter_map(|&source| writers.get(&(context, source)).copied())
            .filter(|&p| rows[p].complete_cycle > rows[consumer].dispatch_cycle)
            .collect();
        producers.sort_unstable();
        producers.dedup();
        all.extend(producers.into_iter().map(|producer| (consumer, producer)));
        if inst.rd != reg::SINK {
            writers.insert((context, inst.rd), consumer);
        }
    }
    all
}

/// The instructions of slotted in-order cores by context and the cycle in which they issued, oldest first.
fn issued_together(rows: &[&StageRecord]) -> HashMap<(ContextId, u64), Vec<(u64, Pipe)>> {
    let mut all: HashMap<(ContextId, u64), Vec<(u64, Pipe)>> = HashMap::new();
    for r in rows {
        if let Some(pipe) = r.pipe {
            let beside = all.entry((r.context, r.issue_cycle)).or_default();
            beside.push((r.pc, pipe));
        }
    }
    all
}

/// The stages that an instruction reached, with the cycle in which each began.
fn stages(r: &StageRecord) -> Vec<(&'static str, u64)> {
    [
        ("F", r.fetch_cycle),
        ("D", r.decode_cycle),
        ("Q", r.dispatch_cycle),
        ("X", r.issue_cycle),
        ("C", r.complete_cycle),
    ]
    .into_iter()
    .filter(|&(name, from)| from < r.end_cycle || (name == "F" && from <= r.end_cycle))
    .collect()
}

/// Wait of an instruction, with its cycles: a load waits for the level that served it, others for their
/// operands.
fn stall(r: &StageRecord) -> Option<(&'static str, u64, u64)> {
    if r.inst.class == OpClass::Load
        && r.complete_cycle <= r.end_cycle
        && r.complete_cycle > r.issue_cycle + 4
    {
        return Some((r.cause.name(), r.issue_cycle, r.complete_cycle));
    }
    let waited_until = r.issue_cycle.min(r.end_cycle);
    let waited = r.dispatch_cycle < r.end_cycle && waited_until > r.dispatch_cycle + 1;
    let reason = match r.issue_stall {
        IssueStall::None => "operands",
        stall => stall.name(),
    };
    waited.then(|| (reason, r.dispatch_cycle + 1, waited_until))
}

fn label(
    isa: Isa,
    r: &StageRecord,
    production: &dyn Fn(u8) -> String,
    symbol: &dyn Fn(u64) -> Option<String>,
) -> String {
    let text = if r.inst.len == 0 {
        "(nothing executable)".to_string()
    } else {
        isa.disassemble(&r.inst, r.pc)
    };
    let origin = match r.disepc.production() {
        Some(p) if r.is_program => {
            format!("[DISE {} {}, trigger] ", production(p), r.disepc.index())
        }
        Some(p) => format!("[DISE {} {}] ", production(p), r.disepc.index()),
        None if r.is_handler => "[handler] ".to_string(),
        None => String::new(),
    };
    let place = symbol(r.pc).map(|s| format!(" <{s}>")).unwrap_or_default();
    let pipe = r
        .pipe
        .map(|p| format!(" [{}]", p.name()))
        .unwrap_or_default();
    format!("{:x}{place}: {origin}{text}{pipe}", r.pc).replace('\t', " ")
}

fn detail(r: &StageRecord, together: &[(u64, Pipe)]) -> String {
    let mut text = format!("fetch {}", r.fetch_cycle);
    for (name, cycle) in [
        ("decode", r.decode_cycle),
        ("dispatch", r.dispatch_cycle),
        ("issue", r.issue_cycle),
        ("complete", r.complete_cycle),
    ] {
        if cycle <= r.end_cycle {
            text.push_str(&format!(", {name} {cycle}"));
        }
    }
    let end = if r.squashed { "squashed" } else { "commit" };
    text.push_str(&format!(", {end} {}", r.end_cycle));
    if r.mispredicted {
        text.push_str("; mispredicted");
    }
    if let Some(pipe) = r.pipe {
        text.push_str(&format!("; issued in {}", pipe.name()));
        match together.len() {
            0 | 1 => text.push_str(" alone"),
            count => {
                let names = ["dual issue", "triple issue", "quad issue"];
                let name = names.get(count - 2).unwrap_or(&"issue");
                let others: Vec<String> = together
                    .iter()
                    .filter(|other| other.1 != pipe)
                    .map(|(pc, pipe)| format!("{pc:x} in {}", pipe.name()))
                    .collect();
                text.push_str(&format!(", {name} with {}", others.join(", ")));
            }
        }
    }
    if r.issue_stall != IssueStall::None {
        text.push_str(&format!("; waited for issue: {}", r.issue_stall.name()));
    }
    text
}

impl Probe for KanataLog {}

impl PipelineProbe for KanataLog {
    const WANTS_STAGES: bool = true;

    fn stand_in(&self) -> Option<Self> {
        Some(KanataLog::new(self.isa, 0..0, 0))
    }

    fn finished(&mut self, record: &StageRecord) {
        if !self.window.contains(&record.fetch_cycle) {
            return;
        }
        if self.records.len() >= self.limit {
            self.dropped += 1;
            return;
        }
        self.records.push_back(*record);
    }
}
