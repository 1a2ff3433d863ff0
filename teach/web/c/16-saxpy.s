# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 7
        sd     ra, 8(sp)                 # 7
        la     a3, x                     # 7
        la     a4, y                     # 7
        mv     a1, a4                    # 7
        mv     a2, a3                    # 7
        li     a5, 0                     # 8
        la     a0, LC0                   # 10
        fld    fa4, 0(a0)                # 10
        li     a0, 100                   # 8
L2:
        fcvt.d.l fa5, a5                 # 9
        fsd    fa5, 0(a2)                # 9
        fsd    fa4, 0(a1)                # 10
        addi   a5, a5, 1                 # 8
        addi   a2, a2, 8                 # 8
        addi   a1, a1, 8                 # 8
        bne    a5, a0, L2                # 8
        la     a2, y+800                 # 8
        mv     a5, a4                    # 8
L3:
        fld    fa5, 0(a5)                # 13
        fld    fa4, 0(a3)                # 13
        fadd.d fa5, fa5, fa4             # 13
        fsd    fa5, 0(a5)                # 13
        addi   a3, a3, 8                 # 12
        addi   a5, a5, 8                 # 12
        bne    a5, a2, L3                # 12
        fmv.d.x fa5, zero                # 14
L4:
        fld    fa4, 0(a4)                # 16
        fadd.d fa5, fa5, fa4             # 16
        addi   a4, a4, 8                 # 15
        bne    a4, a2, L4                # 15
        fcvt.l.d a0, fa5, rtz            # 17
        call   print                     # 17
        li     a0, 0                     # 19
        ld     ra, 8(sp)                 # 19
        addi   sp, sp, 16                # 19
        jr     ra                        # 19
        .globl y
        .data
        .align 3
y:
        .zero 800
        .globl x
        .align 3
x:
        .zero 800
        .data
        .align 3
LC0:
        .word 0
        .word 1076101120
        .text
