//! Programs in a checkpoint: the bytes of their files, from which they are read again.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::CheckpointError;
use super::files::Written;
use super::session::{loading, saving};
use crate::image::{ImageSource, ProgramImage};

#[derive(Serialize, Deserialize)]
struct Saved {
    source: ImageSource,
    bytes: Written,
}

impl Serialize for ProgramImage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (source, bytes) = self.source();
        let bytes = saving(|saving| saving.put(bytes));
        let bytes = bytes.ok_or_else(|| S::Error::custom("no checkpoint is being written"))?;
        Saved { source, bytes }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ProgramImage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Saved { source, bytes } = Saved::deserialize(deserializer)?;
        let image = loading(|loading| {
            let bytes = loading.get(&bytes)?;
            ProgramImage::from_source(&source, &bytes).map_err(|cause| CheckpointError::Damaged {
                what: cause.to_string(),
            })
        });
        image.ok_or_else(|| D::Error::custom("no checkpoint is being read"))
    }
}
