//! Functional warming: branches that take no time, and how late branches teach in a core.

use super::delay::Delay;
use super::direction::Direction;
use super::tables::BranchTables;
use super::{BranchKind, BranchUnit, Checkpoint, Lateness};

impl BranchUnit {
    /// Warms the predictor with a conditional branch: tables and histories as after its prediction and its
    /// commit. Whether it would have been predicted right.
    #[inline(always)]
    pub fn warm_conditional(&mut self, pc: u64, taken: bool, target: u64) -> bool {
        let right = if let Direction::Tournament(p) = &mut self.tables.direction {
            let right = p.warm(pc, self.path.history.state.global, taken);
            self.path.history.push_short(taken);
            right
        } else {
            self.warm_direction(pc, taken)
        };
        if taken {
            self.tables.btb.train(self.tables.btb.place(pc), target);
        }
        right
    }

    /// Predicts and trains a direction at once.
    #[inline(never)]
    fn warm_direction(&mut self, pc: u64, taken: bool) -> bool {
        let mut cp = Checkpoint::default();
        self.path.checkpoint(&mut cp);
        let site = self.site(pc);
        let predicted = self
            .tables
            .predict_direction(&self.path, (pc, &site), &mut cp);
        self.tables
            .train_direction(&self.path, (&cp.basis, &cp.folded), (pc, &site), taken);
        self.path.history.push_direction(taken);
        predicted == taken
    }

    /// Warms the predictor with an unconditional transfer. Whether it would have been predicted right.
    #[inline(always)]
    pub fn warm_transfer(
        &mut self,
        pc: u64,
        kind: BranchKind,
        target: u64,
        fallthrough: u64,
    ) -> bool {
        match kind {
            BranchKind::Conditional | BranchKind::Jump => {
                self.tables.btb.train(self.tables.btb.place(pc), target);
                true
            }
            BranchKind::Call => {
                self.tables.btb.train(self.tables.btb.place(pc), target);
                self.path.ras.push(fallthrough);
                true
            }
            BranchKind::Return if self.path.ras.exists() => {
                let right = self.path.ras.peek() == target;
                self.tables.btb.train(self.tables.btb.place(pc), target);
                self.path.ras.pop();
                right
            }
            BranchKind::IndirectJump | BranchKind::IndirectCall | BranchKind::Return => {
                self.warm_indirect(pc, kind, target, fallthrough)
            }
        }
    }

    /// Warms the predictor with an indirect branch that the return address stack does not predict.
    #[inline(never)]
    fn warm_indirect(&mut self, pc: u64, kind: BranchKind, target: u64, fallthrough: u64) -> bool {
        let path = self.path.history.state.path;
        let cached = match &mut self.tables.indirect {
            Some(cache) => cache.replace(pc, path, target),
            None => None,
        };
        let predicted = cached
            .or_else(|| self.tables.btb.lookup(self.tables.btb.place(pc)))
            .unwrap_or(0);
        self.tables.btb.train(self.tables.btb.place(pc), target);
        self.path.advance(kind, true, target, fallthrough);
        predicted == target
    }
}

impl BranchTables {
    /// Counts every warmed branch that is still in flight as committed.
    pub fn settle(&mut self) {
        if let Some(delay) = self.delay() {
            delay.settle();
        }
    }

    /// Starts to note how late branches train the predictor.
    pub fn watch(&mut self) {
        if let Some(delay) = self.delay() {
            delay.watch();
        }
    }

    /// How late branches have trained the predictor since [`watch`](Self::watch); `None` if the predictor does not
    /// depend on it.
    #[must_use]
    pub fn lateness(&self) -> Option<Lateness> {
        match &self.direction {
            Direction::Tournament(p) => Some(Lateness(p.delay.seen())),
            _ => None,
        }
    }

    /// Takes over how late branches trained another predictor.
    pub fn learn(&mut self, lateness: &Lateness) {
        if let Some(delay) = self.delay() {
            delay.learn(&lateness.0);
        }
    }

    fn delay(&mut self) -> Option<&mut Delay> {
        match &mut self.direction {
            Direction::Tournament(p) => Some(&mut p.delay),
            _ => None,
        }
    }
}
