/* Four threads, each in a function of its own that calls a leaf 1,000 to 4,000 times. Right: "10000 calls". cc -O1 -static -pthread */
#include <pthread.h>
#include <stdio.h>

static volatile long counts[4][16];

__attribute__((noinline)) static void leaf(volatile long *count) { *count += 1; }

#define WORK(number)                                                                                    \
    __attribute__((noinline)) static void *work_##number(void *unused) {                                \
        for (int i = 0; i < 1000 * (number + 1); i++)                                                   \
            leaf(counts[number]);                                                                       \
        return unused;                                                                                  \
    }

WORK(0)
WORK(1)
WORK(2)
WORK(3)

int main(void) {
    void *(*work[4])(void *) = {work_0, work_1, work_2, work_3};
    pthread_t threads[4];
    long sum = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work[i], 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], 0);
        sum += counts[i][0];
    }
    printf("%ld calls\n", sum);
    return 0;
}
