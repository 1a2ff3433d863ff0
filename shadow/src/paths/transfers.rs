//! Effect of each transfer of control on paths, found out once, at its first execution.

use hps_isa::inst::{Inst, OpClass};
use rustc_hash::FxHashMap;

use crate::graphs::{Graphs, NOWHERE, Stretch};

/// A transfer of control from one address to another, and what it does.
#[derive(Debug)]
pub(super) struct Transfer {
    pub kind: Kind,
    /// How often it was executed.
    pub count: u64,
    /// The sample in which it was executed last.
    pub sample: u32,
}

impl Transfer {
    /// The code behind it.
    pub fn stretch(&self) -> &Stretch {
        match &self.kind {
            Kind::Move(stretch) | Kind::Mix { stretch, .. } => stretch,
            Kind::Call(arrival) | Kind::Tail { arrival, .. } | Kind::Return { arrival, .. } => {
                &arrival.stretch
            }
        }
    }
}

/// Effect of a transfer.
#[derive(Debug)]
pub(super) enum Kind {
    /// Transfer within the function.
    Move(Stretch),
    /// Transfer within code whose paths have no numbers.
    Mix {
        /// Whether the transfer does not lead ahead, so that the path ends.
        is_back: bool,
        stretch: Stretch,
    },
    /// Call of a function.
    Call(Arrival),
    /// Jump out of the function to another one that returns in its place.
    Tail {
        /// Added to the path that ends.
        end: u64,
        arrival: Arrival,
    },
    /// Return from the function.
    Return {
        /// Added to the path that ends.
        end: u64,
        /// Arrival if the caller is not known.
        arrival: Arrival,
    },
}

/// How control arrives in a function.
#[derive(Debug)]
pub(super) struct Arrival {
    pub function: u32,
    /// Whether the function's paths are numbered.
    pub is_numbered: bool,
    /// The number with which the path begins; `None` in the middle of one.
    pub start: Option<u64>,
    pub stretch: Stretch,
}

/// The transfers that a run has made.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    all: Vec<((u64, u64), Transfer)>,
    places: FxHashMap<(u64, u64), u32>,
    /// Continuations of callers behind a call, by the call and the address that it returns to.
    resumed: FxHashMap<(u64, u64), Resumed>,
}

/// How a caller goes on.
#[derive(Clone, Debug)]
pub(super) enum Resumed {
    /// Along this edge of its graph.
    Move(std::sync::Arc<Stretch>),
    /// In code whose paths have no numbers.
    Mix(std::sync::Arc<Stretch>),
}

impl Transfers {
    /// Place of the transfer in the table.
    pub fn place(&mut self, graphs: &Graphs<'_>, pc: u64, inst: &Inst, target: u64) -> usize {
        if let Some(place) = self.places.get(&(pc, target)) {
            return *place as usize;
        }
        let place = self.all.len();
        let kind = kind_of(graphs, pc, inst, target);
        self.all.push((
            (pc, target),
            Transfer {
                kind,
                count: 0,
                sample: 0,
            },
        ));
        self.places.insert((pc, target), place as u32);
        place
    }

    pub fn at(&mut self, place: usize) -> &mut Transfer {
        &mut self.all[place].1
    }

    /// All transfers with their counts.
    pub fn iter(&self) -> impl Iterator<Item = ((u64, u64), &Transfer)> {
        self.all.iter().map(|(key, transfer)| (*key, transfer))
    }

    /// How the caller goes on behind a call.
    pub fn resumed(&mut self, graphs: &Graphs<'_>, call: u64, behind: u64) -> Resumed {
        let of = || {
            let function = graphs.numbered_function(graphs.function_at(call));
            match function.and_then(|f| f.moved(call, behind)) {
                Some(stretch) => Resumed::Move(stretch.into()),
                None => Resumed::Mix(graphs.straight(behind).into()),
            }
        };
        self.resumed
            .entry((call, behind))
            .or_insert_with(of)
            .clone()
    }
}

/// Arrival at an address; at the entry of a function, or in the middle of a path.
pub(super) fn arrival(graphs: &Graphs<'_>, at: u64, is_entry: bool) -> Arrival {
    let function = graphs.function_at(at);
    let numbered = graphs.numbered_function(function);
    if let Some(entered) = numbered.and_then(|f| f.entered(at)) {
        return Arrival {
            function,
            is_numbered: true,
            start: entered.start.filter(|_| is_entry),
            stretch: entered.stretch,
        };
    }
    Arrival {
        function,
        is_numbered: false,
        start: is_entry.then_some(at),
        stretch: graphs.straight(at),
    }
}

fn kind_of(graphs: &Graphs<'_>, pc: u64, inst: &Inst, target: u64) -> Kind {
    let function = graphs.function_at(pc);
    let numbered = graphs.numbered_function(function);
    let end = numbered.and_then(|f| f.left(pc)).unwrap_or(0);
    match inst.class {
        class if class.is_call() => Kind::Call(arrival(graphs, target, true)),
        OpClass::Return => Kind::Return {
            end,
            arrival: arrival(graphs, target, false),
        },
        _ => {
            if let Some(stretch) = numbered.and_then(|f| f.moved(pc, target)) {
                return Kind::Move(stretch);
            }
            let to = graphs.function_at(target);
            if to == function && (numbered.is_none() || to == NOWHERE) {
                return Kind::Mix {
                    is_back: target <= pc,
                    stretch: graphs.straight(target),
                };
            }
            Kind::Tail {
                end,
                arrival: arrival(graphs, target, true),
            }
        }
    }
}
