# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl place
place:
        addi   sp, sp, -64               # 5
        sd     ra, 56(sp)                # 5
        sd     s0, 48(sp)                # 5
        sd     s1, 40(sp)                # 5
        sd     s2, 32(sp)                # 5
        sd     s3, 24(sp)                # 5
        sd     s4, 16(sp)                # 5
        sd     s5, 8(sp)                 # 5
        li     a5, 6                     # 6
        li     s1, 1                     # 7
        beq    a0, a5, L1                # 6
        mv     s3, a1                    # 6
        mv     s4, a2                    # 6
        mv     s5, a3                    # 6
        or     s0, a2, a3                # 9
        or     s0, s0, a1                # 9
        not    s0, s0                    # 9
        andi   s0, s0, 63                # 9
        li     s1, 0                     # 8
        beq    s0, zero, L1              # 9
        addi   s2, a0, 1                 # 11
L3:
        neg    a1, s0                    # 10
        and    a1, a1, s0                # 10
        or     a3, s5, a1                # 11
        or     a2, s4, a1                # 11
        srli   a3, a3, 1                 # 11
        slli   a2, a2, 1                 # 11
        or     a1, s3, a1                # 11
        mv     a0, s2                    # 11
        call   place                     # 11
        add    s1, s1, a0                # 11
        addi   a5, s0, -1                # 9
        and    s0, s0, a5                # 9
        bne    s0, zero, L3              # 9
L1:
        mv     a0, s1                    # 14
        ld     ra, 56(sp)                # 14
        ld     s0, 48(sp)                # 14
        ld     s1, 40(sp)                # 14
        ld     s2, 32(sp)                # 14
        ld     s3, 24(sp)                # 14
        ld     s4, 16(sp)                # 14
        ld     s5, 8(sp)                 # 14
        addi   sp, sp, 64                # 14
        jr     ra                        # 14
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 16
        sd     ra, 8(sp)                 # 16
        li     a3, 0                     # 17
        li     a2, 0                     # 17
        li     a1, 0                     # 17
        li     a0, 0                     # 17
        call   place                     # 17
        call   print                     # 17
        li     a0, 0                     # 19
        ld     ra, 8(sp)                 # 19
        addi   sp, sp, 16                # 19
        jr     ra                        # 19
