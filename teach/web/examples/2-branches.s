# Branches on bits of a random number, which no predictor knows, and on a counter, which each one learns.
        .equ TIMES, 400
_start: li   s0, TIMES
        li   s1, 88172645      # state of a generator (xorshift)
        li   a0, 0
again:  slli t0, s1, 13
        xor  s1, s1, t0
        srli t0, s1, 7
        xor  s1, s1, t0
        slli t0, s1, 17
        xor  s1, s1, t0
        andi t0, s1, 1
        beqz t0, even
        addi a0, a0, 1
even:   addi s0, s0, -1
        bnez s0, again
        li   a7, 93
        ecall
