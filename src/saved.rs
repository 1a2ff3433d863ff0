//! Profiles as files of a folder, one for each key.

use std::fs;
use std::path::Path;

use anyhow::Context;
use hps_profile::{Profile, ProfileDocument, ProfileHeader, ProfileKey, Unit};
use serde_json::Value;

/// A folder for the profiles of one run.
pub struct SavedProfiles<'a> {
    folder: &'a Path,
    header: ProfileHeader,
}

impl<'a> SavedProfiles<'a> {
    /// Makes the folder. The profiles are of this program, collected in this way.
    pub fn new(
        folder: &'a Path,
        (program, hash): (&str, &str),
        configuration: Value,
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| {
            let folder = folder.display();
            format!("{folder}: cannot be made; choose another folder with --out")
        })?;
        let header = ProfileHeader {
            program: program.to_string(),
            program_hash: hash.to_string(),
            version: hps_lab::VERSION.to_string(),
            configuration,
            kind: hps_profile::Function::KIND,
            unit: String::new(),
            parts: 1,
            total: 0,
            summary: Value::Null,
        };
        Ok(SavedProfiles { folder, header })
    }

    /// Writes one, whose weights are so many parts of its unit, as NAME.json.
    pub fn write<K: ProfileKey, U: Unit>(
        &self,
        name: &str,
        profile: Profile<K, U>,
        parts: u64,
    ) -> anyhow::Result<()> {
        let path = self.folder.join(name).with_extension("json");
        let header = ProfileHeader {
            parts,
            ..self.header.clone()
        };
        let write = || -> anyhow::Result<()> {
            let file = std::io::BufWriter::new(fs::File::create(&path)?);
            Ok(ProfileDocument::new(header, profile).write(file)?)
        };
        write().with_context(|| {
            let path = path.display();
            format!("{path}: cannot be written; choose another folder with --out")
        })
    }

    /// Writes one under the name of its kind.
    pub fn write_kind<K: ProfileKey, U: Unit>(
        &self,
        profile: Profile<K, U>,
        parts: u64,
    ) -> anyhow::Result<()> {
        self.write(K::KIND.name(), profile, parts)
    }
}
