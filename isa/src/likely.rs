//! Hints for the compiler: which way a branch goes nearly always. The compiler moves the other way out of line, so
//! that the host takes fewer branches. Nothing but speed depends on the hints.

/// Marks a path that is rarely taken.
#[cold]
#[inline(always)]
const fn aside() {}

/// The condition, which is nearly always true.
#[inline(always)]
#[must_use]
pub const fn often(condition: bool) -> bool {
    if !condition {
        aside();
    }
    condition
}

/// The condition, which is nearly always false.
#[inline(always)]
#[must_use]
pub const fn seldom(condition: bool) -> bool {
    if condition {
        aside();
    }
    condition
}
