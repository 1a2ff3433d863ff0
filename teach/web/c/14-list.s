# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 12
        sd     ra, 8(sp)                 # 12
        la     a4, nodes+16              # 12
        li     a5, 0                     # 13
        li     a6, 63                    # 15
        li     a0, 0                     # 15
        li     a1, 64                    # 13
        j      L3                        # 13
L2:
        sd     a3, -16(a2)               # 15
        addi   a5, a5, 1                 # 13
        addi   a4, a4, 16                # 13
        beq    a5, a1, L9                # 13
L3:
        mv     a2, a4                    # 13
        sd     a5, -8(a4)                # 14
        mv     a3, a0                    # 15
        beq    a5, a6, L2                # 15
        mv     a3, a4                    # 15
        j      L2                        # 15
L9:
        la     a5, nodes                 # 18
        li     a0, 0                     # 17
L4:
        ld     a4, 8(a5)                 # 19
        add    a0, a0, a4                # 19
        ld     a5, 0(a5)                 # 18
        bne    a5, zero, L4              # 18
        call   print                     # 20
        li     a0, 0                     # 22
        ld     ra, 8(sp)                 # 22
        addi   sp, sp, 16                # 22
        jr     ra                        # 22
        .globl nodes
        .data
        .align 3
nodes:
        .zero 1024
        .text
