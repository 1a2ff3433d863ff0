//! Files of `/proc` on the system: its processor, memory and time, all of them simulated.

use hps_isa::isa::Isa;
use hps_isa::memory::Memory;

use super::subject::Whose;
use super::tree::Text;
use crate::os::time::NANOS_PER_SECOND;
use crate::os::{CLOCK_TICKS_PER_SECOND, Linux};
use crate::process::Thread;

const NANOS_PER_TICK: u64 = 1_000_000_000 / CLOCK_TICKS_PER_SECOND;

impl Linux {
    /// The text of a made-up file.
    pub(super) fn made_text(
        &mut self,
        text: Text,
        whose: Whose,
        thread: &Thread,
        mem: &Memory,
    ) -> Vec<u8> {
        let (name, release) = self.abi.system();
        match text {
            Text::Fixed(text) => text.to_owned(),
            Text::CpuInfo => self.cpu_info(),
            Text::Processors => match self.processors() {
                1 => "0\n".to_owned(),
                count => format!("0-{}\n", count - 1),
            },
            Text::MemInfo => memory_info(self.memory_in_all(mem), mem),
            Text::Stat => self.system_stat(),
            Text::Uptime => format!(
                "{} {}\n",
                seconds(self.time.now_ns),
                seconds(self.time.idle_ns)
            ),
            Text::LoadAverage => "0.00 0.00 0.00 1/1 1000\n".to_owned(),
            Text::Version => format!("{name} version {release} (hps@hps) #1\n"),
            Text::Release => format!("{release}\n"),
            Text::SystemName => format!("{name}\n"),
            Text::Uuid => self.uuid(),
            _ => return self.process_text(text, whose, thread, mem),
        }
        .into_bytes()
    }

    /// `/proc/cpuinfo`: the processors, as Linux tells of them (`arch/riscv/kernel/cpu.c`,
    /// `arch/alpha/kernel/setup.c`).
    fn cpu_info(&self) -> String {
        match self.program.isa {
            Isa::Riscv64 => {
                let isa = hps_isa::riscv::extensions::isa_string();
                let of = |number| {
                    format!(
                        "processor\t: {number}\nhart\t\t: {number}\nisa\t\t: {isa}\nmmu\t\t: sv39\n\
                         mvendorid\t: 0x0\nmarchid\t\t: 0x0\nmimpid\t\t: 0x0\nhart isa\t: {isa}\n\n"
                    )
                };
                (0..self.processors()).map(of).collect()
            }
            Isa::Alpha => {
                let count = self.processors();
                let mask = u64::MAX >> (64 - count);
                let (count, mask) = (count.to_string(), format!("{mask:016x}"));
                [
                    ("cpu", "Alpha"),
                    ("cpu model", "EV67"),
                    ("cpu variation", "7"),
                    ("system type", "hps"),
                    ("page size [bytes]", "8192"),
                    ("platform string", "hps"),
                    ("cpus detected", &count),
                    ("cpus active", &count),
                    ("cpu active mask", &mask),
                ]
                .map(|(key, value)| {
                    let tabs = "\t".repeat(3usize.saturating_sub(key.len() / 8).max(1));
                    format!("{key}{tabs}: {value}\n")
                })
                .concat()
            }
        }
    }

    /// `/proc/stat`: time in ticks since the start, all of it the program's or idle.
    fn system_stat(&self) -> String {
        let idle = self.time.idle_ns / NANOS_PER_TICK;
        let busy = self.all_busy_ns() / NANOS_PER_TICK;
        let times = format!("{busy} 0 0 {idle} 0 0 0 0 0 0");
        let each: String = (0..self.processors())
            .map(|number| format!("cpu{number} {times}\n"))
            .collect();
        let start = self.time.start_ns / NANOS_PER_SECOND;
        format!(
            "cpu  {times}\n{each}intr 0\nctxt 0\nbtime {start}\nprocesses 1\n\
             procs_running 1\nprocs_blocked 0\n"
        )
    }

    /// Processor time of the process until a simulated time, in ticks.
    pub(super) fn busy_ticks(&self, now_ns: u64) -> u64 {
        self.threads.processor_ns(now_ns) / NANOS_PER_TICK
    }

    /// A random UUID (version 4) from the guest's seed.
    fn uuid(&mut self) -> String {
        let mut bytes = [0; 16];
        self.run.random.fill(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let part = |from: usize, to: usize| &hex[from..to];
        format!(
            "{}-{}-{}-{}-{}\n",
            part(0, 8),
            part(8, 12),
            part(12, 16),
            part(16, 20),
            part(20, 32)
        )
    }
}

/// `/proc/meminfo`: the machine has as much memory as the guest may use.
fn memory_info((total, free): (u64, u64), mem: &Memory) -> String {
    let (total, free) = (total >> 10, free >> 10);
    let rows = [
        ("MemTotal", total),
        ("MemFree", free),
        ("MemAvailable", free),
        ("Buffers", 0),
        ("Cached", 0),
        ("SwapCached", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Shmem", 0),
        ("CommitLimit", total),
        ("Committed_AS", mem.mapped_bytes() >> 10),
    ];
    let row = |(name, kib): (&str, u64)| format!("{:<16}{kib:>8} kB\n", format!("{name}:"));
    rows.map(row).concat()
}

/// Nanoseconds as seconds with two digits behind the point.
fn seconds(nanos: u64) -> String {
    let hundredths = nanos / 10_000_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
