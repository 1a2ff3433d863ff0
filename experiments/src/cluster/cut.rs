//! A plan cut into parts of about equal cost.

use std::ops::Range;

/// The cost of a piece, and the shared work that it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Seconds of its own.
    pub seconds: f64,
    /// Indices into the costs of shared work.
    pub needs: [Option<u32>; 2],
}

/// Cuts a row of pieces into `parts` neighbouring ranges, some of them empty if there are fewer pieces. The dearest
/// part costs as little as such a cut allows, within a millionth; each part pays for the shared work of its pieces.
///
/// The result depends on nothing but the arguments, so that each part can find its own range.
#[must_use]
pub fn cut(loads: &[Load], shared: &[f64], parts: usize) -> Vec<Range<usize>> {
    let parts = parts.max(1);
    let mut cutter = Cutter {
        loads,
        shared,
        paid: vec![0; shared.len()],
        part: 0,
    };
    let mut most: f64 = loads.iter().map(|load| load.seconds).sum();
    // Sums in another order may differ in their last digits.
    most = (most + shared.iter().sum::<f64>()) * (1.0 + 1e-9);
    // No cut is below the dearest piece with what it needs.
    let dearest = |load: &Load| {
        let needs = load.needs.iter().flatten();
        load.seconds + needs.map(|need| shared[*need as usize]).sum::<f64>()
    };
    let mut least = loads.iter().map(dearest).fold(0.0, f64::max);
    while most - least > most * 1e-6 {
        let middle = 0.5 * (least + most);
        match cutter.ends(middle, parts).is_some() {
            true => most = middle,
            false => least = middle,
        }
    }
    let mut ends = cutter
        .ends(most, parts)
        .unwrap_or_else(|| vec![loads.len()]);
    ends.resize(parts, loads.len());
    let mut begin = 0;
    let range = |end| std::mem::replace(&mut begin, end)..end;
    ends.into_iter().map(range).collect()
}

/// Seconds that the pieces of a range cost together with the shared work that they need.
#[must_use]
pub fn seconds(loads: &[Load], shared: &[f64]) -> f64 {
    let mut needed = vec![false; shared.len()];
    let mut sum = 0.0;
    for load in loads {
        sum += load.seconds;
        for need in load.needs.iter().flatten() {
            if !std::mem::replace(&mut needed[*need as usize], true) {
                sum += shared[*need as usize];
            }
        }
    }
    sum
}

struct Cutter<'a> {
    loads: &'a [Load],
    shared: &'a [f64],
    /// For each shared work the part that paid for it last.
    paid: Vec<u64>,
    /// Number of the current part, over all attempts.
    part: u64,
}

impl Cutter<'_> {
    /// Where parts end if each takes what fits below `most` seconds; `None` if there would be too many.
    fn ends(&mut self, most: f64, parts: usize) -> Option<Vec<usize>> {
        let mut ends = Vec::new();
        let mut sum = 0.0;
        self.part += 1;
        for (at, load) in self.loads.iter().enumerate() {
            let more = self.more(load);
            // A piece alone always fits, whatever rounding says.
            if sum + more > most && ends.last().copied().unwrap_or(0) < at {
                ends.push(at);
                if ends.len() == parts {
                    return None;
                }
                self.part += 1;
                sum = 0.0;
            }
            sum += self.more(load);
            for need in load.needs.iter().flatten() {
                self.paid[*need as usize] = self.part;
            }
        }
        ends.push(self.loads.len());
        Some(ends)
    }

    /// Seconds that a piece adds to the current part.
    fn more(&self, load: &Load) -> f64 {
        let needs = load.needs.iter().flatten().map(|need| *need as usize);
        let unpaid = needs.filter(|need| self.paid[*need] != self.part);
        load.seconds + unpaid.map(|need| self.shared[need]).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(seconds: f64, need: Option<u32>) -> Load {
        Load {
            seconds,
            needs: [need, None],
        }
    }

    #[test]
    fn parts_are_as_equal_as_neighbours_allow() {
        let loads: Vec<Load> = [4.0, 1.0, 1.0, 3.0, 3.0].map(|s| load(s, None)).into();
        // 4 | 1 1 3 | 3 and 4 1 | 1 3 | 3: the dearest part costs 5 in the best cuts.
        let ranges = cut(&loads, &[], 3);
        let dearest = ranges.iter().map(|r| seconds(&loads[r.clone()], &[]));
        assert_eq!(dearest.fold(0.0, f64::max), 5.0);
        assert_eq!(cut(&loads, &[], 3), ranges);
    }

    #[test]
    fn a_cut_between_pieces_that_share_work_costs_that_work_twice() {
        let loads = [load(2.0, Some(0)), load(2.0, Some(0)), load(4.0, None)];
        assert_eq!(seconds(&loads[..2], &[1.0]), 5.0);
        // 2 2 | 4 costs at most 5, and 2 | 2 4 costs 7.
        assert_eq!(cut(&loads, &[1.0], 2), [0..2, 2..3]);
        // In three parts each of the first two pays.
        assert_eq!(cut(&loads, &[1.0], 3), [0..1, 1..2, 2..3]);
    }

    #[test]
    fn more_parts_than_pieces_are_empty() {
        let loads = [load(1.0, None), load(1.0, None)];
        assert_eq!(cut(&loads, &[], 4), [0..1, 1..2, 2..2, 2..2]);
        assert_eq!(cut(&[], &[], 2), [0..0, 0..0]);
        let free = [load(0.0, None), load(0.0, None)];
        assert_eq!(cut(&free, &[], 1).first(), Some(&(0..2)));
    }
}
