/* The programs that are compiled. */
#include "minicc.h"

NOINLINE void text_add(struct text *t, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (n >= (int)sizeof(line))
        rt_fail("a line is too long");
    if (t->length + (size_t)n + 1 > t->capacity) {
        t->capacity = 2 * t->capacity + 4096;
        t->bytes = realloc(t->bytes, t->capacity);
    }
    memcpy(t->bytes + t->length, line, (size_t)n + 1);
    t->length += (size_t)n;
}

static const char *const algorithms[] = {
    "array flags[4000]; array board[16]; array heap[600]; array memo[300];\n"
    "func gcd(a, b) { while (b != 0) { var t = a % b; a = b; b = t; } return a; }\n",
    "func sieve(n) { var i = 0; var count = 0; while (i <= n) { flags[i] = i >= 2; i = i + 1; } i = 2;\n"
    "  while (i <= n) { if (flags[i]) { count = count + 1; var k = i * i;\n"
    "    while (k <= n) { flags[k] = 0; k = k + i; } } i = i + 1; } return count; }\n",
    "func safe(row, column) { var i = 0; while (i < row) { var d = board[i] - column;\n"
    "  if (d == 0 || d == row - i || d == i - row) { return 0; } i = i + 1; } return 1; }\n",
    "func queens(row, n) { if (row == n) { return 1; } var c = 0; var found = 0; while (c < n) {\n"
    "  if (safe(row, c)) { board[row] = c; found = found + queens(row + 1, n); } c = c + 1; } return found; }\n",
    "func collatz(n) { var steps = 0; while (n != 1) { if (n % 2 == 0) { n = n / 2; } else { n = 3 * n + 1; }\n"
    "  steps = steps + 1; } return steps; }\n",
    "func sift(at, n) { while (2 * at + 1 < n) { var k = 2 * at + 1;\n"
    "  if (k + 1 < n && heap[k] < heap[k + 1]) { k = k + 1; } if (heap[at] >= heap[k]) { return 0; }\n"
    "  var t = heap[at]; heap[at] = heap[k]; heap[k] = t; at = k; } return 0; }\n",
    "func heapsort(n) { var i = n / 2; while (i > 0) { i = i - 1; sift(i, n); } i = n;\n"
    "  while (i > 1) { i = i - 1; var t = heap[0]; heap[0] = heap[i]; heap[i] = t; sift(0, i); }\n"
    "  i = 1; while (i < n) { if (heap[i - 1] > heap[i]) { return 0 - 1; } i = i + 1; } return heap[n / 2]; }\n",
    "func ways(n, coin) { if (n == 0) { return 1; } if (n < 0 || coin == 0) { return 0; }\n"
    "  return ways(n, coin - 1) + ways(n - coin * coin, coin); }\n",
};

void write_algorithms(struct text *t, int work)
{
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++)
        text_add(t, "%s", algorithms[i]);
    text_add(t, "func main() { print sieve(%d); print queens(0, %d); print ways(%d, 6);\n", 100 * work, work < 4 ? 4 : 7,
             5 * work);
    text_add(t, "  var i = 1; var sum = 0; while (i < %d) { sum = sum + collatz(i) * gcd(i, 360); i = i + 1; }\n", 15 * work);
    text_add(t, "  print sum; i = 0; while (i < %d) { heap[i] = i * 7919 %% 1009; i = i + 1; }\n", 15 * work);
    text_add(t, "  print heapsort(%d); return 0; }\n", 15 * work);
}

/* Generated functions: expressions over what is in scope, bounded loops, calls of earlier ones. */
struct writer {
    struct text *text;
    struct rng *rng;
    int variables, next_variable;
};

static uint32_t dice(struct writer *w, uint32_t sides)
{
    return rng_below(w->rng, sides);
}

static NOINLINE void write_expression(struct writer *w, int depth)
{
    static const char *const spellings[] = {"+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "==", "&&", "||"};
    uint32_t kind = dice(w, depth > 0 ? 8 : 3);
    if (kind == 0) {
        text_add(w->text, "%u", dice(w, 100));
    } else if (kind <= 2) {
        text_add(w->text, "v%u", dice(w, (uint32_t)w->variables));
    } else if (kind == 3) {
        text_add(w->text, dice(w, 2) ? "-" : "!");
        text_add(w->text, "(");
        write_expression(w, depth - 1);
        text_add(w->text, ")");
    } else {
        text_add(w->text, "(");
        write_expression(w, depth - 1);
        text_add(w->text, " %s ", spellings[dice(w, ARRAY_LEN(spellings))]);
        write_expression(w, depth - 1);
        text_add(w->text, ")");
    }
}

static void write_assignment(struct writer *w, int depth)
{
    text_add(w->text, "v%u = ", dice(w, (uint32_t)w->variables));
    write_expression(w, depth);
    text_add(w->text, ";\n");
}

static NOINLINE void write_statement(struct writer *w, int depth)
{
    uint32_t kind = dice(w, depth > 0 ? 5 : 2);
    if (kind <= 1) {
        write_assignment(w, 3);
    } else if (kind == 2) {
        text_add(w->text, "if (");
        write_expression(w, 2);
        text_add(w->text, ") {\n");
        write_statement(w, depth - 1);
        text_add(w->text, "} else {\n");
        write_statement(w, depth - 1);
        text_add(w->text, "}\n");
    } else if (kind == 3) {
        int counter = w->next_variable++;
        text_add(w->text, "var k%d = 0; while (k%d < %u) { k%d = k%d + 1;\n", counter, counter, 2 + dice(w, 6), counter, counter);
        write_statement(w, depth - 1);
        write_statement(w, depth - 1);
        text_add(w->text, "}\n");
    } else {
        text_add(w->text, "store[v0 & 63] = store[v0 & 63] + ");
        write_expression(w, 2);
        text_add(w->text, ";\n");
    }
}

static NOINLINE void write_function(struct writer *w, int number)
{
    int parameters = 1 + (int)dice(w, 3);
    /* Every function has three parameters, so that any call of it is right; later ones may go unused. */
    text_add(w->text, "func f%d(v0, v1, v2) {\n", number);
    w->variables = 3;
    for (int i = 0; i < parameters; i++) {
        text_add(w->text, "var v%d = ", w->variables);
        write_expression(w, 2);
        text_add(w->text, ";\n");
        w->variables++;
    }
    if (number > 0) {
        uint32_t callee = dice(w, (uint32_t)number);
        text_add(w->text, "v%d = f%u(v0 + 1, v%d, %u);\n", w->variables - 1, callee, w->variables - 2, dice(w, 50));
    }
    int statements = 3 + (int)dice(w, 5);
    for (int i = 0; i < statements; i++)
        write_statement(w, 2);
    text_add(w->text, "return ");
    write_expression(w, 3);
    text_add(w->text, ";\n}\n");
}

void write_generated(struct text *t, struct rng *rng, int functions, int rounds)
{
    struct writer w = {t, rng, 0, 0};
    text_add(t, "array store[64];\n");
    for (int i = 0; i < functions; i++)
        write_function(&w, i);
    text_add(t, "func main() { var i = 0; while (i < %d) {\n", rounds);
    for (int i = 0; i < functions; i += 3)
        text_add(t, "print f%d(i, i * %d, %d - i);\n", i, i + 3, i);
    text_add(t, "i = i + 1; }\nreturn 0; }\n");
}
