//! Helpers that several tests share.
#![allow(dead_code)]

use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Inst, Op, OpClass, reg};

pub const FIGURE3: &str = include_str!("../productions/figure3.dise");
pub const FIGURE4: &str = include_str!("../productions/figure4.dise");
pub const FIGURE5: &str = include_str!("../productions/figure5.dise");
pub const CORRECTED: &str = include_str!("../productions/corrected.dise");
pub const REGISTERS: &str = include_str!("../productions/registers.dise");
pub const HANDLERS: &str = include_str!("../productions/handlers.dise");

pub const PC: u64 = 0x1_0000;

pub fn parse(text: &str) -> ProductionSet {
    ProductionSet::parse(text, "test.dise", &LoadOptions::default())
        .unwrap_or_else(|e| panic!("{e}"))
}

pub fn parse_files(files: &[(&str, &str)], params: &[(&str, i64)]) -> ProductionSet {
    let options = LoadOptions::with_params(params.iter().copied());
    ProductionSet::parse_files(files, &options).unwrap_or_else(|e| panic!("{e}"))
}

pub fn error(text: &str) -> String {
    match ProductionSet::parse(text, "test.dise", &LoadOptions::default()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// An engine that has been reset, and its registers.
pub fn engine(set: &ProductionSet, config: &DiseConfig) -> (DiseEngine, [u64; reg::COUNT]) {
    let mut regs = [0; reg::COUNT];
    set.init_registers(&mut regs);
    let mut engine = DiseEngine::new(set, config).unwrap_or_else(|e| panic!("{e}"));
    engine.reset(&regs);
    (engine, regs)
}

fn inst(op: Op, class: OpClass) -> Inst {
    Inst {
        op,
        class,
        ..Inst::illegal(4)
    }
}

pub fn call() -> Inst {
    Inst {
        rd: 1,
        imm: 0x400,
        ..inst(Op::Jal, OpClass::Call)
    }
}

pub fn back_edge() -> Inst {
    Inst {
        rs1: 10,
        rs2: 11,
        imm: -0x20,
        ..inst(Op::Bne, OpClass::Branch)
    }
}

pub fn forward_branch() -> Inst {
    Inst {
        imm: 0x20,
        ..back_edge()
    }
}

pub fn load() -> Inst {
    Inst {
        rd: 12,
        rs1: 2,
        imm: 8,
        ..inst(Op::Ld, OpClass::Load)
    }
}

pub fn store() -> Inst {
    Inst {
        rs1: 2,
        rs2: 13,
        imm: -8,
        len: 2,
        ..inst(Op::Sd, OpClass::Store)
    }
}

pub fn add() -> Inst {
    Inst {
        rd: 10,
        rs1: 11,
        rs2: 12,
        ..inst(Op::Add, OpClass::IntAlu)
    }
}

/// Decides for one instruction as a machine does: only if its static mask is not empty.
pub fn step(
    engine: &mut DiseEngine,
    seq: u64,
    inst: &Inst,
    regs: &[u64; reg::COUNT],
) -> Option<u8> {
    let mask = engine.static_mask(PC, inst);
    if mask == 0 {
        None
    } else {
        engine.decide(seq, mask, PC, inst, regs).production
    }
}
