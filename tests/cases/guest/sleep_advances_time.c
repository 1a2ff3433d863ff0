/* Sleeps advance the clocks by at least what was asked for, and CPU time by less. Right: each value is 1. */
#include <stdio.h>
#include <time.h>
#include <sys/random.h>
static long ns(int id) {
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
int main(void) {
    struct timespec request = {0, 20000000};
    long wall = ns(CLOCK_MONOTONIC), cpu = ns(CLOCK_PROCESS_CPUTIME_ID);
    printf("nanosleep %d\n", nanosleep(&request, 0) == 0 && ns(CLOCK_MONOTONIC) - wall >= 20000000);
    printf("cpu %d\n", ns(CLOCK_PROCESS_CPUTIME_ID) - cpu < 20000000);
    wall = ns(CLOCK_MONOTONIC);
    printf("relative %d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, &request, 0) == 0 && ns(CLOCK_MONOTONIC) - wall >= 20000000);
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, 0);
    printf("absolute %d\n", ns(CLOCK_REALTIME) >= end.tv_sec * 1000000000L + end.tv_nsec);
    char b[4];
    printf("getrandom %d\n", getrandom(b, 4, 0x80) == -1 && getrandom(b, 4, GRND_NONBLOCK) == 4);
    return 0;
}
