# The sum again, for Alpha.
        .equ TIMES, 20
_start: li   $9, TIMES
again:  la   $1, numbers
        li   $2, 64
        li   $0, 0
loop:   ldq  $3, 0($1)
        addq $0, $3, $0
        lda  $1, 8($1)
        subq $2, 1, $2
        bne  $2, loop
        subq $9, 1, $9
        bne  $9, again
        li   $16, 0
        li   $0, 1             # exit
        call_pal 0x83

        .data
numbers: .zero 512
