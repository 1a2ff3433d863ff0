/* Functions that programs call by name. */
#include "vm.h"

static NOINLINE void native_emit(struct vm *vm)
{
    vm->output = checksum_word(vm->output, (uint64_t)pop(vm));
}

static NOINLINE void native_min(struct vm *vm)
{
    value b = pop(vm), a = pop(vm);
    push(vm, a < b ? a : b);
}

static NOINLINE void native_hash(struct vm *vm)
{
    value v = pop(vm);
    push(vm, (value)(checksum_word(CHECKSUM_START, (uint64_t)v) >> 8 & 0xffffff));
}

static NOINLINE void native_fill(struct vm *vm)
{
    value v = pop(vm);
    struct array *a = heap_array(vm, pop(vm));
    for (int i = 0; i < a->length; i++)
        a->elements[i] = v;
}

static const char *const names[] = {"emit", "min", "hash", "fill"};
native_function *const natives[] = {native_emit, native_min, native_hash, native_fill};

int find_native(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    rt_fail("unknown native function");
}
