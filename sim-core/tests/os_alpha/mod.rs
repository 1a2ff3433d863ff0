//! Features that only Linux on Alpha has: numbers and conventions, pages, structures, signal frames, faults, the calls
//! that it took over from OSF/1; and OSF/1 itself.

mod calls;
mod osf;
mod signals;

use std::sync::Arc;

use crate::loader_support::Elf;
use crate::os_support::Guest;
use hps_system::image::{Isa, ProgramImage};
use hps_system::process::{Process, ProcessConfig};

const PID: u64 = 1000;
const NO_FD: u64 = u64::MAX;
const EINVAL: u64 = 22;
const ENOSYS: u64 = 78;

fn guest_with(config: &ProcessConfig) -> Guest {
    let image = ProgramImage::parse(&Elf::alpha().build(), "dir/prog").unwrap();
    assert_eq!(image.isa, Isa::Alpha);
    Guest(Process::new(Arc::new(image), config).unwrap())
}

fn guest() -> Guest {
    guest_with(&ProcessConfig::default())
}
