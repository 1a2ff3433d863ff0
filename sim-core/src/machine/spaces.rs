//! Code of several processes: each keeps what was decoded and translated of it while others run.

use super::Machine;
use crate::code::CodeCache;
use crate::editor::DecodeEditor;
use crate::threaded::Threaded;

/// Decoded code of processes that do not run, those that ran last first.
#[derive(Default)]
pub(super) struct Spaces {
    /// The address space of the process that runs.
    now: u64,
    kept: Vec<(u64, CodeCache, Threaded)>,
}

impl Spaces {
    /// Spaces that are kept: a pipe of that length loses none.
    const MOST: usize = 8;
}

impl<E: DecodeEditor> Machine<E> {
    /// If another process runs now, puts away the code of the one before and brings that of this one back.
    #[cold]
    pub(super) fn change_space(&mut self) {
        let space = self.process.mem.space();
        let before = std::mem::replace(&mut self.spaces.now, space);
        if before == space {
            return;
        }
        let kept = &mut self.spaces.kept;
        let known = kept.iter().position(|(known, ..)| *known == space);
        let (code, threaded) = match known.map(|at| kept.remove(at)) {
            Some((_, code, threaded)) => (code, threaded),
            None if kept.len() < Spaces::MOST => {
                (CodeCache::new(self.process.image.isa), Threaded::new())
            }
            None => {
                // Emptying one takes less time than making one: `sync` finds it stale.
                let (_, code, threaded) = kept.remove(Spaces::MOST - 1);
                (code, threaded)
            }
        };
        let code = std::mem::replace(&mut self.code, code);
        let threaded = std::mem::replace(&mut self.threaded, threaded);
        kept.insert(0, (before, code, threaded));
    }
}
