#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod calls;
pub mod export;
mod follow;
pub mod form;
pub mod found;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod inject;
pub mod layout;
pub mod library;
mod memory;
pub mod outcome;
pub mod overhead;
pub mod profiles;
mod reasons;
pub mod session;
mod start;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod trace;
mod tree;
mod walk;

/// Other processors have no library that could be injected.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod inject {
    use std::path::Path;

    pub enum Injected {}

    impl Injected {
        pub fn into_process(_: i32, _: &Path, _: &Path) -> Result<Injected, String> {
            Err("shadows are forked on x86-64 Linux alone".to_owned())
        }

        pub fn into_child(process: i32, library: &Path, region: &Path) -> Result<Injected, String> {
            Injected::into_process(process, library, region)
        }

        pub fn is_there(&self) -> bool {
            match *self {}
        }

        pub fn remove(&self) -> Result<(), String> {
            match *self {}
        }
    }
}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod trace {
    pub fn trace_me() -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

pub use found::{Found, Now, Thread, View};
pub use outcome::{Monitor, Shadow};
pub use profiles::Profiles;
pub use session::{Mode, Request, Session};
