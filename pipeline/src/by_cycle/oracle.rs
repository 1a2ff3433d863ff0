//! The outcome of branches at fetch, for the perfect predictor.
//!
//! Instructions execute at dispatch; a perfect predictor has to know earlier where they go. The
//! oracle executes each instruction once more when it is fetched, on registers and stores of its
//! own. Where it cannot know (behind a system call, behind a turn of fetch in the middle of an
//! expansion) fetch waits until dispatch has caught up, and the oracle restarts from the
//! registers there.

use std::collections::VecDeque;

use hps_isa::bus::{Bus, MemFault};
use hps_isa::editor::{self, DecodeEditor};
use hps_isa::exec::{self, Outcome};
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, OpClass};
use serde::{Deserialize, Serialize};

use super::Context;
use super::store_queue::SpeculativeBus;
use super::uop::flag;
use crate::config::{MachineConfig, Predictor};
use crate::model::PipelineProbe;

/// A store that has been fetched and not dispatched yet. `size` is zero if it writes nothing.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct FetchedStore {
    pc: u64,
    addr: u64,
    data: u64,
    size: u8,
}

/// State of the perfect predictor.
#[derive(Clone)]
pub(super) struct Oracle {
    hart: Hart,
    stores: VecDeque<FetchedStore>,
    /// The registers are not those in front of the next instruction to be fetched.
    lost: bool,
}

hps_isa::save_state! { Oracle { hart, stores, lost } }

/// Where an instruction goes.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub taken: bool,
    pub next: u64,
}

impl Oracle {
    /// The oracle of a machine whose predictor is perfect; `None` for other machines.
    pub fn new(config: &MachineConfig) -> Option<Box<Oracle>> {
        let is_perfect = config.branch.predictor == Predictor::Perfect;
        is_perfect.then(|| {
            Box::new(Oracle {
                hart: Hart::default(),
                stores: VecDeque::new(),
                lost: true,
            })
        })
    }

    /// Fetch has been turned.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// A fetched store has been dispatched, and is in the store queue from now on.
    pub fn store_dispatched(&mut self, pc: u64, flags: u16) {
        if flags & (flag::PROGRAM | flag::HANDLER) == 0 {
            return;
        }
        // An expansion without its trigger leaves a store behind.
        if self.stores.pop_front().is_none_or(|s| s.pc != pc) {
            self.lost = true;
        }
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Whether the oracle, if there is one, is with fetch; brings it there if dispatch has caught
    /// up.
    #[inline]
    pub(super) fn oracle_is_ready(&mut self) -> bool {
        let Some(oracle) = &mut self.oracle else {
            return true;
        };
        if !oracle.lost {
            return true;
        }
        if self.front.fetched().is_some()
            || self.front.decoded().is_some()
            || self.expansion.is_some()
        {
            return false;
        }
        oracle.hart.clone_from(&self.process.thread.hart);
        oracle.stores.clear();
        oracle.lost = false;
        true
    }

    /// Where the instruction at `pc` goes.
    pub(super) fn ask_oracle(&mut self, pc: u64, inst: &Inst, matched: u16) -> Option<Known> {
        let oracle = self.oracle.as_mut()?;
        let mut stored = FetchedStore {
            pc,
            ..FetchedStore::default()
        };
        let mut bus = OracleBus {
            behind: SpeculativeBus {
                mem: &mut self.process.guest.mem,
                stores: &mut self.stores,
            },
            fetched: &oracle.stores,
            stored: &mut stored,
        };
        let outcome = execute(&mut oracle.hart, &mut bus, inst, pc);
        if matches!(inst.class, OpClass::Store | OpClass::Atomic) {
            oracle.stores.push_back(stored);
        }
        // The expansion of this instruction goes on in its middle: what of it has been executed
        // is not known here.
        oracle.lost = self.resume != DisePc::NONE;
        let fallthrough = pc.wrapping_add(u64::from(inst.len));
        Some(match outcome {
            Outcome::Next => Known {
                taken: false,
                next: fallthrough,
            },
            Outcome::Taken(next) if E::RELAYOUT && matched == 0 => Known {
                taken: true,
                next: editor::transfer(&self.editor, &mut oracle.hart, inst, pc, next),
            },
            Outcome::Taken(next) => Known { taken: true, next },
            _ => {
                oracle.lost = true;
                Known {
                    taken: false,
                    next: fallthrough,
                }
            }
        })
    }
}

/// Memory as a fetched instruction will see it.
struct OracleBus<'a> {
    behind: SpeculativeBus<'a>,
    fetched: &'a VecDeque<FetchedStore>,
    stored: &'a mut FetchedStore,
}

/// Executes an instruction as the oracle sees memory. This is compiled once, and not for each type of editor and probe.
#[inline(never)]
fn execute(hart: &mut Hart, bus: &mut OracleBus<'_>, inst: &Inst, pc: u64) -> Outcome {
    exec::execute(hart, bus, inst, pc)
}

impl Bus for OracleBus<'_> {
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        let mut value = self.behind.load::<N>(addr)?;
        for s in self.fetched {
            for i in 0..N as u64 {
                let offset = addr.wrapping_add(i).wrapping_sub(s.addr);
                if offset < u64::from(s.size) {
                    let byte = (s.data >> (8 * offset)) & 0xff;
                    value = value & !(0xff << (8 * i)) | byte << (8 * i);
                }
            }
        }
        Ok(value)
    }

    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        self.behind.mem.check_store::<N>(addr)?;
        *self.stored = FetchedStore {
            addr,
            data: value,
            size: N as u8,
            ..*self.stored
        };
        Ok(())
    }
}
