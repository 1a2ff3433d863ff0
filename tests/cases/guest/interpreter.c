/* Plays a CPython 3.13: the state of an interpreter as its table of offsets describes it, and a loop that executes functions
 * of a few instructions. The functions' work is known: WORK n spins 100 * n times. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 0x030d05f0
#endif

struct type { uint64_t head[3]; const char *name; };
struct object { uint64_t references; struct type *type; };
struct text { struct object object; uint64_t length, hash; uint32_t state; char ascii[64]; };
struct bytes { struct object object; uint64_t size, hash; uint8_t content[64]; };
struct code {
    struct object object;
    struct text *file, *name;
    struct bytes *lines;
    int first_line;
    uint16_t insts[16];
};
struct frame {
    struct code *volatile executable;
    struct frame *volatile previous;
    uint16_t *volatile inst;
    char volatile owner;
};
struct thread { struct thread *prev, *next; struct frame *volatile frame; struct frame stack[8]; int depth; };
struct interpreter { struct interpreter *next; struct thread *threads; };

struct {
    char cookie[8];
    uint64_t words[70];
    struct interpreter *volatile interpreters;
} _PyRuntime = { "xdebugpy", {
    [0] = VERSION,
    [4] = 8 + 70 * 8,
    [7] = offsetof(struct interpreter, next), [8] = offsetof(struct interpreter, threads),
    [20] = offsetof(struct thread, next), [22] = offsetof(struct thread, frame),
    [28] = offsetof(struct frame, previous), [29] = offsetof(struct frame, executable),
    [30] = offsetof(struct frame, inst), [32] = offsetof(struct frame, owner),
    [34] = offsetof(struct code, file), [36] = offsetof(struct code, name), [37] = offsetof(struct code, lines),
    [38] = offsetof(struct code, first_line), [42] = offsetof(struct code, insts),
    [44] = offsetof(struct object, type), [46] = offsetof(struct type, name),
    [64] = offsetof(struct bytes, size), [65] = offsetof(struct bytes, content),
    [67] = offsetof(struct text, state), [68] = offsetof(struct text, length), [69] = offsetof(struct text, ascii),
} };

static struct type code_type = { .name = "code" };
static struct text file = { .length = 9, .state = 1 << 2 | 1 << 5 | 1 << 6, .ascii = "script.py" };
/* Each instruction is one line behind the one before it. */
static struct bytes lines = { .size = 32 };

enum { WORK = 1 << 8, CALL = 2 << 8, NATIVE = 3 << 8, RETURN = 4 << 8, FORK = 5 << 8 };
enum { MODULE, FEW, MANY, BACK, DEEP, FORKS, FUNCTIONS };
static const char *const names[] = { "<module>", "few", "Class.many", "back", "deep", "forks" };
static const uint16_t programs[][8] = {
    { CALL | FEW, CALL | MANY, NATIVE | BACK, RETURN },
    { WORK | 10, RETURN },
    { WORK | 30, WORK | 20, CALL | FEW, RETURN },
    { CALL | FEW, WORK | 7, RETURN },
    { WORK | 3, NATIVE | FEW, RETURN },
    { CALL | FEW, FORK, CALL | FEW, RETURN },
};
static struct text texts[FUNCTIONS];
static struct code codes[FUNCTIONS];
static int is_child;

__attribute__((noinline)) void spin(long n)
{
    for (long i = 0; i < n; i++)
        __asm__ volatile("");
}

static void run(struct thread *thread, struct code *code);

__attribute__((noinline)) void native(struct thread *thread, struct code *code)
{
    spin(5);
    run(thread, code);
    spin(500);
}

static struct frame *push(struct thread *thread, struct code *code)
{
    struct frame *frame = &thread->stack[thread->depth++];
    frame->executable = code;
    frame->inst = code->insts;
    frame->owner = 0;
    return frame;
}

__attribute__((noinline)) static void run(struct thread *thread, struct code *code)
{
    struct frame entry;
    struct frame *frame = push(thread, code);
    uint16_t *next = code->insts;
    entry.previous = thread->frame;
    frame->previous = &entry;
    /* As compilers do: the frame of the loop is not complete when the new frame becomes the current one. */
    thread->frame = frame;
    entry.executable = 0;
    entry.owner = 3;
    for (;;) {
        frame->inst = next;
        uint16_t inst = *next++;
        switch (inst & 0xff00) {
        case WORK:
            spin(100 * (inst & 255));
            break;
        case CALL: {
            struct frame *inner = push(thread, &codes[inst & 255]);
            inner->previous = frame;
            thread->frame = frame = inner;
            next = inner->executable->insts;
            break;
        }
        case NATIVE:
            native(thread, &codes[inst & 255]);
            break;
        case FORK:
            is_child = fork() == 0;
            if (!is_child)
                wait(NULL);
            break;
        default:
            thread->depth--;
            thread->frame = frame = frame->previous;
            if (frame->owner == 3) {
                thread->frame = frame->previous;
                return;
            }
            next = frame->inst + 1;
        }
    }
}

static struct thread first, second;
static struct interpreter interpreter = { .threads = &first };

static void *other(void *unused)
{
    run(&second, &codes[DEEP]);
    return unused;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 32; i += 2) {
        lines.content[i] = 0x80 | 13 << 3;
        lines.content[i + 1] = i == 0 ? 0 : 2;
    }
    for (int i = 0; i < FUNCTIONS; i++) {
        texts[i] = (struct text) { .length = strlen(names[i]), .state = 1 << 2 | 1 << 5 | 1 << 6 };
        strcpy(texts[i].ascii, names[i]);
        codes[i] = (struct code) { { 1, &code_type }, &file, &texts[i], &lines, 10 * (i + 1) };
        memcpy(codes[i].insts, programs[i], sizeof programs[i]);
    }
    _PyRuntime.interpreters = &interpreter;
    if (argc > 1 && strcmp(argv[1], "processes") == 0) {
        run(&first, &codes[FORKS]);
        if (is_child)
            execl(argv[0], argv[0], NULL);
        return is_child;
    }
    pthread_t thread;
    if (argc > 1) {
        first.next = &second;
        pthread_create(&thread, NULL, other, NULL);
    }
    run(&first, &codes[MODULE]);
    if (argc > 1)
        pthread_join(thread, NULL);
    puts(argv[0] ? "done" : "");
    return 0;
}
