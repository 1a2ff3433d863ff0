//! How fields are written that mean something outside of their own bytes: modules for `#[serde(with)]`.

use std::collections::BTreeMap;
use std::fs::File;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use rustc_hash::FxHashMap;
use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::session::{loading, saving};
use crate::host::sys::fd::{AsFd, BorrowedFd, OwnedFd};

/// The text of errors whose reason the session knows.
const FAILED: &str = "see the session";

/// A value whose meaning a session knows, or a collection of such values.
pub(crate) trait Kept: Sized {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Fields of a [`Kept`] type.
pub(crate) mod kept {
    use super::{Deserializer, Kept, Serializer};

    pub(crate) fn serialize<T: Kept, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.keep(serializer)
    }

    pub(crate) fn deserialize<'de, T: Kept, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::bring(deserializer)
    }
}

/// A borrowed value that is written as [`Kept`] says.
struct Outward<'a, T>(&'a T);

impl<T: Kept> Serialize for Outward<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.keep(serializer)
    }
}

/// A value that is read as [`Kept`] says.
struct Inward<T>(T);

impl<'de, T: Kept> Deserialize<'de> for Inward<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::bring(deserializer).map(Inward)
    }
}

impl<T: Kept> Kept for Vec<T> {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Outward))
    }

    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::<Inward<T>>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|Inward(value)| value).collect())
    }
}

impl<T: Kept> Kept for Option<T> {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Outward).serialize(serializer)
    }

    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<Inward<T>>::deserialize(deserializer)?;
        Ok(value.map(|Inward(value)| value))
    }
}

impl<K: Serialize + DeserializeOwned + Ord, T: Kept> Kept for BTreeMap<K, T> {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value)| (key, Outward(value))))
    }

    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<K, Inward<T>>::deserialize(deserializer)?;
        Ok(all
            .into_iter()
            .map(|(key, Inward(value))| (key, value))
            .collect())
    }
}

impl<T: Kept> Kept for (u64, T) {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.0, Outward(&self.1)).serialize(serializer)
    }

    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (first, Inward(value)) = <(u64, Inward<T>)>::deserialize(deserializer)?;
        Ok((first, value))
    }
}

/// A shared value: its number, and with the first number of all that share it the value itself.
impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Kept for Arc<T> {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = Arc::as_ptr(self).cast::<()>() as usize;
        let (number, is_known) = saving(|saving| Ok(saving.number_of(address)))
            .ok_or_else(|| S::Error::custom(FAILED))?;
        (number, (!is_known).then_some(&**self)).serialize(serializer)
    }

    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, SharedVisitor(PhantomData))
    }
}

struct SharedVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned + Send + Sync + 'static> Visitor<'de> for SharedVisitor<T> {
    type Value = Arc<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a shared value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Arc<T>, A::Error> {
        let failed = || A::Error::custom(FAILED);
        let number: u32 = parts.next_element()?.ok_or_else(failed)?;
        let is_next = loading(|loading| Ok(loading.begin_shared(number)));
        let is_next = is_next.ok_or_else(failed)?;
        let value: Option<T> = parts.next_element()?.ok_or_else(failed)?;
        match (value, is_next) {
            (Some(value), true) => {
                let value = Arc::new(value);
                loading(|loading| {
                    loading.keep_shared(number, &value);
                    Ok(())
                });
                Ok(value)
            }
            (None, false) => loading(|loading| Ok(loading.shared(number)))
                .flatten()
                .ok_or_else(failed),
            _ => Err(failed()),
        }
    }
}

/// A value that others hold; nothing if they hold it no more.
impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Kept for Weak<T> {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.upgrade().keep(serializer)
    }

    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The session holds it until whoever owns it has been read.
        let value = Option::<Arc<T>>::bring(deserializer)?;
        Ok(value.as_ref().map(Arc::downgrade).unwrap_or_default())
    }
}

/// A text of the program itself. (`serde` takes a reference for a part of its input.)
pub(crate) type StaticText = &'static str;

/// Texts of the program itself.
pub(crate) mod text {
    use super::{Deserialize, Deserializer, FAILED, Serializer, loading};
    use serde::de::Error;

    pub(crate) fn serialize<S: Serializer>(
        text: &&'static str,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static str, D::Error> {
        let text = String::deserialize(deserializer)?;
        loading(|loading| Ok(loading.text(text))).ok_or_else(|| D::Error::custom(FAILED))
    }
}

/// An open file of the host, by its number in the table of files.
impl Kept for File {
    fn keep<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(self.as_fd(), serializer)
    }

    fn bring<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = reopened::<D>(deserializer)?;
        file.try_clone().map_err(D::Error::custom)
    }
}

fn number<S: Serializer>(fd: BorrowedFd<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let number = saving(|saving| saving.file(fd));
    let number = number.ok_or_else(|| S::Error::custom(FAILED))?;
    number.serialize(serializer)
}

fn reopened<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<File>, D::Error> {
    let number = u32::deserialize(deserializer)?;
    let file = loading(|loading| Ok(loading.files.file(number))).flatten();
    file.ok_or_else(|| D::Error::custom(FAILED))
}

/// Files that several hold.
pub(crate) mod held {
    use super::{Arc, AsFd, Deserializer, File, Serializer, number, reopened};

    pub(crate) fn serialize<S: Serializer>(
        file: &Arc<File>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        number(file.as_fd(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<File>, D::Error> {
        reopened::<D>(deserializer)
    }
}

/// Folders and other nodes of the root.
pub(crate) mod folder {
    use super::{Arc, AsFd, Deserializer, OwnedFd, Serializer, number, reopened};
    use serde::de::Error;

    pub(crate) fn serialize<S: Serializer>(
        folder: &Arc<OwnedFd>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        number(folder.as_fd(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<OwnedFd>, D::Error> {
        let file = reopened::<D>(deserializer)?;
        let folder = crate::checkpoint::files::descriptor(&file);
        folder.map(Arc::new).map_err(D::Error::custom)
    }
}

/// A folder that may not be there.
pub(crate) mod folder_option {
    use super::{Arc, Deserialize, Deserializer, OwnedFd, Serialize, Serializer, folder};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct One(#[serde(with = "folder")] Arc<OwnedFd>);

    pub(crate) fn serialize<S: Serializer>(
        folder: &Option<Arc<OwnedFd>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        folder.clone().map(One).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<OwnedFd>>, D::Error> {
        Ok(Option::<One>::deserialize(deserializer)?.map(|One(folder)| folder))
    }
}

/// Devices of the host.
pub(crate) mod device {
    use super::{Deserialize, Deserializer, FAILED, Serialize, Serializer, loading};
    use serde::de::Error;

    pub(crate) fn serialize<S: Serializer>(
        device: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        device.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        let before = Option::<u64>::deserialize(deserializer)?;
        let now = loading(|loading| Ok(before.map(|device| loading.files.device(device))));
        now.ok_or_else(|| D::Error::custom(FAILED))
    }
}

type Identity = (u64, u64);

/// Device and number of a file of the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfFile(pub Identity);

impl Serialize for OfFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OfFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let before = Identity::deserialize(deserializer)?;
        let now = loading(|loading| Ok(loading.files.identity(before)));
        now.map(OfFile).ok_or_else(|| D::Error::custom(FAILED))
    }
}

/// Numbers of files: device and number.
pub(crate) mod identity {
    use super::{Deserialize, Deserializer, Identity, OfFile, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        identity: &Identity,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        OfFile(*identity).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Identity, D::Error> {
        OfFile::deserialize(deserializer).map(|OfFile(identity)| identity)
    }
}

/// Maps by numbers of files.
pub(crate) mod identities {
    use super::{
        BTreeMap, Deserialize, DeserializeOwned, Deserializer, Identity, OfFile, Serialize,
        Serializer,
    };

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        map: &BTreeMap<Identity, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter().map(|(key, value)| (OfFile(*key), value)))
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Identity, T>, D::Error> {
        let all = Vec::<(OfFile, T)>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|(key, value)| (key.0, value)).collect())
    }
}

/// Lists of numbers of files.
pub(crate) mod identity_list {
    use super::{Deserialize, Deserializer, Identity, OfFile, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        list: &[Identity],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().map(|identity| OfFile(*identity)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Identity>, D::Error> {
        let all = Vec::<OfFile>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|OfFile(identity)| identity).collect())
    }
}

/// Maps to numbers of files.
pub(crate) mod to_identities {
    use super::{Deserialize, Deserializer, FxHashMap, Identity, OfFile, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        map: &FxHashMap<i32, Identity>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter().map(|(key, identity)| (key, OfFile(*identity))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<FxHashMap<i32, Identity>, D::Error> {
        let all = Vec::<(i32, OfFile)>::deserialize(deserializer)?;
        Ok(all
            .into_iter()
            .map(|(key, identity)| (key, identity.0))
            .collect())
    }
}
