//! pipeline

pub mod config;
