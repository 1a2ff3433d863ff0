# A fence.i after an instruction of 4 bytes became two of 2 bytes. Right (QEMU): exit code 5.
.section .wtext,"awx",@progbits
.p2align 12
.globl _start
_start: la t0,insn; li t5,0x45154501; sw t5,(t0); fence.i
.p2align 2
insn: .word 0x00500513
 li a7,93; ecall
