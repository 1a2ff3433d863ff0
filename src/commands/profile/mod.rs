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
