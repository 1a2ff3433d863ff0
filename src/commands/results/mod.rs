//! `hps results`: tables of results that are stored.

mod convert;
pub mod profiles;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Context;
use hps_experiments::frames;
use hps_frames::Schema;

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

/// The name of the file of a table's JSON Schema.
fn file_name(schema: &Schema) -> String {
    format!("{}.schema.json", schema.name)
}

/// The text of the file of a table's JSON Schema.
fn text(schema: &Schema) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&schema.json_schema())? + "\n")
}

/// Writes the JSON Schema of each table into a folder.
pub fn write_schemas(folder: &Path) -> anyhow::Result<u8> {
    let written = || -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)?;
        for schema in schemas() {
            std::fs::write(folder.join(file_name(&schema)), text(&schema)?)?;
        }
        Ok(())
    };
    written().with_context(|| format!("{}: cannot be written", folder.display()))?;
    Ok(0)
}
