//! Interpreted functions as contexts: below the native function that executes them, and around what that calls.
//!
//! The context of a native frame that belongs to the loop of an interpreter has below it a context for each interpreted
//! function that the loop has open, the innermost at its line. A turn of the interpreter replaces these.

use hps_system::interpreted::{Names, PathId, Turn};

use super::{ContextTree, Entered, NodeId};
use crate::beat::Turned;

impl ContextTree {
    /// The nearest context around a context, or itself, that native code was entered by.
    #[must_use]
    pub fn native(&self, mut node: NodeId) -> NodeId {
        while let Entered::Interpreted(_) = self.nodes[node.index()].entered {
            node = self.nodes[node.index()].parent;
        }
        node
    }

    /// Takes the turns of interpreters up to the one behind so many commits. Returns the others.
    #[inline(always)]
    pub(crate) fn interpret<'a>(
        &mut self,
        turns: &'a [Turned],
        commits: usize,
        names: &Names,
    ) -> &'a [Turned] {
        let mut rest = turns;
        while let Some(((before, turn), others)) = rest.split_first()
            && *before <= commits
        {
            self.turn_interpreter(*turn, names);
            rest = others;
        }
        rest
    }

    /// An interpreter executes another function, or another line of one.
    fn turn_interpreter(&mut self, turn: Turn, names: &Names) {
        let holder = self.stack.holder(turn.anchor);
        let (before, base) = match holder {
            Some(at) => (self.stack.frame_mut(at).node, turn.base),
            // The loop was entered before its calls were followed.
            None => (self.stack.root, PathId::EMPTY),
        };
        let key = (before, base, turn.path);
        let node = match self.interpreted.get(&key) {
            Some(&known) => known,
            None => {
                let mut node = self.native(before);
                for place in names.places_behind(base, turn.path) {
                    node = self.child(node, Entered::Interpreted(place), 0);
                }
                self.interpreted.insert(key, node);
                node
            }
        };
        match holder {
            Some(at) => self.stack.frame_mut(at).node = node,
            None => self.stack.root = node,
        }
        self.here = self.stack.here();
    }
}
