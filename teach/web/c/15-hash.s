# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl put
put:
        li     a5, 331804672             # 8
        slli   a5, a5, 3                 # 8
        addi   a5, a5, -1607             # 8
        mul    a5, a0, a5                # 8
        srli   a5, a5, 7                 # 8
        andi   a5, a5, 127               # 8
        slli   a3, a5, 3                 # 9
        la     a4, table                 # 9
        add    a4, a4, a3                # 9
        ld     a4, 0(a4)                 # 9
        beq    a4, zero, L2              # 9
        la     a3, table                 # 9
L4:
        beq    a0, a4, L5                # 10
        addi   a5, a5, 1                 # 12
        andi   a5, a5, 127               # 12
        slli   a4, a5, 3                 # 9
        add    a4, a3, a4                # 9
        ld     a4, 0(a4)                 # 9
        bne    a4, zero, L4              # 9
L2:
        slli   a5, a5, 3                 # 14
        la     a4, table                 # 14
        add    a5, a4, a5                # 14
        sd     a0, 0(a5)                 # 14
        li     a0, 1                     # 15
        ret                              # 15
L5:
        li     a0, 0                     # 11
        ret                              # 16
        .align 1
        .globl main
main:
        addi   sp, sp, -48               # 18
        sd     ra, 40(sp)                # 18
        sd     s0, 32(sp)                # 18
        sd     s1, 24(sp)                # 18
        sd     s2, 16(sp)                # 18
        sd     s3, 8(sp)                 # 18
        li     s0, 1                     # 20
        li     s1, 0                     # 19
        li     s3, 48                    # 21
        li     s2, 97                    # 20
L8:
        remu   a0, s0, s3                # 21
        addi   a0, a0, 1                 # 21
        call   put                       # 21
        add    s1, s1, a0                # 21
        addi   s0, s0, 1                 # 20
        bne    s0, s2, L8                # 20
        mv     a0, s1                    # 22
        call   print                     # 22
        li     a0, 0                     # 24
        ld     ra, 40(sp)                # 24
        ld     s0, 32(sp)                # 24
        ld     s1, 24(sp)                # 24
        ld     s2, 16(sp)                # 24
        ld     s3, 8(sp)                 # 24
        addi   sp, sp, 48                # 24
        jr     ra                        # 24
        .globl table
        .data
        .align 3
table:
        .zero 1024
        .text
