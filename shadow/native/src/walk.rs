//! From the units that a shadow enters to counts: edges, calls, paths.
//!
//! A **path within a function** begins behind a call or a jump that does not lead ahead, goes on behind the calls that it
//! makes, and ends at a return or at a jump that does not lead ahead. A **path across functions** goes on through calls
//! and returns, [`MOST_SEGMENTS`] of them, and ends at jumps that do not lead ahead. There is no graph of the program's
//! functions to number paths by, as the lab has; a path is known by a hash of its blocks' addresses.
//!
//! Code that a shadow runs without having come there by a transfer (its beginning, a signal handler) is in the middle of
//! paths that nobody knows: they are not counted.

use hps_shadow::paths::MOST_SEGMENTS;
use hps_shadow::values::{TableShape, ValueProfiler};
use rustc_hash::FxHashMap;

use crate::layout::{BREAK, CALL_VALUES, RETURN_VALUES};
use crate::tree::{At, Pairs, Tree};

/// Paths of one kind that are kept, with their beginnings.
const MOST_NODES: usize = 1 << 22;
/// Calls without their returns that are remembered.
const MOST_FRAMES: usize = 1 << 16;

/// How a unit ends; `enum kind` of `preload/layout.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// In the middle of code: it is long enough.
    Split,
    /// With a conditional jump.
    Conditional,
    /// With a jump, direct or not.
    Jump,
    /// With a call, direct or not.
    Call,
    /// With a return.
    Return,
    /// With a system call.
    SystemCall,
    /// In front of what is not executed as a copy.
    Foreign,
}

impl Kind {
    /// The kind with this number.
    pub fn of(number: u32) -> Kind {
        match number {
            0 => Kind::Split,
            1 => Kind::Conditional,
            2 | 5 => Kind::Jump,
            3 | 4 => Kind::Call,
            6 => Kind::Return,
            7 => Kind::SystemCall,
            _ => Kind::Foreign,
        }
    }
}

/// A unit of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// First address of the block.
    pub start: u64,
    /// Address of the last instruction.
    pub last: u64,
    /// The address behind it.
    pub behind: u64,
    /// How many instructions it has.
    pub instructions: u32,
    /// How it ends.
    pub kind: Kind,
}

struct Frame {
    behind: u64,
    path: At,
}

/// Registers whose values are noted: those of a call's arguments, and that of a return's result.
pub const REGISTERS: [&str; CALL_VALUES + RETURN_VALUES] =
    ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax"];

/// Counts what follows what. It goes through many shadows.
pub struct Walk {
    blocks: Vec<Block>,
    places: FxHashMap<Block, u32>,
    entered: Vec<u64>,
    pairs: Pairs,
    values: [ValueProfiler; REGISTERS.len()],
    call_values: usize,
    return_values: usize,
    within: Tree,
    across: Tree,
    previous: Option<u32>,
    frames: Vec<Frame>,
    path: At,
    long: At,
    segments: u32,
}

impl Default for Walk {
    fn default() -> Self {
        Walk {
            blocks: Vec::new(),
            places: FxHashMap::default(),
            entered: Vec::new(),
            pairs: Pairs::default(),
            values: REGISTERS.map(|_| ValueProfiler::new(TableShape::default())),
            call_values: 1,
            return_values: 0,
            within: Tree::new(MOST_NODES),
            across: Tree::new(MOST_NODES),
            previous: None,
            frames: Vec::new(),
            path: At::UNKNOWN,
            long: At::UNKNOWN,
            segments: 0,
        }
    }
}

/// Findings of a walk, by the indices of its blocks.
pub struct Found<'a> {
    /// Blocks with how often each was entered.
    pub blocks: Vec<(&'a Block, u64)>,
    /// Blocks that followed each other, with their counts.
    pub pairs: Vec<(&'a Block, &'a Block, u64)>,
    /// Values of calls and returns, by register.
    pub values: &'a [ValueProfiler; REGISTERS.len()],
    /// Paths within functions.
    pub within: &'a Tree,
    /// Paths across functions.
    pub across: &'a Tree,
}

impl Walk {
    /// A walk beside which values of all registers come, instead of first arguments alone.
    pub fn with_all_values() -> Walk {
        Walk {
            call_values: CALL_VALUES,
            return_values: RETURN_VALUES,
            ..Walk::default()
        }
    }

    /// The number of a block.
    pub fn place(&mut self, block: Block) -> u32 {
        *self.places.entry(block).or_insert_with(|| {
            self.blocks.push(block);
            self.entered.push(0);
            (self.blocks.len() - 1) as u32
        })
    }

    /// Forgets what has begun: what comes next does not continue what came before.
    pub fn interrupt(&mut self) {
        self.frames.clear();
        self.lose();
    }

    fn lose(&mut self) {
        self.previous = None;
        self.path = At::UNKNOWN;
        self.long = At::UNKNOWN;
    }

    /// Registers, as places in [`REGISTERS`], whose values come next: of the call or return that the block entered last
    /// ends with.
    #[inline]
    pub fn awaited(&self) -> std::ops::Range<usize> {
        match self.previous.map(|place| self.blocks[place as usize].kind) {
            Some(Kind::Call) => 0..self.call_values,
            Some(Kind::Return) => CALL_VALUES..CALL_VALUES + self.return_values,
            _ => 0..0,
        }
    }

    /// The value of a register at the call or return that the block entered last ends with.
    #[inline]
    pub fn pass(&mut self, register: usize, value: u64) {
        if let Some(previous) = self.previous {
            let site = self.blocks[previous as usize].last;
            self.values[register].add(site, value);
        }
    }

    /// A block is entered; [`BREAK`] says that control comes from nowhere.
    #[inline]
    pub fn enter(&mut self, place: u32) {
        if place == BREAK {
            self.lose();
            return;
        }
        let block = self.blocks[place as usize];
        self.entered[place as usize] += 1;
        if let Some(previous) = self.previous {
            self.pairs.count(previous, place);
            let before = self.blocks[previous as usize];
            let is_back = block.start <= before.last;
            match before.kind {
                Kind::Conditional | Kind::Jump if is_back => {
                    self.within.end(self.path);
                    self.across.end(self.long);
                    self.path = At::START;
                    self.long = At::START;
                    self.segments = 0;
                }
                Kind::Call => {
                    if self.frames.len() == MOST_FRAMES {
                        self.frames.drain(..MOST_FRAMES / 2);
                    }
                    self.frames.push(Frame {
                        behind: before.behind,
                        path: self.path,
                    });
                    self.path = At::START;
                    self.part();
                }
                Kind::Return => {
                    self.within.end(self.path);
                    let caller = self.frames.iter().rposition(|f| f.behind == block.start);
                    self.path = caller.map_or(At::UNKNOWN, |at| {
                        let path = self.frames[at].path;
                        self.frames.truncate(at);
                        path
                    });
                    self.part();
                }
                _ => {}
            }
        }
        let (address, instructions) = (block.start, block.instructions);
        self.path = self.within.step(self.path, place, address, instructions);
        self.long = self.across.step(self.long, place, address, instructions);
        self.previous = Some(place);
    }

    /// One more call or return of a path across functions.
    fn part(&mut self) {
        if self.long == At::UNKNOWN {
            return;
        }
        self.segments += 1;
        if self.segments > MOST_SEGMENTS {
            self.across.end(self.long);
            self.long = At::START;
            self.segments = 0;
        }
    }

    /// Findings so far.
    pub fn found(&self) -> Found<'_> {
        let blocks = self.blocks.iter().zip(self.entered.iter().copied());
        let pairs = self.pairs.iter().map(|((from, to), count)| {
            let (from, to) = (&self.blocks[from as usize], &self.blocks[to as usize]);
            (from, to, count)
        });
        Found {
            blocks: blocks.filter(|(_, count)| *count > 0).collect(),
            pairs: pairs.collect(),
            values: &self.values,
            within: &self.within,
            across: &self.across,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of one instruction of 4 bytes at an address.
    fn block(start: u64, kind: Kind) -> Block {
        Block {
            start,
            last: start,
            behind: start + 4,
            instructions: 1,
            kind,
        }
    }

    /// A walk along blocks.
    fn walk(blocks: &[Block]) -> Walk {
        let mut walk = Walk::default();
        for block in blocks {
            let place = walk.place(*block);
            walk.enter(place);
        }
        walk
    }

    fn counts(tree: &Tree) -> Vec<(u64, u64, u64)> {
        let mut all: Vec<_> = tree
            .iter()
            .map(|n| (n.from, n.instructions, n.count))
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_loop_that_calls_has_one_path_within_and_one_across() {
        // 100: call 200; 104: back to 100; 200: return.
        let (call, back) = (block(0x100, Kind::Call), block(0x104, Kind::Conditional));
        let leaf = block(0x200, Kind::Return);
        let turn = [call, leaf, back];
        let walk = walk(&[turn, turn, turn, turn].concat());
        let found = walk.found();
        // The first turn began in the middle, and the last has not ended: turns two and three are whole. The leaf began
        // behind its call in each of the four.
        assert_eq!(counts(found.within), [(0x100, 2, 2), (0x200, 1, 4)]);
        assert_eq!(counts(found.across), [(0x100, 3, 2)]);
        let pairs: Vec<_> = found
            .pairs
            .iter()
            .map(|(a, b, n)| (a.start, b.start, *n))
            .collect();
        assert_eq!(
            pairs,
            [(0x100, 0x200, 4), (0x200, 0x104, 4), (0x104, 0x100, 3)]
        );
    }

    #[test]
    fn a_return_that_skips_frames_finds_its_caller() {
        // A leaf returns to its caller's caller, as behind longjmp.
        let (outer, inner) = (block(0x100, Kind::Call), block(0x200, Kind::Call));
        let leaf = block(0x300, Kind::Return);
        let (behind, back) = (block(0x104, Kind::Split), block(0x108, Kind::Jump));
        let walk = walk(&[back, outer, inner, leaf, behind, back, outer]);
        // From the jump back on: call and what is behind it.
        assert_eq!(counts(walk.found().within), [(0x100, 3, 1), (0x300, 1, 1)]);
    }

    #[test]
    fn what_begins_in_the_middle_is_not_counted() {
        let mut walk = walk(&[block(0x100, Kind::Split), block(0x104, Kind::Return)]);
        walk.enter(BREAK);
        let leaf = walk.place(block(0x104, Kind::Return));
        walk.enter(leaf);
        walk.enter(leaf);
        assert_eq!(walk.found().within.iter().count(), 0);
        assert_eq!(walk.found().pairs.len(), 2, "no pair across the break");
    }

    #[test]
    fn long_paths_end_after_their_last_segment() {
        // Recursion without an end: calls alone.
        let back = block(0x104, Kind::Jump);
        let call = block(0x100, Kind::Call);
        let mut blocks = vec![back];
        blocks.extend([call; 2 * MOST_SEGMENTS as usize + 2]);
        // A path of 65 blocks with 64 calls between them, and a second one that has not ended.
        let walk = walk(&blocks);
        let across = counts(walk.found().across);
        assert_eq!(across, [(0x100, 65, 1)]);
    }
}
