# A program that is linked for an address above the stack, within Sv39's 256 GiB. Right (qemu): exit code 3.
.globl _start
_start: li a0,3
 li a7,93
 ecall
