//! One unit: a region of guest code as one function of the host.
//!
//! The function gets what all units share in registers of the host. Registers of the guest lie in their place in [`Hart`]
//! where paths meet and where the unit is left; between, they are values, and those that are written again before that are
//! never stored. Where a loop begins, the registers that it reads are parameters of its first block.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AliasRegion, Block as HostBlock, BlockArg, InstBuilder, MemFlags, SigRef, Value,
};
use cranelift_frontend::FunctionBuilder;
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, OpClass, reg};

use crate::region::{Block, End, Region, Registers, To};
use crate::shared::{Cell, Shared, TARGETS, Target};

/// Parameters of a unit, in the order of its signature.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    pub(crate) hart: Value,
    pub(crate) bytes: Value,
    pub(crate) pages: Value,
    pub(crate) shared: Value,
}

/// Addresses that the code of a unit refers to.
pub(crate) trait Places {
    /// Where control goes that leads to this address of the guest.
    fn cell(&mut self, pc: u64) -> *const Cell;
    /// A copy of an instruction, for calls of the machine.
    fn inst(&mut self, inst: &Inst) -> *const Inst;
}

/// Registers of the guest at one point of the unit.
#[derive(Clone)]
pub(crate) struct State {
    values: [Option<Value>; 96],
    /// Registers whose value is not in its place.
    unsaved: Registers,
    /// Fuel at the beginning of the path.
    fuel: Value,
    /// Instructions that were executed since.
    done: i64,
}

/// Makes the code of one unit.
pub(crate) struct Emitter<'a, 'b> {
    pub(crate) builder: &'a mut FunctionBuilder<'b>,
    pub(crate) at: Parameters,
    pub(crate) state: State,
    pub(crate) unit: SigRef,
    pub(crate) helper: SigRef,
    /// The host multiplies and adds in one operation.
    pub(crate) has_fma: bool,
    places: &'a mut dyn Places,
    /// Leaves the unit with this fuel, at this address, for the machine to execute the instruction there.
    seldom: HostBlock,
    /// Leaves the unit with this fuel, to go on at this address.
    leave: HostBlock,
    /// Blocks that leave the unit for the machine to execute an instruction, with its address and the state there. Their code
    /// is made in the end, since a block is made at once.
    stops: Vec<(HostBlock, u64, State)>,
}

/// Registers of the guest and other state, which nothing else in a unit refers to.
pub(crate) fn of_hart() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(AliasRegion::Vmctx))
}

/// Makes the code of a region. The unit's function is empty.
pub(crate) fn emit(
    builder: &mut FunctionBuilder<'_>,
    region: &Region,
    (unit, helper): (SigRef, SigRef),
    has_fma: bool,
    places: &mut dyn Places,
) {
    let first = builder.create_block();
    builder.append_block_params_for_function_params(first);
    builder.switch_to_block(first);
    let of_function = builder.block_params(first);
    let at = Parameters {
        hart: of_function[0],
        bytes: of_function[1],
        pages: of_function[2],
        shared: of_function[3],
    };
    let fuel = of_function[4];
    let (seldom, leave) = (builder.create_block(), builder.create_block());
    for block in [seldom, leave] {
        builder.append_block_param(block, I64);
        builder.append_block_param(block, I64);
        builder.set_cold_block(block);
    }
    let blocks: Vec<_> = (region.blocks.iter())
        .map(|block| {
            let host = builder.create_block();
            if block.meets() {
                builder.append_block_param(host, I64);
                for _ in block.handed.iter() {
                    builder.append_block_param(host, I64);
                }
            }
            host
        })
        .collect();
    let mut emitter = Emitter {
        builder,
        at,
        state: State {
            values: [None; 96],
            unsaved: Registers::default(),
            fuel,
            done: 0,
        },
        unit,
        helper,
        has_fma,
        places,
        seldom,
        leave,
        stops: Vec::new(),
    };
    let mut unit = Unit {
        region,
        blocks: &blocks,
        states: vec![None; blocks.len()],
        number: 0,
    };
    emitter.enter(&mut unit);
    for number in 0..blocks.len() {
        unit.number = number;
        emitter.block(&mut unit);
    }
    emitter.ends();
    emitter.builder.seal_all_blocks();
}

/// A region while its code is made.
struct Unit<'a> {
    region: &'a Region,
    blocks: &'a [HostBlock],
    /// State at the beginning of blocks to which one path leads.
    states: Vec<Option<State>>,
    /// The block whose code is made.
    number: usize,
}

impl Emitter<'_, '_> {
    /// The unit begins only with fuel.
    fn enter(&mut self, unit: &mut Unit<'_>) {
        let begin = self.builder.create_block();
        let pc = self.constant(unit.region.blocks[0].start);
        let fuel = self.state.fuel;
        let is_empty = self.is_negative(fuel);
        let args = [BlockArg::from(fuel), BlockArg::from(pc)];
        (self.builder.ins()).brif(is_empty, self.leave, &args, begin, &[]);
        self.builder.switch_to_block(begin);
        self.go(unit, To::Block(0));
    }

    fn block(&mut self, unit: &mut Unit<'_>) {
        let (host, block) = (unit.blocks[unit.number], &unit.region.blocks[unit.number]);
        self.builder.switch_to_block(host);
        if block.meets() {
            let params = self.builder.block_params(host);
            let mut values = [None; 96];
            for (register, value) in block.handed.iter().zip(&params[1..]) {
                values[usize::from(register)] = Some(*value);
            }
            self.state = State {
                values,
                unsaved: Registers::default(),
                fuel: params[0],
                done: 0,
            };
        } else if let Some(state) = unit.states[unit.number].take() {
            self.state = state;
        }
        self.body(block, unit);
    }

    fn body(&mut self, block: &Block, unit: &mut Unit<'_>) {
        for (pc, inst) in &block.insts {
            if inst.class.is_control() {
                break;
            }
            self.inst(*pc, inst);
            self.state.done += 1;
        }
        let last = block.insts.last();
        match block.end {
            End::Branch { taken, fall } => {
                let Some((pc, inst)) = last else { return };
                let condition = self.condition(inst);
                debug_assert!(inst.class == OpClass::Branch, "{pc:#x}");
                self.state.done += 1;
                let (there, behind) = (self.builder.create_block(), self.builder.create_block());
                (self.builder.ins()).brif(condition, there, &[], behind, &[]);
                let state = self.state.clone();
                self.builder.switch_to_block(behind);
                self.go(unit, fall);
                self.state = state;
                self.builder.switch_to_block(there);
                self.go(unit, taken);
            }
            End::Jump(to) => {
                if let Some((pc, inst)) = last
                    && inst.class.is_control()
                {
                    let link = self.constant(inst.link(*pc));
                    self.write(inst.rd, link);
                    self.state.done += 1;
                }
                self.go(unit, to);
            }
            End::Indirect => {
                let Some((pc, inst)) = last else { return };
                self.indirect(*pc, inst);
            }
            End::Seldom(pc) => self.stop(pc),
        }
    }

    /// Goes on at a block or an address outside, with all that was computed.
    fn go(&mut self, unit: &mut Unit<'_>, to: To) {
        match to {
            To::Outside(pc) => {
                self.save();
                let fuel = self.fuel();
                self.chain(pc, fuel);
            }
            To::Block(next) if unit.region.blocks[next].meets() => {
                let block = &unit.region.blocks[next];
                self.save();
                let fuel = self.fuel();
                if next <= unit.number && self.state.done > 0 {
                    self.check(fuel, block.start);
                }
                let mut args = vec![BlockArg::from(fuel)];
                for register in block.handed.iter() {
                    args.push(self.read(register).into());
                }
                self.builder.ins().jump(unit.blocks[next], &args);
            }
            To::Block(next) => {
                unit.states[next] = Some(self.state.clone());
                self.builder.ins().jump(unit.blocks[next], &[]);
            }
        }
    }

    /// Leaves the unit at `pc` if the fuel is used up.
    fn check(&mut self, fuel: Value, pc: u64) {
        let on = self.builder.create_block();
        let pc = self.constant(pc);
        let is_empty = self.is_negative(fuel);
        let args = [BlockArg::from(fuel), BlockArg::from(pc)];
        (self.builder.ins()).brif(is_empty, self.leave, &args, on, &[]);
        self.builder.switch_to_block(on);
    }

    /// Goes on with the unit at `pc`, if there is one.
    fn chain(&mut self, pc: u64, fuel: Value) {
        let cell = self.places.cell(pc);
        let cell = self.constant(cell as u64);
        let code = (self.builder.ins()).load(I64, MemFlags::trusted(), cell, 0);
        self.tail_call(code, fuel, cell);
    }

    fn tail_call(&mut self, code: Value, fuel: Value, cell: Value) {
        let Parameters {
            hart,
            bytes,
            pages,
            shared,
        } = self.at;
        let args = [hart, bytes, pages, shared, fuel, cell];
        (self.builder.ins()).return_call_indirect(self.unit, code, &args);
    }

    /// An indirect jump, the last instruction of a block.
    fn indirect(&mut self, pc: u64, inst: &Inst) {
        let target = self.jump_target(inst);
        let link = self.constant(inst.link(pc));
        self.write(inst.rd, link);
        self.state.done += 1;
        self.save();
        let fuel = self.fuel();
        let (hit, leave) = (self.builder.create_block(), self.leave);
        let shift = size_of::<Target>().ilog2() - 1;
        let mask = (TARGETS * size_of::<Target>() - size_of::<Target>()) as i64;
        let offset = self.builder.ins().ishl_imm(target, i64::from(shift));
        let offset = self.builder.ins().band_imm(offset, mask);
        let place = self.builder.ins().iadd(self.at.shared, offset);
        let known = offset_of!(Shared, targets) + offset_of!(Target, pc);
        let known = (self.builder.ins()).load(I64, MemFlags::trusted(), place, known as i32);
        let is_known = self.builder.ins().icmp(IntCC::Equal, known, target);
        let args = [BlockArg::from(fuel), BlockArg::from(target)];
        (self.builder.ins()).brif(is_known, hit, &[], leave, &args);
        self.builder.switch_to_block(hit);
        let code = offset_of!(Shared, targets) + offset_of!(Target, code);
        let code = (self.builder.ins()).load(I64, MemFlags::trusted(), place, code as i32);
        let none = self.constant(0);
        self.tail_call(code, fuel, none);
    }

    /// Leaves the unit for the machine to execute the instruction at `pc`.
    pub(crate) fn stop(&mut self, pc: u64) {
        self.save();
        let (fuel, pc) = (self.fuel(), self.constant(pc));
        let args = [BlockArg::from(fuel), BlockArg::from(pc)];
        self.builder.ins().jump(self.seldom, &args);
    }

    /// A block that leaves the unit for the machine to execute the instruction at `pc`, seldom reached.
    pub(crate) fn seldom_stop(&mut self, pc: u64) -> HostBlock {
        let host = self.builder.create_block();
        self.builder.set_cold_block(host);
        self.stops.push((host, pc, self.state.clone()));
        host
    }

    /// The common ends of the unit.
    fn ends(&mut self) {
        for (host, pc, state) in std::mem::take(&mut self.stops) {
            self.builder.switch_to_block(host);
            self.state = state;
            self.stop(pc);
        }
        for (block, at_seldom) in [(self.seldom, 1), (self.leave, 0)] {
            self.builder.switch_to_block(block);
            let params = self.builder.block_params(block);
            let (fuel, pc) = (params[0], params[1]);
            let at_seldom = self.constant(at_seldom);
            for (value, offset) in [
                (pc, offset_of!(Shared, pc)),
                (at_seldom, offset_of!(Shared, at_seldom)),
            ] {
                let flags = MemFlags::trusted();
                (self.builder.ins()).store(flags, value, self.at.shared, offset as i32);
            }
            self.builder.ins().return_(&[fuel]);
        }
    }

    /// Has the machine's own function execute an instruction. The unit is left where the instruction does not go on with
    /// the next one.
    pub(crate) fn call_machine(&mut self, pc: u64, inst: &Inst, function: *const u8) {
        self.save();
        let place = self.places.inst(inst);
        let (place, function) = (self.constant(place as u64), self.constant(function as u64));
        let pc_value = self.constant(pc);
        let args = [self.at.shared, place, pc_value];
        let call = (self.builder.ins()).call_indirect(self.helper, function, &args);
        let failed = self.builder.inst_results(call)[0];
        let (stop, on) = (self.seldom_stop(pc), self.builder.create_block());
        self.builder.ins().brif(failed, stop, &[], on, &[]);
        self.builder.switch_to_block(on);
        self.state.values[usize::from(inst.rd)] = None;
    }

    /// The value of a register.
    pub(crate) fn read(&mut self, register: u8) -> Value {
        if register == reg::ZERO {
            return self.constant(0);
        }
        if let Some(value) = self.state.values[usize::from(register)] {
            return value;
        }
        let value = (self.builder.ins()).load(I64, of_hart(), self.at.hart, place_of(register));
        self.state.values[usize::from(register)] = Some(value);
        value
    }

    /// Gives a register a value.
    pub(crate) fn write(&mut self, register: u8, value: Value) {
        if register != reg::SINK {
            self.state.values[usize::from(register)] = Some(value);
            self.state.unsaved.insert(register);
        }
    }

    /// Puts all registers in their places.
    pub(crate) fn save(&mut self) {
        for register in self.state.unsaved.iter() {
            if let Some(value) = self.state.values[usize::from(register)] {
                let place = place_of(register);
                (self.builder.ins()).store(of_hart(), value, self.at.hart, place);
            }
        }
        self.state.unsaved = Registers::default();
    }

    /// Fuel that is left here.
    fn fuel(&mut self) -> Value {
        match self.state.done {
            0 => self.state.fuel,
            done => self.builder.ins().iadd_imm(self.state.fuel, -done),
        }
    }

    pub(crate) fn constant(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(I64, value as i64)
    }

    fn is_negative(&mut self, value: Value) -> Value {
        self.builder.ins().icmp_imm(IntCC::SignedLessThan, value, 0)
    }
}

/// Offset of a register in [`Hart`].
fn place_of(register: u8) -> i32 {
    (offset_of!(Hart, r) + 8 * usize::from(register)) as i32
}
