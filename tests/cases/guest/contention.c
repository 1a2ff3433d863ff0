/* contention OPERATIONS KINDS: threads, each on a processor of its own, contend for cache lines, two at a time, three, and so on. Prints for
 * each kind of contention, number of threads and thread the cycles of its operations, and at the end whether every count is
 * right:
 *   s  all add to one word, atomically          a  each adds to a word of its own in one line, atomically
 *   A  as a, in a line each                      l  each loads, increments and stores a word of its own in one line
 *   L  as l, in a line each                      w  each stores to a word of its own in one line
 *   r  the first increments a word, which the others load
 *   t, k, m  all take a lock (test-and-set, ticket, MCS) and increment two words of different lines */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef THREADS
#define THREADS 4
#endif
#define LINE __attribute__((aligned(128)))

struct node { struct node *volatile next; volatile long waits; } LINE;

static volatile long words[16] LINE;
static struct { volatile long word; } LINE lines[THREADS];
static volatile long guarded LINE, guarded_too LINE;
static volatile long lock LINE, tickets LINE, serving LINE;
static struct node *tail LINE;
static struct node nodes[THREADS];
static volatile long phase LINE, ready LINE, done LINE;
static char kind LINE;
static int threads;
static long operations;
static unsigned cycles[THREADS];

static unsigned cycle(void) {
#ifdef __alpha__
    unsigned long c;
    __asm__ volatile("rpcc %0" : "=r"(c)::"memory");
#else
    unsigned long c;
    __asm__ volatile("rdcycle %0" : "=r"(c)::"memory");
#endif
    return c;
}

static void add(volatile long *word) { __atomic_fetch_add(word, 1, __ATOMIC_RELAXED); }

static void work(void) { guarded++; guarded_too++; }

__attribute__((noinline)) static void with_test_and_set(void) {
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        ;
    work();
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static void with_ticket(void) {
    long mine = __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&serving, __ATOMIC_ACQUIRE) != mine)
        ;
    work();
    __atomic_store_n(&serving, mine + 1, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static void with_queue(struct node *me) {
    me->next = 0;
    me->waits = 1;
    struct node *before = __atomic_exchange_n(&tail, me, __ATOMIC_ACQ_REL);
    if (before) {
        __atomic_store_n(&before->next, me, __ATOMIC_RELEASE);
        while (__atomic_load_n(&me->waits, __ATOMIC_ACQUIRE))
            ;
    }
    work();
    struct node *last = me;
    if (!me->next && __atomic_compare_exchange_n(&tail, &last, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    while (!me->next)
        ;
    __atomic_store_n(&me->next->waits, 0, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static void operate(long me) {
    for (long i = 0; i < operations; i++)
        switch (kind) {
        case 's': add(&words[0]); break;
        case 'a': add(&words[me]); break;
        case 'A': add(&lines[me].word); break;
        case 'l': words[me]++; break;
        case 'L': lines[me].word++; break;
        case 'w': words[me] = i; break;
        case 'r': if (me == 0) words[0]++; else (void)words[0]; break;
        case 't': with_test_and_set(); break;
        case 'k': with_ticket(); break;
        case 'm': with_queue(&nodes[me]); break;
        }
}

static void *run(void *argument) {
    long me = (long)argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(me, &set);
    sched_setaffinity(0, sizeof set, &set);
    for (long seen = 0;; ) {
        while (phase == seen)
            ;
        seen = phase;
        if (!kind)
            return 0;
        if (me < threads) {
            __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
            while (ready < threads)
                ;
            unsigned from = cycle();
            operate(me);
            cycles[me] = cycle() - from;
        }
        __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
        if (me == 0)
            return 0;
    }
}

int main(int argc, char **argv) {
    operations = argc > 1 ? atol(argv[1]) : 100;
    const char *kinds = argc > 2 ? argv[2] : "saAlLwrtkm";
    pthread_t others[THREADS];
    for (long i = 1; i < THREADS; i++)
        pthread_create(&others[i], 0, run, (void *)i);
    long sums = 0, expected = 0;
    for (const char *at = kinds; *at; at++)
        for (threads = 2; threads <= THREADS; threads++) {
            kind = *at;
            for (int i = 0; i < 16; i++)
                words[i] = 0;
            for (int i = 0; i < THREADS; i++)
                lines[i].word = 0;
            guarded = guarded_too = tickets = serving = ready = done = 0;
            /* The first thread waits for a phase that has begun. */
            long began = phase;
            __atomic_store_n(&phase, began + 1, __ATOMIC_SEQ_CST);
            run((void *)0);
            while (done < THREADS)
                ;
            printf("%c %d", kind, threads);
            for (int i = 0; i < threads; i++)
                printf(" %u", cycles[i]);
            printf("\n");
            for (int i = 0; i < 16; i++)
                sums += kind == 'w' ? 0 : words[i];
            for (int i = 0; i < THREADS; i++)
                sums += lines[i].word;
            sums += guarded + guarded_too;
            int each = kind == 't' || kind == 'k' || kind == 'm' ? 2 : kind != 'w';
            expected += operations * each * (kind == 'r' ? 1 : threads);
        }
    kind = 0;
    phase++;
    for (long i = 1; i < THREADS; i++)
        pthread_join(others[i], 0);
    printf("%s\n", sums == expected ? "counts are right" : "counts are wrong");
    return sums != expected;
}
