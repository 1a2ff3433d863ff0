/* minicc: compiles programs at two levels, runs the results and compares them. */
#include "minicc.h"

struct level {
    const char *name;
    int optimize, registers;
};

static const struct level levels[] = {
    {"plain", 0, 3},
    {"optimized", 1, 10},
};

static NOINLINE int compile(struct unit *u, struct code *code, const struct level *level)
{
    struct ir_list list = {0, 0, 0, 0, 0};
    int cleaned = 0;
    for (int i = 0; i < u->function_count; i++) {
        struct function *f = &u->functions[i];
        if (level->optimize)
            f->body = fold(u, f->body);
        lower_function(&list, f);
        if (level->optimize)
            cleaned += clean_code(&list);
        allocate_function(code, f, &list, level->registers);
    }
    free(list.code);
    return cleaned;
}

static NOINLINE int find_main(const struct unit *u)
{
    for (int i = 0; i < u->function_count; i++)
        if (strcmp(u->functions[i].name->text, "main") == 0)
            return i;
    rt_fail("no main");
}

static NOINLINE uint64_t build_and_run(const char *name, const char *source, const struct level *level)
{
    struct unit *u = malloc(sizeof(*u));
    struct code code = {0, 0, 0, 0, 0};
    unit_parse(u, source);
    int cleaned = compile(u, &code, level);
    struct run_result r = machine_run(u, &code, find_main(u));
    printf("%-10s %-9s functions %d tokens %ld nodes %ld folded %ld cleaned %d\n", name, level->name, u->function_count,
           u->lexer.tokens, u->nodes, u->folded, cleaned);
    printf("  code %d spilled %ld of %ld executed %ld calls %ld prints %ld output %016lx\n", code.count, code.spilled,
           code.allocated, r.executed, r.calls, r.prints, (unsigned long)r.output);
    free(code.insns);
    unit_free(u);
    free(u);
    return r.output;
}

static NOINLINE void check_program(const char *name, struct text *t)
{
    uint64_t plain = build_and_run(name, t->bytes, &levels[0]);
    uint64_t optimized = build_and_run(name, t->bytes, &levels[1]);
    if (plain != optimized)
        rt_fail("the optimized program does something else");
    free(t->bytes);
    memset(t, 0, sizeof(*t));
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    struct text t = {0, 0, 0};
    struct rng rng;
    rng_seed(&rng, 1969);
    write_algorithms(&t, large ? 20 : 3);
    check_program("algorithms", &t);
    for (int i = 0; i < (large ? 6 : 2); i++) {
        write_generated(&t, &rng, large ? 200 : 3, large ? 2 : 1);
        check_program("generated", &t);
    }
    if (rt_live_blocks() != 0)
        rt_fail("blocks leaked");
    return 0;
}
