//! Instructions that are looked for, and the run as a whole.

use rustc_hash::FxHashMap;

use crate::protocol::{Problem, Share, Sought};
use crate::recorder::Recorded;
use crate::session::Session;

/// Parts of an overview.
const MOST_PARTS: u64 = 4096;
/// Waits that are ranked.
const MOST_WAITS: usize = 1000;

impl Session {
    /// The place of an instruction that is looked for from a row on; `only_committed` leaves wrong paths out.
    pub(crate) fn seek(
        &self,
        from: u64,
        backwards: bool,
        only_committed: bool,
        what: &Sought,
    ) -> Result<Option<usize>, Problem> {
        let recorded = self.recorded()?;
        match what {
            Sought::Text { text } => Ok(self.seek_text(from, backwards, only_committed, text)),
            Sought::LongestWait { rank } => Ok(longest_wait(recorded, *rank)),
        }
    }

    fn seek_text(
        &self,
        from: u64,
        backwards: bool,
        only_committed: bool,
        text: &str,
    ) -> Option<usize> {
        let recorded = self.recorded().ok()?;
        let text = text.trim().to_lowercase();
        if let Some(number) = text.strip_prefix('#') {
            let number: usize = number.trim().replace(',', "").parse().ok()?;
            return (number < recorded.rows.len()).then_some(number);
        }
        let isa = self.isa();
        let mut known: FxHashMap<(u64, u16), bool> = FxHashMap::default();
        let mut fits = |at: &usize| {
            let row = &recorded.rows[*at];
            if only_committed && row.squashed {
                return false;
            }
            *known
                .entry((row.pc, row.disepc.to_bits()))
                .or_insert_with(|| {
                    let line = isa.disassemble(&row.inst, row.pc);
                    format!("{:#x} {}", row.pc, line.to_lowercase()).contains(&text)
                })
        };
        let from = usize::try_from(from)
            .unwrap_or(usize::MAX)
            .min(recorded.rows.len());
        match backwards {
            true => (0..from).rev().find(&mut fits),
            false => (from + 1..recorded.rows.len()).find(&mut fits),
        }
    }

    /// The run from a cycle to another one in equal parts.
    pub(crate) fn overview(
        &self,
        first: u64,
        end: u64,
        parts: u64,
        context: u64,
    ) -> Result<Vec<Share>, Problem> {
        let recorded = self.recorded()?;
        let end = end.min(self.cycles());
        let parts = parts.clamp(1, MOST_PARTS);
        let cycles = end.saturating_sub(first);
        let border = |part: u64| first + cycles * part / parts;
        Ok((0..parts)
            .map(|part| recorded.share(context, border(part)..border(part + 1)))
            .collect())
    }
}

/// The row whose commit ends a long time without commits.
fn longest_wait(recorded: &Recorded, rank: u64) -> Option<usize> {
    let mut last = 0;
    let mut waits: Vec<(u64, u32)> = Vec::with_capacity(recorded.commits.len());
    for (at, commit) in (0..).zip(&recorded.commits) {
        waits.push((commit.cycle - last, at));
        last = commit.cycle;
    }
    // The longest first, and the earlier of equal ones.
    let order = |&(cycles, at): &(u64, u32)| (std::cmp::Reverse(cycles), at);
    if waits.len() > MOST_WAITS {
        waits.select_nth_unstable_by_key(MOST_WAITS, order);
        waits.truncate(MOST_WAITS);
    }
    waits.sort_unstable_by_key(order);
    let (_, commit) = *waits.get(usize::try_from(rank).ok()?)?;
    recorded.row_of_commit(commit)
}
