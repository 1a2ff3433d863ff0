# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl find
find:
        mv     a2, a0                    # 7
        li     a3, 64                    # 8
        li     a0, 0                     # 8
        la     a1, table                 # 11
L3:
        ble    a3, a0, L6                # 9
        add    a4, a3, a0                # 10
        srli   a5, a4, 63                # 10
        add    a5, a5, a4                # 10
        srai   a5, a5, 1                 # 10
        slli   a4, a5, 3                 # 11
        add    a4, a1, a4                # 11
        ld     a4, 0(a4)                 # 11
        blt    a4, a2, L7                # 11
        mv     a3, a5                    # 10
        j      L3                        # 10
L7:
        addi   a0, a5, 1                 # 12
        j      L3                        # 12
L6:
        ret                              # 17
        .align 1
        .globl main
main:
        addi   sp, sp, -48               # 19
        sd     ra, 40(sp)                # 19
        sd     s0, 32(sp)                # 19
        sd     s1, 24(sp)                # 19
        sd     s2, 16(sp)                # 19
        sd     s3, 8(sp)                 # 19
        sd     s4, 0(sp)                 # 19
        la     a5, table                 # 19
        la     a3, table+512             # 19
        li     a4, 0                     # 19
L9:
        sd     a4, 0(a5)                 # 21
        addi   a4, a4, 3                 # 20
        addi   a5, a5, 8                 # 20
        bne    a5, a3, L9                # 20
        li     s0, 0                     # 20
        li     s1, 0                     # 22
        la     s3, table                 # 24
        li     s2, 4096                  # 23
        addi   s2, s2, -1728             # 23
L10:
        srai   a4, s0, 63                # 24
        srli   a4, a4, 58                # 24
        add    a5, s0, a4                # 24
        andi   a5, a5, 63                # 24
        sub    a5, a5, a4                # 24
        slli   s4, a5, 1                 # 24
        add    s4, s4, a5                # 24
        mv     a0, s4                    # 24
        call   find                      # 24
        slli   a0, a0, 3                 # 24
        add    a0, s3, a0                # 24
        ld     a0, 0(a0)                 # 24
        sub    a0, a0, s4                # 24
        seqz   a0, a0                    # 24
        add    s1, s1, a0                # 24
        addi   s0, s0, 37                # 23
        bne    s0, s2, L10               # 23
        mv     a0, s1                    # 25
        call   print                     # 25
        li     a0, 0                     # 27
        ld     ra, 40(sp)                # 27
        ld     s0, 32(sp)                # 27
        ld     s1, 24(sp)                # 27
        ld     s2, 16(sp)                # 27
        ld     s3, 8(sp)                 # 27
        ld     s4, 0(sp)                 # 27
        addi   sp, sp, 48                # 27
        jr     ra                        # 27
        .globl table
        .data
        .align 3
table:
        .zero 512
        .text
