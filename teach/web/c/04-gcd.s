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
        .text
# What the programs call: print writes a number and the end of a line, write is the system call.
        .globl print
print:  addi sp, sp, -48
        addi t1, sp, 47
        li   t2, 10
        sb   t2, 0(t1)
        mv   t3, a0
        bgez a0, print_digit
        neg  a0, a0
print_digit:
        remu t0, a0, t2
        addi t0, t0, 48
        addi t1, t1, -1
        sb   t0, 0(t1)
        divu a0, a0, t2
        bnez a0, print_digit
        bgez t3, print_all
        addi t1, t1, -1
        li   t0, 45
        sb   t0, 0(t1)
print_all:
        addi a2, sp, 48
        sub  a2, a2, t1
        mv   a1, t1
        li   a0, 1
        addi sp, sp, 48
        .globl write
write:  li   a7, 64
        ecall
        ret
