/* Events of branches, caches and TLBs by perf_event_open, and events of another thread. Prints "refused" for those that are
   not counted. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE(cache, operation, result)                                                                                 \
    PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##operation << 8 |                         \
                            PERF_COUNT_HW_CACHE_RESULT_##result << 16

static int counts(uint32_t type, uint64_t config, int tid)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = type;
    attributes.size = sizeof attributes;
    attributes.config = config;
    return (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, 0UL);
}

static uint64_t value(int fd)
{
    uint64_t word = 0;
    return read(fd, &word, sizeof word) == sizeof word ? word : UINT64_MAX;
}

enum { LINES = 4096 };
static char lines[2 * LINES * 64] __attribute__((aligned(4096)));
static volatile long word;

static void __attribute__((noinline)) loads(long n)
{
    for (long i = 0; i < n; i++)
        (void)word;
}

static void __attribute__((noinline)) stores(long n)
{
    for (long i = 0; i < n; i++)
        word = i;
}

/* One load of each of so many lines, which no cache has. */
static void __attribute__((noinline)) walk(long first)
{
    for (long i = first; i < first + LINES; i++)
        (void)*(volatile char *)&lines[i * 64];
}

/* A branch that goes either way by the bits of a random number. */
static void __attribute__((noinline)) toss(long n)
{
    unsigned long x = 88172645463325252;
    for (long i = 0; i < n; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        if (x & 1) __asm__ volatile("" : "+r"(x));
        else word = word + 1;
    }
}

static void tell(const char *name, uint32_t type, uint64_t config, void (*work)(long), long n)
{
    int fd = counts(type, config, 0);
    if (fd < 0) {
        printf("%s refused %d\n", name, errno == ENOENT);
        return;
    }
    uint64_t before = value(fd);
    work(n);
    printf("%s %ld\n", name, (long)(value(fd) - before));
    close(fd);
}

static int other_tid, go[2], done[2];

static void *other(void *unused)
{
    char c;
    for (;;) {
        other_tid = (int)syscall(SYS_gettid);
        if (write(done[1], "x", 1) != 1 || read(go[0], &c, 1) != 1) return unused;
        loads(50000);
    }
}

int main(void)
{
    tell("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, loads, 10000);
    tell("tossed", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, toss, 10000);
    tell("loads", CACHE(L1D, READ, ACCESS), loads, 10000);
    tell("stores", CACHE(L1D, WRITE, ACCESS), stores, 10000);
    tell("misses", CACHE(L1D, READ, MISS), walk, 0);
    tell("pages", CACHE(DTLB, READ, MISS), walk, LINES);
    tell("fetches", CACHE(L1I, READ, ACCESS), loads, 10000);
    tell("nodes", CACHE(NODE, READ, ACCESS), loads, 10);

    /* What another thread does, while it waits before and behind. */
    char c;
    pthread_t thread;
    if (pipe(go) || pipe(done)) return 1;
    pthread_create(&thread, NULL, other, NULL);
    if (read(done[0], &c, 1) != 1) return 1;
    int fd;
    do
        fd = counts(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, other_tid);
    while (fd < 0 && errno == EBUSY);
    uint64_t before = value(fd);
    loads(200000);
    if (write(go[1], "x", 1) != 1 || read(done[0], &c, 1) != 1) return 1;
    uint64_t after;
    do
        after = value(fd);
    while (after == UINT64_MAX);
    printf("other %d\n", after - before > 150000 && after - before < 260000);
    printf("nobody %d\n", counts(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 77) < 0 && errno == ESRCH);
    return 0;
}
