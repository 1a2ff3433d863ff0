# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl ones
ones:
        mv     a5, a0                    # 5
        beq    a0, zero, L4              # 7
        li     a0, 0                     # 6
L3:
        addi   a4, a5, -1                # 8
        and    a5, a5, a4                # 8
        addi   a0, a0, 1                 # 9
        bne    a5, zero, L3              # 7
        ret                              # 7
L4:
        li     a0, 0                     # 6
        ret                              # 12
        .align 1
        .globl main
main:
        addi   sp, sp, -32               # 14
        sd     ra, 24(sp)                # 14
        sd     s0, 16(sp)                # 14
        sd     s1, 8(sp)                 # 14
        sd     s2, 0(sp)                 # 14
        li     s0, 0                     # 14
        li     s1, 0                     # 15
        li     s2, 8192                  # 16
        addi   s2, s2, 256               # 16
L7:
        mv     a0, s0                    # 17
        call   ones                      # 17
        add    s1, s1, a0                # 17
        addi   s0, s0, 33                # 16
        bne    s0, s2, L7                # 16
        mv     a0, s1                    # 18
        call   print                     # 18
        li     a0, 0                     # 20
        ld     ra, 24(sp)                # 20
        ld     s0, 16(sp)                # 20
        ld     s1, 8(sp)                 # 20
        ld     s2, 0(sp)                 # 20
        addi   sp, sp, 32                # 20
        jr     ra                        # 20
