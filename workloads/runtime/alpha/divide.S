# Integer division, which Alpha leaves to software. Compilers call these routines with a convention
# of their own: dividend in $24, divisor in $25, return address in $23, result in $27; beside that
# they may change $28 alone.
#
# Operands below 2^53 are divided in floating point: they are exact doubles, a quotient that is chopped
# to 53 bits keeps its whole part, and so chopping it again gives the integer quotient.

        .set    noat
        .set    noreorder
        .arch   ev6
        .text

        # Two floating-point registers to work with, and two more words from 16($30) on.
        .macro  ENTER
        lda     $30, -48($30)
        stt     $f10, 0($30)
        stt     $f11, 8($30)
        .endm

        .macro  LEAVE
        ldt     $f10, 0($30)
        ldt     $f11, 8($30)
        lda     $30, 48($30)
        ret     $31, ($23), 1
        .endm

        # $27 = $f10 / $f11, which hold integers.
        .macro  QUOTIENT
        cvtqt   $f10, $f10
        cvtqt   $f11, $f11
        divt/c  $f10, $f11, $f10
        cvttq/c $f10, $f10
        ftoit   $f10, $27
        .endm

        .macro  BEGIN name
        .globl  \name
        .ent    \name
\name:
        .frame  $30, 48, $23, 0
        .prologue 0
        beq     $25, divided_by_zero
        .endm

        # 32 bits; the result is sign-extended even where it is unsigned, as the convention wants it.
        .macro  DIVIDE_32 name, unsigned, remainder
        BEGIN   \name
        ENTER
        .if     \unsigned
        zapnot  $24, 15, $27
        zapnot  $25, 15, $28
        .else
        addl    $24, $31, $27
        addl    $25, $31, $28
        .endif
        itoft   $27, $f10
        itoft   $28, $f11
        QUOTIENT
        .if     \remainder
        mull    $25, $27, $28
        subl    $24, $28, $27
        .else
        addl    $27, $31, $27
        .endif
        LEAVE
        .end    \name
        .endm

        .macro  DIVIDE_64 name, unsigned, remainder
        BEGIN   \name
        ENTER
        .if     \unsigned
        bis     $24, $25, $28
        srl     $28, 53, $28
        bne     $28, 1f
        .else
        sra     $24, 53, $27
        sra     $25, 53, $28
        addq    $27, 1, $27
        addq    $28, 1, $28
        bis     $27, $28, $28
        srl     $28, 1, $28
        bne     $28, 1f
        .endif
        itoft   $24, $f10
        itoft   $25, $f11
        QUOTIENT
        .if     \remainder
        mulq    $25, $27, $28
        subq    $24, $28, $27
        .endif
        LEAVE

        # Large operands: the magnitudes bit by bit.
1:      stq     $24, 16($30)
        stq     $25, 24($30)
        .if     \unsigned == 0
        subq    $31, $24, $28
        cmovlt  $24, $28, $24
        subq    $31, $25, $28
        cmovlt  $25, $28, $25
        .endif
        stq     $23, 32($30)
        bsr     $23, divide_by_bits
        .if     \remainder
        bis     $24, $31, $27
        .endif
        ldq     $23, 32($30)
        ldq     $24, 16($30)
        ldq     $25, 24($30)
        .if     \unsigned == 0
        # A quotient is negative where the signs differ, a remainder where the dividend is.
        .if     \remainder
        bis     $24, $31, $28
        .else
        xor     $24, $25, $28
        .endif
        bge     $28, 2f
        subq    $31, $27, $27
2:
        .endif
        LEAVE
        .end    \name
        .endm

        # $27 = $24 / $25 and $24 = $24 % $25, unsigned.
        .ent    divide_by_bits
divide_by_bits:
        .frame  $30, 16, $23, 0
        lda     $30, -16($30)
        stq     $0, 0($30)
        .prologue 0
        lda     $28, 1($31)             # the quotient's bit that belongs to the shifted divisor
        bis     $31, $31, $27
1:      blt     $25, 2f
        cmpult  $25, $24, $0
        beq     $0, 2f
        addq    $25, $25, $25
        addq    $28, $28, $28
        br      $31, 1b
2:      cmpule  $25, $24, $0
        beq     $0, 3f
        subq    $24, $25, $24
        bis     $27, $28, $27
3:      srl     $25, 1, $25
        srl     $28, 1, $28
        bne     $28, 2b
        ldq     $0, 0($30)
        lda     $30, 16($30)
        ret     $31, ($23), 1
        .end    divide_by_bits

        # Linux makes SIGFPE of it.
        .ent    divided_by_zero
divided_by_zero:
        .frame  $30, 0, $23, 0
        .prologue 0
        lda     $16, -2($31)            # GEN_INTDIV
        call_pal 0xaa                   # gentrap
        br      $31, divided_by_zero
        .end    divided_by_zero

        DIVIDE_32 __divl, 0, 0
        DIVIDE_32 __divlu, 1, 0
        DIVIDE_32 __reml, 0, 1
        DIVIDE_32 __remlu, 1, 1
        DIVIDE_64 __divq, 0, 0
        DIVIDE_64 __divqu, 1, 0
        DIVIDE_64 __remq, 0, 1
        DIVIDE_64 __remqu, 1, 1

        .section .note.GNU-stack, "", @progbits
