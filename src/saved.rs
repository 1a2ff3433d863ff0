//! Profiles as files of a folder, one for each key.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use hps_profile::{
    Profile, ProfileDocument, ProfileFile, ProfileHeader, ProfileKey, ProfileObject, Unit,
};
use hps_system::symbols::{Object, Symbols};
use serde_json::Value;

use crate::document::{Described, Format};

/// The objects of a run, for the header of a profile; none of a program without other objects, whose addresses are the
/// same in each run.
pub fn objects(symbols: &Symbols) -> Vec<ProfileObject> {
    let all = symbols.objects();
    if all.len() < 2 {
        return Vec::new();
    }
    let of = |(at, object): (usize, &Arc<Object>)| {
        let spans = symbols.spans().iter().filter(|(_, of)| *of == at);
        ProfileObject {
            name: object.name().to_owned(),
            build_id: object.build_id().map(str::to_owned),
            load_bias: object.load_bias(),
            code: spans.map(|(range, _)| range.clone().into()).collect(),
        }
    };
    all.iter().enumerate().map(of).collect()
}

/// What commands write as profile files.
pub fn described() -> Described {
    let format = Format::new(hps_profile::FORMAT, hps_profile::FORMAT_VERSION);
    format.described::<ProfileFile>(&[])
}

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
            objects: Vec::new(),
        };
        Ok(SavedProfiles { folder, header })
    }

    /// These profiles with the objects of the run.
    pub fn with_objects(mut self, symbols: &Symbols) -> Self {
        self.header.objects = objects(symbols);
        self
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
