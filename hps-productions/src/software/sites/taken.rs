//! Which functions need an entry check so that every cycle of calls has one.

use std::collections::BTreeMap;

use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;
use hps_isa::alpha::registers::GP;
use hps_isa::inst::{Inst, Op};
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::Memory;

use super::gp_distance;
use crate::software::code::Code;

/// For each function ([`Code::starts`]): it may be called through a pointer, or lies on a cycle of
/// direct calls and jumps.
pub fn needing_checks(code: &Code, mem: &Memory, all_taken: bool) -> BitVec {
    let mut kept = if all_taken {
        BitVec::repeat(true, code.starts.len())
    } else {
        let mut taken = Taken {
            code,
            found: BitVec::repeat(false, code.starts.len()),
        };
        taken.in_memory(mem);
        taken.in_code();
        taken.found
    };
    let calls = calls(code);
    let on_cycles = on_cycles(&calls, &kept);
    kept |= on_cycles;
    kept
}

/// Functions that each function calls or jumps into directly, or runs into.
fn calls(code: &Code) -> Vec<Vec<usize>> {
    let mut calls: Vec<Vec<usize>> = vec![Vec::new(); code.starts.len()];
    for at in 0..code.list.len() {
        let Some(from) = code.function_of(at) else {
            continue;
        };
        let is_call = code.list[at].inst.class.is_call();
        let behind = code.behind(at).filter(|_| code.list[at].falls_through());
        for to in code.target(at).into_iter().chain(behind) {
            let Some(to) = code.function_of(to) else {
                continue;
            };
            if is_call || to != from {
                calls[from].push(to);
            }
        }
    }
    for called in &mut calls {
        called.sort_unstable();
        called.dedup();
    }
    calls
}

/// Functions on a cycle that does not pass a function in `without`: members of components of more than
/// one function, and functions that call themselves (Tarjan, without recursion of ours).
fn on_cycles(calls: &[Vec<usize>], without: &BitSlice) -> BitVec {
    const NEW: usize = usize::MAX;
    let n = calls.len();
    let mut order = vec![NEW; n];
    let mut lowest = vec![0; n];
    let mut is_open: BitVec = BitVec::repeat(false, n);
    let mut open = Vec::new();
    let mut found: BitVec = BitVec::repeat(false, n);
    let mut next = 0;
    for root in 0..n {
        if order[root] != NEW || without[root] {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((v, edge)) = path.last_mut() {
            let v = *v;
            if *edge == 0 && order[v] == NEW {
                order[v] = next;
                lowest[v] = next;
                next += 1;
                open.push(v);
                is_open.set(v, true);
            }
            if let Some(&w) = calls[v].get(*edge) {
                *edge += 1;
                if without[w] {
                    continue;
                }
                if w == v {
                    found.set(v, true);
                }
                if order[w] == NEW {
                    path.push((w, 0));
                } else if is_open[w] {
                    lowest[v] = lowest[v].min(order[w]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                lowest[*parent] = lowest[*parent].min(lowest[v]);
            }
            if lowest[v] == order[v] {
                close(v, &mut open, &mut is_open, &mut found);
            }
        }
    }
    found
}

/// Takes the component whose first function is `v` off the stack.
fn close(v: usize, open: &mut Vec<usize>, is_open: &mut BitSlice, found: &mut BitSlice) {
    let several = open.last() != Some(&v);
    while let Some(w) = open.pop() {
        is_open.set(w, false);
        if several {
            found.set(w, true);
        }
        if w == v {
            return;
        }
    }
}

struct Taken<'a> {
    code: &'a Code,
    found: BitVec,
}

impl Taken<'_> {
    /// Notes an address that points into a function: to its first instruction, or to one behind it, such as
    /// the instruction behind the `ldgp` of an Alpha function.
    fn meet(&mut self, addr: u64) {
        if let Some(at) = self.code.index.find(addr)
            && let Ok(function) = self.code.starts.binary_search(&at)
        {
            self.found.set(function, true);
            // A second entry behind the first one's `ldgp` is reached through the first.
            if let Some(behind) = super::behind_ldgp(self.code, at)
                && let Ok(function) = self.code.starts.binary_search(&behind)
            {
                self.found.set(function, true);
            }
        }
    }

    /// Words of the image and of everything else below the reserved region.
    fn in_memory(&mut self, mem: &Memory) {
        for range in mem.mapped_ranges() {
            if range.start >= layout::HANDLER_BASE {
                continue;
            }
            for addr in (range.start..range.end).step_by(8) {
                let mut bytes = [0; 8];
                if mem.read_bytes_forced(addr, &mut bytes).is_ok() {
                    self.meet(u64::from_le_bytes(bytes));
                }
            }
        }
    }

    /// Addresses that code puts together from two halves. Linear: the halves may be any distance apart,
    /// as long as the register is not written in between in the order of addresses.
    fn in_code(&mut self) {
        let gps = self.global_pointers();
        let mut upper: BTreeMap<u8, u64> = BTreeMap::new();
        let mut from_gp: BTreeMap<u8, i64> = BTreeMap::new();
        for at in 0..self.code.list.len() {
            let addr = self.code.list[at].addr;
            let inst = self.code.list[at].inst;
            match self.code.isa {
                Isa::Riscv64 => self.riscv(&inst, addr, &mut upper),
                Isa::Alpha => self.alpha(&inst, &gps, &mut from_gp),
            }
        }
    }

    fn riscv(&mut self, inst: &Inst, addr: u64, upper: &mut BTreeMap<u8, u64>) {
        if matches!(inst.op, Op::Addi | Op::Addiw)
            && let Some(base) = upper.get(&inst.rs1)
        {
            let value = base.wrapping_add(inst.imm as u64);
            self.meet(value);
        }
        match inst.op {
            Op::Auipc => upper.insert(inst.rd, addr.wrapping_add(inst.imm as u64)),
            Op::Lui => upper.insert(inst.rd, inst.imm as u64),
            _ => upper.remove(&inst.rd),
        };
    }

    fn alpha(&mut self, inst: &Inst, gps: &[u64], from_gp: &mut BTreeMap<u8, i64>) {
        let base = match inst.rs1 {
            GP => Some(0),
            register => from_gp.get(&register).copied(),
        };
        let is_address = matches!(inst.op, Op::AlphaLda | Op::AlphaLdah);
        let distance = base.filter(|_| is_address).map(|base| base + inst.imm);
        match distance {
            Some(distance) => {
                for gp in gps {
                    self.meet(gp.wrapping_add(distance as u64));
                }
                from_gp.insert(inst.rd, distance);
            }
            None => {
                from_gp.remove(&inst.rd);
            }
        }
    }

    /// The values of the global pointer that functions compute.
    fn global_pointers(&self) -> Vec<u64> {
        let mut gps: Vec<u64> = self
            .code
            .starts
            .iter()
            .filter_map(|&start| {
                let distance = gp_distance(self.code, start)?;
                Some(self.code.list[start].addr.wrapping_add(distance as u64))
            })
            .collect();
        gps.sort_unstable();
        gps.dedup();
        gps
    }
}

#[cfg(test)]
mod tests {
    use bitvec::bits;
    use bitvec::order::Lsb0;

    use super::*;

    #[test]
    fn cycles_are_found_and_chains_are_not() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3, 4 -> 4, 5 -> 6 -> 5 where 6 has a check.
        let calls = [
            vec![1],
            vec![2],
            vec![1, 3],
            vec![],
            vec![4],
            vec![6],
            vec![5],
        ];
        let without = bits![0, 0, 0, 0, 0, 0, 1];
        assert_eq!(on_cycles(&calls, without), bits![0, 1, 1, 0, 1, 0, 0]);
    }
}
