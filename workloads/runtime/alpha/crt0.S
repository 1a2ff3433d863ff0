# Program entry and system calls for Alpha Linux.
# A system call takes its number in $0 and arguments in $16..$21; $0 returns the result, or, where
# $19 is not 0, the positive errno, which is negated here as the other instruction sets have it.

        .set    noat
        .set    noreorder
        .text
        .globl  _start
        .ent    _start
_start:
        .frame  $15, 0, $26, 0
        br      $29, 1f
1:      ldgp    $29, 0($29)
        .prologue 0
        mov     $30, $16                # argc, argv and environment as the kernel left them
        lda     $1, 15($31)
        bic     $30, $1, $30            # the kernel aligns the stack already; the convention asks for 16
        mov     $31, $15                # ends the chain of frames
        mov     $31, $26
        jsr     $26, rt_start
        .end    _start

        # With `failed` $1 the result of a call that failed is -errno.
        .macro  SYSTEM_CALL name, number, failed=$1
        .globl  \name
        .ent    \name
\name:
        .frame  $30, 0, $26, 0
        .prologue 0
        lda     $0, \number($31)
        callsys
        subq    $31, $0, $1
        cmovne  $19, \failed, $0
        ret     $31, ($26), 1
        .end    \name
        .endm

        SYSTEM_CALL rt_sys_exit, 1
        SYSTEM_CALL rt_sys_read, 3
        SYSTEM_CALL rt_sys_write, 4
        # Elsewhere a break that cannot be had leaves the old one as the result, which is less than was
        # asked for. Alpha says ENOMEM; 0 tells the allocator the same.
        SYSTEM_CALL rt_sys_brk, 17, $31

        .section .note.GNU-stack, "", @progbits
