//! The observer in assembly.
//!
//! Everything that it needs is in its registers from the beginning, so that a sample is as few instructions as the paper's
//! loop (Figure 2). Signals are read in the paper's order: start stamp, counters, end stamp, thread, tag. Reads of stamps
//! and counters serialize by themselves.

mod calls;
mod shown;

use std::collections::BTreeMap;

use hps_isa::asm::OperandHook;
use hps_isa::hart::Hart;
use hps_isa::isa::Isa;

use super::area::{
    CALLERS, CALLS, CODE, COUNT, ELEMENT_BYTES, HISTOGRAM, PLACES, RING, RING_SAMPLES, SLOT_TABLE,
    TAG, THREAD, TOP, first_limit, sample_bytes,
};
use super::{Signals, Throttle};

/// The code of an observer, with the addresses of its reads.
pub struct Code {
    pub bytes: Vec<u8>,
    /// The read of the start stamp.
    pub start: u64,
    /// The first read of a counter; without counters the read of the end stamp.
    pub counters: u64,
    /// The read of the end stamp.
    pub end: u64,
    /// The load of the tag; of a caller, where calls are read.
    pub tag: u64,
    /// The load of an element of the tag stack.
    pub walk: u64,
    /// The store that makes the sample count.
    pub counted: u64,
    /// Registers at the beginning.
    pub hart: Hart,
}

/// Labels of a text, as operands.
struct Labels<'a>(&'a BTreeMap<&'a str, u64>);

impl OperandHook for Labels<'_> {
    fn register(&self, _: &str) -> Option<u8> {
        None
    }

    fn immediate(&self, token: &str) -> Option<i64> {
        self.0.get(token).map(|addr| *addr as i64)
    }
}

/// Below the top of a tag stack, lower than any of its elements.
const ALL_BYTES: u64 = 1 << 32;

/// The loop, one instruction a line with labels in front of it. Labels that a [`Code`] names stand in front of their
/// instructions.
fn text(isa: Isa, signals: Signals, throttle: Throttle) -> String {
    let body = match (isa, signals) {
        (Isa::Riscv64, Signals::Samples { counters }) => {
            let reads = ["csrr t1, hpmcounter3", "csrr t2, hpmcounter4", "csrr t3, hpmcounter5"];
            format!(
                "start: rdcycle t0\ncounters:\n{}\nend: rdcycle t4\nld t5, 0(a4)\nwalk: tag: ld t6, 0(a3)\nadd s0, a0, a1\n\
                 sd t0, 0(s0)\nsd t1, 8(s0)\nsd t2, 16(s0)\nsd t3, 24(s0)\nsd t4, 32(s0)\nsd t5, 40(s0)\nsd t6, 48(s0)\n\
                 addi a1, a1, 64\nand a1, a1, a2\naddi s1, s1, 1\ncounted: sd s1, 0(a6)",
                reads[..counters.min(reads.len())].join("\n")
            )
        }
        (Isa::Riscv64, Signals::Tag) => "start: counters: end: walk: tag: ld t6, 0(a3)\nslli t6, t6, 2\nand t6, t6, a2\n\
             add t6, t6, a0\nld t5, 0(t6)\naddi t5, t5, 1\ncounted: sd t5, 0(t6)"
            .to_string(),
        (Isa::Alpha, Signals::Samples { .. }) => "start: rpcc t0\ncounters:\nend: rpcc t4\nldq t5, 0(s4)\n\
             walk: tag: ldq t6, 0(s3)\naddq s0, s1, t7\nstq t0, 0(t7)\nstq t4, 32(t7)\nstq t5, 40(t7)\nstq t6, 48(t7)\n\
             addq s1, 64, s1\nand s1, s2, s1\naddq v0, 1, v0\ncounted: stq v0, 0(s5)"
            .to_string(),
        (Isa::Alpha, Signals::Tag) => "start: counters: end: walk: tag: ldq t6, 0(s3)\nsll t6, 1, t6\nand t6, s2, t6\n\
             addq t6, s0, t6\nldq t5, 0(t6)\naddq t5, 1, t5\ncounted: stq t5, 0(t6)"
            .to_string(),
        (
            isa,
            Signals::Shown {
                counters,
                own,
                depth,
            },
        ) => shown::sample(isa, counters, own, depth),
        (isa, Signals::Context { counters, depth }) => calls::context(isa, counters, depth),
        (isa, Signals::NewCalls { .. }) => calls::new_calls(isa).to_string(),
        (isa, Signals::CallPairs { .. }) => calls::call_pairs(isa).to_string(),
        (isa, Signals::CallSequence { .. }) => calls::call_sequence(isa).to_string(),
    };
    let place = sample_bytes(signals).to_string();
    let rest = match (isa, throttle) {
        (Isa::Riscv64, Throttle::None) => "j again",
        (Isa::Riscv64, Throttle::Spin(_)) => {
            "mv s2, a5\nwait: addi s2, s2, -1\nbnez s2, wait\nj again"
        }
        (Isa::Riscv64, Throttle::Sleep(_)) => "mv s3, a0\nmv a0, a5\necall\nmv a0, s3\nj again",
        (Isa::Alpha, Throttle::None) => "br again",
        (Isa::Alpha, Throttle::Spin(_)) => {
            "mov a5, t8\nwait: subq t8, 1, t8\nbne t8, wait\nbr again"
        }
        (Isa::Alpha, Throttle::Sleep(_)) => "mov a5, a0\ncall_pal 0x83\nbr again",
    };
    format!("again: {}\n{rest}", body.replace("PLACE", &place))
}

/// Registers and their values at the beginning.
fn registers(isa: Isa, signals: Signals, throttle: Throttle) -> Vec<(&'static str, u64)> {
    let mask = RING_SAMPLES * sample_bytes(signals) - 1;
    // Base and mask of the results, the word that is observed, and two numbers that the reading of it needs.
    let (base, mask, observed, first, second) = match signals {
        Signals::Samples { .. } => (RING, mask, TAG, THREAD, 0),
        Signals::Shown { .. } => (RING, mask, SLOT_TABLE, THREAD, 0),
        Signals::Tag => (HISTOGRAM, (PLACES - 1) * 8, TAG, THREAD, 0),
        Signals::Context { .. } => (RING, mask, TOP, 0, 0),
        Signals::NewCalls { depth } => {
            let bytes = depth.map_or(ALL_BYTES, |depth| depth * ELEMENT_BYTES);
            (RING, mask, TOP, bytes, 0)
        }
        Signals::CallPairs { bytes } | Signals::CallSequence { bytes } => {
            (RING, mask, TOP, CALLS, bytes - 1)
        }
    };
    let limit = first_limit(signals).unwrap_or(0);
    let wait = match throttle {
        Throttle::None => 0,
        Throttle::Spin(turns) => turns.max(1),
        Throttle::Sleep(cycles) => cycles,
    };
    let values = [
        base, 0, mask, observed, first, second, wait, COUNT, CALLERS, limit,
    ];
    let names = match isa {
        Isa::Riscv64 => ["a0", "a1", "a2", "a3", "a4", "a7", "a5", "a6", "s5", "s7"],
        Isa::Alpha => ["s0", "s1", "s2", "s3", "s4", "a3", "a5", "s5", "a4", "a1"],
    };
    names.into_iter().zip(values).collect()
}

impl Code {
    /// Assembles an observer.
    ///
    /// # Errors
    /// In words, with the instruction: the text does not fit the instruction set. Tests assemble all of them.
    pub fn assemble(isa: Isa, signals: Signals, throttle: Throttle) -> Result<Code, String> {
        let text = text(isa, signals, throttle);
        let mut labels = BTreeMap::new();
        let mut lines = Vec::new();
        for line in text.lines() {
            let mut instruction = line.trim();
            while let Some((label, rest)) = instruction.split_once(':') {
                labels.insert(label.trim(), CODE + 4 * lines.len() as u64);
                instruction = rest.trim();
            }
            if !instruction.is_empty() {
                lines.push(instruction);
            }
        }
        let mut bytes = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let pc = CODE + 4 * number as u64;
            let inst = isa.assemble(line, pc, &Labels(&labels));
            let inst = inst.map_err(|error| format!("{line}: {error}"))?;
            let word = isa
                .encode(&inst)
                .ok_or_else(|| format!("{line}: it has no encoding"))?;
            bytes.extend(word.to_le_bytes());
        }
        let mut hart = Hart {
            pc: CODE,
            ..Hart::default()
        };
        for (name, value) in registers(isa, signals, throttle) {
            let register = isa
                .parse_register(name)
                .ok_or_else(|| format!("no register {name}"))?;
            hart.r[usize::from(register)] = value;
        }
        let of = |label: &str| {
            labels
                .get(label)
                .copied()
                .ok_or_else(|| format!("no {label}"))
        };
        Ok(Code {
            start: of("start")?,
            counters: of("counters")?,
            end: of("end")?,
            tag: of("tag")?,
            walk: of("walk")?,
            counted: of("counted")?,
            hart,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_observers_are_programs_of_both_instruction_sets() {
        let signals = [
            Signals::Tag,
            Signals::Samples { counters: 0 },
            Signals::Samples { counters: 3 },
            Signals::Shown {
                counters: 2,
                own: 1 << 7,
                depth: 0,
            },
            Signals::Shown {
                counters: 0,
                own: 0b111,
                depth: 118,
            },
            Signals::Context {
                counters: 2,
                depth: 10,
            },
            Signals::NewCalls { depth: None },
            Signals::CallPairs { bytes: 4096 },
            Signals::CallSequence { bytes: 4096 },
        ];
        for isa in Isa::ALL {
            for signals in signals {
                for throttle in [Throttle::None, Throttle::Spin(7), Throttle::Sleep(100)] {
                    let code = Code::assemble(isa, signals, throttle).expect("it is assembled");
                    for (number, word) in code.bytes.chunks(4).enumerate() {
                        let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
                        let inst = isa.decode(word);
                        let pc = CODE + 4 * number as u64;
                        assert_ne!(inst.len, 2, "{}", isa.disassemble(&inst, pc));
                    }
                    assert!(code.start <= code.tag && code.tag < code.counted);
                }
            }
        }
    }
}
