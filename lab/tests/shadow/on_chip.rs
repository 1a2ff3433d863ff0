//! Shadows on other contexts of the chip of their parent: what they see, what they leave alone, what they cost.

use hps_lab::shadow::{Alone, OnChip, profiled_on_chip};
use hps_lab::{CoreKind, Lab, TimedMachine};

use super::*;

fn machine(name: &str) -> TimedMachine {
    TimedMachine::load(name, CoreKind::Cycle).expect("a machine")
}

/// Options of shadows that are not slowed down, and translate nothing.
fn fast(when: When, sample: u64) -> ShadowOptions {
    let mut options = ShadowOptions {
        when,
        ..ShadowOptions::end_to_end(sample)
    };
    options.costs.slowdown = 1.0;
    options.costs.translate_ns = 0.0;
    options
}

fn run<'a>(
    program: &Program,
    graphs: &'a Graphs<'a>,
    machine: &TimedMachine,
    options: &ShadowOptions,
) -> (ShadowOutcome<'a>, OnChip, Alone) {
    let alone = Alone::measure(program, machine).expect("a run");
    let (seen, chip) =
        profiled_on_chip(program, graphs, machine, (&alone, options)).expect("a run");
    (seen, chip, alone)
}

/// A program that a text in assembly describes, with so many bytes of data at `s0`.
fn assembled(text: &str, bytes: u64) -> Program {
    Program::of_image("assembled", assemble::Program::new(text, bytes).image())
}

#[test]
fn samples_end_to_end_on_a_chip_give_the_perfect_profile() {
    let program = small("interp");
    let graphs = Graphs::new(&program.image);
    let (truth, _) = perfect(&program, &graphs, (TableShape::default(), false)).expect("a run");
    for name in ["cmp-4", "smt-2"] {
        let options = fast(When::EndToEnd, 300_001);
        let (seen, chip, _) = run(&program, &graphs, &machine(name), &options);
        assert_eq!(seen.covered, seen.instructions, "{name}");
        assert_equal(&truth, &seen.profiles);
        assert_eq!(seen.divergences, [], "{name}");
        // All shadows but those that still ran at the end of the parent did on the chip what their twins did.
        assert!(chip.ended > 2 && chip.ended + 3 >= seen.shadows, "{name}");
        assert_eq!(chip.apart, 0, "{name}");
    }
}

#[test]
fn no_policy_changes_what_a_parent_on_a_chip_leaves() {
    for seed in 0..6 {
        let folder = || {
            let folder = tempfile::tempdir().expect("a folder");
            std::fs::write(folder.path().join("a"), b"sixteen bytes...").expect("written");
            folder
        };
        let there = folder();
        let program = drawn(seed, there.path(), false);
        let graphs = Graphs::new(&program.image);
        let mut alone = Machine::new(program.start().expect("a process"));
        let stop = alone.run(&mut NoProbe, u64::MAX);
        let expected = left(stop, alone.process.os.captured_stdout(), there.path());
        let mut random = Random::new(seed + 2000);
        let load = When::Load {
            load: 2.0,
            period_ns: 1000.0,
        };
        for (at, when) in [When::EndToEnd, load].into_iter().enumerate() {
            let name = ["cmp-4", "smt-2"][(seed as usize + at) % 2];
            let there = folder();
            let mut program = program.clone();
            program.process.root = Some(there.path().to_path_buf());
            let mut options = fast(when, random.below(2000) + 1);
            let policy = any_policy(&mut random);
            options.policy = Arc::new(policy.compiled());
            options.costs.slowdown = 1.0 + random.below(3) as f64;
            options.costs.fork_ns = 100.0;
            let timed = Alone {
                run: hps_lab::shadow::ChipRun::default(),
                timeline: Timeline::even(alone.retired.program, 1.0),
            };
            let (seen, chip) =
                profiled_on_chip(&program, &graphs, &machine(name), (&timed, &options))
                    .expect("a run");
            assert!(chip.ended > 0, "seed {seed} on {name}");
            let found = left(seen.stop, seen.process.os.captured_stdout(), there.path());
            assert_eq!(
                found, expected,
                "seed {seed} on {name}, {when:?}, {policy:?}"
            );
        }
    }
}

/// Writes to eight pages, waits, writes to five of them again and to two new ones, waits. Wrong paths behind the loop have
/// no address of a new page.
const PAGES: &str = "
    la s0, data
    li a0, 0
    li a1, 8192
    li a2, 3
    li a3, 34
    li a4, -1
    li a5, 0
    li a7, 222
    ecall
    addi s3, a0, 0
    li t2, 4096
    addi t0, s0, 0
    li t1, 8
first:
    sd t1, 0(t0)
    add t0, t0, t2
    addi t1, t1, -1
    bnez t1, first
    li t1, 20000
wait:
    addi t1, t1, -1
    bnez t1, wait
    addi t0, s0, 8
    li t1, 5
again:
    sd t1, 0(t0)
    add t0, t0, t2
    addi t1, t1, -1
    bnez t1, again
    sltiu t3, t1, 1
    mul t0, s3, t3
    sd t2, 0(t0)
    add t0, t0, t2
    sd t2, 0(t0)
    li t1, 200000
last:
    addi t1, t1, -1
    bnez t1, last
    li a0, 0
    li a7, 94
    ecall
";

#[test]
fn the_first_of_two_that_writes_to_a_page_copies_it() {
    let program = assembled(PAGES, 8 * 4096);
    let graphs = Graphs::new(&program.image);
    // The first shadow is forked in the first loop that waits, and lives into the last one, where neither side writes.
    for name in ["smt-2", "cmp-4"] {
        let mut machine = machine(name);
        machine.config.chip.cores = machine.config.chip.cores.min(2);
        let ns_of = |cycles: f64| cycles * 1000.0 / f64::from(machine.config.clock_mhz);
        let when = When::Load {
            load: 1.0,
            period_ns: ns_of(8000.0),
        };
        let mut options = fast(when, 100_000);
        options.costs.signal_ns = ns_of(1000.0);
        options.costs.fork_ns = ns_of(1000.0);
        options.costs.fork_page_ns = 0.0;
        options.costs.fault_ns = ns_of(700.0);
        options.costs.translate_ns = ns_of(200.0);
        let (seen, chip, _) = run(&program, &graphs, &machine, &options);
        assert!(
            seen.shadows > 0 && chip.ended > 0 && chip.apart == 0,
            "{name}"
        );
        // Each writes to the five, of which the first one to come copies each and leaves it to the other, and both make the
        // two new ones.
        let (parent, shadow) = (chip.faults, chip.shadow_faults);
        assert_eq!(parent.copied_pages + parent.reused_pages, 5, "{name}");
        assert_eq!(shadow.copied_pages + shadow.reused_pages, 5, "{name}");
        assert_eq!(parent.copied_pages + shadow.copied_pages, 5, "{name}");
        assert_eq!((parent.made_pages, shadow.made_pages), (2, 2), "{name}");
        // The kernel takes 700 cycles, but for what a conversion to nanoseconds and back may lose, and a copy is a load and a
        // store for each line of the page.
        let lines = 4096 / u64::from(machine.config.memory.l1d.line_bytes);
        let least = 5 * 699 + parent.copied_pages * lines;
        let most = 5 * 702 + parent.copied_pages * 200 * lines;
        assert!(
            (least..=most).contains(&parent.cycles),
            "{name}: {parent:?}"
        );
    }
}

#[test]
fn a_chip_that_is_kept_for_shadows_takes_as_long_as_one_that_is_not() {
    let program = small("bwt");
    for name in ["cmp-4", "smt-2"] {
        let machine = machine(name);
        let alone = Alone::measure(&program, &machine).expect("a run");
        let ran = Lab::of(&program).timed_by(&machine).run().expect("a run");
        assert_eq!(alone.run.cycles, ran.cycles(), "{name}");
    }
}

/// Goes through 64 KiB again and again, which the level 1 cache does not hold.
const STREAM: &str = "
    la s0, data
    li t3, 12
    li t2, 65536
again:
    addi t0, s0, 0
    add t1, t0, t2
step:
    ld t4, 0(t0)
    add t5, t5, t4
    addi t0, t0, 64
    bltu t0, t1, step
    addi t3, t3, -1
    bnez t3, again
    li a0, 0
    li a7, 94
    ecall
";

#[test]
fn a_shadow_on_the_core_of_its_parent_slows_it_down_more_than_keys_say() {
    let program = assembled(STREAM, 65536);
    let graphs = Graphs::new(&program.image);
    let when = When::Load {
        load: 1.0,
        period_ns: 1000.0,
    };
    let mut options = fast(when, 40_000);
    options.costs.fork_ns = 0.0;
    options.costs.fork_page_ns = 0.0;
    options.costs.signal_ns = 0.0;
    let (seen, chip, alone) = run(&program, &graphs, &machine("smt-2"), &options);
    assert!(seen.shadows > 0);
    // Signals, forks and faults cost nothing here: the parent lost all its cycles to sharing with its shadow.
    assert_eq!(
        (chip.signal_cycles, chip.fork_cycles, chip.faults.cycles),
        (0, 0, 0)
    );
    assert!(
        chip.lost_cycles(&alone.run) as u64 > alone.run.cycles / 20,
        "{} of {}",
        chip.lost_cycles(&alone.run),
        alone.run.cycles
    );
}

/// Writes to each line of 128 pages, four times over.
const WRITER: &str = "
    la s0, data
    li t3, 4
    li t2, 524288
again:
    addi t0, s0, 0
    add t1, t0, t2
step:
    sd t3, 0(t0)
    addi t0, t0, 32
    bltu t0, t1, step
    addi t3, t3, -1
    bnez t3, again
    li a0, 0
    li a7, 94
    ecall
";

#[test]
fn what_puts_a_context_off_does_not_end_what_puts_it_off_already() {
    let program = assembled(WRITER, 524_288);
    let graphs = Graphs::new(&program.image);
    let when = When::Load {
        load: 3.0,
        period_ns: 5000.0,
    };
    let mut options = fast(when, 30_000);
    options.costs.fork_ns = 1000.0;
    options.costs.fork_page_ns = 0.0;
    let (seen, chip, alone) = run(&program, &graphs, &machine("cmp-4"), &options);
    assert!(seen.shadows > 1 && chip.faults.copied_pages > 100);
    // Signals come while the kernel serves faults: it does one behind the other, so that the context is idle for all of them.
    let beside = chip.idle_beside_cycles(&alone.run);
    assert!(beside >= 0, "{beside} of {chip:?}");
    let taken = chip.signal_cycles + chip.fork_cycles + chip.faults.cycles;
    assert!(taken < chip.run.cycles, "{taken} of {}", chip.run.cycles);
}
