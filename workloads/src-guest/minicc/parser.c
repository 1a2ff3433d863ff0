/* Recursive descent, with a table of precedences for the binary operators. */
#include "minicc.h"

enum { CHUNK_NODES = 128 };

struct node_chunk {
    struct node_chunk *next;
    int used;
    struct node nodes[CHUNK_NODES];
};

static struct node *parse_expression(struct unit *u, int precedence);
static struct node *parse_block(struct unit *u);

NOINLINE struct node *node_new(struct unit *u, enum node_kind kind)
{
    if (!u->chunks || u->chunks->used == CHUNK_NODES) {
        struct node_chunk *c = malloc(sizeof(*c));
        c->next = u->chunks;
        c->used = 0;
        u->chunks = c;
    }
    struct node *n = &u->chunks->nodes[u->chunks->used++];
    memset(n, 0, sizeof(*n));
    n->kind = (uint8_t)kind;
    u->nodes++;
    return n;
}

void unit_free(struct unit *u)
{
    while (u->chunks) {
        struct node_chunk *next = u->chunks->next;
        free(u->chunks);
        u->chunks = next;
    }
    lexer_free(&u->lexer);
}

static void syntax_error(struct unit *u, const char *expected)
{
    char message[64];
    snprintf(message, sizeof(message), "line %d: %s expected", u->lexer.line, expected);
    rt_fail(message);
}

static int at_operator(const struct unit *u, const char *spelling)
{
    return u->lexer.token.kind == T_OPERATOR && strcmp(u->lexer.token.spelling, spelling) == 0;
}

static int accept(struct unit *u, const char *spelling)
{
    if (!at_operator(u, spelling))
        return 0;
    lexer_next(&u->lexer);
    return 1;
}

static void expect(struct unit *u, const char *spelling)
{
    if (!accept(u, spelling))
        syntax_error(u, spelling);
}

static struct name *expect_name(struct unit *u)
{
    if (u->lexer.token.kind != T_NAME)
        syntax_error(u, "a name");
    struct name *n = u->lexer.token.name;
    lexer_next(&u->lexer);
    return n;
}

static int64_t expect_number(struct unit *u)
{
    if (u->lexer.token.kind != T_NUMBER)
        syntax_error(u, "a number");
    int64_t v = u->lexer.token.value;
    lexer_next(&u->lexer);
    return v;
}

/* A local that hides any outer one of its name until the block ends. */
static NOINLINE int declare_local(struct unit *u, struct function *f, struct name *name)
{
    if (u->scope_count == (int)ARRAY_LEN(u->scope))
        rt_fail("too many locals");
    u->scope[u->scope_count] = name;
    u->outer_local[u->scope_count++] = name->local;
    return name->local = f->locals++;
}

static NOINLINE void leave_scope(struct unit *u, int count)
{
    while (u->scope_count > count) {
        u->scope_count--;
        u->scope[u->scope_count]->local = u->outer_local[u->scope_count];
    }
}

/* A function may be called before it is defined. */
static NOINLINE int function_number(struct unit *u, struct name *name)
{
    if (name->function < 0) {
        if (u->function_count == MAX_FUNCTIONS)
            rt_fail("too many functions");
        name->function = u->function_count++;
        u->functions[name->function].name = name;
    }
    return name->function;
}

static NOINLINE struct node *parse_call(struct unit *u, struct name *name)
{
    struct node *n = node_new(u, N_CALL);
    n->index = function_number(u, name);
    struct node **end = &n->a;
    if (!accept(u, ")")) {
        do {
            if (n->value == MAX_ARGUMENTS)
                syntax_error(u, "fewer arguments");
            *end = parse_expression(u, 0);
            end = &(*end)->next;
            n->value++;
        } while (accept(u, ","));
        expect(u, ")");
    }
    return n;
}

static NOINLINE struct node *parse_name(struct unit *u)
{
    struct name *name = expect_name(u);
    if (accept(u, "("))
        return parse_call(u, name);
    if (accept(u, "[")) {
        struct node *n = node_new(u, N_ELEMENT);
        if (name->array < 0)
            syntax_error(u, "an array");
        n->index = name->array;
        n->a = parse_expression(u, 0);
        expect(u, "]");
        return n;
    }
    if (name->local < 0)
        syntax_error(u, "a local variable");
    struct node *n = node_new(u, N_LOCAL);
    n->index = name->local;
    return n;
}

static NOINLINE struct node *parse_primary(struct unit *u)
{
    struct node *n;
    if (u->lexer.token.kind == T_NUMBER) {
        n = node_new(u, N_NUMBER);
        n->value = expect_number(u);
    } else if (accept(u, "(")) {
        n = parse_expression(u, 0);
        expect(u, ")");
    } else if (accept(u, "-")) {
        n = node_new(u, N_NEGATE);
        n->a = parse_primary(u);
    } else if (accept(u, "!")) {
        n = node_new(u, N_NOT);
        n->a = parse_primary(u);
    } else {
        n = parse_name(u);
    }
    return n;
}

static const struct {
    char spelling[3];
    uint8_t op, precedence;
} operators[] = {
    {"||", LOGIC_OR, 1}, {"&&", LOGIC_AND, 2}, {"|", OR, 3},  {"^", XOR, 4}, {"&", AND, 5}, {"==", EQ, 6},
    {"!=", NE, 6},       {"<", LT, 7},         {"<=", LE, 7}, {">", GT, 7},  {">=", GE, 7}, {"+", ADD, 8},
    {"-", SUB, 8},       {"*", MUL, 9},        {"/", DIV, 9}, {"%", MOD, 9},
};

static NOINLINE int find_operator(const struct unit *u)
{
    if (u->lexer.token.kind == T_OPERATOR)
        for (size_t i = 0; i < ARRAY_LEN(operators); i++)
            if (strcmp(operators[i].spelling, u->lexer.token.spelling) == 0)
                return (int)i;
    return -1;
}

static NOINLINE struct node *parse_expression(struct unit *u, int precedence)
{
    struct node *left = parse_primary(u);
    int i;
    while ((i = find_operator(u)) >= 0 && operators[i].precedence > precedence) {
        struct node *n = node_new(u, operators[i].op >= OPERATORS ? N_LOGIC : N_BINARY);
        lexer_next(&u->lexer);
        n->op = operators[i].op;
        n->a = left;
        n->b = parse_expression(u, operators[i].precedence);
        left = n;
    }
    return left;
}

/* An assignment, or a call for its effects. */
static NOINLINE struct node *parse_assignment(struct unit *u)
{
    struct node *target = parse_name(u);
    if (target->kind != N_CALL) {
        struct node *n = node_new(u, target->kind == N_LOCAL ? N_ASSIGN : N_STORE);
        expect(u, "=");
        n->index = target->index;
        n->b = target->a;
        n->a = parse_expression(u, 0);
        target = n;
    }
    expect(u, ";");
    return target;
}

static NOINLINE struct node *parse_var(struct unit *u)
{
    struct node *n = node_new(u, N_ASSIGN);
    struct name *name = expect_name(u);
    expect(u, "=");
    n->a = parse_expression(u, 0);
    n->index = declare_local(u, u->current, name);
    expect(u, ";");
    return n;
}

static NOINLINE struct node *parse_if(struct unit *u)
{
    struct node *n = node_new(u, N_IF);
    n->a = parse_expression(u, 0);
    n->b = parse_block(u);
    if (u->lexer.token.kind == T_ELSE) {
        lexer_next(&u->lexer);
        n->c = parse_block(u);
    }
    return n;
}

static NOINLINE struct node *parse_statement(struct unit *u)
{
    enum token_kind kind = u->lexer.token.kind;
    struct node *n;
    if (kind == T_NAME)
        return parse_assignment(u);
    lexer_next(&u->lexer);
    switch (kind) {
    case T_VAR:
        return parse_var(u);
    case T_IF:
        return parse_if(u);
    case T_WHILE:
        n = node_new(u, N_WHILE);
        n->a = parse_expression(u, 0);
        n->b = parse_block(u);
        return n;
    case T_RETURN:
    case T_PRINT:
        n = node_new(u, kind == T_RETURN ? N_RETURN : N_PRINT);
        n->a = parse_expression(u, 0);
        expect(u, ";");
        return n;
    default:
        syntax_error(u, "a statement");
        return 0;
    }
}

static NOINLINE struct node *parse_block(struct unit *u)
{
    struct node *block = node_new(u, N_BLOCK), **end = &block->a;
    int scope = u->scope_count;
    expect(u, "{");
    while (!accept(u, "}")) {
        *end = parse_statement(u);
        end = &(*end)->next;
    }
    leave_scope(u, scope);
    return block;
}

static NOINLINE void parse_function(struct unit *u)
{
    struct function *f = &u->functions[function_number(u, expect_name(u))];
    if (f->defined)
        syntax_error(u, "a new function name");
    f->defined = 1;
    u->current = f;
    expect(u, "(");
    if (!accept(u, ")")) {
        do {
            declare_local(u, f, expect_name(u));
            f->parameters++;
        } while (accept(u, ","));
        expect(u, ")");
    }
    f->body = parse_block(u);
    leave_scope(u, 0);
}

static NOINLINE void parse_array(struct unit *u)
{
    struct name *name = expect_name(u);
    if (u->array_count == MAX_ARRAYS)
        syntax_error(u, "fewer arrays");
    expect(u, "[");
    name->array = u->array_count;
    u->array_sizes[u->array_count++] = (int)expect_number(u);
    expect(u, "]");
    expect(u, ";");
}

void unit_parse(struct unit *u, const char *text)
{
    memset(u, 0, sizeof(*u));
    lexer_start(&u->lexer, text);
    while (u->lexer.token.kind != T_END) {
        enum token_kind kind = u->lexer.token.kind;
        lexer_next(&u->lexer);
        if (kind == T_FUNC)
            parse_function(u);
        else if (kind == T_ARRAY)
            parse_array(u);
        else
            syntax_error(u, "a function or an array");
    }
    for (int i = 0; i < u->function_count; i++)
        if (!u->functions[i].defined)
            rt_fail("a function is not defined");
}
