//! Work of the operating system between two instructions: turns of threads, timers.

use hps_isa::editor::DecodeEditor;
use hps_isa::ids::DisePc;
use hps_isa::probe::Probe;
use hps_system::process::Then;

use super::Machine;
use crate::machine::Stop;

impl<E: DecodeEditor> Machine<E> {
    /// Lets the operating system do what is due before the next instruction of the program: afterwards the thread that
    /// executes this instruction is on the context. A run that goes on does so by itself; nothing of it depends on whether
    /// that has been done before.
    pub fn settle<P: Probe>(&mut self, probe: &mut P) -> Option<Stop> {
        while self.deadline() <= self.retired.program && self.is_between() {
            if let Some(stop) = self.attend(probe) {
                return Some(stop);
            }
        }
        None
    }

    /// Whether the program is between two of its instructions.
    pub(super) fn is_between(&self) -> bool {
        let hart = &self.process.thread.hart;
        let pc = hart.pc;
        hart.disepc == DisePc::NONE
            && self.link.is_none()
            && (!E::RELAYOUT || self.editor.place(pc, self.editor.original(pc)) == pc)
    }

    /// Lets the operating system do what is due, or what comes next execute first if the program is not between two
    /// of its instructions.
    #[cold]
    pub(super) fn attend<P: Probe>(&mut self, probe: &mut P) -> Option<Stop> {
        let pc = self.process.thread.hart.pc;
        if !self.is_between() {
            let next = self.retired.program + 1;
            return match self.run_until(probe, next) {
                Stop::Limit => None,
                stop => Some(stop),
            };
        }
        self.process.thread.hart.counters = self.guest_counters();
        match self.process.attend(&self.editor, pc) {
            Then::Next => None,
            Then::Elsewhere { pc, .. } => {
                self.process.thread.hart.pc = pc;
                None
            }
            Then::Exit(code) => Some(Stop::Exit(code)),
            Then::Fault(cause) => self.fault(pc, cause, false),
        }
    }
}
