//! What guest programs get from outside, as options of commands say it.

use anyhow::Context;
use hps_lab::{Files, GuestLimits, GuestOptions, ThreadRules};
use hps_sim_core::os::{Output, Stdin};

use crate::cli::GuestArgs;

/// What the options give to a program; streams pass through.
pub fn guest_options(guest: &GuestArgs) -> anyhow::Result<GuestOptions> {
    let mut env = Vec::new();
    for pair in &guest.env {
        let (name, value) = pair
            .split_once('=')
            .with_context(|| format!("--env {pair}: write NAME=VALUE"))?;
        env.push((name.to_string(), value.to_string()));
    }
    let files = match &guest.root {
        _ if guest.no_files => Files::None,
        Some(root) => Files::Under {
            root: root.clone(),
            writable: guest.writable,
        },
        None => Files::WorkingFolder,
    };
    Ok(GuestOptions {
        files,
        cwd: guest.cwd.clone(),
        env,
        seed: guest.seed,
        threads: ThreadRules {
            slice_ns: guest.time_slice,
            seed: guest.thread_seed,
            limit: guest.max_threads,
        },
        limits: GuestLimits {
            memory_bytes: guest.memory_limit << 20,
            output_bytes: guest.output_limit.map(|mib| mib << 20),
            file_bytes: Some(guest.file_limit << 20),
            time_seconds: guest.time_limit,
            open_files: guest.max_open_files,
        },
        stdin: Stdin::Inherit,
        stdout: Output::Inherit,
        stderr: Output::Inherit,
    })
}
