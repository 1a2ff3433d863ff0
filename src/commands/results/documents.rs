//! JSON documents that are no tables, with their JSON Schemas.

use crate::commands::{
    analyze, bench, collect, dise, doctor, leaderboard, machine, profile, programs, root, run,
    shadow, shim, sweep, validate,
};
use crate::document::Described;
use crate::saved;

/// All of them.
pub fn all() -> Vec<Described> {
    let mut all = vec![
        run::described(),
        sweep::described(),
        root::described(),
        analyze::described(),
        collect::described(),
        saved::described(),
        doctor::described(),
    ];
    all.extend(profile::all_described());
    all.extend(programs::all_described());
    all.extend(leaderboard::all_described());
    all.extend(bench::all_described());
    all.extend(shadow::all_described());
    all.extend(shim::all_described());
    all.extend(validate::all_described());
    all.extend(machine::all_described());
    all.extend(dise::all_described());
    all
}
