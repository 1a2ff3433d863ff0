//! Counters of a processor that the other processors of its chip can read.

use hps_isa::editor::DecodeEditor;

use super::Chip;
use crate::by_cycle::counters::Selected;
use crate::config::MachineConfig;
use crate::model::PipelineProbe;
use crate::pmu::{Selection, selected};

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Gives all processors the counters that a machine selects.
    pub(super) fn with_counters(mut self, config: &MachineConfig) -> Self {
        // Wrong ones are refused before a chip is made that is to run.
        self.selected = selected(config).unwrap_or_default();
        for (number, one) in self.processors.iter_mut().enumerate() {
            let of = |selection: &Selection| Selected {
                own: match *selection {
                    Selection::Own(event) | Selection::Core(event) => Some(event),
                    Selection::Processor(event, of) => (of == number).then_some(event),
                    Selection::Memory(_) => None,
                },
                others: 0,
            };
            one.resources.selected = self.selected.iter().map(of).collect();
        }
        self
    }

    /// Whether a program may read events of the memory system, which are shown to it between its turns.
    pub(super) fn shows_memory_events(&self) -> bool {
        let mut selected = self.selected.iter();
        selected.any(|selection| matches!(selection, Selection::Memory(_)))
    }

    /// A processor has had a turn: shows what it has counted to those that may read it.
    pub(super) fn show_to_others(&mut self, number: usize) {
        for counter in 0..self.selected.len() {
            match self.selected[counter] {
                Selection::Own(_) => {}
                Selection::Core(event) => {
                    let core = self.processors[number].context.id.core;
                    let of_core = self
                        .processors
                        .iter()
                        .filter(|one| one.context.id.core == core);
                    let all: u64 = of_core.map(|one| event.read(&one.resources.stats)).sum();
                    for other in &mut self.processors {
                        if other.context.id.core == core {
                            let own = event.read(&other.resources.stats);
                            other.resources.selected[counter].others = all - own;
                        }
                    }
                }
                Selection::Processor(event, of) if of == number => {
                    let count = event.read(&self.processors[number].resources.stats);
                    for (other, one) in self.processors.iter_mut().enumerate() {
                        if other != number {
                            one.resources.selected[counter].others = count;
                        }
                    }
                }
                Selection::Processor(..) => {}
                Selection::Memory(name) => {
                    let resources = &self.processors[number].resources;
                    let count = resources.memory.stats(&self.shared).named(name);
                    let core = self.processors[number].context.id.core;
                    for other in &mut self.processors {
                        if other.context.id.core == core {
                            other.resources.selected[counter].others = count;
                        }
                    }
                }
            }
        }
    }
}
