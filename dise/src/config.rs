//! Sizes and costs of the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::DiseError;

/// The most pattern-table entries a set of productions may have: one bit each in the mask that
/// is kept beside every decoded instruction.
pub const MAX_PATTERNS: usize = 32;

/// The most DISE counters an engine can have (two flags each in a 32-bit word).
pub const MAX_COUNTERS: usize = 16;

/// The most instructions a replacement sequence may have (`DISEPC` is 8 bits wide).
pub const MAX_SEQUENCE: usize = 255;

/// Decode cost of replacing one instruction (DISE, ISCA 2003, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpansionCost {
    /// Nothing beyond the inserted instructions.
    Free,
    /// One cycle of decode stall for each expansion: what the HPS report models (section 5).
    #[default]
    Stall,
    /// One more decode stage for every instruction, and no stall.
    ExtraStage,
}

/// Sizes and costs of a [`crate::DiseEngine`]. The defaults are those of the HPS report
/// (section 5) where it gives them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiseConfig {
    /// Pattern-table entries, 1 to 32. Sets that need more patterns than this (but at most 32)
    /// run with pattern-table misses.
    pub pt_entries: usize,
    /// Replacement-table entries; each replacement instruction occupies one.
    pub rt_entries: usize,
    /// Size of one replacement-table entry in bytes. Used for reporting table sizes.
    pub rt_entry_bytes: usize,
    /// Conditionals-table entries, one for each microinstruction. Productions with the same control
    /// share its list. Sets with more run with conditionals-table misses.
    pub ct_entries: usize,
    /// Cost of one expansion.
    pub expansion_cost: ExpansionCost,
    /// Decode stall of a pattern-, replacement- or conditionals-table miss, in cycles.
    pub rt_miss_cycles: u32,
    /// Decode stall of a replacement-table miss on a composed sequence, in cycles.
    pub composed_miss_cycles: u32,
    /// Undo the counter updates of squashed instructions. When false, wrong paths leave their
    /// marks on the counters.
    pub repair_counters: bool,
    /// DISE counters, 1 to 16, numbered from 0.
    pub counters: usize,
}

impl Default for DiseConfig {
    fn default() -> Self {
        DiseConfig {
            pt_entries: 32,
            rt_entries: 2048,
            rt_entry_bytes: 8,
            ct_entries: 16,
            expansion_cost: ExpansionCost::Stall,
            rt_miss_cycles: 30,
            composed_miss_cycles: 150,
            repair_counters: true,
            counters: 4,
        }
    }
}

impl DiseConfig {
    /// Checks every value against what the engine can do.
    ///
    /// # Errors
    /// [`DiseError::Config`] names the field, its value and what is allowed.
    pub fn validate(&self) -> Result<(), DiseError> {
        let ranges = [
            ("pt_entries", self.pt_entries, 1, MAX_PATTERNS),
            ("rt_entries", self.rt_entries, 1, 1 << 20),
            ("rt_entry_bytes", self.rt_entry_bytes, 1, 64),
            ("ct_entries", self.ct_entries, 0, 1 << 16),
            ("rt_miss_cycles", self.rt_miss_cycles as usize, 0, 1_000_000),
            (
                "composed_miss_cycles",
                self.composed_miss_cycles as usize,
                0,
                1_000_000,
            ),
            ("counters", self.counters, 1, MAX_COUNTERS),
        ];
        for (field, value, least, most) in ranges {
            if value < least || value > most {
                return Err(DiseError::Config {
                    field,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid() {
        assert!(DiseConfig::default().validate().is_ok());
    }

    #[test]
    fn impossible_sizes_are_named() {
        let config = DiseConfig {
            pt_entries: 33,
            ..DiseConfig::default()
        };
        let message = config.validate().unwrap_err().to_string();
        assert_eq!(
            message,
            "DISE configuration: pt_entries is 33, but must be between 1 and 32"
        );
        let config = DiseConfig {
            counters: 0,
            ..DiseConfig::default()
        };
        assert!(
            config
                .validate()
                .unwrap_err()
                .to_string()
                .contains("counters is 0")
        );
    }
}
