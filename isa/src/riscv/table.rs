//! The table of operations: everything else in this module is generated from it.
//!
//! One row is one operation:
//!
//! ```text
//! Variant "mnemonic" Format match mask Class function, "meaning";
//! ```
//!
//! A 32-bit word is this operation if `word & mask == match`; the bits outside the mask hold the
//! operands of the [`Format`](super::Format). A match of 1 with a mask of 0 is never true: such an
//! operation has no 32-bit encoding of its own. `function` lies below `exec`. Encodings follow the
//! RISC-V unprivileged specification (20240411), chapter "RV32/64G Instruction Set Listings", and
//! the chapters of the extensions. A row may be a special case of another one of its instruction set, and
//! then stands before it (`zext.h` is a `packw`).

/// Calls `$apply!` with all rows of the table, and behind them those of the other instruction sets.
macro_rules! for_each_op {
    ($apply:ident) => {
        $crate::alpha::table::alpha_rows! { $apply {
            // Something that is not an instruction.
            Illegal "illegal" None 0x0000_0001 0x0000_0000 Illegal control::illegal, "Not an instruction: executing it traps";

            // RV64I: integer arithmetic (unprivileged specification, chapters 2 and 4).
            Lui "lui" Upper 0x0000_0037 0x0000_007f IntAlu int::lui, "rd = imm << 12";
            Auipc "auipc" Upper 0x0000_0017 0x0000_007f IntAlu int::auipc, "rd = pc + (imm << 12)";
            Addi "addi" Immediate 0x0000_0013 0x0000_707f IntAlu int::addi, "rd = rs1 + imm";
            Slti "slti" Immediate 0x0000_2013 0x0000_707f IntAlu int::slti, "rd = rs1 < imm, signed";
            Sltiu "sltiu" Immediate 0x0000_3013 0x0000_707f IntAlu int::sltiu, "rd = rs1 < imm, unsigned";
            Xori "xori" Immediate 0x0000_4013 0x0000_707f IntAlu int::xori, "rd = rs1 ^ imm";
            Ori "ori" Immediate 0x0000_6013 0x0000_707f IntAlu int::ori, "rd = rs1 | imm";
            Andi "andi" Immediate 0x0000_7013 0x0000_707f IntAlu int::andi, "rd = rs1 & imm";
            Slli "slli" Shift6 0x0000_1013 0xfc00_707f IntAlu int::slli, "rd = rs1 << shamt";
            Srli "srli" Shift6 0x0000_5013 0xfc00_707f IntAlu int::srli, "rd = rs1 >> shamt, logical";
            Srai "srai" Shift6 0x4000_5013 0xfc00_707f IntAlu int::srai, "rd = rs1 >> shamt, arithmetic";
            Add "add" Register 0x0000_0033 0xfe00_707f IntAlu int::add, "rd = rs1 + rs2";
            Sub "sub" Register 0x4000_0033 0xfe00_707f IntAlu int::sub, "rd = rs1 - rs2";
            Sll "sll" Register 0x0000_1033 0xfe00_707f IntAlu int::sll, "rd = rs1 << rs2[5:0]";
            Slt "slt" Register 0x0000_2033 0xfe00_707f IntAlu int::slt, "rd = rs1 < rs2, signed";
            Sltu "sltu" Register 0x0000_3033 0xfe00_707f IntAlu int::sltu, "rd = rs1 < rs2, unsigned";
            Xor "xor" Register 0x0000_4033 0xfe00_707f IntAlu int::xor, "rd = rs1 ^ rs2";
            Srl "srl" Register 0x0000_5033 0xfe00_707f IntAlu int::srl, "rd = rs1 >> rs2[5:0], logical";
            Sra "sra" Register 0x4000_5033 0xfe00_707f IntAlu int::sra, "rd = rs1 >> rs2[5:0], arithmetic";
            Or "or" Register 0x0000_6033 0xfe00_707f IntAlu int::or, "rd = rs1 | rs2";
            And "and" Register 0x0000_7033 0xfe00_707f IntAlu int::and, "rd = rs1 & rs2";
            Addiw "addiw" Immediate 0x0000_001b 0x0000_707f IntAlu int::addiw, "rd = sext32(rs1 + imm)";
            Slliw "slliw" Shift5 0x0000_101b 0xfe00_707f IntAlu int::slliw, "rd = sext32(rs1 << shamt)";
            Srliw "srliw" Shift5 0x0000_501b 0xfe00_707f IntAlu int::srliw, "rd = sext32(rs1[31:0] >> shamt), logical";
            Sraiw "sraiw" Shift5 0x4000_501b 0xfe00_707f IntAlu int::sraiw, "rd = sext32(rs1[31:0] >> shamt), arithmetic";
            Addw "addw" Register 0x0000_003b 0xfe00_707f IntAlu int::addw, "rd = sext32(rs1 + rs2)";
            Subw "subw" Register 0x4000_003b 0xfe00_707f IntAlu int::subw, "rd = sext32(rs1 - rs2)";
            Sllw "sllw" Register 0x0000_103b 0xfe00_707f IntAlu int::sllw, "rd = sext32(rs1 << rs2[4:0])";
            Srlw "srlw" Register 0x0000_503b 0xfe00_707f IntAlu int::srlw, "rd = sext32(rs1[31:0] >> rs2[4:0]), logical";
            Sraw "sraw" Register 0x4000_503b 0xfe00_707f IntAlu int::sraw, "rd = sext32(rs1[31:0] >> rs2[4:0]), arithmetic";

            // RV64I: control transfer, system, memory ordering, Zifencei.
            Jal "jal" Jump 0x0000_006f 0x0000_007f Jump control::jal, "rd = pc + len; jump to pc + imm";
            Jalr "jalr" JumpRegister 0x0000_0067 0x0000_707f JumpIndirect control::jalr, "rd = pc + len; jump to (rs1 + imm) & !1";
            Beq "beq" Branch 0x0000_0063 0x0000_707f Branch control::beq, "branch if rs1 == rs2";
            Bne "bne" Branch 0x0000_1063 0x0000_707f Branch control::bne, "branch if rs1 != rs2";
            Blt "blt" Branch 0x0000_4063 0x0000_707f Branch control::blt, "branch if rs1 < rs2, signed";
            Bge "bge" Branch 0x0000_5063 0x0000_707f Branch control::bge, "branch if rs1 >= rs2, signed";
            Bltu "bltu" Branch 0x0000_6063 0x0000_707f Branch control::bltu, "branch if rs1 < rs2, unsigned";
            Bgeu "bgeu" Branch 0x0000_7063 0x0000_707f Branch control::bgeu, "branch if rs1 >= rs2, unsigned";
            Ecall "ecall" None 0x0000_0073 0xffff_ffff Syscall control::ecall, "System call";
            Ebreak "ebreak" None 0x0010_0073 0xffff_ffff Break control::ebreak, "Breakpoint";
            Fence "fence" Fence 0x0000_000f 0x0000_707f Fence control::fence, "Orders memory accesses";
            FenceI "fence.i" None 0x0000_100f 0x0000_707f FenceI control::fence_i, "Makes stores visible to instruction fetch";

            // RV64I: memory.
            Lb "lb" Load 0x0000_0003 0x0000_707f Load mem::lb, "rd = memory at rs1 + imm: 8 bits, sign-extended";
            Lh "lh" Load 0x0000_1003 0x0000_707f Load mem::lh, "rd = memory at rs1 + imm: 16 bits, sign-extended";
            Lw "lw" Load 0x0000_2003 0x0000_707f Load mem::lw, "rd = memory at rs1 + imm: 32 bits, sign-extended";
            Ld "ld" Load 0x0000_3003 0x0000_707f Load mem::ld, "rd = memory at rs1 + imm: 64 bits";
            Lbu "lbu" Load 0x0000_4003 0x0000_707f Load mem::lbu, "rd = memory at rs1 + imm: 8 bits, zero-extended";
            Lhu "lhu" Load 0x0000_5003 0x0000_707f Load mem::lhu, "rd = memory at rs1 + imm: 16 bits, zero-extended";
            Lwu "lwu" Load 0x0000_6003 0x0000_707f Load mem::lwu, "rd = memory at rs1 + imm: 32 bits, zero-extended";
            Sb "sb" Store 0x0000_0023 0x0000_707f Store mem::sb, "memory at rs1 + imm = rs2: 8 bits";
            Sh "sh" Store 0x0000_1023 0x0000_707f Store mem::sh, "memory at rs1 + imm = rs2: 16 bits";
            Sw "sw" Store 0x0000_2023 0x0000_707f Store mem::sw, "memory at rs1 + imm = rs2: 32 bits";
            Sd "sd" Store 0x0000_3023 0x0000_707f Store mem::sd, "memory at rs1 + imm = rs2: 64 bits";

            // M: multiplication and division.
            Mul "mul" Register 0x0200_0033 0xfe00_707f IntMul muldiv::mul, "rd = low half of rs1 * rs2";
            Mulh "mulh" Register 0x0200_1033 0xfe00_707f IntMul muldiv::mulh, "rd = high half of rs1 * rs2, signed";
            Mulhsu "mulhsu" Register 0x0200_2033 0xfe00_707f IntMul muldiv::mulhsu, "rd = high half of rs1 (signed) * rs2 (unsigned)";
            Mulhu "mulhu" Register 0x0200_3033 0xfe00_707f IntMul muldiv::mulhu, "rd = high half of rs1 * rs2, unsigned";
            Div "div" Register 0x0200_4033 0xfe00_707f IntDiv muldiv::div, "rd = rs1 / rs2, signed";
            Divu "divu" Register 0x0200_5033 0xfe00_707f IntDiv muldiv::divu, "rd = rs1 / rs2, unsigned";
            Rem "rem" Register 0x0200_6033 0xfe00_707f IntDiv muldiv::rem, "rd = rs1 % rs2, signed";
            Remu "remu" Register 0x0200_7033 0xfe00_707f IntDiv muldiv::remu, "rd = rs1 % rs2, unsigned";
            Mulw "mulw" Register 0x0200_003b 0xfe00_707f IntMul muldiv::mulw, "rd = sext32(rs1 * rs2)";
            Divw "divw" Register 0x0200_403b 0xfe00_707f IntDiv muldiv::divw, "rd = sext32(rs1[31:0] / rs2[31:0]), signed";
            Divuw "divuw" Register 0x0200_503b 0xfe00_707f IntDiv muldiv::divuw, "rd = sext32(rs1[31:0] / rs2[31:0]), unsigned";
            Remw "remw" Register 0x0200_603b 0xfe00_707f IntDiv muldiv::remw, "rd = sext32(rs1[31:0] % rs2[31:0]), signed";
            Remuw "remuw" Register 0x0200_703b 0xfe00_707f IntDiv muldiv::remuw, "rd = sext32(rs1[31:0] % rs2[31:0]), unsigned";

            // A: atomics. The ordering bits aq and rl are accepted and dropped (see the decoder).
            LrW "lr.w" LoadReserved 0x1000_202f 0xf9f0_707f Atomic atomic::lr_w, "rd = memory at rs1, and reserve it, 32 bits";
            ScW "sc.w" Atomic 0x1800_202f 0xf800_707f Atomic atomic::sc_w, "memory at rs1 = rs2 if still reserved; rd = 0 if so, else 1, 32 bits";
            AmoswapW "amoswap.w" Atomic 0x0800_202f 0xf800_707f Atomic atomic::amoswap_w, "rd = memory at rs1, atomically replaced: swap, 32 bits";
            AmoaddW "amoadd.w" Atomic 0x0000_202f 0xf800_707f Atomic atomic::amoadd_w, "rd = memory at rs1, atomically replaced: add, 32 bits";
            AmoxorW "amoxor.w" Atomic 0x2000_202f 0xf800_707f Atomic atomic::amoxor_w, "rd = memory at rs1, atomically replaced: exclusive or, 32 bits";
            AmoandW "amoand.w" Atomic 0x6000_202f 0xf800_707f Atomic atomic::amoand_w, "rd = memory at rs1, atomically replaced: and, 32 bits";
            AmoorW "amoor.w" Atomic 0x4000_202f 0xf800_707f Atomic atomic::amoor_w, "rd = memory at rs1, atomically replaced: or, 32 bits";
            AmominW "amomin.w" Atomic 0x8000_202f 0xf800_707f Atomic atomic::amomin_w, "rd = memory at rs1, atomically replaced: minimum, signed, 32 bits";
            AmomaxW "amomax.w" Atomic 0xa000_202f 0xf800_707f Atomic atomic::amomax_w, "rd = memory at rs1, atomically replaced: maximum, signed, 32 bits";
            AmominuW "amominu.w" Atomic 0xc000_202f 0xf800_707f Atomic atomic::amominu_w, "rd = memory at rs1, atomically replaced: minimum, unsigned, 32 bits";
            AmomaxuW "amomaxu.w" Atomic 0xe000_202f 0xf800_707f Atomic atomic::amomaxu_w, "rd = memory at rs1, atomically replaced: maximum, unsigned, 32 bits";
            LrD "lr.d" LoadReserved 0x1000_302f 0xf9f0_707f Atomic atomic::lr_d, "rd = memory at rs1, and reserve it, 64 bits";
            ScD "sc.d" Atomic 0x1800_302f 0xf800_707f Atomic atomic::sc_d, "memory at rs1 = rs2 if still reserved; rd = 0 if so, else 1, 64 bits";
            AmoswapD "amoswap.d" Atomic 0x0800_302f 0xf800_707f Atomic atomic::amoswap_d, "rd = memory at rs1, atomically replaced: swap, 64 bits";
            AmoaddD "amoadd.d" Atomic 0x0000_302f 0xf800_707f Atomic atomic::amoadd_d, "rd = memory at rs1, atomically replaced: add, 64 bits";
            AmoxorD "amoxor.d" Atomic 0x2000_302f 0xf800_707f Atomic atomic::amoxor_d, "rd = memory at rs1, atomically replaced: exclusive or, 64 bits";
            AmoandD "amoand.d" Atomic 0x6000_302f 0xf800_707f Atomic atomic::amoand_d, "rd = memory at rs1, atomically replaced: and, 64 bits";
            AmoorD "amoor.d" Atomic 0x4000_302f 0xf800_707f Atomic atomic::amoor_d, "rd = memory at rs1, atomically replaced: or, 64 bits";
            AmominD "amomin.d" Atomic 0x8000_302f 0xf800_707f Atomic atomic::amomin_d, "rd = memory at rs1, atomically replaced: minimum, signed, 64 bits";
            AmomaxD "amomax.d" Atomic 0xa000_302f 0xf800_707f Atomic atomic::amomax_d, "rd = memory at rs1, atomically replaced: maximum, signed, 64 bits";
            AmominuD "amominu.d" Atomic 0xc000_302f 0xf800_707f Atomic atomic::amominu_d, "rd = memory at rs1, atomically replaced: minimum, unsigned, 64 bits";
            AmomaxuD "amomaxu.d" Atomic 0xe000_302f 0xf800_707f Atomic atomic::amomaxu_d, "rd = memory at rs1, atomically replaced: maximum, unsigned, 64 bits";

            // Zabha: atomics of bytes and halfwords.
            AmoswapB "amoswap.b" Atomic 0x0800_002f 0xf800_707f Atomic atomic::amoswap_b, "rd = memory at rs1, atomically replaced: swap, 8 bits";
            AmoaddB "amoadd.b" Atomic 0x0000_002f 0xf800_707f Atomic atomic::amoadd_b, "rd = memory at rs1, atomically replaced: add, 8 bits";
            AmoxorB "amoxor.b" Atomic 0x2000_002f 0xf800_707f Atomic atomic::amoxor_b, "rd = memory at rs1, atomically replaced: exclusive or, 8 bits";
            AmoandB "amoand.b" Atomic 0x6000_002f 0xf800_707f Atomic atomic::amoand_b, "rd = memory at rs1, atomically replaced: and, 8 bits";
            AmoorB "amoor.b" Atomic 0x4000_002f 0xf800_707f Atomic atomic::amoor_b, "rd = memory at rs1, atomically replaced: or, 8 bits";
            AmominB "amomin.b" Atomic 0x8000_002f 0xf800_707f Atomic atomic::amomin_b, "rd = memory at rs1, atomically replaced: minimum, signed, 8 bits";
            AmomaxB "amomax.b" Atomic 0xa000_002f 0xf800_707f Atomic atomic::amomax_b, "rd = memory at rs1, atomically replaced: maximum, signed, 8 bits";
            AmominuB "amominu.b" Atomic 0xc000_002f 0xf800_707f Atomic atomic::amominu_b, "rd = memory at rs1, atomically replaced: minimum, unsigned, 8 bits";
            AmomaxuB "amomaxu.b" Atomic 0xe000_002f 0xf800_707f Atomic atomic::amomaxu_b, "rd = memory at rs1, atomically replaced: maximum, unsigned, 8 bits";
            AmoswapH "amoswap.h" Atomic 0x0800_102f 0xf800_707f Atomic atomic::amoswap_h, "rd = memory at rs1, atomically replaced: swap, 16 bits";
            AmoaddH "amoadd.h" Atomic 0x0000_102f 0xf800_707f Atomic atomic::amoadd_h, "rd = memory at rs1, atomically replaced: add, 16 bits";
            AmoxorH "amoxor.h" Atomic 0x2000_102f 0xf800_707f Atomic atomic::amoxor_h, "rd = memory at rs1, atomically replaced: exclusive or, 16 bits";
            AmoandH "amoand.h" Atomic 0x6000_102f 0xf800_707f Atomic atomic::amoand_h, "rd = memory at rs1, atomically replaced: and, 16 bits";
            AmoorH "amoor.h" Atomic 0x4000_102f 0xf800_707f Atomic atomic::amoor_h, "rd = memory at rs1, atomically replaced: or, 16 bits";
            AmominH "amomin.h" Atomic 0x8000_102f 0xf800_707f Atomic atomic::amomin_h, "rd = memory at rs1, atomically replaced: minimum, signed, 16 bits";
            AmomaxH "amomax.h" Atomic 0xa000_102f 0xf800_707f Atomic atomic::amomax_h, "rd = memory at rs1, atomically replaced: maximum, signed, 16 bits";
            AmominuH "amominu.h" Atomic 0xc000_102f 0xf800_707f Atomic atomic::amominu_h, "rd = memory at rs1, atomically replaced: minimum, unsigned, 16 bits";
            AmomaxuH "amomaxu.h" Atomic 0xe000_102f 0xf800_707f Atomic atomic::amomaxu_h, "rd = memory at rs1, atomically replaced: maximum, unsigned, 16 bits";

            // Zacas: compare and swap; rd is also the third source. Of `amocas.q` they are pairs.
            AmocasB "amocas.b" AtomicCas 0x2800_002f 0xf800_707f Atomic atomic::amocas_b, "memory at rs1 = rs2 if it is rd; rd = memory at rs1, 8 bits";
            AmocasH "amocas.h" AtomicCas 0x2800_102f 0xf800_707f Atomic atomic::amocas_h, "memory at rs1 = rs2 if it is rd; rd = memory at rs1, 16 bits";
            AmocasW "amocas.w" AtomicCas 0x2800_202f 0xf800_707f Atomic atomic::amocas_w, "memory at rs1 = rs2 if it is rd; rd = memory at rs1, 32 bits";
            AmocasD "amocas.d" AtomicCas 0x2800_302f 0xf800_707f Atomic atomic::amocas_d, "memory at rs1 = rs2 if it is rd; rd = memory at rs1, 64 bits";
            AmocasQ "amocas.q" AtomicCas 0x2800_402f 0xf800_707f FenceI wide::wide, "memory at rs1 = rs2 if it is rd; rd = memory at rs1, 128 bits in pairs of registers";

            // Zawrs: a wait may end at any time, and here it ends at once.
            WrsNto "wrs.nto" None 0x00d0_0073 0xffff_ffff Fence control::fence, "Waits for a store to the reservation";
            WrsSto "wrs.sto" None 0x01d0_0073 0xffff_ffff Fence control::fence, "Waits for a store to the reservation, or a short time";

            // Zicbom: blocks of 64 bytes.
            CboInval "cbo.inval" CacheBlock 0x0000_200f 0xfff0_7fff Atomic atomic::cbo, "Writes the cache block at rs1 back and drops it";
            CboClean "cbo.clean" CacheBlock 0x0010_200f 0xfff0_7fff Atomic atomic::cbo, "Writes the cache block at rs1 back";
            CboZero "cbo.zero" CacheBlock 0x0040_200f 0xfff0_7fff FenceI wide::wide, "Fills the cache block at rs1 with zeros";
            CboFlush "cbo.flush" CacheBlock 0x0020_200f 0xfff0_7fff Atomic atomic::cbo, "Writes the cache block at rs1 back and drops it";

            // Zicsr.
            Csrrw "csrrw" Csr 0x0000_1073 0x0000_707f Csr csr::csrrw, "rd = csr; csr = rs1";
            Csrrs "csrrs" Csr 0x0000_2073 0x0000_707f Csr csr::csrrs, "rd = csr; csr |= rs1";
            Csrrc "csrrc" Csr 0x0000_3073 0x0000_707f Csr csr::csrrc, "rd = csr; csr &= !rs1";
            Csrrwi "csrrwi" CsrImmediate 0x0000_5073 0x0000_707f Csr csr::csrrwi, "rd = csr; csr = zimm";
            Csrrsi "csrrsi" CsrImmediate 0x0000_6073 0x0000_707f Csr csr::csrrsi, "rd = csr; csr |= zimm";
            Csrrci "csrrci" CsrImmediate 0x0000_7073 0x0000_707f Csr csr::csrrci, "rd = csr; csr &= !zimm";

            // Zba: address generation.
            AddUw "add.uw" Register 0x0800_003b 0xfe00_707f IntAlu bits::add_uw, "rd = rs1[31:0] + rs2";
            Sh1add "sh1add" Register 0x2000_2033 0xfe00_707f IntAlu bits::sh1add, "rd = (rs1 << 1) + rs2";
            Sh1addUw "sh1add.uw" Register 0x2000_203b 0xfe00_707f IntAlu bits::sh1add_uw, "rd = (rs1[31:0] << 1) + rs2";
            Sh2add "sh2add" Register 0x2000_4033 0xfe00_707f IntAlu bits::sh2add, "rd = (rs1 << 2) + rs2";
            Sh2addUw "sh2add.uw" Register 0x2000_403b 0xfe00_707f IntAlu bits::sh2add_uw, "rd = (rs1[31:0] << 2) + rs2";
            Sh3add "sh3add" Register 0x2000_6033 0xfe00_707f IntAlu bits::sh3add, "rd = (rs1 << 3) + rs2";
            Sh3addUw "sh3add.uw" Register 0x2000_603b 0xfe00_707f IntAlu bits::sh3add_uw, "rd = (rs1[31:0] << 3) + rs2";
            SlliUw "slli.uw" Shift6 0x0800_101b 0xfc00_707f IntAlu bits::slli_uw, "rd = rs1[31:0] << shamt";

            // Zbb: basic bit manipulation.
            Andn "andn" Register 0x4000_7033 0xfe00_707f IntAlu bits::andn, "rd = rs1 & !rs2";
            Orn "orn" Register 0x4000_6033 0xfe00_707f IntAlu bits::orn, "rd = rs1 | !rs2";
            Xnor "xnor" Register 0x4000_4033 0xfe00_707f IntAlu bits::xnor, "rd = !(rs1 ^ rs2)";
            Max "max" Register 0x0a00_6033 0xfe00_707f IntAlu bits::max, "rd = maximum, signed";
            Maxu "maxu" Register 0x0a00_7033 0xfe00_707f IntAlu bits::maxu, "rd = maximum, unsigned";
            Min "min" Register 0x0a00_4033 0xfe00_707f IntAlu bits::min, "rd = minimum, signed";
            Minu "minu" Register 0x0a00_5033 0xfe00_707f IntAlu bits::minu, "rd = minimum, unsigned";
            Rol "rol" Register 0x6000_1033 0xfe00_707f IntAlu bits::rol, "rd = rs1 rotated left by rs2[5:0]";
            Rolw "rolw" Register 0x6000_103b 0xfe00_707f IntAlu bits::rolw, "rd = sext32(rs1[31:0] rotated left by rs2[4:0])";
            Ror "ror" Register 0x6000_5033 0xfe00_707f IntAlu bits::ror, "rd = rs1 rotated right by rs2[5:0]";
            Rorw "rorw" Register 0x6000_503b 0xfe00_707f IntAlu bits::rorw, "rd = sext32(rs1[31:0] rotated right by rs2[4:0])";
            Rori "rori" Shift6 0x6000_5013 0xfc00_707f IntAlu bits::rori, "rd = rs1 rotated right by shamt";
            Roriw "roriw" Shift5 0x6000_501b 0xfe00_707f IntAlu bits::roriw, "rd = sext32(rs1[31:0] rotated right by shamt)";
            Clz "clz" Unary 0x6000_1013 0xfff0_707f IntAlu bits::clz, "rd = leading zeros";
            Clzw "clzw" Unary 0x6000_101b 0xfff0_707f IntAlu bits::clzw, "rd = leading zeros of rs1[31:0]";
            Ctz "ctz" Unary 0x6010_1013 0xfff0_707f IntAlu bits::ctz, "rd = trailing zeros";
            Ctzw "ctzw" Unary 0x6010_101b 0xfff0_707f IntAlu bits::ctzw, "rd = trailing zeros of rs1[31:0]";
            Cpop "cpop" Unary 0x6020_1013 0xfff0_707f IntAlu bits::cpop, "rd = number of ones";
            Cpopw "cpopw" Unary 0x6020_101b 0xfff0_707f IntAlu bits::cpopw, "rd = number of ones in rs1[31:0]";
            SextB "sext.b" Unary 0x6040_1013 0xfff0_707f IntAlu bits::sext_b, "rd = rs1[7:0], sign-extended";
            SextH "sext.h" Unary 0x6050_1013 0xfff0_707f IntAlu bits::sext_h, "rd = rs1[15:0], sign-extended";
            ZextH "zext.h" Unary 0x0800_403b 0xfff0_707f IntAlu bits::zext_h, "rd = rs1[15:0]";
            OrcB "orc.b" Unary 0x2870_5013 0xfff0_707f IntAlu bits::orc_b, "rd = for each byte, 0xff unless it is zero";
            Rev8 "rev8" Unary 0x6b80_5013 0xfff0_707f IntAlu bits::rev8, "rd = bytes in reverse order";

            // Zbs: single bits.
            Bclr "bclr" Register 0x4800_1033 0xfe00_707f IntAlu bits::bclr, "rd = rs1 with bit rs2[5:0] clear";
            Bclri "bclri" Shift6 0x4800_1013 0xfc00_707f IntAlu bits::bclri, "rd = rs1 with bit shamt clear";
            Bext "bext" Register 0x4800_5033 0xfe00_707f IntAlu bits::bext, "rd = bit rs2[5:0] of rs1";
            Bexti "bexti" Shift6 0x4800_5013 0xfc00_707f IntAlu bits::bexti, "rd = bit shamt of rs1";
            Binv "binv" Register 0x6800_1033 0xfe00_707f IntAlu bits::binv, "rd = rs1 with bit rs2[5:0] inverted";
            Binvi "binvi" Shift6 0x6800_1013 0xfc00_707f IntAlu bits::binvi, "rd = rs1 with bit shamt inverted";
            Bset "bset" Register 0x2800_1033 0xfe00_707f IntAlu bits::bset, "rd = rs1 with bit rs2[5:0] set";
            Bseti "bseti" Shift6 0x2800_1013 0xfc00_707f IntAlu bits::bseti, "rd = rs1 with bit shamt set";

            // Zbc: multiplication without carries.
            Clmul "clmul" Register 0x0a00_1033 0xfe00_707f IntMul bits::clmul, "rd = low half of the product of rs1 and rs2 without carries";
            Clmulr "clmulr" Register 0x0a00_2033 0xfe00_707f IntMul bits::clmulr, "rd = bits 126..63 of the product of rs1 and rs2 without carries";
            Clmulh "clmulh" Register 0x0a00_3033 0xfe00_707f IntMul bits::clmulh, "rd = high half of the product of rs1 and rs2 without carries";

            // Zbkb: bit manipulation for cryptography, beside what Zbb has. `packw` with x0 is `zext.h`.
            Pack "pack" Register 0x0800_4033 0xfe00_707f IntAlu bits::pack, "rd = low halves of rs1 and, above it, of rs2";
            Packh "packh" Register 0x0800_7033 0xfe00_707f IntAlu bits::packh, "rd = low bytes of rs1 and, above it, of rs2, zero-extended";
            Packw "packw" Register 0x0800_403b 0xfe00_707f IntAlu bits::packw, "rd = sext32 of the low 16 bits of rs1 and, above them, of rs2";
            Brev8 "brev8" Unary 0x6870_5013 0xfff0_707f IntAlu bits::brev8, "rd = rs1 with the bits of each byte reversed";

            // Zicond: conditional zero.
            CzeroEqz "czero.eqz" Register 0x0e00_5033 0xfe00_707f IntAlu bits::czero_eqz, "rd = rs2 == 0 ? 0 : rs1";
            CzeroNez "czero.nez" Register 0x0e00_7033 0xfe00_707f IntAlu bits::czero_nez, "rd = rs2 != 0 ? 0 : rs1";

            // Zimop: operations that may be. Which one of the family lies in imm.
            MopR "mop.r" MopUnary 0x81c0_4073 0xb3c0_707f IntAlu int::mop, "rd = 0";
            MopRr "mop.rr" MopBinary 0x8200_4073 0xb200_707f IntAlu int::mop, "rd = 0";

            // F: single precision (rounding mode in imm, 7 is dynamic).
            Flw "flw" FpLoad 0x0000_2007 0x0000_707f Load mem::flw, "fd = memory at rs1 + imm, 32 bits, NaN-boxed";
            Fsw "fsw" FpStore 0x0000_2027 0x0000_707f Store mem::fsw, "memory at rs1 + imm = fs2, 32 bits";
            FmaddS "fmadd.s" FpFused 0x0000_0043 0x0600_007f FpFma fp_single::fmadd_s, "fd = fs1 * fs2 + fs3, one rounding";
            FmsubS "fmsub.s" FpFused 0x0000_0047 0x0600_007f FpFma fp_single::fmsub_s, "fd = fs1 * fs2 - fs3, one rounding";
            FnmsubS "fnmsub.s" FpFused 0x0000_004b 0x0600_007f FpFma fp_single::fnmsub_s, "fd = -(fs1 * fs2) + fs3, one rounding";
            FnmaddS "fnmadd.s" FpFused 0x0000_004f 0x0600_007f FpFma fp_single::fnmadd_s, "fd = -(fs1 * fs2) - fs3, one rounding";
            FaddS "fadd.s" FpRounded 0x0000_0053 0xfe00_007f FpAdd fp_single::fadd_s, "fd = fs1 + fs2";
            FsubS "fsub.s" FpRounded 0x0800_0053 0xfe00_007f FpAdd fp_single::fsub_s, "fd = fs1 - fs2";
            FmulS "fmul.s" FpRounded 0x1000_0053 0xfe00_007f FpMul fp_single::fmul_s, "fd = fs1 * fs2";
            FdivS "fdiv.s" FpRounded 0x1800_0053 0xfe00_007f FpDiv fp_single::fdiv_s, "fd = fs1 / fs2";
            FsqrtS "fsqrt.s" FpUnaryRounded 0x5800_0053 0xfff0_007f FpSqrt fp_single::fsqrt_s, "fd = square root of fs1";
            FsgnjS "fsgnj.s" FpRegister 0x2000_0053 0xfe00_707f FpCvt fp_single::fsgnj_s, "fd = fs1 with the sign of fs2";
            FsgnjnS "fsgnjn.s" FpRegister 0x2000_1053 0xfe00_707f FpCvt fp_single::fsgnjn_s, "fd = fs1 with the opposite of the sign of fs2";
            FsgnjxS "fsgnjx.s" FpRegister 0x2000_2053 0xfe00_707f FpCvt fp_single::fsgnjx_s, "fd = fs1 with the product of both signs";
            FminS "fmin.s" FpRegister 0x2800_0053 0xfe00_707f FpAdd fp_single::fmin_s, "fd = minimumNumber of fs1 and fs2";
            FmaxS "fmax.s" FpRegister 0x2800_1053 0xfe00_707f FpAdd fp_single::fmax_s, "fd = maximumNumber of fs1 and fs2";
            FeqS "feq.s" FpCompare 0xa000_2053 0xfe00_707f FpAdd fp_single::feq_s, "rd = fs1 == fs2, quiet";
            FltS "flt.s" FpCompare 0xa000_1053 0xfe00_707f FpAdd fp_single::flt_s, "rd = fs1 < fs2, signalling";
            FleS "fle.s" FpCompare 0xa000_0053 0xfe00_707f FpAdd fp_single::fle_s, "rd = fs1 <= fs2, signalling";
            FclassS "fclass.s" FpToInt 0xe000_1053 0xfff0_707f FpCvt fp_single::fclass_s, "rd = class of fs1 as one of ten bits";
            FmvXW "fmv.x.w" FpToInt 0xe000_0053 0xfff0_707f FpCvt fp_convert::fmv_x_w, "rd = bits of fs1, 32, sign-extended";
            FmvWX "fmv.w.x" IntToFp 0xf000_0053 0xfff0_707f FpCvt fp_convert::fmv_w_x, "fd = bits of rs1, 32, NaN-boxed";
            FcvtWS "fcvt.w.s" FpToIntRounded 0xc000_0053 0xfff0_007f FpCvt fp_convert::fcvt_w_s, "rd = fs1 as an integer of 32 bits, signed";
            FcvtSW "fcvt.s.w" IntToFpRounded 0xd000_0053 0xfff0_007f FpCvt fp_convert::fcvt_s_w, "fd = rs1, an integer of 32 bits, signed";
            FcvtWuS "fcvt.wu.s" FpToIntRounded 0xc010_0053 0xfff0_007f FpCvt fp_convert::fcvt_wu_s, "rd = fs1 as an integer of 32 bits, unsigned";
            FcvtSWu "fcvt.s.wu" IntToFpRounded 0xd010_0053 0xfff0_007f FpCvt fp_convert::fcvt_s_wu, "fd = rs1, an integer of 32 bits, unsigned";
            FcvtLS "fcvt.l.s" FpToIntRounded 0xc020_0053 0xfff0_007f FpCvt fp_convert::fcvt_l_s, "rd = fs1 as an integer of 64 bits, signed";
            FcvtSL "fcvt.s.l" IntToFpRounded 0xd020_0053 0xfff0_007f FpCvt fp_convert::fcvt_s_l, "fd = rs1, an integer of 64 bits, signed";
            FcvtLuS "fcvt.lu.s" FpToIntRounded 0xc030_0053 0xfff0_007f FpCvt fp_convert::fcvt_lu_s, "rd = fs1 as an integer of 64 bits, unsigned";
            FcvtSLu "fcvt.s.lu" IntToFpRounded 0xd030_0053 0xfff0_007f FpCvt fp_convert::fcvt_s_lu, "fd = rs1, an integer of 64 bits, unsigned";

            // D: double precision (rounding mode in imm, 7 is dynamic).
            Fld "fld" FpLoad 0x0000_3007 0x0000_707f Load mem::fld, "fd = memory at rs1 + imm, 64 bits";
            Fsd "fsd" FpStore 0x0000_3027 0x0000_707f Store mem::fsd, "memory at rs1 + imm = fs2, 64 bits";
            FmaddD "fmadd.d" FpFused 0x0200_0043 0x0600_007f FpFma fp_double::fmadd_d, "fd = fs1 * fs2 + fs3, one rounding";
            FmsubD "fmsub.d" FpFused 0x0200_0047 0x0600_007f FpFma fp_double::fmsub_d, "fd = fs1 * fs2 - fs3, one rounding";
            FnmsubD "fnmsub.d" FpFused 0x0200_004b 0x0600_007f FpFma fp_double::fnmsub_d, "fd = -(fs1 * fs2) + fs3, one rounding";
            FnmaddD "fnmadd.d" FpFused 0x0200_004f 0x0600_007f FpFma fp_double::fnmadd_d, "fd = -(fs1 * fs2) - fs3, one rounding";
            FaddD "fadd.d" FpRounded 0x0200_0053 0xfe00_007f FpAdd fp_double::fadd_d, "fd = fs1 + fs2";
            FsubD "fsub.d" FpRounded 0x0a00_0053 0xfe00_007f FpAdd fp_double::fsub_d, "fd = fs1 - fs2";
            FmulD "fmul.d" FpRounded 0x1200_0053 0xfe00_007f FpMul fp_double::fmul_d, "fd = fs1 * fs2";
            FdivD "fdiv.d" FpRounded 0x1a00_0053 0xfe00_007f FpDiv fp_double::fdiv_d, "fd = fs1 / fs2";
            FsqrtD "fsqrt.d" FpUnaryRounded 0x5a00_0053 0xfff0_007f FpSqrt fp_double::fsqrt_d, "fd = square root of fs1";
            FsgnjD "fsgnj.d" FpRegister 0x2200_0053 0xfe00_707f FpCvt fp_double::fsgnj_d, "fd = fs1 with the sign of fs2";
            FsgnjnD "fsgnjn.d" FpRegister 0x2200_1053 0xfe00_707f FpCvt fp_double::fsgnjn_d, "fd = fs1 with the opposite of the sign of fs2";
            FsgnjxD "fsgnjx.d" FpRegister 0x2200_2053 0xfe00_707f FpCvt fp_double::fsgnjx_d, "fd = fs1 with the product of both signs";
            FminD "fmin.d" FpRegister 0x2a00_0053 0xfe00_707f FpAdd fp_double::fmin_d, "fd = minimumNumber of fs1 and fs2";
            FmaxD "fmax.d" FpRegister 0x2a00_1053 0xfe00_707f FpAdd fp_double::fmax_d, "fd = maximumNumber of fs1 and fs2";
            FeqD "feq.d" FpCompare 0xa200_2053 0xfe00_707f FpAdd fp_double::feq_d, "rd = fs1 == fs2, quiet";
            FltD "flt.d" FpCompare 0xa200_1053 0xfe00_707f FpAdd fp_double::flt_d, "rd = fs1 < fs2, signalling";
            FleD "fle.d" FpCompare 0xa200_0053 0xfe00_707f FpAdd fp_double::fle_d, "rd = fs1 <= fs2, signalling";
            FclassD "fclass.d" FpToInt 0xe200_1053 0xfff0_707f FpCvt fp_double::fclass_d, "rd = class of fs1 as one of ten bits";
            FmvXD "fmv.x.d" FpToInt 0xe200_0053 0xfff0_707f FpCvt fp_convert::fmv_x_d, "rd = bits of fs1";
            FmvDX "fmv.d.x" IntToFp 0xf200_0053 0xfff0_707f FpCvt fp_convert::fmv_d_x, "fd = bits of rs1";
            FcvtWD "fcvt.w.d" FpToIntRounded 0xc200_0053 0xfff0_007f FpCvt fp_convert::fcvt_w_d, "rd = fs1 as an integer of 32 bits, signed";
            FcvtDW "fcvt.d.w" IntToFpExact 0xd200_0053 0xfff0_007f FpCvt fp_convert::fcvt_d_w, "fd = rs1, an integer of 32 bits, signed";
            FcvtWuD "fcvt.wu.d" FpToIntRounded 0xc210_0053 0xfff0_007f FpCvt fp_convert::fcvt_wu_d, "rd = fs1 as an integer of 32 bits, unsigned";
            FcvtDWu "fcvt.d.wu" IntToFpExact 0xd210_0053 0xfff0_007f FpCvt fp_convert::fcvt_d_wu, "fd = rs1, an integer of 32 bits, unsigned";
            FcvtLD "fcvt.l.d" FpToIntRounded 0xc220_0053 0xfff0_007f FpCvt fp_convert::fcvt_l_d, "rd = fs1 as an integer of 64 bits, signed";
            FcvtDL "fcvt.d.l" IntToFpRounded 0xd220_0053 0xfff0_007f FpCvt fp_convert::fcvt_d_l, "fd = rs1, an integer of 64 bits, signed";
            FcvtLuD "fcvt.lu.d" FpToIntRounded 0xc230_0053 0xfff0_007f FpCvt fp_convert::fcvt_lu_d, "rd = fs1 as an integer of 64 bits, unsigned";
            FcvtDLu "fcvt.d.lu" IntToFpRounded 0xd230_0053 0xfff0_007f FpCvt fp_convert::fcvt_d_lu, "fd = rs1, an integer of 64 bits, unsigned";

            // D: between precisions.
            FcvtSD "fcvt.s.d" FpUnaryRounded 0x4010_0053 0xfff0_007f FpCvt fp_convert::fcvt_s_d, "fd = fs1, rounded to single precision";
            FcvtDS "fcvt.d.s" FpUnaryExact 0x4200_0053 0xfff0_007f FpCvt fp_convert::fcvt_d_s, "fd = fs1 in double precision";

            // Zfh: half precision (rounding mode in imm, 7 is dynamic).
            Flh "flh" FpLoad 0x0000_1007 0x0000_707f Load mem::flh, "fd = memory at rs1 + imm, 16 bits, NaN-boxed";
            Fsh "fsh" FpStore 0x0000_1027 0x0000_707f Store mem::fsh, "memory at rs1 + imm = fs2, 16 bits";
            FmaddH "fmadd.h" FpFused 0x0400_0043 0x0600_007f FpFma fp_half::fmadd_h, "fd = fs1 * fs2 + fs3, one rounding";
            FmsubH "fmsub.h" FpFused 0x0400_0047 0x0600_007f FpFma fp_half::fmsub_h, "fd = fs1 * fs2 - fs3, one rounding";
            FnmsubH "fnmsub.h" FpFused 0x0400_004b 0x0600_007f FpFma fp_half::fnmsub_h, "fd = -(fs1 * fs2) + fs3, one rounding";
            FnmaddH "fnmadd.h" FpFused 0x0400_004f 0x0600_007f FpFma fp_half::fnmadd_h, "fd = -(fs1 * fs2) - fs3, one rounding";
            FaddH "fadd.h" FpRounded 0x0400_0053 0xfe00_007f FpAdd fp_half::fadd_h, "fd = fs1 + fs2";
            FsubH "fsub.h" FpRounded 0x0c00_0053 0xfe00_007f FpAdd fp_half::fsub_h, "fd = fs1 - fs2";
            FmulH "fmul.h" FpRounded 0x1400_0053 0xfe00_007f FpMul fp_half::fmul_h, "fd = fs1 * fs2";
            FdivH "fdiv.h" FpRounded 0x1c00_0053 0xfe00_007f FpDiv fp_half::fdiv_h, "fd = fs1 / fs2";
            FsqrtH "fsqrt.h" FpUnaryRounded 0x5c00_0053 0xfff0_007f FpSqrt fp_half::fsqrt_h, "fd = square root of fs1";
            FsgnjH "fsgnj.h" FpRegister 0x2400_0053 0xfe00_707f FpCvt fp_half::fsgnj_h, "fd = fs1 with the sign of fs2";
            FsgnjnH "fsgnjn.h" FpRegister 0x2400_1053 0xfe00_707f FpCvt fp_half::fsgnjn_h, "fd = fs1 with the opposite of the sign of fs2";
            FsgnjxH "fsgnjx.h" FpRegister 0x2400_2053 0xfe00_707f FpCvt fp_half::fsgnjx_h, "fd = fs1 with the product of both signs";
            FminH "fmin.h" FpRegister 0x2c00_0053 0xfe00_707f FpAdd fp_half::fmin_h, "fd = minimumNumber of fs1 and fs2";
            FmaxH "fmax.h" FpRegister 0x2c00_1053 0xfe00_707f FpAdd fp_half::fmax_h, "fd = maximumNumber of fs1 and fs2";
            FeqH "feq.h" FpCompare 0xa400_2053 0xfe00_707f FpAdd fp_half::feq_h, "rd = fs1 == fs2, quiet";
            FltH "flt.h" FpCompare 0xa400_1053 0xfe00_707f FpAdd fp_half::flt_h, "rd = fs1 < fs2, signalling";
            FleH "fle.h" FpCompare 0xa400_0053 0xfe00_707f FpAdd fp_half::fle_h, "rd = fs1 <= fs2, signalling";
            FclassH "fclass.h" FpToInt 0xe400_1053 0xfff0_707f FpCvt fp_half::fclass_h, "rd = class of fs1 as one of ten bits";
            FmvXH "fmv.x.h" FpToInt 0xe400_0053 0xfff0_707f FpCvt fp_half::fmv_x_h, "rd = bits of fs1, 16, sign-extended";
            FmvHX "fmv.h.x" IntToFp 0xf400_0053 0xfff0_707f FpCvt fp_half::fmv_h_x, "fd = bits of rs1, 16, NaN-boxed";
            FcvtWH "fcvt.w.h" FpToIntRounded 0xc400_0053 0xfff0_007f FpCvt fp_half::fcvt_w_h, "rd = fs1 as an integer of 32 bits, signed";
            FcvtHW "fcvt.h.w" IntToFpRounded 0xd400_0053 0xfff0_007f FpCvt fp_half::fcvt_h_w, "fd = rs1, an integer of 32 bits, signed";
            FcvtWuH "fcvt.wu.h" FpToIntRounded 0xc410_0053 0xfff0_007f FpCvt fp_half::fcvt_wu_h, "rd = fs1 as an integer of 32 bits, unsigned";
            FcvtHWu "fcvt.h.wu" IntToFpRounded 0xd410_0053 0xfff0_007f FpCvt fp_half::fcvt_h_wu, "fd = rs1, an integer of 32 bits, unsigned";
            FcvtLH "fcvt.l.h" FpToIntRounded 0xc420_0053 0xfff0_007f FpCvt fp_half::fcvt_l_h, "rd = fs1 as an integer of 64 bits, signed";
            FcvtHL "fcvt.h.l" IntToFpRounded 0xd420_0053 0xfff0_007f FpCvt fp_half::fcvt_h_l, "fd = rs1, an integer of 64 bits, signed";
            FcvtLuH "fcvt.lu.h" FpToIntRounded 0xc430_0053 0xfff0_007f FpCvt fp_half::fcvt_lu_h, "rd = fs1 as an integer of 64 bits, unsigned";
            FcvtHLu "fcvt.h.lu" IntToFpRounded 0xd430_0053 0xfff0_007f FpCvt fp_half::fcvt_h_lu, "fd = rs1, an integer of 64 bits, unsigned";
            FcvtSH "fcvt.s.h" FpUnaryExact 0x4020_0053 0xfff0_007f FpCvt fp_half::fcvt_s_h, "fd = fs1 in single precision";
            FcvtHS "fcvt.h.s" FpUnaryRounded 0x4400_0053 0xfff0_007f FpCvt fp_half::fcvt_h_s, "fd = fs1, rounded to half precision";
            FcvtDH "fcvt.d.h" FpUnaryExact 0x4220_0053 0xfff0_007f FpCvt fp_half::fcvt_d_h, "fd = fs1 in double precision";
            FcvtHD "fcvt.h.d" FpUnaryRounded 0x4410_0053 0xfff0_007f FpCvt fp_half::fcvt_h_d, "fd = fs1, rounded to half precision";

            // Zfa: additional floating point.
            FliS "fli.s" FpConstant 0xf010_0053 0xfff0_707f FpCvt fp_more::fli_s, "fd = constant number imm of a table";
            FminmS "fminm.s" FpRegister 0x2800_2053 0xfe00_707f FpAdd fp_more::fminm_s, "fd = minimum of fs1 and fs2, NaN if one is";
            FmaxmS "fmaxm.s" FpRegister 0x2800_3053 0xfe00_707f FpAdd fp_more::fmaxm_s, "fd = maximum of fs1 and fs2, NaN if one is";
            FroundS "fround.s" FpUnaryRounded 0x4040_0053 0xfff0_007f FpCvt fp_more::fround_s, "fd = fs1 rounded to an integer";
            FroundnxS "froundnx.s" FpUnaryRounded 0x4050_0053 0xfff0_007f FpCvt fp_more::froundnx_s, "fd = fs1 rounded to an integer, NX if inexact";
            FleqS "fleq.s" FpCompare 0xa000_4053 0xfe00_707f FpAdd fp_more::fleq_s, "rd = fs1 <= fs2, quiet";
            FltqS "fltq.s" FpCompare 0xa000_5053 0xfe00_707f FpAdd fp_more::fltq_s, "rd = fs1 < fs2, quiet";
            FliD "fli.d" FpConstant 0xf210_0053 0xfff0_707f FpCvt fp_more::fli_d, "fd = constant number imm of a table";
            FminmD "fminm.d" FpRegister 0x2a00_2053 0xfe00_707f FpAdd fp_more::fminm_d, "fd = minimum of fs1 and fs2, NaN if one is";
            FmaxmD "fmaxm.d" FpRegister 0x2a00_3053 0xfe00_707f FpAdd fp_more::fmaxm_d, "fd = maximum of fs1 and fs2, NaN if one is";
            FroundD "fround.d" FpUnaryRounded 0x4240_0053 0xfff0_007f FpCvt fp_more::fround_d, "fd = fs1 rounded to an integer";
            FroundnxD "froundnx.d" FpUnaryRounded 0x4250_0053 0xfff0_007f FpCvt fp_more::froundnx_d, "fd = fs1 rounded to an integer, NX if inexact";
            FleqD "fleq.d" FpCompare 0xa200_4053 0xfe00_707f FpAdd fp_more::fleq_d, "rd = fs1 <= fs2, quiet";
            FltqD "fltq.d" FpCompare 0xa200_5053 0xfe00_707f FpAdd fp_more::fltq_d, "rd = fs1 < fs2, quiet";
            FliH "fli.h" FpConstant 0xf410_0053 0xfff0_707f FpCvt fp_more::fli_h, "fd = constant number imm of a table";
            FminmH "fminm.h" FpRegister 0x2c00_2053 0xfe00_707f FpAdd fp_more::fminm_h, "fd = minimum of fs1 and fs2, NaN if one is";
            FmaxmH "fmaxm.h" FpRegister 0x2c00_3053 0xfe00_707f FpAdd fp_more::fmaxm_h, "fd = maximum of fs1 and fs2, NaN if one is";
            FroundH "fround.h" FpUnaryRounded 0x4440_0053 0xfff0_007f FpCvt fp_more::fround_h, "fd = fs1 rounded to an integer";
            FroundnxH "froundnx.h" FpUnaryRounded 0x4450_0053 0xfff0_007f FpCvt fp_more::froundnx_h, "fd = fs1 rounded to an integer, NX if inexact";
            FleqH "fleq.h" FpCompare 0xa400_4053 0xfe00_707f FpAdd fp_more::fleq_h, "rd = fs1 <= fs2, quiet";
            FltqH "fltq.h" FpCompare 0xa400_5053 0xfe00_707f FpAdd fp_more::fltq_h, "rd = fs1 < fs2, quiet";
            FcvtmodWD "fcvtmod.w.d" FpToIntTruncated 0xc280_1053 0xfff0_707f FpCvt fp_more::fcvtmod_w_d, "rd = sext32 of fs1 as an integer, truncated, modulo 2^32";

            // The operation of a prefetch that a machine performs, of either instruction set (see `Inst::as_touch`).
            Touch "touch" Touch 0x0000_0001 0x0000_0000 Load alpha::pal::hint, "Bring the line at rs1 + imm into the data cache; no value, no fault";

            // DISE. Branches and calls stand in replacement sequences only and have no encoding;
            // moves, return and drain stand in handlers, in custom-0.
            DiseBeq "d_beq" DiseBranch 0x0000_0001 0x0000_0000 DiseBranch dise::beq, "Go to replacement instruction imm if rs1 == rs2";
            DiseBne "d_bne" DiseBranch 0x0000_0001 0x0000_0000 DiseBranch dise::bne, "Go to replacement instruction imm if rs1 != rs2";
            DiseBlt "d_blt" DiseBranch 0x0000_0001 0x0000_0000 DiseBranch dise::blt, "Go to replacement instruction imm if rs1 < rs2, signed";
            DiseBge "d_bge" DiseBranch 0x0000_0001 0x0000_0000 DiseBranch dise::bge, "Go to replacement instruction imm if rs1 >= rs2, signed";
            DiseBltu "d_bltu" DiseBranch 0x0000_0001 0x0000_0000 DiseBranch dise::bltu, "Go to replacement instruction imm if rs1 < rs2, unsigned";
            DiseBgeu "d_bgeu" DiseBranch 0x0000_0001 0x0000_0000 DiseBranch dise::bgeu, "Go to replacement instruction imm if rs1 >= rs2, unsigned";
            DiseBr "d_br" DiseJump 0x0000_0001 0x0000_0000 DiseBranch dise::br, "Go to replacement instruction imm";
            DiseCall "d_call" DiseCall 0x0000_0001 0x0000_0000 DiseCall dise::call, "Call the handler at imm, expansion off";
            DiseCcall "d_ccall" DiseCallIf 0x0000_0001 0x0000_0000 DiseCall dise::ccall, "Call the handler at imm if rs1 is not zero";
            DiseRet "d_ret" None 0x0000_200b 0xffff_ffff DiseReturn dise::ret, "Return from a handler, expansion on";
            DiseMove "d_move" DiseMove 0x0000_0001 0x0000_0000 IntAlu dise::copy, "rd = rs1, either of them a DISE register";
            DiseDrain "d_drain" None 0x0000_300b 0xffff_ffff DiseDrain dise::drain, "The profile consumer reads its buffer";
        } }
    };
}
pub(crate) use for_each_op;
