# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
        .text
        .align 1
        .globl run
run:
        mv     a3, a0                    # 9
        la     a4, code                  # 11
        li     a0, 1                     # 10
        li     a1, 1                     # 12
        li     a2, 2                     # 12
        j      L7                        # 12
L9:
        mul    a0, a0, a3                # 14
L5:
        addi   a4, a4, 1                 # 11
L7:
        lbu    a5, 0(a4)                 # 12
        beq    a5, a1, L2                # 12
        beq    a5, a2, L3                # 12
        beq    a5, zero, L9              # 12
        ret                              # 26
L2:
        addi   a3, a3, -1                # 17
        j      L5                        # 18
L3:
        ble    a3, zero, L5              # 20
        la     a4, code-1                # 21
        j      L5                        # 21
        .align 1
        .globl main
main:
        addi   sp, sp, -16               # 28
        sd     ra, 8(sp)                 # 28
        li     a0, 5                     # 29
        call   run                       # 29
        call   print                     # 29
        li     a0, 0                     # 31
        ld     ra, 8(sp)                 # 31
        addi   sp, sp, 16                # 31
        jr     ra                        # 31
        .globl code
        .data
        .align 3
code:
        .string ""
        .byte 1, 2, 3
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
