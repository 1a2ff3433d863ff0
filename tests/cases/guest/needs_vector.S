# A program that says in .riscv.attributes that it needs the vector extension.
.globl _start
_start: vsetvli t0, a0, e8, m1
 li a7,93
 li a0,0
 ecall
