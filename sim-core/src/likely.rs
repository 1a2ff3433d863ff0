//! What the compiler can't know of a branch: which way it goes nearly always. It lays the other way aside, so that
//! the host takes fewer branches. Nothing but speed depends on it.

/// A path that leads here is seldom taken.
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
