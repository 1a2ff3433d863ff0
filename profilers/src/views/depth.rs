//! Calling contexts that lie too deep for a file to name them all.

use crate::contexts::{ContextTree, NodeId};

/// Contexts down to a depth; deeper ones count for the one around them at that depth.
#[derive(Clone, Debug)]
pub struct Depth {
    /// The depth of each context, the root's 0.
    depths: Vec<u32>,
    /// The context that stands for each.
    stand_ins: Vec<NodeId>,
    /// The depth of the deepest context that stands for itself.
    kept: u32,
}

impl Depth {
    /// All contexts, each for itself.
    #[must_use]
    pub fn all(contexts: &ContextTree) -> Depth {
        let nodes = contexts.nodes();
        let mut depths: Vec<u32> = Vec::with_capacity(nodes.len());
        // Each node lies behind the one around it.
        for (at, node) in nodes.iter().enumerate() {
            let around = (at > 0).then(|| depths[node.parent.index()]);
            depths.push(around.map_or(0, |depth| depth + 1));
        }
        let kept = depths.iter().copied().max().unwrap_or(0);
        let stand_ins = contexts.ids().collect();
        Depth {
            depths,
            stand_ins,
            kept,
        }
    }

    /// Contexts down to the greatest depth at which they fit.
    #[must_use]
    pub fn that_fits(contexts: &ContextTree, fits: impl Fn(&Depth) -> bool) -> Depth {
        let all = Depth::all(contexts);
        if fits(&all) {
            return all;
        }
        let (mut fitting, mut too_deep) = (0, all.kept);
        while too_deep - fitting > 1 {
            let middle = fitting + (too_deep - fitting) / 2;
            match fits(&all.cut(contexts, middle)) {
                true => fitting = middle,
                false => too_deep = middle,
            }
        }
        all.cut(contexts, fitting)
    }

    fn cut(&self, contexts: &ContextTree, kept: u32) -> Depth {
        let mut stand_ins: Vec<NodeId> = Vec::with_capacity(self.depths.len());
        for (id, node) in contexts.ids().zip(contexts.nodes()) {
            let stand_in = match self.depths[id.index()] <= kept {
                true => id,
                false => stand_ins[node.parent.index()],
            };
            stand_ins.push(stand_in);
        }
        Depth {
            depths: self.depths.clone(),
            stand_ins,
            kept,
        }
    }

    /// The context that stands for a context.
    #[must_use]
    pub fn stand_in(&self, node: NodeId) -> NodeId {
        self.stand_ins[node.index()]
    }

    /// The depth of a context, the root's 0.
    #[must_use]
    pub fn of(&self, node: NodeId) -> usize {
        self.depths[node.index()] as usize
    }

    /// The depth at which contexts were cut, and that of the deepest one; `None` if all stand for themselves.
    #[must_use]
    pub fn cut_at(&self) -> Option<(usize, usize)> {
        let deepest = self.depths.iter().copied().max().unwrap_or(0);
        (self.kept < deepest).then_some((self.kept as usize, deepest as usize))
    }
}
