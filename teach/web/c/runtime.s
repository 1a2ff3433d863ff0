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
