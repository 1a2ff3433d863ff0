# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl gcd
gcd:
        mv     a5, a0                    # 5
        beq    a1, zero, L4              # 6
L3:
        mv     a0, a1                    # 6
        rem    a1, a5, a1                # 7
        mv     a5, a0                    # 7
        bne    a1, zero, L3              # 6
        ret                              # 6
L4:
        ret                              # 12
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 14
        sd     ra, 8(sp)                 # 14
        li     a1, 462                   # 15
        li     a0, 1071                  # 15
        call   gcd                       # 15
        call   print                     # 15
        li     a0, 0                     # 17
        ld     ra, 8(sp)                 # 17
        addi   sp, sp, 16                # 17
        jr     ra                        # 17
