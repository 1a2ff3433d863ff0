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
        la     a0, from                  # 7
        mv     a4, a0                    # 7
        li     a5, 0                     # 8
        li     a3, 48                    # 8
L2:
        sw     a5, 0(a4)                 # 9
        addi   a5, a5, 1                 # 8
        addi   a4, a4, 4                 # 8
        bne    a5, a3, L2                # 8
        la     a1, to                    # 8
        la     a7, to+9216               # 8
        la     t1, to+9408               # 8
        mv     a2, a7                    # 8
        li     a6, -8192                 # 8
        addi   a6, a6, -1024             # 8
L3:
        add    a5, a2, a6                # 8
        mv     a4, a0                    # 8
L4:
        lw     a3, 0(a4)                 # 12
        sw     a3, 0(a5)                 # 12
        addi   a4, a4, 4                 # 11
        addi   a5, a5, 192               # 11
        bne    a5, a2, L4                # 11
        addi   a0, a0, 192               # 10
        addi   a2, a2, 4                 # 10
        bne    a2, t1, L3                # 10
        li     a0, 0                     # 13
L5:
        lw     a5, 0(a1)                 # 15
        add    a0, a0, a5                # 15
        addi   a1, a1, 192               # 14
        bne    a1, a7, L5                # 14
        call   print                     # 16
        li     a0, 0                     # 18
        ld     ra, 8(sp)                 # 18
        addi   sp, sp, 16                # 18
        jr     ra                        # 18
        .globl to
        .data
        .align 3
to:
        .zero 9216
        .globl from
        .align 3
from:
        .zero 9216
        .text
