//! The vDSO: code that the kernel puts beside a dynamic program, by which the C library asks for the time without a system
//! call. Its source is `system/vdso/`, which `scripts/build-vdso.sh` links.
//!
//! The code reads the CSR `time`, as Linux's does, and a page of data in front of it, which holds the date at which that CSR
//! was 0. Both are simulated time, so that the vDSO and the system calls tell one time.
//!
//! Programs without a loader have none: their C libraries are linked into them and work as on a kernel without a vDSO.
//! Linux has none on Alpha.

use std::sync::{Arc, LazyLock};

use hps_isa::isa::Isa;
use hps_isa::memory::{Memory, MemoryError, PAGE_SIZE, Perm};

use super::{Loaded, Placement};
use crate::image::ProgramImage;
use crate::os::OsInterface;

/// Name of the vDSO in `/proc/PID/maps` and in profiles.
pub(crate) const NAME: &str = "[vdso]";

static IMAGE: LazyLock<Arc<ProgramImage>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../vdso/vdso.so");
    let image = ProgramImage::parse_interpreter(bytes, NAME);
    Arc::new(image.expect("a file of this crate, which the tests load"))
});

/// The vDSO for a dynamic program, if Linux has one for the program's instruction set.
pub(super) fn of(program: &ProgramImage, place: Placement) -> Option<Loaded> {
    let has_vdso = (program.os, program.isa) == (OsInterface::Linux, Isa::Riscv64);
    has_vdso.then(|| Loaded {
        image: IMAGE.at(place.vdso + PAGE_SIZE),
        path: NAME.into(),
    })
}

/// Maps the page of data in front of the vDSO.
pub(super) fn map_data(mem: &mut Memory, place: Placement) -> Result<(), MemoryError> {
    mem.map(place.vdso, PAGE_SIZE, Perm::R)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_isa::layout;

    #[test]
    fn the_image_fits_into_its_place() {
        let place = Placement::default();
        let image = IMAGE.at(place.vdso + PAGE_SIZE);
        assert_eq!(image.load_bias, place.vdso + PAGE_SIZE);
        assert!(image.end() <= place.vdso + layout::VDSO_BYTES);
        let [segment] = &image.segments[..] else {
            panic!("{:?}", image.segments)
        };
        assert_eq!((segment.addr, segment.perm), (image.load_bias, Perm::RX));
        let function = image.symbols.function_named("__vdso_clock_gettime");
        assert!(function.is_some_and(|function| function.addr > image.load_bias));
    }
}
