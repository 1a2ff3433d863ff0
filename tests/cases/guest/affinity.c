/* Threads that choose their processors: each says where it runs before and behind a sleep. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int wrong;

static void *stay(void *argument)
{
    int mine = (int)(long)argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(mine, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set))
        __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 3; i++) {
        if (sched_getcpu() != mine)
            __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
        struct timespec brief = {0, 2000};
        nanosleep(&brief, 0);
    }
    return 0;
}

int main(void)
{
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    int count = CPU_COUNT(&all);
    pthread_t made[64];
    for (long i = 0; i < count; i++)
        pthread_create(&made[i], 0, stay, (void *)i);
    /* The main thread is moved by another one's processor set, too. */
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(count - 1, &last);
    sched_setaffinity(getpid(), sizeof last, &last);
    int here = sched_getcpu();
    for (int i = 0; i < count; i++)
        pthread_join(made[i], 0);
    printf("%d processors, %ld online, main on %d, wrong %d\n", count, sysconf(_SC_NPROCESSORS_ONLN), here, wrong);
    return 0;
}
