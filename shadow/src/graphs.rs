//! The functions of a program with the numbers of their paths, made when a run first comes to them.

use std::sync::OnceLock;

use hps_system::cfg::{Cfg, Code};
use hps_system::image::ProgramImage;
use rustc_hash::FxHashMap;

use crate::numbering::{EdgeValue, Graph, Numbering};

/// The functions of a program. Several threads may share them.
pub struct Graphs<'a> {
    code: Code<'a>,
    functions: Vec<OnceLock<Function>>,
}

/// A function and the numbering of its paths.
pub(crate) struct Function {
    cfg: Cfg,
    /// `None` if there are too many paths, or edges are missing from the graph.
    numbering: Option<Numbering>,
    /// Values by the two nodes that an edge joins.
    values: FxHashMap<(usize, usize), EdgeValue>,
}

/// A stretch of code without a transfer that is taken: from where control comes in to the next instruction that may
/// transfer it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Added to the number of the path.
    pub add: u64,
    /// Instructions.
    pub instructions: u32,
    /// Back edges in it, which no instruction takes: control falls into the head of a loop.
    pub cuts: Vec<Cut>,
    /// The instruction that may transfer control.
    pub ends_at: u64,
}

/// A place at which one path ends and another one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Added to the path that ends.
    pub end: u64,
    /// The number with which the next one begins within its function.
    pub start: u64,
    /// The head of the loop, in which it begins.
    pub head: u64,
    /// Added to it up to the next cut or the end of the stretch.
    pub add: u64,
    /// Instructions up to there.
    pub instructions: u32,
}

/// How a function is entered.
pub(crate) struct Entered {
    /// The number with which the path begins; `None` if the graph does not know this entry.
    pub start: Option<u64>,
    /// Code behind the entry.
    pub stretch: Stretch,
}

/// No function of the program.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl<'a> Graphs<'a> {
    /// The functions of a program, none of them numbered yet.
    #[must_use]
    pub fn new(image: &'a ProgramImage) -> Graphs<'a> {
        let code = Code::new(image);
        let functions = code.functions().iter().map(|_| OnceLock::new()).collect();
        Graphs { code, functions }
    }

    /// The program.
    #[must_use]
    pub fn image(&self) -> &'a ProgramImage {
        self.code.image()
    }

    /// How many functions have been numbered, and how many of those that were looked at could not be.
    #[must_use]
    pub fn numbered(&self) -> (usize, usize) {
        let seen = self.functions.iter().filter_map(OnceLock::get);
        seen.fold((0, 0), |(yes, no), f| match f.numbering {
            Some(_) => (yes + 1, no),
            None => (yes, no + 1),
        })
    }

    /// Number of the function that an address lies in, or [`NOWHERE`].
    pub(crate) fn function_at(&self, pc: u64) -> u32 {
        let index = self.image().symbols.function_index(pc);
        index.map_or(NOWHERE, |at| at as u32)
    }

    fn function(&self, number: u32) -> Option<&Function> {
        let slot = self.functions.get(number as usize)?;
        let function = slot.get_or_init(|| {
            let cfg = Cfg::of(&self.code, &self.code.functions()[number as usize]);
            Function::of(cfg)
        });
        Some(function)
    }

    /// The function, if its paths are numbered.
    pub(crate) fn numbered_function(&self, number: u32) -> Option<&Function> {
        self.function(number).filter(|f| f.numbering.is_some())
    }

    /// The blocks of the path with a number within a function, by their first addresses. `None` if the function's
    /// paths are not numbered, or there is no such path.
    #[must_use]
    pub fn blocks_of(&self, function: u32, number: u64) -> Option<Vec<u64>> {
        let function = self.function(function)?;
        let nodes = function.numbering.as_ref()?.nodes_of(number)?;
        let blocks = nodes.into_iter().filter(|n| *n < function.cfg.entry());
        Some(blocks.map(|b| function.cfg.block_start(b)).collect())
    }

    /// Instructions from an address to the next one that may transfer control, and where that lies, in code without a
    /// numbering.
    pub(crate) fn straight(&self, from: u64) -> Stretch {
        /// Where code does not end by then, it is none.
        const MOST: u32 = 1 << 16;
        let mut pc = from;
        let mut instructions = 0;
        while let Some(inst) = self.code.inst_at(pc) {
            instructions += 1;
            if inst.class.is_control() || instructions == MOST {
                break;
            }
            pc += u64::from(inst.len.max(2));
        }
        Stretch {
            instructions,
            ends_at: pc,
            ..Stretch::default()
        }
    }
}

impl Function {
    fn of(cfg: Cfg) -> Function {
        let graph = Graph {
            nodes: cfg.nodes(),
            entry: cfg.entry(),
            exit: cfg.exit(),
            edges: cfg.edges.iter().map(|e| (e.from, e.to)).collect(),
        };
        let numbering = Some(&graph).filter(|_| !cfg.missing_edges);
        let numbering = numbering.and_then(Numbering::of);
        let values = numbering.iter().flat_map(|n| {
            let edges = graph.edges.iter().copied();
            edges.zip(n.values.iter().copied())
        });
        Function {
            values: values.collect(),
            numbering,
            cfg,
        }
    }

    /// The block that begins at an address.
    fn block_from(&self, pc: u64) -> Option<usize> {
        let block = self.cfg.block_at(pc)?;
        (self.cfg.block_start(block) == pc).then_some(block)
    }

    /// Path number and code behind the entry of the function at an address. `None` if no block begins there.
    pub(crate) fn entered(&self, at: u64) -> Option<Entered> {
        let block = self.block_from(at)?;
        let start = match self.values.get(&(self.cfg.entry(), block)) {
            Some(EdgeValue::Add(value)) => Some(*value),
            _ => None,
        };
        let mut stretch = Stretch::default();
        self.run_on(block, &mut stretch);
        Some(Entered { start, stretch })
    }

    /// Effect on the path of a transfer from the block that ends at `from` to the one that begins at `to`, and the code
    /// behind it. `None` if the graph does not have the transfer.
    pub(crate) fn moved(&self, from: u64, to: u64) -> Option<Stretch> {
        let (from, to) = (self.cfg.block_at(from)?, self.block_from(to)?);
        let mut stretch = Stretch::default();
        self.pass(from, to, &mut stretch)?;
        self.run_on(to, &mut stretch);
        Some(stretch)
    }

    /// Value added to a path that leaves the function behind the block that ends at `from`.
    pub(crate) fn left(&self, from: u64) -> Option<u64> {
        let from = self.cfg.block_at(from)?;
        match self.values.get(&(from, self.cfg.exit())) {
            Some(EdgeValue::Add(value)) => Some(*value),
            _ => None,
        }
    }

    /// Notes the edge between two blocks.
    fn pass(&self, from: usize, to: usize, stretch: &mut Stretch) -> Option<()> {
        match *self.values.get(&(from, to))? {
            EdgeValue::Add(value) => match stretch.cuts.last_mut() {
                Some(cut) => cut.add += value,
                None => stretch.add += value,
            },
            EdgeValue::Back { end, start } => stretch.cuts.push(Cut {
                end,
                start,
                head: self.cfg.block_start(to),
                add: 0,
                instructions: 0,
            }),
            EdgeValue::Unreached => return None,
        }
        Some(())
    }

    /// Goes through a block and those that control falls into behind it.
    fn run_on(&self, mut block: usize, stretch: &mut Stretch) {
        loop {
            let insts = self.cfg.block_insts(block);
            let count = insts.len() as u32;
            match stretch.cuts.last_mut() {
                Some(cut) => cut.instructions += count,
                None => stretch.instructions += count,
            }
            let Some(last) = insts.last() else { return };
            stretch.ends_at = last.pc;
            if last.inst.class.is_control() {
                return;
            }
            let Some(next) = self.block_from(last.end()) else {
                return;
            };
            if self.pass(block, next, stretch).is_none() {
                return;
            }
            block = next;
        }
    }
}
