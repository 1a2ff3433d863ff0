# What GCC calls for initializers and copies.
        .globl memset
memset: add    a2, a2, a0
        mv     t0, a0
memset_next:
        bgeu   t0, a2, memset_end
        sb     a1, 0(t0)
        addi   t0, t0, 1
        j      memset_next
memset_end:
        ret
        .globl memmove
memmove:
        bltu   a1, a0, memmove_down
        .globl memcpy
memcpy: add    a2, a2, a1
        mv     t0, a0
memcpy_next:
        bgeu   a1, a2, memcpy_end
        lbu    t1, 0(a1)
        sb     t1, 0(t0)
        addi   a1, a1, 1
        addi   t0, t0, 1
        j      memcpy_next
memcpy_end:
        ret
memmove_down:
        add    t0, a0, a2
        add    a2, a2, a1
memmove_next:
        bgeu   a1, a2, memcpy_end
        addi   a2, a2, -1
        addi   t0, t0, -1
        lbu    t1, 0(a2)
        sb     t1, 0(t0)
        j      memmove_next
