# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .data
        .align 3
LC0:
        .dword 66
        .dword 131
        .dword 193
        .dword 194
        .dword 195
        .text
        .align 1
        .globl main
main:
        addi   sp, sp, -64               # 7
        sd     ra, 56(sp)                # 7
        la     a5, LC0                   # 8
        ld     a0, 0(a5)                 # 8
        ld     a1, 8(a5)                 # 8
        ld     a2, 16(a5)                # 8
        ld     a3, 24(a5)                # 8
        ld     a6, 32(a5)                # 8
        la     a5, screen                # 10
        add    a0, a5, a0                # 10
        li     a4, -1                    # 10
        sb     a4, 0(a0)                 # 10
        add    a1, a5, a1                # 10
        sb     a4, 0(a1)                 # 10
        add    a2, a5, a2                # 10
        sb     a4, 0(a2)                 # 10
        add    a3, a5, a3                # 10
        sb     a4, 0(a3)                 # 10
        add    a5, a5, a6                # 10
        sb     a4, 0(a5)                 # 10
        li     t6, 3                     # 10
        la     t5, next+448              # 10
        li     a7, 3                     # 18
        li     a6, 255                   # 18
        li     t3, 2                     # 18
        li     t1, 0                     # 18
        li     a1, 7                     # 22
        li     t4, 448                   # 21
        j      L2                        # 21
L3:
        sb     a3, 1(a0)                 # 18
        addi   a4, a4, 1                 # 14
        addi   a0, a0, 1                 # 14
        beq    a4, t0, L16               # 14
L4:
        lbu    a5, -64(a4)               # 16
        andi   a5, a5, 1                 # 16
        lbu    a3, -63(a4)               # 16
        andi   a3, a3, 1                 # 16
        addw   a5, a5, a3                # 16
        lbu    a3, -62(a4)               # 16
        andi   a3, a3, 1                 # 16
        addw   a5, a5, a3                # 16
        lbu    a3, 0(a4)                 # 16
        andi   a3, a3, 1                 # 16
        addw   a5, a5, a3                # 16
        lbu    a3, 2(a4)                 # 17
        andi   a3, a3, 1                 # 17
        addw   a5, a5, a3                # 17
        lbu    a3, 64(a4)                # 17
        andi   a3, a3, 1                 # 17
        addw   a5, a5, a3                # 17
        lbu    a3, 65(a4)                # 17
        andi   a3, a3, 1                 # 17
        addw   a5, a5, a3                # 17
        lbu    a3, 66(a4)                # 17
        andi   a3, a3, 1                 # 17
        addw   a5, a5, a3                # 16
        mv     a3, a6                    # 18
        beq    a5, a7, L3                # 18
        mv     a3, t1                    # 18
        bne    a5, t3, L3                # 18
        lbu    a3, 1(a4)                 # 18
        snez   a3, a3                    # 18
        negw   a3, a3                    # 18
        andi   a3, a3, 0xff              # 18
        j      L3                        # 18
L16:
        addi   t0, t0, 64                # 13
        addi   t2, t2, 64                # 13
        beq    t2, t5, L17               # 13
L5:
        addi   a4, t0, -6                # 13
        mv     a0, t2                    # 7
        j      L4                        # 7
L17:
        la     t0, screen+64             # 7
        li     t2, 64                    # 13
        li     a0, 0                     # 20
L6:
        li     a5, 1                     # 22
L7:
        add    a4, a2, a5                # 23
        lbu    a4, 0(a4)                 # 23
        add    a3, t0, a5                # 23
        sb     a4, 0(a3)                 # 23
        andi   a4, a4, 1                 # 24
        add    a0, a0, a4                # 24
        addi   a5, a5, 1                 # 22
        bne    a5, a1, L7                # 22
        addi   t2, t2, 64                # 21
        addi   a2, a2, 64                # 21
        addi   t0, t0, 64                # 21
        bne    t2, t4, L6                # 21
        addi   t6, t6, -1                # 12
        beq    t6, zero, L9              # 12
L2:
        la     t0, screen+70             # 12
        la     a2, next+64               # 12
        mv     t2, a2                    # 18
        j      L5                        # 18
L9:
        call   print                     # 27
        li     a0, 0                     # 29
        ld     ra, 56(sp)                # 29
        addi   sp, sp, 64                # 29
        jr     ra                        # 29
        .globl next
        .data
        .align 3
next:
        .zero 4096
        .globl screen
        .align 3
screen:
        .zero 4096
        .text
