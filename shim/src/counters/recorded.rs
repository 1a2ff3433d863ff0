//! Decisions about counting on machines that are not here: what their kernels show and their processors say, as text.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use perf_event_open_sys::bindings as sys;

use super::perf::remedy;
use super::pmu::{Files, Leaf10, Pmu};
use super::{Asked, Event, Reach, Target, Way};
use crate::error::ShimError;
use crate::machine::Machine;
use crate::placement::{Seat, Wish, place};

/// Leaf 10 of CPUID (EAX, EDX), then files below `/sys/bus/event_source/devices` with their texts.
struct Recorded {
    leaf: Option<(u32, u32)>,
    files: &'static str,
    cores: &'static [&'static [usize]],
}

const INTEL_EVENTS: &str = "
cpu/type 4
cpu/format/event config:0-7
cpu/format/umask config:8-15
cpu/format/cmask config:24-31
cpu/events/cpu-cycles event=0x3c
cpu/events/instructions event=0xc0
cpu/events/cache-misses event=0x2e,umask=0x41
cpu/events/branch-instructions event=0xc4
msr/type 8
power/type 9
uncore_imc/type 11
";
const HASWELL: Recorded = Recorded {
    leaf: Some((0x0730_0403, 0x0000_0603)),
    files: "cpu/format/any config:21",
    cores: &[&[0, 4], &[1, 5]],
};
/// The kernel of such a machine shows no `any`; this one shows it, and the processor denies it.
const ICE_LAKE: Recorded = Recorded {
    leaf: Some((0x0830_0805, 0x0000_8604)),
    ..HASWELL
};
const ALDER_LAKE: Recorded = Recorded {
    leaf: Some((0x0730_0605, 0x0000_8603)),
    files: "
cpu_core/type 4
cpu_core/cpus 0-3
cpu_core/format/event config:0-7
cpu_core/events/instructions event=0xc0
cpu_atom/type 10
cpu_atom/cpus 4-5
cpu_atom/format/event config:0-7
cpu_atom/events/instructions event=0xc0
uncore_imc_0/type 24
",
    cores: &[&[0, 1], &[2, 3], &[4], &[5]],
};
const ZEN_4: Recorded = Recorded {
    leaf: None,
    files: "
cpu/type 4
cpu/format/event config:0-7,32-35
cpu/format/umask config:8-15
cpu/events/cpu-cycles event=0x76
cpu/events/instructions event=0xc0
ibs_op/type 11
amd_l3/type 13
",
    cores: &[&[0, 8], &[1, 9]],
};
const NEOVERSE: Recorded = Recorded {
    leaf: None,
    files: "
armv8_pmuv3_0/type 10
armv8_pmuv3_0/cpus 0-3
armv8_pmuv3_0/format/event config:0-15
armv8_pmuv3_0/events/inst_retired event=0x08
arm_cmn_0/type 12
",
    cores: &[&[0], &[1], &[2], &[3]],
};
/// A device tree names the cores.
const BIG_LITTLE: Recorded = Recorded {
    leaf: None,
    files: "
armv8_cortex_a53/type 9
armv8_cortex_a53/cpus 0-1
armv8_cortex_a72/type 10
armv8_cortex_a72/cpus 2-3
",
    cores: &[&[0], &[1], &[2], &[3]],
};
const CONTAINER: Recorded = Recorded {
    leaf: None,
    files: "",
    cores: &[&[0], &[1]],
};

struct Listed(BTreeMap<String, String>);

impl Files for Listed {
    fn read(&self, path: &str) -> Option<String> {
        self.0.get(path).cloned()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside = self.0.keys().filter_map(|path| path.strip_prefix(folder));
        let mut names: Vec<String> = inside
            .filter_map(|rest| rest.strip_prefix('/')?.split('/').next().map(str::to_owned))
            .collect();
        names.dedup();
        names
    }
}

impl Recorded {
    fn machine(&self) -> Machine {
        let shared = if self.leaf.is_some() && self.files.starts_with("cpu/") {
            INTEL_EVENTS
        } else {
            ""
        };
        let lines = shared.lines().chain(self.files.lines());
        let files = lines.filter_map(|line| {
            let (path, text) = line.split_once(' ')?;
            let path = format!("/sys/bus/event_source/devices/{path}");
            Some((path, text.to_owned()))
        });
        let leaf = self.leaf.map(|(eax, edx)| Leaf10 { eax, edx });
        let cores: Vec<Vec<usize>> = self.cores.iter().map(|core| core.to_vec()).collect();
        let mut allowed: Vec<usize> = cores.iter().flatten().copied().collect();
        allowed.sort_unstable();
        Machine {
            processor: "recorded".to_owned(),
            allowed,
            cores,
            virtualized: false,
            stable_clock: true,
            pmus: Pmu::all(&Listed(files.collect()), leaf),
            hardware_refused: None,
            user_reads: false,
            software_refused: None,
            paranoid: Some(0),
            is_capable: false,
        }
    }

    /// How an event is counted, or why not.
    fn way(&self, event: &str, seat: Seat, program: &[usize], may: bool) -> Result<Way, String> {
        let machine = self.machine();
        let wish = Wish {
            seat: Some(seat),
            observer: None,
            program: program.to_vec(),
        };
        let placement = place(&machine, &wish, true).unwrap();
        let event: Event = event.parse().unwrap();
        Way::of(&event, &machine.pmus, &placement, false, may).map_err(|error| error.to_string())
    }
}

fn asked(name: &str, type_number: u32, config: u64) -> Asked {
    Asked {
        name: name.to_owned(),
        type_number,
        config,
        user_only: name.contains(":u"),
        needs_pmu: true,
    }
}

const HARDWARE: u32 = sys::PERF_TYPE_HARDWARE;
const RAW: u32 = sys::PERF_TYPE_RAW;

#[test]
fn on_haswell_the_program_is_the_core_minus_the_observer_over_the_cores_clock() {
    let smt = |event| HASWELL.way(event, Seat::Smt, &[0], false);
    for (event, encoded, own) in [
        ("instructions", 0x20_00c0, (HARDWARE, 1)),
        ("instructions:u", 0x20_00c0, (HARDWARE, 1)),
        ("cache-misses", 0x20_412e, (HARDWARE, 3)),
        ("branches", 0x20_00c4, (HARDWARE, 4)),
        ("r01c0", 0x20_01c0, (RAW, 0x1c0)),
    ] {
        let expected = Way::CoreMinusOwn {
            core: Asked {
                name: format!("{event} (core)"),
                ..asked(event, RAW, encoded)
            },
            own: asked(event, own.0, own.1),
        };
        assert_eq!(smt(event), Ok(expected), "{event}");
    }
    // The observer never halts: cycles of the core minus its own would be none.
    let clock = Way::CoreClock(asked("cycles", HARDWARE, 0));
    assert_eq!(smt("cycles"), Ok(clock));
    for cycles in ["stalled-cycles-frontend", "r10000c0", "r8000c0"] {
        let said = smt(cycles).unwrap_err();
        assert!(said.contains("cannot be subtracted"), "{said}");
    }
    assert_eq!(smt("soft:3"), Ok(Way::Memory(3)));
}

#[test]
fn nothing_interrupts_the_program_unless_that_is_accepted() {
    for (machine, seat, event, why) in [
        (HASWELL, Seat::Cmp, "instructions", "--placement smt"),
        (HASWELL, Seat::Smt, "task-clock", "the kernel counts it"),
        (ICE_LAKE, Seat::Smt, "instructions", "up to Skylake"),
        (ICE_LAKE, Seat::Smt, "cycles", "up to Skylake"),
        (ALDER_LAKE, Seat::Smt, "instructions", "up to Skylake"),
        (ZEN_4, Seat::Smt, "instructions", "up to Skylake"),
        (NEOVERSE, Seat::Cmp, "cycles:u", "up to Skylake"),
        (CONTAINER, Seat::Cmp, "page-faults", "the kernel counts it"),
    ] {
        let said = machine.way(event, seat, &[0], false).unwrap_err();
        assert!(said.contains(event) && said.contains(why), "{said}");
        assert!(said.contains("--allow-interrupts"), "{said}");
        let accepted = machine.way(event, seat, &[0], true);
        assert!(matches!(accepted, Ok(Way::Interrupt(_))), "{accepted:?}");
    }
}

#[test]
fn cores_of_several_kinds_have_their_own_pmus() {
    let on =
        |machine: &Recorded, event, program: &[usize]| machine.way(event, Seat::Cmp, program, true);
    let name = "instructions";
    for (machine, program, event, expected) in [
        (&ALDER_LAKE, [0], name, asked(name, HARDWARE, 4 << 32 | 1)),
        (&ALDER_LAKE, [4], name, asked(name, HARDWARE, 10 << 32 | 1)),
        (&ALDER_LAKE, [4], "rc0", asked("rc0", 10, 0xc0)),
        (&BIG_LITTLE, [1], name, asked(name, HARDWARE, 9 << 32 | 1)),
        (&BIG_LITTLE, [2], "r8", asked("r8", 10, 8)),
        (&NEOVERSE, [0], name, asked(name, HARDWARE, 1)),
    ] {
        assert_eq!(on(machine, event, &program), Ok(Way::Interrupt(expected)));
    }
    let said = on(&ALDER_LAKE, name, &[3, 4]).unwrap_err();
    for word in [
        "3-4",
        "cpu_core counts on 0-3",
        "cpu_atom counts on 4-5",
        "--program-cpus",
    ] {
        assert!(said.contains(word), "{said}");
    }
    // A software event counts on all of them.
    assert!(on(&ALDER_LAKE, "task-clock", &[3, 4]).is_ok());
}

#[test]
fn the_pmus_of_cores_are_found_by_their_names() {
    for (machine, names, any) in [
        (HASWELL, &["cpu"][..], Some(21)),
        (ICE_LAKE, &["cpu"], None),
        (ALDER_LAKE, &["cpu_atom", "cpu_core"], None),
        (ZEN_4, &["cpu"], None),
        (NEOVERSE, &["armv8_pmuv3_0"], None),
        (BIG_LITTLE, &["armv8_cortex_a53", "armv8_cortex_a72"], None),
        (CONTAINER, &[], None),
    ] {
        let pmus = machine.machine().pmus;
        let found: Vec<&str> = pmus.iter().map(|pmu| pmu.name.as_str()).collect();
        assert_eq!(found, names);
        assert!(pmus.iter().all(|pmu| pmu.any_bit == any), "{found:?}");
    }
}

#[test]
fn the_machine_says_whether_ipc_can_be_sampled() {
    let said = |machine: &Machine| {
        let finding = machine.findings().pop().expect("findings");
        assert_eq!(finding.what, "SHIM: IPC");
        (finding.available, finding.detail)
    };
    let mut haswell = HASWELL.machine();
    assert!(said(&haswell).0);
    haswell.paranoid = Some(1);
    assert!(said(&haswell).1.contains("whole CPUs"));
    haswell.is_capable = true;
    assert!(said(&haswell).0);
    for (machine, why) in [
        (ICE_LAKE, "up to Skylake"),
        (ZEN_4, "--allow-interrupts"),
        (NEOVERSE, "no IPC without interrupts"),
    ] {
        let (available, detail) = said(&machine.machine());
        assert!(!available && detail.contains(why), "{detail}");
    }
    let mut container = CONTAINER.machine();
    container.hardware_refused = Some("event cycles:u could not be opened".to_owned());
    assert!(said(&container).1.contains("there are no hardware events"));
}

#[test]
fn threads_that_may_read_their_counters_count_with_their_tags() {
    let mut machine = NEOVERSE.machine();
    machine.user_reads = true;
    let placement = place(&machine, &Wish::default(), true).unwrap();
    let plan = |events: &[&str]| crate::plan::Plan {
        events: events.iter().map(|event| event.parse().unwrap()).collect(),
        ..crate::plan::Plan::default()
    };
    let region = crate::Region::create().unwrap();
    let asked = |plan: &crate::plan::Plan| plan.ask(&machine, &placement, &region);
    asked(&plan(&["soft:1", "cycles:u", "r08"])).unwrap();
    let header = &region.layout().header;
    let of = |event: &crate::region::AskedEvent| {
        (
            event.type_number.load(Ordering::Relaxed),
            event.user_only.load(Ordering::Relaxed),
            event.config.load(Ordering::Relaxed),
        )
    };
    assert_eq!(header.event_count.load(Ordering::Relaxed), 2);
    assert_eq!(of(&header.events[0]), (HARDWARE, 1, 0));
    assert_eq!(of(&header.events[1]), (RAW, 0, 8));
    // A slot has room for four; the kernel counts its own events; threads that run already are not asked.
    let many = asked(&plan(&["cycles"; 5]));
    assert!(matches!(
        many,
        Err(ShimError::TooManyCounters { asked: 5, most: 4 })
    ));
    let interrupts = |plan: &crate::plan::Plan| {
        let refused = plan.ways(&machine, &placement);
        assert!(matches!(refused, Err(ShimError::Interrupts { .. })));
    };
    interrupts(&plan(&["page-faults"]));
    let mut attached = plan(&["cycles"]);
    attached.at_tags = false;
    interrupts(&attached);
    let finding = machine.findings().pop().expect("findings");
    assert!(finding.available && finding.detail.contains("with each tag"));
    // The kernel refuses the program what it would refuse the observer.
    machine.paranoid = Some(2);
    assert!(
        plan(&["cycles:u", "soft:0"])
            .ways(&machine, &placement)
            .is_ok()
    );
    let refused = plan(&["cycles"]).ways(&machine, &placement);
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("append :u"), "{said}");
}

#[test]
fn levels_of_paranoia_are_those_of_the_manual() {
    for (level, reach) in [
        (None, Reach::NoPerf),
        (Some(-1), Reach::Cpus),
        (Some(0), Reach::Cpus),
        (Some(1), Reach::Own),
        (Some(2), Reach::User),
        (Some(3), Reach::Nothing),
        (Some(4), Reach::Nothing),
    ] {
        assert_eq!(Reach::of(level, false), reach, "{level:?}");
        if level.is_some() {
            assert_eq!(Reach::of(level, true), Reach::Cpus, "{level:?}");
        }
        let mut machine = HASWELL.machine();
        machine.paranoid = level;
        let finding = machine.findings().remove(5);
        assert_eq!(finding.available, reach >= Reach::User, "{finding:?}");
    }
}

/// Errors of `perf_event_open`, at the level that the kernel had, and a word of the remedy.
#[test]
fn what_the_kernel_refuses_comes_with_a_remedy_that_helps() {
    let event = |name: &str| Asked::plain(&name.parse::<Event>().unwrap()).unwrap();
    let own = Target::OwnThread;
    for (name, target, errno, level, words) in [
        ("cycles", own, libc::EACCES, Some(2), "append :u"),
        (
            "cycles:u",
            own,
            libc::EACCES,
            Some(3),
            "perf_event_paranoid=2",
        ),
        ("cycles:u", own, libc::EACCES, Some(4), "is 4"),
        ("task-clock:u", own, libc::EACCES, Some(3), "every event"),
        ("cycles:u", own, libc::EACCES, Some(2), "another user's"),
        ("cycles", own, libc::EPERM, Some(1), "container's filter"),
        (
            "cycles",
            Target::Cpu(0),
            libc::EACCES,
            Some(1),
            "perf_event_paranoid=0",
        ),
        ("cycles", own, libc::ENOENT, Some(2), "virtual machine"),
        (
            "cycles",
            Target::Process(1),
            libc::ESRCH,
            Some(2),
            "has ended",
        ),
        ("cycles", own, libc::EMFILE, Some(2), "ulimit -n"),
        ("cycles", own, libc::ENOSYS, None, "no perf events"),
    ] {
        let said = remedy(&event(name), target, errno, level);
        assert!(said.contains(words), "{name} {errno} {level:?}: {said}");
        // Advice that the user has followed already, or that does not help.
        let useless = name.ends_with(":u") || level > Some(2);
        assert!(!useless || !said.contains("append :u"), "{said}");
    }
}

#[test]
fn more_events_than_a_sample_holds_are_refused_by_the_plan() {
    let events = |count: usize| crate::plan::Plan {
        events: vec!["soft:0".parse().unwrap(); count],
        ..crate::plan::Plan::default()
    };
    assert!(events(8).check().is_ok());
    let refused = events(9).check();
    assert!(matches!(
        refused,
        Err(ShimError::TooManyCounters { asked: 9, most: 8 })
    ));
}

#[test]
fn a_machine_without_events_says_that_and_not_how_they_would_be_read() {
    let mut container = CONTAINER.machine();
    container.hardware_refused = Some("there is no PMU".to_owned());
    let plan = |event: &str| crate::plan::Plan {
        events: vec![event.parse().unwrap()],
        ..crate::plan::Plan::default()
    };
    let placement = place(&container, &Wish::default(), true).unwrap();
    let said = |event| {
        plan(event)
            .ways(&container, &placement)
            .unwrap_err()
            .to_string()
    };
    assert!(said("instructions").contains("there is no PMU"));
    assert!(said("r12").contains("there is no PMU"));
    assert!(said("page-faults").contains("--allow-interrupts"));
    assert!(plan("soft:1").ways(&container, &placement).is_ok());
}
