//! Rows of the time line.

use hps_pipeline::core::Cause;

use crate::cycle::level;
use crate::protocol::{Row, hex};
use crate::recorder::{Kept, NEVER, Recorded};
use crate::session::Session;
use crate::step::Step;

impl Session {
    /// Rows by their place in the order of fetch.
    pub(crate) fn rows(
        &self,
        recorded: &Recorded,
        first: u64,
        count: u64,
        only_committed: bool,
    ) -> Vec<Row> {
        let committed = recorded.committed();
        let len = match only_committed {
            true => committed.len(),
            false => recorded.rows.len(),
        } as u64;
        let (first, end) = (
            first.min(len),
            first.saturating_add(count.min(5000)).min(len),
        );
        let place = |at: usize| match only_committed {
            true => committed[at] as usize,
            false => at,
        };
        (first..end)
            .map(|at| self.row(recorded, place(at as usize)))
            .collect()
    }

    pub(crate) fn row(&self, recorded: &Recorded, at: usize) -> Row {
        let kept = &recorded.rows[at];
        let image = self.image();
        let commit = kept.commit.and_then(|at| recorded.commits.get(at as usize));
        let step = Step::of(&self.ready().machine);
        let behind = step.and_then(|step| step.behind(recorded, at));
        Row {
            index: at as u64,
            committed_before: recorded.committed_before(at) as u64,
            context: u64::from(kept.context),
            pc: hex(kept.pc),
            text: image.isa.disassemble(&kept.inst, kept.pc),
            function: image
                .symbols
                .function_at(kept.pc)
                .map(|f| f.name.clone())
                .or_else(|| kept.is_handler.then(|| "(handler)".to_owned())),
            origin: origin(kept).to_owned(),
            production: kept.disepc.production().map(u64::from),
            position: u64::from(kept.disepc.index()),
            fetch: kept.fetch,
            decode: reached(kept.decode),
            dispatch: reached(kept.dispatch),
            issue: reached(kept.issue),
            execute: reached(kept.issue).map(|issue| issue + self.read_cycles()),
            data: match step {
                Some(_) => behind.as_ref().and_then(|behind| behind.memory),
                None => self.data(kept),
            },
            complete: match step {
                Some(_) => behind.as_ref().and_then(|behind| behind.write),
                None => reached(kept.complete).filter(|_| kept.issue != NEVER),
            },
            end: kept.end,
            squashed: kept.squashed,
            mispredicted: kept.mispredicted,
            cause: kept.cause.name().to_owned(),
            gap: match kept.gap {
                Cause::Frontend => String::new(),
                gap => gap.name().to_owned(),
            },
            events: commit
                .map(|c| c.events.names().map(str::to_owned).collect())
                .unwrap_or_default(),
            sources: self.sources(recorded, at),
            pool: self.ready().machine.units.of(kept.class()).1.pool.clone(),
            address: commit.filter(|c| c.class.is_memory()).map(|c| hex(c.addr)),
        }
    }
}

impl Session {
    /// The cycle in which a load or store has its address and begins to wait: a load for what takes longer than level 1,
    /// a store for what it writes.
    fn data(&self, kept: &Kept) -> Option<u64> {
        if !kept.class().is_memory() || kept.issue == NEVER {
            return None;
        }
        let from = kept.issue + self.address_cycles(kept);
        let hit = match kept.is_load() {
            true => u64::from(self.ready().machine.memory.l1d.hit_cycles),
            false => 0,
        };
        let waits = level(kept).is_some() || kept.complete > from + hit;
        (waits && from < kept.complete.min(kept.end)).then_some(from)
    }
}

fn origin(kept: &Kept) -> &'static str {
    match (kept.is_program, kept.is_handler) {
        (true, _) => "program",
        (_, true) => "handler",
        _ => "inserted",
    }
}

fn reached(cycle: u64) -> Option<u64> {
    (cycle != NEVER).then_some(cycle)
}
