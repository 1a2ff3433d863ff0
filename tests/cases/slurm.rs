//! A sweep by Slurm, with the commands that the book prints: controller, authentication and two nodes run on this host,
//! in a temporary folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::parts::calls;
use super::support::{Hps, exit_with, left_out};

/// Two nodes on this host, and arrays of at most four tasks (numbers below MaxArraySize). No job is held back when it is submitted or put back into the queue.
const CONFIGURATION: &str = "\
ClusterName=hps
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={port0}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=1
MaxArraySize=5
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={port1} CPUs=2 RealMemory=64000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={port2} CPUs=2 RealMemory=64000
PartitionName=work Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
";

/// Longest time that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A cluster, which ends with the test.
struct Cluster {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Cluster {
    /// Starts one whose files are in a folder, or says why it cannot be.
    fn start(folder: &Path) -> Cluster {
        let folder = folder.join("cluster");
        for name in ["state", "n1", "n2"] {
            std::fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        let mut cluster = Cluster {
            folder: folder.clone(),
            daemons: Vec::new(),
        };
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        let answer = |program: &str, words: &str| -> String {
            let output = Command::new(program).args(words.split(' ')).output();
            let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
            String::from_utf8_lossy(&output.stdout).trim().to_string()
        };
        let mut configuration = CONFIGURATION
            .replace("{folder}", &folder.display().to_string())
            .replace("{host}", &answer("hostname", "-s"))
            .replace("{user}", &answer("id", "-un"));
        for port in ["{port0}", "{port1}", "{port2}"] {
            configuration = configuration.replace(port, &free_port().to_string());
        }
        let file = folder.join("slurm.conf");
        std::fs::write(&file, configuration).expect("a configuration");
        let key = folder.join("munge.key");
        std::fs::write(&key, [0x5a; 64]).expect("a key");
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o400)).expect("its rights");
        let at = folder.display();
        let munged = format!(
            "--foreground --force --key-file={at}/munge.key --socket={at}/munge.socket --pid-file={at}/munge.pid \
             --log-file={at}/munge.log --seed-file={at}/munge.seed"
        );
        cluster.daemon("munged", &words(&munged));
        cluster.wait("munged makes its socket", |c| {
            c.folder.join("munge.socket").exists()
        });
        let conf = file.display().to_string();
        cluster.daemon("slurmctld", &words(&format!("-D -i -f {conf}")));
        cluster.daemon("slurmd", &words(&format!("-D -f {conf} -N n1")));
        cluster.daemon("slurmd", &words(&format!("-D -f {conf} -N n2")));
        cluster.wait("both nodes are idle", |c| {
            c.ask("sinfo", &["-h", "-N", "-p", "work", "-o", "%t"]) == "idle\nidle"
        });
        cluster
    }

    /// Starts a daemon. Those of Slurm lie where a user's commands may not be searched.
    fn daemon(&mut self, program: &str, words: &[String]) {
        let path = format!(
            "{}:/usr/sbin:/sbin",
            std::env::var("PATH").unwrap_or_default()
        );
        let log = std::fs::File::create(self.folder.join(format!("{program}.err"))).expect("a log");
        let child = Command::new("env")
            .arg(format!("PATH={path}"))
            .arg(program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.daemons
            .push(child.unwrap_or_else(|e| panic!("{program}: {e}")));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    /// Stops what runs on a node, so that no part ends before it is killed; says whether a part was among it.
    fn stop_parts(&self, node: &str) -> bool {
        let jobs = processes_of(&self.folder, node);
        for job in &jobs {
            signal("-STOP", &job.process);
        }
        // Processes that have ended by now are not stopped.
        jobs.iter()
            .filter(|job| job.name == "hps")
            .any(|job| stat(&job.process).is_some_and(|stat| stat.state == "T"))
    }

    /// Loses a node on which parts are stopped: its daemon and all that runs on it are killed, and the controller is told
    /// (it would find out when `SlurmdTimeout` is over).
    fn lose(&mut self, daemon: usize, node: &str) {
        let _ = self.daemons[daemon].kill();
        let _ = self.daemons[daemon].wait();
        let lost = self.daemons.remove(daemon);
        drop(lost);
        let jobs = processes_of(&self.folder, node);
        assert!(!jobs.is_empty(), "nothing runs on {node}");
        // Parents, which watch jobs, are killed first, so that they do not report the end.
        for job in &jobs {
            signal("-KILL", &job.parent);
        }
        for job in &jobs {
            signal("-KILL", &job.process);
        }
        let update = [
            "update",
            &format!("nodename={node}"),
            "state=down",
            "reason=lost",
        ];
        self.ask("scontrol", &update);
    }

    /// Output of one of Slurm's commands.
    fn ask(&self, program: &str, words: &[&str]) -> String {
        let output = self.command(program).args(words).output();
        let output = output.unwrap_or_else(|e| panic!("{program}: {e}; ./test.sh installs it"));
        text(&output).trim().to_string()
    }

    /// Waits until something is so; if that takes too long, or a daemon has ended, fails with what the daemons say.
    fn wait(&mut self, what: &str, mut is: impl FnMut(&Cluster) -> bool) {
        let began = Instant::now();
        while !is(self) {
            let ended = self
                .daemons
                .iter_mut()
                .any(|d| d.try_wait().is_ok_and(|s| s.is_some()));
            assert!(
                !ended && began.elapsed() < PATIENCE,
                "this host has no Slurm cluster for the test: waited until {what}\n{}",
                self.logs()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The last lines of all logs, and the state of nodes and jobs.
    fn logs(&self) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(&self.folder).expect("the folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "log" || e == "err") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let last = lines[lines.len().saturating_sub(8)..].join("\n");
                let _ = writeln!(all, "{}:\n{last}", path.display());
            }
        }
        all + &self.ask("sinfo", &["-N"]) + &self.ask("squeue", &[])
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// A process that a job has started.
struct Job {
    process: String,
    parent: String,
    name: String,
}

/// Processes of jobs on a node of the cluster whose files are in a folder.
fn processes_of(folder: &Path, node: &str) -> Vec<Job> {
    let has = |environment: &[u8], text: String| {
        environment
            .split(|&b| b == 0)
            .any(|variable| variable == text.as_bytes())
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        // Processes end while they are looked at.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else {
            continue;
        };
        let conf = format!("SLURM_CONF={}", folder.join("slurm.conf").display());
        if has(&environment, format!("SLURMD_NODENAME={node}")) && has(&environment, conf) {
            let process = entry.file_name().to_string_lossy().to_string();
            found.extend(stat(&process).map(|stat| Job {
                process,
                parent: stat.parent,
                name: stat.name,
            }));
        }
    }
    found
}

/// Fields of a process's `stat` in procfs.
struct Stat {
    name: String,
    state: String,
    parent: String,
}

fn stat(process: &str) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (before, after) = text.rsplit_once(") ")?;
    let mut fields = after.split(' ').map(str::to_string);
    Some(Stat {
        name: before.split_once('(')?.1.to_string(),
        state: fields.next()?,
        parent: fields.next()?,
    })
}

fn signal(which: &str, process: &str) {
    let _ = Command::new("kill").args([which, process]).output();
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port()
}

/// The commands of the book under "With Slurm".
fn documented() -> Vec<String> {
    let text = include_str!("../../docs/clusters.md");
    let (_, rest) = text
        .split_once("With Slurm:\n\n```sh\n")
        .expect("the commands");
    let (block, _) = rest.split_once("```").expect("their end");
    block.lines().map(str::to_string).collect()
}

#[test]
fn arrays_with_parts_killed_preempted_drained_and_lost_end_with_the_whole_result() {
    // slurmd looks for control groups, and stops without them.
    let mut groups = std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten();
    if groups.next().is_none() {
        left_out(
            "a sweep by Slurm",
            "slurmd wants control groups, mounted at /sys/fs/cgroup",
        );
        return;
    }
    let hps = Hps::new();
    // 300 calls become 160,000: a part takes a second or more.
    let mut code = calls();
    code.splice(0..1, [0x0002_7437, 0x1004_0413]); // lui s0, 39; addi s0, s0, 256
    hps.program("calls", &code);
    hps.program("ends", &exit_with(0));
    let spec = "(own_programs: [(path: \"calls\"), (path: \"ends\")], profiles: [method, call_pair], \
                bursts: [1, 10], one_in: [100, 200, 500, 1000, 2000, 5000, 10000, 20000], timing: All)";
    std::fs::write(hps.path("sweep.ron"), spec).expect("a definition");
    hps.run(&["sweep", "sweep.ron", "--out", "one"])
        .expect_code(0);

    let mut cluster = Cluster::start(Path::new(&hps.path("")));
    let path = Path::new(env!("CARGO_BIN_EXE_hps"))
        .parent()
        .expect("a folder");
    let path = format!(
        "{}:{}",
        path.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let lines = documented();
    let shell = |cluster: &Cluster, line: &str| {
        let mut command = cluster.command("sh");
        command
            .args(["-c", line])
            .env("PATH", &path)
            .current_dir(hps.path(""));
        command.output().expect("a shell")
    };
    for line in &lines[..2] {
        let output = shell(&cluster, line);
        assert!(output.status.success(), "{line}: {}", text(&output));
    }

    // Parts on node 2 are killed with SIGKILL, and node 2 takes no more jobs; a job of a higher priority takes node 1.
    for node in ["n1", "n2"] {
        cluster.wait("a part runs on each node", |c| c.stop_parts(node));
    }
    let running = cluster.ask("squeue", &["-h", "-r", "-t", "R", "-w", "n2", "-o", "%i"]);
    for victim in running.lines() {
        cluster.ask("scancel", &["--signal=KILL", "--full", victim]);
    }
    let set = |c: &Cluster, node: &str, state: &str| {
        let node = format!("nodename={node}");
        c.ask(
            "scontrol",
            &["update", &node, &format!("state={state}"), "reason=test"],
        );
    };
    set(&cluster, "n2", "drain");
    let urgent = [
        "--partition=urgent",
        "--nodelist=n1",
        "--cpus-per-task=2",
        "--output=/dev/null",
        "--wrap",
        "true",
    ];
    cluster.ask("sbatch", &urgent);
    cluster.wait("a part is put back into the queue", |c| {
        c.ask("squeue", &["-h", "-r", "-o", "%r"])
            .contains("BeginTime")
    });
    // Parts that are put back wait for two minutes otherwise.
    let release = |c: &Cluster| {
        let jobs = c.ask("squeue", &["-h", "-r", "-o", "%A %r"]);
        for job in jobs.lines().filter(|line| line.contains("BeginTime")) {
            let job = job.split(' ').next().unwrap_or_default();
            let job = format!("JobId={job}");
            c.ask("scontrol", &["update", &job, "StartTime=now"]);
        }
        jobs
    };
    // Only node 2 takes the next parts, which are lost with it.
    set(&cluster, "n2", "resume");
    set(&cluster, "n1", "drain");
    cluster.wait("a part runs on node 2 again", |c| {
        release(c);
        c.stop_parts("n2")
    });
    set(&cluster, "n1", "resume");
    cluster.lose(3, "n2");
    cluster.wait("all jobs have ended", |c| release(c).is_empty());

    for line in &lines[2..4] {
        let output = shell(&cluster, line);
        assert!(
            output.status.success(),
            "{line}: {}\n{}",
            text(&output),
            cluster.logs()
        );
    }
    for file in ["results.jsonl", "report.html"] {
        let read = |folder: &str| std::fs::read(hps.path(&format!("{folder}/{file}"))).expect(file);
        assert!(read("one") == read("results"), "{file} differs");
    }
    // The killed part was submitted again: there are parts of two plans.
    let parts = std::fs::read_dir(hps.path("results/parts")).expect("parts");
    let names = parts.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .to_string()
    });
    let mut plans: Vec<String> = names
        .filter_map(|n| Some(n.split_once('-')?.0.to_string()))
        .collect();
    plans.sort();
    plans.dedup();
    assert_eq!(plans.len(), 2, "{plans:?}");
}
