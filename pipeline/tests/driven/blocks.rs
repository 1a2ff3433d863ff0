//! Blocks of instructions and runs in parts: the numbers of each instruction by itself, and of one run.

use super::*;

/// Everything that a run has counted, and the registers behind it.
fn numbers(core: &DrivenCore) -> impl PartialEq + std::fmt::Debug + use<> {
    let memory = format!("{:?}", core.memory_stats());
    (
        *core.stats(),
        *core.cpi(),
        memory,
        core.process().thread.hart.clone(),
    )
}

/// Runs a program block by block, and each instruction by itself.
fn agree_with_each_alone(
    config: &MachineConfig,
    start: impl Fn() -> Process,
    most: u64,
    what: &str,
) {
    let mut blocks = driven(config, start(), NoProbe);
    let mut alone = driven(config, start(), NoProbe);
    alone.take_each_alone();
    assert_eq!(blocks.run(most), alone.run(most), "{what}");
    assert_eq!(numbers(&blocks), numbers(&alone), "{what}");
}

#[test]
fn blocks_of_random_programs_are_their_instructions() {
    for name in PRESETS {
        for seed in 7000..7020 {
            for program in [
                exiting(seed, Mix::default()),
                faulting(seed, Mix::default()),
            ] {
                let what = format!("seed {seed} on {name}");
                agree_with_each_alone(&preset(name), || program.process(), u64::MAX, &what);
            }
        }
    }
}

/// Machines whose queues in front of the window are longer and shorter than what comes through the stages before
/// them, and whose window ends at a power of two with them and without.
fn other_front_ends() -> impl Iterator<Item = MachineConfig> {
    let depths = [(6, 1, 16), (1, 6, 16), (5, 2, 8), (3, 3, 4), (2, 1, 40)];
    depths.into_iter().flat_map(|(fetch, decode, buffer)| {
        [32, 64 - buffer, 100].map(|window| {
            let mut config = preset("hps-4wide");
            config.name = format!("{fetch}-{decode}-{buffer}-{window}");
            config.fetch.fetch_to_decode_cycles = fetch;
            config.fetch.fetch_buffer_insts = buffer;
            config.decode.decode_to_dispatch_cycles = decode;
            config.window.rob_entries = window;
            config
        })
    })
}

#[test]
fn any_front_end_takes_blocks_as_their_instructions() {
    for config in other_front_ends() {
        for seed in 7100..7104 {
            let program = exiting(seed, Mix::default());
            let what = format!("seed {seed} on {}", config.name);
            agree_with_each_alone(&config, || program.process(), u64::MAX, &what);
            let straight = exiting(seed, STRAIGHT);
            let mut oracle = Chip::new(&config, straight.process());
            oracle.run_to_end();
            let mut core = driven(&config, straight.process(), NoProbe);
            core.run_to_end();
            assert_eq!(
                core.stats().cycles,
                oracle.stats().cycles,
                "{what}, straight"
            );
        }
    }
}

/// Long enough for what is rare: a queue that is full when the first instruction of a block comes, or twice in
/// one block on a wrong path.
#[test]
fn blocks_of_the_project_s_programs_are_their_instructions() {
    std::thread::scope(|scope| {
        for isa in Isa::ALL {
            scope.spawn(move || {
                for w in hps_workloads::all() {
                    for name in ["tiny-2wide", "ev6"] {
                        let what = format!("{} ({isa}) on {name}", w.name);
                        let start = || workload(w, isa);
                        agree_with_each_alone(&preset(name), start, 1_000_000, &what);
                    }
                }
            });
        }
    });
}

#[test]
fn a_run_is_the_same_however_it_is_cut() {
    for (w, isa, name) in workloads() {
        let config = preset(name);
        let mut whole = driven(&config, workload(w, isa), NoProbe);
        assert_eq!(whole.run(60_000), Stop::Limit);
        for piece in [1, 1000, 7001] {
            let mut parts = driven(&config, workload(w, isa), NoProbe);
            while parts.stats().commit_program_instructions < 60_000 {
                let left = 60_000 - parts.stats().commit_program_instructions;
                assert_eq!(parts.run(piece.min(left)), Stop::Limit);
            }
            let what = format!("{} ({isa}) on {name} in pieces of {piece}", w.name);
            assert_eq!(numbers(&parts), numbers(&whole), "{what}");
        }
    }
}
