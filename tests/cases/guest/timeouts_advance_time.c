/* Time-outs advance the clocks by at least what was asked for, and rest times are written back. Right: each
   line says 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
#define WAITS(call) do { \
        long start = now(); \
        int result = call; \
        long waited = now() - start; \
        printf("%s %d\n", #call, result == 0 && waited >= 20000000 && waited < 40000000); \
    } while (0)
int main(void) {
    int ends[2];
    fd_set set;
    pipe(ends);
    struct pollfd reader = {ends[0], POLLIN, 0}, both[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}};
    struct timespec request = {0, 20000000};
    struct timeval time = {0, 20000};
    WAITS(poll(0, 0, 20));
    WAITS(poll(&reader, 1, 20));
    WAITS(ppoll(&reader, 1, &request, 0));
    WAITS(select(0, 0, 0, 0, &time));
    printf("rest of select %d\n", time.tv_sec == 0 && time.tv_usec == 0);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    WAITS(pselect(ends[0] + 1, &set, 0, 0, &request, 0));
    printf("none ready %d\n", !FD_ISSET(ends[0], &set));
    WAITS(nanosleep(&request, 0));
    WAITS(clock_nanosleep(CLOCK_MONOTONIC, 0, &request, 0));
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec++;
    printf("absolute %d\n", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, 0) == 0 &&
        now() >= end.tv_sec * 1000000000L + end.tv_nsec);
    printf("thread clock %d\n", clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &request, 0) == EINVAL);
    long start = now();
    time = (struct timeval){9, 0};
    printf("ready at once %d\n", poll(both, 2, 9000) == 1 && both[1].revents == POLLOUT && now() - start < 9000000000);
    printf("raw ppoll %d\n", syscall(SYS_ppoll, &reader, 1, &request, 0, 8) == 0 && request.tv_nsec == 0);
    request.tv_nsec = 1000000000;
    printf("invalid %d\n", ppoll(&reader, 1, &request, 0) == -1 && errno == EINVAL);
    return 0;
}
