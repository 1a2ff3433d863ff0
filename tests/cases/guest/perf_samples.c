/* A program that takes samples of itself with perf_event_open: into a ring of records, and by signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIELDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)

struct sample {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time, period;
};

static struct perf_event_attr attributes(uint64_t config, uint64_t period)
{
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.type = PERF_TYPE_HARDWARE;
    a.size = sizeof a;
    a.config = config;
    a.sample_period = period;
    a.sample_type = FIELDS;
    a.disabled = 1;
    return a;
}

static int open_event(struct perf_event_attr a)
{
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0UL);
}

/* Two loops of two instructions a turn. */
#ifdef __alpha__
#define TURNS "1: subq %0, 1, %0\n\tbne %0, 1b"
#else
#define TURNS "1: addi %0, %0, -1\n\tbnez %0, 1b"
#endif
__attribute__((noinline, aligned(64))) static void first(long n) { __asm__ volatile(TURNS : "+r"(n)); }
__attribute__((noinline, aligned(64))) static void second(long n) { __asm__ volatile(TURNS : "+r"(n)); }

static int is_in(uint64_t ip, void (*f)(long)) { return ip - (uint64_t)(uintptr_t)f < 64; }

struct ring {
    struct perf_event_mmap_page *page;
    char *data;
};

static struct ring map(int fd, int pages)
{
    long page = sysconf(_SC_PAGESIZE);
    struct ring ring;
    char *at = mmap(0, (size_t)((1 + pages) * page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ring.page = at == MAP_FAILED ? 0 : (void *)at;
    ring.data = at + page;
    return ring;
}

/* The next record, or null. Rings here hold whole records, or none wraps where it is looked at. */
static int next(struct ring ring, void *record, size_t room)
{
    uint64_t head = ring.page->data_head, tail = ring.page->data_tail, size = ring.page->data_size;
    __sync_synchronize();
    if (head == tail) return 0;
    struct perf_event_header header;
    for (size_t i = 0; i < sizeof header; i++) ((char *)&header)[i] = ring.data[(tail + i) % size];
    for (size_t i = 0; i < header.size && i < room; i++) ((char *)record)[i] = ring.data[(tail + i) % size];
    __sync_synchronize();
    ring.page->data_tail = tail + header.size;
    return 1;
}

static void into_a_ring(void)
{
    int fd = open_event(attributes(PERF_COUNT_HW_INSTRUCTIONS, 1000));
    struct ring ring = map(fd, 4);
    printf("mapped %d, twice %d\n", ring.page != 0, map(fd, 4).page != 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    first(30000);
    second(10000);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    uint64_t counted, in_first = 0, in_second = 0, wrong = 0, last = 0, events = 0;
    if (read(fd, &counted, 8) != 8) counted = 0;
    union { struct sample sample; char bytes[256]; } u;
    while (next(ring, &u, sizeof u)) {
        struct sample *s = &u.sample;
        wrong += s->header.type != PERF_RECORD_SAMPLE || s->header.size != sizeof *s;
        wrong += s->pid != (uint32_t)getpid() || s->tid != (uint32_t)getpid() || s->time <= last;
        last = s->time;
        events += s->period;
        in_first += is_in(s->ip, first);
        in_second += is_in(s->ip, second);
    }
    printf("first %lu, second %lu, wrong %lu\n", in_first, in_second, wrong);
    printf("events %d\n", events <= counted && events + 1100 > counted);
    close(fd);
}

static void more_than_fits(void)
{
    struct perf_event_attr a = attributes(PERF_COUNT_HW_INSTRUCTIONS, 100);
    a.sample_id_all = 1;
    int fd = open_event(a);
    struct ring ring = map(fd, 1);
    uint64_t kept = 0, lost = 0, fits = ring.page->data_size / sizeof(struct sample);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    first(50000);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    union { struct sample sample; uint64_t words[32]; } u;
    while (next(ring, &u, sizeof u)) kept += u.sample.header.type == PERF_RECORD_SAMPLE;
    printf("fits %d\n", kept == fits);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    first(100);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    if (next(ring, &u, sizeof u) && u.sample.header.type == PERF_RECORD_LOST) lost = u.words[2];
    printf("lost %d\n", kept + lost > 950 && kept + lost < 1100);
    close(fd);
}

static volatile int signals, hang_ups, right;
static int sampled;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    signals++;
    hang_ups += info->si_code == POLL_HUP;
    right += info->si_fd == sampled && signal == SIGRTMIN + 1;
}

static void by_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGRTMIN + 1, &action, 0);
    sampled = open_event(attributes(PERF_COUNT_HW_CPU_CYCLES, 20000));
    struct f_owner_ex owner = {F_OWNER_TID, (int)syscall(SYS_gettid)}, told = {0, 0};
    int set = fcntl(sampled, F_SETOWN_EX, &owner) == 0 && fcntl(sampled, F_SETSIG, SIGRTMIN + 1) == 0 &&
              fcntl(sampled, F_SETFL, O_ASYNC) == 0;
    fcntl(sampled, F_GETOWN_EX, &told);
    printf("set %d %d %d %d\n", set, told.type == F_OWNER_TID && told.pid == owner.pid,
           fcntl(sampled, F_GETSIG) == SIGRTMIN + 1, (fcntl(sampled, F_GETFL) & O_ASYNC) != 0);
    ioctl(sampled, PERF_EVENT_IOC_REFRESH, 3);
    second(200000);
    printf("three %d, the last %d, right %d\n", signals, hang_ups, right);
    uint64_t period = 100000;
    ioctl(sampled, PERF_EVENT_IOC_PERIOD, &period);
    ioctl(sampled, PERF_EVENT_IOC_REFRESH, 1);
    second(20000);
    int early = signals;
    second(200000);
    printf("later %d %d\n", early, signals);
    close(sampled);
    printf("no owner %d\n", fcntl(1, F_SETSIG, SIGRTMIN) == -1 && errno == EINVAL);
}

static void *waits(void *fd)
{
    struct pollfd event = {*(int *)fd, POLLIN, 0};
    static int told;
    told = poll(&event, 1, -1) == 1 ? event.revents : -1;
    return &told;
}

/* A thread waits for the samples of another one, 100,000 a second. */
static void polled(void)
{
    struct perf_event_attr a = attributes(PERF_COUNT_HW_INSTRUCTIONS, 100000);
    a.freq = 1;
    a.wakeup_events = 2;
    int fd = open_event(a);
    struct ring ring = map(fd, 1);
    struct pollfd event = {fd, POLLIN, 0};
    printf("nothing %d\n", poll(&event, 1, 0));
    pthread_t thread;
    void *told;
    pthread_create(&thread, 0, waits, &fd);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    first(300000);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    pthread_join(thread, &told);
    printf("woken %d\n", *(int *)told == POLLIN);
    union { struct sample sample; char bytes[256]; } u;
    uint64_t count = 0, early = 0, last = 0;
    while (next(ring, &u, sizeof u)) {
        early += count++ && u.sample.time - last < 9000;
        last = u.sample.time;
    }
    printf("some %d, early %lu\n", count > 1, early);
    close(fd);
}

static void refused(void)
{
    struct perf_event_attr a = attributes(PERF_COUNT_HW_INSTRUCTIONS, 1000);
    a.sample_type |= PERF_SAMPLE_CALLCHAIN;
    int chain = open_event(a) == -1 && errno == EOPNOTSUPP;
    a = attributes(PERF_COUNT_HW_INSTRUCTIONS, 1000);
    a.precise_ip = 2;
    int precise = open_event(a) == -1 && errno == EOPNOTSUPP;
    int fd = open_event(attributes(PERF_COUNT_HW_INSTRUCTIONS, 1000));
    long page = sysconf(_SC_PAGESIZE);
    int odd = mmap(0, (size_t)(4 * page), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL;
    printf("refused %d %d %d\n", chain, precise, odd);
    struct ring ring = map(fd, 1);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    first(1000);
    munmap(ring.page, (size_t)(2 * page));
    first(10000);
    printf("unmapped\n");
    /* An event that never comes: each of them would be a sample. */
    a = attributes(PERF_COUNT_SW_DUMMY, 1);
    a.type = PERF_TYPE_SOFTWARE;
    fd = open_event(a);
    ring = map(fd, 1);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    first(100000);
    printf("never %d\n", ring.page->data_head == 0);
}

int main(void)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    into_a_ring();
    more_than_fits();
    by_signals();
    polled();
    refused();
    return 0;
}
