//! Errors between asking for a measurement and having one.

use std::path::PathBuf;

/// Why something could not be observed. Each message names the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// The kernel refused something about a region.
    #[error("tag region {path}: {what} failed: {source}")]
    Region {
        /// The region.
        path: String,
        /// The step that failed.
        what: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Something else than a region of this version.
    #[error("{path} is not a tag region that can be read: {why}")]
    NotARegion {
        /// Path that was opened.
        path: String,
        /// Reason why it is not a region.
        why: String,
    },
    /// A process without a region.
    #[error(
        "process {pid} has no tag region: start it with `hps shim run`, or with HPS_SHIM_REGION=self \
         so that it makes its own, and build it with hps_shim.h or preload the tag library"
    )]
    NoRegion {
        /// The process.
        pid: u32,
    },
    /// A process that is not there or is not ours.
    #[error(
        "process {pid} cannot be looked at: {source}; it must run, and belong to the same user"
    )]
    NoProcess {
        /// The process.
        pid: u32,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The program could not be started.
    #[error("{program} cannot be started: {source}; check its name and that it may be executed")]
    NotStarted {
        /// The program.
        program: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The program ended before a sample was taken.
    #[error(
        "{program} ended ({status}) after {milliseconds} ms before one sample was taken: give it more \
         to do, or a shorter period"
    )]
    EndedAtOnce {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// How long it ran.
        milliseconds: u64,
    },
    /// The program ran and wrote no tag.
    #[error(
        "{program} ({status}) never wrote a tag: build it with hps_shim.h, or compile it with \
         -finstrument-functions and preload the tag library (--preload), or ask for counters (--event)"
    )]
    NoTags {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
    },
    /// Two processors are needed.
    #[error(
        "only one CPU (number {cpu}) may be used here: an observer and a program need one each; allow \
         more (`taskset`, the container's cpuset)"
    )]
    OneCpu {
        /// The only one.
        cpu: usize,
    },
    /// A CPU that may not be used.
    #[error("CPU {cpu} may not be used here; allowed are {allowed}")]
    CpuNotAllowed {
        /// The CPU asked for.
        cpu: usize,
        /// CPUs that may be used.
        allowed: String,
    },
    /// Two jobs for one CPU, or the like.
    #[error("{0}")]
    Placement(String),
    /// The CPU could not be had.
    #[error("a thread could not be bound to CPU {cpu}: {source}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A CPU that was taken offline under an observation.
    #[error(
        "the {whose} CPU {cpus} went offline: the kernel moved it to others, and what was sampled since then says \
         nothing; bring the CPU back (/sys/devices/system/cpu/cpuN/online) or choose another (--observer-cpu, --program-cpus)"
    )]
    Offline {
        /// `observer's` or `program's`.
        whose: &'static str,
        /// The CPU, or all CPUs.
        cpus: String,
    },
    /// An unknown name of an event.
    #[error(
        "unknown event `{name}`: {known}, a raw event as rNNN (hexadecimal), or soft:0 to soft:7 for \
         the program's own counters"
    )]
    UnknownEvent {
        /// Name that was asked for.
        name: String,
        /// Names that are known.
        known: String,
    },
    /// An event that could not be opened.
    #[error("event {event} could not be opened: {source}; {remedy}")]
    Event {
        /// The event.
        event: String,
        /// The operating system's reason.
        source: std::io::Error,
        /// Remedy.
        remedy: String,
    },
    /// A counter that stopped counting for itself.
    #[error(
        "event {event} shares its hardware counter with others (enabled {enabled_ns} ns, counted \
         {running_ns} ns): its value would be a guess; ask for fewer events"
    )]
    Multiplexed {
        /// The event.
        event: String,
        /// Time that it should have counted.
        enabled_ns: u64,
        /// Time that it counted.
        running_ns: u64,
    },
    /// An event that never had a hardware counter.
    #[error(
        "event {event} was never counted: no hardware counter was free for it, or it counts on another kind of core than \
         the program ran on; ask for fewer events, or another --program-cpus"
    )]
    NeverCounted {
        /// The event.
        event: String,
    },
    /// A program whose threads did not count for themselves.
    #[error(
        "{program} was asked to count events with its tags, and did not: {why}; build it anew with hps_shim.h, ask for fewer \
         events, or accept an interrupt for each sample with --allow-interrupts"
    )]
    NotCounting {
        /// The program.
        program: String,
        /// Reason.
        why: String,
    },
    /// The machine counts no events of this kind.
    #[error("event {event} is not counted here: {why}")]
    NoEvents {
        /// The event.
        event: String,
        /// Refusal by the kernel of another event of the kind, with the remedy.
        why: String,
    },
    /// An event that only an interrupt of the program for each sample could tell.
    #[error(
        "event {event} cannot be read here unless each sample interrupts the program's processor: {why}; accept that \
         with --allow-interrupts, or leave the event out (tags, time stamps and soft:N are read from memory)"
    )]
    Interrupts {
        /// The event.
        event: String,
        /// Why there is no other way.
        why: &'static str,
    },
    /// CPUs of several kinds, which no PMU counts together.
    #[error(
        "event {event}: no PMU counts on all of the CPUs {cpus} ({pmus}): choose --program-cpus, and with SMT \
         --observer-cpu, of one kind"
    )]
    Hybrid {
        /// The event.
        event: String,
        /// The CPUs.
        cpus: String,
        /// The PMUs and where they count.
        pmus: String,
    },
    /// A processor without ordered time stamps.
    #[error(
        "this processor has no rdtscp, which time stamps of samples need: `hps shim simulate` observes in the simulator"
    )]
    NoStamps,
    /// A counter page that never came to rest.
    #[error("event {event}: its counter page was being rewritten {tries} times in a row")]
    PageUnstable {
        /// The event.
        event: String,
        /// Attempts made.
        tries: u32,
    },
    /// Too many counters for one sample.
    #[error("{asked} counters were asked for, a sample holds {most}")]
    TooManyCounters {
        /// Asked for.
        asked: usize,
        /// Possible.
        most: usize,
    },
    /// Stacks without samples.
    #[error(
        "stacks are read with samples that have time stamps: take --tally or --stacks, not both"
    )]
    StacksInTally,
    /// Calls are found by an observer that does nothing else.
    #[error("--calls finds calls and nothing else: leave out --event and --stacks, or --calls")]
    CallsAlone,
    /// A period that cannot be meant.
    #[error(
        "`{text}` is no period: `fast`, `pause:N` (N pause instructions), N or Nc (cycles), Nns, Nus, Nms"
    )]
    Period {
        /// Text that was given.
        text: String,
    },
    /// Text or numbers that could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A thread or process could not be had or waited for.
    #[error("{what} failed: {source}")]
    System {
        /// The step.
        what: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A file of samples that is damaged or of another kind.
    #[error("{} is not a file of samples: {why}", path.display())]
    BadSamples {
        /// The file.
        path: PathBuf,
        /// Defect of the file.
        why: String,
    },
}

impl ShimError {
    pub(crate) fn region(path: &str, what: &str, source: rustix::io::Errno) -> Self {
        Self::Region {
            path: path.to_owned(),
            what: what.to_owned(),
            source: source.into(),
        }
    }

    pub(crate) fn system(what: &str, source: impl Into<std::io::Error>) -> Self {
        Self::System {
            what: what.to_owned(),
            source: source.into(),
        }
    }
}
