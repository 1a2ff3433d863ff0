//! Provenance of a run: all settings that determine its results.

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_pipeline::sampled::SamplingPlan;
use hps_system::image::Isa;
use hps_workloads::sha256_hex;

use crate::VERSION;
use crate::program::Program;

/// Provenance of a run, as results carry it: all settings that determine them.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance {
    /// Version of the lab: results are comparable only within one.
    pub version: &'static str,
    /// The program's name in results.
    pub program: String,
    /// Arguments, the program's name first.
    pub args: Vec<String>,
    /// SHA-256 of the program's image, in hexadecimal digits.
    pub program_hash: String,
    /// SHA-256 that names the content of the program's root, in hexadecimal digits ([`Program::root_hash`]).
    pub root_hash: Option<String>,
    /// Instruction set.
    pub isa: Isa,
    /// Seed of all randomness that the program can see.
    pub seed: u64,
    /// Seed by which addresses were drawn; `None`: they were fixed.
    pub address_seed: Option<u64>,
    /// The machine, if the run is timed.
    pub machine: Option<MachineProvenance>,
    /// Plan of the timed units, if the run has sampled timing.
    pub sampling: Option<SamplingPlan>,
}

/// The machine of a timed run.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineProvenance {
    /// The machine as it was resolved: every key.
    pub config: MachineConfig,
    /// See [`fingerprint`].
    pub fingerprint: String,
    /// Kind of the core: driven by cycles or by instructions.
    pub core: CoreKind,
}

impl Provenance {
    /// The provenance of a functional run of a program.
    pub(crate) fn of(program: &Program) -> Self {
        Provenance {
            version: VERSION,
            program: program.name.clone(),
            args: program.process.args.clone(),
            program_hash: program.image.hash.clone(),
            root_hash: program.root_hash(),
            isa: program.image.isa,
            seed: program.process.seed,
            address_seed: program.process.address_seed,
            machine: None,
            sampling: None,
        }
    }
}

impl MachineProvenance {
    pub(crate) fn of(machine: &MachineConfig, core: CoreKind) -> Self {
        MachineProvenance {
            config: machine.clone(),
            fingerprint: fingerprint(machine),
            core,
        }
    }
}

/// SHA-256, in hexadecimal digits, of everything in a machine that can change a cycle. Equal for
/// machines that cannot differ in a cycle.
#[must_use]
pub fn fingerprint(machine: &MachineConfig) -> String {
    sha256_hex(machine.fingerprint().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_ignore_names() {
        let machine = MachineConfig::default();
        let renamed = MachineConfig {
            name: "other".to_string(),
            ..machine.clone()
        };
        assert_eq!(fingerprint(&machine), fingerprint(&renamed));
        let mut faster = machine.clone();
        faster.clock_mhz += 1;
        assert_ne!(fingerprint(&machine), fingerprint(&faster));
        assert_eq!(fingerprint(&machine).len(), 64);
    }
}
