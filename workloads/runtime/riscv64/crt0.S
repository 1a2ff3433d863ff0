# Program entry and system calls for 64-bit RISC-V Linux.
# A system call takes its number in a7 and arguments in a0..a5; a0 returns the result or -errno.

        .text
        .globl  _start
        .type   _start, @function
_start:
        .option push
        .option norelax
        la      gp, __global_pointer$
        .option pop
        mv      a0, sp                  # argc, argv and environment as the kernel left them
        andi    sp, sp, -16
        li      s0, 0                   # ends the chain of frames
        li      ra, 0
        call    rt_start
        .size   _start, . - _start

        .macro  SYSTEM_CALL name, number
        .globl  \name
        .type   \name, @function
\name:
        li      a7, \number
        ecall
        ret
        .size   \name, . - \name
        .endm

        SYSTEM_CALL rt_sys_read, 63
        SYSTEM_CALL rt_sys_write, 64
        SYSTEM_CALL rt_sys_exit, 93
        SYSTEM_CALL rt_sys_brk, 214

        .section .note.GNU-stack, "", @progbits
