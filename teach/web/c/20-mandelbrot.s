# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl main
main:
        addi   sp, sp, -48               # 7
        sd     ra, 40(sp)                # 7
        sd     s0, 32(sp)                # 7
        sd     s1, 24(sp)                # 7
        sd     s2, 16(sp)                # 7
        sd     s3, 8(sp)                 # 7
        sd     s4, 0(sp)                 # 7
        la     ra, screen                # 7
        neg    ra, ra                    # 7
        li     s1, -1280                 # 13
        li     s0, 0                     # 13
        li     s3, 256                   # 13
        li     t3, 0                     # 12
        li     a7, 5                     # 13
        li     t5, 4194304               # 13
        li     t0, 0                     # 13
        li     t2, 606347264             # 20
        addiw  t2, t2, 1060              # 20
        li     t6, 1024                  # 10
        li     s2, 4096                  # 9
        j      L2                        # 9
L8:
        mv     a4, t0                    # 9
        beq    a1, a7, L5                # 9
        mulw   a4, a1, t2                # 20
L5:
        sext.w a4, a4                    # 20
        addi   a5, a6, -256              # 20
L6:
        sw     a4, 0(a5)                 # 20
        addi   a5, a5, 64                # 19
        bne    a6, a5, L6                # 19
        addi   a6, a6, 4                 # 10
        addi   t1, t1, 192               # 10
        beq    t1, t6, L15               # 10
L9:
        mv     s4, t1                    # 11
        li     a1, 0                     # 12
        mv     a2, t3                    # 12
        mv     a3, t3                    # 12
        mv     a0, t3                    # 13
        mv     a4, t3                    # 13
L7:
        mv     a5, a3                    # 13
        sub    a4, a4, a0                # 14
        srai   a4, a4, 10                # 14
        add    a3, a4, s4                # 14
        mul    a5, a5, a2                # 15
        slli   a5, a5, 1                 # 15
        srai   a5, a5, 10                # 15
        add    a2, a5, t4                # 15
        addi   a1, a1, 1                 # 17
        beq    a1, a7, L8                # 13
        mul    a4, a3, a3                # 13
        mul    a0, a2, a2                # 13
        add    a5, a4, a0                # 13
        blt    a5, t5, L7                # 13
        j      L8                        # 13
L15:
        addi   s0, s0, 256               # 9
        addi   s1, s1, 160               # 9
        addi   ra, ra, -256              # 9
        beq    s0, s2, L10               # 9
L2:
        mv     t4, s1                    # 11
        sub    a6, s3, ra                # 11
        li     t1, -2048                 # 11
        j      L9                        # 11
L10:
        li     a0, 256                   # 23
        call   print                     # 23
        li     a0, 0                     # 25
        ld     ra, 40(sp)                # 25
        ld     s0, 32(sp)                # 25
        ld     s1, 24(sp)                # 25
        ld     s2, 16(sp)                # 25
        ld     s3, 8(sp)                 # 25
        ld     s4, 0(sp)                 # 25
        addi   sp, sp, 48                # 25
        jr     ra                        # 25
        .globl screen
        .data
        .align 3
screen:
        .zero 4096
        .text
