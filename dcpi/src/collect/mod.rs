//! Collection: a probe that samples a run without changing it, and the truth of the same run.

mod image_map;
mod observer;
mod sampler;
mod table;
pub mod truth;

pub use image_map::ObjectSamples;
pub use observer::Observer;
pub use sampler::{DELIVERY_CYCLES, Follow, Plan};
pub use table::{ReadTable, TableObserver};
