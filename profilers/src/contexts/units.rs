//! Units of cycles by calling context and by the code that took them.
//!
//! Nearly all contexts run the code of one function: a context has one number for the code that took units in it first.
//! Units of other code are in a table.

use hps_isa::layout;
use hps_system::symbols::CodeWatch;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::NodeId;
use crate::views::FunctionMap;

/// Code that lies in one function, whatever functions are told apart after the run: the body of a function that the
/// program names, the handlers, or one instruction elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Code(u32);

impl Code {
    /// Code that is not known yet.
    pub const UNKNOWN: Code = Code(u32::MAX);
    /// Marks one instruction.
    const ONE: u32 = 1 << 31;

    /// Whether it is one instruction. Where execution falls through to another one, both belong to one function.
    #[inline(always)]
    pub fn is_one(self) -> bool {
        self.0 & Self::ONE != 0
    }

    /// Index of the code among all.
    fn index(self) -> usize {
        (self.0 & !Self::ONE) as usize
    }
}

/// Code in a calling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The calling context.
    pub node: NodeId,
    /// The code.
    pub code: Code,
}

hps_isa::save_values!(Place);

/// The code of each address.
#[derive(Clone, Debug)]
struct Codes {
    functions: FunctionMap,
    watch: Option<CodeWatch>,
    /// An address of each.
    addresses: Vec<u64>,
    /// By that address.
    known: FxHashMap<u64, Code>,
}

hps_isa::save_state! { Codes { functions: skip, watch: skip, addresses, known } }

impl Codes {
    /// The code that an address belongs to.
    fn at(&mut self, pc: u64) -> Code {
        self.functions.renew(self.watch.as_mut());
        let functions = self.functions.functions();
        let function = (self.functions.find(pc)).map(|at| functions[at].entry..functions[at].end);
        let (address, mark) = match function {
            // A part that lies elsewhere may be in the bounds of a function without a name.
            Some(body) if body.contains(&pc) => (body.start, 0),
            _ if (layout::HANDLER_BASE..layout::HANDLER_END).contains(&pc) => {
                (layout::HANDLER_BASE, 0)
            }
            _ => (pc, Code::ONE),
        };
        let next = Code(self.addresses.len() as u32 | mark);
        let code = *self.known.entry(address).or_insert(next);
        if code == next {
            self.addresses.push(address);
        }
        code
    }
}

/// The units of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Own {
    /// Units of the code that took some first.
    units: u64,
    code: Code,
    /// The place in [`ContextUnits::others`] of its first other code, or [`NONE`].
    others: u32,
}

/// No other code.
const NONE: u32 = u32::MAX;

impl Own {
    const EMPTY: Own = Own {
        units: 0,
        code: Code::UNKNOWN,
        others: NONE,
    };
}

/// Counts the units of contexts while a run goes on.
#[derive(Clone, Debug)]
pub(crate) struct UnitCounter {
    codes: Codes,
    /// Where units were counted last.
    place: Place,
    /// Units there that are not in the tables yet.
    pending: u64,
    /// Instructions that have committed there and are not in the tables yet.
    pending_commits: u64,
    of_node: Vec<Own>,
    commits: Vec<u64>,
    others: FxHashMap<Place, u64>,
}

hps_isa::save_state! {
    UnitCounter {
        codes, place, pending, pending_commits, of_node, commits, others,
    }
}

impl UnitCounter {
    /// A counter of a program with these functions, and those of code that `watch` tells of.
    pub fn new(functions: FunctionMap, watch: Option<CodeWatch>) -> Self {
        UnitCounter {
            codes: Codes {
                functions,
                watch,
                addresses: Vec::new(),
                known: FxHashMap::default(),
            },
            place: Place {
                node: NodeId::ROOT,
                code: Code::UNKNOWN,
            },
            pending: 0,
            pending_commits: 0,
            of_node: Vec::new(),
            commits: Vec::new(),
            others: FxHashMap::default(),
        }
    }

    /// The code that an address belongs to.
    pub fn code_at(&mut self, pc: u64) -> Code {
        self.codes.at(pc)
    }

    /// Adds units to a place.
    #[inline(always)]
    pub fn add(&mut self, place: Place, units: u64) {
        if place != self.place {
            self.turn_to(place);
        }
        self.pending += units;
    }

    /// Counts an instruction that has committed where units were added last. Commits are counted of programs that run an
    /// interpreter, from its first function on.
    #[inline]
    pub fn count_commit(&mut self) {
        self.pending_commits += 1;
    }

    #[inline(never)]
    fn turn_to(&mut self, place: Place) {
        let Place { node, code } = std::mem::replace(&mut self.place, place);
        let units = std::mem::take(&mut self.pending);
        if self.pending_commits > 0 {
            self.keep_commits(node);
        }
        if units == 0 {
            return;
        }
        if node.index() >= self.of_node.len() {
            self.of_node.resize(node.index() + 1, Own::EMPTY);
        }
        let own = &mut self.of_node[node.index()];
        if own.code == Code::UNKNOWN {
            own.code = code;
        }
        match own.code == code {
            true => own.units += units,
            false => *self.others.entry(Place { node, code }).or_insert(0) += units,
        }
    }

    #[inline(never)]
    fn keep_commits(&mut self, node: NodeId) {
        if node.index() >= self.commits.len() {
            self.commits.resize(node.index() + 1, 0);
        }
        self.commits[node.index()] += std::mem::take(&mut self.pending_commits);
    }

    /// The units of a run that is over.
    pub fn finish(mut self) -> ContextUnits {
        self.turn_to(Place {
            node: NodeId::ROOT,
            code: Code::UNKNOWN,
        });
        let mut others: Vec<(Place, u64)> = self.others.into_iter().collect();
        others.sort_unstable();
        // From behind: the first one of a context remains.
        for (at, (place, _)) in others.iter().enumerate().rev() {
            self.of_node[place.node.index()].others = at as u32;
        }
        ContextUnits {
            addresses: self.codes.addresses,
            of_node: self.of_node,
            commits: self.commits,
            others,
        }
    }
}

/// The units of each calling context, by the code that took them.
#[derive(Clone, Debug, Default)]
pub struct ContextUnits {
    addresses: Vec<u64>,
    of_node: Vec<Own>,
    commits: Vec<u64>,
    /// Units of other code of a context than that which took units first, in the order of contexts.
    others: Vec<(Place, u64)>,
}

impl ContextUnits {
    /// An address of each code that took units: code lies in one function, and a function may have several.
    #[must_use]
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// Instructions that committed in a context, whatever their code.
    #[must_use]
    pub fn commits(&self, node: NodeId) -> u64 {
        self.commits.get(node.index()).copied().unwrap_or(0)
    }

    /// The units of a context, each with the place of its code in [`addresses`](Self::addresses).
    pub fn of(&self, node: NodeId) -> impl Iterator<Item = (usize, u64)> + '_ {
        let own = self.of_node.get(node.index()).copied();
        let own = own.unwrap_or(Own::EMPTY);
        let first = (own.code != Code::UNKNOWN).then_some((own.code.index(), own.units));
        let others = self.others.get(own.others as usize..).unwrap_or_default();
        let others = others
            .iter()
            .take_while(move |(place, _)| place.node == node);
        let others = others.map(|(place, units)| (place.code.index(), *units));
        first.into_iter().chain(others)
    }
}
