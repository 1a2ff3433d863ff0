/* A program that counts its own instructions, cycles and time with perf_event_open. */
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

static int counts(uint32_t type, uint64_t config, uint64_t format, int group, int disabled)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = type;
    attributes.size = sizeof attributes;
    attributes.config = config;
    attributes.read_format = format;
    attributes.disabled = disabled;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, 0UL);
}

/* Two instructions a turn. */
static void turns(long n)
{
#ifdef __alpha__
    __asm__ volatile("1: subq %0, 1, %0\n\tbne %0, 1b" : "+r"(n));
#else
    __asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
#endif
}

static uint64_t value(int fd)
{
    uint64_t words[1] = {0};
    if (read(fd, words, sizeof words) != sizeof words) return UINT64_MAX;
    return words[0];
}

static uint64_t instructions_of(int fd, long n)
{
    ioctl(fd, PERF_EVENT_IOC_RESET, 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    turns(n);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    return value(fd);
}

static void *spins(void *unused)
{
    turns(100000);
    return unused;
}

int main(void)
{
    int instructions = counts(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, -1, 1);
    printf("open %d\n", instructions >= 0);
    uint64_t few = instructions_of(instructions, 1000), many = instructions_of(instructions, 3000);
    printf("more %d\n", (int)(many - few));
    printf("few %d\n", few >= 2000 && few < 2100);
    turns(500);
    printf("disabled %d\n", value(instructions) == many);

    /* A group that is read at once: cycles lead. */
    uint64_t format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
    int cycles = counts(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, format, -1, 0);
    int follower = counts(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, format, cycles, 0);
    turns(2000);
    uint64_t words[6] = {0}, id = 0;
    long bytes = read(cycles, words, sizeof words);
    ioctl(follower, PERF_EVENT_IOC_ID, &id);
    printf("group %ld %d %d\n", bytes, (int)words[0], words[5] == id && words[3] != id);
    printf("counts %d %d\n", words[1] > 0 && words[2] > 500, words[4] >= 4000 && words[4] < 10000);
    printf("short %ld %d\n", (long)read(cycles, words, 8), errno == ENOSPC);

    /* What another thread does while this one waits is not counted. */
    int clock = counts(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0, -1, 0);
    pthread_t thread;
    ioctl(instructions, PERF_EVENT_IOC_RESET, 0);
    ioctl(instructions, PERF_EVENT_IOC_ENABLE, 0);
    uint64_t before = value(clock);
    pthread_create(&thread, NULL, spins, NULL);
    pthread_join(thread, NULL);
    uint64_t own = value(instructions), time = value(clock) - before;
    printf("own %d %d\n", own < 50000, time < 50000);

    printf("unknown %d\n", counts(PERF_TYPE_HARDWARE, 77, 0, -1, 0) < 0 && errno == ENOENT);
    return 0;
}
