/* Arrays behind handles, collected by marking from the stack and the globals. */
#include "vm.h"

void heap_start(struct vm *vm, int handles, int collect_after)
{
    vm->heap_size = handles;
    vm->collect_after = collect_after;
    vm->heap = calloc((size_t)handles, sizeof(*vm->heap));
    vm->free_handles = malloc((size_t)handles * sizeof(int));
    vm->heap_used = vm->free_count = vm->allocated_since = 0;
}

void heap_free(struct vm *vm)
{
    for (int i = 0; i < vm->heap_used; i++)
        if (vm->heap[i].in_use)
            free(vm->heap[i].elements);
    free(vm->heap);
    free(vm->free_handles);
}

static NOINLINE void mark(struct vm *vm, value v)
{
    if (!(v & HANDLE_TAG) || v < 0)
        return;
    int64_t index = v & ~HANDLE_TAG;
    if (index >= vm->heap_used || !vm->heap[index].in_use || vm->heap[index].marked)
        return;
    struct array *a = &vm->heap[index];
    a->marked = 1;
    for (int i = 0; i < a->length; i++)
        mark(vm, a->elements[i]);
}

static NOINLINE void sweep(struct vm *vm)
{
    for (int i = 0; i < vm->heap_used; i++) {
        struct array *a = &vm->heap[i];
        if (a->in_use && !a->marked) {
            free(a->elements);
            a->in_use = 0;
            vm->free_handles[vm->free_count++] = i;
        }
        a->marked = 0;
    }
}

static NOINLINE void collect(struct vm *vm)
{
    for (int i = 0; i < vm->top; i++)
        mark(vm, vm->stack[i]);
    for (size_t i = 0; i < ARRAY_LEN(vm->globals); i++)
        mark(vm, vm->globals[i]);
    sweep(vm);
    vm->collections++;
    vm->allocated_since = 0;
}

static NOINLINE int find_free_handle(struct vm *vm)
{
    if (vm->free_count > 0)
        return vm->free_handles[--vm->free_count];
    if (vm->heap_used == vm->heap_size)
        rt_fail("the heap is full");
    return vm->heap_used++;
}

value heap_new(struct vm *vm, int length)
{
    if (++vm->allocated_since > vm->collect_after)
        collect(vm);
    int index = find_free_handle(vm);
    struct array *a = &vm->heap[index];
    a->length = length;
    a->in_use = 1;
    a->marked = 0;
    a->elements = calloc((size_t)length, sizeof(value));
    return index | HANDLE_TAG;
}

struct array *heap_array(struct vm *vm, value handle)
{
    int64_t index = handle & ~HANDLE_TAG;
    if (!(handle & HANDLE_TAG) || index >= vm->heap_used)
        rt_fail("not an array");
    return &vm->heap[index];
}

value *heap_element(struct vm *vm, value handle, value index)
{
    struct array *a = heap_array(vm, handle);
    if (index < 0 || index >= a->length)
        rt_fail("index out of range");
    return &a->elements[index];
}
