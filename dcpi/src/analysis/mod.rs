//! The analysis: from samples to frequencies, cycles of each instruction, and why it stalled (section 6 of the paper).
//!
//! | module | holds |
//! | --- | --- |
//! | `equivalence` | classes of blocks and edges that run equally often |
//! | `frequency` | the estimate of a class from its samples, with a confidence |
//! | `minimums` | minimum head times behind each block that leads to another |
//! | `directions` | estimates that agree with the shares of edges in edge samples |
//! | `flow` | the estimates of least variance, by flow constraints |
//! | `precise` | frequencies with intervals from samples of retired instructions, on any machine |
//! | `procedure` | a procedure by instruction: all of it put together |
//! | `costs` | how long at most what may delay an instruction takes on a machine |
//! | `definitions` | who may have written what an instruction reads |
//! | `culprits` | causes of dynamic stalls that cannot be ruled out, with ranges |
//! | `summary` | where the cycles of a procedure go |

mod costs;
mod culprits;
mod definitions;
pub mod directions;
pub mod equivalence;
pub mod flow;
pub mod frequency;
mod minimums;
pub mod precise;
mod procedure;
mod summary;

pub use costs::Costs;
pub use culprits::{Culprit, Kind};
pub use frequency::{Confidence, Estimate, Growth, Rules};
pub use procedure::{Analyst, InstructionRow, Procedure};
pub use summary::{Cycles, Summary};
