/* A bytecode interpreter: a text assembler, two engines (threaded by computed goto, and a table of
 * handler functions), objects with method tables, native functions and a mark-sweep collector. */
#ifndef VM_H
#define VM_H

#include "rt.h"

typedef int64_t value; /* an integer, or a handle of an array with TAG set */

enum { STACK_SLOTS = 16384, FRAME_LIMIT = 1024, MAX_FUNCTIONS = 64, MAX_CODE = 4096, MAX_CLASSES = 8, MAX_METHODS = 4 };

/* name, number of operands */
#define OPCODES(X)                                                                                                     \
    X(push, 1) X(load, 1) X(store, 1) X(global, 1) X(setglobal, 1) X(add, 0) X(sub, 0) X(mul, 0) X(div, 0) X(mod, 0)    \
    X(and, 0) X(or, 0) X(xor, 0) X(shl, 0) X(shr, 0) X(lt, 0) X(le, 0) X(eq, 0) X(ne, 0) X(not, 0) X(dup, 0) X(pop, 0)  \
    X(jump, 1) X(jz, 1) X(jnz, 1) X(call, 1) X(ret, 0) X(array, 0) X(get, 0) X(put, 0) X(len, 0) X(send, 2)             \
    X(native, 1) X(inc, 2) X(halt, 0)

#define AS_ENUM(name, operands) OP_##name,
enum opcode { OPCODES(AS_ENUM) OPCODE_COUNT };
#undef AS_ENUM

struct function {
    char name[24];
    int entry, arguments, locals;
};

struct frame {
    const int32_t *return_to;
    int base;
};

/* Elements follow the header. */
struct array {
    int length, marked, in_use;
    value *elements;
};

struct vm {
    int32_t code[MAX_CODE];
    int code_length;
    struct function functions[MAX_FUNCTIONS];
    int function_count;
    int methods[MAX_CLASSES][MAX_METHODS]; /* function numbers */
    value globals[32];
    value stack[STACK_SLOTS];
    int top;
    struct frame frames[FRAME_LIMIT];
    int depth, base;
    struct array *heap;
    int heap_size, heap_used, allocated_since, collect_after;
    int *free_handles, free_count;
    long collections, executed;
    uint64_t output;
};

/* Assembler (assemble.c). */
void assemble(struct vm *vm, const char *text);
int find_function(const struct vm *vm, const char *name);

/* Heap (heap.c). */
#define HANDLE_TAG (INT64_C(1) << 62)
value heap_new(struct vm *vm, int length);
struct array *heap_array(struct vm *vm, value handle);
value *heap_element(struct vm *vm, value handle, value index);
/* Collects when `collect_after` arrays were made since the last time. */
void heap_start(struct vm *vm, int handles, int collect_after);
void heap_free(struct vm *vm);

/* Native functions (native.c); each takes and leaves values on the stack. */
typedef void native_function(struct vm *vm);
int find_native(const char *name);
extern native_function *const natives[];

/* Engines (threaded.c, table.c). */
typedef void engine(struct vm *vm, const int32_t *pc);
engine run_threaded, run_table;

/* Shared by both engines (frames.c). */
const int32_t *enter_function(struct vm *vm, int function, const int32_t *return_to);
const int32_t *leave_function(struct vm *vm);
int lookup_method(struct vm *vm, value object, int method);

static inline void push(struct vm *vm, value v) { vm->stack[vm->top++] = v; }
static inline value pop(struct vm *vm) { return vm->stack[--vm->top]; }

/* The programs (programs.c). */
struct program {
    const char *name, *text;
    int small, large; /* argument of main */
};
extern const struct program programs[];
extern const int program_count;

#endif
