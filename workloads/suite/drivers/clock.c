// A clock that stands still, in place of the C library's (linked with --wrap): what a program
// prints cannot depend on when or how fast it runs.
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

// Some time in 2005.
enum { NOW = 1117584000 };

time_t __wrap_time(time_t *to) {
    if (to)
        *to = NOW;
    return NOW;
}

clock_t __wrap_clock(void) { return 0; }

clock_t __wrap_times(struct tms *to) {
    if (to)
        memset(to, 0, sizeof *to);
    return 0;
}

int __wrap_gettimeofday(struct timeval *to, void *zone) {
    (void)zone;
    to->tv_sec = NOW;
    to->tv_usec = 0;
    return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *to) {
    (void)id;
    to->tv_sec = NOW;
    to->tv_nsec = 0;
    return 0;
}

int __wrap_getrusage(int who, struct rusage *to) {
    (void)who;
    memset(to, 0, sizeof *to);
    return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left) {
    (void)time;
    if (left)
        memset(left, 0, sizeof *left);
    return 0;
}

int __wrap_usleep(useconds_t time) {
    (void)time;
    return 0;
}
