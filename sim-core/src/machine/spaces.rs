//! Code of several processes: each keeps what was decoded and translated of it while others run.

use hps_isa::code::CodeCache;
use hps_isa::editor::DecodeEditor;
use hps_isa::isa::Isa;
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use hps_isa::threaded::Threaded;

use super::Machine;

/// Decoded code of processes that do not run, those that ran last first.
#[derive(Default)]
pub(super) struct Spaces {
    /// The address space of the process that runs.
    now: u64,
    kept: Vec<(u64, CodeCache, Threaded)>,
}

/// Threaded code is translated again from the decoded code.
impl SaveState for Spaces {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Spaces { now, kept } = self;
        let kept_spaces = kept.iter().map(|(space, code, _)| (*space, code.isa()));
        save_value(&(now, kept_spaces.collect::<Vec<_>>()), to);
        kept.iter().for_each(|(_, code, _)| code.save_to(to));
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let (now, spaces): (u64, Vec<(u64, Isa)>) = from.value()?;
        let kept = spaces.into_iter().map(|(space, isa)| {
            let mut code = CodeCache::new(isa);
            code.restore_from(from)?;
            Ok((space, code, Threaded::default()))
        });
        *self = Spaces {
            now,
            kept: kept.collect::<Result<_, StateError>>()?,
        };
        Ok(())
    }
}

impl Spaces {
    /// Compiles code of the spaces that are kept as that of `now`.
    pub(super) fn translate_as(&mut self, now: &Threaded) {
        for (_, _, threaded) in &mut self.kept {
            *threaded = now.fresh();
        }
    }

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
            None if kept.len() < Spaces::MOST => (
                CodeCache::new(self.process.image.isa),
                self.threaded.fresh(),
            ),
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
