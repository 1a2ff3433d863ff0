// What threads use to work together, each with a result that does not depend on who runs when. Right: every line
// says ok, as on QEMU.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 200 };

static void check(const char *what, int holds) {
    printf("%-10s %s\n", what, holds ? "ok" : "WRONG");
    fflush(stdout);
}

static void run(int count, void *(*work)(void *)) {
    pthread_t threads[THREADS];
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long guarded;
static atomic_long counted;
static _Thread_local long own;

static void *count(void *p) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        guarded++;
        pthread_mutex_unlock(&mutex);
        atomic_fetch_add(&counted, 1);
        own++;
    }
    if (own != ROUNDS)
        atomic_store(&counted, -1);
    return p;
}

// A bounded queue: producers wait for room, consumers for data.
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queue[4], filled;
static long sum;

static void *produce_consume(void *p) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        if ((long)p & 1) {
            while (!filled)
                pthread_cond_wait(&changed, &mutex);
            sum += queue[--filled];
        } else {
            while (filled == 4)
                pthread_cond_wait(&changed, &mutex);
            queue[filled++] = i;
        }
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}

static pthread_barrier_t barrier;
static atomic_int phase;
static atomic_int out_of_step;

static void *step(void *p) {
    for (int i = 0; i < 20; i++) {
        if (atomic_load(&phase) != i)
            atomic_fetch_add(&out_of_step, 1);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            atomic_fetch_add(&phase, 1);
        pthread_barrier_wait(&barrier);
    }
    return p;
}

// Nobody gives up the turn of its own accord.
static atomic_int turn;

static void *spin(void *p) {
    for (int i = 0; i < 10; i++) {
        while (atomic_load(&turn) % 2 != (long)p)
            ;
        atomic_fetch_add(&turn, 1);
    }
    return 0;
}

static sem_t there, back;

static void *answer(void *p) {
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&there);
        sem_post(&back);
    }
    return p;
}

static int ends[2];

static void *feed(void *p) {
    static char bytes[200000];
    memset(bytes, 7, sizeof bytes);
    long written = write(ends[1], bytes, sizeof bytes);
    close(ends[1]);
    return (void *)(written == sizeof bytes ? p : 0);
}

static atomic_int got;
static void handler(int signal) { got = signal; }

static void *sleeper(void *p) {
    struct timespec hour = {3600, 0}, rest = {0, 0};
    int slept = nanosleep(&hour, &rest);
    return (void *)(long)(slept == -1 && errno == EINTR && rest.tv_sec >= 3500);
}

static void *endless(void *p) {
    for (;;)
        pause();
}

static pthread_mutex_t robust;
static void *dies(void *p) {
    pthread_mutex_lock(&robust);
    return p;
}

static void *wakes(void *p) {
    usleep(1000);
    eventfd_write((int)(long)p, 5);
    return 0;
}

int main(void) {
    run(THREADS, count);
    check("mutex", guarded == THREADS * ROUNDS);
    check("atomic", counted == THREADS * ROUNDS);
    run(THREADS, produce_consume);
    check("condition", sum == THREADS / 2 * (ROUNDS * (ROUNDS - 1) / 2) && !filled);
    pthread_barrier_init(&barrier, 0, THREADS);
    run(THREADS, step);
    check("barrier", phase == 20 && !out_of_step);
    run(2, spin);
    check("spin", turn == 20);

    pthread_t thread;
    void *result;
    sem_init(&there, 0, 0), sem_init(&back, 0, 0);
    pthread_create(&thread, 0, answer, 0);
    for (int i = 0; i < ROUNDS; i++)
        sem_post(&there), sem_wait(&back);
    pthread_join(thread, 0);
    check("semaphore", 1);

    // Three times what a pipe holds, in one write.
    pipe(ends);
    pthread_create(&thread, 0, feed, (void *)1);
    long total = 0, part;
    char buffer[4096];
    while ((part = read(ends[0], buffer, sizeof buffer)) > 0)
        total += part;
    pthread_join(thread, &result);
    check("pipe", total == 200000 && result);

    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, sleeper, 0);
    usleep(1000);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, &result);
    check("kill", result && got == SIGUSR1);

    pthread_create(&thread, 0, endless, 0);
    usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    check("cancel", result == PTHREAD_CANCELED);

    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&thread, 0, dies, 0);
    pthread_join(thread, 0);
    check("robust", pthread_mutex_lock(&robust) == EOWNERDEAD);

    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 2000000;
    if (end.tv_nsec >= 1000000000)
        end.tv_sec++, end.tv_nsec -= 1000000000;
    pthread_mutex_lock(&mutex);
    check("timeout", pthread_cond_timedwait(&changed, &mutex, &end) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);

    int event = eventfd(0, 0);
    pthread_create(&thread, 0, wakes, (void *)(long)event);
    struct pollfd wanted = {event, POLLIN, 0};
    int ready = poll(&wanted, 1, -1);
    eventfd_t value;
    eventfd_read(event, &value);
    pthread_join(thread, 0);
    check("eventfd", ready == 1 && value == 5);

    int timer = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
    struct itimerspec times = {{0, 1000000}, {0, 1000000}};
    timerfd_settime(timer, 0, &times, 0);
    struct epoll_event watch = {.events = EPOLLIN, .data.fd = timer}, seen;
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &watch);
    uint64_t expired = 0;
    int waited = epoll_wait(epoll, &seen, 1, -1);
    read(timer, &expired, sizeof expired);
    check("timerfd", waited == 1 && seen.data.fd == timer && expired >= 1);
    check("gettid", syscall(SYS_gettid) == getpid());
    return 0;
}
