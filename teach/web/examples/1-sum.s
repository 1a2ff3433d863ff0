# Sums an array of 64 numbers, 20 times.
        .equ TIMES, 20
_start: li   s0, TIMES
again:  la   a1, numbers
        li   a2, 64
        li   a0, 0
loop:   ld   t0, 0(a1)
        add  a0, a0, t0
        addi a1, a1, 8
        addi a2, a2, -1
        bnez a2, loop
        addi s0, s0, -1
        bnez s0, again
        li   a7, 93
        ecall

        .data
numbers: .zero 512
