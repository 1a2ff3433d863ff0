/* Lock-free structures under four threads: a counter by additions and one by exchanges, a stack, a lock made of an
 * atomic, and a sequence lock. Each line: what was lost, or what was seen that cannot be.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
static int rounds = 500;

static long added, exchanged, guarded;
static int lock_;

typedef struct node {
    struct node *next;
    long value;
} node;
static node *top;
static long popped[THREADS];

static struct {
    unsigned version;
    long first, second;
} sequence;
static long torn[THREADS];

static void *work(void *argument)
{
    long me = (long)argument;
    for (int i = 0; i < rounds; i++) {
        __atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);

        long old = __atomic_load_n(&exchanged, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&exchanged, &old, old + 1, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            ;

        while (__atomic_exchange_n(&lock_, 1, __ATOMIC_ACQUIRE))
            ;
        guarded++;
        __atomic_store_n(&lock_, 0, __ATOMIC_RELEASE);

        /* Every thread pushes; only thread 0 takes, all at once, so that no node comes twice. */
        node *mine = malloc(sizeof *mine);
        mine->value = 1;
        mine->next = __atomic_load_n(&top, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&top, &mine->next, mine, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        if (me == 0) {
            node *all = __atomic_exchange_n(&top, 0, __ATOMIC_ACQUIRE);
            while (all) {
                node *next = all->next;
                popped[0] += all->value;
                free(all);
                all = next;
            }
            __atomic_store_n(&sequence.version, sequence.version + 1, __ATOMIC_RELAXED);
            __atomic_thread_fence(__ATOMIC_RELEASE);
            __atomic_store_n(&sequence.first, i, __ATOMIC_RELAXED);
            __atomic_store_n(&sequence.second, -(long)i, __ATOMIC_RELAXED);
            __atomic_store_n(&sequence.version, sequence.version + 1, __ATOMIC_RELEASE);
        } else {
            unsigned before = __atomic_load_n(&sequence.version, __ATOMIC_ACQUIRE);
            long first = __atomic_load_n(&sequence.first, __ATOMIC_RELAXED);
            long second = __atomic_load_n(&sequence.second, __ATOMIC_RELAXED);
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            unsigned after = __atomic_load_n(&sequence.version, __ATOMIC_RELAXED);
            if (before == after && before % 2 == 0 && first + second != 0)
                torn[me]++;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = atoi(argv[1]);
    pthread_t made[THREADS];
    for (long t = 1; t < THREADS; t++)
        pthread_create(&made[t], 0, work, (void *)t);
    work((void *)0);
    for (int t = 1; t < THREADS; t++)
        pthread_join(made[t], 0);
    for (node *n = top; n; n = n->next)
        popped[0] += n->value;
    long all = (long)THREADS * rounds, seen = torn[1] + torn[2] + torn[3];
    printf("lost %ld %ld %ld %ld, torn %ld\n", all - added, all - exchanged, all - guarded, all - popped[0], seen);
    return 0;
}
