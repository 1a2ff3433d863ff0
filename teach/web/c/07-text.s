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
        la     a4, text                  # 9
        lbu    a4, 0(a4)                 # 9
        li     a5, 10                    # 9
        beq    a4, a5, L5                # 9
        la     a5, text+1                # 9
        li     a2, 0                     # 8
        li     a3, 10                    # 9
L3:
        mv     a1, a2                    # 9
        addi   a2, a2, 1                 # 10
        addi   a5, a5, 1                 # 9
        lbu    a4, -1(a5)                # 9
        bne    a4, a3, L3                # 9
        ble    a1, zero, L2              # 11
        la     a5, text                  # 11
        add    a3, a1, a5                # 11
        li     a4, 0                     # 11
L4:
        lbu    a0, 0(a5)                 # 12
        lbu    a6, 0(a3)                 # 13
        sb     a6, 0(a5)                 # 13
        sb     a0, 0(a3)                 # 14
        addi   a4, a4, 1                 # 11
        addi   a5, a5, 1                 # 11
        addi   a3, a3, -1                # 11
        sub    a0, a1, a4                # 11
        blt    a4, a0, L4                # 11
L2:
        addi   a2, a2, 1                 # 16
        la     a1, text                  # 16
        li     a0, 1                     # 16
        call   write                     # 16
        li     a0, 0                     # 18
        ld     ra, 8(sp)                 # 18
        addi   sp, sp, 16                # 18
        jr     ra                        # 18
L5:
        li     a2, 0                     # 8
        j      L2                        # 8
        .globl text
        .data
        .align 3
text:
        .string "an example\n"
        .text
