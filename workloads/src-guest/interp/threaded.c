/* The threaded engine: each instruction ends with its own indirect jump to the next. */
#include "vm.h"

#define AS_LABEL(name, operands) &&do_##name,
#define NEXT                                                                                                           \
    do {                                                                                                               \
        executed++;                                                                                                    \
        goto *labels[*pc++];                                                                                           \
    } while (0)
#define BINARY(name, expression)                                                                                       \
    do_##name : {                                                                                                      \
        value b = *--sp, a = sp[-1];                                                                                   \
        sp[-1] = (expression);                                                                                         \
        NEXT;                                                                                                          \
    }
/* The stack pointer lives in a register between calls that need it in memory. */
#define SAVE (vm->top = (int)(sp - vm->stack))
#define RESTORE (sp = vm->stack + vm->top, locals = vm->stack + vm->base)

void run_threaded(struct vm *vm, const int32_t *pc)
{
    static const void *const labels[] = {OPCODES(AS_LABEL)};
    value *sp, *locals;
    long executed = 0;
    RESTORE;
    NEXT;

do_push:
    *sp++ = *pc++;
    NEXT;
do_load:
    *sp++ = locals[*pc++];
    NEXT;
do_store:
    locals[*pc++] = *--sp;
    NEXT;
do_global:
    *sp++ = vm->globals[*pc++];
    NEXT;
do_setglobal:
    vm->globals[*pc++] = *--sp;
    NEXT;
    BINARY(add, a + b)
    BINARY(sub, a - b)
    BINARY(mul, (value)((uint64_t)a * (uint64_t)b))
    BINARY(div, b == 0 ? 0 : a / b)
    BINARY(mod, b == 0 ? 0 : a % b)
    BINARY(and, a & b)
    BINARY(or, a | b)
    BINARY(xor, a ^ b)
    BINARY(shl, (value)((uint64_t)a << (b & 63)))
    BINARY(shr, (value)((uint64_t)a >> (b & 63)))
    BINARY(lt, a < b)
    BINARY(le, a <= b)
    BINARY(eq, a == b)
    BINARY(ne, a != b)
do_not:
    sp[-1] = !sp[-1];
    NEXT;
do_dup:
    sp[0] = sp[-1];
    sp++;
    NEXT;
do_pop:
    sp--;
    NEXT;
do_jump:
    pc = vm->code + *pc;
    NEXT;
do_jz:
    pc = *--sp == 0 ? vm->code + *pc : pc + 1;
    NEXT;
do_jnz:
    pc = *--sp != 0 ? vm->code + *pc : pc + 1;
    NEXT;
do_call:
    SAVE;
    pc = enter_function(vm, *pc, pc + 1);
    RESTORE;
    NEXT;
do_ret:
    SAVE;
    pc = leave_function(vm);
    RESTORE;
    NEXT;
do_array:
    SAVE;
    sp[-1] = heap_new(vm, (int)sp[-1]);
    NEXT;
do_get:
    sp--;
    sp[-1] = *heap_element(vm, sp[-1], sp[0]);
    NEXT;
do_put:
    sp -= 3;
    *heap_element(vm, sp[0], sp[1]) = sp[2];
    NEXT;
do_len:
    sp[-1] = heap_array(vm, sp[-1])->length;
    NEXT;
do_send:
    SAVE;
    pc = enter_function(vm, lookup_method(vm, sp[-pc[1]], pc[0]), pc + 2);
    RESTORE;
    NEXT;
do_native:
    SAVE;
    natives[*pc++](vm);
    RESTORE;
    NEXT;
do_inc:
    locals[pc[0]] += pc[1];
    pc += 2;
    NEXT;
do_halt:
    SAVE;
    vm->executed += executed;
}
