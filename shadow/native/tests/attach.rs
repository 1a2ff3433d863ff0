//! Shadows of a process that runs already, and of programs into which nothing can be preloaded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hps_shadow_native::{Mode, Request, Session};

use crate::support::{Bench, processes_of};

/// `guest.c`, which runs in a process of its own and has a parent that waits for all that ends.
struct Guest {
    parent: Child,
    input: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
    worker: i32,
    output: PathBuf,
}

impl Guest {
    fn start(bench: &Bench, program: &Path, kind: &str) -> Guest {
        let output = bench.path(kind);
        let mut parent = Command::new(program)
            .args([output.as_os_str(), kind.as_ref()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let said = BufReader::new(parent.stdout.take().expect("a pipe"));
        let mut guest = Guest {
            input: parent.stdin.take(),
            parent,
            said,
            worker: 0,
            output,
        };
        let ready = guest.line();
        let worker = ready.strip_prefix("ready ").expect("it is ready");
        guest.worker = worker.parse().expect("a number");
        guest
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("text");
        line.trim().to_owned()
    }

    fn proc(&self, file: &str) -> String {
        let file = format!("/proc/{}/{file}", self.worker);
        std::fs::read_to_string(file).expect("it runs")
    }

    /// Actions of signals.
    fn actions(&self) -> Vec<String> {
        let status = self.proc("status");
        let lines = status.lines().filter(|line| {
            ["SigBlk", "SigIgn", "SigCgt"]
                .iter()
                .any(|set| line.starts_with(set))
        });
        lines.map(str::to_owned).collect()
    }

    /// Nothing of the library, of its timer and of shadows is left.
    fn is_left_alone(&self) -> bool {
        let maps = self.proc("maps");
        !maps.contains("hps-shadow") && !maps.contains("rwxp") && self.proc("timers").is_empty()
    }

    /// The program's output at its end, and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        drop(self.input.take());
        let code = self.parent.wait().expect("it runs").code();
        let said = std::fs::read_to_string(&self.output).unwrap_or_default();
        (said, code)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.parent.kill();
        let _ = self.parent.wait();
    }
}

/// The guest's sum, when it saw nothing wrong.
fn alone(bench: &Bench, program: &Path) -> (String, Option<i32>) {
    let output = bench.path("alone");
    let status = Command::new(program)
        .arg(&output)
        .arg("ends")
        .stdout(Stdio::null())
        .status();
    let said = std::fs::read_to_string(output).expect("its results");
    assert!(said.ends_with(" 0\n"), "{said}");
    (said, status.expect("it runs").code())
}

fn request(bench: &Bench) -> Request<'_> {
    Request {
        // Some turns of the guest.
        sample: 2_000_000,
        load: 2.0,
        ..bench.request(Mode::Sample, &[])
    }
}

fn attach(bench: &Bench, process: i32, milliseconds: u64) -> Result<Session, String> {
    let limit = Some(Duration::from_millis(milliseconds));
    request(bench)
        .attach(&bench.library, process, limit, &AtomicBool::new(false))
        .map_err(|error| error.to_string())
}

/// Attaches to a guest until shadows have seen some turns. The library leaves each time, so that there is room for it
/// the next time. `hot` has nine tenths of the instructions of `hot` and `cold`, as the guest's source says.
fn is_profiled(bench: &Bench, guest: &Guest) {
    let mut functions = BTreeMap::new();
    let mut shadows = 0;
    for attachment in 0.. {
        let mut session = attach(bench, guest.worker, 500).expect("it is attached");
        assert_eq!(
            (session.status.as_str(), session.damaged),
            ("it goes on", 0)
        );
        assert!(guest.is_left_alone());
        for ((start, _), entered) in &session.profiles.blocks {
            let name = session.symbols.resolve(*start).to_string();
            let weight = entered.count * u64::from(entered.instructions);
            *functions.entry(name).or_insert(0) += weight;
        }
        shadows += session.shadows.len();
        if shadows >= 10 && attachment > 0 {
            break;
        }
        assert!(attachment < 100, "{shadows} {functions:?}");
    }
    let [hot, cold] = ["hot", "cold"].map(|name| functions.get(name).map_or(0.0, |n| *n as f64));
    let share = hot / (hot + cold);
    assert!((0.85..0.95).contains(&share), "{functions:?}");
}

#[test]
fn an_attached_process_is_profiled_and_goes_on_as_alone() {
    let bench = Bench::new();
    let program = bench.compile("guest.c", &[]);
    let expected = alone(&bench, &program);
    let guest = Guest::start(&bench, &program, "waits");
    let before = guest.actions();
    is_profiled(&bench, &guest);
    assert_eq!(guest.actions(), before);
    assert_eq!(guest.end(), expected);
    assert_eq!(processes_of(&program), [0; 0]);
}

#[test]
fn a_session_ends_when_it_is_told_and_with_the_process() {
    let bench = Bench::new();
    let program = bench.compile("guest.c", &[]);
    let guest = Guest::start(&bench, &program, "waits");
    let stop = AtomicBool::new(true);
    let session = request(&bench).attach(&bench.library, guest.worker, None, &stop);
    assert_eq!(session.expect("it is attached").status, "it goes on");
    stop.store(false, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let session =
            scope.spawn(|| request(&bench).attach(&bench.library, guest.worker, None, &stop));
        // The guest, its parent, a child of it at times, and shadows.
        while processes_of(&program).len() < 4 {
            assert!(!session.is_finished());
            std::thread::yield_now();
        }
        let killed = Command::new("kill")
            .args(["-9", &guest.worker.to_string()])
            .status();
        assert!(killed.expect("it runs").success());
        let session = session.join().expect("no panic").expect("a session");
        assert_eq!(session.status, "it ended meanwhile");
    });
    assert_eq!(processes_of(&program).len(), 0);
}

#[test]
fn calls_that_wait_go_on_after_an_attachment() {
    let bench = Bench::new();
    let program = bench.compile("guest.c", &[]);
    let mut guest = Guest::start(&bench, &program, "blocks");
    let attached = |guest: &Guest| {
        let session = attach(&bench, guest.worker, 100).expect("it is attached");
        assert!(session.no_shadow(Duration::from_millis(1), true).is_some());
    };
    attached(&guest);
    guest
        .input
        .as_mut()
        .expect("a pipe")
        .write_all(b"x")
        .expect("it reads");
    assert_eq!(guest.line(), "sleeps");
    attached(&guest);
    assert_eq!(guest.line(), "polls");
    attached(&guest);
    assert_eq!(guest.end(), alone(&bench, &program));
}

#[test]
fn a_static_program_that_handles_the_monitors_signal_has_shadows() {
    let bench = Bench::new();
    let program = bench.compile("guest.c", &["-static"]);
    let expected = alone(&bench, &program);
    let output = bench.path("output");
    let command: Vec<OsString> = vec![(&program).into(), (&output).into(), "ends".into()];
    // The program replaces the monitor's action with its own: its handler hears of the timer.
    let started = Request {
        command,
        ..request(&bench)
    };
    let session = started.run(&bench.library).expect("it runs");
    assert_eq!(session.status, "exit code 5");
    // Attached behind that, the monitor hands it its own signals alone.
    let guest = Guest::start(&bench, &program, "waits");
    is_profiled(&bench, &guest);
    assert_eq!(guest.end(), expected);
}

#[test]
fn a_static_program_is_injected_at_its_entry() {
    let bench = Bench::new();
    let program = bench.compile("world.c", &["-static"]);
    let folder = bench.path("sampled");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("input"), vec![7; 6000]).expect("a file");
    let command = [program.as_path(), &folder, Path::new("20")];
    let session = bench
        .request(Mode::Sample, &command)
        .run(&bench.library)
        .expect("it runs");
    assert_eq!(session.code, 7);
    assert!(!session.shadows.is_empty(), "{:?}", session.monitor);
    let whole = bench.request(Mode::Whole, &command).run(&bench.library);
    assert!(
        whole
            .err()
            .expect("an error")
            .to_string()
            .contains("linked statically")
    );
}

/// The supervisor of the test below: this program, started again.
#[test]
fn a_supervisor_that_is_started_by_another_test() {
    let Ok(process) = std::env::var("HPS_TEST_ATTACH") else {
        return;
    };
    let bench = Bench::new();
    let long = Request {
        sample: 1 << 40,
        load: 4.0,
        ..request(&bench)
    };
    let process = process.parse().expect("a number");
    let _ = long.attach(&bench.library, process, None, &AtomicBool::new(false));
}

#[test]
fn shadows_end_with_a_supervisor_that_is_killed_and_the_process_goes_on() {
    let bench = Bench::new();
    let program = bench.compile("guest.c", &[]);
    let expected = alone(&bench, &program);
    let guest = Guest::start(&bench, &program, "waits");
    let before = guest.actions();
    let mut supervisor = Command::new(std::env::current_exe().expect("a path"))
        .args([
            "--exact",
            "attach::a_supervisor_that_is_started_by_another_test",
        ])
        .env("HPS_TEST_ATTACH", guest.worker.to_string())
        .env("TMPDIR", bench.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("it runs");
    // The guest, its parent, a child of it at times, and shadows.
    while processes_of(&program).len() < 5 {
        std::thread::yield_now();
    }
    supervisor.kill().expect("it runs");
    supervisor.wait().expect("it runs");
    let wait = |is_over: &dyn Fn() -> bool| {
        let tries = (0..600).find(|_| {
            std::thread::sleep(Duration::from_millis(50));
            is_over()
        });
        assert!(tries.is_some(), "{:?}", processes_of(&program));
    };
    wait(&|| processes_of(&program).len() == 2);
    wait(&|| guest.proc("timers").is_empty());
    assert_eq!(guest.actions(), before);
    assert_eq!(guest.end(), expected);
}

#[test]
fn what_cannot_be_attached_is_named_and_goes_on() {
    let bench = Bench::new();
    let program = bench.compile("guest.c", &[]);
    let refused = |process: i32| match attach(&bench, process, 10) {
        Err(error) => error,
        Ok(_) => panic!("{process} is attached"),
    };
    assert!(refused(i32::MAX).contains("no such process"));
    assert!(refused(std::process::id() as i32).contains("hps itself"));
    for (kind, why) in [
        ("adopts", "subreaper"),
        ("traced", "a debugger"),
        ("filters", "seccomp"),
    ] {
        let guest = Guest::start(&bench, &program, kind);
        while kind == "filters" && !guest.proc("status").contains("Seccomp:\t1") {
            std::thread::yield_now();
        }
        let said = refused(guest.worker);
        assert!(
            said.contains(why) && said.contains(&guest.worker.to_string()),
            "{said}"
        );
        assert!(guest.is_left_alone(), "{kind}");
    }
    let guest = Guest::start(&bench, &program, "waits");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let session =
            scope.spawn(|| request(&bench).attach(&bench.library, guest.worker, None, &stop));
        while !guest.proc("maps").contains("hps-shadow") {
            assert!(!session.is_finished());
            std::thread::yield_now();
        }
        assert!(refused(guest.worker).contains("already"));
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(guest.end().1, Some(5));
    // A second thread has a number that is no process.
    let sleeps = std::thread::spawn(std::thread::park);
    let tasks = std::fs::read_dir("/proc/self/task")
        .expect("threads")
        .flatten();
    let other = tasks
        .filter_map(|task| task.file_name().to_string_lossy().parse().ok())
        .find(|thread: &i32| *thread != std::process::id() as i32);
    assert!(refused(other.expect("a thread")).contains("it is a thread"));
    sleeps.thread().unpark();
}
