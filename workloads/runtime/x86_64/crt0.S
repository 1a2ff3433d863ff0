# Program entry and system calls for x86-64 Linux.  These builds are only used to cross-check the
# expected outputs (build.sh --cross-check).

        .text
        .globl  _start
        .type   _start, @function
_start:
        movq    %rsp, %rdi
        andq    $-16, %rsp
        xorl    %ebp, %ebp
        call    rt_start
        .size   _start, . - _start

        .macro  SYSTEM_CALL name, number
        .globl  \name
        .type   \name, @function
\name:
        movl    $\number, %eax
        syscall
        ret
        .size   \name, . - \name
        .endm

        SYSTEM_CALL rt_sys_read, 0
        SYSTEM_CALL rt_sys_write, 1
        SYSTEM_CALL rt_sys_brk, 12
        SYSTEM_CALL rt_sys_exit, 60

        .section .note.GNU-stack, "", @progbits
