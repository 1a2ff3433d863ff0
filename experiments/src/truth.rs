//! Profiles that a functional run of a program prescribes, and how a collected one differs.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use hps_productions::{CollectedProfile, GridProbe, GridResult, PointProfiles, SamplePoint};

use crate::timed::watched;
use hps_lab::Program;

/// The profiles of a program at some points, from one functional run, which is made when they are
/// first asked for.
pub struct Truth<'a> {
    program: &'a Program,
    points: Vec<SamplePoint>,
    pass: OnceLock<Result<GridResult, String>>,
}

impl<'a> Truth<'a> {
    /// The truth of a program at these points.
    #[must_use]
    pub fn new(program: &'a Program, points: &[SamplePoint]) -> Self {
        Truth {
            program,
            points: points.to_vec(),
            pass: OnceLock::new(),
        }
    }

    /// The profiles at a point, or the exhaustive ones if it is not one of the points.
    ///
    /// # Errors
    /// How the program ended, if not well.
    pub fn at(&self, point: SamplePoint) -> Result<&PointProfiles, String> {
        let pass = self.pass.get_or_init(|| {
            let probe = GridProbe::with_memory(&self.points, None).map_err(|e| e.to_string())?;
            Ok(watched(self.program, probe)?.0.finish())
        });
        let pass = pass.as_ref().map_err(Clone::clone)?;
        let of_point = pass.points.iter().find(|p| p.point == point);
        Ok(of_point.unwrap_or(&pass.exhaustive))
    }
}

/// A collected profile beside the one that it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Events or references collected.
    pub samples: u64,
    /// Events or references that should have been.
    pub expected: u64,
    /// Members (addresses, call pairs) whose counts differ; for a trace of references, 1 if it
    /// differs anywhere.
    pub members: u64,
    /// Events that found no room in the handler's table.
    pub lost: u64,
}

/// Compares count for count.
#[must_use]
pub fn difference(collected: &CollectedProfile, expected: &PointProfiles) -> Difference {
    match collected {
        CollectedProfile::Nothing => Difference {
            samples: 0,
            expected: 0,
            members: 0,
            lost: 0,
        },
        CollectedProfile::Method { addresses, lost } => {
            let (mine, its) = (addresses.sorted(), expected.addresses.sorted());
            let all: BTreeSet<u64> = mine.iter().chain(&its).map(|(a, _)| *a).collect();
            let differ = |&&a: &&u64| addresses.get(a) != expected.addresses.get(a);
            Difference {
                samples: addresses.total(),
                expected: expected.addresses.total(),
                members: all.iter().filter(differ).count() as u64,
                lost: *lost,
            }
        }
        CollectedProfile::CallPair { call_pairs, lost } => {
            let its = &expected.call_pairs;
            let all: BTreeSet<_> = call_pairs
                .iter()
                .chain(its.iter())
                .map(|(p, _)| p)
                .collect();
            let differ = |pair: &&&_| call_pairs.weight(pair) != its.weight(pair);
            Difference {
                samples: call_pairs.total(),
                expected: its.total(),
                members: all.iter().filter(differ).count() as u64,
                lost: *lost,
            }
        }
        CollectedProfile::DataStream(trace) => {
            let (references, same) = expected.stream.as_ref().map_or((0, false), |its| {
                let same = (trace.references(), trace.bursts(), trace.digest())
                    == (its.references(), its.bursts(), its.digest());
                (its.references(), same)
            });
            Difference {
                samples: trace.references(),
                expected: references,
                members: u64::from(!same),
                lost: 0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hps_productions::AddressCounts;
    use hps_profile::{CallPair, Profile};

    use super::*;

    fn expected() -> PointProfiles {
        let pair = CallPair { site: 1, target: 2 };
        PointProfiles {
            point: SamplePoint::EXHAUSTIVE,
            addresses: [(10, 3), (20, 1)].into_iter().collect(),
            call_pairs: [(pair, 5)].into_iter().collect(),
            tail_calls: Profile::new(),
            stream: None,
        }
    }

    #[test]
    fn every_member_that_differs_is_counted() {
        let method = |counts: &[(u64, u64)]| CollectedProfile::Method {
            addresses: counts.iter().copied().collect::<AddressCounts>(),
            lost: 0,
        };
        let members = |collected| difference(&collected, &expected()).members;
        assert_eq!(members(method(&[(10, 3), (20, 1)])), 0);
        // The same number of samples at other members, one more, one less.
        assert_eq!(members(method(&[(10, 2), (30, 2)])), 3);
        assert_eq!(members(method(&[])), 2);
        let none = CollectedProfile::CallPair {
            call_pairs: Profile::new(),
            lost: 7,
        };
        let found = difference(&none, &expected());
        assert_eq!((found.samples, found.expected), (0, 5));
        assert_eq!((found.members, found.lost), (1, 7));
    }
}
