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
        la     a5, numbers               # 7
        mv     a3, a5                    # 7
        li     a4, 0                     # 8
        li     a2, 100                   # 8
L2:
        sd     a4, 0(a3)                 # 9
        addi   a4, a4, 1                 # 8
        addi   a3, a3, 8                 # 8
        bne    a4, a2, L2                # 8
        la     a3, numbers+800           # 8
        li     a0, 0                     # 10
L3:
        ld     a4, 0(a5)                 # 12
        add    a0, a0, a4                # 12
        addi   a5, a5, 8                 # 11
        bne    a5, a3, L3                # 11
        call   print                     # 13
        li     a0, 0                     # 15
        ld     ra, 8(sp)                 # 15
        addi   sp, sp, 16                # 15
        jr     ra                        # 15
        .globl numbers
        .data
        .align 3
numbers:
        .zero 800
        .text
