/* Trees to intermediate code.  Locals are the first virtual registers; only statements change them, so
 * an expression may use them where they are. */
#include "minicc.h"

typedef int lowering(struct ir_list *l, const struct node *n); /* the register of the value, or -1 */

static int lower(struct ir_list *l, const struct node *n);

static NOINLINE void emit(struct ir_list *l, enum ir_op op, int dst, int a, int b, int64_t value)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->code = realloc(l->code, (size_t)l->capacity * sizeof(*l->code));
    }
    struct ir i = {(uint8_t)op, 0, dst, a, b, value};
    l->code[l->count++] = i;
}

static int lower_number(struct ir_list *l, const struct node *n)
{
    int dst = l->registers++;
    emit(l, I_CONST, dst, -1, -1, n->value);
    return dst;
}

static int lower_local(struct ir_list *l, const struct node *n)
{
    (void)l;
    return n->index;
}

static NOINLINE int lower_element(struct ir_list *l, const struct node *n)
{
    int index = lower(l, n->a), dst = l->registers++;
    emit(l, I_LOAD, dst, index, -1, n->index);
    return dst;
}

static NOINLINE int lower_binary(struct ir_list *l, const struct node *n)
{
    int a = lower(l, n->a), b = lower(l, n->b), dst = l->registers++;
    emit(l, I_BINARY, dst, a, b, 0);
    l->code[l->count - 1].operator= n->op;
    return dst;
}

static NOINLINE int lower_logic(struct ir_list *l, const struct node *n)
{
    int dst = l->registers++, end = l->labels++;
    int a = lower(l, n->a), half = l->registers++;
    emit(l, I_NOT, half, a, -1, 0);
    emit(l, I_NOT, dst, half, -1, 0);
    emit(l, n->op == LOGIC_AND ? I_JUMP_ZERO : I_JUMP_NONZERO, -1, dst, -1, end);
    int b = lower(l, n->b), other = l->registers++;
    emit(l, I_NOT, other, b, -1, 0);
    emit(l, I_NOT, dst, other, -1, 0);
    emit(l, I_LABEL, -1, -1, -1, end);
    return dst;
}

static NOINLINE int lower_unary(struct ir_list *l, const struct node *n)
{
    int a = lower(l, n->a), dst = l->registers++;
    emit(l, n->kind == N_NEGATE ? I_NEGATE : I_NOT, dst, a, -1, 0);
    return dst;
}

static NOINLINE int lower_call(struct ir_list *l, const struct node *n)
{
    int arguments[MAX_ARGUMENTS], count = 0, dst = l->registers++;
    for (const struct node *a = n->a; a; a = a->next)
        arguments[count++] = lower(l, a);
    for (int i = 0; i < count; i++)
        emit(l, I_ARGUMENT, -1, arguments[i], -1, i);
    emit(l, I_CALL, dst, -1, -1, n->index);
    return dst;
}

static NOINLINE int lower_assign(struct ir_list *l, const struct node *n)
{
    int a = lower(l, n->a);
    emit(l, I_MOVE, n->index, a, -1, 0);
    return -1;
}

static NOINLINE int lower_store(struct ir_list *l, const struct node *n)
{
    int index = lower(l, n->b), a = lower(l, n->a);
    emit(l, I_STORE, -1, index, a, n->index);
    return -1;
}

static NOINLINE int lower_if(struct ir_list *l, const struct node *n)
{
    int other = l->labels++, end = l->labels++;
    emit(l, I_JUMP_ZERO, -1, lower(l, n->a), -1, other);
    lower(l, n->b);
    emit(l, I_JUMP, -1, -1, -1, end);
    emit(l, I_LABEL, -1, -1, -1, other);
    if (n->c)
        lower(l, n->c);
    emit(l, I_LABEL, -1, -1, -1, end);
    return -1;
}

static NOINLINE int lower_while(struct ir_list *l, const struct node *n)
{
    int start = l->labels++, end = l->labels++;
    emit(l, I_LABEL, -1, -1, -1, start);
    emit(l, I_JUMP_ZERO, -1, lower(l, n->a), -1, end);
    lower(l, n->b);
    emit(l, I_JUMP, -1, -1, -1, start);
    emit(l, I_LABEL, -1, -1, -1, end);
    return -1;
}

static int lower_return(struct ir_list *l, const struct node *n)
{
    emit(l, n->kind == N_RETURN ? I_RETURN : I_PRINT, -1, lower(l, n->a), -1, 0);
    return -1;
}

static NOINLINE int lower_block(struct ir_list *l, const struct node *n)
{
    for (const struct node *s = n->a; s; s = s->next)
        lower(l, s);
    return -1;
}

static lowering *const lowerings[N_KINDS] = {
    [N_NUMBER] = lower_number, [N_LOCAL] = lower_local,   [N_ELEMENT] = lower_element, [N_BINARY] = lower_binary,
    [N_LOGIC] = lower_logic,   [N_NEGATE] = lower_unary,  [N_NOT] = lower_unary,       [N_CALL] = lower_call,
    [N_ASSIGN] = lower_assign, [N_STORE] = lower_store,   [N_IF] = lower_if,           [N_WHILE] = lower_while,
    [N_RETURN] = lower_return, [N_PRINT] = lower_return,  [N_BLOCK] = lower_block,
};

static NOINLINE int lower(struct ir_list *l, const struct node *n)
{
    return lowerings[n->kind](l, n);
}

void lower_function(struct ir_list *l, const struct function *f)
{
    l->count = l->labels = 0;
    l->registers = f->locals;
    for (int i = 0; i < f->parameters; i++)
        emit(l, I_PARAMETER, i, -1, -1, i);
    lower(l, f->body);
    int zero = l->registers++;
    emit(l, I_CONST, zero, -1, -1, 0);
    emit(l, I_RETURN, -1, zero, -1, 0);
}
