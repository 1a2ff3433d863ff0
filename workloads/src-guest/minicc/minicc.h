/* A small compiler and the machine that its code runs on.
 *
 * source (source.c) -> tokens (lexer.c) -> tree (parser.c) -> folded tree (fold.c) -> intermediate
 * code (lower.c) -> cleaned code (clean.c) -> machine code in few registers (allocate.c) -> run
 * (machine.c). */
#ifndef MINICC_H
#define MINICC_H

#include "rt.h"

enum { NAME_SIZE = 24, MAX_ARGUMENTS = 6, MAX_FUNCTIONS = 512, MAX_ARRAYS = 32, MAX_REGISTERS = 16, SCRATCH = 2 };

/* Operators of the language; the order is that of the machine's instructions. */
enum operator { ADD, SUB, MUL, DIV, MOD, AND, OR, XOR, LT, LE, GT, GE, EQ, NE, OPERATORS, LOGIC_AND = OPERATORS, LOGIC_OR };
/* What an operator gives: wraps, and dividing by zero gives zero. */
int64_t apply_operator(int op, int64_t a, int64_t b);

/* Source text (source.c). */
struct text {
    char *bytes;
    size_t length, capacity;
};
void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Programs: fixed algorithms, and generated functions. */
void write_algorithms(struct text *t, int work);
void write_generated(struct text *t, struct rng *rng, int functions, int rounds);

/* Lexer (lexer.c). */
enum token_kind { T_END, T_NUMBER, T_NAME, T_OPERATOR, T_FUNC, T_VAR, T_ARRAY, T_IF, T_ELSE, T_WHILE, T_RETURN, T_PRINT };
struct name {
    char text[NAME_SIZE];
    struct name *next;
    int local, array, function; /* number of what the name stands for now, -1 if nothing */
};
struct token {
    enum token_kind kind;
    int64_t value;
    struct name *name;
    char spelling[3]; /* of an operator */
};
struct lexer {
    const char *at;
    int line;
    long tokens;
    struct token token; /* the current one */
    struct name *names[128];
};
void lexer_start(struct lexer *l, const char *text);
void lexer_next(struct lexer *l);
void lexer_free(struct lexer *l);

/* Trees. */
enum node_kind {
    N_NUMBER, N_LOCAL, N_ELEMENT, N_BINARY, N_LOGIC, N_NEGATE, N_NOT, N_CALL, N_ASSIGN, N_STORE, N_IF, N_WHILE,
    N_RETURN, N_PRINT, N_BLOCK, N_KINDS
};
struct node {
    uint8_t kind, op;
    int index; /* of a local, array or function */
    int64_t value;
    struct node *a, *b, *c;
    struct node *next; /* in a block or an argument list */
};
struct function {
    struct name *name;
    int parameters, locals;
    struct node *body;
    int defined, entry, frame_size;
};
struct unit {
    struct lexer lexer;
    struct function functions[MAX_FUNCTIONS];
    struct function *current; /* the one that is parsed */
    int function_count;
    int array_sizes[MAX_ARRAYS], array_count;
    struct node_chunk *chunks;
    long nodes, folded;
    struct name *scope[256]; /* locals that can be seen */
    int outer_local[256], scope_count;
};
struct node *node_new(struct unit *u, enum node_kind kind);
void unit_parse(struct unit *u, const char *text);
void unit_free(struct unit *u);

/* Folding (fold.c). */
struct node *fold(struct unit *u, struct node *n);

/* Intermediate code (lower.c): virtual registers without limit. */
enum ir_op {
    I_CONST, I_MOVE, I_BINARY, I_NEGATE, I_NOT, I_LOAD, I_STORE, I_LABEL, I_JUMP, I_JUMP_ZERO, I_JUMP_NONZERO, I_ARGUMENT,
    I_PARAMETER, I_CALL, I_RETURN, I_PRINT, I_NOTHING
};
struct ir {
    uint8_t op, operator;
    int dst, a, b; /* virtual registers, -1 if unused */
    int64_t value;
};
struct ir_list {
    struct ir *code;
    int count, capacity, registers, labels;
};
void lower_function(struct ir_list *list, const struct function *f);
int clean_code(struct ir_list *list);

/* Machine code (allocate.c) and the machine (machine.c). */
enum machine_op {
    M_CONST = OPERATORS, M_MOVE, M_NEGATE, M_NOT, M_LOAD, M_STORE, M_JUMP, M_JUMP_ZERO, M_JUMP_NONZERO, M_ARGUMENT,
    M_PARAMETER, M_CALL, M_RETURN, M_PRINT, M_RELOAD, M_SPILL, M_OPS
};
struct insn {
    uint8_t op, dst, a, b;
    int32_t value;
};
struct code {
    struct insn *insns;
    int count, capacity;
    long spilled, allocated;
};
/* Appends the function's code; sets its entry and frame size. */
void allocate_function(struct code *code, struct function *f, const struct ir_list *list, int registers);

struct run_result {
    uint64_t output;
    long executed, prints, calls;
};
struct run_result machine_run(const struct unit *u, const struct code *code, int main_function);

#endif
