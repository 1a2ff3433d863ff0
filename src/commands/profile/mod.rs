//! `hps profile`: where the time of a program goes, exactly; or a profile that HPS collects.

mod annotate;
mod charged;
mod collected;
mod exact;
mod exhaustive;
mod export;
mod json;
mod save;
mod tables;
mod timeline;

use crate::cli::ProfileArgs;

/// Profiles a program and prints what is found.
pub fn profile(args: &ProfileArgs) -> anyhow::Result<u8> {
    match args.collected_kind() {
        Some(kind) => collected::collected(args, kind),
        None => exact::exact(args),
    }
}
