//! Collection: a probe that samples a run without changing it, and the truth of the same run.

mod observer;
mod sampler;
pub mod truth;

pub use observer::Observer;
pub use sampler::{DELIVERY_CYCLES, Follow, Plan};
