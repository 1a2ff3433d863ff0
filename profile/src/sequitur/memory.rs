//! Large arrays, with what makes the wait for them shorter: large pages and early reads.
//!
//! A grammar of millions of symbols is read all over the place: with pages of 4 KiB nearly every
//! access misses the host's TLBs beside its caches. Linux gives large pages on request where it does
//! not give them to everybody, but seldom for memory that was written to before the request.

/// The least size of an array for which large pages are asked, in bytes: smaller ones are within
/// reach of a TLB.
const LEAST_BYTES: usize = 4 << 20;

/// `count` times `value`.
pub fn filled<T: Copy>(count: usize, value: T) -> Box<[T]> {
    let mut array = with_capacity(count);
    array.resize(count, value);
    array.into_boxed_slice()
}

/// Starts to bring an element into the processor's cache. There need be none at `at`.
#[inline(always)]
pub fn prefetch<T: Copy>(array: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch may be given any address: it changes nothing and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(array.get(at).copied());
}

/// Makes room for `additional` elements; where there is none, twice the room that there was.
#[inline(always)]
pub fn reserve<T: Copy>(array: &mut Vec<T>, additional: usize) {
    if array.capacity() - array.len() < additional {
        grow(array, additional);
    }
}

#[cold]
#[inline(never)]
fn grow<T: Copy>(array: &mut Vec<T>, additional: usize) {
    let capacity = (array.len() + additional).max(array.capacity() * 2);
    if capacity * size_of::<T>() < LEAST_BYTES {
        array.reserve_exact(capacity - array.len());
    } else {
        // A copy: what the allocator moves stays in the pages that it is in.
        let mut larger = with_capacity(capacity);
        larger.extend_from_slice(array);
        *array = larger;
    }
}

fn with_capacity<T: Copy>(capacity: usize) -> Vec<T> {
    let mut array = Vec::with_capacity(capacity);
    if capacity * size_of::<T>() >= LEAST_BYTES {
        ask_for_large_pages(array.spare_capacity_mut());
    }
    array
}

/// Asks for large pages; without effect where there are none.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    /// The usual large page, and a multiple of usual page sizes.
    const PAGE: usize = 2 << 20;
    let bytes = memory.as_mut_ptr_range();
    let start = bytes.start.addr().next_multiple_of(PAGE);
    let end = bytes.end.addr() / PAGE * PAGE;
    if start < end {
        let start = bytes.start.with_addr(start).cast();
        // SAFETY: the range is whole pages of memory that this function has to itself, and the call
        // changes nothing about what they hold. It is a hint: an error is that it was not taken.
        unsafe { libc::madvise(start, end - start.addr(), libc::MADV_HUGEPAGE) };
    }
}

/// Asks for large pages; without effect where there are none.
#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_memory: &mut [std::mem::MaybeUninit<T>]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_below_and_above_the_limit_hold_what_they_should() {
        for count in [1, 1000, 3 << 20] {
            let array = filled(count, 7u64);
            assert_eq!(array.len(), count);
            assert!(array.iter().all(|&value| value == 7));
            prefetch(&array, count);
            prefetch(&array, usize::MAX);
        }
        let mut array = Vec::new();
        for i in 0..1u64 << 20 {
            reserve(&mut array, 3);
            assert!(array.capacity() >= array.len() + 3);
            array.push(i);
        }
        assert!(array.iter().copied().eq(0..1 << 20));
    }
}
