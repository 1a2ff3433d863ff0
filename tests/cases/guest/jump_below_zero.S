# A jump to an address below zero. Right: SIGSEGV at pc 0xfffffffffff90000 + the place of _start's page.
.globl _start
_start: j . - 0x80000
