//! The exact profile as files, one for each key.

use std::path::Path;

use hps_profilers::views::keyed;
use serde_json::json;

use super::exact::Shown;
use crate::saved::SavedProfiles;

/// Bytes that the file of calling contexts may have.
const MOST_BYTES: u64 = 49_000_000;

/// Writes the exact profiles into a folder.
pub(super) fn write(shown: &Shown<'_>, folder: &Path) -> anyhow::Result<()> {
    let (ran, exact) = (&shown.truth.ran, &shown.truth.exact);
    let mut configuration = json!({
        "collected": "exact",
        "args": ran.provenance.args,
        "seed": ran.provenance.seed,
        "machine": ran.provenance.machine.as_ref().map(|m| m.config.to_ron()),
        "core_driven_by": ran.provenance.machine.as_ref().map(|m| m.core.name()),
    });
    if let Some(seed) = ran.provenance.address_seed {
        configuration["address_seed"] = json!(seed);
    }
    let program = (shown.args.subject.program(), shown.image.hash.as_str());
    let saved = SavedProfiles::new(folder, program, configuration)?;
    let saved = saved.with_objects(shown.symbols);
    let (parts, instructions) = (exact.units_per_cycle, shown.instructions);
    saved.write_kind(keyed::by_instruction(exact), parts)?;
    saved.write_kind(keyed::by_block(instructions), parts)?;
    saved.write_kind(keyed::by_line(instructions, shown.symbols), parts)?;
    saved.write_kind(keyed::by_function(exact, shown.map), parts)?;
    let (contexts, depth) = keyed::by_context(exact, MOST_BYTES);
    saved.write_kind(contexts, parts)?;
    if let Some((kept, deepest)) = depth.cut_at() {
        say!(
            "hps: {}: contexts are {deepest} calls deep; those deeper than {kept} count for the one around them, since \
             the file of all contexts would be larger than {} MB",
            folder.display(),
            MOST_BYTES / 1_000_000
        );
    }
    saved.write_kind(keyed::by_event_stack(instructions), parts)?;
    if let Some(series) = &shown.truth.timeline {
        saved.write_kind(keyed::over_time(series), 1)?;
    }
    Ok(())
}
