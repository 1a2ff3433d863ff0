# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl sort
sort:
        bge    a0, a1, L18               # 8
        addi   sp, sp, -32               # 7
        sd     ra, 24(sp)                # 7
        sd     s0, 16(sp)                # 7
        sd     s1, 8(sp)                 # 7
        mv     s1, a1                    # 7
        add    a4, a0, a1                # 10
        srli   a5, a4, 63                # 10
        add    a5, a5, a4                # 10
        srai   a5, a5, 1                 # 10
        slli   a5, a5, 3                 # 10
        la     a4, numbers               # 10
        add    a5, a4, a5                # 10
        ld     a3, 0(a5)                 # 10
        mv     s0, a0                    # 10
        mv     a6, a4                    # 12
        j      L7                        # 11
L12:
        la     a5, numbers               # 18
        slli   a7, s0, 3                 # 18
        add    a7, a5, a7                # 18
        sd     a2, 0(a7)                 # 18
        slli   a2, a1, 3                 # 19
        add    a5, a5, a2                # 19
        sd     a4, 0(a5)                 # 19
        addi   a1, a1, -1                # 19
        addi   s0, s0, 1                 # 18
        j      L7                        # 18
L8:
        call   sort                      # 22
        mv     a1, s1                    # 23
        mv     a0, s0                    # 23
        call   sort                      # 23
        ld     ra, 24(sp)                # 24
        ld     s0, 16(sp)                # 24
        ld     s1, 8(sp)                 # 24
        addi   sp, sp, 32                # 24
        jr     ra                        # 24
L21:
        slli   a5, a1, 3                 # 14
        add    a5, a6, a5                # 14
        ld     a2, 0(a5)                 # 14
        bge    a3, a2, L12               # 14
L11:
        slli   a5, a1, 3                 # 14
        addi   a5, a5, -8                # 14
        add    a5, a5, a6                # 14
L6:
        addi   a1, a1, -1                # 15
        addi   a5, a5, -8                # 14
        ld     a2, 8(a5)                 # 14
        bgt    a2, a3, L6                # 14
L5:
        bge    a1, s0, L12               # 16
L7:
        bgt    s0, a1, L8                # 11
        slli   a5, s0, 3                 # 12
        add    a5, a6, a5                # 12
        ld     a4, 0(a5)                 # 12
        addi   a5, s0, 1                 # 12
        slli   a5, a5, 3                 # 12
        add    a5, a5, a6                # 12
        ble    a3, a4, L21               # 12
L4:
        addi   s0, s0, 1                 # 13
        addi   a5, a5, 8                 # 12
        ld     a4, -8(a5)                # 12
        blt    a4, a3, L4                # 12
        slli   a5, a1, 3                 # 14
        add    a5, a6, a5                # 14
        ld     a2, 0(a5)                 # 14
        blt    a3, a2, L11               # 14
        j      L5                        # 14
L18:
        ret                              # 14
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 26
        sd     ra, 8(sp)                 # 26
        sd     s0, 0(sp)                 # 26
        li     a1, 11                    # 27
        li     a0, 0                     # 27
        call   sort                      # 27
        la     s0, numbers               # 28
        ld     a0, 0(s0)                 # 28
        call   print                     # 28
        ld     a0, 88(s0)                # 29
        call   print                     # 29
        li     a0, 0                     # 31
        ld     ra, 8(sp)                 # 31
        ld     s0, 0(sp)                 # 31
        addi   sp, sp, 16                # 31
        jr     ra                        # 31
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
