//! The code of a program as its file has it, and that of its libraries as far as its symbols tell of them.

use std::collections::BTreeSet;
use std::ops::Range;

use hps_isa::inst::Inst;
use hps_isa::memory::Perm;

use super::Placed;
use crate::image::ProgramImage;
use crate::symbols::Function;

/// The code and the initial data of a program, for building graphs.
pub struct Code<'a> {
    image: &'a ProgramImage,
    /// Code of other objects: its address, and its bytes.
    others: Vec<(u64, Vec<u8>)>,
    /// Targets of direct transfers that come from another function, in ascending order.
    entries: Vec<u64>,
}

impl<'a> Code<'a> {
    /// Reads the code of all functions once, for the places at which control comes into them.
    #[must_use]
    pub fn new(image: &'a ProgramImage) -> Code<'a> {
        let mut code = Code {
            image,
            others: others(image),
            entries: Vec::new(),
        };
        let mut entries = BTreeSet::from([image.entry]);
        for function in image.symbols.functions() {
            let range = range_of(function);
            for placed in code.insts(range.clone()) {
                if placed.inst.class.is_direct() {
                    let target = placed.pc.wrapping_add_signed(placed.inst.imm);
                    // A call of itself comes from outside, too: the frame is another one.
                    if placed.inst.class.is_call() || !range.contains(&target) {
                        entries.insert(target);
                    }
                }
            }
        }
        code.entries = entries.into_iter().collect();
        code
    }

    /// The program.
    #[must_use]
    pub fn image(&self) -> &'a ProgramImage {
        self.image
    }

    /// The functions of the program, in ascending order of address.
    #[must_use]
    pub fn functions(&self) -> &'a [Function] {
        self.image.symbols.functions()
    }

    /// The instruction at an address, if the file has code there.
    #[must_use]
    pub fn inst_at(&self, pc: u64) -> Option<Inst> {
        let rest = self.bytes_from(pc, Perm::X)?;
        // The last instruction of a segment may have two bytes only.
        let mut word = [0; 4];
        let count = rest.len().min(4);
        if count < 2 {
            return None;
        }
        word[..count].copy_from_slice(&rest[..count]);
        let inst = self.image.isa.decode(u32::from_le_bytes(word));
        (usize::from(inst.len) <= count).then_some(inst)
    }

    /// Content of the file at an address: `bytes` bytes (at most 8), little endian.
    #[must_use]
    pub fn read(&self, addr: u64, bytes: usize) -> Option<u64> {
        let found = self.bytes_from(addr, Perm::NONE)?.get(..bytes)?;
        let mut word = [0; 8];
        word.get_mut(..bytes)?.copy_from_slice(found);
        Some(u64::from_le_bytes(word))
    }

    /// Content of the files from an address on, in memory with these permissions.
    fn bytes_from(&self, addr: u64, perm: Perm) -> Option<&[u8]> {
        let mut segments = self.image.segments.iter();
        let (start, bytes) =
            match segments.find(|s| s.perm.contains(perm) && s.addr <= addr && addr < s.end()) {
                Some(segment) => (segment.addr, self.image.segment_bytes(segment)),
                None => {
                    let behind = self.others.partition_point(|(start, _)| *start <= addr);
                    let (start, bytes) = &self.others[behind.checked_sub(1)?];
                    (*start, &bytes[..])
                }
            };
        bytes.get((addr - start) as usize..)
    }

    /// The instructions of a range of addresses, one behind the other, up to the first place without code.
    #[must_use]
    pub fn insts(&self, range: Range<u64>) -> Vec<Placed> {
        let mut found = Vec::new();
        let mut pc = range.start;
        while pc < range.end
            && let Some(inst) = self.inst_at(pc)
        {
            found.push(Placed { pc, inst });
            pc += u64::from(inst.len.max(2));
        }
        found
    }

    /// The addresses in a range at which direct transfers come in from other functions.
    pub(super) fn entries(&self, range: Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.entries.partition_point(|e| *e < range.start);
        let all = self.entries[first..].iter().copied();
        all.take_while(move |e| *e < range.end)
    }
}

/// The code of all objects but the program, in ascending order of address.
fn others(image: &ProgramImage) -> Vec<(u64, Vec<u8>)> {
    let symbols = &image.symbols;
    let spans = symbols.spans().iter().filter(|(_, object)| *object > 0);
    let read = |(range, object): &(Range<u64>, usize)| {
        // A program may map more than its file has.
        let most = symbols.objects()[*object].bytes()?.len() as u64;
        let mut bytes = vec![0; (range.end - range.start).min(most) as usize];
        let is_read = symbols.read_code(range.start, &mut bytes);
        is_read.then_some((range.start, bytes))
    };
    spans.filter_map(read).collect()
}

/// The addresses of a function.
pub(super) fn range_of(function: &Function) -> Range<u64> {
    function.addr..function.addr + function.size
}
