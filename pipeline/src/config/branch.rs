//! Branch prediction: direction, targets, returns.

use super::node::{config_enum, config_section};

config_section! {
    /// Branch prediction.
    BranchConfig patched by BranchPatch {
        /// Direction of conditional branches.
        predictor: Predictor = Predictor::Tournament(TournamentConfig::default()), "predictor";
        /// Branch target buffer.
        btb: BtbConfig = BtbConfig::default(), "section";
        /// Return address stack; 0 has none (returns are then predicted as indirect jumps).
        ras_entries: u32 = 16, "entries";
        /// What a squash does to the return address stack.
        ras_repair: RasRepair = RasRepair::TopEntry, "policy";
        /// Target cache for indirect jumps and calls, tagged with the history.
        indirect: IndirectConfig = IndirectConfig::default(), "section";
        /// When the history of directions and targets learns of a branch.
        #[serde(skip_serializing_if = "HistoryUpdate::is_speculative")]
        history_update: HistoryUpdate = HistoryUpdate::Speculative, "policy";
        /// Cycles from the end of a mispredicted branch's execution until the right path is fetched, as of further stages
        /// in front that only a misprediction fills again.
        #[serde(skip_serializing_if = "is_zero")]
        mispredict_extra_cycles: u32 = 0, "cycles";
    }
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

config_enum! {
    /// When the history of directions and targets learns of a branch. The return address stack always follows the
    /// predicted path.
    HistoryUpdate {
        /// When it is fetched, by its prediction; a squash takes that back.
        Speculative,
        /// When it commits, by its outcome: the branches in flight are in no history.
        AtCommit,
    }
}

impl HistoryUpdate {
    fn is_speculative(&self) -> bool {
        *self == HistoryUpdate::Speculative
    }
}

config_enum! {
    /// Predictor of the direction of conditional branches.
    Predictor {
        /// Every direction and target is right (needs the outcome at fetch).
        Perfect,
        /// Every conditional branch is taken.
        AlwaysTaken,
        /// No conditional branch is taken.
        AlwaysNotTaken,
        /// Two-bit counters by address.
        Bimodal(BimodalConfig),
        /// Two-bit counters by address xor global history (McFarling, 1993).
        Gshare(GshareConfig),
        /// Local and global history with a chooser, as in the Alpha 21264 (Kessler, 1999).
        Tournament(TournamentConfig),
        /// Weighted votes of the last directions (Jiménez and Lin, 2001).
        Perceptron(PerceptronConfig),
        /// Tagged tables with geometric history lengths (Seznec and Michaud, 2006).
        Tage(TageConfig),
    }
}

config_enum! {
    /// Repair of the return address stack by a squash.
    RasRepair {
        /// Nothing: the calls and returns of wrong paths stay.
        None,
        /// The pointer and the entry on top come back (Skadron et al., 1998). Entries below that a
        /// wrong path overwrote stay so.
        TopEntry,
        /// Everything comes back.
        Full,
    }
}

config_section! {
    /// Bimodal predictor.
    BimodalConfig patched by BimodalPatch {
        /// Two-bit counters, a power of two.
        entries: u32 = 2048, "entries";
    }
}

config_section! {
    /// Gshare predictor.
    GshareConfig patched by GsharePatch {
        /// Two-bit counters, a power of two.
        entries: u32 = 4096, "entries";
        /// Global history, at most log2 of the entries.
        history_bits: u32 = 12, "bits";
    }
}

config_section! {
    /// Tournament predictor: the defaults are the Alpha 21264's.
    TournamentConfig patched by TournamentPatch {
        /// Local histories, a power of two.
        local_history_entries: u32 = 1024, "entries";
        /// Length of a local history.
        local_history_bits: u32 = 10, "bits";
        /// Width of the counters that the local histories select.
        local_counter_bits: u32 = 3, "bits";
        /// Global two-bit counters, a power of two; its log2 is the length of the history.
        global_entries: u32 = 4096, "entries";
        /// Two-bit choosers by global history, a power of two.
        chooser_entries: u32 = 4096, "entries";
    }
}

config_section! {
    /// Perceptron predictor.
    PerceptronConfig patched by PerceptronPatch {
        /// Perceptrons, a power of two.
        entries: u32 = 512, "entries";
        /// Global history, and so the weights of each perceptron besides its bias.
        history_bits: u32 = 28, "bits";
    }
}

config_section! {
    /// TAGE predictor.
    TageConfig patched by TagePatch {
        /// Base bimodal table, a power of two.
        base_entries: u32 = 4096, "entries";
        /// Tagged tables.
        tables: u32 = 6, "tables";
        /// Entries of each tagged table, a power of two.
        table_entries: u32 = 1024, "entries";
        /// Tags.
        tag_bits: u32 = 10, "bits";
        /// History of the first tagged table.
        min_history_bits: u32 = 5, "bits";
        /// History of the last tagged table; those between grow geometrically.
        max_history_bits: u32 = 130, "bits";
        /// The useful bits are aged once in this many trained conditional branches.
        useful_reset_interval_branches: u64 = 262_144, "branches";
    }
}

config_section! {
    /// Branch target buffer.
    BtbConfig patched by BtbPatch {
        /// All entries; entries / ways is a power of two. 0 has none: every taken branch waits for
        /// decode to compute its target.
        entries: u32 = 2048, "entries";
        /// Associativity.
        ways: u32 = 4, "ways";
        /// Bits of the address kept as tag above the set index; fewer bits may alias.
        tag_bits: u32 = 16, "bits";
    }
}

config_section! {
    /// Target cache for indirect jumps and calls.
    IndirectConfig patched by IndirectPatch {
        /// Entries, a power of two; 0 has none (the branch target buffer predicts the last target).
        entries: u32 = 512, "entries";
        /// Global history (of branch directions and target bits) in index and tag.
        history_bits: u32 = 10, "bits";
        /// Tags.
        tag_bits: u32 = 10, "bits";
    }
}
