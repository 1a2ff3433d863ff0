//! The workloads: threaded code against single steps, and what probes see against the plain loop.

use std::path::Path;
use std::sync::Arc;

use hps_isa::inst::Inst;
use hps_isa::isa::Isa;
use hps_isa::probe::{NoProbe, Probe};
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;

use super::pair::{Pair, machine};

const INSTRUCTIONS: u64 = 300_000;

/// The workloads of every instruction set.
fn images() -> Vec<Arc<ProgramImage>> {
    Isa::ALL.into_iter().flat_map(images_of).collect()
}

fn images_of(isa: Isa) -> Vec<Arc<ProgramImage>> {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/images");
    let folder = images.join(isa.name());
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("the workloads' images are in {}: {e}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 10, "{} images", paths.len());
    let load = |path: &std::path::PathBuf| ProgramImage::load(path).expect("a valid image");
    paths.iter().map(load).map(Arc::new).collect()
}

/// Lengths of runs around every limit of threaded code (32 instructions in a block, 1024 in one
/// go), and of no special size.
struct Pieces(u64);

impl Iterator for Pieces {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        const EDGES: [u64; 12] = [0, 1, 31, 32, 33, 64, 65, 1023, 1025, 1055, 1056, 1057];
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let noise = self.0 >> 33;
        Some(if noise.is_multiple_of(3) {
            EDGES[(noise / 3) as usize % EDGES.len()]
        } else {
            noise / 3 % 5000
        })
    }
}

#[test]
fn threaded_code_stops_where_single_steps_do() {
    for (seed, image) in images().iter().enumerate() {
        let mut pair = Pair::new(image, &["program", "small"]);
        let mut pieces = Pieces(seed as u64);
        while pair.single.retired.program < INSTRUCTIONS {
            let stop = pair.run_in_pieces(pieces.by_ref().take(1));
            assert_eq!(stop, Stop::Limit, "{} ended", image.name);
        }
    }
}

/// Events of memory and control that a probe is told of. A probe that wants every instruction is served by the plain
/// loop.
#[derive(Default)]
struct Events<const PLAIN: bool>(Vec<(u64, Inst, u64, bool)>);

impl<const PLAIN: bool> Probe for Events<PLAIN> {
    const WANTS_RETIRED: bool = PLAIN;
    const WANTS_MEMORY: bool = true;
    const WANTS_CONTROL: bool = true;
    fn memory(&mut self, pc: u64, inst: &Inst, addr: u64) {
        self.0.push((pc, *inst, addr, false));
    }
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        self.0.push((pc, *inst, target, taken));
    }
}

#[test]
fn probes_see_what_they_see_in_the_plain_loop() {
    for (seed, image) in images().iter().enumerate() {
        let (mut threaded, mut plain) = (
            machine(image, &["p", "small"]),
            machine(image, &["p", "small"]),
        );
        for (turn, piece) in Pieces(seed as u64).enumerate() {
            if plain.retired.program >= INSTRUCTIONS / 2 {
                break;
            }
            // Every now and then without a probe: blocks made for one must not serve the other.
            if turn % 8 == 7 {
                threaded.run(&mut NoProbe, piece);
                plain.run(&mut NoProbe, piece);
                continue;
            }
            let (mut seen, mut expected) = (Events::<false>::default(), Events::<true>::default());
            threaded.run(&mut seen, piece);
            plain.run(&mut expected, piece);
            let differs = seen.0.iter().zip(&expected.0).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{}: an event is not the same", image.name);
            assert_eq!(seen.0.len(), expected.0.len(), "{}: events", image.name);
            assert_eq!(threaded.process.thread.hart, plain.process.thread.hart);
        }
    }
}
