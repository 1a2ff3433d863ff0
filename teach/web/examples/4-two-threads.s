# Two threads count at the same time, on a machine with several contexts (smt-2, cmp-4) at once. Their counters lie in
# two lines of the cache. Take the .zero between them away, and look at what cmp-4 does then.
        .equ TIMES, 400
_start: li   a0, 0x50f00       # a thread: memory, files and signals are shared
        la   a1, stack_end
        li   a2, 0
        li   a3, 0
        li   a4, 0
        li   a7, 220           # clone
        ecall
        beqz a0, second
        la   a1, first_count
        jal  ra, count
        la   a1, done
wait:   lw   t0, 0(a1)
        beqz t0, wait
        li   a0, 0
        li   a7, 94            # exit_group
        ecall
second: la   a1, second_count
        jal  ra, count
        la   a1, done
        li   t0, 1
        sw   t0, 0(a1)
        li   a0, 0
        li   a7, 93            # exit: this thread alone
        ecall

count:  li   t0, TIMES
again:  ld   t1, 0(a1)
        addi t1, t1, 1
        sd   t1, 0(a1)
        addi t0, t0, -1
        bnez t0, again
        jalr zero, 0(ra)

        .data
first_count: .dword 0
        .zero 120
second_count: .dword 0
        .zero 120
done:   .word 0
        .zero 508
stack_end: .dword 0
