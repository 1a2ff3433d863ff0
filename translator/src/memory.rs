//! Loads and stores.
//!
//! The code of an access tests what [`MemoryParts`] asks for; every other access (a misaligned one, the first store to a
//! page, a fault) leaves the unit in front of the instruction, for the machine to execute it.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{AliasRegion, InstBuilder, MemFlags, Value};
use hps_isa::exec::Plain;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::memory::{Memory, PAGE_SIZE};
use hps_isa::translator::MemoryParts;

use crate::unit::Emitter;

/// The upper half of a register that holds a single-precision value.
const BOX: i64 = -1 << 32;

impl Emitter<'_, '_> {
    /// The code of a load or store; `false` for all other instructions.
    pub(crate) fn access(&mut self, pc: u64, inst: &Inst) -> bool {
        let is_boxed = inst.op == Op::Flw;
        let plain = match inst.op {
            Op::Flw => Plain::of(Op::Lwu),
            op => Plain::of(op),
        };
        let Some(plain) = plain else { return false };
        let is_store = inst.class == OpClass::Store;
        let base = self.read(inst.rs1);
        let addr = match inst.imm {
            0 => base,
            imm => self.builder.ins().iadd_imm(base, imm),
        };
        let addr = match inst.op {
            Op::AlphaLdqU | Op::AlphaStqU => self.builder.ins().band_imm(addr, !7),
            _ => addr,
        };
        let bit = match is_store {
            true => MemoryParts::WRITABLE,
            false => MemoryParts::READABLE,
        };
        self.check_access(pc, addr, plain.bytes, bit);
        let place = self.builder.ins().iadd(self.at.bytes, addr);
        let flags = MemFlags::new()
            .with_notrap()
            .with_alias_region(Some(AliasRegion::Heap));
        if is_store {
            let value = self.read(inst.rs2);
            let ins = self.builder.ins();
            match plain.bytes {
                1 => ins.istore8(flags, value, place, 0),
                2 => ins.istore16(flags, value, place, 0),
                4 => ins.istore32(flags, value, place, 0),
                _ => ins.store(flags, value, place, 0),
            };
            return true;
        }
        let ty = match plain.bytes {
            1 => I8,
            2 => I16,
            4 => I32,
            _ => I64,
        };
        let value = self.builder.ins().load(ty, flags, place, 0);
        if inst.rd == reg::SINK {
            return true;
        }
        let value = match (ty, plain.mask == u64::MAX) {
            (I64, _) => value,
            (_, true) => self.builder.ins().sextend(I64, value),
            (_, false) => self.builder.ins().uextend(I64, value),
        };
        let value = match is_boxed {
            true => self.builder.ins().bor_imm(value, BOX),
            false => value,
        };
        self.write(inst.rd, value);
        true
    }

    /// Goes on only if an access of so many bytes may be made at once.
    fn check_access(&mut self, pc: u64, addr: Value, bytes: u8, bit: u8) {
        const PAGES: i64 = (Memory::WINDOW / PAGE_SIZE) as i64;
        let (size, page) = (i64::from(bytes.ilog2()), i64::from(PAGE_SIZE.ilog2()));
        let stop = self.seldom_stop(pc);
        // The low bits of a misaligned address come to the top, which puts it outside of memory.
        let unit = match size {
            0 => addr,
            size => self.builder.ins().rotr_imm(addr, size),
        };
        let number = self.builder.ins().ushr_imm(unit, page - size);
        let is_inside = (self.builder.ins()).icmp_imm(IntCC::UnsignedLessThan, number, PAGES);
        let inside = self.builder.create_block();
        self.builder.ins().brif(is_inside, inside, &[], stop, &[]);
        self.builder.switch_to_block(inside);
        let place = self.builder.ins().iadd(self.at.pages, number);
        let flags = MemFlags::trusted().with_alias_region(Some(AliasRegion::Table));
        let byte = self.builder.ins().load(I8, flags, place, 0);
        let allowed = self.builder.ins().band_imm(byte, i64::from(bit));
        let access = self.builder.create_block();
        self.builder.ins().brif(allowed, access, &[], stop, &[]);
        self.builder.switch_to_block(access);
    }
}
