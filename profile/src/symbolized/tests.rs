use proptest::prelude::*;

use super::*;

fn function(name: &str) -> Function {
    Function {
        name: name.into(),
        entry: 0x1000,
        ..Function::default()
    }
}

#[test]
fn equal_functions_locations_and_stacks_are_one() {
    let columns = vec![
        Column::new("cycles", "cycles").in_parts_of(12),
        Column::new("instructions", "count"),
    ];
    let mut builder = Builder::new(Header::default(), columns);
    let (main, again) = (
        builder.function(function("main")),
        builder.function(function("main")),
    );
    assert_eq!(main, again);
    let site = builder.location(0x1004, 0, &[Frame::new(main, 3)]);
    let mut asked = 0;
    let leaf = builder.location_with(0x2000, 2, |builder| {
        asked += 1;
        vec![Frame::new(builder.function(function("leaf")), 9)]
    });
    assert_eq!(builder.location_with(0x2000, 2, |_| Vec::new()), leaf);
    assert_ne!(builder.location(0x2000, 0, &[]), leaf);
    let thread = builder.thread(Thread {
        id: 7,
        name: "first".into(),
    });
    builder.add(None, &[leaf, site], &[18, 1]);
    builder.add(Some(thread), &[leaf, site], &[6, 0]);
    builder.add(None, &[leaf, site], &[1, 2]);
    let profile = builder.build();
    assert_eq!(asked, 1);
    assert_eq!(profile.samples().len(), 2);
    assert_eq!(profile.samples()[0].values, [19, 3]);
    assert_eq!((profile.total(0), profile.total(1)), (25, 3));
    assert_eq!(profile.location(leaf).label(), "0x2000+2");
    assert_eq!(profile.column("instructions"), Some(1));
    let turned = profile.with_main_column(1);
    assert_eq!(turned.main_column().name, "instructions");
    assert_eq!(turned.samples()[0].values, [3, 19]);
}

#[test]
fn largest_remainders_are_rounded_up() {
    // In parts of 12: 7, 6, 5 and 18 are 0.58, 0.5, 0.42 and 1.5, together exactly 3. Rounded down
    // they are 1; the two largest remainders are 7 and the first of the two sixes.
    let mut builder = Builder::new(
        Header::default(),
        vec![Column::new("cycles", "cycles").in_parts_of(12)],
    );
    for (address, value) in [(1, 7), (2, 6), (3, 5), (4, 18)] {
        let place = builder.location(address, 0, &[]);
        builder.add(None, &[place], &[value]);
    }
    let rounded = builder.build().rounded();
    assert_eq!(rounded.column(0), [1, 1, 0, 1]);
    assert_eq!(rounded.sample(3).collect::<Vec<_>>(), [1]);
}

#[test]
fn points_of_a_series_are_in_order_and_finite() {
    let mut builder = Builder::new(Header::default(), vec![Column::new("cycles", "cycles")]);
    builder.series(Series {
        points: vec![(5, 1.0), (2, 2.0), (5, 3.0), (3, f64::NAN)],
        ..Series::default()
    });
    builder.marker(Marker {
        name: "phase".into(),
        start: 9,
        end: 4,
    });
    let profile = builder.build();
    assert_eq!(profile.series()[0].points, [(2, 2.0), (5, 3.0)]);
    assert_eq!(profile.markers()[0].end, 9);
}

#[test]
#[should_panic(expected = "one value for each column")]
fn a_sample_without_values_is_refused() {
    let columns = vec![Column::new("cycles", "cycles")];
    Builder::new(Header::default(), columns).add(None, &[], &[]);
}

proptest! {
    #[test]
    fn rounding_keeps_the_total_and_each_value_within_one(
        values in prop::collection::vec(prop_oneof![0u64..100, any::<u64>()], 0..50),
        denominator in 0u32..100,
    ) {
        let column = Column::new("cycles", "cycles").in_parts_of(denominator);
        let parts = u128::from(column.denominator);
        let mut builder = Builder::new(Header::default(), vec![column]);
        for (place, value) in values.iter().enumerate() {
            let place = builder.location(place as u64, 0, &[]);
            builder.add(None, &[place], &[*value]);
        }
        let profile = builder.build();
        let rounded = profile.rounded();
        prop_assert_eq!(rounded.total(0), (profile.total(0) * 2 + parts) / (parts * 2));
        for (whole, exact) in rounded.column(0).iter().zip(&values) {
            prop_assert!((u128::from(*whole) * parts).abs_diff(u128::from(*exact)) < parts);
        }
    }
}
