//! Instructions of a function with what they took.

use std::collections::BTreeMap;

use hps_isa::said;
use hps_lab::Watch;
use hps_profilers::oracle::Charge;
use hps_profilers::views;

use crate::protocol::{ListedLine, Listing, Problem, address_of, hex};
use crate::session::Session;

impl Session {
    /// The function that holds an address.
    pub(crate) fn listing(&self, address: &str) -> Result<Listing, Problem> {
        self.recorded()?;
        let address = address_of(address)?;
        let image = self.image();
        let function = image.symbols.function_at(address).ok_or_else(|| {
            Problem::new(said!(
                "no function has the address {address}",
                address = hex(address)
            ))
        })?;
        let (exact, _) = self.truth(Watch {
            charge: Charge::Trigger,
            ..Watch::default()
        })?;
        let all: BTreeMap<u64, views::InstructionTime> = views::instructions(&exact)
            .into_iter()
            .map(|one| (one.key.pc, one))
            .collect();
        let mut lines = Vec::new();
        let mut pc = function.addr;
        while pc < function.addr + function.size {
            let Some(inst) = self.inst_at(pc) else { break };
            let took = all.get(&pc);
            lines.push(ListedLine {
                pc: hex(pc),
                text: image.isa.disassemble(&inst, pc),
                source: image.symbols.source_line(pc),
                commits: took.map_or(0, |one| one.commits),
                cycles: took.map_or(0.0, |one| {
                    one.stack.units() as f64 / exact.units_per_cycle as f64
                }),
                mostly: took
                    .and_then(|one| one.stack.mostly())
                    .map(|(spent, _)| spent.label())
                    .unwrap_or_default(),
            });
            pc += u64::from(inst.len);
        }
        Ok(Listing {
            function: function.name.clone(),
            lines,
        })
    }

    /// The instruction that the file has at an address.
    pub(crate) fn inst_at(&self, pc: u64) -> Option<hps_isa::inst::Inst> {
        let image = self.image();
        let segment = image
            .segments
            .iter()
            .find(|s| s.addr <= pc && pc < s.end())?;
        let bytes = image.segment_bytes(segment);
        let at = (pc - segment.addr) as usize;
        let mut word = [0; 4];
        let there = bytes.get(at..)?;
        let count = there.len().min(4);
        word[..count].copy_from_slice(&there[..count]);
        Some(image.isa.decode(u32::from_le_bytes(word)))
    }
}
