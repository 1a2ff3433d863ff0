/* Processes that run at the same time, and what they have in common. The first argument says which part. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 60000, MESSAGES = 64, ADDITIONS = 2000, ROUNDS = 200 };

static uint64_t computed(uint64_t from, int steps)
{
    uint64_t x = from;
    for (int i = 0; i < steps; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static pid_t busy_child(int which)
{
    pid_t pid = fork();
    if (pid == 0) _exit((int)(computed((uint64_t)which, STEPS) >> 57));
    return pid;
}

static int end_of(pid_t pid)
{
    int status = -1;
    if (waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Two children that compute, at the same time or one after the other. */
static void busy(int together)
{
    int ends[2];
    if (together) {
        pid_t first = busy_child(1), second = busy_child(2);
        ends[0] = end_of(first);
        ends[1] = end_of(second);
    } else {
        ends[0] = end_of(busy_child(1));
        ends[1] = end_of(busy_child(2));
    }
    printf("busy %d %d\n", ends[0], ends[1]);
}

/* Numbers go through two processes and come back. */
static void pipes(void)
{
    int to[2], between[2], back[2];
    if (pipe(to) || pipe(between) || pipe(back)) abort();
    for (int stage = 0; stage < 2; stage++) {
        if (fork() == 0) {
            int from = stage == 0 ? to[0] : between[0], into = stage == 0 ? between[1] : back[1];
            close(to[1]);
            if (stage == 1) close(between[1]);
            uint64_t x;
            while (read(from, &x, sizeof x) == sizeof x) {
                x = computed(x, 1000) ^ (uint64_t)stage;
                if (write(into, &x, sizeof x) != sizeof x) _exit(1);
            }
            _exit(0);
        }
    }
    close(between[1]);
    close(back[1]);
    uint64_t sum = 0, x;
    int sent = 0, come = 0;
    while (come < MESSAGES) {
        while (sent < MESSAGES && sent < come + 4) {
            x = (uint64_t)++sent;
            if (write(to[1], &x, sizeof x) != sizeof x) abort();
        }
        if (read(back[0], &x, sizeof x) != sizeof x) abort();
        sum = sum * 31 + x;
        come++;
    }
    close(to[1]);
    int first = -1, second = -1;
    wait(&first);
    wait(&second);
    printf("pipes %016llx %d %d\n", (unsigned long long)sum, first, second);
}

struct shared {
    _Atomic long sum;
    _Atomic long by_exchange;
    long under_lock;
    atomic_flag lock;
    _Atomic int turn;
    long seen[ROUNDS];
};

static void add_all(struct shared *s)
{
    for (int i = 0; i < ADDITIONS; i++) {
        atomic_fetch_add(&s->sum, 1);
        long old = atomic_load(&s->by_exchange);
        while (!atomic_compare_exchange_weak(&s->by_exchange, &old, old + 1)) {}
        while (atomic_flag_test_and_set(&s->lock)) sched_yield();
        s->under_lock++;
        atomic_flag_clear(&s->lock);
    }
}

/* Three processes count in one place, and two hand each other a turn. */
static void shared(void)
{
    struct shared *s = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            add_all(s);
            _exit(0);
        }
    }
    int bad = 0;
    for (int i = 0; i < 3; i++) bad += end_of(children[i]) != 0;
    printf("counts %ld %ld %ld %d\n", s->sum, s->by_exchange, s->under_lock, bad);
    pid_t other = fork();
    for (int i = 0; i < ROUNDS; i++) {
        int mine = other != 0;
        while (atomic_load(&s->turn) % 2 != mine) sched_yield();
        s->seen[i] = 2 * s->seen[i] + 1 + mine;
        atomic_fetch_add(&s->turn, 1);
    }
    if (other == 0) _exit(0);
    bad = end_of(other) != 0;
    for (int i = 0; i < ROUNDS; i++) bad += s->seen[i] != 4;
    printf("turns %d %d\n", s->turn, bad);
}

static void *for_ever(void *unused)
{
    for (volatile long n = 0;; n++) {}
    return unused;
}

static void threads_begin(int count)
{
    pthread_t thread;
    for (int i = 0; i < count; i++) pthread_create(&thread, NULL, for_ever, NULL);
}

static volatile int *volatile where = (volatile int *)8;

/* Processes end while their threads run on other processors: by exit, by a signal, by a fault, by exec. */
static void ends(const char *self)
{
    pid_t exits = fork();
    if (exits == 0) {
        threads_begin(3);
        computed(1, STEPS);
        exit(5);
    }
    printf("exits %d\n", end_of(exits));
    pid_t killed = fork();
    if (killed == 0) {
        threads_begin(2);
        for_ever(NULL);
    }
    computed(2, STEPS);
    kill(killed, SIGKILL);
    printf("killed %d\n", end_of(killed));
    pid_t faults = fork();
    if (faults == 0) {
        threads_begin(2);
        computed(3, STEPS);
        *where = 1;
    }
    printf("faults %d\n", end_of(faults));
    pid_t executes = fork();
    if (executes == 0) {
        threads_begin(2);
        computed(4, STEPS);
        execl(self, self, "exits", (char *)NULL);
        _exit(9);
    }
    printf("executes %d\n", end_of(executes));
    pid_t lends = fork();
    if (lends == 0) {
        threads_begin(2);
        int status;
        pid_t child = vfork();
        if (child == 0) _exit(6);
        waitpid(child, &status, 0);
        _exit(WEXITSTATUS(status) + 1);
    }
    printf("lends %d\n", end_of(lends));
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(part, "together")) busy(1);
    else if (!strcmp(part, "apart")) busy(0);
    else if (!strcmp(part, "pipes")) pipes();
    else if (!strcmp(part, "shared")) shared();
    else if (!strcmp(part, "ends")) ends(argv[0]);
    else if (!strcmp(part, "exits")) return 4;
    else return 2;
    return 0;
}
