/* Calls, returns and method lookup, the same for both engines. */
#include "vm.h"

const int32_t *enter_function(struct vm *vm, int function, const int32_t *return_to)
{
    const struct function *f = &vm->functions[function];
    if (vm->depth == FRAME_LIMIT || vm->top + f->locals + 64 > STACK_SLOTS)
        rt_fail("stack overflow");
    vm->frames[vm->depth].return_to = return_to;
    vm->frames[vm->depth++].base = vm->base;
    vm->base = vm->top - f->arguments;
    for (int i = f->arguments; i < f->locals; i++)
        push(vm, 0);
    return vm->code + f->entry;
}

/* The result replaces the frame's slots. */
const int32_t *leave_function(struct vm *vm)
{
    value result = pop(vm);
    vm->top = vm->base;
    push(vm, result);
    vm->base = vm->frames[--vm->depth].base;
    return vm->frames[vm->depth].return_to;
}

/* An object is an array whose first element is its class. */
int lookup_method(struct vm *vm, value object, int method)
{
    value class = *heap_element(vm, object, 0);
    if (class < 0 || class >= MAX_CLASSES)
        rt_fail("bad class");
    return vm->methods[class][method];
}
