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
        la     t1, a                     # 7
        la     t6, b                     # 7
        mv     t4, t6                    # 7
        mv     t3, t1                    # 7
        li     a1, 8                     # 7
        li     a7, 0                     # 7
        li     a6, 0                     # 8
        li     t5, 8                     # 8
L2:
        mv     a5, a6                    # 8
        mv     a3, t4                    # 7
        mv     a4, t3                    # 7
        addi   a0, a7, 4                 # 11
L3:
        sd     a5, 0(a4)                 # 10
        sub    a2, a0, a5                # 11
        sd     a2, 0(a3)                 # 11
        addi   a5, a5, 1                 # 9
        addi   a4, a4, 8                 # 9
        addi   a3, a3, 8                 # 9
        bne    a5, a1, L3                # 9
        addi   a6, a6, 1                 # 8
        addi   t3, t3, 64                # 8
        addi   t4, t4, 64                # 8
        addi   a7, a7, 2                 # 8
        addi   a1, a1, 1                 # 8
        bne    a6, t5, L2                # 8
        la     a0, a+64                  # 8
        la     t4, c                     # 8
        la     t0, a+512                 # 8
        mv     t5, t4                    # 8
        addi   t3, t6, 64                # 8
L4:
        mv     a6, t6                    # 15
        mv     a7, t5                    # 15
L8:
        mv     a3, a6                    # 8
        mv     a5, t1                    # 8
        li     a2, 0                     # 15
L5:
        ld     a4, 0(a5)                 # 17
        ld     a1, 0(a3)                 # 17
        mul    a4, a4, a1                # 17
        add    a2, a2, a4                # 17
        addi   a5, a5, 8                 # 16
        addi   a3, a3, 64                # 16
        bne    a5, a0, L5                # 16
        sd     a2, 0(a7)                 # 18
        addi   a7, a7, 8                 # 14
        addi   a6, a6, 8                 # 14
        bne    a6, t3, L8                # 14
        addi   t1, t1, 64                # 13
        addi   a0, a0, 64                # 13
        addi   t5, t5, 64                # 13
        bne    t1, t0, L4                # 13
        la     a4, c+576                 # 13
        li     a0, 0                     # 20
L9:
        ld     a5, 0(t4)                 # 22
        add    a0, a0, a5                # 22
        addi   t4, t4, 72                # 21
        bne    t4, a4, L9                # 21
        call   print                     # 23
        li     a0, 0                     # 25
        ld     ra, 8(sp)                 # 25
        addi   sp, sp, 16                # 25
        jr     ra                        # 25
        .globl c
        .data
        .align 3
c:
        .zero 512
        .globl b
        .align 3
b:
        .zero 512
        .globl a
        .align 3
a:
        .zero 512
        .text
