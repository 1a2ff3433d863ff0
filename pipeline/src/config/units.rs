//! Functional units: named pools, and for each class of instructions the pool it uses.

use super::node::{KeyDoc, Node, Place, config_section, document_value, print_value};
use hps_isa::inst::{ALL_CLASSES, Op, OpClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers by name: units in each pool, cycles of single operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Named(pub BTreeMap<String, u32>);

impl Node for Named {
    type Patch = BTreeMap<String, u32>;

    /// Replaces the numbers of those that are named, adds new ones and keeps the others.
    fn apply(&mut self, patch: Self::Patch) {
        self.0.extend(patch);
    }

    fn document(&self, place: Place, out: &mut Vec<KeyDoc>) {
        document_value(self, place, out);
    }

    fn print(&self, place: &Place, indent: usize, out: &mut String) {
        print_value(self, place, indent, out);
    }
}

fn pools(counts: &[(&str, u32)]) -> Named {
    Named(
        counts
            .iter()
            .map(|&(name, count)| (name.to_string(), count))
            .collect(),
    )
}

fn unit(pool: &str, latency_cycles: u32, interval_cycles: u32) -> UnitConfig {
    UnitConfig {
        pool: pool.to_string(),
        latency_cycles,
        interval_cycles,
    }
}

config_section! {
    /// Which unit executes a class of instructions, and how long.
    UnitConfig patched by UnitPatch {
        /// Pool of units that executes the class.
        pool: String = "int_alu".to_string(), "pool name";
        /// From the first cycle of execution to the result.
        latency_cycles: u32 = 1, "cycles";
        /// From one start to the next on the same unit: 1 is fully pipelined.
        interval_cycles: u32 = 1, "cycles";
    }
}

config_section! {
    /// Functional units. System, CSR and fence instructions use `int_alu`, branches of
    /// replacement sequences use `branch`, all jumps, calls and returns too.
    UnitsConfig patched by UnitsPatch {
        /// Units in each pool. A pool that several classes name is shared by them.
        pools: Named = pools(&[
            ("int_alu", 4), ("int_mul_div", 1), ("fp_add", 2), ("fp_mul_div", 1), ("load", 2),
            ("store", 1), ("branch", 2),
        ]), "units by pool name";
        /// Integer arithmetic, logic, moves.
        int_alu: UnitConfig = unit("int_alu", 1, 1), "section";
        /// Integer multiplication.
        int_mul: UnitConfig = unit("int_mul_div", 3, 1), "section";
        /// Integer division and remainder.
        int_div: UnitConfig = unit("int_mul_div", 20, 19), "section";
        /// Floating-point addition, subtraction, comparison, minimum, maximum.
        fp_add: UnitConfig = unit("fp_add", 2, 1), "section";
        /// Floating-point multiplication.
        fp_mul: UnitConfig = unit("fp_mul_div", 4, 1), "section";
        /// Fused multiply and add.
        fp_fma: UnitConfig = unit("fp_mul_div", 4, 1), "section";
        /// Floating-point division.
        fp_div: UnitConfig = unit("fp_mul_div", 12, 12), "section";
        /// Floating-point square root.
        fp_sqrt: UnitConfig = unit("fp_mul_div", 24, 24), "section";
        /// Conversions, moves between register files, sign injection, classification.
        fp_cvt: UnitConfig = unit("fp_add", 2, 1), "section";
        /// Loads. The latency is that of the address; the cache's hit time comes on top.
        load: UnitConfig = unit("load", 1, 1), "section";
        /// Stores. The latency is that of the address; the write happens after commit.
        store: UnitConfig = unit("store", 1, 1), "section";
        /// Atomic memory operations. Address latency; the cache's hit time comes on top.
        atomic: UnitConfig = unit("load", 1, 1), "section";
        /// Branches, jumps, calls and returns.
        branch: UnitConfig = unit("branch", 1, 1), "section";
        /// A load into a floating-point register takes so much longer than one into an integer
        /// register.
        fp_load_extra_cycles: u32 = 0, "cycles";
        /// Latency of single operations, by mnemonic, where it is not that of their class; they hold
        /// their unit no longer. Out of order only multiplications, divisions and floating-point
        /// arithmetic can differ.
        operations: Named = Named::default(), "cycles by mnemonic";
    }
}

impl UnitsConfig {
    /// The unit of a class of instructions, and the key that describes it.
    #[must_use]
    pub fn of(&self, class: OpClass) -> (&'static str, &UnitConfig) {
        match class {
            OpClass::Illegal
            | OpClass::IntAlu
            | OpClass::Syscall
            | OpClass::Break
            | OpClass::Fence
            | OpClass::FenceI
            | OpClass::Csr
            | OpClass::DiseDrain => ("int_alu", &self.int_alu),
            OpClass::IntMul => ("int_mul", &self.int_mul),
            OpClass::IntDiv => ("int_div", &self.int_div),
            OpClass::FpAdd => ("fp_add", &self.fp_add),
            OpClass::FpMul => ("fp_mul", &self.fp_mul),
            OpClass::FpFma => ("fp_fma", &self.fp_fma),
            OpClass::FpDiv => ("fp_div", &self.fp_div),
            OpClass::FpSqrt => ("fp_sqrt", &self.fp_sqrt),
            OpClass::FpCvt => ("fp_cvt", &self.fp_cvt),
            OpClass::Load => ("load", &self.load),
            OpClass::Store => ("store", &self.store),
            OpClass::Atomic => ("atomic", &self.atomic),
            OpClass::Branch
            | OpClass::Jump
            | OpClass::JumpIndirect
            | OpClass::Call
            | OpClass::CallIndirect
            | OpClass::Return
            | OpClass::DiseBranch
            | OpClass::DiseCall
            | OpClass::DiseReturn => ("branch", &self.branch),
        }
    }

    /// Every class key with its unit, in the order of the file.
    #[must_use]
    pub fn classes(&self) -> [(&'static str, &UnitConfig); 13] {
        [
            ("int_alu", &self.int_alu),
            ("int_mul", &self.int_mul),
            ("int_div", &self.int_div),
            ("fp_add", &self.fp_add),
            ("fp_mul", &self.fp_mul),
            ("fp_fma", &self.fp_fma),
            ("fp_div", &self.fp_div),
            ("fp_sqrt", &self.fp_sqrt),
            ("fp_cvt", &self.fp_cvt),
            ("load", &self.load),
            ("store", &self.store),
            ("atomic", &self.atomic),
            ("branch", &self.branch),
        ]
    }
}

/// How one class executes: an entry of a [`UnitTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTiming {
    /// Index of the pool in [`UnitTable::pool_units`].
    pub pool: u8,
    /// From the first cycle of execution to the result.
    pub latency_cycles: u32,
    /// From one start to the next on the same unit.
    pub interval_cycles: u32,
}

/// The resolved units: an array lookup for each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitTable {
    pool_units: Vec<u32>,
    pool_names: Vec<String>,
    timing: [UnitTiming; OpClass::COUNT],
    /// By operation.
    latency_cycles: Vec<u32>,
}

impl UnitTable {
    /// Resolves the pool names. A class whose pool does not exist gets pool 0; a checked
    /// configuration has none.
    #[must_use]
    pub fn new(units: &UnitsConfig) -> Self {
        let pool_names: Vec<String> = units.pools.0.keys().cloned().collect();
        let timing_of = |unit: &UnitConfig| UnitTiming {
            pool: pool_names
                .iter()
                .position(|name| *name == unit.pool)
                .unwrap_or(0) as u8,
            latency_cycles: unit.latency_cycles,
            interval_cycles: unit.interval_cycles,
        };
        let mut timing = [timing_of(&units.int_alu); OpClass::COUNT];
        for class in ALL_CLASSES {
            timing[class as usize] = timing_of(units.of(class).1);
        }
        let latency_of = |op: &Op| {
            let own = units.operations.0.get(op.mnemonic()).copied();
            own.unwrap_or(timing[op.class() as usize].latency_cycles)
        };
        UnitTable {
            pool_units: units.pools.0.values().copied().collect(),
            latency_cycles: Op::ALL.iter().map(latency_of).collect(),
            timing,
            pool_names,
        }
    }

    /// Cycles from the start of an operation to its result.
    #[inline]
    #[must_use]
    pub fn latency_cycles(&self, op: Op) -> u32 {
        self.latency_cycles[op as usize]
    }

    /// How `class` executes.
    #[inline]
    #[must_use]
    pub fn timing(&self, class: OpClass) -> UnitTiming {
        self.timing[class as usize]
    }

    /// Units in each pool, by pool index (the order of the pools' names).
    #[must_use]
    pub fn pool_units(&self) -> &[u32] {
        &self.pool_units
    }

    /// Names of the pools, by pool index.
    #[must_use]
    pub fn pool_names(&self) -> &[String] {
        &self.pool_names
    }
}
