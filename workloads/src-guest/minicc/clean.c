/* Cleaning of intermediate code: unreachable and useless instructions are dropped, and a value that
 * is only moved on is made where it goes.  Each rule returns how often it applied. */
#include "minicc.h"

typedef int rule(struct ir_list *l, int *uses);

static int has_effect(const struct ir *i)
{
    return i->op >= I_STORE;
}

static NOINLINE void count_uses(const struct ir_list *l, int *uses)
{
    memset(uses, 0, (size_t)l->registers * sizeof(*uses));
    for (int i = 0; i < l->count; i++) {
        if (l->code[i].a >= 0)
            uses[l->code[i].a]++;
        if (l->code[i].b >= 0)
            uses[l->code[i].b]++;
    }
}

static NOINLINE int drop_unreachable(struct ir_list *l, int *uses)
{
    int applied = 0, reachable = 1;
    (void)uses;
    for (int i = 0; i < l->count; i++) {
        if (l->code[i].op == I_LABEL)
            reachable = 1;
        if (!reachable && l->code[i].op != I_NOTHING) {
            l->code[i].op = I_NOTHING;
            l->code[i].dst = l->code[i].a = l->code[i].b = -1;
            applied++;
        }
        if (l->code[i].op == I_JUMP || l->code[i].op == I_RETURN)
            reachable = 0;
    }
    return applied;
}

static NOINLINE int drop_useless(struct ir_list *l, int *uses)
{
    int applied = 0;
    count_uses(l, uses);
    for (int i = l->count - 1; i >= 0; i--) {
        struct ir *c = &l->code[i];
        if (has_effect(c) || c->dst < 0 || uses[c->dst] > 0)
            continue;
        if (c->a >= 0)
            uses[c->a]--;
        if (c->b >= 0)
            uses[c->b]--;
        c->op = I_NOTHING;
        c->dst = c->a = c->b = -1;
        applied++;
    }
    return applied;
}

static NOINLINE int forward_moves(struct ir_list *l, int *uses)
{
    int applied = 0;
    count_uses(l, uses);
    for (int i = 1; i < l->count; i++) {
        struct ir *made = &l->code[i - 1], *moved = &l->code[i];
        if (moved->op != I_MOVE || made->dst < 0 || made->dst != moved->a || uses[moved->a] != 1 || made->op == I_PARAMETER)
            continue;
        made->dst = moved->dst;
        moved->op = I_NOTHING;
        moved->dst = moved->a = -1;
        applied++;
    }
    return applied;
}

static NOINLINE int drop_jumps(struct ir_list *l, int *uses)
{
    int applied = 0;
    (void)uses;
    for (int i = 0; i + 1 < l->count; i++) {
        if (l->code[i].op != I_JUMP)
            continue;
        int k = i + 1;
        while (k < l->count && l->code[k].op == I_LABEL && l->code[k].value != l->code[i].value)
            k++;
        if (k < l->count && l->code[k].op == I_LABEL) {
            l->code[i].op = I_NOTHING;
            applied++;
        }
    }
    return applied;
}

static NOINLINE void squeeze(struct ir_list *l)
{
    int kept = 0;
    for (int i = 0; i < l->count; i++)
        if (l->code[i].op != I_NOTHING)
            l->code[kept++] = l->code[i];
    l->count = kept;
}

static rule *const clean_rules[] = {drop_unreachable, drop_useless, forward_moves, drop_jumps};

int clean_code(struct ir_list *l)
{
    int *uses = malloc((size_t)l->registers * sizeof(*uses)), total = 0, applied;
    do {
        applied = 0;
        for (size_t r = 0; r < ARRAY_LEN(clean_rules); r++) {
            applied += clean_rules[r](l, uses);
            squeeze(l);
        }
        total += applied;
    } while (applied > 0);
    free(uses);
    return total;
}
