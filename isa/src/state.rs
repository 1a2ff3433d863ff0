//! Changes of a run to its parts, as bytes, for checkpoints in files.
//!
//! A part is restored in place, into one that was made from the same description: sizes and parameters stay those of the
//! new part, and bytes of other sizes are an error. [`save_state!`](crate::save_state) lists the fields of a part once,
//! for both directions; a field that the list lacks does not compile.

use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;

use bitvec::vec::BitVec;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::code::HandlerLink;
use crate::editor::{Interruptible, NoEditor};
use crate::hart::{GuestCounters, Hart};
use crate::ids::DisePc;
use crate::inst::{Inst, OpClass};
use crate::probe::NoProbe;
use crate::trap::TrapCause;

/// A part of a simulation whose state can be saved and restored.
pub trait SaveState {
    /// Appends the state to bytes.
    fn save_to(&self, to: &mut Vec<u8>);

    /// Takes its state from bytes. After an error the part is of no use.
    ///
    /// # Errors
    /// [`StateError`].
    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError>;

    /// Whether it is a value, which may come and go, and no part that the description says to be there or not.
    fn is_value() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Makes a value from bytes.
    ///
    /// # Errors
    /// [`StateError`]; of a part always.
    fn made_from(_from: &mut Saved<'_>) -> Result<Self, StateError>
    where
        Self: Sized,
    {
        Err(StateError::OtherShape("a part is not there"))
    }
}

/// Why a state cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The bytes are not those that were saved.
    #[error(
        "the saved state is damaged: its bytes do not have the checksum that was saved with them"
    )]
    Damaged,
    /// The bytes end too early or too late, or a value in them has no meaning.
    #[error("the saved state is none that this version writes for such a run")]
    Malformed,
    /// The state is that of a machine or a run of another kind.
    #[error(
        "the saved state is that of another machine, or of a run that was set up in another way: {0}"
    )]
    OtherShape(&'static str),
}

/// Bytes of a state from which parts take theirs, one behind the other.
pub struct Saved<'a>(&'a [u8]);

impl Saved<'_> {
    /// Takes a value.
    ///
    /// # Errors
    /// [`StateError::Malformed`].
    pub fn value<T: DeserializeOwned>(&mut self) -> Result<T, StateError> {
        let taken = postcard::take_from_bytes(self.0);
        let (value, rest) = taken.map_err(|_| StateError::Malformed)?;
        self.0 = rest;
        Ok(value)
    }

    /// Takes a value that has to be equal to one of the part.
    ///
    /// # Errors
    /// [`StateError::OtherShape`] with `what` if it is another one.
    pub fn expect<T>(&mut self, value: &T, what: &'static str) -> Result<(), StateError>
    where
        T: DeserializeOwned + PartialEq,
    {
        if self.value::<T>()? == *value {
            return Ok(());
        }
        Err(StateError::OtherShape(what))
    }
}

/// Appends a value for [`Saved::value`].
pub fn save_value<T: Serialize + ?Sized>(value: &T, to: &mut Vec<u8>) {
    *to = postcard::to_extend(value, std::mem::take(to)).expect("the value of a plain type");
}

const CHECKSUM_BYTES: usize = 4;

/// The state of a part as bytes, behind the name of what it is and before a checksum.
#[must_use]
pub fn to_bytes(kind: &str, part: &dyn SaveState) -> Vec<u8> {
    let mut bytes = Vec::new();
    save_value(kind, &mut bytes);
    part.save_to(&mut bytes);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Restores a part from what [`to_bytes`] gave of one of equal description.
///
/// # Errors
/// [`StateError`]; the part is of no use then.
pub fn from_bytes(
    kind: &'static str,
    part: &mut dyn SaveState,
    bytes: &[u8],
) -> Result<(), StateError> {
    let state = bytes.split_last_chunk::<CHECKSUM_BYTES>();
    let (state, checksum) = state.ok_or(StateError::Damaged)?;
    if crc32fast::hash(state).to_le_bytes() != *checksum {
        return Err(StateError::Damaged);
    }
    let mut from = Saved(state);
    from.expect(&kind.to_string(), kind)?;
    part.restore_from(&mut from)?;
    match from.0 {
        [] => Ok(()),
        _ => Err(StateError::Malformed),
    }
}

/// Implements [`SaveState`](crate::state::SaveState) for a struct by a list of all its fields.
///
/// A field behind which nothing stands is saved by its own type. Behind others stands how:
/// - `skip`: not saved, since the description of the part says it, or since it is found again when it is asked for;
/// - `same`: a value that the description says, and that has to be the one that was saved;
/// - `each`: a vector whose length the description says; `nested`: one of such vectors;
/// - `list`: a vector of parts that are made by their `Default`, whose length the state says;
#[macro_export]
macro_rules! save_state {
    (@save $to:ident, $field:ident) => {
        $crate::state::SaveState::save_to($field, $to)
    };
    (@save $to:ident, $field:ident, skip) => {
        let _ = $field;
    };
    (@save $to:ident, $field:ident, each) => {
        $crate::state::SaveState::save_to(&$field[..], $to)
    };
    (@save $to:ident, $field:ident, nested) => {
        $field.iter().for_each(|each| $crate::state::SaveState::save_to(&each[..], $to))
    };
    (@save $to:ident, $field:ident, list) => {
        $crate::state::SaveState::save_to(&$field[..], $to)
    };
    (@save $to:ident, $field:ident, same) => {
        $crate::state::save_value($field, $to)
    };
    (@restore $from:ident, $field:ident) => {
        $crate::state::SaveState::restore_from($field, $from)?
    };
    (@restore $from:ident, $field:ident, skip) => {
        let _ = $field;
    };
    (@restore $from:ident, $field:ident, each) => {
        $crate::state::SaveState::restore_from(&mut $field[..], $from)?
    };
    (@restore $from:ident, $field:ident, nested) => {
        for each in $field.iter_mut() {
            $crate::state::SaveState::restore_from(&mut each[..], $from)?;
        }
    };
    (@restore $from:ident, $field:ident, list) => {
        $crate::state::restore_list($field, $from)?
    };
    (@restore $from:ident, $field:ident, same) => {
        $from.expect($field, stringify!($field))?
    };
    (impl[$($generics:tt)*] $part:ty { $($field:ident $(: $how:ident)?),* $(,)? }) => {
        impl<$($generics)*> $crate::state::SaveState for $part {
            fn save_to(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                let _ = &to;
                $($crate::save_state!(@save to, $field $(, $how)?);)*
            }

            fn restore_from(
                &mut self,
                from: &mut $crate::state::Saved<'_>,
            ) -> Result<(), $crate::state::StateError> {
                let Self { $($field),* } = self;
                let _ = &from;
                $($crate::save_state!(@restore from, $field $(, $how)?);)*
                Ok(())
            }
        }
    };
    ($($part:tt)+) => {
        $crate::save_state!(impl[] $($part)+);
    };
}

/// Implements [`SaveState`](crate::state::SaveState) for types whose values `serde` writes and makes.
#[macro_export]
macro_rules! save_values {
    ($($value:ty),+ $(,)?) => {$(
        impl $crate::state::SaveState for $value {
            fn save_to(&self, to: &mut Vec<u8>) {
                $crate::state::save_value(self, to);
            }

            fn restore_from(
                &mut self,
                from: &mut $crate::state::Saved<'_>,
            ) -> Result<(), $crate::state::StateError> {
                *self = from.value()?;
                Ok(())
            }

            fn is_value() -> bool {
                true
            }

            fn made_from(
                from: &mut $crate::state::Saved<'_>,
            ) -> Result<Self, $crate::state::StateError> {
                from.value()
            }
        }
    )+};
}

save_values!(
    Range<u64>,
    bool,
    u8,
    u16,
    u32,
    u64,
    usize,
    i8,
    i16,
    i32,
    i64,
    f64
);

save_values!(
    Inst,
    OpClass,
    DisePc,
    TrapCause,
    HandlerLink,
    GuestCounters,
    NoEditor,
    NoProbe
);

save_state! { Hart { r, pc, disepc, fcsr, reservation, counters, selected } }

impl<E: SaveState> SaveState for Interruptible<E> {
    fn save_to(&self, to: &mut Vec<u8>) {
        self.0.save_to(to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.0.restore_from(from)
    }
}

impl<A: SaveState, B: SaveState> SaveState for (A, B) {
    fn save_to(&self, to: &mut Vec<u8>) {
        self.0.save_to(to);
        self.1.save_to(to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.0.restore_from(from)?;
        self.1.restore_from(from)
    }
}

impl<T: SaveState> SaveState for [T] {
    fn save_to(&self, to: &mut Vec<u8>) {
        save_value(&self.len(), to);
        self.iter().for_each(|one| one.save_to(to));
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        from.expect(&self.len(), "a table has another size")?;
        self.iter_mut().try_for_each(|one| one.restore_from(from))
    }
}

impl<T: SaveState, const N: usize> SaveState for [T; N] {
    fn save_to(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|one| one.save_to(to));
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.iter_mut().try_for_each(|one| one.restore_from(from))
    }
}

impl<T: SaveState + ?Sized> SaveState for Box<T> {
    fn save_to(&self, to: &mut Vec<u8>) {
        (**self).save_to(to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        (**self).restore_from(from)
    }
}

/// A value, or a part that the description says to be there or not.
impl<T: SaveState> SaveState for Option<T> {
    fn save_to(&self, to: &mut Vec<u8>) {
        save_value(&self.is_some(), to);
        if let Some(part) = self {
            part.save_to(to);
        }
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        match (self.as_mut(), from.value()?) {
            (Some(part), true) => part.restore_from(from)?,
            (None, true) => *self = Some(T::made_from(from)?),
            (Some(_), false) if !T::is_value() => {
                return Err(StateError::OtherShape("a part was not there"));
            }
            (_, false) => *self = None,
        }
        Ok(())
    }

    fn is_value() -> bool {
        T::is_value()
    }
}

/// Implements [`SaveState`] for lists of plain values, whose lengths the state says. They keep their capacity.
macro_rules! lists {
    ($($list:ident),+) => {$(
        impl<T: Serialize + DeserializeOwned> SaveState for $list<T> {
            fn save_to(&self, to: &mut Vec<u8>) {
                save_value(self, to);
            }

            fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
                self.clear();
                self.extend(from.value::<Vec<T>>()?);
                Ok(())
            }

            fn is_value() -> bool {
                true
            }

            fn made_from(from: &mut Saved<'_>) -> Result<Self, StateError> {
                from.value()
            }
        }
    )+};
}

lists!(Vec, VecDeque);

/// Saves in order, so that equal states are equal bytes.
impl<T: Serialize + DeserializeOwned + Ord + Clone> SaveState for BinaryHeap<T> {
    fn save_to(&self, to: &mut Vec<u8>) {
        save_value(&self.clone().into_sorted_vec(), to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.clear();
        self.extend(from.value::<Vec<T>>()?);
        Ok(())
    }
}

/// The description says the length.
impl SaveState for BitVec {
    fn save_to(&self, to: &mut Vec<u8>) {
        save_value(&self.iter().by_vals().collect::<Vec<bool>>(), to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let bits: Vec<bool> = from.value()?;
        if bits.len() != self.len() {
            return Err(StateError::OtherShape("a set has another size"));
        }
        self.clear();
        self.extend(bits);
        Ok(())
    }
}

/// Saves in order of keys, so that equal states are equal bytes.
impl<K, V, S> SaveState for HashMap<K, V, S>
where
    K: Serialize + DeserializeOwned + Hash + Ord,
    V: Serialize + DeserializeOwned,
    S: BuildHasher,
{
    fn save_to(&self, to: &mut Vec<u8>) {
        let mut entries: Vec<(&K, &V)> = self.iter().collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        save_value(&entries, to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.clear();
        self.extend(from.value::<Vec<(K, V)>>()?);
        Ok(())
    }
}

/// Saves in order, so that equal states are equal bytes.
impl<T, S> SaveState for HashSet<T, S>
where
    T: Serialize + DeserializeOwned + Hash + Ord,
    S: BuildHasher,
{
    fn save_to(&self, to: &mut Vec<u8>) {
        let mut all: Vec<&T> = self.iter().collect();
        all.sort_unstable();
        save_value(&all, to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.clear();
        self.extend(from.value::<Vec<T>>()?);
        Ok(())
    }
}

/// Restores a vector of parts.
///
/// # Errors
/// [`StateError`].
pub fn restore_list<T: SaveState + Default>(
    list: &mut Vec<T>,
    from: &mut Saved<'_>,
) -> Result<(), StateError> {
    list.clear();
    for _ in 0..from.value::<usize>()? {
        let mut one = T::default();
        one.restore_from(from)?;
        list.push(one);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Part {
        size: usize,
        table: Box<[u64]>,
        list: Vec<(u8, i64)>,
        map: HashMap<u64, u32>,
        inner: Option<Box<[u16; 2]>>,
    }

    save_state!(Part {
        size: skip,
        table,
        list,
        map,
        inner,
    });

    fn fresh(size: usize) -> Part {
        Part {
            size,
            table: vec![0; size].into(),
            list: Vec::new(),
            map: HashMap::new(),
            inner: Some(Box::new([0; 2])),
        }
    }

    fn used() -> Part {
        let mut part = fresh(3);
        part.table.copy_from_slice(&[1, u64::MAX, 300]);
        part.list = vec![(1, -1), (2, i64::MIN)];
        part.map = (0..9).map(|key| (key * 77, 5)).collect();
        part.inner = Some(Box::new([7, 70]));
        part
    }

    #[test]
    fn a_part_is_as_it_was_saved() {
        let bytes = to_bytes("part", &used());
        let mut part = fresh(3);
        assert_eq!(from_bytes("part", &mut part, &bytes), Ok(()));
        assert_eq!(part, used());
        assert_eq!(to_bytes("part", &part), bytes);
    }

    #[test]
    fn parts_of_other_shapes_are_refused() {
        let bytes = to_bytes("part", &used());
        let other = from_bytes("part", &mut fresh(4), &bytes);
        assert_eq!(
            other,
            Err(StateError::OtherShape("a table has another size"))
        );
        let mut without = fresh(3);
        without.inner = None;
        let other = from_bytes("part", &mut without, &bytes);
        assert_eq!(other, Err(StateError::OtherShape("a part is not there")));
    }

    #[test]
    fn the_state_of_something_else_is_refused() {
        let bytes = to_bytes("whole", &used());
        let other = from_bytes("part", &mut fresh(3), &bytes);
        assert_eq!(other, Err(StateError::OtherShape("part")));
    }

    #[test]
    fn damaged_bytes_are_errors() {
        let bytes = to_bytes("part", &used());
        for length in 0..bytes.len() {
            assert!(from_bytes("part", &mut fresh(3), &bytes[..length]).is_err());
        }
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                from_bytes("part", &mut fresh(3), &bytes),
                Err(StateError::Damaged)
            );
        }
    }
}

/// Arrays of more elements than `serde` writes.
pub mod array {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the elements as a list.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<T: Serialize, S: Serializer, const N: usize>(
        value: &[T; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value[..].serialize(serializer)
    }

    /// Reads a list of as many elements.
    ///
    /// # Errors
    /// Errors of the deserializer, and a list of another length.
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[T; N], D::Error> {
        let all = Vec::<T>::deserialize(deserializer)?;
        let len = all.len();
        all.try_into()
            .map_err(|_| D::Error::invalid_length(len, &"the length of an array"))
    }
}
