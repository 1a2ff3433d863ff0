use std::cmp::Reverse;

use super::SymbolizedProfile;

/// The values of a profile in whole units.
///
/// Columns of parts (see [`Column`](super::Column)) are rounded by largest remainders: every value
/// is rounded down, and as many of those with the largest remainders are rounded up as the rounded
/// total wants (of equal remainders, the first samples). So each value is less than one unit off,
/// and the sum of a column's values is its exact total, rounded to the nearest integer, halves up.
/// Columns of whole units are as they are.
///
/// Every format writes these values and sums of them, so that the totals of all formats agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundedValues {
    columns: Vec<Vec<u64>>,
}

impl RoundedValues {
    pub(super) fn new(profile: &SymbolizedProfile) -> Self {
        let columns = profile.columns().iter().enumerate();
        let columns = columns.map(|(place, column)| {
            let values = profile.samples().iter().map(|sample| sample.values[place]);
            round(values.collect(), u64::from(column.denominator))
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// The values of a column, one for each sample of the profile.
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn column(&self, column: usize) -> &[u64] {
        &self.columns[column]
    }

    /// The values of a sample, one for each column.
    ///
    /// # Panics
    /// When there is no such sample.
    pub fn sample(&self, sample: usize) -> impl Iterator<Item = u64> + '_ {
        self.columns.iter().map(move |column| column[sample])
    }

    /// The sum of a column.
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn total(&self, column: usize) -> u128 {
        self.columns[column].iter().copied().map(u128::from).sum()
    }
}

fn round(mut values: Vec<u64>, denominator: u64) -> Vec<u64> {
    if denominator == 1 {
        return values;
    }
    let total: u128 = values.iter().copied().map(u128::from).sum();
    let parts = u128::from(denominator);
    let rounded = (total + parts / 2) / parts;
    let mut remainders: Vec<(u64, usize)> = Vec::new();
    let mut down = 0_u128;
    for (place, value) in values.iter_mut().enumerate() {
        let remainder = *value % denominator;
        if remainder > 0 {
            remainders.push((remainder, place));
        }
        *value /= denominator;
        down += u128::from(*value);
    }
    // Fewer than there are remainders, each of which is less than one.
    let up = usize::try_from(rounded - down).unwrap_or(usize::MAX);
    remainders.sort_unstable_by_key(|&(remainder, place)| (Reverse(remainder), place));
    for (_, place) in remainders.into_iter().take(up) {
        values[place] += 1;
    }
    values
}
