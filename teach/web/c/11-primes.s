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
        la     a7, crossed+2             # 7
        li     a3, 2                     # 9
        li     a0, 0                     # 8
        li     a2, 199                   # 13
        la     t3, crossed               # 13
        li     a6, 1                     # 14
        li     t1, 200                   # 9
        j      L4                        # 9
L2:
        addi   a3, a3, 1                 # 9
        addi   a7, a7, 1                 # 9
        beq    a3, t1, L8                # 9
L4:
        lbu    a5, 0(a7)                 # 10
        bne    a5, zero, L2              # 10
        addi   a0, a0, 1                 # 12
        mul    a5, a3, a3                # 13
        bgt    a5, a2, L2                # 13
        mv     a1, a3                    # 13
        add    a4, a5, t3                # 13
L3:
        sb     a6, 0(a4)                 # 14
        add    a5, a5, a3                # 13
        add    a4, a4, a1                # 13
        ble    a5, a2, L3                # 13
        j      L2                        # 13
L8:
        call   print                     # 16
        li     a0, 0                     # 18
        ld     ra, 8(sp)                 # 18
        addi   sp, sp, 16                # 18
        jr     ra                        # 18
        .globl crossed
        .data
        .align 3
crossed:
        .zero 200
        .text
