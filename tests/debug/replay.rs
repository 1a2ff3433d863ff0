//! The debugger's way back: the state at a position is that of a run which has stopped there.

use hps_isa::hart::Hart;
use hps_isa::inst::reg;
use hps_isa::memory::Memory;
use hps_lab::debug::{Debugger, Edit, Halt, Stops, Told, Watch, WatchKind};
use hps_lab::{CoreKind, Isa, Lab};
use hps_system::os::Output;

/// How a program is simulated.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Functional,
    Timed(CoreKind),
}

const MODES: [Mode; 3] = [
    Mode::Functional,
    Mode::Timed(CoreKind::Cycle),
    Mode::Timed(CoreKind::Instruction),
];

fn lab(isa: Isa) -> Lab<'static> {
    let lab = Lab::program("bwt", isa).expect("a program of the project");
    lab.args(["small"]).output(Output::Inherit)
}

fn opened(mode: Mode, isa: Isa, sink: impl FnMut(Told<'_>) + 'static) -> Debugger<'static> {
    match mode {
        Mode::Functional => lab(isa).debugged(sink),
        Mode::Timed(core) => {
            let timed = lab(isa).on("hps-4wide").expect("a preset").core(core);
            timed.debugged(sink)
        }
    }
    .expect("the run begins")
}

/// State that the program can see: its registers, and a digest of its memory.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    registers: Vec<u64>,
    pc: u64,
    fcsr: u8,
    memory: u64,
    cycles: Option<u64>,
}

impl Seen {
    fn of(hart: &Hart, mem: &Memory, cycles: Option<u64>) -> Seen {
        Seen {
            registers: hart.r[..usize::from(reg::DISE)].to_vec(),
            pc: hart.pc,
            fcsr: hart.fcsr,
            memory: digest(mem),
            cycles,
        }
    }

    fn by(debugger: &Debugger<'_>) -> Seen {
        Seen::of(&debugger.hart(), &debugger.process().mem, debugger.cycles())
    }

    /// In a run of its own, which has never been anywhere else.
    fn fresh(mode: Mode, isa: Isa, position: u64) -> Seen {
        let lab = lab(isa).output(Output::Capture);
        match mode {
            Mode::Functional => {
                let mut machine = lab.open().expect("the program");
                machine.run(&mut hps_isa::probe::NoProbe, position);
                Seen::of(&machine.process.thread.hart, &machine.process.mem, None)
            }
            Mode::Timed(core) => {
                let timed = lab.on("hps-4wide").expect("a preset").core(core);
                let mut core = timed.open().expect("the program");
                core.run(position);
                let cycles = Some(core.stats().cycles);
                // The other way to committed registers: everything in flight is taken back.
                core.drain_to_boundary();
                let process = core.process();
                Seen::of(&process.thread.hart, &process.mem, cycles)
            }
        }
    }
}

/// FNV-1a over all that is mapped.
fn digest(mem: &Memory) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for range in mem.mapped_ranges() {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        mem.read_bytes_forced(range.start, &mut bytes)
            .expect("mapped");
        for word in bytes.chunks(8).filter(|word| word.iter().any(|b| *b != 0)) {
            let value = word.iter().fold(0, |value, b| value << 8 | u64::from(*b));
            sum = (sum ^ value).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum
}

/// Positions by a linear congruential generator, below a limit.
fn positions(count: usize, below: u64) -> Vec<u64> {
    let mut state = 12345_u64;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) % below
    };
    (0..count).map(next).collect()
}

#[test]
fn a_place_that_is_gone_back_to_is_that_of_a_run_of_its_own() {
    for (mode, isa, below) in [
        (Mode::Functional, Isa::Riscv64, 3_000_000),
        (Mode::Functional, Isa::Alpha, 3_000_000),
        (Mode::Timed(CoreKind::Cycle), Isa::Riscv64, 150_000),
        (Mode::Timed(CoreKind::Cycle), Isa::Alpha, 150_000),
        (Mode::Timed(CoreKind::Instruction), Isa::Riscv64, 150_000),
    ] {
        let mut debugger = opened(mode, isa, |_| {});
        let all = positions(12, below);
        for &position in &all {
            debugger.go_to(position).expect("the way");
            assert_eq!(debugger.position(), position);
            let fresh = Seen::fresh(mode, isa, position);
            assert_eq!(Seen::by(&debugger), fresh, "{mode:?} {isa} at {position}");
        }
    }
}

/// Addresses of the next `count` instructions.
fn path(debugger: &mut Debugger<'_>, count: usize) -> Vec<u64> {
    let tid = debugger.process().thread.tid;
    let steps = Stops {
        steps_of: Some(tid),
        ..Stops::default()
    };
    let step = |_| {
        let pc = debugger.hart().pc;
        assert_eq!(debugger.forward(&steps, 1).unwrap(), Halt::Step { tid });
        pc
    };
    (0..count).map(step).collect()
}

#[test]
fn steps_back_undo_steps() {
    for (mode, isa) in MODES
        .into_iter()
        .zip([Isa::Riscv64, Isa::Alpha, Isa::Alpha])
    {
        let mut debugger = opened(mode, isa, |_| {});
        debugger.go_to(30_000).expect("the way");
        let before = Seen::by(&debugger);
        let forward = path(&mut debugger, 60);
        let tid = debugger.process().thread.tid;
        let steps = Stops {
            steps_of: Some(tid),
            ..Stops::default()
        };
        let mut back = Vec::new();
        for _ in 0..60 {
            assert_eq!(debugger.back(&steps).unwrap(), Halt::Step { tid });
            back.push(debugger.hart().pc);
        }
        back.reverse();
        assert_eq!(forward, back, "{mode:?}");
        assert_eq!(Seen::by(&debugger), before, "{mode:?}");
    }
}

#[test]
fn breakpoints_and_watchpoints_hit_at_the_same_places_in_both_directions() {
    for mode in MODES {
        let mut debugger = opened(mode, Isa::Riscv64, |_| {});
        debugger.go_to(20_000).expect("the way");
        let mut place = debugger.hart();
        // An instruction that comes again: the next one that has been seen twice.
        let seen = path(&mut debugger, 400);
        let again = seen
            .iter()
            .find(|pc| seen.iter().filter(|other| other == pc).count() > 3);
        place.pc = *again.expect("a loop");
        debugger.go_to(20_000).expect("the way back");
        let stack = place.r[usize::from(Isa::Riscv64.stack_pointer())];
        let watch = Watch {
            pid: debugger.process().os.pid(),
            addr: stack - 512,
            len: 1024,
            kind: WatchKind::Changes,
        };
        for stops in [
            Stops {
                breakpoints: [place.pc].into_iter().collect(),
                ..Stops::default()
            },
            Stops {
                watches: vec![watch.clone()],
                ..Stops::default()
            },
        ] {
            // Watchpoints stop behind the change forward, and before it on the way back.
            let shift = u64::from(!stops.watches.is_empty());
            let mut forward = Vec::new();
            while forward.len() < 5 {
                match debugger.forward(&stops, 5_000).expect("the way") {
                    Halt::Budget => {}
                    Halt::Break { .. } | Halt::Watch { .. } => {
                        forward.push(debugger.position() - shift)
                    }
                    other => panic!("{mode:?}: {other:?}"),
                }
            }
            let mut back = vec![debugger.position() - shift];
            if shift == 1 {
                assert!(matches!(debugger.back(&stops).unwrap(), Halt::Watch { .. }));
                assert_eq!(debugger.position(), back[0]);
            }
            while back.len() < 5 {
                match debugger.back(&stops).expect("the way") {
                    Halt::Budget => {}
                    Halt::Break { .. } | Halt::Watch { .. } => back.push(debugger.position()),
                    other => panic!("{mode:?}: {other:?}"),
                }
            }
            back.reverse();
            assert_eq!(forward, back, "{mode:?} {stops:?}");
            debugger.go_to(20_000).expect("the way back");
        }
    }
}

#[test]
fn output_reaches_the_host_once() {
    let expected = lab(Isa::Riscv64)
        .output(Output::Capture)
        .run()
        .expect("a run");
    let expected = expected.process.os.captured_stdout().to_vec();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&told);
    let mut debugger = opened(Mode::Functional, Isa::Riscv64, move |text| {
        if let Told::Stdout(bytes) = text {
            sink.lock().unwrap().extend_from_slice(bytes);
        }
    });
    let end = debugger.run_to_end().expect("an end");
    for position in positions(6, end.position) {
        debugger.go_to(position).expect("the way");
    }
    assert_eq!(debugger.run_to_end().expect("an end"), end);
    assert_eq!(*told.lock().unwrap(), expected);
    assert!(!expected.is_empty());
}

#[test]
fn a_change_in_the_past_holds_and_ends_the_future() {
    for mode in MODES {
        let mut debugger = opened(mode, Isa::Riscv64, |_| {});
        debugger.go_to(60_000).expect("the way");
        let future = Seen::by(&debugger);
        debugger.go_to(30_000).expect("the way back");
        // A byte of the stack that nobody has used yet.
        let stack = debugger.hart().r[usize::from(Isa::Riscv64.stack_pointer())];
        let tid = debugger.process().thread.tid;
        let is_made = debugger.edit(Edit::Memory {
            tid: Some(tid),
            addr: stack - 4096,
            bytes: vec![0x5a],
        });
        assert!(is_made);
        let changed = |debugger: &Debugger<'_>| {
            let mut byte = [0];
            let mem = &debugger.process().mem;
            mem.read_bytes_forced(stack - 4096, &mut byte).unwrap();
            byte[0]
        };
        debugger.go_to(60_000).expect("the other future");
        assert_ne!(Seen::by(&debugger).memory, future.memory, "{mode:?}");
        debugger.go_to(29_999).expect("before the change");
        assert_ne!(changed(&debugger), 0x5a, "{mode:?}");
        debugger.go_to(30_000).expect("the change");
        assert_eq!(changed(&debugger), 0x5a, "{mode:?}");
    }
}
