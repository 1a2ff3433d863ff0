//! Which CPU a thread runs on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::ShimError;

/// The CPUs that the calling thread may use, in order.
///
/// # Errors
/// [`ShimError::System`] if the kernel does not say.
pub fn allowed() -> Result<Vec<usize>, ShimError> {
    let set = sched_getaffinity(None).map_err(|e| ShimError::system("sched_getaffinity", e))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// A set of CPUs for the kernel.
#[must_use]
pub fn set_of(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    set
}

/// Binds the calling thread to one CPU.
///
/// # Errors
/// [`ShimError::Pin`] if the kernel refuses.
pub fn pin(cpu: usize) -> Result<(), ShimError> {
    sched_setaffinity(None, &set_of(&[cpu])).map_err(|e| ShimError::Pin {
        cpu,
        source: e.into(),
    })
}

/// Whether the calling thread, which was bound to a CPU, still is: when the CPU goes offline, the kernel moves it and
/// forgets the binding, also for the time when the CPU is back.
#[must_use]
pub fn stayed(cpu: usize) -> bool {
    allowed().is_ok_and(|all| all == [cpu])
}

/// CPU numbers as people write them: `0-3,6`.
#[must_use]
pub fn listed(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    parts.join(",")
}

/// The numbers in `0-3,6`; `None` if it is no such list.
#[must_use]
pub fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= CpuSet::MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_and_read() {
        assert_eq!(listed(&[0, 1, 2, 3, 6]), "0-3,6");
        assert_eq!(parse_list("0-3,6\n"), Some(vec![0, 1, 2, 3, 6]));
        assert_eq!(parse_list("5"), Some(vec![5]));
        for bad in ["x", "3-1", "1-", "99999999"] {
            assert_eq!(parse_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_pinned_thread_stays_alone_with_it() {
        let before = allowed().unwrap();
        let cpu = before[0];
        std::thread::spawn(move || {
            pin(cpu).unwrap();
            assert_eq!(allowed().unwrap(), vec![cpu]);
            assert!(stayed(cpu));
        })
        .join()
        .unwrap();
        assert_eq!(allowed().unwrap(), before);
        assert_eq!(stayed(cpu), before.len() == 1);
    }
}
