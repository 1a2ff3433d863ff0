//! The operating system in checkpoints: what is refused, and what is put together again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::abi::Abi;
use super::roots::Tree;
use super::streams::Stdin;
use super::{FileRoot, Linux, OsInterface};
use crate::checkpoint::refuse;
use crate::image::{Isa, LoadError};
use crate::process::ProcessConfig;

/// Interfaces of operating systems, as checkpoints number them.
const INTERFACES: [(OsInterface, Isa); 3] = [
    (OsInterface::Linux, Isa::Riscv64),
    (OsInterface::Linux, Isa::Alpha),
    (OsInterface::Osf1, Isa::Alpha),
];

/// The numbers and conventions of an instruction set, by their number here.
pub(super) mod abi {
    use super::{Abi, D, Deserialize, INTERFACES, S, Serialize};
    use serde::de::Error;

    pub fn serialize<O: S>(abi: &&'static dyn Abi, serializer: O) -> Result<O::Ok, O::Error> {
        let name = |abi: &dyn Abi| (abi.system(), abi.machine());
        let mut all = INTERFACES.iter();
        let at = all.position(|(system, isa)| name(system.abi(*isa)) == name(*abi));
        (at.unwrap_or_default() as u8).serialize(serializer)
    }

    pub fn deserialize<'de, I: D<'de>>(deserializer: I) -> Result<&'static dyn Abi, I::Error> {
        let at = u8::deserialize(deserializer)?;
        let known = INTERFACES.get(usize::from(at));
        let (system, isa) = known.ok_or_else(|| I::Error::custom("no such operating system"))?;
        Ok(system.abi(*isa))
    }
}

use Deserializer as D;
use Serializer as S;

/// The operating system of a process.
pub(crate) mod linux {
    use super::{D, Deserialize, Linux, S, Serialize};

    pub(crate) fn serialize<O: S>(os: &Linux, serializer: O) -> Result<O::Ok, O::Error> {
        os.refuse_what_is_not_kept();
        os.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, I: D<'de>>(deserializer: I) -> Result<Box<Linux>, I::Error> {
        let mut os = Box::<Linux>::deserialize(deserializer)?;
        os.space.mappings.find_open();
        Ok(os)
    }
}

impl Linux {
    /// The root folder of the process, if it has one.
    pub(crate) fn file_root(&self) -> Option<&FileRoot> {
        self.tree.root.as_ref()
    }

    /// The root folder that a run begins with.
    ///
    /// # Errors
    /// [`LoadError::Config`].
    pub(crate) fn root_of(config: &ProcessConfig) -> Result<Option<FileRoot>, LoadError> {
        Ok(Tree::new(config)?.root)
    }

    fn refuse_what_is_not_kept(&self) {
        if self.gate.is_some() {
            refuse("an observer decides on its system calls");
        }
        if self.run.stop.is_some() {
            refuse("it has ended");
        }
        if self.run.streams.input == Stdin::Inherit {
            refuse(
                "it reads the standard input of the command; give it an input of its own (--stdin FILE)",
            );
        }
        let is_copy = self
            .tree
            .root
            .as_ref()
            .is_some_and(|root| root.scratch().is_some());
        if self.tree.writable && !is_copy {
            refuse(
                "it changes files in place, which a checkpoint does not bring back; use --writable=scratch",
            );
        }
    }
}
