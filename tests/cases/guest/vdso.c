/* The vDSO of a dynamic program and the system calls tell one time. Right: each line says 1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __riscv
#define VERSION "LINUX_4.15"
#else
#define VERSION "LINUX_2.6"
#endif
#define SAY(condition) printf("%s %d\n", #condition, !!(condition))

static long ns(struct timespec t) { return t.tv_sec * 1000000000L + t.tv_nsec; }
static long by_call(int clock)
{
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return ns(t);
}

static int (*gettime)(int, struct timespec *), (*getres)(int, struct timespec *);
static int (*timeofday)(struct timeval *, void *);
static int (*getcpu_)(unsigned *, unsigned *, void *);

static int is_between(int clock)
{
    struct timespec t;
    long before = by_call(clock);
    int result = gettime(clock, &t);
    /* The kernel's coarse clocks stand still between two ticks. */
    return result == 0 && before <= ns(t) && ns(t) <= by_call(clock);
}

int main(int argc, char **argv)
{
    char line[256];
    int has_code = 0, has_data = 0;
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    SAY(getauxval(AT_SYSINFO_EHDR));
    if (!vdso) return puts("no vDSO"), 1;
    gettime = dlvsym(vdso, "__vdso_clock_gettime", VERSION);
    getres = dlvsym(vdso, "__vdso_clock_getres", VERSION);
    timeofday = dlvsym(vdso, "__vdso_gettimeofday", VERSION);
    getcpu_ = dlvsym(vdso, "__vdso_getcpu", VERSION);
    SAY(gettime && getres && timeofday && getcpu_);
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start, end;
    while (fgets(line, sizeof line, maps)) {
        sscanf(line, "%lx-%lx", &start, &end);
        unsigned long code = (unsigned long)gettime;
        has_code += strstr(line, " r-xp ") && strstr(line, "[vdso]") && start <= code && code < end;
        has_data += strstr(line, " r--p ") && strstr(line, "[vvar]");
    }
    SAY(has_code == 1);
    SAY(has_data >= 1);
    SAY(is_between(CLOCK_REALTIME));
    SAY(is_between(CLOCK_MONOTONIC));
    SAY(is_between(CLOCK_MONOTONIC_RAW));
    SAY(is_between(CLOCK_BOOTTIME));
    SAY(is_between(CLOCK_TAI));
    SAY(is_between(CLOCK_REALTIME_COARSE));
    SAY(is_between(CLOCK_MONOTONIC_COARSE));
    SAY(is_between(CLOCK_PROCESS_CPUTIME_ID));
    SAY(is_between(CLOCK_THREAD_CPUTIME_ID));
    struct timespec t;
    SAY(gettime(99, &t) != 0);
    SAY(gettime(15, &t) != 0);
    SAY(getres(CLOCK_MONOTONIC, &t) == 0 && ns(t) == 1);
    SAY(getres(CLOCK_TAI, 0) == 0);
    SAY(getres(99, &t) != 0);
    struct timeval day;
    struct timezone zone = {1, 1};
    long before = by_call(CLOCK_REALTIME) / 1000;
    SAY(timeofday(&day, &zone) == 0);
    long now = day.tv_sec * 1000000L + day.tv_usec;
    SAY(before <= now && now <= by_call(CLOCK_REALTIME) / 1000);
    SAY(zone.tz_minuteswest == 0 && zone.tz_dsttime == 0);
    SAY(timeofday(0, 0) == 0);
    unsigned cpu = 99, node = 99;
    SAY(getcpu_(&cpu, &node, 0) == 0 && cpu < 99 && node < 99);
    /* A date that is set is told to all processes. */
    if (argc > 1) {
        int ends[2];
        char byte;
        pipe(ends);
        pid_t child = fork();
        if (child == 0) {
            read(ends[0], &byte, 1);
            gettime(CLOCK_REALTIME, &t);
            _exit(t.tv_sec / 1000 == 2000000);
        }
        struct timespec date = {2000000000, 0};
        SAY(clock_settime(CLOCK_REALTIME, &date) == 0);
        SAY(is_between(CLOCK_REALTIME));
        gettime(CLOCK_REALTIME, &t);
        SAY(t.tv_sec / 1000 == 2000000);
        int status;
        write(ends[1], "x", 1);
        waitpid(child, &status, 0);
        SAY(WEXITSTATUS(status));
    }
    return 0;
}
