/* The assembler: one pass over the text that records labels and fixes forward references at the end. */
#include "vm.h"

enum { MAX_LABELS = 128, MAX_FIXES = 512 };

struct label {
    char name[24];
    int target;
};

struct assembler {
    struct vm *vm;
    const char *at;
    char token[32];
    struct label labels[MAX_LABELS];
    int label_count;
    struct {
        int place, label;
    } fixes[MAX_FIXES];
    int fix_count;
};

#define AS_NAME(name, operands) #name,
static const char *const opcode_names[] = {OPCODES(AS_NAME)};
#undef AS_NAME
#define AS_OPERANDS(name, operands) operands,
static const uint8_t opcode_operands[] = {OPCODES(AS_OPERANDS)};
#undef AS_OPERANDS

static NOINLINE int next_token(struct assembler *a)
{
    while (*a->at == ' ' || *a->at == '\n')
        a->at++;
    int n = 0;
    while (*a->at && *a->at != ' ' && *a->at != '\n' && n < 31)
        a->token[n++] = *a->at++;
    a->token[n] = 0;
    return n;
}

static NOINLINE int parse_number(const char *s, int *out)
{
    int sign = 1, v = 0;
    if (*s == '-') {
        sign = -1;
        s++;
    }
    if (*s < '0' || *s > '9')
        return 0;
    for (; *s >= '0' && *s <= '9'; s++)
        v = v * 10 + (*s - '0');
    *out = sign * v;
    return 1;
}

/* Labels are local to a function: its number is part of the name that is compared. */
static NOINLINE int label_number(struct assembler *a, const char *name)
{
    for (int i = 0; i < a->label_count; i++)
        if (strcmp(a->labels[i].name, name) == 0)
            return i;
    if (a->label_count == MAX_LABELS)
        rt_fail("too many labels");
    struct label *l = &a->labels[a->label_count];
    strcpy(l->name, name);
    l->target = -1;
    return a->label_count++;
}

int find_function(const struct vm *vm, const char *name)
{
    for (int i = 0; i < vm->function_count; i++)
        if (strcmp(vm->functions[i].name, name) == 0)
            return i;
    return -1;
}

/* A function may be called before its text. */
static NOINLINE int function_number(struct vm *vm, const char *name)
{
    int f = find_function(vm, name);
    if (f >= 0)
        return f;
    if (vm->function_count == MAX_FUNCTIONS)
        rt_fail("too many functions");
    strcpy(vm->functions[vm->function_count].name, name);
    vm->functions[vm->function_count].entry = -1;
    return vm->function_count++;
}

static int find_opcode(const char *name)
{
    for (int i = 0; i < OPCODE_COUNT; i++)
        if (strcmp(opcode_names[i], name) == 0)
            return i;
    rt_fail("unknown opcode");
}

static int expect_number(struct assembler *a)
{
    int v;
    next_token(a);
    if (!parse_number(a->token, &v))
        rt_fail("number expected");
    return v;
}

static void fix_labels(struct assembler *a)
{
    for (int i = 0; i < a->fix_count; i++) {
        int target = a->labels[a->fixes[i].label].target;
        if (target < 0)
            rt_fail("undefined label");
        a->vm->code[a->fixes[i].place] = target;
    }
    a->fix_count = a->label_count = 0;
}

static NOINLINE void begin_function(struct assembler *a)
{
    fix_labels(a);
    next_token(a);
    struct function *f = &a->vm->functions[function_number(a->vm, a->token)];
    f->entry = a->vm->code_length;
    f->arguments = expect_number(a);
    f->locals = expect_number(a);
}

static NOINLINE void assemble_operand(struct assembler *a, int op)
{
    struct vm *vm = a->vm;
    int v = 0;
    next_token(a);
    if (op == OP_call) {
        v = function_number(vm, a->token);
    } else if (op == OP_native) {
        v = find_native(a->token);
    } else if (op == OP_jump || op == OP_jz || op == OP_jnz) {
        if (a->fix_count == MAX_FIXES)
            rt_fail("too many jumps");
        a->fixes[a->fix_count].place = vm->code_length;
        a->fixes[a->fix_count++].label = label_number(a, a->token);
    } else if (!parse_number(a->token, &v)) {
        rt_fail("bad operand");
    }
    vm->code[vm->code_length++] = v;
}

/* "func NAME ARGUMENTS LOCALS", "method CLASS NUMBER FUNCTION", "LABEL:" or an instruction. */
void assemble(struct vm *vm, const char *text)
{
    struct assembler *a = calloc(1, sizeof(*a));
    a->vm = vm;
    a->at = text;
    int n;
    while ((n = next_token(a)) > 0) {
        if (strcmp(a->token, "func") == 0) {
            begin_function(a);
        } else if (strcmp(a->token, "method") == 0) {
            int class = expect_number(a), method = expect_number(a);
            next_token(a);
            vm->methods[class][method] = function_number(vm, a->token);
        } else if (a->token[n - 1] == ':') {
            a->token[n - 1] = 0;
            a->labels[label_number(a, a->token)].target = vm->code_length;
        } else {
            int op = find_opcode(a->token);
            vm->code[vm->code_length++] = op;
            for (int i = 0; i < opcode_operands[op]; i++)
                assemble_operand(a, op);
        }
        if (vm->code_length > MAX_CODE - 8)
            rt_fail("program too long");
    }
    fix_labels(a);
    free(a);
}
