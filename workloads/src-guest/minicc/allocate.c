/* Register allocation by linear scan over live intervals, and the final instructions.  Registers
 * that do not fit live in the frame and pass through scratch registers. */
#include "minicc.h"

struct interval {
    int start, end, virtual;
    int place; /* a register, or ~slot in the frame */
};

static NOINLINE void extend(struct interval *v, int at)
{
    if (v->start < 0)
        v->start = at;
    v->end = at;
}

/* What lives into a loop lives to its end. */
static NOINLINE void extend_over_loop(struct interval *v, int registers, int start, int end)
{
    for (int i = 0; i < registers; i++)
        if (v[i].start >= 0 && v[i].start < start && v[i].end >= start && v[i].end < end)
            v[i].end = end;
}

static NOINLINE void find_intervals(const struct ir_list *l, struct interval *v)
{
    int *label_at = malloc((size_t)(l->labels + 1) * sizeof(int));
    for (int i = 0; i < l->registers; i++) {
        v[i].start = v[i].end = -1;
        v[i].virtual = i;
        v[i].place = 0;
    }
    for (int i = 0; i < l->labels; i++)
        label_at[i] = l->count;
    for (int i = 0; i < l->count; i++) {
        const struct ir *c = &l->code[i];
        if (c->a >= 0)
            extend(&v[c->a], i);
        if (c->b >= 0)
            extend(&v[c->b], i);
        if (c->dst >= 0)
            extend(&v[c->dst], i);
        if (c->op == I_LABEL)
            label_at[c->value] = i;
    }
    /* Inner loops end first, so one pass carries an interval outwards. */
    for (int i = 0; i < l->count; i++)
        if (l->code[i].op == I_JUMP && label_at[l->code[i].value] < i)
            extend_over_loop(v, l->registers, label_at[l->code[i].value], i);
    free(label_at);
}

static int by_start(const void *x, const void *y)
{
    const struct interval *a = *(struct interval *const *)x, *b = *(struct interval *const *)y;
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->virtual < b->virtual ? -1 : a->virtual > b->virtual;
}

struct scan {
    struct interval *active[MAX_REGISTERS];
    int active_count, registers, slots;
    uint32_t free;
};

static NOINLINE void expire(struct scan *s, int start)
{
    int kept = 0;
    for (int i = 0; i < s->active_count; i++) {
        if (s->active[i]->end < start)
            s->free |= 1u << s->active[i]->place;
        else
            s->active[kept++] = s->active[i];
    }
    s->active_count = kept;
}

/* Gives the interval a register, or sends the one that ends last to the frame. */
static NOINLINE void give_place(struct scan *s, struct interval *v)
{
    if (s->free) {
        int r = 0;
        while (!(s->free >> r & 1))
            r++;
        s->free &= ~(1u << r);
        v->place = r;
        s->active[s->active_count++] = v;
        return;
    }
    int last = 0;
    for (int i = 1; i < s->active_count; i++)
        if (s->active[i]->end > s->active[last]->end)
            last = i;
    if (s->active_count > 0 && s->active[last]->end > v->end) {
        v->place = s->active[last]->place;
        s->active[last]->place = ~s->slots++;
        s->active[last] = v;
    } else {
        v->place = ~s->slots++;
    }
}

static NOINLINE int scan_intervals(struct interval *v, int count, int registers)
{
    struct scan s = {{0}, 0, registers, 0, (1u << registers) - 1};
    struct interval **order = malloc((size_t)count * sizeof(*order));
    int used = 0;
    for (int i = 0; i < count; i++)
        if (v[i].start >= 0)
            order[used++] = &v[i];
    qsort(order, (size_t)used, sizeof(*order), by_start);
    for (int i = 0; i < used; i++) {
        expire(&s, order[i]->start);
        give_place(&s, order[i]);
    }
    free(order);
    return s.slots;
}

static NOINLINE void put(struct code *code, int op, int dst, int a, int b, int64_t value)
{
    if (code->count == code->capacity) {
        code->capacity = code->capacity ? 2 * code->capacity : 1024;
        code->insns = realloc(code->insns, (size_t)code->capacity * sizeof(*code->insns));
    }
    struct insn i = {(uint8_t)op, (uint8_t)dst, (uint8_t)a, (uint8_t)b, (int32_t)value};
    code->insns[code->count++] = i;
}

/* Slots follow the registers in the frame. */
static inline int slot_value(const struct interval *v, int registers)
{
    return registers + SCRATCH + ~v->place;
}

static NOINLINE int read_place(struct code *code, const struct interval *v, int scratch, int registers)
{
    if (v->place >= 0)
        return v->place;
    put(code, M_RELOAD, scratch, 0, 0, slot_value(v, registers));
    return scratch;
}

static int machine_op(const struct ir *c)
{
    static const uint8_t ops[] = {
        [I_CONST] = M_CONST,       [I_MOVE] = M_MOVE,           [I_NEGATE] = M_NEGATE,
        [I_NOT] = M_NOT,           [I_LOAD] = M_LOAD,           [I_STORE] = M_STORE,
        [I_JUMP] = M_JUMP,         [I_JUMP_ZERO] = M_JUMP_ZERO, [I_JUMP_NONZERO] = M_JUMP_NONZERO,
        [I_ARGUMENT] = M_ARGUMENT, [I_PARAMETER] = M_PARAMETER, [I_CALL] = M_CALL,
        [I_RETURN] = M_RETURN,     [I_PRINT] = M_PRINT,
    };
    return c->op == I_BINARY ? c->operator : ops[c->op];
}

static NOINLINE void put_instruction(struct code *code, const struct ir *c, const struct interval *v, int registers)
{
    int a = c->a >= 0 ? read_place(code, &v[c->a], registers, registers) : 0;
    int b = c->b >= 0 ? read_place(code, &v[c->b], registers + 1, registers) : 0;
    int in_frame = c->dst >= 0 && v[c->dst].place < 0;
    int dst = c->dst < 0 ? 0 : in_frame ? registers : v[c->dst].place;
    put(code, machine_op(c), dst, a, b, c->value);
    if (in_frame)
        put(code, M_SPILL, 0, registers, 0, slot_value(&v[c->dst], registers));
}

static NOINLINE void fix_jumps(struct code *code, int from, const int *label_at)
{
    for (int i = from; i < code->count; i++) {
        struct insn *n = &code->insns[i];
        if (n->op == M_JUMP || n->op == M_JUMP_ZERO || n->op == M_JUMP_NONZERO)
            n->value = label_at[n->value];
    }
}

void allocate_function(struct code *code, struct function *f, const struct ir_list *l, int registers)
{
    struct interval *v = malloc((size_t)l->registers * sizeof(*v));
    int *label_at = calloc((size_t)l->labels + 1, sizeof(int));
    find_intervals(l, v);
    int slots = scan_intervals(v, l->registers, registers);
    f->entry = code->count;
    f->frame_size = registers + SCRATCH + slots;
    for (int i = 0; i < l->count; i++) {
        if (l->code[i].op == I_LABEL)
            label_at[l->code[i].value] = code->count;
        else
            put_instruction(code, &l->code[i], v, registers);
    }
    fix_jumps(code, f->entry, label_at);
    code->spilled += slots;
    code->allocated += l->registers;
    free(v);
    free(label_at);
}
