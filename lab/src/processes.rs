//! Rules that say in which runs a program may have child processes.
//!
//! Children take turns with their parent on one context of the functional machine or of the cycle-driven core.
//! An editor of a run knows the code and the addresses of one program, and so do most probes. They refuse child
//! processes; only probes that tell programs apart allow them. Beside an observer there are children: its tags are of
//! the first program alone ([`crate::observer`]).

use hps_isa::editor::DecodeEditor;
use hps_isa::probe::Probe;
use hps_pipeline::core::CoreKind;
use hps_system::os::ProcessRule;

/// The rule of a functional run with this editor and this probe.
pub(crate) fn functional<E: DecodeEditor, P: Probe>() -> ProcessRule {
    if E::ENABLED || E::RELAYOUT {
        ProcessRule::Refused("a run with productions or code laid out anew")
    } else if P::ENABLED && !P::KNOWS_PROGRAMS {
        ProcessRule::Refused("a run that is watched")
    } else {
        ProcessRule::Allowed(ProcessRule::MOST)
    }
}

/// The rule of a timed run.
pub(crate) fn timed<E: DecodeEditor, P: Probe>(core: CoreKind) -> ProcessRule {
    if core != CoreKind::Cycle {
        ProcessRule::Refused("the instruction-driven core")
    } else {
        functional::<E, P>()
    }
}
