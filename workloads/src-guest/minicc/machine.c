/* The machine: every call has its own registers in its frame. */
#include "minicc.h"

enum { MEMORY_WORDS = 1 << 13, MAX_DEPTH = 512 };

struct call {
    const struct function *function;
    int64_t *frame;
    int return_to, dst; /* where the caller goes on and wants the result */
};

struct machine {
    const struct unit *unit;
    int64_t *arrays[MAX_ARRAYS];
    int64_t memory[MEMORY_WORDS];
    int64_t arguments[MAX_ARGUMENTS];
    struct call calls[MAX_DEPTH];
    int depth;
    struct run_result result;
};

static NOINLINE int64_t *element(struct machine *m, int array, int64_t index)
{
    if (index < 0 || index >= m->unit->array_sizes[array])
        rt_fail("an index is out of range");
    return &m->arrays[array][index];
}

/* Pushes a call; its frame lies above that of the caller. */
static NOINLINE struct call *enter(struct machine *m, int number, int return_to, int dst)
{
    const struct call *caller = &m->calls[m->depth - 1];
    struct call *c = &m->calls[m->depth];
    c->function = &m->unit->functions[number];
    c->frame = caller->frame + caller->function->frame_size;
    c->return_to = return_to;
    c->dst = dst;
    if (++m->depth == MAX_DEPTH || c->frame + c->function->frame_size > m->memory + MEMORY_WORDS)
        rt_fail("the stack is full");
    m->result.calls++;
    return c;
}

static NOINLINE void print_value(struct machine *m, int64_t value)
{
    m->result.output = checksum_word(m->result.output, (uint64_t)value);
    m->result.prints++;
}

/* Runs from the only call on the stack until that one returns. */
static NOINLINE void execute(struct machine *m, const struct insn *code)
{
    int64_t *frame = m->calls[0].frame;
    int pc = m->calls[0].function->entry;
    long executed = 0;
    for (;;) {
        const struct insn *i = &code[pc++];
        executed++;
        switch (i->op) {
        case ADD: frame[i->dst] = (int64_t)((uint64_t)frame[i->a] + (uint64_t)frame[i->b]); break;
        case SUB: frame[i->dst] = (int64_t)((uint64_t)frame[i->a] - (uint64_t)frame[i->b]); break;
        case MUL: frame[i->dst] = (int64_t)((uint64_t)frame[i->a] * (uint64_t)frame[i->b]); break;
        case DIV:
        case MOD: frame[i->dst] = apply_operator(i->op, frame[i->a], frame[i->b]); break;
        case AND: frame[i->dst] = frame[i->a] & frame[i->b]; break;
        case OR: frame[i->dst] = frame[i->a] | frame[i->b]; break;
        case XOR: frame[i->dst] = frame[i->a] ^ frame[i->b]; break;
        case LT: frame[i->dst] = frame[i->a] < frame[i->b]; break;
        case LE: frame[i->dst] = frame[i->a] <= frame[i->b]; break;
        case GT: frame[i->dst] = frame[i->a] > frame[i->b]; break;
        case GE: frame[i->dst] = frame[i->a] >= frame[i->b]; break;
        case EQ: frame[i->dst] = frame[i->a] == frame[i->b]; break;
        case NE: frame[i->dst] = frame[i->a] != frame[i->b]; break;
        case M_CONST: frame[i->dst] = i->value; break;
        case M_MOVE: frame[i->dst] = frame[i->a]; break;
        case M_NEGATE: frame[i->dst] = (int64_t)(0 - (uint64_t)frame[i->a]); break;
        case M_NOT: frame[i->dst] = !frame[i->a]; break;
        case M_LOAD: frame[i->dst] = *element(m, i->value, frame[i->a]); break;
        case M_STORE: *element(m, i->value, frame[i->a]) = frame[i->b]; break;
        case M_JUMP: pc = i->value; break;
        case M_JUMP_ZERO: pc = frame[i->a] == 0 ? i->value : pc; break;
        case M_JUMP_NONZERO: pc = frame[i->a] != 0 ? i->value : pc; break;
        case M_ARGUMENT: m->arguments[i->value] = frame[i->a]; break;
        case M_PARAMETER: frame[i->dst] = m->arguments[i->value]; break;
        case M_CALL: {
            const struct call *c = enter(m, i->value, pc, i->dst);
            frame = c->frame;
            pc = c->function->entry;
            break;
        }
        case M_RETURN: {
            int64_t value = frame[i->a];
            const struct call *c = &m->calls[--m->depth];
            if (m->depth == 0) {
                m->result.executed = executed;
                return;
            }
            frame = c[-1].frame;
            pc = c->return_to;
            frame[c->dst] = value;
            break;
        }
        case M_PRINT: print_value(m, frame[i->a]); break;
        case M_RELOAD: frame[i->dst] = frame[i->value]; break;
        case M_SPILL: frame[i->value] = frame[i->a]; break;
        default: rt_fail("no such instruction");
        }
    }
}

struct run_result machine_run(const struct unit *u, const struct code *code, int main_function)
{
    struct machine *m = calloc(1, sizeof(*m));
    m->unit = u;
    m->result.output = CHECKSUM_START;
    for (int i = 0; i < u->array_count; i++)
        m->arrays[i] = calloc((size_t)u->array_sizes[i], sizeof(int64_t));
    m->calls[0].function = &u->functions[main_function];
    m->calls[0].frame = m->memory;
    m->depth = 1;
    execute(m, code->insns);
    for (int i = 0; i < u->array_count; i++)
        free(m->arrays[i]);
    struct run_result result = m->result;
    free(m);
    return result;
}
