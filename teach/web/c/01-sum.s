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
        la     a5, numbers               # 7
        mv     a3, a5                    # 7
        li     a4, 0                     # 8
        li     a2, 100                   # 8
L2:
        sd     a4, 0(a3)                 # 9
        addi   a4, a4, 1                 # 8
        addi   a3, a3, 8                 # 8
        bne    a4, a2, L2                # 8
        la     a3, numbers+800           # 8
        li     a0, 0                     # 10
L3:
        ld     a4, 0(a5)                 # 12
        add    a0, a0, a4                # 12
        addi   a5, a5, 8                 # 11
        bne    a5, a3, L3                # 11
        call   print                     # 13
        li     a0, 0                     # 15
        ld     ra, 8(sp)                 # 15
        addi   sp, sp, 16                # 15
        jr     ra                        # 15
        .globl numbers
        .data
        .align 3
numbers:
        .zero 800
        .text
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
