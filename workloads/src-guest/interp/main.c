/* interp: runs six bytecode programs on two engines and compares what they put out. */
#include "vm.h"

struct heap_limits {
    int handles, collect_after;
};

static const struct heap_limits limits_small = {512, 100}, limits_large = {4096, 3000};

static NOINLINE void reset(struct vm *vm, const struct heap_limits *limits)
{
    heap_free(vm);
    memset(vm, 0, sizeof(*vm));
    heap_start(vm, limits->handles, limits->collect_after);
    vm->output = CHECKSUM_START;
}

/* Calls main with the argument; it returns to a halt instruction. */
static NOINLINE void run(struct vm *vm, const struct program *p, int argument, const struct heap_limits *limits, engine *engine)
{
    reset(vm, limits);
    assemble(vm, p->text);
    int main_function = find_function(vm, "main");
    if (main_function < 0)
        rt_fail("no main");
    int halt = vm->code_length;
    vm->code[vm->code_length++] = OP_halt;
    push(vm, argument);
    engine(vm, enter_function(vm, main_function, vm->code + halt));
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    const struct heap_limits *limits = large ? &limits_large : &limits_small;
    struct vm *vm = calloc(1, sizeof(*vm));
    for (int i = 0; i < program_count; i++) {
        const struct program *p = &programs[i];
        int argument = large ? p->large : p->small;
        run(vm, p, argument, limits, run_threaded);
        uint64_t output = vm->output;
        long executed = vm->executed, collections = vm->collections;
        run(vm, p, argument, limits, run_table);
        if (vm->output != output || vm->executed != executed)
            rt_fail("the engines disagree");
        printf("%-10s argument %d instructions %ld collections %ld output %016lx\n", p->name, argument, executed,
               collections, (unsigned long)output);
    }
    heap_free(vm);
    free(vm);
    if (rt_live_blocks() != 0)
        rt_fail("blocks leaked");
    return 0;
}
