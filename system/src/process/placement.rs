//! Addresses of the areas that the kernel places: fixed ones, or drawn by a seed as Linux draws them (address space layout
//! randomization).

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::random::Random;

use super::ProcessConfig;
use crate::image::ProgramImage;
use crate::os::OsInterface;

/// Bits of a page number that Linux draws on riscv64 for the program, the heap, and `mmap` (`ARCH_MMAP_RND_BITS` is 18;
/// `arch_randomize_brk` draws from 1 GiB).
const PAGE_BITS: u32 = 18;
/// Bits for the stack, for which [`layout`] has less room than Linux, which draws 18 on riscv64.
const STACK_BITS: u32 = 14;
/// Bits for the vDSO, which Linux places with `mmap`.
const VDSO_BITS: u32 = 13;
/// Bits for the stack on Alpha: `STACK_RND_MASK` is 0x7ff of pages of 4 KiB (Linux `mm/util.c`).
const ALPHA_STACK_BITS: u32 = 10;

/// Addresses of the areas of a process that the kernel places. The default: fixed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placement {
    /// Distance of a position-independent program from [`layout::PIE_BASE`].
    pub image: u64,
    /// Distance of the heap from the end of the program.
    pub heap: u64,
    /// `mmap` chooses addresses below this one, and the loader ends here.
    pub mmap_top: u64,
    /// The first address above the stack.
    pub stack_top: u64,
    /// Address of the vDSO's data page.
    pub vdso: u64,
}

impl Default for Placement {
    fn default() -> Self {
        Placement {
            image: 0,
            heap: 0,
            mmap_top: layout::MMAP_TOP,
            stack_top: layout::STACK_TOP,
            vdso: layout::VDSO,
        }
    }
}

impl Placement {
    /// Draws a placement for a program, if there is something to draw from. Linux on Alpha moves the stack alone
    /// (it has no `ARCH_HAS_ELF_RANDOMIZE`).
    pub fn draw(random: Option<&mut Random>, image: &ProgramImage) -> Placement {
        let fixed = Placement::default();
        let Some(random) = random else { return fixed };
        let page_bytes = image.os.page_bytes(image.isa);
        let mut distance = |bits| (random.number() >> (u64::BITS - bits)) * page_bytes;
        match (image.os, image.isa) {
            (OsInterface::Osf1, _) => fixed,
            (OsInterface::Linux, Isa::Alpha) => Placement {
                stack_top: fixed.stack_top - distance(ALPHA_STACK_BITS),
                ..fixed
            },
            (OsInterface::Linux, Isa::Riscv64) => Placement {
                image: distance(PAGE_BITS),
                heap: distance(PAGE_BITS),
                mmap_top: fixed.mmap_top - distance(PAGE_BITS),
                stack_top: fixed.stack_top - distance(STACK_BITS),
                vdso: fixed.vdso + distance(VDSO_BITS),
            },
        }
    }

    /// A program where it lies.
    pub fn of_program(&self, image: &Arc<ProgramImage>) -> Arc<ProgramImage> {
        image.at(layout::PIE_BASE + self.image)
    }

    /// A loader, which was parsed for the fixed place, where it lies.
    pub fn of_loader(&self, image: &Arc<ProgramImage>) -> Arc<ProgramImage> {
        image.at(image.load_bias - (layout::MMAP_TOP - self.mmap_top))
    }
}

impl ProcessConfig {
    /// The program where a process of this configuration has it: a position-independent one moves if addresses are drawn
    /// by a [seed](ProcessConfig::address_seed).
    #[must_use]
    pub fn placed(&self, image: &Arc<ProgramImage>) -> Arc<ProgramImage> {
        let mut random = self.address_seed.map(Random::new);
        Placement::draw(random.as_mut(), image).of_program(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that can be drawn lies where the layout has room for it.
    #[test]
    fn what_is_drawn_fits_into_the_layout() {
        const PAGE: u64 = 4096;
        let most = |bits: u32| ((1 << bits) - 1) * PAGE;
        let stack_bottom = layout::STACK_TOP - most(STACK_BITS) - layout::STACK_BYTES;
        let vdso_end = layout::VDSO + most(VDSO_BITS) + layout::VDSO_BYTES;
        const { assert!(layout::TRAMPOLINE + PAGE < layout::VDSO) };
        assert!(vdso_end < stack_bottom);
        assert!(most(ALPHA_STACK_BITS) * 2 < most(STACK_BITS));
        // A program and its heap have a gigabyte each, and `mmap` has more than five.
        assert!(layout::PIE_BASE + 2 * most(PAGE_BITS) + (2 << 30) < layout::IMAGE_TOP);
        assert!(layout::MMAP_TOP - most(PAGE_BITS) > layout::MMAP_FLOOR + (5 << 30));
    }
}
