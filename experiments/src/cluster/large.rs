//! Plans of many points: what they cost in time and memory.

use std::process::Command;
use std::time::Duration;

use hps_lab::TimedMachine;

use super::tests::program;
use super::*;
use crate::spec::SweepSpec;

/// How many machines the process of a test has in its sweep.
const MACHINES: &str = "HPS_TEST_MACHINES";

/// A sweep of 192 points on each of so many machines.
fn sweep(machines: usize) -> crate::Plan {
    let machine = |n: usize| {
        let mut machine = TimedMachine::default().config;
        machine.name = format!("machine-{n}");
        machine.window.rob_entries = 64 + n as u32;
        machine
    };
    let spec = SweepSpec {
        bursts: (1..=8).collect(),
        one_in: (1..=8).map(|n| 100 * n).collect(),
        timing: crate::Timing::All,
        ..SweepSpec::default()
    };
    crate::Plan::of(vec![program()], (0..machines).map(machine).collect(), &spec).expect("a plan")
}

/// Processor time of this thread, which does all the work.
fn now() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = times.split(' ').next().expect("a number");
    Duration::from_nanos(nanoseconds.parse().expect("a number"))
}

/// Makes the plan of a sweep, cuts it, and joins ten stores that hold a tenth of the points twice. Says how much
/// processor time each took.
fn plan_cut_and_merge(machines: usize) -> [Duration; 3] {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let began = now();
    let plan = sweep(machines);
    let (keep, agenda) = Keep::nothing(&out);
    crate::run_plan(&plan, &keep, &()).expect("an agenda");
    let size = Size {
        instructions: 8_000_000,
        memory_bytes: 0,
    };
    let file = out.join(PLAN_FILE);
    let head = plan_file::write_sized(&agenda.lock().expect("filled"), &file, |_| {
        (vec![size], 1.0)
    });
    assert_eq!(head.expect("a plan").pieces, 192 * machines);
    drop((keep, agenda));
    let planned = now() - began;

    let began = now();
    let read = PlanFile::read(&file).expect("the plan");
    let parts: Vec<_> = (1..=10)
        .map(|number| read.part(Part { number, of: 10 }))
        .collect();
    let cut = now() - began;
    assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert_eq!((parts[0].start, parts[9].end), (0, 192 * machines));
    let costs = parts
        .iter()
        .map(|part| seconds(&read.loads[part.clone()], &read.head.shared));
    let (least, most) = costs.fold((f64::MAX, 0.0), |(l, m), c| (c.min(l), c.max(m)));
    assert!(most < 1.1 * least, "{least} {most}");
    drop(read);

    let mut folders = Vec::new();
    for (number, range) in parts.iter().enumerate() {
        let folder = folder.path().join(format!("{number}"));
        std::fs::create_dir(&folder).expect("a folder");
        let mut text =
            std::io::BufWriter::new(std::fs::File::create(folder.join(ROWS)).expect("a store"));
        // A tenth of the next part's points, too.
        let end = (range.end + range.len() / 10).min(plan.points.len());
        for point in plan.points[range.start..end].iter().rev() {
            let line = crate::store::line::encode(&crate::runner::empty_row(&plan, point));
            std::io::Write::write_all(&mut text, line.expect("a line").as_bytes())
                .expect("written");
        }
        folders.push(folder);
    }
    drop(plan);
    let began = now();
    let merged = merge(&out, &folders).expect("they belong together");
    assert_eq!(merged.done, 192 * machines);
    [planned, cut, now() - began]
}

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    1024 * kib.expect("in kB").parse::<u64>().expect("a number")
}

/// No test by itself: what the process of a sweep does.
#[test]
fn process_of_a_sweep() {
    if let Ok(machines) = std::env::var(MACHINES) {
        plan_cut_and_merge(machines.parse().expect("a number"));
        eprintln!("peak {}", peak());
    }
}

/// The most memory of a process that plans a sweep on so many machines, cuts and joins it.
fn peak_of_sweep(machines: usize) -> u64 {
    let output = Command::new(std::env::current_exe().expect("the test"))
        .args([
            "--exact",
            "cluster::large::process_of_a_sweep",
            "--nocapture",
        ])
        .env(MACHINES, machines.to_string())
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&output.stderr);
    let peak = said.lines().find_map(|line| line.strip_prefix("peak "));
    let peak = peak.unwrap_or_else(|| panic!("{said}"));
    peak.parse().expect("a number")
}

#[test]
fn plans_are_cut_into_parts_of_equal_cost() {
    plan_cut_and_merge(10);
}

/// A million points may take 500 MB, which are 500 bytes a point. Tables of hashes double when they are full: twice the
/// points fill them by the same share, which is that of a million (0.48).
#[test]
fn a_point_of_a_plan_takes_at_most_500_bytes() {
    let (few, many) = (41, 82);
    let of_points = peak_of_sweep(many).saturating_sub(peak_of_sweep(few));
    let points = 192 * (many - few) as u64;
    let each = of_points / points;
    assert!((100..=500).contains(&each), "{each} bytes");
}

/// Processor times and the most memory of a million points, for `docs/measurements/cluster.md`.
#[test]
#[ignore = "takes a minute and writes some gigabytes"]
#[allow(clippy::print_stdout)]
fn a_million_points() {
    let times = plan_cut_and_merge(5209);
    println!("planned, cut, merged: {times:?}; {} MB", peak() / 1_000_000);
}
