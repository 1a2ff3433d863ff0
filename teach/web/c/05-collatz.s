# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 5
        sd     ra, 8(sp)                 # 5
        li     a0, 0                     # 7
        li     a5, 27                    # 6
        li     a3, 1                     # 8
        j      L4                        # 8
L2:
        slli   a4, a5, 1                 # 12
        add    a5, a4, a5                # 12
        addi   a5, a5, 1                 # 12
L3:
        addi   a0, a0, 1                 # 13
        beq    a5, a3, L7                # 8
L4:
        andi   a4, a5, 1                 # 9
        bne    a4, zero, L2              # 9
        srli   a5, a5, 1                 # 10
        j      L3                        # 10
L7:
        call   print                     # 15
        li     a0, 0                     # 17
        ld     ra, 8(sp)                 # 17
        addi   sp, sp, 16                # 17
        jr     ra                        # 17
