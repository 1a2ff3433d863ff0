//! Cost of an interrupt, and the boundary at which it is taken, against the records of every instruction.

use hps_isa::inst::Op;
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::{MachineConfig, Scheduling, Stages};
use hps_pipeline::core::{StageRecord, StagesProbe};
use hps_pipeline::interrupts::Taken;
use hps_pipeline::pmu::{CounterConfig, Event};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use super::{Code, EMPTY, costs, records};
use crate::common::random::Mix;
use crate::common::{Program, Trace, machine, preset, repeat};
use crate::driven::{LOOPS, exiting};

/// Whether a machine issues in order.
fn is_in_order(config: &MachineConfig) -> bool {
    config.issue.scheduling != Scheduling::OutOfOrder
}

/// A run with interrupts: the committed instructions and the interrupts that were taken.
fn traced(
    config: &MachineConfig,
    code: &Code,
    process: Process,
    counters: &[CounterConfig],
) -> (Vec<StageRecord>, Vec<Taken>) {
    let mut core = code.plain(
        config,
        process,
        counters,
        StagesProbe::new(Trace::default()),
    );
    let stop = core.run_to_end();
    assert!(matches!(stop, Stop::Exit(_)), "{stop:?}");
    let log = core.interrupts().expect("attached").log().to_vec();
    let records = core
        .probe()
        .probe::<Trace>()
        .records
        .iter()
        .filter(|r| !r.squashed);
    (records.copied().collect(), log)
}

/// Checks where each interrupt was taken, and when fetch went to its handler and came back. `warm` is the
/// number of the first interrupt from which on fetch hits.
fn assert_as_the_keys_say(
    config: &MachineConfig,
    handler: u64,
    committed: &[StageRecord],
    log: &[Taken],
    warm: usize,
    what: &str,
) {
    let entries: Vec<usize> = (0..committed.len())
        .filter(|&i| committed[i].pc == handler && committed[i].is_handler)
        .collect();
    // The handler of the last one may not have come so far.
    assert!(
        (entries.len()..=entries.len() + 1).contains(&log.len()),
        "{what}: {} handlers of {} interrupts",
        entries.len(),
        log.len()
    );
    for (n, (&entry, taken)) in entries.iter().zip(log).enumerate() {
        let what = format!("{what}: interrupt {n} of {}: {taken:?}", config.name);
        let recognized = u64::from(config.interrupts.recognition_cycles);
        assert!(
            taken.recognized_cycle >= taken.overflow_cycle + recognized,
            "{what}"
        );
        // The instructions of the program since the last handler. Only a machine that issues in order
        // can be interrupted before there is any.
        let mine = committed[..entry].iter().rev();
        let mine: Vec<&StageRecord> = mine.take_while(|r| r.is_program).collect();
        let Some(before) = mine.first() else {
            assert!(is_in_order(config) && n == 0, "{what}");
            assert_eq!(taken.cycle, taken.recognized_cycle, "{what}");
            continue;
        };
        if is_in_order(config) {
            let ready = before.end_cycle.max(taken.recognized_cycle);
            assert_eq!(taken.cycle, ready, "{what}");
            // Nothing has issued since it was recognized, but for the first one behind a handler, what
            // issued with it until it committed, and what was executed when it was dispatched.
            let first = mine[mine.len() - 1].end_cycle;
            let late = taken.recognized_cycle.max(first + 1);
            assert!(before.issue_cycle < late || is_alone(before), "{what}");
        } else {
            assert_eq!(taken.cycle, before.end_cycle, "{what}");
            assert!(taken.cycle >= taken.recognized_cycle, "{what}");
            // The interrupt is taken at the first boundary.
            for earlier in &mine[1..] {
                assert!(earlier.end_cycle < taken.recognized_cycle, "{what}");
            }
        }
        let behind = committed[entry..]
            .iter()
            .position(|r| r.inst.op == Op::DiseRet);
        let returns = entry + behind.expect("it returns before the run ends");
        assert!(
            committed[entry..=returns].iter().all(|r| r.is_handler),
            "{what}"
        );
        // Where one cycle has all stages, fetch has been in the cycle of the interrupt.
        let fetched = taken.cycle
            + u64::from(config.interrupts.entry_cycles).max(u64::from(takes_one_cycle(config)));
        let Some(next) = committed.get(returns + 1) else {
            continue;
        };
        assert_eq!(next.pc, taken.pc, "{what}");
        assert!(next.is_program, "{what}");
        let again = committed[returns].decode_cycle + u64::from(config.interrupts.return_cycles);
        // Where one cycle has all stages, what is fetched behind has the next one.
        let again = match takes_one_cycle(config) {
            true => again.max(committed[returns].end_cycle + 1),
            false => again,
        };
        if n >= warm {
            assert_eq!(committed[entry].fetch_cycle, fetched, "{what}");
            assert_eq!(next.fetch_cycle, again, "{what}");
        } else {
            assert!(committed[entry].fetch_cycle >= fetched, "{what}");
            assert!(next.fetch_cycle >= again, "{what}");
        }
    }
}

/// Whether an addition can issue a cycle behind one that it needs.
fn forwards(config: &MachineConfig) -> bool {
    match config.issue.stages() {
        Stages::InStep(step) => step.forwarding,
        _ => true,
    }
}

/// Whether one cycle has all stages.
fn takes_one_cycle(config: &MachineConfig) -> bool {
    *config.issue.stages() == Stages::OneCycle
}

/// Whether an instruction executes when it is dispatched, with nothing else in flight.
fn is_alone(record: &StageRecord) -> bool {
    use hps_isa::inst::OpClass;
    matches!(
        record.inst.class,
        OpClass::Syscall | OpClass::Csr | OpClass::FenceI
    )
}

#[test]
fn loops_are_interrupted_where_and_when_the_keys_say() {
    let mut taken = 0;
    for name in crate::common::single_core_presets() {
        for (i, (what, riscv, alpha)) in LOOPS.into_iter().enumerate() {
            for (isa, text) in [(Isa::Riscv64, riscv), (Isa::Alpha, alpha)] {
                let code = Code::new(isa, records(isa));
                let program = Program::of(isa, text, 4096);
                for (period, [recognition, entry, back]) in
                    [(1009, [6, 107, 107]), (701, [1, 0, 0]), (499, [40, 3, 29])]
                {
                    let config = machine(name, |m| {
                        m.memory.page_bytes = 1 << 22;
                        costs(m, recognition, entry, back);
                    });
                    let counter = CounterConfig {
                        skid_cycles: i as u64,
                        ..CounterConfig::timer(period)
                    };
                    let (committed, log) = traced(&config, &code, program.process(), &[counter]);
                    let what = format!("{what}, {isa}, period {period}");
                    // A record is half a line.
                    assert_as_the_keys_say(
                        &config,
                        code.address("Take"),
                        &committed,
                        &log,
                        2,
                        &what,
                    );
                    for (n, t) in log.iter().enumerate() {
                        assert_eq!(
                            t.overflow_cycle,
                            period * (n as u64 + 1),
                            "{what} on {name}"
                        );
                        assert_eq!(
                            t.recognized_cycle,
                            t.overflow_cycle + i as u64 + u64::from(recognition),
                            "{what} on {name}"
                        );
                    }
                    taken += log.len();
                }
            }
        }
    }
    assert!(taken > 2000, "{taken}");
}

#[test]
fn random_programs_are_interrupted_where_the_keys_say() {
    let code = Code::new(Isa::Riscv64, records(Isa::Riscv64));
    let mut taken = 0;
    for (i, name) in crate::common::single_core_presets().into_iter().enumerate() {
        for seed in 5300..5320 {
            let config = preset(name);
            let period = [101, 331, 1009, 2003][(seed as usize + i) % 4];
            let counter = CounterConfig {
                spread: 30,
                seed,
                ..CounterConfig::timer(period)
            };
            let program = exiting(seed, Mix::default());
            let (committed, log) = traced(&config, &code, program.process(), &[counter]);
            let what = format!("seed {seed}, period {period}");
            let handler = code.address("Take");
            assert_as_the_keys_say(&config, handler, &committed, &log, usize::MAX, &what);
            taken += log.len();
        }
    }
    assert!(taken > 1000, "{taken}");
}

/// The cycles of a chain of additions, in so many rounds of 500 instructions, and the interrupts of it, if
/// there is a counter.
fn chain(
    config: &MachineConfig,
    isa: Isa,
    rounds: u64,
    counter: Option<CounterConfig>,
) -> (u64, u64) {
    let (add, end) = match isa {
        Isa::Riscv64 => (
            "add a0, a0, a1",
            "addi s1, s1, -1\nbnez s1, main\nli a7, 93\necall",
        ),
        Isa::Alpha => (
            "addq a0, a1, a0",
            "subq s1, 1, s1\nbne s1, main\nli v0, 1\ncallsys",
        ),
    };
    let body = repeat(498, |_| add.to_string());
    let text = format!("li s1, {rounds}\n.align 64\nmain:\n{body}{end}\n");
    let program = Program::of(isa, &text, 8);
    let code = Code::new(isa, EMPTY);
    // A counter that never overflows is none.
    let never = CounterConfig::timer(1 << 50);
    let counters = [counter.unwrap_or(never)];
    let mut core = code.plain(config, program.process(), &counters, NoProbe);
    assert!(matches!(core.run_to_end(), Stop::Exit(_)));
    let taken = core.interrupts().expect("attached").log().len() as u64;
    if !is_in_order(config) {
        let mut driven = code.plain_driven(config, program.process(), &counters, NoProbe);
        driven.run_to_end();
        assert_eq!(
            driven.stats().cycles,
            core.stats().cycles,
            "{}",
            config.name
        );
        let slots = u64::from(config.window.commit_width) * driven.stats().cycles;
        assert_eq!(driven.cpi().total(), slots, "{}", config.name);
    }
    let slots = u64::from(config.window.commit_width) * core.stats().cycles;
    assert_eq!(core.cpi().total(), slots, "{}", config.name);
    (core.stats().cycles, taken)
}

/// The formula. In a chain of additions, each cycle commits one and issues one. An empty handler is entered,
/// passes fetch and comes to decode, and fetch goes back; then the next addition passes the whole pipeline
/// once, from fetch to commit, where it would have committed in the next cycle. On a machine that issues in
/// order it would have issued in the cycle in which the interrupt is recognized, but first the addition that
/// issued before it commits, which takes what it saves behind issue.
#[test]
fn an_interrupt_costs_entry_handler_return_and_refill() {
    for name in crate::common::single_core_presets() {
        if takes_one_cycle(&preset(name)) || !forwards(&preset(name)) {
            // Nothing has to be filled again, and each instruction of the handler takes a cycle; or additions of a
            // chain commit later than one a cycle.
            continue;
        }
        for isa in Isa::ALL {
            for [entry, back] in [[0, 0], [107, 107], [13, 0], [0, 41]] {
                let config = machine(name, |m| {
                    m.memory.page_bytes = 1 << 22;
                    // Room for the chain and the handler.
                    m.memory.l1i.size_bytes = m.memory.l1i.size_bytes.max(8192);
                    // The chain is interrupted far from its branch.
                    costs(m, 100, entry, back);
                });
                assert_eq!(config.units.int_alu.latency_cycles, 1);
                let counter = CounterConfig::every(Event::INSTRUCTIONS, 1500);
                let cycles = |rounds| chain(&config, isa, rounds, None).0;
                let [(few, taken_few), (many, taken_many)] =
                    [30, 60].map(|rounds| chain(&config, isa, rounds, Some(counter)));
                // The last one would come behind the end.
                assert_eq!((taken_few, taken_many), (9, 19), "{name}");
                let refill = config.fetch.fetch_to_decode_cycles
                    + config.decode_to_dispatch_cycles()
                    + config.issue.dispatch_to_issue_cycles
                    + config.issue.issue_to_execute_cycles
                    + config.window.complete_to_commit_cycles;
                let handler = config.fetch.fetch_to_decode_cycles;
                let each = u64::from(entry + handler + back + refill);
                let lost = (many - few) - (cycles(60) - cycles(30));
                assert_eq!(
                    lost,
                    10 * each,
                    "{name}, {isa}, entry {entry}, return {back}"
                );
            }
        }
    }
}
