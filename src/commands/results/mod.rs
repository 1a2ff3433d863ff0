//! `hps results`: tables of results that are stored.

mod convert;
mod documents;
pub mod profiles;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Context;
use hps_experiments::frames;
use hps_frames::Schema;
use serde_json::Value;

use super::{dcpi, shadow, shim};

pub use convert::results;

/// Declarations of all tables.
pub fn schemas() -> Vec<Schema> {
    let mut all = frames::schemas();
    all.extend(profiles::schemas());
    all.extend(dcpi::results::schemas());
    all.extend(shadow::results::schemas());
    all.extend(shim::results::schemas());
    all
}

/// JSON Schemas of all tables and documents, by their formats.
fn json_schemas() -> Vec<(&'static str, Value)> {
    let tables = schemas().into_iter();
    let tables = tables.map(|schema| (schema.name, schema.json_schema()));
    let documents = documents::all().into_iter();
    let documents = documents.map(|one| (one.format.name, one.schema));
    tables.chain(documents).collect()
}

/// Names and texts of the files of all JSON Schemas.
fn schema_files() -> anyhow::Result<Vec<(String, String)>> {
    let file = |(name, schema): (&str, Value)| {
        let text = serde_json::to_string_pretty(&schema)? + "\n";
        Ok((format!("{name}.schema.json"), text))
    };
    json_schemas().into_iter().map(file).collect()
}

/// Writes the JSON Schema of each table and document into a folder.
pub fn write_schemas(folder: &Path) -> anyhow::Result<u8> {
    let written = || -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (name, text) in schema_files()? {
            std::fs::write(folder.join(name), text)?;
        }
        Ok(())
    };
    written().with_context(|| format!("{}: cannot be written", folder.display()))?;
    Ok(0)
}
