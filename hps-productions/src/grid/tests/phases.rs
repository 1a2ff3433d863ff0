//! Phases against counters that begin further on.

use super::*;

/// The engine's counters as they stand when a schedule is that many events ahead.
fn ahead(point: &SamplePoint, events: u64) -> Naive {
    let mut naive = Naive::new(point);
    let in_sparsity = events.min(point.sparsity);
    naive.counters[0] += in_sparsity;
    naive.counters[1] += events - in_sparsity;
    naive
}

#[test]
fn every_phase_equals_counters_that_begin_further_on() {
    let points = points();
    let phases = [
        Phase::ENGINE,
        Phase::drawn(1),
        Phase::drawn(2),
        Phase::drawn(3),
    ];
    let grid = GridProbe::with_memory(&points, None).unwrap();
    let mut probe = PhasedGrid::new(grid);
    let mut naive: Vec<Vec<Naive>> = (points.iter())
        .map(|point| {
            phases
                .map(|phase| ahead(point, phase.events(*point)))
                .into()
        })
        .collect();
    let mut random = Random(23);
    for _ in 0..60_000 {
        let step = random_step(&mut random);
        if step.1.class.is_memory() {
            probe.memory(step.0, &step.1, step.3);
        } else {
            probe.control(step.0, &step.1, step.2, step.2 != step.0 + 4);
        }
        let all = naive.iter_mut().flatten();
        all.for_each(|sampler| sampler.step(step.0, &step.1, step.2, step.3));
    }
    let (result, trace) = probe.finish();
    let trace = trace.expect("few events");
    let mut different = 0;
    for ((&point, naive), engine) in points.iter().zip(&naive).zip(&result.points) {
        for (&phase, naive) in phases.iter().zip(naive) {
            let found = trace.profiles(point, phase);
            let recorder = trace.references(point, phase, None).unwrap().unwrap();
            let addresses: AddressCounts = naive.addresses.iter().map(|(&a, &n)| (a, n)).collect();
            assert_eq!(found.addresses, addresses, "{point} at {phase:?}");
            let pairs = naive.pairs.iter();
            let pairs: Profile<CallPair> = pairs
                .map(|(&(site, target), &n)| (CallPair { site, target }, n))
                .collect();
            assert_eq!(found.call_pairs, pairs, "{point} at {phase:?}");
            let expected = digest(&naive.trace);
            assert_eq!(
                (recorder.digest(), recorder.bursts(), recorder.references()),
                (expected.digest(), expected.bursts(), expected.references()),
                "{point} at {phase:?}"
            );
            different += u32::from(found.addresses != engine.addresses);
        }
        assert_eq!(
            trace.profiles(point, Phase::ENGINE).addresses,
            engine.addresses
        );
    }
    // All but the engine's, of the points that neither sample everything nor nothing.
    assert!(different >= 15, "{different}");
}

#[test]
fn phases_are_spread_evenly_and_stay_within_a_period() {
    let point = SamplePoint::from_frequency(10, 10).unwrap();
    assert_eq!(Phase::ENGINE.events(point), 0);
    let mut tenths = [0; 10];
    for number in 0..1000 {
        tenths[Phase::drawn(number).events(point) as usize / 10] += 1;
    }
    // 100 each, with a standard deviation of 9.5.
    assert!(tenths.iter().all(|n| (60..140).contains(n)), "{tenths:?}");
}
