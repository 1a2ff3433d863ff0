//! Three parts of one's own: a machine, a profiler and a kind of profile, none of which the lab knows.
//!
//! Each is a few lines here, and one place says that it takes part: the machine is text, the profiler goes into the
//! list of those that watch, and the kind of profile into the registry of those that can be read.
//!
//! `cargo run --release --example extend`
#![allow(clippy::print_stdout)] // The numbers are what this program is for.

use hps_lab::{Isa, Lab, Watch};
use hps_pipeline::config::MachineConfig;
use hps_profile::{
    Cycles, KeyKind, KeyRegistry, Profile, ProfileDocument, ProfileHeader, ProfileKey, Unit,
};
use hps_profilers::Period;
use hps_profilers::beat::key_of;
use hps_profilers::policy::{Moment, Policy};
use hps_profilers::sampler::Credits;
use serde::{Deserialize, Serialize};

/// A machine: a preset whose memory is twice as far away.
const MACHINE: &str = r#"(base: "hps-4wide", memory: (latency_cycles: 200))"#;

/// A profiler that blames the youngest instruction of the group that commits in the cycle of a sample, or next.
#[derive(Clone)]
struct Youngest;

hps_isa::save_state! { Youngest {} }

impl Policy for Youngest {
    fn name(&self) -> &'static str {
        "youngest"
    }

    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool {
        match moment.beat.group.last() {
            Some(commit) => credits.credit(key_of(commit), commit.events),
            None => credits.lost += 1,
        }
        false
    }
}

/// A kind of profile: cycles by page of 256 bytes of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Page(u64);

impl ProfileKey for Page {
    const KIND: KeyKind = KeyKind::new("page");
    const TITLE: &'static str = "page of code";

    fn frames(&self, symbol: &dyn Fn(u64) -> Option<String>) -> Vec<String> {
        vec![self.label(symbol)]
    }

    fn label(&self, symbol: &dyn Fn(u64) -> Option<String>) -> String {
        let first = self.0 << 8;
        format!("{first:#x} {}", symbol(first).unwrap_or_default())
    }
}

fn main() -> anyhow::Result<()> {
    let machine = MachineConfig::from_ron(MACHINE, "far.ron")?;
    let truth = Lab::program("parse", Isa::Riscv64)?
        .args(["small"])
        .on_machine(&machine)
        .limit(1_000_000)
        .watched(Watch {
            samplers: vec![(Box::new(Youngest), Period::cycles(997))],
            ..Watch::default()
        })?;

    let (mut exact, mut sampled) = (Profile::<_, Cycles>::default(), Profile::new());
    for row in &truth.exact.rows {
        exact.add(Page(row.of.key.pc >> 8), row.units());
    }
    for (key, units) in truth.sampled[0].credits.by_instruction() {
        sampled.add(Page(key.pc >> 8), units);
    }
    let overlap = hps_profile::overlap_without_cut(&sampled, &exact);
    println!(
        "by page of code, the profiler overlaps with the truth by {:.1}%",
        100.0 * overlap
    );

    let header = ProfileHeader {
        program: "parse".to_string(),
        program_hash: truth.ran.provenance.program_hash.clone(),
        version: hps_lab::VERSION.to_string(),
        configuration: serde_json::json!({ "machine": machine.name }),
        kind: Page::KIND,
        unit: Cycles::NAME.to_string(),
        parts: truth.exact.units_per_cycle,
        total: 0,
        summary: serde_json::Value::Null,
        objects: Vec::new(),
    };
    let mut file = Vec::new();
    ProfileDocument::new(header, exact).write(&mut file)?;
    let read = KeyRegistry::builtin().with::<Page>().read(&file[..])?;
    println!(
        "a file of {} bytes was read back as {:?}",
        file.len(),
        read.header().kind
    );
    Ok(())
}
