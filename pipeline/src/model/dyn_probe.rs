//! Probes behind dynamic calls.
//!
//! The loops of both cores are generic in their probe, so each type of probe compiles them anew. [`DynProbe`] is one type
//! for all probes that want hooks of one group: the loops are compiled once for a group, and a hook is a call by a table.

use std::any::Any;

use hps_isa::inst::Inst;
use hps_isa::memory::Memory;
use hps_isa::probe::Probe;

use super::probe::for_each_hook;
use super::{Cause, Commit, PipelineProbe, Squash, StageRecord, Stored, Stretch, TrapTaken};

/// The group of hooks about cycles: [`PipelineProbe::WANTS_CYCLES`], [`PipelineProbe::WANTS_STORES`] and
/// [`Probe::WANTS_CONTROL`].
pub type CyclesProbe = DynProbe<true>;

/// The group of hooks about stages and slots: [`PipelineProbe::WANTS_STAGES`] and [`PipelineProbe::WANTS_SLOTS`].
pub type StagesProbe = DynProbe<false>;

/// A probe of any type that wants no hooks but those of a group: of [`CyclesProbe`] or of [`StagesProbe`].
pub struct DynProbe<const CYCLES: bool> {
    probe: Box<dyn Hooks>,
    /// [`PipelineProbe::wants_stores`] of the probe, which is asked at each store.
    wants_stores: bool,
}

impl<const CYCLES: bool> DynProbe<CYCLES> {
    /// Puts a probe behind dynamic calls. A probe that wants hooks outside of the group does not compile.
    #[must_use]
    pub fn new<P: PipelineProbe + 'static>(probe: P) -> Self {
        const {
            let functional = P::WANTS_RETIRED || P::WANTS_MEMORY || P::WANTS_VALUES || P::CAN_STOP;
            let of_cycles = P::WANTS_CYCLES || P::WANTS_STORES || P::WANTS_CONTROL;
            let of_stages = P::WANTS_STAGES || P::WANTS_SLOTS;
            assert!(
                !functional && !(if CYCLES { of_stages } else { of_cycles }),
                "the probe wants hooks of another group"
            );
        }
        DynProbe {
            wants_stores: PipelineProbe::wants_stores(&probe),
            probe: Box::new(probe),
        }
    }

    /// The probe inside.
    ///
    /// # Panics
    /// The probe inside is of another type than `P`.
    #[must_use]
    pub fn into_probe<P: 'static>(self) -> P {
        let probe: Box<dyn Any> = self.probe;
        *probe.downcast().expect(OTHER)
    }

    /// The probe inside.
    ///
    /// # Panics
    /// The probe inside is of another type than `P`.
    #[must_use]
    pub fn probe<P: 'static>(&self) -> &P {
        let probe: &dyn Any = &*self.probe;
        probe.downcast_ref().expect(OTHER)
    }

    /// The probe inside, to be changed.
    ///
    /// # Panics
    /// The probe inside is of another type than `P`.
    pub fn probe_mut<P: 'static>(&mut self) -> &mut P {
        let probe: &mut dyn Any = &mut *self.probe;
        probe.downcast_mut().expect(OTHER)
    }
}

const OTHER: &str = "internal error: a probe of another type is attached";

macro_rules! declare_hooks {
    ($($wants:ident => $hook:ident($($arg:ident: $type:ty),*);)*) => {
        /// The hooks of a probe that a [`DynProbe`] calls, without their constants.
        trait Hooks: Any {
            fn wants_stages(&self) -> bool;
            fn stand_in(&self) -> Option<Box<dyn Hooks>>;
            fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool);
            $(fn $hook(&mut self, $($arg: $type),*);)*
        }

        impl<P: PipelineProbe + 'static> Hooks for P {
            fn wants_stages(&self) -> bool {
                PipelineProbe::wants_stages(self)
            }

            fn stand_in(&self) -> Option<Box<dyn Hooks>> {
                let probe = PipelineProbe::stand_in(self)?;
                Some(Box::new(probe))
            }

            fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
                Probe::control(self, pc, inst, target, taken);
            }

            $(
                fn $hook(&mut self, $($arg: $type),*) {
                    PipelineProbe::$hook(self, $($arg),*);
                }
            )*
        }

        impl<const CYCLES: bool> PipelineProbe for DynProbe<CYCLES> {
            const WANTS_STAGES: bool = !CYCLES;
            const WANTS_SLOTS: bool = !CYCLES;
            const WANTS_CYCLES: bool = CYCLES;
            const WANTS_STORES: bool = CYCLES;

            fn wants_stages(&self) -> bool {
                self.probe.wants_stages()
            }

            #[inline]
            fn wants_stores(&self) -> bool {
                self.wants_stores
            }

            fn stand_in(&self) -> Option<Self> {
                // Nothing is told to a stand-in.
                let probe = self.probe.stand_in()?;
                Some(DynProbe {
                    probe,
                    wants_stores: false,
                })
            }

            $(
                #[inline]
                fn $hook(&mut self, $($arg: $type),*) {
                    self.probe.$hook($($arg),*);
                }
            )*
        }
    };
}

for_each_hook!(declare_hooks);

impl<const CYCLES: bool> Probe for DynProbe<CYCLES> {
    const WANTS_CONTROL: bool = CYCLES;

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        self.probe.control(pc, inst, target, taken);
    }
}
