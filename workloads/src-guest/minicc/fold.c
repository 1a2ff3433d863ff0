/* Folding of constants and simple identities, with one function for each kind of node. */
#include "minicc.h"

typedef struct node *folder(struct unit *u, struct node *n);

int64_t apply_operator(int op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case ADD: return (int64_t)(x + y);
    case SUB: return (int64_t)(x - y);
    case MUL: return (int64_t)(x * y);
    case DIV: return b == 0 ? 0 : b == -1 ? (int64_t)(0 - x) : a / b;
    case MOD: return b == 0 || b == -1 ? 0 : a % b;
    case AND: return a & b;
    case OR: return a | b;
    case XOR: return a ^ b;
    case LT: return a < b;
    case LE: return a <= b;
    case GT: return a > b;
    case GE: return a >= b;
    case EQ: return a == b;
    case NE: return a != b;
    default: rt_fail("no such operator");
    }
}

static int is_number(const struct node *n, int64_t value)
{
    return n->kind == N_NUMBER && n->value == value;
}

/* The node becomes a number, if an instruction can hold it. */
static NOINLINE struct node *to_number(struct unit *u, struct node *n, int64_t value)
{
    if (value < INT32_MIN || value > INT32_MAX)
        return n;
    struct node *next = n->next;
    memset(n, 0, sizeof(*n));
    n->kind = N_NUMBER;
    n->value = value;
    n->next = next;
    u->folded++;
    return n;
}

static struct node *replace(struct unit *u, struct node *n, struct node *by)
{
    by->next = n->next;
    u->folded++;
    return by;
}

static NOINLINE void fold_list(struct unit *u, struct node **list)
{
    for (; *list; list = &(*list)->next)
        *list = fold(u, *list);
}

static NOINLINE struct node *fold_children(struct unit *u, struct node *n)
{
    if (n->a)
        n->a = fold(u, n->a);
    if (n->b)
        n->b = fold(u, n->b);
    if (n->c)
        n->c = fold(u, n->c);
    return n;
}

static NOINLINE struct node *fold_binary(struct unit *u, struct node *n)
{
    fold_children(u, n);
    if (n->a->kind == N_NUMBER && n->b->kind == N_NUMBER)
        return to_number(u, n, apply_operator(n->op, n->a->value, n->b->value));
    if ((n->op == ADD || n->op == SUB || n->op == OR || n->op == XOR) && is_number(n->b, 0))
        return replace(u, n, n->a);
    if ((n->op == ADD || n->op == OR) && is_number(n->a, 0))
        return replace(u, n, n->b);
    if ((n->op == MUL || n->op == DIV) && is_number(n->b, 1))
        return replace(u, n, n->a);
    if (n->op == MUL && is_number(n->a, 1))
        return replace(u, n, n->b);
    /* (x + c) + d is x + (c + d) */
    if (n->op == ADD && n->b->kind == N_NUMBER && n->a->kind == N_BINARY && n->a->op == ADD && n->a->b->kind == N_NUMBER) {
        int64_t sum = n->a->b->value + n->b->value;
        if (to_number(u, n->b, sum)->value == sum)
            n->a = n->a->a;
    }
    return n;
}

static NOINLINE struct node *fold_logic(struct unit *u, struct node *n)
{
    fold_children(u, n);
    if (n->a->kind != N_NUMBER)
        return n;
    int truth = n->a->value != 0;
    if (truth == (n->op == LOGIC_OR))
        return to_number(u, n, truth);
    return n->b->kind == N_NUMBER ? to_number(u, n, n->b->value != 0) : n;
}

static NOINLINE struct node *fold_unary(struct unit *u, struct node *n)
{
    fold_children(u, n);
    if (n->a->kind == N_NUMBER)
        return to_number(u, n, n->kind == N_NEGATE ? -n->a->value : !n->a->value);
    if (n->kind == N_NEGATE && n->a->kind == N_NEGATE)
        return replace(u, n, n->a->a);
    return n;
}

static NOINLINE struct node *fold_call(struct unit *u, struct node *n)
{
    fold_list(u, &n->a);
    return n;
}

static NOINLINE struct node *fold_if(struct unit *u, struct node *n)
{
    fold_children(u, n);
    if (n->a->kind != N_NUMBER)
        return n;
    struct node *kept = n->a->value ? n->b : n->c;
    return replace(u, n, kept ? kept : node_new(u, N_BLOCK));
}

static NOINLINE struct node *fold_while(struct unit *u, struct node *n)
{
    fold_children(u, n);
    return is_number(n->a, 0) ? replace(u, n, node_new(u, N_BLOCK)) : n;
}

static struct node *fold_leaf(struct unit *u, struct node *n)
{
    (void)u;
    return n;
}

static folder *const folders[N_KINDS] = {
    [N_NUMBER] = fold_leaf,   [N_LOCAL] = fold_leaf,      [N_ELEMENT] = fold_children, [N_BINARY] = fold_binary,
    [N_LOGIC] = fold_logic,   [N_NEGATE] = fold_unary,    [N_NOT] = fold_unary,        [N_CALL] = fold_call,
    [N_ASSIGN] = fold_children, [N_STORE] = fold_children, [N_IF] = fold_if,           [N_WHILE] = fold_while,
    [N_RETURN] = fold_children, [N_PRINT] = fold_children, [N_BLOCK] = fold_call,
};

NOINLINE struct node *fold(struct unit *u, struct node *n)
{
    return folders[n->kind](u, n);
}
