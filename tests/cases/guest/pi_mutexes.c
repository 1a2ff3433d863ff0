/* Locks with priority inheritance. Each line is what a kernel of Linux prints, in any interleaving. With an argument, what
   QEMU's user mode cannot do (robust lists) is left out. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

typedef _Atomic unsigned word;

static const char *name_of(int number) {
    static char text[32];
    const char *name = number ? strerrorname_np(number) : "ok";
    if (name) return name;
    snprintf(text, sizeof text, "%d", number);
    return text;
}

static void say(const char *what, int number) {
    printf("%s: %s\n", what, name_of(number));
}

/* 0 or an error's number. */
static int futex(void *at, int operation, unsigned value, const void *time, void *other, unsigned third) {
    return syscall(SYS_futex, at, operation, value, time, other, third) < 0 ? errno : 0;
}

static struct timespec soon(clockid_t clock, long nanos) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += nanos;
    if (time.tv_nsec >= 1000000000) time.tv_nsec -= 1000000000, time.tv_sec++;
    return time;
}

static unsigned self(void) { return syscall(SYS_gettid); }

static void nap(void) {
    struct timespec time = {0, 2000000};
    nanosleep(&time, NULL);
}

static void init(pthread_mutex_t *mutex, int type, int robust, int shared) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_settype(&attributes, type);
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (shared) pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    say("init", pthread_mutex_init(mutex, &attributes));
}

static pthread_mutex_t mutex;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int counter, turns;

static void *count(void *nothing) {
    for (int index = 0; index < 200; index++) {
        pthread_mutex_lock(&mutex);
        int before = counter;
        if (index % 16 == 0) sched_yield();
        counter = before + 1;
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

static void *take_turns(void *odd) {
    for (int index = 0; index < 10; index++) {
        pthread_mutex_lock(&mutex);
        while (turns % 2 != (odd != NULL)) pthread_cond_wait(&condition, &mutex);
        turns++;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *try_it(void *nothing) {
    struct timespec end = soon(CLOCK_REALTIME, 1000000);
    say("trylock of another's", pthread_mutex_trylock(&mutex));
    say("timedlock of another's", pthread_mutex_timedlock(&mutex, &end));
    end = soon(CLOCK_MONOTONIC, 1000000);
    say("clocklock of another's", pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end));
    return nothing;
}

static void mutexes(void) {
    pthread_t threads[4];
    init(&mutex, PTHREAD_MUTEX_NORMAL, 0, 0);
    for (int index = 0; index < 4; index++) pthread_create(&threads[index], NULL, count, NULL);
    for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
    printf("counted %d\n", counter);
    for (long index = 0; index < 2; index++) pthread_create(&threads[index], NULL, take_turns, (void *)index);
    for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
    printf("turns %d\n", turns);
    pthread_mutex_lock(&mutex);
    pthread_create(&threads[0], NULL, try_it, NULL);
    pthread_join(threads[0], NULL);
    struct timespec end = soon(CLOCK_REALTIME, 1000000);
    say("condition in vain", pthread_cond_timedwait(&condition, &mutex, &end));
    say("unlock", pthread_mutex_unlock(&mutex));
    init(&mutex, PTHREAD_MUTEX_ERRORCHECK, 0, 0);
    say("unlock of none", pthread_mutex_unlock(&mutex));
    pthread_mutex_lock(&mutex);
    say("again", pthread_mutex_lock(&mutex));
    pthread_mutex_unlock(&mutex);
    init(&mutex, PTHREAD_MUTEX_RECURSIVE, 0, 0);
    say("recursive", pthread_mutex_lock(&mutex) + pthread_mutex_lock(&mutex));
    say("and back", pthread_mutex_unlock(&mutex) + pthread_mutex_unlock(&mutex));
}

/* The word of a lock as the kernel sees it. */
static word lock_word, other_word, moved_at;
static _Atomic int stage, handled;

static const char *owner(unsigned value, unsigned tid) {
    static char text[64];
    snprintf(text, sizeof text, "%s%s%s",
             (value & FUTEX_TID_MASK) == 0 ? "nobody" : (value & FUTEX_TID_MASK) == tid ? "it" : "another",
             value & FUTEX_WAITERS ? " waiters" : "", value & FUTEX_OWNER_DIED ? " died" : "");
    return text;
}

static void *hold(void *nothing) {
    say("lock of nobody", futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    printf("word: %s\n", owner(lock_word, self()));
    stage = 1;
    while (!(lock_word & FUTEX_WAITERS)) nap();
    nap();
    say("wake of a waiter for a lock", futex(&lock_word, FUTEX_WAKE, 1, NULL, NULL, 0));
    say("requeue of one", futex(&lock_word, FUTEX_CMP_REQUEUE, 1, (void *)1, &moved_at, lock_word));
    say("unlock", futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    return nothing;
}

static void *hold_quietly(void *nothing) {
    futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    stage = 1;
    while (stage != 2) nap();
    futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    return nothing;
}

static void *holds_one_wants_another(void *nothing) {
    futex(&other_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    stage = 1;
    int result = futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    say("lock after the deadlock", result);
    futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    futex(&other_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    return nothing;
}

static void *dies_with_it(void *nothing) {
    futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    stage = 1;
    while (!(lock_word & FUTEX_WAITERS)) nap();
    nap();
    return nothing;
}

static void handler(int signal) { handled++; }

static void *is_interrupted(void *nothing) {
    stage = 1;
    say("lock behind a handler", futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    return nothing;
}

static void refusals(void) {
    char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timespec end = soon(CLOCK_REALTIME, 1000000), monotonic = soon(CLOCK_MONOTONIC, 1000000);
    struct timespec invalid = {0, 1000000000};
    pthread_t thread;
    lock_word = self();
    say("own lock", futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    say("own lock, tried", futex(&lock_word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    say("unlock of it", futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    printf("word: %s\n", owner(lock_word, self()));
    say("unlock of nobody's", futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    say("trylock", futex(&lock_word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    printf("word: %s\n", owner(lock_word, self()));
    lock_word = 0x3ffffff0;
    say("owner that is not", futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    printf("word: %s\n", owner(lock_word, self()));
    lock_word = FUTEX_OWNER_DIED;
    say("owner that was", futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    printf("word: %s\n", owner(lock_word, self()));
    lock_word = 0;
    say("misaligned", futex((char *)&lock_word + 1, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    say("nowhere", futex(none, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    say("unlock nowhere", futex(none, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    say("invalid time", futex(&lock_word, FUTEX_LOCK_PI, 0, &invalid, NULL, 0));
    say("clock of LOCK_PI", futex(&lock_word, FUTEX_LOCK_PI | FUTEX_CLOCK_REALTIME, 0, NULL, NULL, 0));

    stage = 0;
    pthread_create(&thread, NULL, hold_quietly, NULL);
    while (!stage) nap();
    say("another's, tried", futex(&lock_word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    say("unlock of another's", futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    say("time of LOCK_PI", futex(&lock_word, FUTEX_LOCK_PI, 0, &end, NULL, 0));
    say("time of LOCK_PI2", futex(&lock_word, FUTEX_LOCK_PI2, 0, &monotonic, NULL, 0));
    say("date of LOCK_PI2", futex(&lock_word, FUTEX_LOCK_PI2 | FUTEX_CLOCK_REALTIME, 0, &end, NULL, 0));
    stage = 2;
    pthread_join(thread, NULL);
}

static void waits(void) {
    pthread_t thread;
    stage = 0;
    lock_word = 0;
    pthread_create(&thread, NULL, hold, NULL);
    while (!stage) nap();
    int result = futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    pthread_join(thread, NULL);
    say("lock of another's", result);
    printf("word: %s\n", owner(lock_word, self()));
    say("unlock", futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    printf("word: %s\n", owner(lock_word, self()));

    stage = 0;
    futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    pthread_create(&thread, NULL, holds_one_wants_another, NULL);
    while (!stage || !(lock_word & FUTEX_WAITERS)) nap();
    nap();
    say("deadlock of two", futex(&other_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    unsigned right = lock_word;
    lock_word = 0;
    say("a word that lies", futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    lock_word = right;
    futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    pthread_join(thread, NULL);

    stage = 0;
    lock_word = 0;
    pthread_create(&thread, NULL, dies_with_it, NULL);
    while (!stage) nap();
    say("lock of one that ends", futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    printf("word: %s\n", owner(lock_word, self()));
    pthread_join(thread, NULL);

    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    stage = 0;
    lock_word = self();
    pthread_create(&thread, NULL, is_interrupted, NULL);
    while (!stage || !(lock_word & FUTEX_WAITERS)) nap();
    pthread_kill(thread, SIGUSR1);
    while (!handled) nap();
    nap();
    futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    pthread_join(thread, NULL);
}

static _Atomic int arrived, left_with_lock;

static void *waits_to_move(void *nothing) {
    arrived++;
    int result = futex(&moved_at, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &lock_word, 0);
    if (result == 0 && (lock_word & FUTEX_TID_MASK) == self()) left_with_lock++;
    else say("moved", result);
    futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    return nothing;
}

static void *waits_plainly(void *nothing) {
    arrived++;
    futex(&moved_at, FUTEX_WAIT, 0, NULL, NULL, 0);
    return nothing;
}

static long move(unsigned woken, long most, unsigned expected, void *lock) {
    long result = syscall(SYS_futex, &moved_at, FUTEX_CMP_REQUEUE_PI, woken, most, lock, expected);
    return result < 0 ? -errno : result;
}

static void moves(void) {
    pthread_t threads[4];
    struct timespec end = soon(CLOCK_MONOTONIC, 1000000), real = soon(CLOCK_REALTIME, 1000000);
    lock_word = moved_at = 0;
    say("other value", futex(&moved_at, FUTEX_WAIT_REQUEUE_PI, 1, NULL, &lock_word, 0));
    say("onto itself", futex(&moved_at, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &moved_at, 0));
    say("in vain", futex(&moved_at, FUTEX_WAIT_REQUEUE_PI, 0, &end, &lock_word, 0));
    say("in vain, by the date", futex(&moved_at, FUTEX_WAIT_REQUEUE_PI | FUTEX_CLOCK_REALTIME, 0, &real, &lock_word, 0));
    printf("nobody to move: %ld\n", move(1, 1, 0, &lock_word));
    say("two to wake", -move(2, 1, 0, &lock_word));
    say("a value that is not", -move(1, 1, 7, &lock_word));
    say("moved onto itself", -move(1, 1, 0, &moved_at));
    pthread_create(&threads[0], NULL, waits_plainly, NULL);
    while (arrived < 1) nap();
    nap();
    nap();
    say("one that waits plainly", -move(1, 1, 0, &lock_word));
    say("a lock where one waits plainly", futex(&moved_at, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    futex(&moved_at, FUTEX_WAKE, 1, NULL, NULL, 0);
    pthread_join(threads[0], NULL);
    arrived = 0;
    for (int index = 0; index < 4; index++) pthread_create(&threads[index], NULL, waits_to_move, NULL);
    while (arrived < 4) nap();
    nap();
    nap();
    say("wake of one that is to move", futex(&moved_at, FUTEX_WAKE, 1, NULL, NULL, 0));
    say("to another lock", -move(1, 9, 0, &other_word));
    futex(&lock_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    printf("moved to a held lock: %ld\n", move(1, 1, 0, &lock_word));
    printf("word: %s\n", owner(lock_word, self()));
    futex(&lock_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
    while (left_with_lock < 2) nap();
    nap();
    printf("moved to a free lock: %ld\n", move(1, 9, 0, &lock_word));
    for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
    printf("had the lock: %d\n", left_with_lock);
}

static pthread_mutex_t *shared;

static void *lock_and_end(void *mutex) {
    pthread_mutex_lock(mutex);
    return NULL;
}

static void *lock_and_wait(void *mutex) {
    pthread_mutex_lock(mutex);
    stage = 1;
    nap();
    nap();
    return NULL;
}

static void owners(void) {
    pthread_t thread;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    init(shared, PTHREAD_MUTEX_NORMAL, 1, 1);
    pthread_create(&thread, NULL, lock_and_end, shared);
    pthread_join(thread, NULL);
    say("owner has ended", pthread_mutex_lock(shared));
    say("consistent", pthread_mutex_consistent(shared));
    say("unlock", pthread_mutex_unlock(shared));
    stage = 0;
    pthread_create(&thread, NULL, lock_and_wait, shared);
    while (!stage) nap();
    say("owner ends", pthread_mutex_lock(shared));
    pthread_join(thread, NULL);
    pthread_mutex_consistent(shared);
    say("unlock", pthread_mutex_unlock(shared));
    fflush(stdout);
    for (int how = 0; how < 3; how++) {
        int ends[2], child;
        char byte;
        pipe(ends);
        if ((child = fork()) == 0) {
            pthread_mutex_lock(shared);
            write(ends[1], "x", 1);
            nap();
            nap();
            if (how == 0) pthread_mutex_unlock(shared);
            if (how == 2) raise(SIGKILL);
            _exit(0);
        }
        read(ends[0], &byte, 1);
        say("lock of a child", pthread_mutex_lock(shared));
        if (how) pthread_mutex_consistent(shared);
        pthread_mutex_unlock(shared);
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
    }
    pthread_create(&thread, NULL, lock_and_end, shared);
    pthread_join(thread, NULL);
    say("owner has ended", pthread_mutex_lock(shared));
    say("unlock without repair", pthread_mutex_unlock(shared));
    say("not recoverable", pthread_mutex_lock(shared));
}

int main(int count_, char **arguments) {
    mutexes();
    refusals();
    waits();
    moves();
    if (count_ == 1) owners();
    return 0;
}
