//! Decisions that people take by a profile, and whether the profile has them right: the hottest function, line and
//! instruction, the five hottest of each, and the cause of the hottest instruction.

use hps_profile::Profile;
use hps_profilers::Key;
use hps_profilers::views::Level;

use super::undisturbed::{Cell, Found};

/// The measure of an answer in results; its setting says which.
pub const ANSWER: &str = "answer_ratio";

/// Levels at which the hottest members are asked for, with the names of both questions.
pub const QUESTIONS: [(Level, &str, &str); 3] = [
    (Level::Function, "hottest-function", "top-five-functions"),
    (Level::Line, "hottest-line", "top-five-lines"),
    (
        Level::Instruction,
        "hottest-instruction",
        "top-five-instructions",
    ),
];
/// The question for the events of the hottest instruction.
pub const CAUSE: &str = "cause";
/// The share of a profile's time at (instruction, event) that is there in truth.
pub const EVENT_PRECISION: &str = "event-precision";
/// The share of the true time at (instruction, event) that a profile tells.
pub const EVENT_RECALL: &str = "event-recall";

/// Members whose true time differs by less than this share are equally hot: either is a right answer.
const TIE: f64 = 0.01;

/// Members that are asked for.
const TOP: usize = 5;

/// Answers of a profile: the question, and how far it is right, from 0 to 1.
pub(super) fn answers(
    cells: &Profile<Cell>,
    tells_events: bool,
    found: &Found,
) -> Vec<(&'static str, f64)> {
    let mut all = Vec::new();
    for (level, hottest, top) in QUESTIONS {
        let weights = cells.iter().map(|(&(key, _), units)| (key, units));
        let profile = found.levels.profile(level, weights);
        let exact = found.levels.exact(level);
        all.push((hottest, right(&profile, exact, 1)));
        all.push((top, right(&profile, exact, TOP)));
    }
    if tells_events {
        all.push((CAUSE, names_cause(cells, &found.cells)));
        let (precision, recall) = events(cells, &found.cells);
        all.push((EVENT_PRECISION, precision));
        all.push((EVENT_RECALL, recall));
    }
    all
}

/// How many of a profile's hottest members are among the truly hottest, as a share.
fn right<K: Ord + std::hash::Hash + Clone>(
    profile: &Profile<K>,
    exact: &Profile<K>,
    count: usize,
) -> f64 {
    let truly = exact.top(count);
    let Some((_, least)) = truly.last() else {
        return 0.0;
    };
    let is_hot = |member: &K| exact.weight(member) as f64 >= (1.0 - TIE) * *least as f64;
    let named = profile.top(truly.len());
    let hits = named.iter().filter(|(member, _)| is_hot(member)).count();
    hits as f64 / truly.len() as f64
}

/// Whether the hottest instruction has most of its time with the same events as in truth.
fn names_cause(cells: &Profile<Cell>, exact: &Profile<Cell>) -> f64 {
    let by_instruction: Profile<Key> = (exact.iter())
        .map(|(&(key, _), units)| (key, units))
        .collect();
    let Some((&hottest, _)) = by_instruction.top(1).first().copied() else {
        return 0.0;
    };
    let mostly = |of: &Profile<Cell>| {
        let there = of.iter().filter(|((key, _), _)| *key == hottest);
        let most = there.max_by_key(|&(&(_, events), units)| (units, std::cmp::Reverse(events)));
        most.map(|(&(_, events), _)| events)
    };
    f64::from(mostly(cells).is_some_and(|events| Some(events) == mostly(exact)))
}

/// Precision and recall of the time at (instruction, event): a cell counts for each of its events.
fn events(cells: &Profile<Cell>, exact: &Profile<Cell>) -> (f64, f64) {
    let single = |of: &Profile<Cell>| -> Profile<(Key, u16)> {
        let cells = of.iter().flat_map(|(&(key, events), units)| {
            let bits = (0..u16::BITS).map(|bit| 1_u16 << bit);
            let there = bits.filter(move |bit| events & bit != 0);
            there.map(move |bit| ((key, bit), units))
        });
        cells.collect()
    };
    let (told, truth) = (single(cells), single(exact));
    // Shares of all time of each, and not of the time with events.
    let share = |units: u64, of: &Profile<Cell>| units as f64 / of.total().max(1) as f64;
    let common: f64 = (told.iter())
        .map(|(member, units)| share(units, cells).min(share(truth.weight(member), exact)))
        .sum();
    let part = |of: &Profile<(Key, u16)>, whole| match share(of.total(), whole) {
        0.0 => 1.0,
        all => common / all,
    };
    (part(&told, cells), part(&truth, exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(pc: u64, events: u16) -> Cell {
        (Key::of_program(pc), events)
    }

    #[test]
    fn the_hottest_are_right_if_they_are_as_hot() {
        let exact: Profile<u32> = [(1, 1000), (2, 995), (3, 500), (4, 10)]
            .into_iter()
            .collect();
        let named = |all: &[(u32, u64)], count| {
            let profile: Profile<u32> = all.iter().copied().collect();
            right(&profile, &exact, count)
        };
        assert_eq!(named(&[(1, 5), (2, 4)], 1), 1.0);
        // Within 1% of the hottest.
        assert_eq!(named(&[(2, 5), (1, 4)], 1), 1.0);
        assert_eq!(named(&[(3, 5), (1, 4)], 1), 0.0);
        assert_eq!(named(&[(7, 5)], 1), 0.0);
        assert_eq!(named(&[], 1), 0.0);
        // Of four members there is no fifth.
        assert_eq!(named(&[(1, 1), (3, 2), (2, 3), (9, 4)], 5), 0.75);
    }

    #[test]
    fn causes_and_events_are_counted_by_time() {
        let exact: Profile<Cell> = [(cell(8, 1), 60), (cell(8, 0), 20), (cell(16, 3), 20)]
            .into_iter()
            .collect();
        // All right.
        assert_eq!(names_cause(&exact, &exact), 1.0);
        assert_eq!(events(&exact, &exact), (1.0, 1.0));
        // Without events nothing that it tells is wrong, and it tells nothing.
        let silent: Profile<Cell> = [(cell(8, 0), 80), (cell(16, 0), 20)].into_iter().collect();
        assert_eq!(names_cause(&silent, &exact), 0.0);
        assert_eq!(events(&silent, &exact), (1.0, 0.0));
        // At 8 the first event for 80 of 60 units, and at 16 the second of two: 100 told, 100 true, 80 of both.
        let partly: Profile<Cell> = [(cell(8, 1), 80), (cell(16, 2), 20)].into_iter().collect();
        assert_eq!(names_cause(&partly, &exact), 1.0);
        let (precision, recall) = events(&partly, &exact);
        assert!((precision - 0.8).abs() < 1e-12 && (recall - 0.8).abs() < 1e-12);
        // The hottest instruction is missing.
        let other: Profile<Cell> = [(cell(16, 3), 1)].into_iter().collect();
        assert_eq!(names_cause(&other, &exact), 0.0);
    }
}
