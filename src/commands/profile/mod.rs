//! `hps profile`: where the time of a program goes, exactly.

mod annotate;
mod apart;
mod charged;
mod exact;
mod export;
mod interpreted;
mod json;
mod save;
mod sliced;
mod tables;
mod timeline;

pub use exact::profile;

use crate::document::Described;

/// What the commands write as JSON.
pub fn all_described() -> Vec<Described> {
    vec![json::described(), apart::described()]
}
