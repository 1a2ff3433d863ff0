//! Programs for the tests of the studies.

use hps_profile::ProfileKind;
use hps_system::image::Isa;

use crate::measurement::Measurement;
use crate::plan::Plan;
use crate::spec::SweepSpec;
use hps_lab::Program;

/// A program of the project with its small input, for RISC-V.
pub fn program(name: &str) -> Program {
    program_of(name, Isa::Riscv64)
}

/// A program of the project with its small input, for an instruction set.
pub fn program_of(name: &str, isa: Isa) -> Program {
    let spec = SweepSpec {
        programs: vec![name.to_string()],
        isas: vec![isa],
        ..SweepSpec::default()
    };
    let plan = Plan::new(&spec, std::path::Path::new(".")).expect("a program of the project");
    plan.programs[0].clone()
}

/// The one number with these labels.
#[track_caller]
pub fn find(
    measured: &[Measurement],
    kind: Option<ProfileKind>,
    setting: &str,
    measure: &str,
) -> f64 {
    let mut found = measured.iter().filter(|m| {
        (m.profile, m.setting.as_str(), m.measure.as_str()) == (kind, setting, measure)
    });
    let first = found.next();
    assert!(
        found.next().is_none(),
        "{measure} ({setting}) was measured more than once"
    );
    first
        .unwrap_or_else(|| panic!("no {measure} ({setting})"))
        .value
}
