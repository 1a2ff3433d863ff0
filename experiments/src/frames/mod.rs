//! Results as frames: the one declaration of each column of the tables that the lab writes.
//!
//! A column is never renamed and keeps its unit. A new one comes at the end, and the version of its table grows.

mod board;
mod points;
mod units;

use hps_frames::{Frame, Schema};

pub use self::board::board;
pub use self::points::{machines, points};
pub use self::units::{bars, claims, measurements};

/// Declarations of all tables of this crate.
#[must_use]
pub fn schemas() -> Vec<Schema> {
    let empty: [Frame; 6] = [
        points(&[]),
        machines(&[]),
        measurements(&[]),
        bars(&[]),
        claims(&[]),
        board(&[]),
    ];
    empty.map(|frame| frame.schema().clone()).into()
}

#[cfg(test)]
mod tests {
    use super::schemas;

    #[test]
    fn every_column_has_a_name_a_unit_and_a_meaning() {
        let defects: Vec<String> = schemas().iter().flat_map(|s| s.defects()).collect();
        assert!(defects.is_empty(), "{defects:#?}");
        assert_eq!(schemas().len(), 6);
    }
}
