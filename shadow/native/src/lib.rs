#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod calls;
pub mod export;
mod follow;
pub mod layout;
pub mod library;
pub mod overhead;
pub mod profiles;
pub mod session;
mod start;
mod tree;
mod walk;

pub use profiles::Profiles;
pub use session::{Mode, Monitor, Request, Session, Shadow};
