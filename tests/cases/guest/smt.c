/* Two loops at the same time on processors 0 and 1, each "chain" (every addition waits for the last one), "wide"
   (additions that wait for nothing) or "none". Prints the cycles of each for 160,000 additions, 0 for none. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static volatile int here;
static const char *kinds[2];
static unsigned cycles[2];

#ifdef __alpha__
#define ADD(r) "addq $" #r ",1,$" #r "\n\t"
#define CHAIN ADD(1) ADD(1) ADD(1) ADD(1) ADD(1) ADD(1) ADD(1) ADD(1)
#define WIDE ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7) ADD(8)
#define CLOBBERED "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8"
static unsigned cycle(void) {
    unsigned long c;
    __asm__ volatile("rpcc %0" : "=r"(c)::"memory");
    return c;
}
#else
#define ADD(r) "addi t" #r ",t" #r ",1\n\t"
#define CHAIN ADD(0) ADD(0) ADD(0) ADD(0) ADD(0) ADD(0) ADD(0) ADD(0)
#define WIDE ADD(0) ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(0)
#define CLOBBERED "t0", "t1", "t2", "t3", "t4", "t5", "t6"
static unsigned cycle(void) {
    unsigned long c;
    __asm__ volatile("rdcycle %0" : "=r"(c)::"memory");
    return c;
}
#endif

static void *run(void *which) {
    long me = (long)which;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(me, &set);
    sched_setaffinity(0, sizeof set, &set);
    if (strcmp(kinds[me], "none") == 0)
        return 0;
    __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
    int both = strcmp(kinds[0], "none") != 0 && strcmp(kinds[1], "none") != 0;
    while (here < (both ? 2 : 1))
        ;
    unsigned from = cycle();
    if (strcmp(kinds[me], "chain") == 0)
        for (int i = 0; i < 10000; i++)
            __asm__ volatile(CHAIN CHAIN ::: CLOBBERED);
    else
        for (int i = 0; i < 10000; i++)
            __asm__ volatile(WIDE WIDE ::: CLOBBERED);
    cycles[me] = cycle() - from;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 1;
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        kinds[i] = argv[1 + i];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%u %u\n", cycles[0], cycles[1]);
}
