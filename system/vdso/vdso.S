# The vDSO of Linux on riscv64 (Linux arch/riscv/kernel/vdso): calls that the C library makes without the kernel.
# Time is read as Linux reads it: from the CSR `time`, which counts simulated nanoseconds, and from a page of data that
# the kernel keeps in front of this code. Clocks that count anything else are system calls, and so are calls that the kernel
# has to serve.

        .set    SYS_clock_gettime, 113
        .set    SYS_clock_getres, 114
        .set    SYS_rt_sigreturn, 139
        .set    SYS_getcpu, 168
        .set    SYS_riscv_hwprobe, 258
        .set    SYS_riscv_flush_icache, 259

        # Clocks by their numbers: of the date (REALTIME, REALTIME_COARSE, TAI), and of the time since the start of the
        # run (MONOTONIC, MONOTONIC_RAW, MONOTONIC_COARSE, BOOTTIME).
        .set    DATES, 1 << 0 | 1 << 5 | 1 << 11
        .set    TIMES, 1 << 1 | 1 << 4 | 1 << 6 | 1 << 7
        .set    LAST_CLOCK, 11

        .macro  function name
        .globl  \name
        .type   \name, @function
        .balign 16
\name:
        .cfi_startproc
        .endm

        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        # A function that is a system call.
        .macro  call name, number
        function \name
        li      a7, \number
        ecall
        ret
        end     \name
        .endm

        .text

        # int clock_gettime(clockid_t clock, struct timespec *time)
        function __vdso_clock_gettime
        li      t0, LAST_CLOCK
        bgtu    a0, t0, 2f
        li      t0, 1
        sll     t0, t0, a0
        li      t1, DATES
        and     t1, t0, t1
        bnez    t1, 1f
        andi    t1, t0, TIMES
        beqz    t1, 2f
        rdtime  t2
        j       3f
1:      lla     t1, date_ns
        rdtime  t2
        ld      t1, 0(t1)
        add     t2, t2, t1
3:      li      t3, 1000000000
        divu    t4, t2, t3
        remu    t5, t2, t3
        sd      t4, 0(a1)
        sd      t5, 8(a1)
        li      a0, 0
        ret
2:      li      a7, SYS_clock_gettime
        ecall
        ret
        end     __vdso_clock_gettime

        # int gettimeofday(struct timeval *time, struct timezone *zone): the zone is that of Greenwich.
        function __vdso_gettimeofday
        beqz    a0, 1f
        lla     t1, date_ns
        rdtime  t2
        ld      t1, 0(t1)
        add     t2, t2, t1
        li      t3, 1000000000
        divu    t4, t2, t3
        remu    t5, t2, t3
        li      t3, 1000
        divu    t5, t5, t3
        sd      t4, 0(a0)
        sd      t5, 8(a0)
1:      beqz    a1, 2f
        sd      zero, 0(a1)
2:      li      a0, 0
        ret
        end     __vdso_gettimeofday

        # int clock_getres(clockid_t clock, struct timespec *step)
        function __vdso_clock_getres
        li      t0, LAST_CLOCK
        bgtu    a0, t0, 2f
        li      t0, 1
        sll     t0, t0, a0
        li      t1, DATES | TIMES
        and     t1, t0, t1
        beqz    t1, 2f
        beqz    a1, 1f
        li      t0, 1
        sd      zero, 0(a1)
        sd      t0, 8(a1)
1:      li      a0, 0
        ret
2:      li      a7, SYS_clock_getres
        ecall
        ret
        end     __vdso_clock_getres

        call    __vdso_getcpu, SYS_getcpu
        call    __vdso_flush_icache, SYS_riscv_flush_icache
        call    __vdso_riscv_hwprobe, SYS_riscv_hwprobe
        call    __vdso_rt_sigreturn, SYS_rt_sigreturn

        .section .note.GNU-stack, "", @progbits
