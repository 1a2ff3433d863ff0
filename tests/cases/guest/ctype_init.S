# What a program for Alpha does that Debian's linker has relaxed wrongly: it reads near zero in libc's start.
.set noreorder
.globl _start
_start:
.globl __ctype_init
.type __ctype_init, @function
__ctype_init: ldq $1, 16($31)
 .size __ctype_init, .-__ctype_init
