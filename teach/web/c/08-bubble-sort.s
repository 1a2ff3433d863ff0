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
        la     a0, numbers               # 7
        la     a2, numbers+88            # 7
        li     a1, 11                    # 9
        j      L2                        # 9
L3:
        addi   a5, a5, 8                 # 10
        beq    a5, a2, L6                # 10
L4:
        ld     a4, 0(a5)                 # 11
        ld     a3, 8(a5)                 # 11
        ble    a4, a3, L3                # 11
        sd     a3, 0(a5)                 # 13
        sd     a4, 8(a5)                 # 14
        j      L3                        # 14
L6:
        addi   a1, a1, -1                # 9
        addi   a2, a2, -8                # 9
        beq    a1, zero, L5              # 9
L2:
        mv     a5, a0                    # 10
        bgt    a1, zero, L4              # 10
        j      L6                        # 10
L5:
        la     a0, numbers               # 16
        ld     a0, 0(a0)                 # 16
        call   print                     # 16
        li     a0, 0                     # 18
        ld     ra, 8(sp)                 # 18
        addi   sp, sp, 16                # 18
        jr     ra                        # 18
        .globl numbers
        .data
        .align 3
numbers:
        .dword 42
        .dword 7
        .dword 19
        .dword 4
        .dword 88
        .dword 51
        .dword 13
        .dword 60
        .dword 25
        .dword 36
        .dword 9
        .dword 71
        .text
