//! All compiled code of one address space.

use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, MemFlags, Signature};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use hps_isa::hart::Hart;
use hps_isa::inst::Inst;
use hps_isa::memory::Memory;
use hps_isa::translator::{Code, Left, MemoryParts, Translator};
use rustc_hash::FxHashMap;

use crate::Settings;
use crate::arena::Arena;
use crate::region::Region;
use crate::shared::{Cell, NO_TARGET, Shared, TARGETS, Target};
use crate::unit::{self, Places};

/// Bytes of compiled code beyond which all of it is thrown away, to be compiled again where it is needed.
const MOST_BYTES: usize = 64 << 20;

/// Enters compiled code.
type Enter = unsafe extern "C" fn(
    hart: *mut Hart,
    bytes: *mut u8,
    pages: *const u8,
    shared: *mut Shared,
    fuel: i64,
    code: *const u8,
) -> i64;

/// Compiled code of one address space.
pub(crate) struct Units {
    settings: Settings,
    isa: Arc<dyn cranelift_codegen::isa::TargetIsa>,
    arena: Arena,
    shared: Box<Shared>,
    code: FxHashMap<u64, *const u8>,
    links: Links,
    /// The way in, made with the first unit.
    enter: Option<Enter>,
    /// Instructions that were compiled, and that compiled code has executed, since the guest's code has changed.
    compiled: u64,
    executed: u64,
    /// Each change of code that came too soon doubles the threshold.
    too_soon: u32,
}

/// Data that units refer to, at addresses that do not change.
#[derive(Default)]
struct Links {
    cells: FxHashMap<u64, Box<Cell>>,
    // Boxes, since compiled code holds their addresses while the list grows.
    #[allow(clippy::vec_box)]
    insts: Vec<Box<Inst>>,
    /// The code of cells without a unit.
    leave: Option<*const u8>,
}

// SAFETY: all pointers are to code, cells and instructions that `self` owns, and those of `shared` to a machine are used
// during `run` alone.
unsafe impl Send for Units {}

impl Places for Links {
    fn cell(&mut self, pc: u64) -> *const Cell {
        let code = self.leave.unwrap_or(std::ptr::null());
        let cell = self.cells.entry(pc);
        &raw const **cell.or_insert_with(|| Box::new(Cell { code, pc }))
    }

    fn inst(&mut self, inst: &Inst) -> *const Inst {
        self.insts.push(Box::new(*inst));
        &raw const **self.insts.last().expect("it was pushed")
    }
}

impl Units {
    /// No code yet. `None` if the host's processor lacks what compiled code needs.
    pub(crate) fn new(settings: Settings) -> Option<Units> {
        Some(Units::with(settings, host(&settings)?))
    }

    fn with(settings: Settings, isa: Arc<dyn cranelift_codegen::isa::TargetIsa>) -> Units {
        Units {
            settings,
            isa,
            arena: Arena::default(),
            shared: Box::new(Shared {
                hart: std::ptr::null_mut(),
                mem: std::ptr::null_mut(),
                pc: 0,
                at_seldom: 0,
                targets: [NO_TARGET; TARGETS],
            }),
            code: FxHashMap::default(),
            links: Links::default(),
            enter: None,
            compiled: 0,
            executed: 0,
            too_soon: 0,
        }
    }

    /// The signature of units.
    fn signature(&self, convention: CallConv) -> Signature {
        let mut signature = Signature::new(convention);
        signature.params = vec![AbiParam::new(I64); 6];
        signature.returns = vec![AbiParam::new(I64)];
        signature
    }

    /// Compiles a function, and gives its address.
    fn make(
        &mut self,
        signature: Signature,
        emit: impl FnOnce(&mut FunctionBuilder<'_>, &mut Links),
    ) -> Option<*const u8> {
        let mut context = Context::new();
        context.func = Function::with_name_signature(Default::default(), signature);
        let mut functions = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut functions);
        emit(&mut builder, &mut self.links);
        builder.finalize();
        let code = context.compile(&*self.isa, &mut ControlPlane::default());
        let code = code.ok()?;
        debug_assert!(code.buffer.relocs().is_empty());
        if !code.buffer.relocs().is_empty() {
            return None;
        }
        self.arena.put(code.code_buffer())
    }

    /// The way into units, made with the way out if absent.
    fn enter(&mut self) -> Option<Enter> {
        if self.enter.is_some() {
            return self.enter;
        }
        let unit = self.signature(CallConv::Tail);
        let enter = self.make(self.signature(CallConv::SystemV), |builder, _| {
            let block = builder.create_block();
            builder.append_block_params_for_function_params(block);
            builder.switch_to_block(block);
            let params = builder.block_params(block).to_vec();
            let unit = builder.import_signature(unit);
            let call = (builder.ins()).call_indirect(unit, params[5], &params);
            let fuel = builder.inst_results(call)[0];
            builder.ins().return_(&[fuel]);
            builder.seal_all_blocks();
        })?;
        let leave = self.make(self.signature(CallConv::Tail), |builder, _| {
            let block = builder.create_block();
            builder.append_block_params_for_function_params(block);
            builder.switch_to_block(block);
            let params = builder.block_params(block).to_vec();
            let (shared, fuel, cell) = (params[3], params[4], params[5]);
            let flags = MemFlags::trusted();
            let pc = std::mem::offset_of!(Cell, pc) as i32;
            let pc = builder.ins().load(I64, flags, cell, pc);
            let place = std::mem::offset_of!(Shared, pc) as i32;
            builder.ins().store(flags, pc, shared, place);
            let zero = builder.ins().iconst(I64, 0);
            let place = std::mem::offset_of!(Shared, at_seldom) as i32;
            builder.ins().store(flags, zero, shared, place);
            builder.ins().return_(&[fuel]);
            builder.seal_all_blocks();
        })?;
        // SAFETY: the function has been compiled with this signature.
        let enter = unsafe { std::mem::transmute::<*const u8, Enter>(enter) };
        self.links.leave = Some(leave);
        self.enter = Some(enter);
        self.enter
    }

    fn forget(&mut self) {
        self.code.clear();
        self.links = Links::default();
        self.enter = None;
        self.shared.targets.fill(NO_TARGET);
        self.arena.clear();
    }

    /// Leads indirect jumps to `pc` to its code.
    fn note_target(&mut self, pc: u64, code: *const u8) {
        self.shared.targets[(pc >> 1) as usize % TARGETS] = Target { pc, code };
    }
}

impl Translator for Units {
    fn fresh(&self) -> Box<dyn Translator> {
        Box::new(Units::with(self.settings, Arc::clone(&self.isa)))
    }

    fn threshold(&self) -> u32 {
        let later = 1 << self.too_soon.min(12);
        self.settings.threshold.saturating_mul(later)
    }

    fn begins_after(&self) -> u64 {
        self.settings.begins_after
    }

    fn most_beyond(&self) -> u64 {
        self.settings.most_instructions as u64
    }

    fn has(&self, pc: u64) -> bool {
        self.code.contains_key(&pc)
    }

    fn compile(&mut self, pc: u64, code: &mut dyn Code) -> bool {
        if self.arena.bytes() > MOST_BYTES {
            self.forget();
        }
        let Some(region) = Region::at(pc, code, self.settings.most_instructions) else {
            return false;
        };
        let (Some(_), signature) = (self.enter(), self.signature(CallConv::Tail)) else {
            return false;
        };
        let unit = signature.clone();
        let mut helper = Signature::new(CallConv::SystemV);
        helper.params = vec![AbiParam::new(I64); 3];
        helper.returns = vec![AbiParam::new(I64)];
        let has_fma = std::is_x86_feature_detected!("fma");
        let made = self.make(signature, |builder, links| {
            let signatures = (
                builder.import_signature(unit),
                builder.import_signature(helper),
            );
            unit::emit(builder, &region, signatures, has_fma, links);
        });
        let Some(code) = made else { return false };
        self.compiled += region.len;
        self.code.insert(pc, code);
        if let Some(cell) = self.links.cells.get_mut(&pc) {
            cell.code = code;
        } else {
            self.links.cells.insert(pc, Box::new(Cell { code, pc }));
        }
        self.note_target(pc, code);
        true
    }

    fn run(
        &mut self,
        pc: u64,
        hart: &mut Hart,
        mem: &mut Memory,
        fuel: i64,
    ) -> Option<(i64, Left)> {
        let (&code, enter) = (self.code.get(&pc)?, self.enter?);
        self.note_target(pc, code);
        let MemoryParts { bytes, pages } = MemoryParts::of(mem);
        self.shared.hart = hart;
        self.shared.mem = mem;
        let shared: *mut Shared = &raw mut *self.shared;
        // SAFETY: the code is a unit of this translator, and all that it accesses is borrowed exclusively here.
        let rest = unsafe { enter(hart, bytes, pages, shared, fuel, code) };
        self.shared.hart = std::ptr::null_mut();
        self.shared.mem = std::ptr::null_mut();
        self.executed += (fuel - rest) as u64;
        let left = Left {
            pc: self.shared.pc,
            at_seldom: self.shared.at_seldom != 0,
        };
        Some((rest, left))
    }

    /// A program that changes its code before the compiled code has paid for itself is compiled later each time.
    fn clear(&mut self) {
        /// Instructions that compiled code has to execute for each one compiled.
        const WORTH: u64 = 2000;
        if self.compiled > 0 {
            let is_too_soon = self.executed < self.compiled * WORTH;
            self.too_soon = if is_too_soon { self.too_soon + 1 } else { 0 };
        }
        (self.compiled, self.executed) = (0, 0);
        self.forget();
    }
}

/// Makes code for the host's processor.
fn host(of: &Settings) -> Option<OwnedTargetIsa> {
    let mut flags = settings::builder();
    let level = if of.optimizes { "speed" } else { "none" };
    let values = [
        ("opt_level", level),
        ("unwind_info", "false"),
        ("enable_probestack", "false"),
        // Tail calls rely on them.
        ("preserve_frame_pointers", "true"),
        (
            "enable_verifier",
            if cfg!(debug_assertions) {
                "true"
            } else {
                "false"
            },
        ),
    ];
    for (name, value) in values {
        flags.set(name, value).ok()?;
    }
    let isa = cranelift_native::builder().ok()?;
    isa.finish(settings::Flags::new(flags)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_isa::inst::{Op, OpClass};

    /// One instruction, and behind it one for the machine.
    struct One(Inst);

    impl Code for One {
        fn at(&mut self, pc: u64) -> Option<Inst> {
            let end = Inst {
                class: OpClass::Syscall,
                ..Inst::illegal(4)
            };
            Some(if pc == 0 { self.0 } else { end })
        }

        fn was_target(&self, _: u64) -> bool {
            false
        }
    }

    #[test]
    fn integer_operations_that_the_machine_executes_are_these() {
        let Some(mut units) = Units::new(Settings::default()) else {
            return;
        };
        let mut by_machine = Vec::new();
        for &op in Op::ALL {
            let class = op.class();
            let is_integer = matches!(class, OpClass::IntAlu | OpClass::IntMul | OpClass::IntDiv);
            let inst = Inst {
                op,
                class,
                rd: 1,
                rs1: 2,
                rs2: 3,
                rs3: 1,
                ..Inst::illegal(4)
            };
            units.clear();
            let is_transfer = class.is_control();
            let is_access = matches!(class, OpClass::Load | OpClass::Store);
            if !(is_integer || is_transfer || is_access) {
                continue;
            }
            assert!(units.compile(0, &mut One(inst)), "{op:?}");
            if !units.links.insts.is_empty() {
                by_machine.push(op.mnemonic());
            }
        }
        let expected = [
            "orc.b", "clmul", "clmulh", "clmulr", "pack", "packh", "packw", "brev8", "flh",
            "d_move", "lds", "sts", "cmpbge", "addl/v", "subl/v", "addq/v", "subq/v", "mull/v",
            "mulq/v", "amask", "zap", "zapnot", "perr", "unpkbw", "unpkbl", "pkwb", "pklb",
            "minsb8", "minsw4", "minub8", "minuw4", "maxub8", "maxuw4", "maxsb8", "maxsw4",
        ];
        let sorted = |mut names: Vec<_>| {
            names.sort_unstable();
            names
        };
        assert_eq!(sorted(by_machine), sorted(expected.to_vec()));
    }
}
