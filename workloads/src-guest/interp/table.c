/* The table engine: one small function for each instruction, called through a table. */
#include "vm.h"

typedef const int32_t *handler(struct vm *vm, const int32_t *pc);

#define HANDLER(name) static NOINLINE const int32_t *op_##name(struct vm *vm, const int32_t *pc)
#define BINARY(name, expression)                                                                                       \
    HANDLER(name)                                                                                                      \
    {                                                                                                                  \
        value b = pop(vm), a = vm->stack[vm->top - 1];                                                                 \
        vm->stack[vm->top - 1] = (expression);                                                                         \
        return pc;                                                                                                     \
    }

HANDLER(push)
{
    push(vm, *pc);
    return pc + 1;
}
HANDLER(load)
{
    push(vm, vm->stack[vm->base + *pc]);
    return pc + 1;
}
HANDLER(store)
{
    vm->stack[vm->base + *pc] = pop(vm);
    return pc + 1;
}
HANDLER(global)
{
    push(vm, vm->globals[*pc]);
    return pc + 1;
}
HANDLER(setglobal)
{
    vm->globals[*pc] = pop(vm);
    return pc + 1;
}
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
HANDLER(not)
{
    vm->stack[vm->top - 1] = !vm->stack[vm->top - 1];
    return pc;
}
HANDLER(dup)
{
    push(vm, vm->stack[vm->top - 1]);
    return pc;
}
HANDLER(pop)
{
    vm->top--;
    return pc;
}
HANDLER(jump) { return vm->code + *pc; }
HANDLER(jz) { return pop(vm) == 0 ? vm->code + *pc : pc + 1; }
HANDLER(jnz) { return pop(vm) != 0 ? vm->code + *pc : pc + 1; }
HANDLER(call) { return enter_function(vm, *pc, pc + 1); }
HANDLER(ret)
{
    (void)pc;
    return leave_function(vm);
}
HANDLER(array)
{
    value handle = heap_new(vm, (int)vm->stack[vm->top - 1]);
    vm->stack[vm->top - 1] = handle;
    return pc;
}
HANDLER(get)
{
    value index = pop(vm);
    vm->stack[vm->top - 1] = *heap_element(vm, vm->stack[vm->top - 1], index);
    return pc;
}
HANDLER(put)
{
    value v = pop(vm), index = pop(vm);
    *heap_element(vm, pop(vm), index) = v;
    return pc;
}
HANDLER(len)
{
    vm->stack[vm->top - 1] = heap_array(vm, vm->stack[vm->top - 1])->length;
    return pc;
}
HANDLER(send) { return enter_function(vm, lookup_method(vm, vm->stack[vm->top - pc[1]], pc[0]), pc + 2); }
HANDLER(native)
{
    natives[*pc](vm);
    return pc + 1;
}
HANDLER(inc)
{
    vm->stack[vm->base + pc[0]] += pc[1];
    return pc + 2;
}
HANDLER(halt)
{
    (void)vm;
    (void)pc;
    return 0;
}

#define AS_HANDLER(name, operands) op_##name,
static handler *const handlers[] = {OPCODES(AS_HANDLER)};

void run_table(struct vm *vm, const int32_t *pc)
{
    while (pc) {
        vm->executed++;
        pc = handlers[*pc](vm, pc + 1);
    }
}
