# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl run
run:
        mv     a3, a0                    # 9
        la     a4, code                  # 11
        li     a0, 1                     # 10
        li     a1, 1                     # 12
        li     a2, 2                     # 12
        j      L7                        # 12
L9:
        mul    a0, a0, a3                # 14
L5:
        addi   a4, a4, 1                 # 11
L7:
        lbu    a5, 0(a4)                 # 12
        beq    a5, a1, L2                # 12
        beq    a5, a2, L3                # 12
        beq    a5, zero, L9              # 12
        ret                              # 26
L2:
        addi   a3, a3, -1                # 17
        j      L5                        # 18
L3:
        ble    a3, zero, L5              # 20
        la     a4, code-1                # 21
        j      L5                        # 21
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 28
        sd     ra, 8(sp)                 # 28
        li     a0, 5                     # 29
        call   run                       # 29
        call   print                     # 29
        li     a0, 0                     # 31
        ld     ra, 8(sp)                 # 31
        addi   sp, sp, 16                # 31
        jr     ra                        # 31
        .globl code
        .data
        .align 3
code:
        .string ""
        .ascii "\001\002\003"
        .text
