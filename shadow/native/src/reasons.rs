//! Why a session has no shadow, and what its forks cost, in words.

use std::time::Duration;

use crate::session::Session;

/// The longest time between two ticks of a kernel.
const LONGEST_TICK: Duration = Duration::from_millis(10);

impl Session {
    /// Why no shadow was forked; `None` if one was, or if shadows were not asked for.
    ///
    /// `period`: as in the request. `is_attached`: the program ran already.
    #[must_use]
    pub fn no_shadow(&self, period: Duration, is_attached: bool) -> Option<String> {
        if !self.shadows.is_empty() || self.whole.is_some() {
            return None;
        }
        let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        let monitor = &self.monitor;
        let why = match () {
            () if monitor.failed > 0 => "the kernel refused to fork (ulimit -u, memory)".to_owned(),
            () if monitor.spared > 0 && monitor.expected_ns > 0 => {
                self.unaffordable(monitor.expected_ns as f64 / 1e9)
            }
            () if monitor.spared > 0 => {
                "the size of the program's memory is not known yet: run longer".to_owned()
            }
            () if monitor.signals > 0 => {
                "the wanted load was reached without one: give a larger --load".to_owned()
            }
            // The kernel's tick makes the first signal late.
            () if self.cpu < period + LONGEST_TICK => format!(
                "the program took {} of processor time, and the monitor's first signal comes after {}: give a \
                 shorter --period{}",
                milliseconds(self.cpu),
                milliseconds(period),
                match is_attached {
                    true => ", or attach when it computes",
                    false => " or more work, or --full",
                }
            ),
            () if is_attached => format!(
                "the program took {} of processor time, and not one signal of the monitor arrived: it blocks SIGURG, or \
                 has set an action for it since it was attached",
                milliseconds(self.cpu)
            ),
            () => format!(
                "the program took {} of processor time, and not one signal of the monitor arrived: the program \
                 handles SIGURG itself or blocks it; --full does without, and so does `hps shadow attach` once it \
                 handles it",
                milliseconds(self.cpu)
            ),
        };
        Some(format!("no shadow was forked: {why}"))
    }

    /// Why no fork fitted into the limit of overhead. `expected`: seconds that a fork is expected to cost.
    fn unaffordable(&self, expected: f64) -> String {
        let (share, cpu) = (self.most_overhead.unwrap_or(0.0), self.cpu.as_secs_f64());
        // The monitor's own time comes off the limit as well.
        let monitor = self.monitor.spent_ns as f64 / 1e9;
        let left = share - monitor / cpu.max(1e-9);
        let mut needs = vec![format!(
            "allow more (--max-overhead {:.2})",
            100.0 * (expected + monitor) / cpu.max(1e-9) + 0.01
        )];
        if left > 0.0 {
            needs.insert(0, format!("run longer ({:.1} s)", expected / left));
        }
        format!(
            "a fork of {:.1} MiB is expected to cost {:.1} ms; {}% of {cpu:.2} s are {:.1} ms, of which the monitor took \
             {:.1} ms: {}",
            self.monitor.expected_bytes as f64 / f64::from(1 << 20),
            expected * 1e3,
            100.0 * share,
            cpu * share * 1e3,
            monitor * 1e3,
            needs.join(", or ")
        )
    }

    /// A warning if forks took more than a tenth of the program's time; copies of pages that both then write come on top.
    #[must_use]
    pub fn costly_forks(&self) -> Option<String> {
        let (monitor, forks) = (self.monitor.monitor_ns as f64, self.monitor.forks);
        let share = monitor / self.wall.as_nanos().max(1) as f64;
        (forks > 0 && share > 0.1).then(|| {
            format!(
                "{forks} forks took {:.0}% of the program's time, {:.1} ms each, and pages that the program writes to \
                 are copied after each one: --max-overhead, a smaller --load or a longer --period fork less often",
                100.0 * share,
                monitor / forks as f64 / 1e6
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hps_shim::symbols::Symbolizer;

    use super::*;
    use crate::{Monitor, Profiles};

    fn session(monitor: Monitor) -> Session {
        Session {
            status: String::new(),
            code: 0,
            wall: Duration::from_millis(100),
            cpu: Duration::from_millis(100),
            monitor,
            shadows: Vec::new(),
            endings: BTreeMap::new(),
            calls: Vec::new(),
            profiles: Profiles::default(),
            threads: Vec::new(),
            most_overhead: Some(0.01),
            whole: None,
            symbols: Symbolizer::default(),
            damaged: 0,
        }
    }

    #[test]
    fn forks_that_take_more_than_a_tenth_of_the_time_are_warned_of() {
        let taking = |milliseconds: u64| {
            session(Monitor {
                forks: 4,
                monitor_ns: milliseconds * 1_000_000,
                ..Monitor::default()
            })
        };
        assert_eq!(taking(9).costly_forks(), None);
        let said = taking(20).costly_forks().expect("a warning");
        assert!(
            said.contains("4 forks took 20%") && said.contains("5.0 ms each"),
            "{said}"
        );
    }

    #[test]
    fn a_session_without_a_shadow_has_a_reason() {
        let why = |monitor, period, is_attached| {
            let session = session(monitor);
            session
                .no_shadow(Duration::from_millis(period), is_attached)
                .expect("a reason")
        };
        let refused = Monitor {
            failed: 3,
            signals: 3,
            ..Monitor::default()
        };
        let unwanted = Monitor {
            signals: 2,
            ..Monitor::default()
        };
        assert!(why(refused, 4, false).contains("ulimit -u"));
        assert!(why(unwanted, 4, false).contains("--load"));
        // 25 ms of a fork and 1 of the monitor's, in 100 ms: 26%.
        let dear = Monitor {
            signals: 3,
            spared: 3,
            spent_ns: 1_000_000,
            expected_ns: 25_000_000,
            expected_bytes: 3 << 19,
            ..Monitor::default()
        };
        let said = why(dear, 4, false);
        assert!(
            said.contains("a fork of 1.5 MiB is expected to cost 25.0 ms; 1% of 0.10 s are 1.0 ms")
                && said.contains("--max-overhead 26.01"),
            "{said}"
        );
        assert!(why(Monitor::default(), 95, false).contains("comes after 95.0 ms"));
        assert!(why(Monitor::default(), 4, false).contains("handles SIGURG itself"));
        for period in [4, 95] {
            assert!(!why(Monitor::default(), period, true).contains("--full"));
        }
    }
}
