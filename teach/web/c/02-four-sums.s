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
        la     a3, numbers               # 7
        mv     a4, a3                    # 7
        li     a5, 0                     # 8
        li     a2, 100                   # 8
L2:
        sd     a5, 0(a4)                 # 9
        addi   a5, a5, 1                 # 8
        addi   a4, a4, 8                 # 8
        bne    a5, a2, L2                # 8
        la     a6, numbers+800           # 8
        li     a0, 0                     # 10
        li     a4, 0                     # 10
        li     a2, 0                     # 10
        li     a5, 0                     # 10
L3:
        ld     a1, 0(a3)                 # 12
        add    a5, a5, a1                # 12
        ld     a1, 8(a3)                 # 13
        add    a2, a2, a1                # 13
        ld     a1, 16(a3)                # 14
        add    a4, a4, a1                # 14
        ld     a1, 24(a3)                # 15
        add    a0, a0, a1                # 15
        addi   a3, a3, 32                # 11
        bne    a3, a6, L3                # 11
        add    a5, a5, a2                # 17
        add    a5, a5, a4                # 17
        add    a0, a5, a0                # 17
        call   print                     # 17
        li     a0, 0                     # 19
        ld     ra, 8(sp)                 # 19
        addi   sp, sp, 16                # 19
        jr     ra                        # 19
        .globl numbers
        .data
        .align 3
numbers:
        .zero 800
        .text
