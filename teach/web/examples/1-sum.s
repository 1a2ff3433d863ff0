# Sums an array of 64 numbers, 20 times.
        .equ TIMES, 20
_start: li   s0, TIMES
again:  la   a1, numbers
        li   a2, 64
        li   a0, 0
loop:   ld   t0, 0(a1)
        add  a0, a0, t0
        addi a1, a1, 8
        addi a2, a2, -1
        bnez a2, loop
        addi s0, s0, -1
        bnez s0, again
        li   a7, 93
        ecall

        .data
numbers: .dword 5, 53, 175, 371, 641, 985, 406, 898, 467, 110, 824, 615, 480, 419, 432, 519
         .dword 680, 915, 227, 610, 70, 601, 209, 888, 644, 474, 378, 356, 408, 534, 734, 11
         .dword 359, 781, 280, 850, 497, 218, 13, 879, 822, 839, 930, 98, 337, 650, 40, 501
         .dword 39, 648, 334, 94, 925, 833, 815, 871, 4, 208, 486, 838, 267, 767, 344, 992
