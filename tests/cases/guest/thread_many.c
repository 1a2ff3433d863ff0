// 64 threads at a time that all wait for each other, then many threads one after the other. Right: "64 2080" and
// "N N", where N is the argument.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static int arrived;
static long sum;

static void *wait_for_all(void *p) {
    pthread_mutex_lock(&mutex);
    arrived++;
    while (arrived < 64)
        pthread_cond_wait(&all, &mutex);
    pthread_cond_broadcast(&all);
    sum += (long)p;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *once(void *p) {
    sum++;
    return p;
}

int main(int argc, char **argv) {
    pthread_t threads[64];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (long i = 0; i < 64; i++)
        pthread_create(&threads[i], &small, wait_for_all, (void *)(i + 1));
    for (int i = 0; i < 64; i++)
        pthread_join(threads[i], 0);
    printf("%d %ld\n", arrived, sum);
    int count = argc > 1 ? atoi(argv[1]) : 1000, joined = 0;
    sum = 0;
    for (int i = 0; i < count; i++)
        joined += !pthread_create(&threads[0], &small, once, 0) && !pthread_join(threads[0], 0);
    printf("%d %ld\n", joined, sum);
    return 0;
}
