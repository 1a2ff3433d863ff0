//! The table of Alpha operations, in the form of [`crate::riscv::table`], to which it is added.
//!
//! Encodings follow the Alpha Architecture Reference Manual, third edition, appendix C; VAX floating point
//! (opcode 15, `ldf`, `ldg`, `stf`, `stg` and their like) is left out and therefore illegal. So are
//! register fields other than 31 where the manual demands 31, and a literal where it has none; fields
//! that should be zero are ignored.

/// Calls `$apply!` with the rows given and all rows of Alpha.
macro_rules! alpha_rows {
    ($apply:ident { $($before:tt)* }) => {
        $apply! {
            $($before)*

            // Memory format (Architecture Reference Manual, 4.2, 4.8): displacement added to rb.
            AlphaLda "lda" AlphaLoad 0x2000_0000 0xfc00_0000 IntAlu alpha::int::lda, "ra = rb + disp";
            AlphaLdah "ldah" AlphaLoadHigh 0x2400_0000 0xfc00_0000 IntAlu alpha::int::ldah, "ra = rb + disp * 65536";
            AlphaLdbu "ldbu" AlphaLoad 0x2800_0000 0xfc00_0000 Load alpha::mem::ldbu, "ra = memory at rb + disp, 8 bits, zero-extended";
            AlphaLdqU "ldq_u" AlphaLoad 0x2c00_0000 0xfc00_0000 Load alpha::mem::ldq_u, "ra = memory at (rb + disp) & !7, 64 bits";
            AlphaLdwu "ldwu" AlphaLoad 0x3000_0000 0xfc00_0000 Load alpha::mem::ldwu, "ra = memory at rb + disp, 16 bits, zero-extended";
            AlphaStw "stw" AlphaStore 0x3400_0000 0xfc00_0000 Store alpha::mem::stw, "memory at rb + disp = ra, 16 bits";
            AlphaStb "stb" AlphaStore 0x3800_0000 0xfc00_0000 Store alpha::mem::stb, "memory at rb + disp = ra, 8 bits";
            AlphaStqU "stq_u" AlphaStore 0x3c00_0000 0xfc00_0000 Store alpha::mem::stq_u, "memory at (rb + disp) & !7 = ra, 64 bits";
            AlphaLds "lds" AlphaFpLoad 0x8800_0000 0xfc00_0000 Load alpha::mem::lds, "fa = memory at rb + disp, S_floating as T_floating";
            AlphaLdt "ldt" AlphaFpLoad 0x8c00_0000 0xfc00_0000 Load alpha::mem::ldt, "fa = memory at rb + disp, 64 bits";
            AlphaSts "sts" AlphaFpStore 0x9800_0000 0xfc00_0000 Store alpha::mem::sts, "memory at rb + disp = fa as S_floating";
            AlphaStt "stt" AlphaFpStore 0x9c00_0000 0xfc00_0000 Store alpha::mem::stt, "memory at rb + disp = fa, 64 bits";
            AlphaLdl "ldl" AlphaLoad 0xa000_0000 0xfc00_0000 Load alpha::mem::ldl, "ra = memory at rb + disp, 32 bits, sign-extended";
            AlphaLdq "ldq" AlphaLoad 0xa400_0000 0xfc00_0000 Load alpha::mem::ldq, "ra = memory at rb + disp, 64 bits";
            AlphaLdlL "ldl_l" AlphaLoad 0xa800_0000 0xfc00_0000 Atomic alpha::mem::ldl_l, "ra = memory at rb + disp, 32 bits, locked";
            AlphaLdqL "ldq_l" AlphaLoad 0xac00_0000 0xfc00_0000 Atomic alpha::mem::ldq_l, "ra = memory at rb + disp, 64 bits, locked";
            AlphaStl "stl" AlphaStore 0xb000_0000 0xfc00_0000 Store alpha::mem::stl, "memory at rb + disp = ra, 32 bits";
            AlphaStq "stq" AlphaStore 0xb400_0000 0xfc00_0000 Store alpha::mem::stq, "memory at rb + disp = ra, 64 bits";
            AlphaStlC "stl_c" AlphaStoreConditional 0xb800_0000 0xfc00_0000 Atomic alpha::mem::stl_c, "if locked, memory at rb + disp = ra, 32 bits; ra = whether";
            AlphaStqC "stq_c" AlphaStoreConditional 0xbc00_0000 0xfc00_0000 Atomic alpha::mem::stq_c, "if locked, memory at rb + disp = ra, 64 bits; ra = whether";

            // Control transfer (4.3).
            AlphaBr "br" AlphaJump 0xc000_0000 0xfc00_0000 Jump alpha::control::br, "ra = pc + 4; jump to pc + 4 + disp * 4";
            AlphaBsr "bsr" AlphaJump 0xd000_0000 0xfc00_0000 Call alpha::control::bsr, "ra = pc + 4; call pc + 4 + disp * 4";
            AlphaBlbc "blbc" AlphaBranch 0xe000_0000 0xfc00_0000 Branch alpha::control::blbc, "branch if ra is even";
            AlphaBeq "beq" AlphaBranch 0xe400_0000 0xfc00_0000 Branch alpha::control::beq, "branch if ra == 0";
            AlphaBlt "blt" AlphaBranch 0xe800_0000 0xfc00_0000 Branch alpha::control::blt, "branch if ra < 0";
            AlphaBle "ble" AlphaBranch 0xec00_0000 0xfc00_0000 Branch alpha::control::ble, "branch if ra <= 0";
            AlphaBlbs "blbs" AlphaBranch 0xf000_0000 0xfc00_0000 Branch alpha::control::blbs, "branch if ra is odd";
            AlphaBne "bne" AlphaBranch 0xf400_0000 0xfc00_0000 Branch alpha::control::bne, "branch if ra != 0";
            AlphaBge "bge" AlphaBranch 0xf800_0000 0xfc00_0000 Branch alpha::control::bge, "branch if ra >= 0";
            AlphaBgt "bgt" AlphaBranch 0xfc00_0000 0xfc00_0000 Branch alpha::control::bgt, "branch if ra > 0";
            AlphaFbeq "fbeq" AlphaFpBranch 0xc400_0000 0xfc00_0000 Branch alpha::control::fbeq, "branch if fa is zero";
            AlphaFblt "fblt" AlphaFpBranch 0xc800_0000 0xfc00_0000 Branch alpha::control::fblt, "branch if fa is negative and not zero";
            AlphaFble "fble" AlphaFpBranch 0xcc00_0000 0xfc00_0000 Branch alpha::control::fble, "branch if fa is negative or zero";
            AlphaFbne "fbne" AlphaFpBranch 0xd400_0000 0xfc00_0000 Branch alpha::control::fbne, "branch if fa is not zero";
            AlphaFbge "fbge" AlphaFpBranch 0xd800_0000 0xfc00_0000 Branch alpha::control::fbge, "branch if fa is not negative or is zero";
            AlphaFbgt "fbgt" AlphaFpBranch 0xdc00_0000 0xfc00_0000 Branch alpha::control::fbgt, "branch if fa is neither negative nor zero";
            AlphaJmp "jmp" AlphaJumpRegister 0x6800_0000 0xfc00_c000 JumpIndirect alpha::control::jump, "ra = pc + 4; jump to rb & !3";
            AlphaJsr "jsr" AlphaJumpRegister 0x6800_4000 0xfc00_c000 CallIndirect alpha::control::jump, "ra = pc + 4; call rb & !3";
            AlphaRet "ret" AlphaJumpRegister 0x6800_8000 0xfc00_c000 Return alpha::control::jump, "ra = pc + 4; return to rb & !3";
            AlphaJsrCoroutine "jsr_coroutine" AlphaJumpRegister 0x6800_c000 0xfc00_c000 CallIndirect alpha::control::jump, "ra = pc + 4; go on at rb & !3";

            // Integer arithmetic (4.4).
            AlphaAddl "addl" AlphaOperate 0x4000_0000 0xfc00_0fe0 IntAlu alpha::int::addl, "rc = sext32(ra + b)";
            AlphaS4addl "s4addl" AlphaOperate 0x4000_0040 0xfc00_0fe0 IntAlu alpha::int::s4addl, "rc = sext32(ra * 4 + b)";
            AlphaSubl "subl" AlphaOperate 0x4000_0120 0xfc00_0fe0 IntAlu alpha::int::subl, "rc = sext32(ra - b)";
            AlphaS4subl "s4subl" AlphaOperate 0x4000_0160 0xfc00_0fe0 IntAlu alpha::int::s4subl, "rc = sext32(ra * 4 - b)";
            AlphaCmpbge "cmpbge" AlphaOperate 0x4000_01e0 0xfc00_0fe0 IntAlu alpha::int::cmpbge, "rc = bit i says that byte i of ra >= that of b, unsigned";
            AlphaS8addl "s8addl" AlphaOperate 0x4000_0240 0xfc00_0fe0 IntAlu alpha::int::s8addl, "rc = sext32(ra * 8 + b)";
            AlphaS8subl "s8subl" AlphaOperate 0x4000_0360 0xfc00_0fe0 IntAlu alpha::int::s8subl, "rc = sext32(ra * 8 - b)";
            AlphaCmpult "cmpult" AlphaOperate 0x4000_03a0 0xfc00_0fe0 IntAlu alpha::int::cmpult, "rc = ra < b, unsigned";
            AlphaAddq "addq" AlphaOperate 0x4000_0400 0xfc00_0fe0 IntAlu alpha::int::addq, "rc = ra + b";
            AlphaS4addq "s4addq" AlphaOperate 0x4000_0440 0xfc00_0fe0 IntAlu alpha::int::s4addq, "rc = ra * 4 + b";
            AlphaSubq "subq" AlphaOperate 0x4000_0520 0xfc00_0fe0 IntAlu alpha::int::subq, "rc = ra - b";
            AlphaS4subq "s4subq" AlphaOperate 0x4000_0560 0xfc00_0fe0 IntAlu alpha::int::s4subq, "rc = ra * 4 - b";
            AlphaCmpeq "cmpeq" AlphaOperate 0x4000_05a0 0xfc00_0fe0 IntAlu alpha::int::cmpeq, "rc = ra == b";
            AlphaS8addq "s8addq" AlphaOperate 0x4000_0640 0xfc00_0fe0 IntAlu alpha::int::s8addq, "rc = ra * 8 + b";
            AlphaS8subq "s8subq" AlphaOperate 0x4000_0760 0xfc00_0fe0 IntAlu alpha::int::s8subq, "rc = ra * 8 - b";
            AlphaCmpule "cmpule" AlphaOperate 0x4000_07a0 0xfc00_0fe0 IntAlu alpha::int::cmpule, "rc = ra <= b, unsigned";
            AlphaAddlV "addl/v" AlphaOperate 0x4000_0800 0xfc00_0fe0 IntAlu alpha::int::addl_v, "rc = sext32(ra + b); traps on overflow";
            AlphaSublV "subl/v" AlphaOperate 0x4000_0920 0xfc00_0fe0 IntAlu alpha::int::subl_v, "rc = sext32(ra - b); traps on overflow";
            AlphaCmplt "cmplt" AlphaOperate 0x4000_09a0 0xfc00_0fe0 IntAlu alpha::int::cmplt, "rc = ra < b, signed";
            AlphaAddqV "addq/v" AlphaOperate 0x4000_0c00 0xfc00_0fe0 IntAlu alpha::int::addq_v, "rc = ra + b; traps on overflow";
            AlphaSubqV "subq/v" AlphaOperate 0x4000_0d20 0xfc00_0fe0 IntAlu alpha::int::subq_v, "rc = ra - b; traps on overflow";
            AlphaCmple "cmple" AlphaOperate 0x4000_0da0 0xfc00_0fe0 IntAlu alpha::int::cmple, "rc = ra <= b, signed";

            // Integer multiplication (4.4).
            AlphaMull "mull" AlphaOperate 0x4c00_0000 0xfc00_0fe0 IntMul alpha::int::mull, "rc = sext32(ra * b)";
            AlphaMulq "mulq" AlphaOperate 0x4c00_0400 0xfc00_0fe0 IntMul alpha::int::mulq, "rc = ra * b";
            AlphaUmulh "umulh" AlphaOperate 0x4c00_0600 0xfc00_0fe0 IntMul alpha::int::umulh, "rc = upper half of ra * b, unsigned";
            AlphaMullV "mull/v" AlphaOperate 0x4c00_0800 0xfc00_0fe0 IntMul alpha::int::mull_v, "rc = sext32(ra * b); traps on overflow";
            AlphaMulqV "mulq/v" AlphaOperate 0x4c00_0c00 0xfc00_0fe0 IntMul alpha::int::mulq_v, "rc = ra * b; traps on overflow";

            // Logic, conditional moves, shifts (4.5).
            AlphaAnd "and" AlphaOperate 0x4400_0000 0xfc00_0fe0 IntAlu alpha::int::and, "rc = ra & b";
            AlphaBic "bic" AlphaOperate 0x4400_0100 0xfc00_0fe0 IntAlu alpha::int::bic, "rc = ra & !b";
            AlphaBis "bis" AlphaOperate 0x4400_0400 0xfc00_0fe0 IntAlu alpha::int::bis, "rc = ra | b";
            AlphaOrnot "ornot" AlphaOperate 0x4400_0500 0xfc00_0fe0 IntAlu alpha::int::ornot, "rc = ra | !b";
            AlphaXor "xor" AlphaOperate 0x4400_0800 0xfc00_0fe0 IntAlu alpha::int::xor, "rc = ra ^ b";
            AlphaEqv "eqv" AlphaOperate 0x4400_0900 0xfc00_0fe0 IntAlu alpha::int::eqv, "rc = ra ^ !b";
            AlphaCmovlbs "cmovlbs" AlphaConditionalMove 0x4400_0280 0xfc00_0fe0 IntAlu alpha::int::cmovlbs, "rc = b if ra is odd";
            AlphaCmovlbc "cmovlbc" AlphaConditionalMove 0x4400_02c0 0xfc00_0fe0 IntAlu alpha::int::cmovlbc, "rc = b if ra is even";
            AlphaCmoveq "cmoveq" AlphaConditionalMove 0x4400_0480 0xfc00_0fe0 IntAlu alpha::int::cmoveq, "rc = b if ra == 0";
            AlphaCmovne "cmovne" AlphaConditionalMove 0x4400_04c0 0xfc00_0fe0 IntAlu alpha::int::cmovne, "rc = b if ra != 0";
            AlphaCmovlt "cmovlt" AlphaConditionalMove 0x4400_0880 0xfc00_0fe0 IntAlu alpha::int::cmovlt, "rc = b if ra < 0";
            AlphaCmovge "cmovge" AlphaConditionalMove 0x4400_08c0 0xfc00_0fe0 IntAlu alpha::int::cmovge, "rc = b if ra >= 0";
            AlphaCmovle "cmovle" AlphaConditionalMove 0x4400_0c80 0xfc00_0fe0 IntAlu alpha::int::cmovle, "rc = b if ra <= 0";
            AlphaCmovgt "cmovgt" AlphaConditionalMove 0x4400_0cc0 0xfc00_0fe0 IntAlu alpha::int::cmovgt, "rc = b if ra > 0";
            AlphaAmask "amask" AlphaOperateB 0x47e0_0c20 0xffe0_0fe0 IntAlu alpha::int::amask, "rc = b without the bits of extensions that are there";
            AlphaImplver "implver" AlphaOperateC 0x47e0_3d80 0xffff_ffe0 IntAlu alpha::int::implver, "rc = implementation: 2, EV6";
            AlphaSrl "srl" AlphaOperate 0x4800_0680 0xfc00_0fe0 IntAlu alpha::int::srl, "rc = ra >> b[5:0], logical";
            AlphaSll "sll" AlphaOperate 0x4800_0720 0xfc00_0fe0 IntAlu alpha::int::sll, "rc = ra << b[5:0]";
            AlphaSra "sra" AlphaOperate 0x4800_0780 0xfc00_0fe0 IntAlu alpha::int::sra, "rc = ra >> b[5:0], arithmetic";

            // Byte manipulation (4.6) and BWX.
            AlphaMskbl "mskbl" AlphaOperate 0x4800_0040 0xfc00_0fe0 IntAlu alpha::bytes::mskbl, "rc = ra with the byte cleared at byte b[2:0]";
            AlphaExtbl "extbl" AlphaOperate 0x4800_00c0 0xfc00_0fe0 IntAlu alpha::bytes::extbl, "rc = ra, byte extracted at byte b[2:0]";
            AlphaInsbl "insbl" AlphaOperate 0x4800_0160 0xfc00_0fe0 IntAlu alpha::bytes::insbl, "rc = ra, byte inserted at byte b[2:0]";
            AlphaMskwl "mskwl" AlphaOperate 0x4800_0240 0xfc00_0fe0 IntAlu alpha::bytes::mskwl, "rc = ra with the low word cleared at byte b[2:0]";
            AlphaExtwl "extwl" AlphaOperate 0x4800_02c0 0xfc00_0fe0 IntAlu alpha::bytes::extwl, "rc = ra, low word extracted at byte b[2:0]";
            AlphaInswl "inswl" AlphaOperate 0x4800_0360 0xfc00_0fe0 IntAlu alpha::bytes::inswl, "rc = ra, low word inserted at byte b[2:0]";
            AlphaMskll "mskll" AlphaOperate 0x4800_0440 0xfc00_0fe0 IntAlu alpha::bytes::mskll, "rc = ra with the low longword cleared at byte b[2:0]";
            AlphaExtll "extll" AlphaOperate 0x4800_04c0 0xfc00_0fe0 IntAlu alpha::bytes::extll, "rc = ra, low longword extracted at byte b[2:0]";
            AlphaInsll "insll" AlphaOperate 0x4800_0560 0xfc00_0fe0 IntAlu alpha::bytes::insll, "rc = ra, low longword inserted at byte b[2:0]";
            AlphaMskql "mskql" AlphaOperate 0x4800_0640 0xfc00_0fe0 IntAlu alpha::bytes::mskql, "rc = ra with the low quadword cleared at byte b[2:0]";
            AlphaExtql "extql" AlphaOperate 0x4800_06c0 0xfc00_0fe0 IntAlu alpha::bytes::extql, "rc = ra, low quadword extracted at byte b[2:0]";
            AlphaInsql "insql" AlphaOperate 0x4800_0760 0xfc00_0fe0 IntAlu alpha::bytes::insql, "rc = ra, low quadword inserted at byte b[2:0]";
            AlphaMskwh "mskwh" AlphaOperate 0x4800_0a40 0xfc00_0fe0 IntAlu alpha::bytes::mskwh, "rc = ra with the high word cleared at byte b[2:0]";
            AlphaInswh "inswh" AlphaOperate 0x4800_0ae0 0xfc00_0fe0 IntAlu alpha::bytes::inswh, "rc = ra, high word inserted at byte b[2:0]";
            AlphaExtwh "extwh" AlphaOperate 0x4800_0b40 0xfc00_0fe0 IntAlu alpha::bytes::extwh, "rc = ra, high word extracted at byte b[2:0]";
            AlphaMsklh "msklh" AlphaOperate 0x4800_0c40 0xfc00_0fe0 IntAlu alpha::bytes::msklh, "rc = ra with the high longword cleared at byte b[2:0]";
            AlphaInslh "inslh" AlphaOperate 0x4800_0ce0 0xfc00_0fe0 IntAlu alpha::bytes::inslh, "rc = ra, high longword inserted at byte b[2:0]";
            AlphaExtlh "extlh" AlphaOperate 0x4800_0d40 0xfc00_0fe0 IntAlu alpha::bytes::extlh, "rc = ra, high longword extracted at byte b[2:0]";
            AlphaMskqh "mskqh" AlphaOperate 0x4800_0e40 0xfc00_0fe0 IntAlu alpha::bytes::mskqh, "rc = ra with the high quadword cleared at byte b[2:0]";
            AlphaInsqh "insqh" AlphaOperate 0x4800_0ee0 0xfc00_0fe0 IntAlu alpha::bytes::insqh, "rc = ra, high quadword inserted at byte b[2:0]";
            AlphaExtqh "extqh" AlphaOperate 0x4800_0f40 0xfc00_0fe0 IntAlu alpha::bytes::extqh, "rc = ra, high quadword extracted at byte b[2:0]";
            AlphaZap "zap" AlphaOperate 0x4800_0600 0xfc00_0fe0 IntAlu alpha::bytes::zap, "rc = ra without the bytes of mask b";
            AlphaZapnot "zapnot" AlphaOperate 0x4800_0620 0xfc00_0fe0 IntAlu alpha::bytes::zapnot, "rc = ra with only the bytes of mask b";
            AlphaSextb "sextb" AlphaOperateB 0x73e0_0000 0xffe0_0fe0 IntAlu alpha::bytes::sextb, "rc = b[7:0], sign-extended";
            AlphaSextw "sextw" AlphaOperateB 0x73e0_0020 0xffe0_0fe0 IntAlu alpha::bytes::sextw, "rc = b[15:0], sign-extended";

            // CIX: counts of bits.
            AlphaCtpop "ctpop" AlphaOperateB 0x73e0_0600 0xffe0_1fe0 IntAlu alpha::bytes::ctpop, "rc = number of bits set in rb";
            AlphaCtlz "ctlz" AlphaOperateB 0x73e0_0640 0xffe0_1fe0 IntAlu alpha::bytes::ctlz, "rc = leading zeros of rb";
            AlphaCttz "cttz" AlphaOperateB 0x73e0_0660 0xffe0_1fe0 IntAlu alpha::bytes::cttz, "rc = trailing zeros of rb";

            // MVI: motion video (4.13).
            AlphaPerr "perr" AlphaOperate 0x7000_0620 0xfc00_1fe0 IntAlu alpha::media::perr, "rc = sum of absolute differences of the bytes of ra and rb";
            AlphaUnpkbw "unpkbw" AlphaOperateB 0x73e0_0680 0xffe0_1fe0 IntAlu alpha::media::unpkbw, "rc = bytes 3..0 of rb as words";
            AlphaUnpkbl "unpkbl" AlphaOperateB 0x73e0_06a0 0xffe0_1fe0 IntAlu alpha::media::unpkbl, "rc = bytes 1..0 of rb as longwords";
            AlphaPkwb "pkwb" AlphaOperateB 0x73e0_06c0 0xffe0_1fe0 IntAlu alpha::media::pkwb, "rc = low bytes of the words of rb";
            AlphaPklb "pklb" AlphaOperateB 0x73e0_06e0 0xffe0_1fe0 IntAlu alpha::media::pklb, "rc = low bytes of the longwords of rb";
            AlphaMinsb8 "minsb8" AlphaOperate 0x7000_0700 0xfc00_0fe0 IntAlu alpha::media::minsb8, "rc = minimum of the signed bytes of ra and b";
            AlphaMinsw4 "minsw4" AlphaOperate 0x7000_0720 0xfc00_0fe0 IntAlu alpha::media::minsw4, "rc = minimum of the signed words of ra and b";
            AlphaMinub8 "minub8" AlphaOperate 0x7000_0740 0xfc00_0fe0 IntAlu alpha::media::minub8, "rc = minimum of the unsigned bytes of ra and b";
            AlphaMinuw4 "minuw4" AlphaOperate 0x7000_0760 0xfc00_0fe0 IntAlu alpha::media::minuw4, "rc = minimum of the unsigned words of ra and b";
            AlphaMaxub8 "maxub8" AlphaOperate 0x7000_0780 0xfc00_0fe0 IntAlu alpha::media::maxub8, "rc = maximum of the unsigned bytes of ra and b";
            AlphaMaxuw4 "maxuw4" AlphaOperate 0x7000_07a0 0xfc00_0fe0 IntAlu alpha::media::maxuw4, "rc = maximum of the unsigned words of ra and b";
            AlphaMaxsb8 "maxsb8" AlphaOperate 0x7000_07c0 0xfc00_0fe0 IntAlu alpha::media::maxsb8, "rc = maximum of the signed bytes of ra and b";
            AlphaMaxsw4 "maxsw4" AlphaOperate 0x7000_07e0 0xfc00_0fe0 IntAlu alpha::media::maxsw4, "rc = maximum of the signed words of ra and b";

            // FIX: moves between register files, square roots.
            AlphaFtoit "ftoit" AlphaFpToInt 0x701f_0e00 0xfc1f_ffe0 FpCvt alpha::fp::ftoit, "rc = bits of fa";
            AlphaFtois "ftois" AlphaFpToInt 0x701f_0f00 0xfc1f_ffe0 FpCvt alpha::fp::ftois, "rc = fa as S_floating, sign-extended";
            AlphaItofs "itofs" AlphaIntToFp 0x501f_0080 0xfc1f_ffe0 FpCvt alpha::fp::itofs, "fc = ra, S_floating as T_floating";
            AlphaItoft "itoft" AlphaIntToFp 0x501f_0480 0xfc1f_ffe0 FpCvt alpha::fp::itoft, "fc = bits of ra";
            AlphaSqrts "sqrts" AlphaFpUnary 0x53e0_0160 0xffe0_07e0 FpSqrt alpha::fp::sqrts, "fc = square root of fb, S_floating";
            AlphaSqrtt "sqrtt" AlphaFpUnary 0x53e0_0560 0xffe0_07e0 FpSqrt alpha::fp::sqrtt, "fc = square root of fb, T_floating";

            // IEEE floating point (4.10). The bits outside the mask hold the trap and rounding qualifiers.
            AlphaAdds "adds" AlphaFpRounded 0x5800_0000 0xfc00_07e0 FpAdd alpha::fp::adds, "fc = fa + fb, S_floating";
            AlphaSubs "subs" AlphaFpRounded 0x5800_0020 0xfc00_07e0 FpAdd alpha::fp::subs, "fc = fa - fb, S_floating";
            AlphaMuls "muls" AlphaFpRounded 0x5800_0040 0xfc00_07e0 FpMul alpha::fp::muls, "fc = fa * fb, S_floating";
            AlphaDivs "divs" AlphaFpRounded 0x5800_0060 0xfc00_07e0 FpDiv alpha::fp::divs, "fc = fa / fb, S_floating";
            AlphaAddt "addt" AlphaFpRounded 0x5800_0400 0xfc00_07e0 FpAdd alpha::fp::addt, "fc = fa + fb";
            AlphaSubt "subt" AlphaFpRounded 0x5800_0420 0xfc00_07e0 FpAdd alpha::fp::subt, "fc = fa - fb";
            AlphaMult "mult" AlphaFpRounded 0x5800_0440 0xfc00_07e0 FpMul alpha::fp::mult, "fc = fa * fb";
            AlphaDivt "divt" AlphaFpRounded 0x5800_0460 0xfc00_07e0 FpDiv alpha::fp::divt, "fc = fa / fb";
            AlphaCmptun "cmptun" AlphaFpCompare 0x5800_1480 0xfc00_1fe0 FpAdd alpha::fp::cmptun, "fc = 2.0 if fa and fb are unordered";
            AlphaCmpteq "cmpteq" AlphaFpCompare 0x5800_14a0 0xfc00_1fe0 FpAdd alpha::fp::cmpteq, "fc = 2.0 if fa == fb";
            AlphaCmptlt "cmptlt" AlphaFpCompare 0x5800_14c0 0xfc00_1fe0 FpAdd alpha::fp::cmptlt, "fc = 2.0 if fa < fb";
            AlphaCmptle "cmptle" AlphaFpCompare 0x5800_14e0 0xfc00_1fe0 FpAdd alpha::fp::cmptle, "fc = 2.0 if fa <= fb";
            AlphaCvtts "cvtts" AlphaFpUnary 0x5be0_0580 0xffe0_07e0 FpCvt alpha::fp::cvtts, "fc = fb rounded to S_floating";
            AlphaCvtst "cvtst" AlphaFpWiden 0x5be0_5580 0xffe0_7fe0 FpCvt alpha::fp::cvtst, "fc = fb, S_floating, as T_floating";
            AlphaCvttq "cvttq" AlphaFpToQuad 0x5be0_05e0 0xffe0_07e0 FpCvt alpha::fp::cvttq, "fc = fb as an integer of 64 bits";
            AlphaCvtqs "cvtqs" AlphaQuadToFp 0x5be0_0780 0xffe0_07e0 FpCvt alpha::fp::cvtqs, "fc = fb, an integer of 64 bits, as S_floating";
            AlphaCvtqt "cvtqt" AlphaQuadToFp 0x5be0_07c0 0xffe0_07e0 FpCvt alpha::fp::cvtqt, "fc = fb, an integer of 64 bits, as T_floating";

            // Floating-point moves and conversions without a data type (4.10).
            AlphaCvtlq "cvtlq" AlphaFpPlainUnary 0x5fe0_0200 0xffe0_ffe0 FpCvt alpha::fp::cvtlq, "fc = longword in fb as a quadword";
            AlphaCvtql "cvtql" AlphaQuadToLong 0x5fe0_0600 0xffe0_1fe0 FpCvt alpha::fp::cvtql, "fc = quadword in fb as a longword";
            AlphaCpys "cpys" AlphaFpPlain 0x5c00_0400 0xfc00_ffe0 FpCvt alpha::fp::cpys, "fc = fb with the sign of fa";
            AlphaCpysn "cpysn" AlphaFpPlain 0x5c00_0420 0xfc00_ffe0 FpCvt alpha::fp::cpysn, "fc = fb with the opposite of the sign of fa";
            AlphaCpyse "cpyse" AlphaFpPlain 0x5c00_0440 0xfc00_ffe0 FpCvt alpha::fp::cpyse, "fc = fb with the sign and exponent of fa";
            AlphaMtFpcr "mt_fpcr" AlphaFpcrWrite 0x5c00_0480 0xfc00_ffe0 Csr alpha::fp::mt_fpcr, "FPCR = fa";
            AlphaMfFpcr "mf_fpcr" AlphaFpcrRead 0x5c00_04a0 0xfc00_ffe0 Csr alpha::fp::mf_fpcr, "fa = FPCR";
            AlphaFcmoveq "fcmoveq" AlphaFpConditionalMove 0x5c00_0540 0xfc00_ffe0 FpCvt alpha::fp::fcmoveq, "fc = fb if fa is zero";
            AlphaFcmovne "fcmovne" AlphaFpConditionalMove 0x5c00_0560 0xfc00_ffe0 FpCvt alpha::fp::fcmovne, "fc = fb if fa is not zero";
            AlphaFcmovlt "fcmovlt" AlphaFpConditionalMove 0x5c00_0580 0xfc00_ffe0 FpCvt alpha::fp::fcmovlt, "fc = fb if fa is negative and not zero";
            AlphaFcmovge "fcmovge" AlphaFpConditionalMove 0x5c00_05a0 0xfc00_ffe0 FpCvt alpha::fp::fcmovge, "fc = fb if fa is not negative or is zero";
            AlphaFcmovle "fcmovle" AlphaFpConditionalMove 0x5c00_05c0 0xfc00_ffe0 FpCvt alpha::fp::fcmovle, "fc = fb if fa is negative or zero";
            AlphaFcmovgt "fcmovgt" AlphaFpConditionalMove 0x5c00_05e0 0xfc00_ffe0 FpCvt alpha::fp::fcmovgt, "fc = fb if fa is neither negative nor zero";

            // Miscellaneous (4.11).
            AlphaTrapb "trapb" None 0x6000_0000 0xfc00_ffff Fence alpha::pal::fence, "Wait for arithmetic traps";
            AlphaExcb "excb" None 0x6000_0400 0xfc00_ffff Fence alpha::pal::fence, "Wait for exceptions";
            AlphaMb "mb" None 0x6000_4000 0xfc00_ffff Fence alpha::pal::fence, "Order all memory accesses";
            AlphaWmb "wmb" None 0x6000_4400 0xfc00_ffff Fence alpha::pal::fence, "Order writes to memory";
            AlphaFetch "fetch" AlphaAddress 0x63e0_8000 0xffe0_ffff IntAlu alpha::pal::hint, "Prefetch at rb";
            AlphaFetchM "fetch_m" AlphaAddress 0x63e0_a000 0xffe0_ffff IntAlu alpha::pal::hint, "Prefetch at rb for writing";
            AlphaEcb "ecb" AlphaAddress 0x63e0_e800 0xffe0_ffff IntAlu alpha::pal::hint, "The block at rb will not be needed";
            AlphaWh64 "wh64" AlphaAddress 0x63e0_f800 0xffe0_ffff IntAlu alpha::pal::hint, "The block at rb will be overwritten";
            AlphaWh64en "wh64en" AlphaAddress 0x63e0_fc00 0xffe0_ffff IntAlu alpha::pal::hint, "The block at rb will be overwritten and evicted";
            AlphaPrefetch "prefetch" AlphaPrefetch 0x0000_0001 0x0000_0000 IntAlu alpha::pal::hint, "Prefetch at rs1: any load whose destination is register 31, the whole encoding in imm";
            AlphaRpcc "rpcc" AlphaCounter 0x6000_c000 0xfc00_ffff Csr alpha::pal::rpcc, "ra = cycle counter";
            AlphaRc "rc" AlphaCounter 0x6000_e000 0xfc00_ffff Csr alpha::pal::rc, "ra = interrupt flag; flag = 0";
            AlphaRs "rs" AlphaCounter 0x6000_f000 0xfc00_ffff Csr alpha::pal::rs, "ra = interrupt flag; flag = 1";

            // PALcode calls of user mode (Linux; common PALcode).
            AlphaBpt "bpt" AlphaPal 0x0000_0080 0xffff_ffff Break alpha::pal::bpt, "Breakpoint";
            AlphaBugchk "bugchk" AlphaPal 0x0000_0081 0xffff_ffff Break alpha::pal::bugchk, "Bug check";
            AlphaCallsys "callsys" AlphaPal 0x0000_0083 0xffff_ffff Syscall alpha::pal::callsys, "System call";
            AlphaImb "imb" AlphaPal 0x0000_0086 0xffff_ffff FenceI alpha::pal::imb, "Make the instruction stream coherent";
            AlphaRduniq "rduniq" AlphaPal 0x0000_009e 0xffff_ffff IntAlu alpha::pal::rduniq, "v0 = unique value of the thread";
            AlphaWruniq "wruniq" AlphaPal 0x0000_009f 0xffff_ffff IntAlu alpha::pal::wruniq, "unique value of the thread = a0";
            AlphaGentrap "gentrap" AlphaPal 0x0000_00aa 0xffff_ffff Break alpha::pal::gentrap, "Raise the trap of code a0";
        }
    };
}
pub(crate) use alpha_rows;
