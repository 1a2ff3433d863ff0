//! DISE: an editor in the decode stage, with the conditional control that HPS adds.
//!
//! A [`ProductionSet`] is read from production files ([`ProductionSet::parse`]); it brings tables,
//! handlers as guest code, data areas and initial values of DISE registers. A [`DiseEngine`]
//! holds the tables and is what a machine asks while it decodes
//! ([`hps_isa::editor::DecodeEditor`]).
//!
//! | module | job |
//! | --- | --- |
//! | [`pattern`] | patterns and their specificity |
//! | [`flags`] | conditions on counters |
//! | [`tables`] | productions as the tables hold them, instantiation |
//! | [`counters`] | counters, flags, the journal that repairs wrong paths |
//! | [`residency`] | tables that are too small: misses |
//! | [`engine`] | decisions |
//! | [`set`] | sets of productions from files |
//! | [`mod@check`], [`mod@explain`] | what a set takes and does |
//! | [`names`] | names of classes, operations, registers |
//!
//! # Example
//!
//! ```
//! use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
//!
//! let text = "
//!     param every = 1000;                       # can be set by the caller
//!     register period = dr0;
//!     init period = MAX - every;
//!     counter 1 = period;
//!     Count:  T.OPCLASS == load && !overflow_1 => null, inc_1
//!     Sample: T.OPCLASS == load && overflow_1 => { addi dr2, T.RS, T.IMM ; call(Seen) ; T.INSN }, set_1(period)
//!     handler Seen { d_ret }
//! ";
//! let set = ProductionSet::parse(text, "loads.dise", &LoadOptions::with_params([("every", 10)]))?;
//! let mut engine = DiseEngine::new(&set, &DiseConfig::default())?;
//! let mut regs = [0; hps_isa::inst::reg::COUNT];
//! set.init_registers(&mut regs);
//! engine.reset(&regs);
//! assert_eq!(engine.counters()[1], u32::MAX - 10);
//! # Ok::<(), hps_dise::DiseError>(())
//! ```
//!
//! # The production language
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod check;
pub mod config;
mod context_tables;
pub mod counters;
pub mod engine;
pub mod error;
pub mod explain;
pub mod flags;
mod lang;
pub mod names;
pub mod pattern;
pub mod residency;
pub mod set;
pub mod stats;
pub mod tables;

pub use check::{Conflict, Report, check};
pub use config::{DiseConfig, ExpansionCost};
pub use context_tables::ContextTables;
pub use engine::{DiseEngine, Drain};
pub use error::{Diagnostic, DiseError};
pub use explain::{Case, Explanation, Group, explain, explain_classes};
pub use lang::constant::load_immediate;
pub use set::{DataArea, HANDLER_BASE, Handler, LoadOptions, ProductionSet};
pub use stats::{DiseStats, ProductionStats};
