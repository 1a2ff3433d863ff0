//! Storage indexed by ever-growing positions: a power of two of places, addressed by the low bits.

/// A fixed number of places, a power of two; an index counts modulo that number.
///
/// Every structure of the window is one of these. The index is masked instead of checked, which is
/// what a ring needs anyway; the checks of slices were 7% of all host instructions.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    places: Box<[T]>,
    mask: usize,
}

hps_isa::save_state! { impl[T: hps_isa::state::SaveState] Ring<T> { places, mask: skip } }

impl<T: Clone> Ring<T> {
    /// At least `places` places (and at least one) that hold `value`.
    pub fn new(places: usize, value: T) -> Self {
        let size = places.max(1).next_power_of_two();
        Ring {
            places: vec![value; size].into_boxed_slice(),
            mask: size - 1,
        }
    }
}

impl<T: Clone> Ring<T> {
    /// Every place holds `value`.
    pub fn fill(&mut self, value: T) {
        self.places.fill(value);
    }
}

impl<T> Ring<T> {
    /// How many places there are.
    #[inline]
    pub fn places(&self) -> usize {
        self.mask + 1
    }

    #[inline(always)]
    pub fn at(&self, index: usize) -> &T {
        debug_assert_eq!(self.places.len(), self.mask + 1);
        // SAFETY: `mask` is the number of places minus one, and neither ever changes.
        unsafe { self.places.get_unchecked(index & self.mask) }
    }

    /// `count` (a power of two) places from `index` on, which is a multiple of `count`.
    #[inline(always)]
    pub fn run_mut(&mut self, index: usize, count: usize) -> &mut [T] {
        debug_assert!(count <= self.places.len() && index.is_multiple_of(count));
        let first = index & self.mask;
        &mut self.places[first..first + count]
    }

    #[inline(always)]
    pub fn at_mut(&mut self, index: usize) -> &mut T {
        debug_assert_eq!(self.places.len(), self.mask + 1);
        // SAFETY: `mask` is the number of places minus one, and neither ever changes.
        unsafe { self.places.get_unchecked_mut(index & self.mask) }
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn indices_count_modulo_a_power_of_two() {
        let mut ring = Ring::new(5, 0);
        assert_eq!(ring.places(), 8);
        for i in 0..8 {
            *ring.at_mut(i) = i;
        }
        assert_eq!(
            (*ring.at(0), *ring.at(8 + 3), *ring.at(usize::MAX)),
            (0, 3, 7)
        );
        assert_eq!(ring.run_mut(8 + 4, 2), [4, 5]);
        assert_eq!(Ring::new(0, 1).places(), 1);
    }
}
