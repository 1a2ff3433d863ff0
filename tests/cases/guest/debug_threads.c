/* One thread spoils a pointer that another one follows. */
#include <pthread.h>
#include <stdio.h>

static long cells[4] = {1, 2, 3, 4};
long *volatile shared = cells;
volatile int rounds;

__attribute__((noinline)) static void spoil(long *volatile *place)
{
    *place = (long *)0x18; /* the cause */
}

static void *spoiler(void *unused)
{
    for (int i = 0; i < 3000; i++)
        shared = &cells[i % 4];
    spoil(&shared);
    for (;;)
        rounds++;
    return unused;
}

__attribute__((noinline)) static long follow(void)
{
    return *shared; /* the fault */
}

static void *reader(void *unused)
{
    long sum = 0;
    for (int i = 0;; i++) {
        sum += follow();
        if (i == 1000) {
            printf("half way\n");
            fflush(stdout);
        }
    }
    return (void *)sum;
}

int main(void)
{
    pthread_t threads[2];
    printf("begin\n");
    fflush(stdout);
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, spoiler, NULL);
    pthread_join(threads[0], NULL);
    return 0;
}
