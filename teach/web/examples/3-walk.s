# Walks through memory. The address of each load depends on the load before it, which loads a zero: so each miss waits
# for the one before it. Take the first `add` away, and misses run under misses.
        .equ STEPS, 900
        .equ APART, 1088
_start: la   a0, memory
        li   a1, STEPS
        li   a2, APART
walk:   ld   t0, 0(a0)
        sd   a1, 8(a0)
        add  a0, a0, t0
        add  a0, a0, a2
        addi a1, a1, -1
        bnez a1, walk
        li   a0, 0
        li   a7, 93
        ecall

        .data
memory: .zero 979264
