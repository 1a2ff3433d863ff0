# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl fibonacci
fibonacci:
        addi   sp, sp, -32               # 5
        sd     ra, 24(sp)                # 5
        sd     s0, 16(sp)                # 5
        sd     s1, 8(sp)                 # 5
        mv     s0, a0                    # 5
        li     a5, 1                     # 6
        ble    a0, a5, L1                # 6
        addi   a0, a0, -1                # 8
        call   fibonacci                 # 8
        mv     s1, a0                    # 8
        addi   a0, s0, -2                # 8
        call   fibonacci                 # 8
        add    a0, s1, a0                # 8
L1:
        ld     ra, 24(sp)                # 9
        ld     s0, 16(sp)                # 9
        ld     s1, 8(sp)                 # 9
        addi   sp, sp, 32                # 9
        jr     ra                        # 9
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 11
        sd     ra, 8(sp)                 # 11
        li     a0, 12                    # 12
        call   fibonacci                 # 12
        call   print                     # 12
        li     a0, 0                     # 14
        ld     ra, 8(sp)                 # 14
        addi   sp, sp, 16                # 14
        jr     ra                        # 14
