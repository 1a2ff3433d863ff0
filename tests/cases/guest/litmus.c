/* Litmus tests: what two to four threads may see of each other's accesses to memory.
 *
 * litmus RUNS [NAME]: each test, or the one of that name, is run that often, the threads beginning at nearly the same time behind delays that vary. A
 * line for each test: its name, and how often the outcome came that a sequential machine forbids.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    long value;
    char pad[120];
} place;

/* Plain accesses: some compilers make an atomic exchange of a relaxed store. */
#define LOAD(p) (*(volatile long *)&(p).value)
#define STORE(p, v) (*(volatile long *)&(p).value = (v))
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)

static place x, y;
static place seen[8];
static place arrived, round_;
static int runs, threads;

static void meet(void)
{
    long now = LOAD(round_);
    if (__atomic_add_fetch(&arrived.value, 1, __ATOMIC_SEQ_CST) == threads) {
        STORE(arrived, 0);
        __atomic_store_n(&round_.value, now + 1, __ATOMIC_SEQ_CST);
    } else {
        while (__atomic_load_n(&round_.value, __ATOMIC_SEQ_CST) == now)
            ;
    }
}

static void linger(unsigned *state, unsigned most)
{
    *state = *state * 1103515245u + 12345u;
    for (volatile unsigned i = *state >> 16 & most; i > 0; i--)
        ;
}

/* Each test: what a thread does, and whether the outcome is the forbidden one. */
typedef struct {
    const char *name;
    int threads;
    void (*act)(int thread);
    int (*is_odd)(void);
} test;

static void sb(int t) { STORE(*(t ? &y : &x), 1); STORE(seen[t], LOAD(*(t ? &x : &y))); }
static void sb_fence(int t) { STORE(*(t ? &y : &x), 1); FENCE(); STORE(seen[t], LOAD(*(t ? &x : &y))); }
static int both_0(void) { return LOAD(seen[0]) == 0 && LOAD(seen[1]) == 0; }

static void sb_swap(int t)
{
    __atomic_exchange_n(t ? &y.value : &x.value, 1, __ATOMIC_SEQ_CST);
    STORE(seen[t], LOAD(*(t ? &x : &y)));
}

static void mp(int t)
{
    if (t == 0) {
        STORE(x, 1);
        STORE(y, 1);
    } else {
        long flag = LOAD(y), data = LOAD(x);
        STORE(seen[0], flag);
        STORE(seen[1], data);
    }
}

static void mp_release(int t)
{
    if (t == 0) {
        STORE(x, 1);
        __atomic_store_n(&y.value, 1, __ATOMIC_RELEASE);
    } else {
        long flag = __atomic_load_n(&y.value, __ATOMIC_ACQUIRE), data = LOAD(x);
        STORE(seen[0], flag);
        STORE(seen[1], data);
    }
}
static int flag_without_data(void) { return LOAD(seen[0]) == 1 && LOAD(seen[1]) == 0; }

static void lb(int t) { long got = LOAD(*(t ? &y : &x)); STORE(*(t ? &x : &y), 1); STORE(seen[t], got); }
static int both_1(void) { return LOAD(seen[0]) == 1 && LOAD(seen[1]) == 1; }

static void iriw(int t)
{
    if (t < 2) {
        STORE(*(t ? &y : &x), 1);
    } else {
        long first = LOAD(*(t == 2 ? &x : &y)), second = LOAD(*(t == 2 ? &y : &x));
        STORE(seen[2 * t - 4], first);
        STORE(seen[2 * t - 3], second);
    }
}
static int two_orders(void)
{
    return LOAD(seen[0]) == 1 && LOAD(seen[1]) == 0 && LOAD(seen[2]) == 1 && LOAD(seen[3]) == 0;
}

static void corr(int t)
{
    if (t == 0) {
        STORE(x, 1);
        STORE(x, 2);
    } else {
        long first = LOAD(x), second = LOAD(x);
        STORE(seen[0], first);
        STORE(seen[1], second);
    }
}
static int backwards(void) { return LOAD(seen[1]) < LOAD(seen[0]); }

static void two_writes(int t) { STORE(*(t ? &y : &x), 1); STORE(*(t ? &x : &y), 2); }
static int both_first(void) { return LOAD(x) == 1 && LOAD(y) == 1; }

static void add(int t) { (void)t; __atomic_fetch_add(&x.value, 1, __ATOMIC_RELAXED); }
static void swap_in(int t)
{
    (void)t;
    long old = LOAD(x);
    while (!__atomic_compare_exchange_n(&x.value, &old, old + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
static int is_not_4(void) { return LOAD(x) != 4; }

static const test tests[] = {
    {"SB", 2, sb, both_0},
    {"SB+fences", 2, sb_fence, both_0},
    {"SB+swaps", 2, sb_swap, both_0},
    {"MP", 2, mp, flag_without_data},
    {"MP+release+acquire", 2, mp_release, flag_without_data},
    {"LB", 2, lb, both_1},
    {"IRIW", 4, iriw, two_orders},
    {"CoRR", 2, corr, backwards},
    {"2+2W", 2, two_writes, both_first},
    {"4 additions", 4, add, is_not_4},
    {"4 exchanges", 4, swap_in, is_not_4},
};

static const test *current;
static long odd;

static void *run(void *argument)
{
    int thread = (int)(long)argument;
    unsigned state = 17 + 101 * thread;
    for (int i = 0; i < runs; i++) {
        if (thread == 0) {
            STORE(x, 0);
            STORE(y, 0);
            for (int j = 0; j < 8; j++)
                STORE(seen[j], 0);
        }
        meet();
        linger(&state, 63);
        current->act(thread);
        meet();
        if (thread == 0)
            odd += current->is_odd();
    }
    return 0;
}

int main(int argc, char **argv)
{
    runs = argc > 1 ? atoi(argv[1]) : 1000;
    for (unsigned i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        pthread_t made[4];
        if (argc > 2 && strcmp(argv[2], tests[i].name))
            continue;
        current = &tests[i];
        threads = current->threads;
        odd = 0;
        for (long t = 1; t < threads; t++)
            pthread_create(&made[t], 0, run, (void *)t);
        run((void *)0);
        for (int t = 1; t < threads; t++)
            pthread_join(made[t], 0);
        printf("%s %ld\n", current->name, odd);
        fflush(stdout);
    }
    return 0;
}
